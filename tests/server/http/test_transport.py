"""`StreamableHTTPServerTransport`: one session over HTTP as a pair of message streams."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.server import MCPServer
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from tests.server.http.fakes import FakeConnection, request_body, request_headers
from tests.server.http.legacy_client import MemoryStore, call, events_of, headers_of, opening, session

SESSION = "session-1"
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}


class Program:
    """A server of which tests know when its tool waits."""

    def __init__(self) -> None:
        self.begun, self.goes_on, self.stopped = anyio.Event(), anyio.Event(), anyio.Event()
        self.mcp = MCPServer("Lab")

        @self.mcp.tool()
        async def ask(ctx: Context) -> list[str]:
            await ctx.report_progress(1, 2)
            answer = await ctx.session.elicit_form("Who?", FORM)
            return [answer.action, (ctx.headers or {})["host"]]

        @self.mcp.tool()
        async def wait(ctx: Context) -> str:
            self.begun.set()
            try:
                await self.goes_on.wait()
            finally:
                self.stopped.set()
            return "went on"

        @self.mcp.tool()
        async def tell(ctx: Context) -> str:
            await ctx.session.send_tool_list_changed()
            await ctx.report_progress(1)
            return "told"

        @self.mcp.tool()
        async def poll(ctx: Context) -> str:
            await ctx.report_progress(1)
            await ctx.close_sse_stream()
            await self.goes_on.wait()
            return "polled"

    @asynccontextmanager
    async def serve(self, transport: StreamableHTTPServerTransport) -> AsyncGenerator[StreamableHTTPServerTransport]:
        server = self.mcp._lowlevel_server
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                async with transport.connect() as (read_stream, write_stream):
                    options = server.create_initialization_options()
                    tasks.start_soon(server.run, read_stream, write_stream, options)
                    yield transport
                tasks.cancel_scope.cancel()


@pytest.fixture
def program() -> Program:
    return Program()


class App:
    """A web application around a transport, for a client of this package."""

    mcp_path = "/mcp"

    def __init__(self, transport: StreamableHTTPServerTransport) -> None:
        self.router = self
        self.handle = transport.handle_request

    @asynccontextmanager
    async def lifespan_context(self, app: Any) -> AsyncGenerator[None]:
        yield

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.handle(scope, receive, send)


async def accept(context: ClientRequestContext, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada"})


@pytest.mark.parametrize("session_id", [SESSION, None])
async def test_a_client_talks_to_a_server_through_the_transport(program: Program, session_id: str | None) -> None:
    reported: list[float] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reported.append(progress)

    async with program.serve(StreamableHTTPServerTransport(session_id)) as transport:
        async with Client(App(transport), transport="http", elicitation_callback=accept) as client:
            assert client.protocol_version == "2025-11-25"
            result = await client.call_tool("ask", progress_callback=report)
            assert result.structured_content == {"result": ["accept", "127.0.0.1:8000"]}
        assert transport.is_terminated == (session_id is not None)  # the client ends what has a name
    assert reported == [1]
    assert transport.is_terminated


async def test_what_belongs_to_a_request_goes_out_on_its_response_and_the_rest_on_the_stand_alone_stream(
    program: Program,
) -> None:
    async with program.serve(StreamableHTTPServerTransport(SESSION)) as transport, session(transport) as client:
        assert client.session_id == SESSION
        alone = await client.listen()
        told = await client.send(call("tell"))
        assert [message.get("method", "answer") for message in told.events] == ["notifications/progress", "answer"]
        await alone.until(lambda connection: len(connection.events) == 1)
        assert alone.events[0]["method"] == "notifications/tools/list_changed"
        second = await client.send(b"", method="GET")
        assert second.status == 409
        transport.close_standalone_sse_stream()
        await alone.until(lambda connection: connection.ended)


async def test_answers_may_be_json_documents(program: Program) -> None:
    transport = StreamableHTTPServerTransport(SESSION, is_json_response_enabled=True)
    async with program.serve(transport), session(transport) as client:
        told = await client.send(call("tell"))
        assert told.headers["content-type"] == "application/json"
        assert json.loads(told.body)["result"]["structuredContent"] == {"result": "told"}
        asked = json.loads((await client.send(call("ask"))).body)
        assert "no back-channel" in asked["error"]["message"]


async def test_a_lost_stream_is_picked_up_again(program: Program) -> None:
    transport = StreamableHTTPServerTransport(SESSION, event_store=MemoryStore(), retry_interval=100)
    async with program.serve(transport), session(transport) as client:
        dropped = await client.send(call("poll"))
        assert [message["method"] for message in dropped.events] == ["notifications/progress"]
        last = events_of(dropped)[-1].event_id
        waiting = client.begin(call("wait", 3))
        await program.begun.wait()
        transport.close_sse_stream(3)
        await waiting.until(lambda connection: connection.ended)
        program.goes_on.set()
        again = await client.send(b"", method="GET", last_event_id=last)
        assert again.events[-1]["result"]["structuredContent"] == {"result": "polled"}


async def test_a_request_that_is_taken_back_ends(program: Program) -> None:
    async with program.serve(StreamableHTTPServerTransport(SESSION)) as transport, session(transport) as client:
        waiting = client.begin(call("wait", 7))
        await program.begun.wait()
        params = {"requestId": 7, "reason": "enough"}
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        assert (await client.send(cancel)).status == 202
        await waiting.until(lambda connection: connection.ended)
        await program.stopped.wait()
        assert waiting.events[-1]["error"] == {"code": -32800, "message": "Request cancelled"}


async def test_requests_of_another_session_or_era_are_refused(program: Program) -> None:
    settings = TransportSecuritySettings(allowed_hosts=["localhost:8000"])
    transport = StreamableHTTPServerTransport(SESSION, security_settings=settings)
    async with program.serve(transport), session(transport) as client:
        assert (await client.send(call("tell"), mcp_session_id=None)).status == 400
        assert (await client.send(call("tell"), mcp_session_id="other")).status == 404
        assert (await client.send(call("tell"), host="example.com")).status == 421
        body = request_body("tools/list")
        modern = FakeConnection(json.dumps(body).encode(), {**request_headers(body), "host": "localhost:8000"})
        await transport.handle_request(modern.scope, modern.receive, modern.send)
        assert modern.status == 400
        error = json.loads(modern.body)["error"]
        assert (error["code"], error["data"]["supported"][0]) == (-32022, "2025-11-25")
        broken = await client.send(b"{")
        assert (broken.status, json.loads(broken.body)["error"]["code"]) == (400, -32700)


@pytest.mark.parametrize("how", ["terminate", "delete", "idle", "writer"])
async def test_a_session_that_has_ended_is_not_found(program: Program, how: str) -> None:
    transport = StreamableHTTPServerTransport(SESSION, idle_timeout=0.05 if how == "idle" else None)
    async with program.serve(transport), session(transport) as client:
        alone = client.begin(b"", method="GET") if how != "idle" else None
        if alone is not None:
            await alone.until(lambda connection: bool(connection.sent))
        if how == "terminate":
            await transport.terminate()
        elif how == "delete":
            assert (await client.send(b"", method="DELETE")).status == 200
        elif how == "writer":
            session_of = transport._endpoint.session
            assert session_of is not None
            session_of.messages.close()  # whoever serves the session stops reading
            await client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        else:
            while not transport.is_terminated:
                await anyio.lowlevel.checkpoint()
        if alone is not None:
            await alone.until(lambda connection: connection.ended)
        assert transport.is_terminated
        assert (await client.send(call("tell"))).status == 404


async def test_whoever_reads_the_streams_may_serve_them_by_hand() -> None:
    transport = StreamableHTTPServerTransport(None)
    ask = types.JSONRPCRequest(jsonrpc="2.0", id="q", method="roots/list")
    news = types.JSONRPCNotification(jsonrpc="2.0", method="notifications/tools/list_changed")
    answer = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}

    async def request(body: dict[str, Any]) -> FakeConnection:
        connection = FakeConnection(json.dumps(body).encode(), headers_of({}))
        await transport.handle_request(connection.scope, connection.receive, connection.send)
        return connection

    async def serve() -> None:
        async with write_stream:
            async for item in read_stream:
                assert isinstance(item, SessionMessage)
                assert isinstance(item.metadata, ServerMessageMetadata)
                said.append(item.metadata.can_send_request)
                message = item.message
                if not isinstance(message, types.JSONRPCRequest):
                    continue
                related = ServerMessageMetadata(related_request_id=message.id)
                await write_stream.send(SessionMessage(news))  # nobody listens: it is lost
                if message.method == "initialize":
                    with pytest.raises(anyio.BrokenResourceError):  # its response begins with the answer
                        await write_stream.send(SessionMessage(ask, related))
                else:
                    await write_stream.send(SessionMessage(ask, related))
                await write_stream.send(
                    SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=message.id, result=answer))
                )

    said: list[bool] = []
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks, transport.connect() as (read_stream, write_stream):
            tasks.start_soon(serve)
            opened = await request(opening())
            assert "mcp-session-id" not in opened.headers
            assert opened.events[-1]["result"] == answer
            called = await request(call("any"))
            assert [message.get("method", "answer") for message in called.events] == ["roots/list", "answer"]
    assert said == [False, True]


async def test_the_transport_says_what_is_wrong_with_its_use() -> None:
    transport = StreamableHTTPServerTransport("s")
    connection = FakeConnection(b"{}", headers_of({}))
    with pytest.raises(RuntimeError, match=r"Ensure connect\(\) is called first"):
        await transport.handle_request(connection.scope, connection.receive, connection.send)
    await transport.terminate()
    transport.close_sse_stream(1)
    transport.close_standalone_sse_stream()
    async with transport.connect():
        assert transport.is_terminated
    with pytest.raises(RuntimeError, match="can only be entered once"):
        await transport.connect().__aenter__()
    for wrong, text in (
        ({"mcp_session_id": "a b"}, "visible ASCII"),
        ({"mcp_session_id": ""}, "visible ASCII"),
        ({"mcp_session_id": "s\n"}, "visible ASCII"),
        ({"mcp_session_id": None, "retry_interval": 0}, "retry_interval"),
        ({"mcp_session_id": None, "idle_timeout": 0}, "idle_timeout"),
    ):
        options: Any = wrong
        with pytest.raises(ValueError, match=text):
            StreamableHTTPServerTransport(**options)
