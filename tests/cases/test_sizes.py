"""Large results: they arrive by every way, and where a limit refuses one, the error says which and what to do."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent
from mcp_types.jsonrpc import CONNECTION_CLOSED
from tests.cases import program
from tests.cases.ways import MODES, both_eras, child
from tests.server.http.serving import serving

MEGABYTE = 2**20
WAYS = ["memory", "stdio", "JSON", "events", "HTTP+SSE", "found HTTP+SSE"]


@asynccontextmanager
async def connected(way: str, mode: str, **options: Any) -> AsyncGenerator[Client]:
    with anyio.fail_after(60):
        if way in ("memory", "stdio"):
            target = program.build() if way == "memory" else child().model_copy(update=options)
            async with Client(target, mode=mode) as client:
                yield client
            return
        server = program.build()
        sse = way.endswith("HTTP+SSE")
        app = server.sse_app() if sse else server.streamable_http_app(json_response=way == "JSON")
        with serving(app) as port:
            url = f"http://127.0.0.1:{port}/{'sse' if sse else 'mcp'}"
            target = sse_client(url) if way == "HTTP+SSE" else url
            async with Client(streamable_http_client(url, **options) if options else target, mode=mode) as client:
                yield client


async def large(client: Client, megabytes: int, *, tells: bool = False) -> str:
    """Get a result of a size; one that is preceded by progress comes as events on the modern wire."""

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    heard: list[float] = []
    result = await client.call_tool("large", {"megabytes": megabytes, "tells": tells}, progress_callback=hear)
    assert heard == ([1] if tells else [])
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize(
    ("way", "mode", "tells"),
    [
        *((way, mode, False) for way in WAYS for mode in MODES if (way, mode) != ("found HTTP+SSE", "legacy")),
        ("events", "auto", True),
    ],
)
async def test_a_result_of_ten_megabytes_arrives(way: str, mode: str, tells: bool) -> None:
    async with connected(way, mode) as client:
        text = await large(client, 10, tells=tells)
        assert len(text) == 10 * MEGABYTE
        assert set(text) == {"x"}


@both_eras
@pytest.mark.parametrize("way", ["JSON", "events"])
async def test_a_result_that_is_too_large_fails_its_call_alone_and_the_error_names_the_limit(
    way: str, mode: str
) -> None:
    option = "max_json_body_size" if way == "JSON" else "max_sse_event_size"
    async with connected(way, mode, **{option: MEGABYTE}) as client:
        with pytest.raises(MCPError) as caught:
            await large(client, 2, tells=way == "events")
        assert str(MEGABYTE) in caught.value.message
        assert caught.value.message.endswith(f"o allow more: streamable_http_client(url, {option}=...)")
        assert len(await large(client, 0)) == 0
    async with connected(way, mode, **{option: None}) as client:
        assert len(await large(client, 2, tells=way == "events")) == 2 * MEGABYTE


@both_eras
async def test_a_message_of_a_process_that_is_too_large_ends_the_connection_and_the_error_names_the_limit(
    mode: str,
) -> None:
    async with connected("stdio", mode, max_line_bytes=MEGABYTE) as client:
        for _ in range(2):
            with pytest.raises(MCPError) as caught:
                await large(client, 2)
            assert caught.value.code == CONNECTION_CLOSED
            text = f"Connection closed: the server sent a line of more than {MEGABYTE} bytes"
            assert caught.value.message == f"{text}; to allow more: StdioServerParameters(max_line_bytes=...)"


async def test_a_process_that_said_too_much_may_be_started_again() -> None:
    async with connected("stdio", "auto", max_line_bytes=MEGABYTE, max_restarts=1) as client:
        with pytest.raises(MCPError, match=r"max_line_bytes"):
            await large(client, 2)
        assert len(await large(client, 0)) == 0


async def test_an_event_that_is_too_large_ends_a_stream_of_http_and_sse_and_the_error_names_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp.client.streamable_http.DEFAULT_MAX_JSON_BODY_SIZE", MEGABYTE)
    async with connected("found HTTP+SSE", "auto") as client:
        with pytest.raises(MCPError) as caught:
            await large(client, 2)
    text = f"Connection closed: Server-sent event exceeded the {MEGABYTE} byte limit. sse_client(url) has no such limit"
    assert (caught.value.code, caught.value.message) == (CONNECTION_CLOSED, text)
