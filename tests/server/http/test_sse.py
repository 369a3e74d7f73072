"""HTTP+SSE: one stream for what the server says, POSTs for what the client says."""

from __future__ import annotations

import http.client
import json
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.routing import Mount

from mcp._protocol.sse import ServerSentEvent, SSEDecoder
from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.server import MCPServer
from mcp.server.sse import SseServerTransport
from mcp.server.transport_security import TransportSecuritySettings
from tests.server.http.fakes import FakeConnection, metadata
from tests.server.http.legacy_client import call, opening
from tests.server.http.serving import Answer, connected, serving

_lifespans: list[str] = []


@asynccontextmanager
async def _lifespan(server: MCPServer[str]) -> AsyncGenerator[str]:
    _lifespans.append("begun")
    yield "pool"


class Confirmation(BaseModel):
    """What the user is asked for."""

    sure: bool


_server = MCPServer("shop", lifespan=_lifespan)


@_server.tool()
async def greet(name: str, ctx: Context[str, Any]) -> str:
    """Greet."""
    await ctx.report_progress(1)
    request = ctx.request_context.request
    assert request is not None
    return f"{name} {ctx.request_context.lifespan_context} {request.headers['x-user']}"


@_server.tool()
async def confirm(ctx: Context[str, Any]) -> str:
    """Ask the user."""
    return (await ctx.elicit("Sure?", Confirmation)).action


@pytest.fixture(params=["httptools", "h11"])
def port(request: pytest.FixtureRequest) -> Generator[int]:
    with serving(_server.sse_app(max_request_body_size=2000), protocol=request.param) as port:
        yield port


class Stream:
    """The stream of one client."""

    def open_session(self, port: int, version: str, **capabilities: Any) -> None:
        """Shake hands under a revision."""
        post(port, self.endpoint, opening(version, **capabilities))
        assert self.message()["result"]["protocolVersion"] == version
        post(port, self.endpoint, {"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __init__(self, connection: http.client.HTTPConnection, path: str = "/sse", **headers: str) -> None:
        connection.request("GET", path, headers={"accept": "text/event-stream", **headers})
        self.response = connection.getresponse()
        assert self.response.status == 200
        self._decoder = SSEDecoder(None)
        self._events: list[ServerSentEvent] = []
        self.endpoint = self.event("endpoint").decode()

    def event(self, kind: str = "message") -> bytes:
        while not self._events:
            chunk = self.response.read1()
            assert chunk, "the stream ended"
            self._events = self._decoder.feed(chunk)
        event = self._events.pop(0)
        assert event.event == kind
        return event.data

    def message(self) -> dict[str, Any]:
        return json.loads(self.event())


def post(port: int, path: str, body: dict[str, Any] | list[Any] | bytes, **headers: str) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with connected(port) as connection:
        connection.request("POST", path, data, {"content-type": "application/json", "x-user": "ann", **headers})
        return Answer(connection.getresponse())


@pytest.mark.rule("RUN-68", "LEG-X-01", "LEG-X-02", "LEG-X-03", "LEG-X-04", "LEG-X-08", "LOW-D13", "CASE-22", "DEPR-11")
@pytest.mark.rule("VER-D-03")
def test_a_conversation(port: int) -> None:
    _lifespans.clear()
    with connected(port) as one, connected(port) as two:
        stream, other = Stream(one), Stream(two)
        path, _, session_id = stream.endpoint.partition("?session_id=")
        assert path == "/messages/"
        assert len(session_id) == 32
        int(session_id, 16)
        assert stream.endpoint != other.endpoint
        taken = post(port, stream.endpoint, opening())
        assert (taken.status, taken.body) == (202, b"Accepted")
        assert stream.message()["result"]["protocolVersion"] == "2025-11-25"
        post(port, stream.endpoint, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        post(port, stream.endpoint, call("greet", 5, name="hi"))
        assert stream.message()["method"] == "notifications/progress"
        answer = stream.message()
        assert (answer["id"], answer["result"]["structuredContent"]) == (5, {"result": "hi pool ann"})
    assert _lifespans == []


@pytest.mark.rule("RUN-71")
def test_both_eras_work(port: int) -> None:
    with connected(port) as connection:
        stream = Stream(connection)
        request = call("greet", name="hi")
        request["params"]["_meta"] = metadata()
        post(port, stream.endpoint, request)
        assert stream.message()["result"]["resultType"] == "complete"


@pytest.mark.rule("LEG-J-12", "LEG-J-15", "LEG-J-16", "LEG-J-17", "LEG-J-18")
def test_a_body_may_hold_a_batch_under_the_revision_that_has_them(port: int) -> None:
    with connected(port) as connection:
        stream = Stream(connection)
        stream.open_session(port, "2025-03-26", elicitation={})
        unknown = {"jsonrpc": "2.0", "method": "notifications/unknown"}
        bad = {"jsonrpc": "2.0", "id": 9, "method": 5}
        taken = post(port, stream.endpoint, [unknown, call("confirm", 2), 5, bad, call("confirm", 3), opening()])
        assert (taken.status, taken.body) == (202, b"Accepted")
        said = [stream.message() for _ in range(5)]
        asked = [message["id"] for message in said if message.get("method") == "elicitation/create"]
        errors = {message["id"]: message["error"]["code"] for message in said if "error" in message}
        assert (len(asked), errors) == (2, {None: -32600, 9: -32600, 1: -32600})
        answers = [{"jsonrpc": "2.0", "id": number, "result": {"action": "decline"}} for number in asked]
        taken = post(port, stream.endpoint, answers)
        assert (taken.status, taken.body) == (202, b"Accepted")
        answered = [stream.message() for _ in range(2)]
        assert {message["id"]: message["result"]["content"][0]["text"] for message in answered} == {
            2: "decline",
            3: "decline",
        }


@pytest.mark.rule("LEG-J-14", "LEG-J-19")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25", None])
def test_elsewhere_a_batch_is_no_message(port: int, version: str | None) -> None:
    with connected(port) as connection:
        stream = Stream(connection)
        if version is not None:
            stream.open_session(port, version)
        refused = post(port, stream.endpoint, [call("greet", 2, name="hi") if version else opening("2025-03-26")])
        assert (refused.status, refused.body) == (400, b"Could not parse message")


@pytest.mark.rule("RUN-69", "RUN-22")
@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        ("/messages/", b"{}", 400, b"session_id is required"),
        ("/messages/?session_id=nonsense", b"{}", 400, b"Invalid session ID"),
        ("/messages/?session_id=" + "0" * 32, b"{}", 404, b"Could not find session"),
        (None, b"{", 400, b"Could not parse message"),
        (None, b"[]", 400, b"Could not parse message"),
        (None, b" " * 3000, 413, b"Request body too large"),
    ],
)
def test_faults_of_messages(port: int, path: str | None, body: bytes, status: int, text: bytes) -> None:
    with connected(port) as connection:
        stream = Stream(connection)
        refused = post(port, path or stream.endpoint, body)
        assert refused.status == status
        assert text in refused.body


@pytest.mark.rule("RUN-69", "RUN-70", "RUN-D17", "LEG-X-05", "RUN-30")
def test_foreign_hosts_are_refused_and_nothing_breaks(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with connected(port) as connection:
        connection.request("GET", "/sse", headers={"host": "evil.example"})
        refused = Answer(connection.getresponse())
    assert refused.status == 421
    assert post(port, "/messages/?session_id=" + "0" * 32, b"{}", host="evil.example").status == 421
    assert post(port, "/messages/", b"{}", **{"content-type": "text/plain"}).status == 400
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_a_connection_that_ended_takes_no_messages(port: int) -> None:
    with connected(port) as connection:
        stream = Stream(connection)
    for _ in range(1000):
        if post(port, stream.endpoint, opening()).status == 404:
            return
    pytest.fail("the connection is still known")


@pytest.mark.parametrize("endpoint", ["https://x/messages", "//x/messages", "/messages?x=1", "/messages#x"])
def test_an_endpoint_is_a_path(endpoint: str) -> None:
    with pytest.raises(ValueError, match="endpoint must be a path"):
        SseServerTransport(endpoint)


@pytest.mark.rule("RUN-68")
async def test_under_a_mount_clients_are_told_the_whole_path() -> None:
    transport = SseServerTransport("messages/", TransportSecuritySettings(enable_dns_rebinding_protection=False))
    connection = FakeConnection(method="GET", path="/sub/sse")
    connection.scope["root_path"] = "/sub"
    async with transport.connect_sse(connection.scope, connection.receive, connection.send):
        (event,) = SSEDecoder(None).feed(connection.body)
        assert event.data.startswith(b"/sub/messages/?session_id=")
    assert connection.ended


async def test_an_exception_in_the_conversation_leaves_it_as_it_is() -> None:
    transport = SseServerTransport("/messages/")
    connection = FakeConnection(method="GET", path="/sse")
    with pytest.raises(LookupError, match="mine"):
        async with transport.connect_sse(connection.scope, connection.receive, connection.send):
            raise LookupError("mine")


def test_a_path_begins_with_a_slash() -> None:
    with pytest.raises(ValueError, match="sse_path must start with '/'"):
        _server.sse_app(sse_path="sse")


@pytest.mark.rule("RUN-71", "RUN-68")
async def test_mounted_where_its_own_lifespan_does_not_run_each_connection_opens_the_servers() -> None:
    begun: list[str] = []
    ended: list[str] = []

    @asynccontextmanager
    async def lifespan(server: MCPServer[str]) -> AsyncGenerator[str]:
        begun.append(f"pool {len(begun)}")
        yield begun[-1]
        ended.append("ended")

    server = MCPServer("mounted", lifespan=lifespan, log_level="ERROR")

    @server.tool()
    async def pool(ctx: Context[str, Any]) -> str:
        return ctx.request_context.lifespan_context

    with serving(Starlette(routes=[Mount("/shop", server.sse_app())])) as port, anyio.fail_after(20):
        for number in range(2):
            async with Client(sse_client(f"http://127.0.0.1:{port}/shop/sse"), mode="legacy") as client:
                assert (await client.call_tool("pool")).structured_content == {"result": f"pool {number}"}
    assert (len(begun), len(ended)) == (2, 2)


@pytest.mark.rule("HTTP-B-10", "HTTP-B-08")
async def test_both_old_endpoints_are_hosted_beside_the_new_one() -> None:
    server = MCPServer("old and new", log_level="ERROR")
    counted: list[int] = []

    @server.tool()
    async def count() -> int:
        """Count the calls of all clients."""
        counted.append(1)
        return len(counted)

    new, old = server.streamable_http_app(), server.sse_app()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with new.router.lifespan_context(new), old.router.lifespan_context(old):
            yield

    with serving(Starlette(routes=[*new.routes, *old.routes], lifespan=lifespan)) as port, anyio.fail_after(20):
        base = f"http://127.0.0.1:{port}"
        targets = [(f"{base}/mcp", "auto"), (f"{base}/mcp", "legacy"), (sse_client(f"{base}/sse"), "legacy")]
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(Client(target, mode=mode)) for target, mode in targets]
            versions = ["2026-07-28", "2025-11-25", "2025-11-25"]
            assert [client.protocol_version for client in clients] == versions
            results = [await client.call_tool("count") for client in [*clients, *clients]]
    assert [result.structured_content for result in results] == [{"result": number} for number in range(1, 7)]
