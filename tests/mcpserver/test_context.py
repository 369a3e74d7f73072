"""What a function learns from its context, and what it does with it."""

# Logging over the protocol is deprecated, and tested here.
# pyright: reportDeprecated=false

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.server import MCPServer
from mcp.server.request_state import authenticated_principal
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError, NoBackChannelError
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types import (
    LOG_LEVEL_META_KEY,
    CallToolResult,
    ClientCapabilities,
    GetPromptResult,
    InputRequiredResult,
    TextContent,
)
from tests.mcpserver.wire import connect
from tests.server.http.fakes import FakeConnection, request_body, request_headers

OUTSIDE = r"^Context is not available outside of a request$"


@pytest.mark.rule("CTX-3", "CTX-9", "CTX-D4")
async def test_a_context_tells_about_its_request() -> None:
    mcp = MCPServer("Lab", version="3")
    seen: list[Context[Any, Any]] = []

    @mcp.tool()
    async def f(ctx: Context) -> list[Any]:
        seen.append(ctx)
        capabilities = ctx.client_capabilities
        assert capabilities is not None
        return [
            ctx.request_id,
            ctx.request_context.request_id,
            ctx.request_context.method,
            ctx.protocol_version,
            ctx.headers,
            capabilities.sampling is not None,
            ctx.mcp_server.name,
            ctx.mcp_server.version,
            ctx.session.protocol_version,
            ctx.input_responses,
            ctx.request_state,
        ]

    async with connect(mcp, capabilities={"sampling": {}}) as peer:
        result = await peer.call("f")
        await peer.call("f")
    expected = ["1", 1, "tools/call", "2026-07-28", None, True, "Lab", "3", "2026-07-28", None, None]
    assert result["structuredContent"] == {"result": expected}
    assert seen[0] is not seen[1]


@pytest.mark.rule("CTX-2")
async def test_only_registered_functions_are_given_a_context() -> None:
    mcp = MCPServer("Lab")

    def helper(word: str, ctx: Context | None = None) -> str:
        return f"{word} {'none' if ctx is None else ctx.request_context.method}"

    @mcp.tool()
    async def f(ctx: Context) -> list[str]:
        return [helper("alone"), helper("given", ctx)]

    async with connect(mcp) as peer:
        assert (await peer.call("f"))["structuredContent"] == {"result": ["alone none", "given tools/call"]}


@pytest.mark.rule("CTX-8")
async def test_a_header_is_no_identity() -> None:
    mcp = MCPServer("Lab")
    claims = {"authorization": "Bearer admin", "x-user": "admin", "x-forwarded-user": "admin"}
    seen: list[Any] = []

    @mcp.tool()
    async def f(ctx: Context) -> None:
        seen.append({name: (ctx.headers or {}).get(name) for name in claims})
        seen.append(authenticated_principal(ctx.request_context))
        seen.append(get_access_token())

    app = mcp.streamable_http_app()
    body = request_body("tools/call", {"name": "f", "arguments": {}})
    connection = FakeConnection(json.dumps(body).encode(), {**request_headers(body), **claims})
    async with mcp.session_manager.run():
        await app(connection.scope, connection.receive, connection.send)
    assert connection.status == 200
    assert seen == [claims, None, None]


@dataclass
class State:
    greeting: str


@pytest.mark.rule("CTX-7", "LIFE-1", "LIFE-3", "LIFE-5", "LIFE-6")
async def test_every_function_sees_what_the_lifespan_yielded() -> None:
    events: list[str] = []

    @asynccontextmanager
    async def lifespan(server: MCPServer[State]) -> AsyncGenerator[State]:
        events.append(f"start {server.name}")
        yield State("hello")
        events.append("stop")

    mcp = MCPServer("Lab", lifespan=lifespan)

    @mcp.tool()
    async def tool(ctx: Context[State]) -> str:
        return ctx.request_context.lifespan_context.greeting

    @mcp.prompt()
    async def prompt(ctx: Context[State]) -> str:
        return ctx.request_context.lifespan_context.greeting

    @mcp.resource("x://{a}")
    async def template(a: str, ctx: Context[State]) -> str:
        return ctx.request_context.lifespan_context.greeting

    assert events == []
    async with connect(mcp) as peer:
        assert events == ["start Lab"]
        assert await peer.text("tool") == "hello"
        prompted = await peer.request("prompts/get", {"name": "prompt"})
        assert prompted["messages"][0]["content"]["text"] == "hello"
        assert (await peer.request("resources/read", {"uri": "x://a"}))["contents"][0]["text"] == "hello"
        async with connect(mcp):
            assert events == ["start Lab", "start Lab"]
    assert events == ["start Lab", "start Lab", "stop", "stop"]


@pytest.mark.rule("LIFE-2", "CTX-7")
async def test_without_a_lifespan_there_is_an_empty_dict() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def f(ctx: Context) -> dict[str, Any]:
        return ctx.request_context.lifespan_context

    async with connect(mcp) as peer:
        assert (await peer.call("f"))["structuredContent"] == {}


@pytest.mark.rule("LIFE-9", "LIFE-D2")
def test_a_lifespan_of_the_wrong_kind_is_refused_at_once() -> None:
    async def coroutine(server: Any) -> None: ...

    async def generator(server: Any) -> AsyncGenerator[None]:
        yield

    for wrong in (coroutine, generator):
        with pytest.raises(TypeError, match=r"decorate the function with contextlib\.asynccontextmanager"):
            MCPServer("Lab", lifespan=wrong)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]


@pytest.mark.rule("LIFE-8")
async def test_a_failing_lifespan_leaves_the_server_unstarted() -> None:
    @asynccontextmanager
    async def lifespan(server: MCPServer[None]) -> AsyncGenerator[None]:
        if server.name:
            raise RuntimeError("no database")
        yield

    with pytest.raises(RuntimeError, match="no database"):
        async with connect(MCPServer("Lab", lifespan=lifespan)):
            pass


@pytest.mark.rule("CTX-4", "LIFE-7")
async def test_outside_a_request_there_is_no_request() -> None:
    context: Context[Any, Any] = Context()
    for name in ("request_context", "request_id", "session", "headers", "client_capabilities", "mcp_server"):
        with pytest.raises(ValueError, match=OUTSIDE):
            getattr(context, name)

    class Form(BaseModel):
        x: int

    with pytest.raises(ValueError, match=OUTSIDE):
        await context.elicit("?", Form)
    with pytest.raises(ValueError, match=OUTSIDE):
        await context.elicit_url("?", "https://a", "1")
    assert context.protocol_version is None
    assert context.input_responses is None
    assert context.request_state is None
    await context.close_sse_stream()
    await context.close_standalone_sse_stream()


@pytest.mark.rule("LIFE-D1")
async def test_direct_calls_can_have_the_lifespan_and_a_request_that_nobody_sent() -> None:
    events: list[str] = []

    @asynccontextmanager
    async def lifespan(server: MCPServer[State]) -> AsyncGenerator[State]:
        events.append("start")
        try:
            yield State("hello")
        finally:
            events.append("stop")

    mcp = MCPServer("Lab", lifespan=lifespan)

    @mcp.tool()
    async def tool(ctx: Context[State], steps: int) -> str:
        await ctx.report_progress(1, steps)
        await ctx.session.log("error", "nobody hears this")
        assert (ctx.headers, ctx.client_capabilities, ctx.input_responses) == (None, ClientCapabilities(), None)
        return f"{ctx.request_context.lifespan_context.greeting} {ctx.protocol_version}"

    @mcp.prompt()
    async def prompt(ctx: Context[State]) -> str:
        return ctx.request_context.lifespan_context.greeting

    @mcp.resource("x://{a}")
    async def template(a: str, ctx: Context[State]) -> str:
        return ctx.request_context.lifespan_context.greeting

    @mcp.tool()
    async def ask(ctx: Context[State]) -> None:
        await ctx.session.list_roots()

    async with mcp.direct_context() as ctx:
        assert events == ["start"]
        called = await mcp.call_tool("tool", {"steps": 2}, ctx)
        assert isinstance(called, CallToolResult)
        assert called.structured_content == {"result": "hello 2026-07-28"}
        prompted = await mcp.get_prompt("prompt", context=ctx)
        assert isinstance(prompted, GetPromptResult)
        assert prompted.messages[0].content == TextContent(type="text", text="hello")
        assert await mcp.read_resource("x://a", ctx) == [ReadResourceContents("hello", "text/plain")]
        with pytest.warns(MCPDeprecationWarning), pytest.raises(NoBackChannelError):
            await mcp.call_tool("ask", {}, ctx)
        async with mcp.direct_context():
            assert events == ["start", "start"]
    assert events == ["start", "start", "stop", "stop"]
    with pytest.raises(KeyError, match="in the test"):
        async with mcp.direct_context():
            raise KeyError("in the test")
    assert events[-1] == "stop"


@pytest.mark.rule("CTX-5", "CTX-D3", "SUBS-3")
async def test_a_bare_context_has_no_server() -> None:
    context: Context[Any, Any] = Context()
    for call in (
        context.read_resource("x://s"),
        context.notify_tools_changed(),
        context.notify_prompts_changed(),
        context.notify_resources_changed(),
        context.notify_resource_updated("x://s"),
    ):
        with pytest.raises(ValueError, match=OUTSIDE):
            await call


@pytest.mark.rule("CTX-D1")
async def test_reporting_outside_a_request_does_nothing() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def f(ctx: Context) -> str:
        await ctx.report_progress(1)
        with pytest.warns(MCPDeprecationWarning):
            await ctx.info("x")
        return "done"

    @mcp.tool()
    def g(ctx: Context) -> str:
        ctx.sync.report_progress(1)
        return "done"

    for name in ("f", "g"):
        assert await mcp.call_tool(name, {})


@pytest.mark.rule("CTX-5", "CTX-6", "RES-28", "CTX-14")
async def test_a_function_can_read_resources_of_its_server() -> None:
    mcp = MCPServer("Lab")

    @mcp.resource("x://{a}")
    async def template(a: str, ctx: Context) -> str:
        return f"{a} {ctx.protocol_version}"

    @mcp.resource("b://blob")
    async def blob() -> bytes:
        return b"b"

    @mcp.tool()
    async def read(uri: str, ctx: Context) -> str:
        (content,) = await ctx.read_resource(uri)
        return str(content.content)

    async with connect(mcp) as peer:
        assert await peer.text("read", uri="x://a") == "a 2026-07-28"
        assert await peer.text("read", uri="b://blob") == "b'b'"
        assert await peer.text("read", uri="y://a") == "Error executing tool read: Unknown resource: y://a"
    assert await mcp.call_tool("read", {"uri": "x://a"})
    context: Context[Any, Any] = Context(mcp_server=mcp)
    assert await context.read_resource("x://a") == [ReadResourceContents("a None", "text/plain")]
    with pytest.raises(ResourceNotFoundError):
        await context.read_resource("y://a")


@pytest.mark.rule("MRTR-20", "CTX-6")
async def test_a_nested_read_takes_no_part_in_rounds() -> None:
    mcp = MCPServer("Lab")

    @mcp.resource("x://{a}")
    async def asking(a: str, ctx: Context) -> str | InputRequiredResult:
        assert ctx.input_responses is None
        assert ctx.request_state is None
        return InputRequiredResult(request_state="s")

    @mcp.tool()
    async def read(ctx: Context) -> str:
        with pytest.raises(RuntimeError) as caught:
            await ctx.read_resource("x://a")
        return str(caught.value)

    async with connect(mcp) as peer:
        answer: dict[str, Any] = {"q": {"action": "accept", "content": {}}}
        params: dict[str, Any] = {"name": "read", "arguments": {}, "inputResponses": answer}
        result = await peer.request("tools/call", params)
    assert result["content"][0]["text"] == (
        "Resource returned InputRequiredResult; ctx.read_resource() only returns content — use "
        "MCPServer.read_resource(uri, context) to receive and forward it."
    )


@pytest.mark.rule("PROGRESS-1", "PROGRESS-2", "PROGRESS-3")
async def test_progress_is_reported_to_a_client_that_asked() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def on_loop(ctx: Context) -> None:
        await ctx.report_progress(1)
        await ctx.report_progress(2.5, 10, "m")

    @mcp.tool()
    def in_thread(ctx: Context) -> None:
        ctx.sync.report_progress(1)
        ctx.sync.report_progress(2.5, 10, "m")

    async with connect(mcp) as peer:
        for name in ("on_loop", "in_thread"):
            await peer.call(name)
            assert peer.notifications == []
            await peer.request("tools/call", {"name": name}, meta={"progressToken": "tok"})
            assert peer.notifications == [
                ("notifications/progress", {"progressToken": "tok", "progress": 1}),
                ("notifications/progress", {"progressToken": "tok", "progress": 2.5, "total": 10, "message": "m"}),
            ]
            peer.notifications.clear()


@pytest.mark.rule("LOG-4", "LOG-5", "LOG-7", "LOG-D3", "LOG-8")
async def test_log_messages_reach_a_client_that_asked_with_one_warning_each() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def on_loop(ctx: Context) -> None:
        with pytest.warns(MCPDeprecationWarning, match=r"^The logging capability is deprecated") as warned:  # noqa: PT031
            await ctx.debug("d")
            await ctx.info({"k": 1}, logger_name="lg")
            await ctx.warning("w")
            await ctx.error("e")
            await ctx.log("critical", "c")
        assert len(warned) == 5
        with pytest.warns(MCPDeprecationWarning), pytest.raises(ValueError, match="level must be one of"):
            await ctx.log("loud", "x")  # pyright: ignore[reportArgumentType]

    @mcp.tool()
    def in_thread(ctx: Context) -> None:
        with pytest.warns(MCPDeprecationWarning):  # noqa: PT031
            ctx.sync.debug("d")
            ctx.sync.info({"k": 1}, logger_name="lg")
            ctx.sync.warning("w")
            ctx.sync.error("e")
            ctx.sync.log("critical", "c")

    async with connect(mcp) as peer:
        for name in ("on_loop", "in_thread"):
            await peer.call(name)
            assert peer.notifications == []
            result = await peer.request("tools/call", {"name": name}, meta={LOG_LEVEL_META_KEY: "info"})
            assert result["isError"] is False
            assert peer.notifications == [
                ("notifications/message", {"level": "info", "data": {"k": 1}, "logger": "lg"}),
                ("notifications/message", {"level": "warning", "data": "w"}),
                ("notifications/message", {"level": "error", "data": "e"}),
                ("notifications/message", {"level": "critical", "data": "c"}),
            ]
            peer.notifications.clear()


@pytest.mark.rule("SUBS-1", "SUBS-3", "CTX-5")
async def test_changes_are_announced_on_the_servers_bus() -> None:
    bus = InMemorySubscriptionBus()
    events: list[ServerEvent] = []
    bus.subscribe(events.append)
    mcp = MCPServer("Lab", subscriptions=bus)

    @mcp.tool()
    async def change(ctx: Context) -> None:
        await ctx.notify_tools_changed()
        await ctx.notify_prompts_changed()
        await ctx.notify_resources_changed()
        await ctx.notify_resource_updated("x://s")

    async with connect(mcp) as peer:
        assert (await peer.call("change"))["isError"] is False
    await mcp.call_tool("change", {})
    expected = [ToolsListChanged(), PromptsListChanged(), ResourcesListChanged(), ResourceUpdated(uri="x://s")]
    assert events == expected * 2


@pytest.mark.rule("SUBS-6")
async def test_without_subscriptions_announcing_does_nothing() -> None:
    mcp = MCPServer("Lab", subscriptions=False)

    @mcp.tool()
    async def change(ctx: Context) -> None:
        await ctx.notify_tools_changed()

    async with connect(mcp) as peer:
        assert (await peer.call("change"))["isError"] is False
        with pytest.raises(MCPError) as caught:
            await peer.request("subscriptions/listen", {"notifications": {}})
        assert caught.value.message == "Method not found"
        discovered = await peer.request("server/discover")
    assert discovered["capabilities"]["tools"] == {"listChanged": False}


@pytest.mark.rule("CTX-11", "ELICIT-10")
async def test_a_modern_client_cannot_be_asked_in_the_middle_of_a_call() -> None:
    mcp = MCPServer("Lab")

    class Form(BaseModel):
        x: int

    @mcp.tool()
    async def ask(ctx: Context) -> None:
        await ctx.elicit("?", Form)

    @mcp.tool()
    async def open_url(ctx: Context) -> None:
        await ctx.elicit_url("?", "https://a", "1")

    async with connect(mcp, capabilities={"elicitation": {"form": {}, "url": {}}}) as peer:
        for name in ("ask", "open_url"):
            with pytest.raises(MCPError) as caught:
                await peer.call(name)
            assert caught.value.message == (
                "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated "
                "requests. Register the function with resumable=True, or give it a parameter with a resolver "
                "(Resolve), or return an InputRequiredResult."
            )


async def test_streams_are_closed_where_there_are_some() -> None:
    closed: list[str] = []

    async def close() -> None:
        closed.append("response")

    async def close_standalone() -> None:
        closed.append("standalone")

    mcp = MCPServer("Lab")
    contexts: list[Context[Any, Any]] = []

    @mcp.tool()
    async def f(ctx: Context) -> None:
        contexts.append(ctx)
        await ctx.close_sse_stream()

    async with connect(mcp) as peer:
        await peer.call("f")
    request = contexts[0].request_context
    streaming: ServerRequestContext[Any, Any] = ServerRequestContext(
        session=request.session,
        lifespan_context={},
        protocol_version=request.protocol_version,
        method=request.method,
        close_sse_stream=close,
        close_standalone_sse_stream=close_standalone,
    )
    context: Context[Any, Any] = Context(request_context=streaming)
    await context.close_sse_stream()
    await context.close_standalone_sse_stream()
    assert closed == ["response", "standalone"]


async def test_headers_come_from_the_transport() -> None:
    mcp = MCPServer("Lab")
    contexts: list[Context[Any, Any]] = []

    @mcp.tool()
    async def f(ctx: Context) -> None:
        contexts.append(ctx)

    async with connect(mcp) as peer:
        await peer.call("f")
    contexts[0].session.scope.headers = {"x-a": "b"}
    assert contexts[0].headers == {"x-a": "b"}
    assert contexts[0].client_capabilities == ClientCapabilities()


@pytest.mark.rule("CTX-3")
async def test_concurrent_requests_have_contexts_of_their_own() -> None:
    mcp = MCPServer("Lab")
    both = anyio.Event()
    waiting: list[str] = []

    @mcp.tool()
    async def f(ctx: Context) -> str:
        waiting.append(ctx.request_id)
        if len(waiting) == 2:
            both.set()
        await both.wait()
        return ctx.request_id

    answers: list[str] = []
    async with connect(mcp) as peer:

        async def call() -> None:
            answers.append(await peer.text("f"))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(call)
                group.start_soon(call)
    assert sorted(answers) == ["1", "2"]
