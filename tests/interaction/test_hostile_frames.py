"""Frames that are no messages, ids that are none, and calls in the wrong order, against real processes and sockets.

Each is answered as its revision wants, or not at all, and the next request is served as if nothing had been.
"""

from __future__ import annotations

import http.client
import json
import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic import BaseModel

from mcp.server.mcpserver import Context, MCPServer
from tests.cases.program import build
from tests.cases.ways import PROGRAM
from tests.server import stdio_child
from tests.server.http.serving import PATIENCE, Answer, serving

VERSIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
META: dict[str, Any] = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {}}
every_version = pytest.mark.parametrize("version", VERSIONS)


def nested(levels: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    return opening * levels + closing * levels


def with_id(text: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + text + b',"method":"ping"}'


NO_JSON = [
    b"{", b"\xff\xfe{}", b"\xef\xbb\xbf{}", b"NaN", b"\x00", b"\x1e{}", b'"\xed\xa0\x80"', nested(100_000),
    nested(100_000, b'{"a":', b"1}"), b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}', with_id(b"NaN"),
    with_id(b"9" * 5000),
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + nested(210, b'{"a":', b"}").replace(b":}", b":1}") + b"}",
]  # fmt: skip
NO_MESSAGE = [
    b"null", b"3", b'"x"', b"{}", b"[]", b"[[]]", with_id(b"null"), with_id(b"true"), with_id(b"1.0"), with_id(b"1e2"),
    with_id(b"[]"), with_id(b"{}"), b'{"jsonrpc":"2.0","id":1}', b'{"jsonrpc":"2.0","id":1,"result":[]}',
    b'{"jsonrpc":"2.0","id":[],"result":{}}', b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}',
    b'{"jsonrpc":"2.0","id":1,"error":"no"}', b'{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":""}}',
]  # fmt: skip
BROKEN_REQUESTS = [
    b'{"jsonrpc":"1.0","id":7,"method":"ping"}', b'{"id":7,"method":"ping"}', b'{"jsonrpc":"2.0","id":7,"method":3}',
    b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', b'{"jsonrpc":"2.0","id":7,"method":"ping","params":3}',
]  # fmt: skip
UNANSWERED: list[dict[str, Any]] = [
    {"id": 99, "result": {}},
    {"id": "99", "error": {"code": 1, "message": "no"}},
    {"id": None, "error": {"code": 1, "message": "no"}},
    {"method": "notifications/cancelled"},
    {"method": "notifications/cancelled", "params": {"requestId": 99}},
    {"method": "notifications/cancelled", "params": {"requestId": {}}},
    {"method": "notifications/cancelled", "params": {"requestId": True}},
    {"method": "notifications/progress", "params": {"progressToken": [1], "progress": "x"}},
    {"method": "notifications/initialized"},
    {"method": "tools/call", "params": {"name": "add"}},
    {"method": "initialize"},
    {"method": "no/such"},
]
IDS: list[Any] = [0, -1, "", "1", 1, 10**30, -(10**400), "x" * 100_000, "\u2028"]
ODD_ID = b'"\\ud800"'  # half a character, which other JSON writers let pass


def message(request_id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def opening(version: str) -> dict[str, Any]:
    info = {"name": "hostile", "version": "1"}
    return message("hello", "initialize", protocolVersion=version, capabilities={}, clientInfo=info)


def listing(request_id: Any, version: str) -> dict[str, Any]:
    """A request that every server answers."""
    return message(request_id, "tools/list", **({"_meta": META} if version == MODERN else {}))


def unread(code: int, version: str) -> dict[str, Any]:
    """What is answered to something without an id that can be read."""
    texts = {-32700: "Parse error", -32600: "Body must be a single JSON-RPC request or notification object"}
    has_id = version in ("2025-03-26", "2025-06-18")
    return {"jsonrpc": "2.0", **({"id": None} if has_id else {}), "error": {"code": code, "message": texts[code]}}


# --- a process on pipes -----------------------------------------------------------------------------------------------


@contextmanager
def process(version: str) -> Generator[stdio_child.Child]:
    """A server that has shaken hands, or served its first modern request; it must be well at the end."""
    with stdio_child.child([sys.executable, PROGRAM]) as server:
        server.send(listing("hello", version) if version == MODERN else opening(version))
        assert server.message()["id"] == "hello"
        yield server
        server.send(listing("well", version))
        assert server.message()["result"]["tools"]
        assert server.end() == 0
        assert "Traceback" not in server.stderr


@pytest.mark.rule("LEG-J-03", "SERR-01")
@every_version
def test_what_is_no_message_is_answered_and_the_pipe_goes_on(version: str) -> None:
    with process(version) as server:
        for frames, code in ((NO_JSON, -32700), (NO_MESSAGE, -32600)):
            for frame in frames:
                if version == "2025-03-26" and frame == b"[[]]":
                    continue  # a batch, and what is in it is no message either
                server.write(frame + b"\n")
                assert server.message() == unread(code, version), frame[:80]
        for frame in BROKEN_REQUESTS:
            server.write(frame + b"\n")
            answer = server.message()
            assert (answer["id"], answer["error"]["code"]) == (7, -32600), frame


@every_version
def test_what_belongs_to_nothing_is_not_answered_on_a_pipe(version: str) -> None:
    with process(version) as server:
        for frame in UNANSWERED:
            server.send({"jsonrpc": "2.0", **frame})


@every_version
def test_every_id_comes_back_as_it_was(version: str) -> None:
    with process(version) as server:
        for request_id in IDS:
            server.send(listing(request_id, version))
            answer = server.message()
            assert (answer["id"], type(answer["id"])) == (request_id, type(request_id))
            assert answer["result"]["tools"]
        server.write(json.dumps(listing("odd", version)).encode().replace(b'"odd"', ODD_ID) + b"\n")
        assert b'"id":' + ODD_ID in server.line()


def test_requests_come_in_every_order_before_the_handshake_and_after() -> None:
    with stdio_child.child([sys.executable, PROGRAM]) as server:
        for request, code in (
            (message(1, "tools/list"), -32602),
            (message(2, "server/discover"), -32601),
            (message(3, "initialize"), -32602),
            (message(4, "initialize", protocolVersion=3, capabilities=[], clientInfo=None), -32602),
            ([opening("2025-03-26")], -32600),
        ):
            server.send(request)
            assert server.message()["error"]["code"] == code, request
        server.send(opening("2025-11-25"))
        assert "result" in server.message()
        for request, code in (
            (opening("2025-06-18"), -32600),
            (listing(5, MODERN), -32600),
            (message(6, "server/discover"), -32601),
            (message(7, "notifications/initialized"), -32601),
            (message(8, "notifications/cancelled", requestId=8), -32601),
            ([message(9, "ping")], -32600),
        ):
            server.send(request)
            assert server.message()["error"]["code"] == code, request
        server.send(message(10, "tools/list"))
        assert server.message()["result"]["tools"]
        assert server.end() == 0


ASKER = """
from pydantic import BaseModel
from mcp.server.mcpserver import Context, MCPServer

class Form(BaseModel):
    n: int

server = MCPServer("asker", log_level="ERROR")

@server.tool()
async def ask(ctx: Context) -> str:
    try:
        return (await ctx.elicit("n?", Form)).action
    except Exception as error:
        return str(error)

server.run()
"""


SPOILED = [
    (b',"result":[]}', "The answer is no JSON-RPC response"),
    (b',"error":"no"}', "The answer is no JSON-RPC response"),
    (b"}", "The answer is no JSON-RPC response"),
    (b',"result":{"action":"accept","content":{"n":NaN}}}', "The answer is not JSON"),
    (b',"result":' + nested(100_000) + b"}", "The answer is not JSON"),
    (b',"result":{"action":"acc', "The answer is not JSON"),
]


def opening_of_who_answers(version: str) -> dict[str, Any]:
    hello = opening(version)
    hello["params"]["capabilities"] = {"elicitation": {}}
    return hello


def test_an_answer_that_is_none_ends_the_wait_for_it() -> None:
    with stdio_child.child([sys.executable, "-c", ASKER]) as server:
        server.send(opening_of_who_answers("2025-11-25"))
        assert "result" in server.message()
        for members, problem in (
            *SPOILED,
            (b',"result":{"action":3}}', "The client answered 'elicitation/create' with an invalid result"),
        ):
            server.send(message("call", "tools/call", name="ask", arguments={}))
            question = server.message()["id"]
            server.write(b'{"jsonrpc":"2.0","id":%d' % question + members + b"\n")
            answers = [server.message() for _ in range(1 if b'action":3' in members else 2)]
            assert [answer.get("id") for answer in answers] == [None, "call"][-len(answers) :]
            assert answers[-1]["result"]["content"][0]["text"].startswith(problem)
        assert server.end() == 0


# --- a socket ---------------------------------------------------------------------------------------------------------


class Endpoint:
    """The endpoint of a server on a real port."""

    def __init__(self, port: int, version: str, hello: dict[str, Any] | None = None) -> None:
        self.version = version
        self._port = port
        self._session: str | None = None
        if version != MODERN:
            self._session = self.post(json.dumps(hello or opening(version)).encode()).headers["mcp-session-id"]

    @property
    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if self.version != "2025-03-26" and (self._session is not None or self.version == MODERN):
            headers["mcp-protocol-version"] = self.version
        if self.version == MODERN:
            headers["mcp-method"] = "tools/list"
        if self._session is not None:
            headers["mcp-session-id"] = self._session
        return headers

    def begin(self, body: bytes) -> EventReader:
        return EventReader(self._port, "POST", "/mcp", body, self._headers)

    def post(self, body: bytes) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            connection.request("POST", "/mcp", body, self._headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def ask(self, body: bytes) -> Any:
        answer = self.post(body)
        assert answer.status == 200, answer.body
        return answer.json if self.version == MODERN else answer.events[-1]


@pytest.fixture(scope="module")
def port() -> Generator[int]:
    with serving(build().streamable_http_app()) as port:
        yield port


@every_version
def test_what_is_no_message_is_refused_by_an_endpoint(version: str, port: int) -> None:
    endpoint = Endpoint(port, version)
    for frames, code in ((NO_JSON, -32700), (NO_MESSAGE, -32600)):
        for frame in frames:
            if version == "2025-03-26" and frame == b"[[]]":
                continue
            answer = endpoint.post(frame)
            assert (answer.status, answer.json) == (400, unread(code, version)), frame[:80]
    for frame in BROKEN_REQUESTS:
        answer = endpoint.post(frame)
        assert (answer.status, answer.json["id"], answer.json["error"]["code"]) == (400, 7, -32600), frame
    assert endpoint.ask(json.dumps(listing("well", version)).encode())["result"]["tools"]


@every_version
def test_what_belongs_to_nothing_is_taken_by_an_endpoint(version: str, port: int) -> None:
    endpoint = Endpoint(port, version)
    for frame in UNANSWERED:
        answer = endpoint.post(json.dumps({"jsonrpc": "2.0", **frame}).encode())
        # A modern endpoint asks nothing, so that nothing can be an answer.
        assert answer.status == (400 if version == MODERN and "method" not in frame else 202), frame
    assert endpoint.ask(json.dumps(listing("well", version)).encode())["result"]["tools"]


@every_version
def test_every_id_comes_back_from_an_endpoint_as_it_was(version: str, port: int) -> None:
    endpoint = Endpoint(port, version)
    for request_id in IDS:
        answer = endpoint.ask(json.dumps(listing(request_id, version)).encode())
        assert (answer["id"], type(answer["id"])) == (request_id, type(request_id))
    odd = endpoint.post(json.dumps(listing("odd", version)).encode().replace(b'"odd"', ODD_ID))
    assert b'"id":' + ODD_ID in odd.body


def test_no_log_shows_the_whole_id_of_a_session_that_lives(port: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint = Endpoint(port, "2025-11-25")
    session = endpoint._session or ""
    endpoint.version = "2025-06-18"
    assert endpoint.ask(json.dumps(listing("well", "2025-06-18")).encode())["result"]["tools"]
    assert f"session {session[:8]}… sends MCP-Protocol-Version 2025-06-18, but 2025-11-25 was agreed on" in caplog.text
    assert session not in caplog.text


class EventReader:
    """A response of events that is still going on."""

    def __init__(self, port: int, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._connection.request(method, path, body, {"accept": "application/json, text/event-stream", **headers})
        self._response = self._connection.getresponse()
        assert self._response.status == 200

    def data(self) -> str:
        while not (line := self._response.readline()).startswith(b"data:"):
            assert line, "the stream ended"
        return line[5:].strip().decode()

    def close(self) -> None:
        self._connection.close()


class Form(BaseModel):
    n: int


def asker() -> MCPServer[Any]:
    server = MCPServer("asker", log_level="ERROR")

    @server.tool()
    async def ask(ctx: Context) -> str:
        try:
            return (await ctx.elicit("n?", Form)).action
        except Exception as error:
            return str(error)

    return server


@pytest.mark.parametrize("as_batch", [False, True])
def test_an_answer_that_is_none_ends_the_wait_for_it_in_a_session(as_batch: bool) -> None:
    version = "2025-03-26" if as_batch else "2025-11-25"
    with serving(asker().streamable_http_app()) as port:
        endpoint = Endpoint(port, version, opening_of_who_answers(version))
        for members, problem in SPOILED[:3] if as_batch else SPOILED:
            call = endpoint.begin(json.dumps(message("call", "tools/call", name="ask", arguments={})).encode())
            question = json.loads(call.data())["id"]
            frame = b'{"jsonrpc":"2.0","id":%d' % question + members
            if as_batch:
                assert endpoint.ask(b"[" + frame + b"]")["error"]["code"] == -32600
            else:
                answer = endpoint.post(frame)
                assert (answer.status, "error" in answer.json) == (400, True)
            assert json.loads(call.data())["result"]["content"][0]["text"].startswith(problem)
            call.close()


@pytest.mark.parametrize("as_batch", [False, True])
def test_an_answer_that_is_none_ends_the_wait_for_it_over_http_and_sse(as_batch: bool) -> None:
    with serving(asker().sse_app()) as port:
        stream = EventReader(port, "GET", "/sse", None, {})
        path = stream.data()

        def post(body: bytes) -> int:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            connection.request("POST", path, body, {"content-type": "application/json"})
            status = connection.getresponse().status
            connection.close()
            return status

        assert post(json.dumps(opening_of_who_answers("2025-03-26")).encode()) == 202
        assert "result" in json.loads(stream.data())
        for members, problem in SPOILED[:3] if as_batch else SPOILED:
            assert post(json.dumps(message("call", "tools/call", name="ask", arguments={})).encode()) == 202
            question = json.loads(stream.data())["id"]
            frame = b'{"jsonrpc":"2.0","id":%d' % question + members
            assert post(b"[" + frame + b"]" if as_batch else frame) == (202 if as_batch else 400)
            if as_batch:
                assert json.loads(stream.data())["error"]["code"] == -32600
            assert json.loads(stream.data())["result"]["content"][0]["text"].startswith(problem)
        stream.close()
