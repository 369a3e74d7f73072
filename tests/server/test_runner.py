"""Serving messages of somebody else's making: one, a pair of streams, a conversation; and what is known of clients."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from starlette.requests import Request as HTTPRequest

import mcp_types as types
from mcp._engine.link import OutgoingRequest
from mcp.server.connection import Connection
from mcp.server.context import Context, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.runner import serve_connection, serve_loop, serve_one
from mcp.server.session import ServerSession
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.dispatcher import CallOptions, OnNotify, OnRequest
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import ClientCapabilities
from tests.server.lowlevel.test_pipe import HELLO
from tests.server.lowlevel.wire import Pipe, meta

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
CHANGES = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
]


class Wire:
    """A way to a client that writes down what is sent, and a message that came from there."""

    def __init__(self, request_id: int | None = 7, *, can_send_request: bool = True, **answer: Any) -> None:
        self.request_id = request_id
        self.transport = TransportContext(kind="paper", can_send_request=can_send_request, headers={"x-a": "1"})
        self.sent: list[tuple[str, Any]] = []
        self.options: list[CallOptions | None] = []
        self.answer = answer

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        self.sent.append((method, params))
        self.options.append(opts)
        if opts is not None and "on_progress" in opts:
            await opts["on_progress"](1, 2, "half")
        return self.answer

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        self.sent.append((method, params))


class Script:
    """A dispatcher that hands out what it was given, and keeps the outcomes."""

    def __init__(self, *messages: tuple[Wire, str, Mapping[str, Any] | None]) -> None:
        self.messages = messages
        self.outcomes: list[dict[str, Any] | MCPError] = []
        self.way = Wire()
        self.send_raw_request = self.way.send_raw_request
        self.notify = self.way.notify

    async def run(self, on_request: OnRequest, on_notify: OnNotify) -> None:
        for context, method, params in self.messages:
            if context.request_id is None and not method.startswith("tools/"):
                await on_notify(context, method, params)
                continue
            try:
                self.outcomes.append(await on_request(context, method, params))
            except MCPError as error:
                self.outcomes.append(error)


def server_with(body: Any) -> Server[Any]:
    async def call_tool(ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> Any:
        return types.CallToolResult(content=[types.TextContent(type="text", text=str(await body(ctx)))])

    return Server("s", on_call_tool=call_tool)


def opened(way: Wire, version: str = LEGACY, **capabilities: Any) -> Connection:
    params = types.InitializeRequestParams(
        protocol_version=version,
        capabilities=ClientCapabilities.model_validate(capabilities),
        client_info=types.Implementation(name="c", version="1"),
    )
    return Connection(way, protocol_version=version, session_id="s1", client_params=params)


async def test_one_modern_request_is_served_from_what_its_metadata_says() -> None:
    async def body(ctx: ServerRequestContext[Any, Any]) -> str:
        assert ctx.session.client_params is not None
        await ctx.session.send_progress_notification("t", 1)
        return f"{ctx.session.client_params.client_info.name} {ctx.lifespan_context} {ctx.request_id}"

    connection = Connection.from_envelope(MODERN, {"name": "c", "version": "1"}, {"sampling": {}})
    wire = Wire()
    params = {"name": "t", "_meta": meta()}
    result = await serve_one(
        server_with(body), wire, "tools/call", params, connection=connection, lifespan_state={"life": 1}
    )
    assert result["content"][0]["text"] == "c {'life': 1} 7"
    assert result["resultType"] == "complete"
    assert wire.sent == [("notifications/progress", {"progressToken": "t", "progress": 1})]
    with pytest.raises(MCPError, match="Method not found"):
        await serve_one(server_with(body), wire, "x/y", None, connection=connection, lifespan_state={})


async def test_a_handler_asks_and_tells_a_legacy_client_through_its_dispatcher() -> None:
    heard: list[object] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def body(ctx: ServerRequestContext[Any, Any]) -> object:
        await ctx.session.send_tool_list_changed()
        result = await ctx.session.send_request(
            types.PingRequest(), types.EmptyResult, request_read_timeout_seconds=3, progress_callback=hear
        )
        return type(result).__name__

    way, wire = Wire(), Wire()
    call = serve_one(server_with(body), wire, "tools/call", {"name": "t"}, connection=opened(way), lifespan_state={})
    assert (await call)["content"][0]["text"] == "EmptyResult"
    # What belongs to no request goes out on the connection's own way.
    assert way.sent == [("notifications/tools/list_changed", None), ("ping", None)]
    assert way.options[0] is not None
    assert way.options[0].get("timeout") == 3
    assert heard == [(1, 2, "half")]
    assert wire.sent == []


async def test_a_transport_without_a_way_back_cannot_be_asked() -> None:
    async def body(ctx: ServerRequestContext[Any, Any]) -> bool:
        return ctx.session.can_send_request

    for can, text in ((True, "True"), (False, "False")):
        wire = Wire(can_send_request=can)
        call = serve_one(
            server_with(body), wire, "tools/call", {"name": "t"}, connection=opened(Wire()), lifespan_state={}
        )
        assert (await call)["content"][0]["text"] == text


async def test_a_pair_of_streams_is_served_in_somebody_elses_lifespan() -> None:
    seen: list[Connection] = []

    async def body(ctx: ServerRequestContext[Any, Any]) -> str:
        seen.append(ctx.session._connection)
        return f"{ctx.lifespan_context}"

    server = server_with(body)
    to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception](10)
    server_writes, from_server = anyio.create_memory_object_stream[SessionMessage](10)
    options = server.create_initialization_options()
    options.instructions = "Be kind."
    async with anyio.create_task_group() as tasks, to_server, from_server:

        async def serve() -> None:
            await serve_loop(
                server, server_reads, server_writes, lifespan_state="life", session_id="s9", init_options=options
            )

        tasks.start_soon(serve)
        client = Pipe(to_server, from_server)
        await client.request(1, "initialize", HELLO, modern=False)
        assert (await client.result()).result["instructions"] == "Be kind."
        for request_id in (2, 3):
            await client.request(request_id, "tools/call", {"name": "t"}, modern=False)
            assert (await client.result()).result["content"][0]["text"] == "life"
        # One object for the whole conversation: programs keep things under it.
        assert seen[0] is seen[1]
        assert len({*seen}) == 1
        assert (seen[0].session_id, seen[0].protocol_version, seen[0].initialize_accepted) == ("s9", LEGACY, True)
        tasks.start_soon(seen[0].send_resource_updated, "x://y")
        assert (await client.receive()) is not None
        tasks.start_soon(seen[0].ping)
        question = await client.question()
        assert question.method == "ping"
        await client.send({"id": question.request_id, "result": {}})
        await client.close()


async def test_a_dispatcher_carries_a_conversation_that_a_handshake_opens() -> None:
    async def body(ctx: ServerRequestContext[Any, Any]) -> str:
        return ctx.protocol_version

    server = server_with(body)
    options = server.create_initialization_options()
    options.instructions = "Be kind."
    script = Script(
        (Wire(1), "tools/call", {"name": "t"}),
        (Wire(2), "initialize", HELLO),
        (Wire(None), "notifications/initialized", None),
        (Wire(3), "tools/call", {"name": "t"}),
        (Wire(4), "initialize", HELLO),
    )
    connection = Connection.for_loop(script, session_id="s1", protocol_version_hint="2025-03-26")
    assert (connection.client_params, connection.protocol_version) == (None, "2025-03-26")
    await serve_connection(server, script, connection=connection, lifespan_state={}, init_options=options)
    refused, opened, called, again = script.outcomes
    assert isinstance(refused, MCPError)
    assert "not initialized" in refused.message
    assert isinstance(opened, dict)
    assert opened["instructions"] == "Be kind."
    assert isinstance(called, dict)
    assert called["content"][0]["text"] == LEGACY
    assert isinstance(again, MCPError)
    assert again.message == "already initialized"
    assert connection.initialize_accepted
    assert connection.handshake.initialized


async def test_a_dispatcher_carries_a_modern_conversation() -> None:
    async def body(ctx: ServerRequestContext[Any, Any]) -> str:
        return ctx.protocol_version

    script = Script((Wire(1), "tools/call", {"name": "t", "_meta": meta()}), (Wire(2), "initialize", HELLO))
    await serve_connection(server_with(body), script, connection=Connection.for_loop(script), lifespan_state={})
    called, refused = script.outcomes
    assert isinstance(called, dict)
    assert called["content"][0]["text"] == MODERN
    assert isinstance(refused, MCPError)
    assert refused.code == types.UNSUPPORTED_PROTOCOL_VERSION


async def test_a_request_without_an_id_is_the_dispatchers_mistake() -> None:
    script = Script((Wire(None), "tools/call", {"name": "t"}))
    with pytest.raises(ValueError, match=r"^the request 'tools/call' has no id$"):
        await serve_connection(Server("s"), script, connection=Connection.for_loop(script), lifespan_state={})


async def test_a_connection_knows_its_client_and_sends_what_belongs_to_no_request() -> None:
    way = Wire(roots=[])
    connection = opened(way, roots={})
    assert connection.client_params is not None
    assert connection.client_params.client_info.name == "c"
    assert connection.check_capability(ClientCapabilities(roots=types.RootsCapability()))
    assert not connection.check_capability(ClientCapabilities(sampling=types.SamplingCapability()))
    assert connection.has_standalone_channel
    assert isinstance(await connection.send_request(types.ListRootsRequest()), types.ListRootsResult)
    await connection.ping(meta={"a": 1})
    await connection.log("info", "hi", "me", meta={"a": 1})
    await connection.send_tool_list_changed(meta={"a": 1})
    await connection.send_prompt_list_changed()
    await connection.send_resource_list_changed()
    await connection.send_resource_updated("x://y")
    assert way.sent == [
        ("roots/list", None),
        ("ping", {"_meta": {"a": 1}}),
        ("notifications/message", {"level": "info", "data": "hi", "logger": "me", "_meta": {"a": 1}}),
        (CHANGES[0], {"_meta": {"a": 1}}),
        (CHANGES[1], None),
        (CHANGES[2], None),
        (CHANGES[3], {"uri": "x://y"}),
    ]


async def test_requests_of_ones_own_need_the_model_of_their_result() -> None:
    class Own(types.Request[None, str]):
        method: str = "com.example/own"
        params: None = None

    class Result(BaseModel):
        value: int

    connection = opened(Wire(value=3))
    assert await connection.send_request(Own(), result_type=Result) == Result(value=3)
    with pytest.raises(TypeError, match=r"^'com\.example/own' is no method of the protocol; say what answers it"):
        await connection.send_request(Own())


async def test_a_modern_client_is_neither_asked_nor_told_of_changes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp.server")
    connection = Connection.from_envelope(MODERN, None, None)
    assert not connection.has_standalone_channel
    assert not connection.initialize_accepted
    with pytest.raises(NoBackChannelError):
        await connection.ping()
    await connection.send_tool_list_changed()
    await connection.log("error", "x")
    await connection.notify("notifications/x", None)
    assert caplog.text.count("subscriptions/listen") == 1
    assert caplog.text.count("no channel of its own") == 1
    legacy = Connection.from_envelope(LEGACY, None, None)
    with pytest.raises(NoBackChannelError):
        await legacy.ping()


async def test_a_session_can_be_made_for_a_dispatcher_of_ones_own() -> None:
    wire = Wire()
    session = ServerSession(wire, opened(Wire()), request_meta={"progress_token": "t"})
    await session.report_progress(1)
    assert wire.sent == [("notifications/progress", {"progressToken": "t", "progress": 1})]
    with pytest.raises(TypeError, match="needs the connection"):
        ServerSession(wire, None)


async def test_sessions_of_single_requests_have_a_connection_each() -> None:
    seen: list[Connection] = []

    async def body(ctx: ServerRequestContext[Any, Any]) -> None:
        assert ctx.session._connection is ctx.session._connection
        seen.append(ctx.session._connection)

    async with server_with(body).connect_in_process("auto") as link:

        async def drop(method: str, params: dict[str, Any] | None) -> None: ...

        for request_id in (1, 2):
            await link.exchange(OutgoingRequest(request_id, "tools/call", {"name": "t", "_meta": meta()}), drop)
    assert seen[0] is not seen[1]
    assert seen[0].protocol_version == MODERN


async def test_a_context_shows_what_belongs_to_a_message() -> None:
    wire = Wire()
    connection = opened(Wire())
    context = Context(wire, lifespan="life", connection=connection, meta={"progress_token": 1})
    assert (context.lifespan, context.session_id, context.connection) == ("life", "s1", connection)
    assert (context.headers, context.meta) == ({"x-a": "1"}, {"progress_token": 1})
    connection.handshake.log_level = "warning"
    await context.log("info", "dropped")
    await context.log("error", "kept", "me", meta={"a": 1})
    assert wire.sent == [
        ("notifications/message", {"level": "error", "data": "kept", "logger": "me", "_meta": {"a": 1}})
    ]
    with pytest.raises(ValueError, match="level must be one of"):
        await context.log("loud", "x")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("application/json", (True, False)),
        ("text/event-stream", (False, True)),
        ("*/*", (True, True)),
        ("image/png", (False, False)),
    ],
)
def test_the_accept_header_says_in_which_forms_a_client_takes_answers(accept: str, expected: tuple[bool, bool]) -> None:
    request = HTTPRequest({"type": "http", "headers": [(b"accept", accept.encode())]})
    assert check_accept_headers(request) == expected
