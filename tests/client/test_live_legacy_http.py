from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketStream
from pydantic import BaseModel

from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.client.streamable_http import ResumptionError, streamable_http_client
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    TextContent,
    ToolListChangedNotification,
)
from mcp_types.jsonrpc import REQUEST_TIMEOUT
from tests.client.legacy_http import legacy, said, stream_whole
from tests.client.live import live_server
from tests.client.raw_http import Seen, event, modern, raw_server, response


class Name(BaseModel):
    name: str


def make_server() -> tuple[MCPServer, list[str]]:
    server = MCPServer("live")
    ended: list[str] = []

    @server.tool()
    async def greet(ctx: Context) -> str:
        await ctx.report_progress(1, 2, "asking")
        answer = await ctx.elicit("Who are you?", Name)
        await ctx.report_progress(2, 2, "asked")
        return f"Hello, {getattr(answer, 'data', None)}"

    @server.tool()
    async def wait() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("wait")

    @server.tool()
    async def grow(ctx: Context) -> str:
        await ctx.session.send_tool_list_changed()
        return "grown"

    return server, ended


@asynccontextmanager
async def connected(**options: Any) -> AsyncGenerator[tuple[Client, list[str]]]:
    server, ended = make_server()
    with anyio.fail_after(10):
        async with live_server(server._lowlevel_server) as url, Client(url, mode="legacy", **options) as client:
            yield client, ended


def text_of(result: Any) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.rule("TRANSPORT-40", "LEG-H-16", "CLIENT-36")
async def test_a_question_and_progress_cross_while_a_call_runs() -> None:
    told: list[str | None] = []

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with connected(elicitation_callback=answer) as (client, _):
        assert client.protocol_version == "2025-11-25"
        assert text_of(await client.call_tool("greet", progress_callback=on_progress)) == "Hello, name='Ada'"
        assert told == ["asking", "asked"]


@pytest.mark.rule("TRANSPORT-41", "LEG-C-05", "LEG-L-23")
async def test_a_call_that_takes_too_long_ends_at_the_server() -> None:
    async with connected() as (client, ended):
        with pytest.raises(MCPError) as caught:
            await client.call_tool("wait", read_timeout_seconds=0.2)
        assert caught.value.code == REQUEST_TIMEOUT
        while not ended:
            await anyio.lowlevel.checkpoint()
        await client.list_tools()


@pytest.mark.rule("TRANSPORT-45")
async def test_news_arrive_without_a_call() -> None:
    heard: list[object] = []

    async def hear(message: object) -> None:
        heard.append(message)

    async with connected(message_handler=hear) as (client, _):
        # What is told before the standing stream is there is lost.
        while not any(isinstance(message, ToolListChangedNotification) for message in heard):
            assert text_of(await client.call_tool("grow")) == "grown"


async def test_a_hundred_calls_at_once_each_get_their_own_answer() -> None:
    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": str(context.request_id)})

    answers: list[str] = []
    async with connected(elicitation_callback=answer) as (client, _):

        async def call() -> None:
            answers.append(text_of(await client.call_tool("greet")))

        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(call)
    assert len(set(answers)) == 100


@pytest.mark.rule("TRANSPORT-1")
@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_session_built_by_hand_speaks_over_the_transports_streams(era: str) -> None:
    server, ended = make_server()
    told: list[str | None] = []

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    with anyio.fail_after(10):
        async with live_server(server._lowlevel_server) as url, streamable_http_client(url) as streams:
            async with ClientSession(*streams, elicitation_callback=answer) as session:
                if era == "modern":
                    await session.discover()
                else:
                    await session.initialize()
                    greeted = await session.call_tool("greet", progress_callback=on_progress)
                    assert text_of(greeted) == "Hello, name='Ada'"
                    assert told == ["asking", "asked"]
                with pytest.raises(MCPError) as caught:
                    await session.call_tool("wait", read_timeout_seconds=0.2)
                assert caught.value.code == REQUEST_TIMEOUT
                while not ended:
                    await anyio.lowlevel.checkpoint()
                with pytest.raises(MCPError):
                    await session.get_prompt("none")
                assert len((await session.list_tools()).tools) == 3


@pytest.mark.rule("TRANSPORT-44", "TRANSPORT-D11")
async def test_a_request_says_where_to_resume_from_in_one_era_and_is_refused_in_the_other() -> None:
    tokens: list[str] = []

    async def on_token(token: str) -> None:
        tokens.append(token)

    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream_whole(stream, event(said(seen), id="e-1"))

    async def get(seen: Seen, stream: SocketStream) -> None:
        if "last-event-id" in seen.headers:
            await stream_whole(stream, event(said(Seen("POST", "", {}, b'{"id": 9}'), "late"), id="e-2"))
        else:
            await stream.send(response(b"", None, "405 Method Not Allowed"))

    request = CallToolRequest(params=CallToolRequestParams(name="add"))
    update = ClientMessageMetadata(on_resumption_token_update=on_token)
    resume = ClientMessageMetadata(resumption_token="e-1")
    with anyio.fail_after(5):
        async with raw_server(legacy(answer, get=get)) as server, Client(server.url) as client:
            assert text_of(await client.session.send_request(request, CallToolResult, metadata=update)) == "ok"
            assert text_of(await client.session.send_request(request, CallToolResult, metadata=resume)) == "late"
        async with raw_server(modern(answer)) as server, Client(server.url) as client:
            with pytest.raises(ResumptionError, match="2026-07-28"):
                await client.session.send_request(request, CallToolResult, metadata=resume)
            assert [seen.method for seen in server.seen] == ["POST"]
    assert tokens == ["e-1"]
