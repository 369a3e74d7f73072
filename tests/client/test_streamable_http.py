from __future__ import annotations

import errno
import gc
import json
import os
import re
import socket
import ssl
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import aiohttp
import anyio
import anyio.lowlevel
import httpx2
import pytest
from anyio.abc import SocketAttribute, SocketStream

from mcp.client._http.aiohttp import refusal
from mcp.client.client import Client
from mcp.client.streamable_http import StreamableHTTPError, create_mcp_http_client, streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import ProgressNotification, TextContent
from mcp_types.jsonrpc import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
)
from tests.client.raw_http import (
    SSE_HEAD,
    Answer,
    Seen,
    chunk,
    event,
    modern,
    raw_server,
    response,
    tool_result,
)


def say(make: Callable[[Seen], bytes]) -> Answer:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream.send(make(seen))

    return answer


def stream_of(*chunks: str | bytes) -> bytes:
    return SSE_HEAD + b"".join(chunk(piece) for piece in chunks) + chunk(b"")


def text_of(outcome: Any) -> str:
    [block] = outcome.content
    assert isinstance(block, TextContent)
    return block.text


async def call(answer: Answer, **options: Any) -> tuple[Any, list[Seen]]:
    """Call one tool of a modern server that answers the call as the test wants."""
    with anyio.fail_after(5):
        async with raw_server(modern(answer)) as server, Client(server.url, **options) as client:
            return await client.call_tool("add", {"a": 1}), server.seen


async def failed_call(answer: Answer, **options: Any) -> MCPError:
    """Call one tool, expect an error, and see that the client stays usable."""
    with anyio.fail_after(5):
        async with raw_server(modern(answer)) as server, Client(server.url, **options) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("add", {"a": 1})
            await client.list_tools()
            return caught.value


@pytest.mark.rule(
    "VER-N-02", "VER-C-01", "VER-C-02", "VER-C-13", "TR-04", "BASE-A-04", "BASE-J-19", "BASE-M-10", "HTTP-P-04"
)
@pytest.mark.rule("CLIENT-9", "CLIENT-18", "CLIENT-34", "CLIENT-35", "TRANSPORT-20", "TRANSPORT-21", "CLIENT-12")
@pytest.mark.rule("HTTP-P-01", "HTTP-P-02", "HTTP-P-03", "HTTP-H-01", "HTTP-H-02", "HTTP-H-08", "HTTP-H-09")
async def test_a_call_is_one_post_with_metadata_and_mirroring_headers() -> None:
    outcome, seen = await call(say(lambda seen: response(json.dumps(tool_result(seen, "3")))))

    assert text_of(outcome) == "3"
    discover, posted = seen[:2]
    assert discover.message["method"] == "server/discover"
    assert [one.message["id"] for one in seen] == list(range(1, len(seen) + 1))
    assert posted.method == "POST"
    assert posted.headers["accept"] == "application/json, text/event-stream"
    assert posted.headers["content-type"] == "application/json"
    assert posted.headers["mcp-protocol-version"] == "2026-07-28"
    assert posted.headers["mcp-method"] == "tools/call"
    assert posted.headers["mcp-name"] == "add"
    assert "mcp-session-id" not in posted.headers
    assert posted.message["params"]["arguments"] == {"a": 1}
    assert posted.meta == {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "mcp", "version": "0.1.0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }


@pytest.mark.rule("TRANSPORT-21", "HTTP-P-02", "TRANSPORT-D11", "VER-C-04")
async def test_a_modern_connection_uses_post_alone() -> None:
    _, seen = await call(say(lambda seen: stream_of("id: 7\n" + event(tool_result(seen)))))

    assert {one.method for one in seen} == {"POST"}


@pytest.mark.rule("TRANSPORT-22", "HTTP-V-01", "HTTP-V-03")
async def test_a_name_that_headers_cannot_carry_travels_in_base64() -> None:
    with anyio.fail_after(5):
        async with raw_server(modern(say(lambda seen: response(json.dumps(tool_result(seen)))))) as server:
            async with Client(server.url) as client:
                await client.call_tool("Größe", {})
    assert server.seen[1].headers["mcp-name"] == "=?base64?R3LDtsOfZQ==?="


@pytest.mark.rule("TRANSPORT-27")
async def test_a_json_answer_may_have_parameters_and_capitals_in_its_content_type() -> None:
    answer = say(lambda seen: response(json.dumps(tool_result(seen)), "Application/JSON; charset=utf-8"))
    outcome, _ = await call(answer)
    assert text_of(outcome) == "ok"


@pytest.mark.parametrize("body", ["<html>", '{"jsonrpc": "2.0", "id": 2, "res', "", "[]"])
@pytest.mark.rule("TRANSPORT-27", "TRANSPORT-33")
async def test_a_body_that_is_no_message_fails_the_call_alone(body: str) -> None:
    error = await failed_call(say(lambda seen: response(body)))
    assert error.code == PARSE_ERROR
    assert error.message.startswith("Failed to parse JSON response: ")


@pytest.mark.rule("TRANSPORT-D4", "TRANSPORT-28")
async def test_a_json_answer_to_another_request_fails_the_call() -> None:
    error = await failed_call(say(lambda seen: response(json.dumps({**tool_result(seen), "id": 99}))))
    assert error.code == INVALID_REQUEST
    assert "99" in error.message


@pytest.mark.rule("SESSION-29")
async def test_an_id_that_came_back_as_text_is_the_same_id() -> None:
    answer = say(lambda seen: response(json.dumps({**tool_result(seen), "id": str(seen.message["id"])})))
    outcome, _ = await call(answer)
    assert text_of(outcome) == "ok"


@pytest.mark.rule("TRANSPORT-29")
@pytest.mark.parametrize("content_type", ["text/html", "text/plain; charset=utf-8", None])
async def test_another_content_type_fails_the_call(content_type: str | None) -> None:
    error = await failed_call(say(lambda seen: response("<h1>Welcome</h1>", content_type)))
    assert error.code == INVALID_REQUEST
    assert error.message.startswith("Unexpected content type: ")


@pytest.mark.rule("TRANSPORT-30")
async def test_accepted_is_no_answer_to_a_request() -> None:
    error = await failed_call(say(lambda seen: response("", None, "202 Accepted")))
    assert (error.code, error.message) == (INVALID_REQUEST, "server answered a request with 202 Accepted")


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "500 Internal Server Error"])
@pytest.mark.parametrize("with_id", [True, False, None])
@pytest.mark.rule("TRANSPORT-31", "HTTP-B-02")
async def test_a_json_rpc_error_counts_whatever_the_status(status: str, with_id: bool | None) -> None:
    def make(seen: Seen) -> bytes:
        body: dict[str, Any] = {"jsonrpc": "2.0", "error": {"code": -32021, "message": "No", "data": {"x": 1}}}
        if with_id is not None:
            body["id"] = seen.message["id"] if with_id else None
        return response(json.dumps(body), status=status)

    error = await failed_call(say(make))
    assert (error.code, error.message, error.data) == (-32021, "No", {"x": 1})


BODIES = [
    ("text/html", "<h1>Oops</h1>", "; it says: Oops"),
    (
        "text/html",
        "<STYLE>\nh1 {}</STYLE><title>502</title><script>x<y</script><p>no\troute",
        "; it says: 502 no route",
    ),
    ("text/html", "<hr", "; it says: <hr"),
    ("text/html; charset=utf-8", "", ""),
    ("Text/Plain", "Invalid\n  Host \x1b header\n", "; it says: Invalid Host header"),
    ("text/plain", "x" * 201, f"; it says: {'x' * 200}"),
    ("text/plain", " \n", ""),
    ("application/json", '{"detail": "nope"}', '; it says: {"detail": "nope"}'),
    ("application/problem+json", "[]", "; it says: []"),
    ("image/png", "PNG", ""),
    (None, "who knows", ""),
]


@pytest.mark.parametrize("status", [405, 401, 413, 500])
@pytest.mark.parametrize(("kind", "body", "said"), BODIES)
@pytest.mark.rule("TRANSPORT-31", "TRANSPORT-D5", "TROUBLE-D2", "HTTP-S-16")
async def test_an_error_status_without_a_json_rpc_error_is_named_in_the_text_and_the_data(
    status: int, kind: str | None, body: str, said: str
) -> None:
    error = await failed_call(say(lambda seen: response(body, kind, f"{status} Whatever")))
    text = f"Server returned an error response (HTTP {status}: {HTTPStatus(status).phrase}{said})"
    assert (error.code, error.message, error.data) == (INTERNAL_ERROR, text, {"httpStatus": status})


@pytest.mark.parametrize(("kind", "body", "said"), BODIES)
@pytest.mark.rule("TRANSPORT-31", "TRANSPORT-D5", "HTTP-S-16")
async def test_a_404_without_a_json_rpc_error_names_the_url(kind: str | None, body: str, said: str) -> None:
    error = await failed_call(say(lambda seen: response(body, kind, "404 Not Found")))
    assert (error.code, error.data) == (METHOD_NOT_FOUND, {"httpStatus": 404})
    assert re.fullmatch(rf"Not Found: no MCP endpoint at http://127\.0\.0\.1:\d+/mcp{re.escape(said)}", error.message)


async def test_a_status_that_is_none_of_http_is_an_error_all_the_same() -> None:
    error = await failed_call(say(lambda seen: response("", None, "599 Oops")))
    assert error.message == "Server returned an error response (HTTP 599: not a status of HTTP)"


@pytest.mark.rule("TRANSPORT-D7", "TRANSPORT-34", "CLIENT-D18")
async def test_a_connection_closed_before_the_answer_fails_that_call_alone() -> None:
    async def hang_up(seen: Seen, stream: SocketStream) -> None:
        await stream.aclose()

    error = await failed_call(hang_up)
    assert error.code == CONNECTION_CLOSED
    assert error.__cause__ is not None


@pytest.mark.rule("TRANSPORT-D7", "TRANSPORT-34")
@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\ncontent-type: application/json\r\n\r\n{"])
async def test_a_body_that_ends_early_fails_that_call_alone(head: bytes) -> None:
    async def break_off(seen: Seen, stream: SocketStream) -> None:
        await stream.send(head)
        await stream.aclose()

    error = await failed_call(break_off)
    assert error.code == CONNECTION_CLOSED
    assert error.__cause__ is not None


@pytest.mark.rule("TRANSPORT-D3", "TRANSPORT-26")
async def test_a_json_body_above_the_limit_is_refused() -> None:
    with anyio.fail_after(5):
        async with raw_server(modern(say(lambda seen: response(json.dumps(tool_result(seen, "x" * 5000)))))) as server:
            async with Client(streamable_http_client(server.url, max_json_body_size=4096)) as client:
                with pytest.raises(MCPError, match="4096"):
                    await client.call_tool("add", {})


@pytest.mark.rule("TRANSPORT-26")
@pytest.mark.parametrize("size", [0, -1])
def test_a_size_limit_must_be_positive(size: int) -> None:
    with pytest.raises(ValueError, match=r"^max_sse_event_size must be positive or None$"):
        streamable_http_client("http://127.0.0.1:1/mcp", max_sse_event_size=size)


@pytest.mark.rule("TRANSPORT-35", "HTTP-R-10", "HTTP-P-11")
async def test_a_stream_may_hold_comments_odd_line_ends_and_split_events() -> None:
    def make(seen: Seen) -> bytes:
        text = event(tool_result(seen, "streamed")).strip()
        return stream_of(": hello\r\n\r\n", ":\r\n\r\n", "data:", text[5:20], text[20:], "\r\n", "\r\n")

    outcome, _ = await call(say(make))
    assert text_of(outcome) == "streamed"


@pytest.mark.rule("TRANSPORT-D8", "TRANSPORT-36")
async def test_a_byte_order_mark_before_the_first_event_is_ignored() -> None:
    outcome, _ = await call(say(lambda seen: stream_of(b"\xef\xbb\xbf" + event(tool_result(seen)).encode())))
    assert text_of(outcome) == "ok"


@pytest.mark.rule("TRANSPORT-35")
async def test_events_of_other_names_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    answer = say(lambda seen: stream_of(event({"x": 1}, event="ping"), event(tool_result(seen), event="message")))
    outcome, _ = await call(answer)
    assert text_of(outcome) == "ok"
    assert "Unknown SSE event: ping" in caplog.text


@pytest.mark.rule("TRANSPORT-D9", "TRANSPORT-37", "CALLBACK-24")
async def test_an_event_that_is_no_message_is_reported_and_skipped() -> None:
    faults: list[Any] = []

    async def handle(message: Any) -> None:
        faults.append(message)

    answer = say(lambda seen: stream_of("data: nonsense\n\n", event(tool_result(seen))))
    outcome, _ = await call(answer, message_handler=handle)
    assert text_of(outcome) == "ok"
    [fault] = faults
    assert isinstance(fault, MCPError)
    assert fault.message.startswith("Failed to parse SSE message: ")


@pytest.mark.rule("CALLBACK-20", "HTTP-P-06", "HTTP-R-03")
async def test_a_request_of_the_server_is_reported_and_not_answered() -> None:
    faults: list[Any] = []

    async def handle(message: Any) -> None:
        faults.append(message)

    asked = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answer = say(lambda seen: stream_of(event(asked), event(tool_result(seen))))
    _, seen = await call(answer, message_handler=handle)
    assert len(faults) == 1
    assert all("method" in one.message for one in seen)


@pytest.mark.rule("TRANSPORT-D10", "TRANSPORT-38")
async def test_a_response_to_another_request_is_ignored_on_the_stream() -> None:
    answer = say(lambda seen: stream_of(event({**tool_result(seen, "wrong"), "id": 99}), event(tool_result(seen))))
    outcome, _ = await call(answer)
    assert text_of(outcome) == "ok"


@pytest.mark.rule("TRANSPORT-39", "TRANSPORT-D11", "HTTP-R-11", "VER-C-09")
async def test_a_stream_that_ends_without_a_response_fails_the_call() -> None:
    error = await failed_call(say(lambda seen: stream_of("id: 1\ndata:\n\n", ": bye\n\n")))
    assert (error.code, error.message) == (CONNECTION_CLOSED, "SSE stream ended without a response")


@pytest.mark.rule("TRANSPORT-39", "TRANSPORT-26")
async def test_an_event_above_the_limit_fails_the_call() -> None:
    with anyio.fail_after(5):
        async with raw_server(modern(say(lambda seen: stream_of("data: " + "x" * 1_100_000)))) as server:
            async with Client(streamable_http_client(server.url)) as client:
                with pytest.raises(MCPError) as caught:
                    await client.call_tool("add", {"a": 1})
    assert caught.value.code == CONNECTION_CLOSED
    assert caught.value.message.startswith("SSE stream failed: Server-sent event exceeded the 1048576 byte limit.")


@pytest.mark.rule("CLIENT-73", "CLIENT-74", "CLIENT-75", "CALLBACK-23", "TRANSPORT-40", "HTTP-R-01")
async def test_progress_arrives_in_order_before_the_call_returns() -> None:
    heard: list[tuple[float, float | None, str | None]] = []
    handled: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        await anyio.lowlevel.checkpoint()
        heard.append((progress, total, message))

    async def handle(message: Any) -> None:
        assert isinstance(message, ProgressNotification)
        handled.append(message.params.progress)

    def make(seen: Seen) -> bytes:
        token = seen.meta["progressToken"]
        assert token == seen.message["id"]
        steps = [
            {"method": "notifications/progress", "params": {"progressToken": token, "progress": n, "total": 3}}
            for n in (1, 2)
        ]
        return stream_of(*(event({"jsonrpc": "2.0", **step}) for step in steps), event(tool_result(seen)))

    with anyio.fail_after(5):
        async with raw_server(modern(say(make))) as server:
            async with Client(server.url, message_handler=handle) as client:
                await client.call_tool("add", {}, progress_callback=on_progress)
                assert heard == [(1, 3, None), (2, 3, None)]
                assert handled == [1, 2]


@pytest.mark.rule("CLIENT-69", "CLIENT-D14", "CLIENT-71", "TRANSPORT-41", "HTTP-C-04", "CLIENT-68")
async def test_a_call_that_takes_too_long_closes_its_response_and_nothing_else() -> None:
    closed = anyio.Event()

    async def never(seen: Seen, stream: SocketStream) -> None:
        await stream.send(SSE_HEAD + chunk(": wait\n\n"))
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            closed.set()
            raise

    with anyio.fail_after(5):
        async with raw_server(modern(never)) as server, Client(server.url) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("add", {}, read_timeout_seconds=0.05)
            assert (caught.value.code, caught.value.message) == (REQUEST_TIMEOUT, "Request 'tools/call' timed out")
            await closed.wait()
            await client.list_tools()
    assert [one.message["method"] for one in server.seen] == ["server/discover", "tools/call", "tools/list"]


@pytest.mark.rule("TRANSPORT-41", "HTTP-C-04")
async def test_cancelling_the_caller_closes_the_response() -> None:
    started, closed = anyio.Event(), anyio.Event()

    async def never(seen: Seen, stream: SocketStream) -> None:
        await stream.send(SSE_HEAD)
        started.set()
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            closed.set()
            raise

    with anyio.fail_after(5):
        async with raw_server(modern(never)) as server, Client(server.url) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "add")
                await started.wait()
                tasks.cancel_scope.cancel()
            await closed.wait()


@pytest.mark.rule("CLIENT-15")
@pytest.mark.parametrize("own_client", [True, False])
async def test_leaving_the_block_fails_calls_that_still_run(own_client: bool) -> None:
    started = anyio.Event()

    async def never(seen: Seen, stream: SocketStream) -> None:
        await stream.send(SSE_HEAD)
        started.set()
        await stream.receive()

    async def run(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("add")
        assert (caught.value.code, caught.value.message) == (CONNECTION_CLOSED, "Connection closed")

    with anyio.fail_after(5):
        http_client = httpx2.AsyncClient()
        async with raw_server(modern(never)) as server, http_client:
            target = streamable_http_client(server.url, http_client=http_client) if own_client else server.url
            async with anyio.create_task_group() as tasks:
                async with Client(target) as client:
                    tasks.start_soon(run, client)
                    await started.wait()


@pytest.mark.rule("TRANSPORT-25")
@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
async def test_a_redirect_to_the_same_origin_keeps_method_body_and_headers(status: str) -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        if seen.path == "/mcp":
            await stream.send(response("", None, status, location="/other"))
        else:
            await stream.send(response(json.dumps(tool_result(seen))))

    outcome, seen = await call(answer)
    assert text_of(outcome) == "ok"
    first, second = seen[1:3]
    assert (first.path, second.path) == ("/mcp", "/other")
    assert (first.body, first.headers["mcp-name"]) == (second.body, second.headers["mcp-name"])


@pytest.mark.rule("TRANSPORT-25")
@pytest.mark.parametrize(
    ("status", "location"),
    [
        ("307 Temporary Redirect", "http://evil.test/mcp"),
        ("308 Permanent Redirect", "http://127.0.0.1:1/mcp"),
        ("302 Found", "/login"),
        ("303 See Other", "/mcp"),
    ],
)
async def test_any_other_redirect_fails_the_call_and_names_the_target(status: str, location: str) -> None:
    error = await failed_call(say(lambda seen: response("", None, status, location=location)))
    assert error.code == INVALID_REQUEST
    assert error.message.startswith("Redirect to http")
    assert error.message.endswith(" not followed; use that URL as the endpoint if it is the intended server")


@pytest.mark.parametrize(
    "location", ["http://[::1", "//[x]/mcp", "http://127.0.0.1:99999/mcp", "http://127.0.0.1:-1/", "javascript:x", ""]
)
async def test_a_redirect_to_what_is_no_url_fails_the_call(location: str, anyio_backend_name: str) -> None:
    error = await failed_call(say(lambda seen: response("", None, "307 Temporary Redirect", location=location)))
    if error.code == CONNECTION_CLOSED:
        # The newest httpx2 for Python 3.10 reads the location even if it shall not follow it, and raises.
        assert (anyio_backend_name, sys.version_info[:2]) == ("trio", (3, 10))
        return
    assert error.code == INVALID_REQUEST
    # Python 3.10 takes `[x]` for a host: there the target is a URL, but one of another server.
    assert re.match(rf"Redirect to (http:)?{re.escape(location)} not followed", error.message)


async def test_a_redirect_loop_ends() -> None:
    error = await failed_call(say(lambda seen: response("", None, "307 Temporary Redirect", location="/mcp")))
    assert "redirects" in error.message


async def test_a_switch_of_protocols_fails_the_call_and_leaves_nothing_open() -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
        await stream.aclose()

    await failed_call(answer)
    gc.collect()  # what is left open is reported when it is collected, and warnings are errors


@pytest.mark.rule("TRANSPORT-24")
async def test_the_callers_http_client_is_used_with_its_headers_and_stays_open() -> None:
    with anyio.fail_after(5):
        async with raw_server(modern(say(lambda seen: response(json.dumps(tool_result(seen)))))) as server:
            http_client = httpx2.AsyncClient(headers={"authorization": "Bearer t"})
            async with http_client:
                async with Client(streamable_http_client(server.url, http_client=http_client)) as client:
                    await client.call_tool("add", {})
                assert not http_client.is_closed
    assert {one.headers["authorization"] for one in server.seen} == {"Bearer t"}


async def unused_url() -> str:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        return f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/mcp"


@pytest.mark.rule("CLIENT-11", "TRANSPORT-50", "CLIENT-D4", "CLIENT-27")
async def test_a_server_that_is_not_there_is_one_plain_error_on_entering(anyio_backend_name: str) -> None:
    url = await unused_url()
    expected = StreamableHTTPError if anyio_backend_name == "asyncio" else httpx2.ConnectError
    with anyio.fail_after(5):
        with pytest.raises(expected) as caught:
            async with Client(url):
                raise AssertionError("never entered")
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_why_there_is_no_connection_is_said_in_plain_words() -> None:
    async def answer_without_tls(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async def refused(url: str) -> str:
        with anyio.fail_after(5), pytest.raises(StreamableHTTPError) as caught:
            async with Client(url):
                raise AssertionError("never entered")
        return str(caught.value)

    url = await unused_url()
    text = f"{url} cannot be reached: connection refused; is the server running?"
    assert await refused(url) == text
    assert await refused(url.replace("//", "//user:pass@") + "?token=x") == text

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer_without_tls)
        url = f"https://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/mcp"
        assert await refused(url) == f"{url} cannot be reached: it does not speak TLS; is it an http:// URL?"
        tasks.cancel_scope.cancel()


def test_what_other_refusals_say() -> None:
    key: Any = None

    def said(reason: OSError) -> str:
        return refusal(aiohttp.ClientConnectorError(key, reason))

    assert said(socket.gaierror(socket.EAI_NONAME, "no such name")) == "no such name"
    assert said(OSError(errno.EHOSTUNREACH, "Connect call failed")) == os.strerror(errno.EHOSTUNREACH)
    assert said(OSError("several things")) == "several things"
    handshake = ssl.SSLError(1, "handshake failure")
    handshake.reason = "SSLV3_ALERT_HANDSHAKE_FAILURE"
    assert "handshake failure" in said(handshake)
    expired = ssl.SSLCertVerificationError(1, "certificate has expired")
    assert "expired" in refusal(aiohttp.ClientConnectorCertificateError(key, expired))
    assert refusal(aiohttp.ConnectionTimeoutError()) == "ConnectionTimeoutError"


@pytest.mark.rule("TRANSPORT-50", "TRANSPORT-D7")
async def test_the_callers_own_library_raises_its_own_error_on_entering() -> None:
    url = await unused_url()
    with anyio.fail_after(5):
        http_client = httpx2.AsyncClient()
        async with http_client:
            with pytest.raises(httpx2.ConnectError):
                async with Client(streamable_http_client(url, http_client=http_client)):
                    raise AssertionError("never entered")


@pytest.mark.rule("TRANSPORT-D7", "CLIENT-20")
async def test_a_pinned_client_sends_nothing_on_entering_and_fails_the_call() -> None:
    url = await unused_url()
    with anyio.fail_after(5):
        async with Client(url, mode="2026-07-28") as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("add", {})
    assert caught.value.code == CONNECTION_CLOSED
    assert caught.value.__cause__ is not None


@pytest.mark.rule("CLIENT-11", "CLIENT-1")
@pytest.mark.parametrize("url", ["hello", "ftp://example.test/mcp", "http://", "http://[", "http://h:99999/"])
async def test_text_that_is_no_url_fails_on_entering(url: str) -> None:
    client = Client(url)
    with pytest.raises(StreamableHTTPError, match="no HTTP URL"):
        await client.__aenter__()


@pytest.mark.rule("TRANSPORT-32", "CLIENT-D6", "CLIENT-39")
async def test_what_becomes_of_a_notification_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    from mcp_types import Notification

    with anyio.fail_after(5):
        async with raw_server(modern(say(lambda seen: response("no", "text/plain", "500 Oops")))) as server:
            async with Client(server.url) as client:
                await client.session.send_notification(Notification(method="acme/tick", params={"n": 1}))
    posted = server.seen[-1]
    assert posted.message == {"jsonrpc": "2.0", "method": "acme/tick", "params": {"n": 1}}
    assert posted.headers["mcp-protocol-version"] == "2026-07-28"
    assert "notification acme/tick was answered with status 500" in caplog.text


@pytest.mark.rule("CLIENT-43")
async def test_calls_at_the_same_time_get_their_own_answers() -> None:
    answer = say(lambda seen: response(json.dumps(tool_result(seen, str(seen.message["params"]["arguments"]["n"])))))
    outcomes: dict[int, str] = {}
    with anyio.fail_after(5):
        async with raw_server(modern(answer)) as server, Client(server.url) as client:

            async def one(n: int) -> None:
                outcomes[n] = text_of(await client.call_tool("add", {"n": n}))

            async with anyio.create_task_group() as tasks:
                for n in range(20):
                    tasks.start_soon(one, n)
    assert outcomes == {n: str(n) for n in range(20)}


async def closed_at_once(seen: Seen, stream: SocketStream) -> None:
    await stream.aclose()


async def cut_off(seen: Seen, stream: SocketStream) -> None:
    await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{")
    await stream.aclose()


@pytest.mark.rule("CLIENT-16", "CLIENT-D4", "TRANSPORT-29", "TRANSPORT-31", "CLIENT-27", "CLIENT-29")
@pytest.mark.parametrize(
    "answer",
    [
        say(lambda seen: response("<html></html>", "text/html")),
        say(lambda seen: response("<html></html>", "text/html", "404 Not Found")),
        say(lambda seen: response("", None, "500 Oops")),
        say(lambda seen: response('{"jsonrpc": "2.0"')),
        say(lambda seen: response("", None, "302 Found", location="https://login.test/")),
        say(lambda seen: stream_of(": nothing\n\n")),
        say(lambda seen: b"SSH-2.0-OpenSSH_9.6\r\n\r\n"),
        closed_at_once,
        cut_off,
    ],
)
async def test_a_server_that_is_no_mcp_server_is_one_plain_error_on_entering(answer: Answer) -> None:
    with anyio.fail_after(5):
        async with raw_server(answer) as server:
            with pytest.raises(MCPError):
                async with Client(server.url):
                    raise AssertionError("never entered")
    methods = [seen.message["method"] if seen.body else seen.method for seen in server.seen]
    assert methods == ["server/discover", "initialize", "GET"][: len(methods)]


@pytest.mark.rule("SESSION-6", "CLIENT-29")
async def test_cancelling_a_client_while_it_connects_leaves_nothing_open() -> None:
    asked, closed = anyio.Event(), anyio.Event()

    async def silent(seen: Seen, stream: SocketStream) -> None:
        asked.set()
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            closed.set()
            raise

    with anyio.fail_after(5):
        async with raw_server(silent) as server, anyio.create_task_group() as tasks:
            tasks.start_soon(Client(server.url).__aenter__)
            await asked.wait()
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await closed.wait()
    assert len(server.seen) == 1


async def test_a_connection_is_used_again_after_a_stream() -> None:
    connections: set[int] = set()

    async def answer(seen: Seen, stream: SocketStream) -> None:
        connections.add(id(stream))
        await stream.send(stream_of(event(tool_result(seen))))

    with anyio.fail_after(5):
        async with raw_server(modern(answer)) as server, Client(server.url) as client:
            for _ in range(5):
                await client.call_tool("add", {})
    assert len(connections) == 1


async def test_a_stream_that_the_server_leaves_open_does_not_keep_the_caller() -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream.send(SSE_HEAD + chunk(event(tool_result(seen))))
        await anyio.sleep_forever()

    with anyio.fail_after(5):
        async with raw_server(modern(answer)) as server, Client(server.url) as client:
            assert text_of(await client.call_tool("add", {})) == "ok"
            assert text_of(await client.call_tool("add", {})) == "ok"


@pytest.mark.parametrize(
    ("environment", "proxy"),
    [
        ({}, None),
        ({"http_proxy": "http://proxy.test:3128"}, "http://proxy.test:3128"),
        ({"all_proxy": "proxy.test:3128"}, "http://proxy.test:3128"),
        ({"http_proxy": "http://proxy.test:3128", "no_proxy": "mcp.test"}, None),
        ({"https_proxy": "http://proxy.test:3128"}, None),
    ],
)
def test_the_environments_proxy_is_used(
    environment: dict[str, str], proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp.client._http.aiohttp import _proxy_for

    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert _proxy_for("http://user@mcp.test:8000/mcp") == proxy


def test_an_http_client_for_mcp_waits_long_for_an_answer() -> None:
    client = create_mcp_http_client({"x-a": "1"})
    assert (client.timeout.connect, client.timeout.read) == (30.0, 300.0)
    assert client.headers["x-a"] == "1"
