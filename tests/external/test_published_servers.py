"""Servers that others published for the package `mcp` 2.x run on this project as they are."""

from __future__ import annotations

import functools
import subprocess
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import INVALID_PARAMS, CallToolResult, TextContent
from tests.external.environments import python_of_published_servers
from tests.programs import environment as our_environment

pytestmark = [
    pytest.mark.timeout(300),  # the first test installs the servers
    pytest.mark.parametrize("mode", ["auto", "legacy"]),
]
Mode = Literal["auto", "legacy"]
VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
GIT = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false"]


@asynccontextmanager
async def published(name: str, *arguments: str, mode: Mode) -> AsyncGenerator[Client]:
    python = python_of_published_servers()
    _check_that_the_package_they_ask_for_is_not_there(python)
    parameters = StdioServerParameters(
        command=str(python),
        args=["-m", name.replace("-", "_"), *arguments],
        env={"PYTHONPATH": our_environment()["PYTHONPATH"]},
    )
    with anyio.fail_after(60):
        async with Client(parameters, mode=mode) as client:
            assert client.protocol_version == VERSIONS[mode]
            yield client


@functools.cache
def _check_that_the_package_they_ask_for_is_not_there(python: Path) -> None:
    program = "from importlib.metadata import distributions; print(sorted(d.name for d in distributions()))"
    found = subprocess.run([str(python), "-c", program], check=True, capture_output=True, text=True, timeout=60).stdout
    assert "'mcp-server-time'" in found
    assert "'mcp'" not in found


def text(result: CallToolResult) -> str:
    assert not result.is_error, result
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def test_the_time_server_converts_times(mode: Mode) -> None:
    async with published("mcp-server-time", "--local-timezone", "Europe/Paris", mode=mode) as client:
        convert, current = sorted((await client.list_tools()).tools, key=lambda tool: tool.name)
        assert (convert.name, current.name) == ("convert_time", "get_current_time")
        assert "Use 'Europe/Paris' as local timezone" in current.input_schema["properties"]["timezone"]["description"]
        arguments = {"source_timezone": "Asia/Tokyo", "time": "12:30", "target_timezone": "Asia/Kolkata"}
        result = await client.call_tool("convert_time", arguments)
        converted: Any = result.structured_content
        assert converted["time_difference"] == "-3.5h"
        assert converted["target"]["datetime"].endswith("T09:00:00+05:30")
        failed = await client.call_tool("get_current_time", {"timezone": "Nowhere/Else"})
        assert failed.is_error
        assert "Invalid timezone" in repr(failed.content)
        with pytest.raises(MCPError) as caught:
            await client.call_tool("no_such_tool")
        assert caught.value.code == INVALID_PARAMS


@pytest.fixture
def poem(tmp_path: Path) -> Path:
    """A file in a repository with one commit, changed since."""
    (tmp_path / "poem.txt").write_text("Roses\n")
    for command in (["init", "-q", "-b", "trunk"], ["add", "poem.txt"], ["commit", "-q", "-m", "A first line"]):
        subprocess.run([*GIT, *command], check=True, cwd=tmp_path)
    (tmp_path / "poem.txt").write_text("Violets\n")
    return tmp_path / "poem.txt"


async def test_the_git_server_shows_and_changes_a_repository(mode: Mode, poem: Path) -> None:
    repository = {"repo_path": str(poem.parent)}
    async with published("mcp-server-git", "--repository", str(poem.parent), mode=mode) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"git_status", "git_log", "git_add", "git_create_branch", "git_show"} <= names
        assert "On branch trunk" in text(await client.call_tool("git_status", repository))
        assert "A first line" in text(await client.call_tool("git_log", repository))
        assert "+Violets" in text(await client.call_tool("git_diff_unstaged", repository))
        await client.call_tool("git_add", {**repository, "files": ["poem.txt"]})
        assert "+Violets" in text(await client.call_tool("git_diff_staged", repository))
        outside = await client.call_tool("git_status", {"repo_path": "/"})
        assert outside.is_error
        assert "outside the allowed repository" in repr(outside.content)


@contextmanager
def web_site(folder: Path) -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


async def test_the_fetch_server_fetches_pages(mode: Mode, tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /secret\n")
    (tmp_path / "page.txt").write_text("Tea is ready.")
    with web_site(tmp_path) as url:
        async with published("mcp-server-fetch", "--allow-private-ips", mode=mode) as client:
            (tool,) = (await client.list_tools()).tools
            assert tool.name == "fetch"
            assert tool.input_schema["required"] == ["url"]
            fetched = text(await client.call_tool("fetch", {"url": f"{url}/page.txt", "max_length": 3}))
            assert "\nTea\n" in fetched
            assert "start_index of 3" in fetched
            refused = await client.call_tool("fetch", {"url": f"{url}/secret", "raw": True})
            assert refused.is_error
            assert "robots.txt" in repr(refused.content)
            (prompt,) = (await client.list_prompts()).prompts
            assert prompt.name == "fetch"
            got = await client.get_prompt("fetch", {"url": f"{url}/page.txt"})
            assert "Tea is ready." in repr(got.messages)
