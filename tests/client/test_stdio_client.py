"""`Client(StdioServerParameters(...))`: servers of both eras as child processes."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from tests.programs import environment

SERVER = """
import os, signal, sys
import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

mcp = MCPServer("Child", log_level="ERROR")

class Name(BaseModel):
    name: str

@mcp.tool()
async def add(a: int, b: int) -> int:
    print("noise on stdout")
    return a + b

@mcp.tool()
async def pid() -> int:
    return os.getpid()

@mcp.tool()
async def count(ctx: Context) -> str:
    for number in range(100):
        await ctx.report_progress(number, 100)
    return "counted"

@mcp.tool()
async def wait(path: str) -> str:
    open(path, "w").write("begun")
    try:
        await anyio.sleep_forever()
    finally:
        open(path, "w").write("ended")

@mcp.tool()
async def greet(ctx: Context) -> str:
    answer = await ctx.elicit("Who are you?", Name)
    return f"Hello, {answer.data.name}"

mcp.run()
"""

# Ends at the first request that is not `initialize`, as some servers do.
TOUCHY = """
import json, os, sys
print("started", os.getpid(), file=sys.stderr, flush=True)
greeted = False
for line in sys.stdin:
    message = json.loads(line)
    if not greeted and message["method"] != "initialize":
        sys.exit(1)
    greeted = True
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}
    else:
        result = {"tools": []}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def python(program: str) -> StdioServerParameters:
    env = {"PYTHONPATH": environment()["PYTHONPATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    return StdioServerParameters(command=sys.executable, args=["-c", program], env=env)


@asynccontextmanager
async def connected(program: str = SERVER, **options: Any) -> AsyncGenerator[Client]:
    with anyio.fail_after(30):
        async with Client(python(program), **options) as client:
            yield client


def content(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def until(path: Path, text: str) -> None:
    with anyio.fail_after(10):
        while True:  # the file is written by another process
            if content(path) == text:
                return
            await anyio.sleep(0.01)


@pytest.mark.rule("LEG-S-01", "LEG-S-03", "STDIO-F-08", "STDIO-F-12", "STDIO-C-02")
@pytest.mark.rule("STDIO-C-01", "TR-01", "TR-08")
@pytest.mark.rule("CLIENT-9", "STDIO-13", "STDIO-B-01", "STDIO-B-02", "STDIO-F-01")
@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_both_eras_are_spoken_over_a_childs_pipes(mode: str, version: str, tmp_path: Path) -> None:
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async with connected(mode=mode) as client:
        assert client.protocol_version == version
        results: list[Any] = [None] * 20

        async def call(number: int) -> None:
            results[number] = (await client.call_tool("add", {"a": number, "b": 1})).structured_content

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(call, number)
        assert results == [{"result": number + 1} for number in range(20)]
        await client.call_tool("count", progress_callback=hear)
        assert heard == list(range(100))
        begun = tmp_path / "begun"
        with anyio.move_on_after(10) as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "wait", {"path": str(begun)})
                await until(begun, "begun")
                scope.cancel()
        await until(begun, "ended")


@pytest.mark.rule("LEG-S-02")
async def test_questions_of_a_running_call_are_answered_over_a_childs_pipes() -> None:
    async def answer(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async with connected(mode="legacy", elicitation_callback=answer) as client:
        result = await client.call_tool("greet")
        assert result.content == [types.TextContent(text="Hello, Ada")]


async def test_a_client_takes_the_streams_of_a_child_as_well() -> None:
    with anyio.fail_after(30):
        async with Client(stdio_client(python(SERVER))) as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}


@pytest.mark.rule("TRANSPORT-16", "CASE-3")
async def test_a_server_killed_during_a_call_gives_one_plain_error_at_once(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    async with connected() as client:
        pid = (await client.call_tool("pid")).structured_content
        assert pid is not None
        seen: list[MCPError] = []
        killed = 0.0

        async def call() -> None:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("wait", {"path": str(begun)})
            seen.append(caught.value)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await until(begun, "begun")
            os.kill(pid["result"], signal.SIGKILL)
            killed = time.monotonic()
        assert time.monotonic() - killed < 1
        with pytest.raises(MCPError) as caught:
            await client.call_tool("pid")
        for error in (*seen, caught.value):
            assert (error.code, error.message) == (-32000, "Connection closed")


@pytest.mark.rule("CASE-56", "CLIENT-27", "STDIO-B-04", "STDIO-B-05")
async def test_a_server_that_ends_on_the_probe_is_started_once_more(capfd: pytest.CaptureFixture[str]) -> None:
    async with connected(TOUCHY) as client:
        assert client.protocol_version == "2025-06-18"
        assert (await client.list_tools()).tools == []
    assert capfd.readouterr().err.count("started") == 2


async def test_a_server_that_always_ends_is_started_twice_and_given_up(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(MCPError, match="Connection closed"):
        async with connected("import sys; print('started', file=sys.stderr); sys.stdin.readline()"):
            pass
    assert capfd.readouterr().err.count("started") == 2


@pytest.mark.rule("TRANSPORT-8")
async def test_a_program_that_cannot_start_raises_the_plain_error() -> None:
    with pytest.raises(FileNotFoundError):
        async with Client(StdioServerParameters(command="no-such-program-anywhere")):
            pass
