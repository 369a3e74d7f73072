"""The whole system: a real uvicorn server, real sockets, both HTTP parsers and both asyncio loops."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Generator
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from tests.server.http.fakes import VERSION, request_body, request_headers
from tests.server.http.servers import Context
from tests.server.http.serving import PATIENCE, Answer, connected, post, raw, send, serving

LIMIT = 100_000


class Shop:
    """The server under test and what its tools noted, seen from another thread."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.cancelled = threading.Event()
        self.bus = InMemorySubscriptionBus()
        self.server: Server[Any] = Server(
            "shop", on_call_tool=self.call_tool, on_subscriptions_listen=ListenHandler(self.bus)
        )

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = params.arguments or {}
        if params.name == "wait":
            self.begun.set()
            try:
                if arguments.get("noisy"):
                    await ctx.session.report_progress(1)
                await anyio.sleep_forever()
            finally:
                self.cancelled.set()
        elif params.name == "progress":
            for step in range(3):
                await ctx.session.report_progress(step + 1)
        elif params.name == "publish":
            await self.bus.publish(ResourceUpdated(uri=arguments["uri"]))
        elif params.name == "big":
            return types.CallToolResult(content=[types.TextContent(type="text", text="x" * arguments["size"])])
        return types.CallToolResult(content=[types.TextContent(type="text", text="done")])


@pytest.fixture(scope="module", params=["httptools-uvloop", "h11-asyncio"])
def served(request: pytest.FixtureRequest) -> Generator[tuple[Shop, int]]:
    protocol, loop = request.param.split("-")
    pytest.importorskip(protocol)
    if loop == "uvloop":
        pytest.importorskip("uvloop")
    shop = Shop()
    app = shop.server.streamable_http_app(max_request_body_size=LIMIT, shutdown_timeout=0.1)
    with serving(app, protocol=protocol, loop=loop) as port:
        yield shop, port


@pytest.fixture
def shop(served: tuple[Shop, int]) -> tuple[Shop, int]:
    served[0].begun.clear()
    served[0].cancelled.clear()
    return served


def call(name: str = "echo", arguments: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return request_body("tools/call", {"name": name, "arguments": arguments or {}}, **options)


def head(body: bytes, *extra: str, **changes: str | None) -> bytes:
    headers = request_headers(call(), **changes)
    lines = [
        "POST /mcp HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers.items()),
        *(extra or (f"content-length: {len(body)}",)),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.mark.rule("RUN-36", "VER-20", "HTTP-E-01", "HTTP-P-01", "HTTP-P-10")
def test_a_call_and_the_next_on_the_same_connection(shop: tuple[Shop, int]) -> None:
    with connected(shop[1]) as connection:
        for number in range(3):
            send(connection, call(request_id=number))
            answer = Answer(connection.getresponse())
            assert answer.status == 200
            assert answer.json["id"] == number
            assert answer.json["result"]["content"][0]["text"] == "done"
            assert answer.headers["content-length"] == str(len(answer.body))


@pytest.mark.rule("RUN-36", "HTTP-R-01", "HTTP-R-08")
def test_progress_makes_the_answer_a_stream(shop: tuple[Shop, int]) -> None:
    answer = post(shop[1], call("progress", progressToken=5))
    assert answer.headers["cache-control"] == "no-cache, no-transform"
    assert answer.headers["x-accel-buffering"] == "no"
    assert answer.body.startswith(b"event: message\r\ndata: ")
    assert [event.get("params", {}).get("progress") for event in answer.events] == [1, 2, 3, None]
    assert "result" in answer.events[-1]


def test_a_large_answer_arrives_whole(shop: tuple[Shop, int]) -> None:
    answer = post(shop[1], call("big", {"size": 3_000_000}))
    assert len(answer.json["result"]["content"][0]["text"]) == 3_000_000


@pytest.mark.rule("RUN-38", "RUN-40", "RUN-41", "HTTP-H-05", "HTTP-S-03", "SERR-13", "CASE-60")
@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (head(b"{"), 400, -32700),
        (head(b"[]"), 400, -32600),
        (head(json.dumps([call()]).encode()), 400, -32600),
        (head(json.dumps({**call(), "id": None}).encode()), 400, -32600),
        (head(json.dumps(call()).encode(), mcp_method=None), 400, -32020),
        (head(json.dumps(call()).encode(), mcp_name="other"), 400, -32020),
        (head(json.dumps(call()).encode(), mcp_protocol_version=None), 400, -32020),
        (
            head(json.dumps(call()).encode(), f"content-length: {len(json.dumps(call()))}", "mcp-name: echo"),
            400,
            -32020,
        ),
        (head(json.dumps(call()).encode(), content_type="text/plain"), 400, -32600),
        (head(json.dumps(call()).encode(), host="evil.example"), 421, -32600),
        (head(json.dumps(call()).encode(), origin="http://evil.example"), 403, -32600),
        (head(json.dumps(request_body("tools/call", {"name": "echo", "arguments": 1})).encode()), 400, -32602),
        (head(json.dumps(request_body("no/such")).encode(), mcp_method="no/such", mcp_name=None), 404, -32601),
        (head(b"", "content-length: 0"), 400, -32700),
    ],
)
def test_faults_are_answered_and_do_no_harm(shop: tuple[Shop, int], data: bytes, status: int, code: int) -> None:
    answer = raw(shop[1], data)
    assert answer.status == status
    assert answer.json["error"]["code"] == code
    assert post(shop[1], call()).status == 200


@pytest.mark.rule("RUN-22")
def test_an_announced_body_above_the_limit_is_refused_without_waiting_for_it(shop: tuple[Shop, int]) -> None:
    answer = raw(shop[1], head(b"", f"content-length: {LIMIT + 1}"))
    assert answer.status == 413
    assert "max_request_body_size" in answer.json["error"]["message"]


@pytest.mark.rule("RUN-22")
def test_a_chunked_body_above_the_limit_is_refused(shop: tuple[Shop, int]) -> None:
    chunk = b"%x\r\n%b\r\n" % (LIMIT // 2 + 1, b" " * (LIMIT // 2 + 1))
    answer = raw(shop[1], head(b"", "transfer-encoding: chunked") + chunk + chunk)
    assert answer.status == 413


def test_a_chunked_body_is_read(shop: tuple[Shop, int]) -> None:
    body = json.dumps(call()).encode()
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:20], body[20:])) + b"0\r\n\r\n"
    assert raw(shop[1], head(b"", "transfer-encoding: chunked") + chunks).status == 200


@pytest.mark.rule("RUN-34", "HTTP-B-05")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "HEAD"])
def test_other_methods_are_405(shop: tuple[Shop, int], method: str) -> None:
    with connected(shop[1]) as connection:
        connection.request(method, "/mcp", headers={"accept": "text/event-stream", "mcp-protocol-version": VERSION})
        answer = Answer(connection.getresponse())
    assert answer.status == 405
    assert answer.headers["allow"] == "POST"


@pytest.mark.rule("RUN-43", "HTTP-C-01", "HTTP-C-02", "CASE-65")
@pytest.mark.parametrize("noisy", [False, True])
def test_closing_the_connection_cancels_the_handler(shop: tuple[Shop, int], noisy: bool) -> None:
    with connected(shop[1]) as connection:
        send(connection, call("wait", {"noisy": noisy}, progressToken=1))
        assert shop[0].begun.wait(PATIENCE)
        if noisy:
            response = connection.getresponse()
            assert response.readline() == b"event: message\r\n"
            response.close()
    assert shop[0].cancelled.wait(PATIENCE)
    assert post(shop[1], call()).status == 200


@pytest.mark.rule("SUB-21", "SUBS-1", "SUBS-19", "HTTP-R-06", "HTTP-R-07")
def test_what_one_connection_publishes_another_hears(shop: tuple[Shop, int]) -> None:
    listen = request_body(
        "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["a://1"]}}, request_id="s"
    )
    with connected(shop[1]) as connection:
        send(connection, listen)
        response = connection.getresponse()
        events = read_events(response)
        assert next(events)["method"] == "notifications/subscriptions/acknowledged"
        assert post(shop[1], call("publish", {"uri": "a://2"})).json["result"]
        assert post(shop[1], call("publish", {"uri": "a://1"})).json["result"]
        updated = next(events)
        response.close()
    assert updated["params"] == {"uri": "a://1", "_meta": {"io.modelcontextprotocol/subscriptionId": "s"}}


@pytest.mark.rule("PROGRESS-7")
def test_progress_is_heard_by_whoever_asked_and_not_by_those_who_listen(shop: tuple[Shop, int]) -> None:
    wanted = {"resourceSubscriptions": ["a://1"], "toolsListChanged": True}
    listen = request_body("subscriptions/listen", {"notifications": wanted}, request_id="s", progressToken="s")
    with connected(shop[1]) as connection:
        send(connection, listen)
        response = connection.getresponse()
        events = read_events(response)
        assert next(events)["method"] == "notifications/subscriptions/acknowledged"
        answer = post(shop[1], call("progress", progressToken=5))
        assert post(shop[1], call("publish", {"uri": "a://1"})).json["result"]
        heard = next(events)
        response.close()
    assert [event.get("method") for event in answer.events] == ["notifications/progress"] * 3 + [None]
    assert heard["method"] == "notifications/resources/updated"


def read_events(response: http.client.HTTPResponse) -> Generator[dict[str, Any]]:
    while line := response.readline():
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


@pytest.mark.rule("HTTP-R-09", "CASE-35")
def test_a_silent_call_is_kept_alive() -> None:
    shop = Shop()
    app = endpoint(shop.server, keep_alive_interval=0.02)
    with serving(app) as port, connected(port) as connection:
        send(connection, call("wait"))
        response = connection.getresponse()
        assert response.headers["content-type"] == "text/event-stream"
        assert [response.readline() for _ in range(4)] == [b":\r\n", b"\r\n", b":\r\n", b"\r\n"]
        response.close()


def endpoint(server: Server[Any], **options: Any) -> Callable[..., Any]:
    """A manager as a bare ASGI application, without Starlette around it."""
    manager = StreamableHTTPSessionManager(server, **options)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await manager.handle_request(scope, receive, send)
            return
        async with manager.run():
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    return app


@pytest.mark.rule("CASE-33")
def test_a_slow_reader_does_not_hold_others_up(shop: tuple[Shop, int]) -> None:
    with socket.create_connection(("127.0.0.1", shop[1]), timeout=PATIENCE) as slow:
        slow.sendall(
            head(
                body := json.dumps(call("big", {"size": 3_000_000})).encode(),
                f"content-length: {len(body)}",
                mcp_name="big",
            )
        )
        for _ in range(5):
            assert post(shop[1], call()).status == 200


def test_many_connections_at_once(shop: tuple[Shop, int]) -> None:
    problems: list[str] = []

    def work(number: int) -> None:
        with connected(shop[1]) as connection:
            for step in range(20):
                request_id = f"{number}-{step}"
                name = "progress" if step % 2 else "echo"
                send(connection, call(name, request_id=request_id, progressToken=request_id))
                answer = Answer(connection.getresponse())
                last = answer.events[-1] if name == "progress" else answer.json
                if last["id"] != request_id:
                    problems.append(request_id)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert problems == []
