"""`Client(server, mode="legacy")`: a conversation of the handshake era with a server object."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver.context import Context as ToolContext
from mcp.server.mcpserver.server import MCPServer
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

Context = ServerRequestContext[Any, Any]

quiet = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


async def accept(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada"})


@pytest.mark.rule("LEG-J-01", "VER-E-01", "VER-E-02", "VER-M-08")
@pytest.mark.rule("TRANSPORT-4", "VER-1", "VER-2", "VER-D3", "CLIENT-33")
async def test_the_same_server_object_speaks_both_eras() -> None:
    server = MCPServer("both", instructions="how")

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    for mode, era, version in (("legacy", "legacy", "2025-11-25"), ("auto", "modern", "2026-07-28")):
        async with Client(server, mode=mode) as client:
            assert (client.era, client.session.era, client.protocol_version) == (era, era, version)
            assert client.instructions == "how"
            assert client.server_info is not None
            assert client.server_info.name == "both"
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}


@pytest.mark.rule("VER-5", "CALLBACK-17", "CLIENT-43")
async def test_a_tool_asks_while_it_runs_and_many_may_at_once() -> None:
    server = MCPServer("asking")

    @server.tool()
    async def greet(ctx: ToolContext[Any], n: int) -> str:
        answer = await ctx.session.elicit_form("who?", {"type": "object", "properties": {"name": {"type": "string"}}})
        assert answer.content is not None
        return f"{n}: {answer.content['name']}"

    async def call(n: int) -> None:
        result = await client.call_tool("greet", {"n": n})
        assert result.content[0] == types.TextContent(type="text", text=f"{n}: Ada")
        done.append(n)

    done: list[int] = []
    with anyio.fail_after(5):
        async with Client(server, mode="legacy", elicitation_callback=accept) as client:
            async with anyio.create_task_group() as tasks:
                for n in range(20):
                    tasks.start_soon(call, n)
    assert sorted(done) == list(range(20))


@pytest.mark.rule("TRANSPORT-6", "TRANSPORT-4")
async def test_the_handler_sees_the_callers_context_variables() -> None:
    place: ContextVar[str] = ContextVar("place")

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        assert ctx.request is None
        return types.CallToolResult(content=[types.TextContent(type="text", text=place.get("nowhere"))])

    async with Client(Server("s", on_call_tool=call_tool), mode="legacy") as client:
        token = place.set("here")
        result = await client.call_tool("x")
        place.reset(token)
    assert result.content == [types.TextContent(type="text", text="here")]


@pytest.mark.rule("CLIENT-D5", "CLIENT-17", "TRANSPORT-5")
async def test_a_lifespan_lasts_as_long_as_the_block_and_fails_bare() -> None:
    log: list[str] = []

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncGenerator[None]:
        log.append("start")
        if len(log) > 2:
            raise OSError("no database")
        yield
        log.append("stop")

    server = Server("s", lifespan=lifespan)
    async with Client(server, mode="legacy"):
        assert log == ["start"]
    assert log == ["start", "stop"]
    with pytest.raises(OSError, match="no database"):
        async with Client(server, mode="legacy"):
            raise AssertionError("entered")


@pytest.mark.rule("CLIENT-D16", "CLIENT-79", "CLIENT-77")
@pytest.mark.parametrize("shown", [False, True])
async def test_an_unexpected_exception_shows_itself_only_where_that_is_wanted(shown: bool) -> None:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        raise ValueError("secret")

    server = Server("s", on_call_tool=call_tool)
    async with Client(server, mode="legacy", raise_exceptions=shown) as client:
        for _ in range(2):
            with pytest.raises(MCPError) as raised:
                await client.call_tool("x")
            error = raised.value
            assert (error.code, error.message) == (-32603, "secret" if shown else "Internal server error")
            assert isinstance(error.__cause__, ValueError) == shown


@pytest.mark.rule("CLIENT-70", "CASE-4", "CLIENT-71")
@pytest.mark.parametrize("way", ["cancelled", "timed out"])
async def test_giving_up_stops_the_handler(way: str) -> None:
    started, stopped = anyio.Event(), anyio.Event()

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            stopped.set()
        raise AssertionError("woken")

    with anyio.fail_after(5):
        async with Client(Server("s", on_call_tool=call_tool), mode="legacy") as client:
            if way == "cancelled":
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(client.call_tool, "x")
                    await started.wait()
                    tasks.cancel_scope.cancel()
            else:
                with pytest.raises(MCPError, match=r"^Request 'tools/call' timed out$"):
                    await client.call_tool("x", None, 0.01)
            await stopped.wait()
            await client.session.send_ping()


@quiet
@pytest.mark.rule("DEPR-7", "DEPR-6", "VER-7", "LEG-Q-02", "LEG-F-05", "VER-M-07", "LEG-F-01", "LEG-Q-04")
async def test_the_verbs_of_older_versions_work() -> None:
    heard: list[Any] = []
    reported, changed = anyio.Event(), anyio.Event()

    async def set_level(ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        heard.append(params.level)
        return types.EmptyResult()

    async def subscribe(ctx: Context, params: Any) -> types.EmptyResult:
        heard.append((ctx.method, params.uri))
        return types.EmptyResult()

    async def progress(ctx: Context, params: types.ProgressNotificationParams) -> None:
        heard.append((params.progress_token, params.progress, params.total, params.message))
        reported.set()

    async def roots_changed(ctx: Context, params: Any) -> None:
        heard.append("roots")
        changed.set()

    server = Server(  # pyright: ignore[reportDeprecated]
        "s",
        on_set_logging_level=set_level,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=subscribe,
        on_progress=progress,
        on_roots_list_changed=roots_changed,
    )
    async with Client(server, mode="legacy") as client:
        assert (await client.send_ping()).result_type is None  # pyright: ignore[reportDeprecated]
        await client.set_logging_level("error")  # pyright: ignore[reportDeprecated]
        await client.subscribe_resource("x://y")  # pyright: ignore[reportDeprecated]
        await client.unsubscribe_resource("x://y")  # pyright: ignore[reportDeprecated]
        with anyio.fail_after(5):
            await client.send_progress_notification("t", 1, 2, "half")  # pyright: ignore[reportDeprecated]
            await reported.wait()
            await client.send_roots_list_changed()  # pyright: ignore[reportDeprecated]
            await changed.wait()
    assert heard == [
        "error",
        ("resources/subscribe", "x://y"),
        ("resources/unsubscribe", "x://y"),
        ("t", 1, 2, "half"),
        "roots",
    ]


@quiet
@pytest.mark.rule("DEPR-8", "DEPR-5")
async def test_the_verbs_of_older_versions_are_refused_or_dropped_by_a_modern_server() -> None:
    heard: list[str] = []

    async def roots_changed(ctx: Context, params: Any) -> None:
        heard.append("roots")

    server = Server("s", on_roots_list_changed=roots_changed)  # pyright: ignore[reportDeprecated]
    async with Client(server) as client:
        for verb, arguments in (
            (client.send_ping, ()),  # pyright: ignore[reportDeprecated]
            (client.set_logging_level, ("error",)),  # pyright: ignore[reportDeprecated]
            (client.subscribe_resource, ("x://y",)),  # pyright: ignore[reportDeprecated]
            (client.unsubscribe_resource, ("x://y",)),  # pyright: ignore[reportDeprecated]
        ):
            assert hasattr(verb, "__deprecated__")
            with pytest.raises(MCPError) as raised:
                await verb(*arguments)  # pyright: ignore[reportArgumentType]
            assert (raised.value.code, raised.value.message) == (-32601, "Method not found")
        await client.send_roots_list_changed()  # pyright: ignore[reportDeprecated]
        await client.send_progress_notification("t", 1)  # pyright: ignore[reportDeprecated]
    assert heard == []


@pytest.mark.rule("CLIENT-78", "CLIENT-51")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_failing_tool_is_a_result_whatever_is_shown(mode: str) -> None:
    server = MCPServer("failing")

    @server.tool()
    def fail() -> str:
        raise ValueError("secret")

    for shown in (False, True):
        async with Client(server, mode=mode, raise_exceptions=shown) as client:
            assert (await client.call_tool("fail")).is_error


@pytest.mark.rule("DEPR-1", "DEPR-D1", "DEPR-2")
async def test_a_deprecated_verb_warns_in_this_era_too() -> None:
    async with Client(Server("s"), mode="legacy") as client:
        with pytest.warns(MCPDeprecationWarning) as caught:
            await client.send_ping()  # pyright: ignore[reportDeprecated]
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.rule("VER-6", "CALLBACK-23")
async def test_changes_are_told_to_the_message_handler() -> None:
    heard: list[Any] = []
    told = anyio.Event()

    async def handle(message: Any) -> None:
        heard.append(type(message).__name__)
        if len(heard) == 2:
            told.set()

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_resource_updated("x://y")
        return types.CallToolResult(content=[])

    async with Client(Server("s", on_call_tool=call_tool), mode="legacy", message_handler=handle) as client:
        await client.call_tool("x")
        with anyio.fail_after(5):
            await told.wait()
    assert heard == ["ToolListChangedNotification", "ResourceUpdatedNotification"]
