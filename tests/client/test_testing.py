"""How users test their servers: in memory, over streams of their own, and over HTTP without a port."""

# Features of older versions are deprecated, and tested here.
# pyright: reportDeprecated=false

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, Literal

import anyio
import httpx2
import pytest
from pydantic import BaseModel
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.subscriptions import ToolsListChanged
from tests.cases.ways import plain_client
from tests.programs import run_program

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])
quiet = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

mcp = MCPServer("Lab")


@mcp.tool()
async def add(a: int, b: int) -> int:
    return a + b


# --- in memory --------------------------------------------------------------------------------------------------------

BARE = """
import sys

import anyio

from mcp import Client
from mcp.server.mcpserver import MCPServer

mcp = MCPServer("Lab")


@mcp.tool()
async def add(a: int, b: int) -> int:
    return a + b


async def main(mode):
    async with Client(mcp) as client:
        await client.call_tool("add", {"a": 1, "b": 2})  # what loads at first use has loaded
    watching.append(mode)
    async with Client(mcp, mode=mode) as client:
        result = await client.call_tool("add", {"a": 1, "b": 2})
    watching.clear()
    print(mode, result.structured_content)


def watch(event, arguments):
    if watching and event.startswith(("socket.", "subprocess.", "os.posix_spawn", "os.fork", "_thread.start")):
        print("seen:", event)


watching = []
sys.addaudithook(watch)
for backend in ("asyncio", "trio"):
    for mode in ("auto", "legacy"):
        anyio.run(main, mode, backend=backend)
"""


@pytest.mark.rule("TEST-2")
def test_a_server_in_memory_takes_no_process_port_or_thread(tmp_path: Any) -> None:
    program = tmp_path / "program.py"
    program.write_text(BARE)
    printed = run_program(program).splitlines()
    assert printed == ["auto {'result': 3}", "legacy {'result': 3}"] * 2


@pytest.fixture(params=["auto", "legacy"])
async def client(request: pytest.FixtureRequest) -> AsyncGenerator[Client]:
    async with Client(mcp, mode=request.param) as client:
        yield client


@pytest.mark.rule("TEST-3")
@pytest.mark.parametrize("number", [1, 2])
async def test_a_fixture_may_hold_the_client(client: Client, number: int) -> None:
    assert (await client.call_tool("add", {"a": number, "b": 2})).structured_content == {"result": number + 2}


@pytest.mark.rule("TEST-D1")
@BOTH_ERAS
async def test_an_unexpected_exception_is_raised_from_the_call_and_the_connection_goes_on(mode: str) -> None:
    fault = ZeroDivisionError("by zero")

    async def fail(ctx: ServerRequestContext[Any, Any], params: Any) -> types.ListPromptsResult:
        raise fault

    async def list_tools(ctx: ServerRequestContext[Any, Any], params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[])

    server = Server("s", on_list_prompts=fail, on_list_tools=list_tools)
    async with Client(server, mode=mode, raise_exceptions=True) as client:
        with pytest.raises(MCPError, match=r"^by zero$") as caught:
            await client.list_prompts()
        assert caught.value.__cause__ is fault
        assert (await client.list_tools()).tools == []


class Form(BaseModel):
    name: str


async def accept(context: ClientRequestContext, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def sample(context: ClientRequestContext, params: Any) -> types.CreateMessageResult:
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="hi"), model="m")


async def roots(context: ClientRequestContext) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///a"}]})


async def elicit(ctx: Context) -> Any:
    return (await ctx.elicit("Who?", Form)).action


async def create_message(ctx: Context) -> Any:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="?"))
    return (await ctx.session.create_message([message], max_tokens=5)).model


async def list_roots(ctx: Context) -> Any:
    return str((await ctx.session.list_roots()).roots[0].uri)


async def ping(ctx: Context) -> Any:
    await ctx.session.send_ping()
    return "pong"


async def tell(ctx: Context) -> Any:
    await ctx.session.send_tool_list_changed()
    return "told"


PUSHED = [(elicit, "accept"), (create_message, "m"), (list_roots, "file:///a"), (ping, "pong")]


@quiet
@pytest.mark.rule("TEST-11")
@pytest.mark.parametrize(("push", "outcome"), PUSHED)
@BOTH_ERAS
async def test_what_a_server_asks_in_the_middle_of_a_call_needs_the_legacy_mode(
    push: Any, outcome: str, mode: Literal["auto", "legacy"]
) -> None:
    server = MCPServer("Lab", mask_errors=False)

    @server.tool()
    async def tool(ctx: Context) -> str:
        return await push(ctx)

    callbacks: dict[str, Any] = {
        "elicitation_callback": accept,
        "sampling_callback": sample,
        "list_roots_callback": roots,
    }
    async with Client(server, mode=mode, **callbacks) as client:
        if mode == "legacy":
            assert (await client.call_tool("tool")).structured_content == {"result": outcome}
            return
        with pytest.raises(MCPError, match="no back-channel for server-initiated requests"):
            await client.call_tool("tool")


@pytest.mark.rule("TEST-11")
@BOTH_ERAS
async def test_news_that_belong_to_no_request_need_the_legacy_mode(mode: Literal["auto", "legacy"]) -> None:
    server = MCPServer("Lab")
    heard: list[str] = []
    told = anyio.Event()

    async def hear(message: Any) -> None:
        heard.append(type(message).__name__)
        told.set()

    @server.tool()
    async def tool(ctx: Context) -> str:
        return await tell(ctx)

    async with Client(server, mode=mode, message_handler=hear) as client:
        assert (await client.call_tool("tool")).structured_content == {"result": "told"}
        if mode == "legacy":
            with anyio.fail_after(5):
                await told.wait()
    assert heard == (["ToolListChangedNotification"] if mode == "legacy" else [])


# --- over streams -----------------------------------------------------------------------------------------------------


@pytest.mark.rule("TEST-16")
async def test_a_session_and_a_server_meet_over_streams_in_memory() -> None:
    server: Server[Any] = mcp._lowlevel_server
    with anyio.fail_after(5):
        async with create_client_server_memory_streams() as (client_streams, server_streams):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.run, *server_streams, server.create_initialization_options())
                async with ClientSession(*client_streams) as session:
                    assert (await session.initialize()).server_info.name == "Lab"
                    result = await session.call_tool("add", {"a": 1, "b": 2})
                    assert result.structured_content == {"result": 3}
                tasks.cancel_scope.cancel()


# --- over HTTP without a port -----------------------------------------------------------------------------------------


@pytest.mark.rule("TEST-17")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_http_client_of_ones_own_may_lead_to_the_application(mode: str) -> None:
    server = MCPServer("Lab")
    server.tool()(add)
    app = server.streamable_http_app(json_response=True)
    transport = httpx2.ASGITransport(app)

    def connect(url: str, http_client: httpx2.AsyncClient) -> Client:
        return Client(streamable_http_client(url, http_client=http_client), mode=mode)

    with anyio.fail_after(10):
        async with plain_client(8000, transport=transport) as http_client:
            with pytest.raises(RuntimeError, match=r"Make sure to use run\(\)"):
                await connect("http://127.0.0.1:8000/mcp", http_client).__aenter__()
            async with server.session_manager.run():
                with pytest.raises(MCPError, match=r"^Invalid Host header: 'example.com'"):
                    await connect("http://example.com/mcp", http_client).__aenter__()
                async with connect("http://127.0.0.1:8000/mcp", http_client) as client:
                    assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}


VARIABLE: ContextVar[str] = ContextVar("VARIABLE", default="nothing")


@pytest.mark.rule("TEST-D6")
@BOTH_ERAS
async def test_a_server_object_can_be_reached_over_http_without_a_port(mode: str) -> None:
    log: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Any) -> AsyncGenerator[str]:
        log.append("start")
        yield "state"
        log.append("stop")

    server = MCPServer("Lab", lifespan=lifespan)
    reported: list[float] = []

    @server.tool()
    async def look(ctx: Context[Any]) -> list[Any]:
        headers = ctx.headers or {}
        for step in (1, 2):
            await ctx.report_progress(step, 2)
        state = ctx.request_context.lifespan_context
        request: Any = ctx.request_context.request
        return [headers["host"], "mcp-session-id" in headers, VARIABLE.get(), state, request.method]

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reported.append(progress)

    VARIABLE.set("the client's")
    with anyio.fail_after(10):
        async with Client(server, mode=mode, transport="http") as client:
            result = await client.call_tool("look", progress_callback=report)
            assert log == ["start"]
    assert result.structured_content == {"result": ["127.0.0.1:8000", mode == "legacy", "nothing", "state", "POST"]}
    assert reported == [1, 2]
    assert log == ["start", "stop"]


@pytest.mark.rule("TEST-D6")
async def test_questions_large_results_and_changes_pass_as_over_a_port() -> None:
    server = MCPServer("Lab")

    @server.tool()
    async def much(size: int) -> str:
        return "x" * size

    with anyio.fail_after(20):
        async with Client(server, transport="http") as client, client.listen(tools_list_changed=True) as changes:
            result = await client.call_tool("much", {"size": 3_000_000})
            assert result.structured_content == {"result": "x" * 3_000_000}
            server.tool()(add)
            assert await anext(changes) == ToolsListChanged()
            unmasked = await client.call_tool("much", {"size": -1})
            assert unmasked.structured_content == {"result": ""}


@quiet
@pytest.mark.rule("TEST-D6")
@pytest.mark.parametrize(("push", "outcome"), PUSHED)
async def test_a_legacy_session_over_http_is_asked_on_the_stream_of_its_call(push: Any, outcome: str) -> None:
    server = MCPServer("Lab")

    @server.tool()
    async def tool(ctx: Context) -> str:
        return await push(ctx)

    with anyio.fail_after(10):
        async with Client(
            server,
            mode="legacy",
            transport="http",
            elicitation_callback=accept,
            sampling_callback=sample,
            list_roots_callback=roots,
        ) as client:
            assert (await client.call_tool("tool")).structured_content == {"result": outcome}


@pytest.mark.rule("TEST-D6")
@BOTH_ERAS
@pytest.mark.parametrize("way", ["cancelled", "timed out", "closed"])
async def test_giving_up_over_http_without_a_port_stops_the_handler(mode: str, way: str) -> None:
    started, stopped = anyio.Event(), anyio.Event()
    server = MCPServer("Lab")
    failures: list[MCPError] = []

    @server.tool()
    async def wait() -> None:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            stopped.set()

    async def call(timeout: float | None) -> None:
        try:
            await client.call_tool("wait", read_timeout_seconds=timeout)
        except MCPError as error:
            failures.append(error)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            async with Client(server, mode=mode, transport="http") as client:
                tasks.start_soon(call, 0.05 if way == "timed out" else None)
                await started.wait()
                if way == "cancelled":
                    tasks.cancel_scope.cancel()
                elif way == "timed out":
                    await stopped.wait()
        await stopped.wait()
    assert bool(failures) == (way != "cancelled")


class Failing:
    """A middleware of an application that fails, before or after the response has begun."""

    def __init__(self, app: ASGIApp, begins: bool) -> None:
        self._app = app
        self._begins = begins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._begins:
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"{", "more_body": True})
        raise RuntimeError("broken middleware")


@pytest.mark.rule("TEST-D6")
@pytest.mark.parametrize(("begins", "text"), [(False, "500"), (True, "response ended before its time")])
async def test_an_application_that_fails_is_what_a_web_server_makes_of_it(
    begins: bool, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    app = mcp.streamable_http_app()
    app.user_middleware.append(Middleware(Failing, begins=begins))
    with anyio.fail_after(10):
        with pytest.raises(MCPError, match=text):
            async with Client(app, transport="http", mode="2026-07-28") as client:
                await client.list_tools()
    assert "broken middleware" in caplog.text


@pytest.mark.rule("TEST-D6")
async def test_an_application_with_settings_of_its_own_may_stand_for_its_server() -> None:
    for app in (mcp.streamable_http_app(streamable_http_path="/other"), mcp.sse_app()):
        with anyio.fail_after(10):
            async with Client(app, transport="http") as client:
                assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
        with pytest.raises(TypeError, match=r"reaches the web application .* with transport='http' only"):
            Client(app)


@pytest.mark.rule("TEST-D6")
@pytest.mark.parametrize("server", ["http://127.0.0.1:8000/mcp", MCPServer, object()])
def test_only_what_has_an_application_can_be_reached_over_http_without_a_port(server: Any) -> None:
    with pytest.raises(TypeError, match=r"^transport='http' is for a server object of this process"):
        Client(server, transport="http")
    with pytest.raises(ValueError, match=r"^transport must be 'memory' or 'http', got 'tcp'$"):
        Client(mcp, transport="tcp")  # pyright: ignore[reportArgumentType]
