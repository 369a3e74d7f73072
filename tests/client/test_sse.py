from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from anyio.abc import SocketStream

from mcp.client.client import Client
from mcp.client.session import ClientSession
from mcp.client.sse import remove_request_params, sse_client
from mcp.client.streamable_http import StreamableHTTPError, create_mcp_http_client, streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ListRootsResult, TextContent
from mcp_types.jsonrpc import CONNECTION_CLOSED, INTERNAL_ERROR
from tests.client.legacy_http import legacy_result, method_of, said
from tests.client.raw_http import SSE_HEAD, Answer, RawServer, Seen, chunk, event, raw_server, response

VERSION = "2024-11-05"


def text_of(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


class OldServer:
    """Speaks HTTP+SSE, and nothing else."""

    def __init__(self, endpoint: str = "/messages?session_id=s-1", refusal: str = "405 Method Not Allowed") -> None:
        self.endpoint = endpoint
        self.refusal = refusal
        self.stream: SocketStream | None = None
        self.on_call: Callable[[Seen], str] = lambda seen: event(said(seen))

    async def say(self, text: str) -> None:
        assert self.stream is not None
        await self.stream.send(chunk(text))

    async def __call__(self, seen: Seen, stream: SocketStream) -> None:
        if seen.method == "GET":
            self.stream = stream
            await stream.send(SSE_HEAD + chunk(f"event: endpoint\ndata: {self.endpoint}\n\n"))
            await anyio.sleep_forever()
        elif not seen.path.startswith("/messages"):
            await stream.send(response(b"", None, self.refusal))
        else:
            await stream.send(response("Accepted", "text/plain", "202 Accepted"))
            await self._answer(seen)

    async def _answer(self, seen: Seen) -> None:
        method = method_of(seen)
        if method == "initialize":
            facts: dict[str, Any] = {"capabilities": {"tools": {}}, "serverInfo": {"name": "old", "version": "1"}}
            await self.say(event(legacy_result(seen, protocolVersion=VERSION, **facts)))
        elif method == "server/discover":
            error = {"code": -32601, "message": "Method not found"}
            await self.say(event({"jsonrpc": "2.0", "id": seen.message["id"], "error": error}))
        elif method == "tools/call":
            await self.say(self.on_call(seen))
        elif method == "tools/list":
            await self.say(event(legacy_result(seen, tools=[])))


def methods(server: RawServer) -> list[str]:
    return [f"{seen.path} {method_of(seen)}" for seen in server.seen]


@pytest.mark.rule("TRANSPORT-49", "TRANSPORT-52", "LEG-X-03", "CLIENT-14")
async def test_a_client_speaks_over_one_stream_and_a_place_to_post_to() -> None:
    sessions: list[str] = []
    with anyio.fail_after(5):
        async with raw_server(OldServer()) as server:
            transport = sse_client(server.url, {"x-mine": "1"}, on_session_created=sessions.append)
            async with Client(transport) as client:
                assert client.protocol_version == VERSION
                assert text_of(await client.call_tool("add")) == "ok"
    assert sessions == ["s-1"]
    opened, *posted = server.seen
    assert (opened.method, opened.headers["accept"]) == ("GET", "text/event-stream")
    assert {seen.path for seen in posted} == {"/messages?session_id=s-1"}
    assert all(seen.headers["x-mine"] == "1" for seen in server.seen)
    assert [method_of(seen) for seen in posted][:4] == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/call",
    ]


@pytest.mark.rule("TRANSPORT-49", "TRANSPORT-2")
async def test_a_pair_of_streams_serves_a_session_of_its_own() -> None:
    with anyio.fail_after(5):
        async with raw_server(OldServer()) as server, sse_client(server.url) as (read_stream, write_stream):
            async with ClientSession(read_stream, write_stream) as session:
                await session.initialize()
                assert text_of(await session.call_tool("add")) == "ok"


@pytest.mark.rule("TRANSPORT-40", "TRANSPORT-35", "TRANSPORT-2")
async def test_questions_news_and_faults_arrive_on_the_stream() -> None:
    server_side = OldServer()
    server_side.on_call = lambda seen: (
        "event: other\ndata: {}\n\ndata: not JSON\n\n"
        + event({"jsonrpc": "2.0", "id": "q", "method": "roots/list"})
        + event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        + event(said(seen))
    )
    heard: list[object] = []

    async def hear(message: object) -> None:
        heard.append(message)

    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[])

    with anyio.fail_after(5):
        async with raw_server(server_side) as server:
            transport = sse_client(server.url)
            async with Client(transport, mode="legacy", list_roots_callback=roots, message_handler=hear) as client:
                await client.call_tool("add")
                while "answer" not in [method_of(seen) for seen in server.seen] or len(heard) < 2:
                    await anyio.lowlevel.checkpoint()
    assert [type(message).__name__ for message in heard] == ["MCPError", "ToolListChangedNotification"]


def refusing(status: str) -> Answer:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream.send(response(b"no", "text/plain", status))

    return answer


@pytest.mark.rule("TRANSPORT-50", "TRANSPORT-D7")
async def test_a_refused_stream_is_the_librarys_own_error_on_entering() -> None:
    with anyio.fail_after(5):
        async with raw_server(refusing("403 Forbidden")) as server:
            with pytest.raises(httpx2.HTTPStatusError) as caught:
                async with Client(sse_client(server.url)):
                    raise AssertionError("never entered")
            assert caught.value.response.status_code == 403
        with pytest.raises(httpx2.ConnectError):
            async with sse_client(server.url):
                raise AssertionError("never entered")


def beginning(text: str, *, ends: bool = False) -> Answer:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream.send(SSE_HEAD + chunk(text))
        if ends:
            await stream.send(chunk(b""))
        await anyio.sleep_forever()

    return answer


@pytest.mark.rule("TRANSPORT-51", "TRANSPORT-D13", "LEG-X-02", "LEG-X-09")
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (beginning("event: endpoint\ndata: http://evil.test/messages\n\n"), "Endpoint origin does not match"),
        (beginning("event: endpoint\ndata: //evil.test/messages\n\n"), "Endpoint origin does not match"),
        (beginning("event: endpoint\ndata: http://[::1\n\n"), "names no URL to post to"),
        (beginning("data: {}\n\n"), "began its stream with an event named 'message'"),
        (beginning(": here\n\n", ends=True), "ended its stream before it said"),
        (beginning(": here\n\n"), "did not say within 0.3 s where to post"),
        (refusing("200 OK"), "Unexpected content type"),
    ],
)
async def test_a_stream_that_does_not_begin_with_the_place_to_post_to_is_an_error_on_entering(
    answer: Answer, text: str
) -> None:
    with anyio.fail_after(5):
        async with raw_server(answer) as server:
            with pytest.raises((StreamableHTTPError, MCPError), match=text):
                async with Client(sse_client(server.url, timeout=0.3)):
                    raise AssertionError("never entered")
            assert [seen.method for seen in server.seen] == ["GET"]


@pytest.mark.rule("TRANSPORT-2")
async def test_the_end_of_the_stream_ends_calls_that_wait() -> None:
    server_side = OldServer()
    with anyio.fail_after(5):
        async with raw_server(server_side) as server, Client(sse_client(server.url), mode="legacy") as client:
            failures: list[MCPError] = []

            async def call() -> None:
                with pytest.raises(MCPError) as caught:
                    await client.call_tool("add")
                failures.append(caught.value)

            server_side.on_call = lambda seen: ": nothing\n\n"
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                while "tools/call" not in [method_of(seen) for seen in server.seen]:
                    await anyio.lowlevel.checkpoint()
                assert server_side.stream is not None
                await server_side.stream.aclose()
            await call()
    assert [failure.code for failure in failures] == [CONNECTION_CLOSED] * 2


async def test_a_refused_post_fails_its_request_alone() -> None:
    server_side = OldServer()

    async def answer(seen: Seen, stream: SocketStream) -> None:
        if method_of(seen) == "tools/call" and seen.message["params"]["name"] == "bad":
            await stream.send(response("gone", "text/plain", "410 Gone"))
        else:
            await server_side(seen, stream)

    with anyio.fail_after(5):
        async with raw_server(answer) as server, Client(sse_client(server.url), mode="legacy") as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("bad")
            assert (caught.value.code, caught.value.data) == (INTERNAL_ERROR, {"httpStatus": 410})
            assert text_of(await client.call_tool("add")) == "ok"


async def test_an_http_client_of_the_callers_making_is_used_and_closed() -> None:
    made: list[httpx2.AsyncClient] = []

    def factory(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        assert timeout is not None
        assert (timeout.connect, timeout.read) == (5.0, 300.0)
        made.append(create_mcp_http_client(headers, timeout, auth))
        return made[0]

    with anyio.fail_after(5):
        async with raw_server(OldServer()) as server:
            async with sse_client(server.url, httpx_client_factory=factory):
                assert not made[0].is_closed
    assert made[0].is_closed


def test_the_request_params_of_a_url_can_be_removed() -> None:
    assert remove_request_params("https://a.test:1/b/c?d=e#f") == "https://a.test:1/b/c"
    assert list(inspect.signature(remove_request_params).parameters) == ["url"]


# A mere URL


@pytest.mark.rule("VER-E-06", "VER-M-05")
@pytest.mark.rule("TRANSPORT-52", "HTTP-B-01", "HTTP-B-02", "HTTP-B-04", "HTTP-B-11", "LEG-X-07", "CLIENT-31")
@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "405 Method Not Allowed"])
async def test_a_url_finds_a_server_of_the_transport_before_this_one(status: str) -> None:
    with anyio.fail_after(10):
        async with raw_server(OldServer(refusal=status)) as server:
            async with Client(server.url) as client:
                assert client.protocol_version == VERSION
                assert text_of(await client.call_tool("add")) == "ok"
            await anyio.wait_all_tasks_blocked()
    assert methods(server)[:6] == [
        "/mcp server/discover",
        "/mcp initialize",
        "/mcp GET",
        "/messages?session_id=s-1 initialize",
        "/messages?session_id=s-1 notifications/initialized",
        "/messages?session_id=s-1 tools/call",
    ]


@pytest.mark.rule("TRANSPORT-52")
async def test_a_transport_and_the_legacy_mode_try_no_other_transport() -> None:
    with anyio.fail_after(5):
        async with raw_server(OldServer()) as server:
            for client in (Client(streamable_http_client(server.url)), Client(server.url, mode="legacy")):
                with pytest.raises(MCPError):
                    async with client:
                        raise AssertionError("never entered")
    assert "/mcp GET" not in methods(server)


@pytest.mark.rule("HTTP-B-11", "CLIENT-31")
@pytest.mark.parametrize("status", ["401 Unauthorized", "500 Oops"])
async def test_other_failures_try_no_other_transport(status: str) -> None:
    with anyio.fail_after(5):
        async with raw_server(OldServer(refusal=status)) as server:
            with pytest.raises(MCPError):
                async with Client(server.url):
                    raise AssertionError("never entered")
    assert "/mcp GET" not in methods(server)


@pytest.mark.rule("HTTP-B-11")
@pytest.mark.parametrize("status", ["404 Not Found", "405 Method Not Allowed"])
async def test_where_there_is_no_server_at_all_the_first_refusal_is_the_error(status: str) -> None:
    with anyio.fail_after(5):
        async with raw_server(refusing(status)) as server:
            with pytest.raises(MCPError) as caught:
                async with Client(server.url):
                    raise AssertionError("never entered")
    assert caught.value.data == {"httpStatus": int(status[:3])}
    assert methods(server) == ["/mcp server/discover", "/mcp initialize", "/mcp GET"]


@pytest.mark.rule("HTTP-B-02", "HTTP-B-03")
async def test_a_modern_refusal_tries_no_handshake() -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        error = {"code": -32021, "message": "No"}
        body = json.dumps({"jsonrpc": "2.0", "id": seen.message["id"], "error": error})
        await stream.send(response(body, status="400 Bad Request"))

    with anyio.fail_after(5):
        async with raw_server(answer) as server:
            with pytest.raises(MCPError) as caught:
                async with Client(server.url):
                    raise AssertionError("never entered")
    assert caught.value.code == -32021
    assert methods(server) == ["/mcp server/discover"]


@pytest.mark.rule("LEG-J-12")
async def test_a_server_may_say_several_things_at_once() -> None:
    old = OldServer()
    old.on_call = lambda seen: event([{"jsonrpc": "2.0", "method": "notifications/unknown"}, said(seen)])
    with anyio.fail_after(5):
        async with raw_server(old) as server, Client(sse_client(server.url), mode="legacy") as client:
            assert text_of(await client.call_tool("add")) == "ok"
