"""Our client against our server, with a real web server and real sockets between them."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest

import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import InputRequiredResult
from mcp_types.jsonrpc import METHOD_NOT_FOUND
from tests.client.live import live_server

HEADERED = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "n": {"type": "integer"}},
}
ASK = types.ElicitRequest(
    params=types.ElicitRequestFormParams(
        message="Where?", requested_schema={"type": "object", "properties": {"region": {"type": "string"}}}
    )
)


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    names = ("echo", "tick", "ask", "hang")
    tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in names]
    return types.ListToolsResult(tools=[*tools, types.Tool(name="near", input_schema=HEADERED)])


class Hanging:
    """Tells when a call hangs and when it is cancelled, across threads."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.cancelled = threading.Event()

    async def hang(self) -> None:
        self.started.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()


def make_server(hanging: Hanging | None = None) -> Server[Any]:
    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult | InputRequiredResult:
        arguments = params.arguments or {}
        if params.name == "tick":
            for tick in range(3):
                await ctx.session.report_progress(tick, 3, f"tick {tick}")
        if params.name == "hang" and hanging is not None:
            await hanging.hang()
        if params.name == "ask":
            answer = (params.input_responses or {}).get("region")
            if not isinstance(answer, types.ElicitResult) or answer.content is None:
                return InputRequiredResult(input_requests={"region": ASK}, request_state="v1")
            arguments = answer.content
        return types.CallToolResult(content=[types.TextContent(type="text", text=repr(arguments))])

    return Server("live", on_list_tools=list_tools, on_call_tool=call_tool)


def text_of(outcome: types.CallToolResult) -> str:
    [block] = outcome.content
    assert isinstance(block, types.TextContent)
    return block.text


async def test_a_call_crosses_the_wire_and_comes_back() -> None:
    with anyio.fail_after(10):
        async with live_server(make_server()) as url, Client(url) as client:
            assert client.server_info is not None
            assert client.server_info.name == "live"
            assert text_of(await client.call_tool("echo", {"a": "é", "b": [1, None]})) == "{'a': 'é', 'b': [1, None]}"
            with pytest.raises(MCPError) as caught:
                await client.list_prompts()
            assert caught.value.code == METHOD_NOT_FOUND


@pytest.mark.rule("CLIENT-75", "PROGRESS-8", "CALLBACK-27")
async def test_all_progress_is_there_in_order_when_the_call_returns() -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    with anyio.fail_after(10):
        async with live_server(make_server()) as url, Client(url) as client:
            await client.call_tool("tick", progress_callback=on_progress)
            assert heard == [(0, 3, "tick 0"), (1, 3, "tick 1"), (2, 3, "tick 2")]


@pytest.mark.rule("MRTR-52")
async def test_a_question_is_answered_over_http() -> None:
    async def eu(context: ClientRequestContext, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"region": "eu"})

    with anyio.fail_after(10):
        async with live_server(make_server()) as url, Client(url, elicitation_callback=eu) as client:
            assert text_of(await client.call_tool("ask")) == "{'region': 'eu'}"


@pytest.mark.rule("CLIENT-58", "CLIENT-59", "HTTP-X-20", "HTTP-X-22")
async def test_marked_arguments_reach_a_server_that_checks_them_even_without_a_listing() -> None:
    with anyio.fail_after(10):
        async with live_server(make_server()) as url, Client(url) as client:
            outcome = await client.call_tool("near", {"region": "münchen ", "n": 1})
            assert text_of(outcome) == "{'region': 'münchen ', 'n': 1}"
            await client.call_tool("near", {"region": "x"})


@pytest.mark.rule("TRANSPORT-41", "HTTP-C-01")
@pytest.mark.parametrize("library", ["default", "httpx2"])
async def test_a_call_that_times_out_is_cancelled_on_the_server(library: str) -> None:
    hanging = Hanging()
    with anyio.fail_after(10):
        http_client = httpx2.AsyncClient()
        async with live_server(make_server(hanging)) as url, http_client:
            target = url if library == "default" else streamable_http_client(url, http_client=http_client)
            async with Client(target) as client:
                with pytest.raises(MCPError, match="timed out"):
                    await client.call_tool("hang", read_timeout_seconds=0.3)
                assert await anyio.to_thread.run_sync(hanging.cancelled.wait, 5)
                await client.call_tool("echo")


@pytest.mark.rule("CLIENT-43")
async def test_many_calls_at_once() -> None:
    outcomes: dict[int, str] = {}
    with anyio.fail_after(10):
        async with live_server(make_server()) as url, Client(url) as client:

            async def one(n: int) -> None:
                name = "tick" if n % 2 else "echo"
                outcomes[n] = text_of(await client.call_tool(name, {"n": n}))

            async with anyio.create_task_group() as tasks:
                for n in range(40):
                    tasks.start_soon(one, n)
    assert outcomes == {n: f"{{'n': {n}}}" for n in range(40)}


async def test_a_client_may_be_entered_and_left_in_different_tasks() -> None:
    with anyio.fail_after(10):
        async with live_server(make_server()) as url:
            client = Client(url)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.__aenter__)
            await client.call_tool("echo")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.__aexit__, None, None, None)
