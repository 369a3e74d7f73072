from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketStream

from mcp.client._http import legacy_session
from mcp.client.streamable_http import StreamableHTTPTransport, create_mcp_http_client
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import CONNECTION_CLOSED, INVALID_REQUEST
from tests.client.legacy_http import (
    INITIALIZED,
    VERSION,
    Legacy,
    accepted,
    legacy,
    legacy_link,
    method_of,
    note,
    opening,
    said,
    stream_open,
    stream_whole,
)
from tests.client.raw_http import Answer, RawServer, Seen, chunk, event, raw_server, response


async def answer_ok(seen: Seen, stream: SocketStream) -> None:
    await stream.send(response(json.dumps(said(seen))))


@asynccontextmanager
async def linked(answer: Answer, **options: Any) -> AsyncGenerator[tuple[Legacy, RawServer]]:
    with anyio.fail_after(5):
        async with raw_server(answer) as server, legacy_link(server.url, **options) as client:
            yield client, server


def of(server: RawServer, method: str) -> list[Seen]:
    return [seen for seen in server.seen if method_of(seen) == method]


async def happens(condition: Callable[[], bool]) -> None:
    while not condition():
        await anyio.lowlevel.checkpoint()


async def until(server: RawServer, method: str) -> list[Seen]:
    await happens(lambda: bool(of(server, method)))
    return of(server, method)


# Sessions and headers


@pytest.mark.rule("TRANSPORT-20", "TRANSPORT-23", "LEG-H-04", "LEG-N-05", "LEG-L-13", "LEG-V-01", "LEG-V-02")
@pytest.mark.rule("HTTP-B-04")
async def test_a_session_is_told_in_every_message_after_the_one_that_opens_it() -> None:
    async with linked(legacy(answer_ok)) as (client, server):
        await client.call(headers={"mcp-name": "add", "Mcp-Param-Region": "eu", "x-mine": "1"})

        opened, confirmed, called = of(server, "initialize") + of(server, INITIALIZED) + of(server, "tools/call")
        assert "mcp-protocol-version" not in opened.headers
        assert "mcp-session-id" not in opened.headers
        for seen in (confirmed, called):
            assert seen.headers["mcp-session-id"] == "s-1"
            assert seen.headers["mcp-protocol-version"] == VERSION
            assert "mcp-method" not in seen.headers
            assert seen.headers["accept"] == "application/json, text/event-stream"
            assert seen.headers["content-type"] == "application/json"
        assert "mcp-name" not in called.headers
        assert "mcp-param-region" not in called.headers
        assert called.headers["x-mine"] == "1"


@pytest.mark.rule("TRANSPORT-45", "TRANSPORT-48", "LEG-N-01")
async def test_without_a_session_id_there_is_neither_a_standing_stream_nor_a_farewell() -> None:
    async with linked(legacy(answer_ok, session=None)) as (client, server):
        await client.call()
    assert [method_of(seen) for seen in server.seen] == ["initialize", INITIALIZED, "tools/call"]
    assert not any("mcp-session-id" in seen.headers for seen in server.seen)


@pytest.mark.rule("LEG-N-05")
async def test_only_the_answer_to_initialize_names_the_session() -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream.send(response(json.dumps(said(seen)), **{"Mcp-Session-Id": f"other-{seen.message['id']}"}))

    async with linked(legacy(answer)) as (client, server):
        await client.call()
        await client.call()
        assert [seen.headers["mcp-session-id"] for seen in of(server, "tools/call")] == ["s-1", "s-1"]


@pytest.mark.rule("LEG-N-03", "LEG-N-04")
async def test_a_session_id_that_no_header_can_carry_is_not_sent_back() -> None:
    async with linked(legacy(answer_ok, session="two words")) as (client, server):
        await client.call()
        assert not any("mcp-session-id" in seen.headers for seen in server.seen)


@pytest.mark.rule("TRANSPORT-31", "TRANSPORT-D5")
async def test_a_failure_carries_its_status_and_leaves_the_session_usable() -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        if seen.message["id"] == 1:
            await stream.send(response("<html>", "text/html", "502 Bad Gateway"))
        else:
            await answer_ok(seen, stream)

    async with linked(legacy(answer)) as (client, _):
        with pytest.raises(MCPError) as caught:
            await client.call()
        assert caught.value.data == {"httpStatus": 502}
        await client.call()


# What the server asks and tells while a request runs


@pytest.mark.rule("TRANSPORT-40", "LEG-H-16", "LEG-H-09", "LEG-J-02", "LEG-H-05")
async def test_a_question_on_the_stream_of_a_call_is_answered_by_a_post_of_its_own() -> None:
    answered = anyio.Event()

    async def answer(seen: Seen, stream: SocketStream) -> None:
        question = {"jsonrpc": "2.0", "id": "q1", "method": "roots/list"}
        await stream_open(stream, event(note("notifications/message", level="info", data=1)), event(question))
        await answered.wait()
        await stream.send(chunk(event(said(seen))) + chunk(b""))

    async def serve(seen: Seen, stream: SocketStream) -> None:
        if method_of(seen) == "answer":
            answered.set()
        await legacy(answer)(seen, stream)

    async with linked(serve) as (client, server):
        assert (await client.call())["content"]
        assert client.told.asked == ["roots/list"]
        assert client.heard == ["notifications/message"]
        [posted] = of(server, "answer")
        assert posted.message == {"jsonrpc": "2.0", "id": "q1", "result": {"roots": []}}
        assert posted.headers["mcp-session-id"] == "s-1"
        assert posted.headers["mcp-protocol-version"] == VERSION


@pytest.mark.rule("TRANSPORT-D10", "TRANSPORT-D9", "TRANSPORT-35")
async def test_what_a_stream_says_beside_its_answer_is_skipped() -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        foreign: dict[str, Any] = {"jsonrpc": "2.0", "id": 99, "result": {}}
        noise = "event: other\ndata: {}\n\ndata: not JSON\n\n: comment\n\n"
        await stream_whole(stream, noise, event(foreign), event(said(seen, "mine")))

    async with linked(legacy(answer)) as (client, _):
        assert (await client.call())["content"][0]["text"] == "mine"


# The standing stream


@pytest.mark.rule("TRANSPORT-45", "LEG-E-01", "LEG-E-02", "LEG-E-04", "LEG-E-08", "TRANSPORT-47")
async def test_the_standing_stream_begins_after_the_handshake_and_carries_questions_and_news() -> None:
    async def get(seen: Seen, stream: SocketStream) -> None:
        stray: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "result": {}}
        question = {"jsonrpc": "2.0", "id": 7, "method": "roots/list"}
        await stream_open(stream, event(stray), event(question), event(note("notifications/tools/list_changed")))
        await anyio.sleep_forever()

    async with linked(legacy(answer_ok, get=get)) as (client, server):
        await client.told.heard.wait()
        [posted] = await until(server, "answer")
        [asked] = of(server, "GET")
        assert client.told.notes == ["notifications/tools/list_changed"]
        assert posted.message["id"] == 7
        assert "text/event-stream" in asked.headers["accept"]
        assert asked.headers["cache-control"] == "no-store"
        assert asked.headers["mcp-session-id"] == "s-1"
        assert asked.headers["mcp-protocol-version"] == VERSION
        order = [method_of(seen) for seen in server.seen]
        assert order.index(INITIALIZED) < order.index("GET")
        await client.call()
    assert method_of(server.seen[-1]) == "DELETE"


async def test_progress_on_the_standing_stream_reaches_the_call_it_is_about() -> None:
    called, told = anyio.Event(), anyio.Event()

    async def get(seen: Seen, stream: SocketStream) -> None:
        await stream_open(stream)
        await called.wait()
        await stream.send(chunk(event(note("notifications/progress", progressToken=1, progress=1))))
        await told.wait()

    async def answer(seen: Seen, stream: SocketStream) -> None:
        called.set()
        await told.wait()
        await answer_ok(seen, stream)

    async with linked(legacy(answer, get=get)) as (client, _):

        async def hear(method: str, params: dict[str, Any] | None) -> None:
            client.heard.append(method)
            told.set()

        await client.link.exchange(client.request(), hear)
        assert client.heard == ["notifications/progress"]
        assert client.told.notes == []


@pytest.mark.rule("TRANSPORT-D12", "LEG-E-03")
@pytest.mark.parametrize("status", ["405 Method Not Allowed", "404 Not Found", "400 Bad Request", "200 OK"])
async def test_a_server_without_a_standing_stream_is_asked_for_it_once(status: str) -> None:
    async def get(seen: Seen, stream: SocketStream) -> None:
        await stream.send(response(b"{}", "application/json", status))

    async with linked(legacy(answer_ok, get=get)) as (client, server):
        await until(server, "GET")
        for _ in range(10):
            await client.call()
        assert len(of(server, "GET")) == 1
        assert len(of(server, "initialize")) == 1


@pytest.mark.rule("TRANSPORT-47", "LEG-E-07", "LEG-H-14")
async def test_a_dropped_standing_stream_goes_on_after_its_last_event() -> None:
    async def get(seen: Seen, stream: SocketStream) -> None:
        news = note("notifications/tools/list_changed")
        if "last-event-id" not in seen.headers:
            await stream_open(stream, event(news, id="a-1", retry="10"))
            await stream.aclose()
        else:
            await stream_open(
                stream, event(news, id="a-1"), event(note("notifications/prompts/list_changed"), id="a-2")
            )
            await anyio.sleep_forever()

    async with linked(legacy(answer_ok, get=get)) as (client, server):
        await happens(lambda: len(client.told.notes) == 2)
        assert client.told.notes == ["notifications/tools/list_changed", "notifications/prompts/list_changed"]
        assert [seen.headers.get("last-event-id") for seen in of(server, "GET")] == [None, "a-1"]


@pytest.mark.rule("TRANSPORT-47")
async def test_a_standing_stream_that_always_ends_at_once_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    async def get(seen: Seen, stream: SocketStream) -> None:
        await stream_whole(stream, "retry: 0\n\n")

    async with linked(legacy(answer_ok, get=get)) as (client, server):
        await happens(lambda: "could not be opened again" in caplog.text)
        assert len(of(server, "GET")) == 3
        await client.call()


# Streams that break off


def numbered(message: object, number: int, **fields: str) -> str:
    return event(message, id=f"e-{number}", **fields)


@pytest.mark.rule("TRANSPORT-42", "LEG-H-12", "LEG-H-20", "LEG-R-04", "LEG-R-07", "LEG-H-14", "LEG-H-10")
@pytest.mark.parametrize("orderly", [True, False])
async def test_a_stream_that_ends_early_goes_on_after_its_last_event(orderly: bool) -> None:
    waited: list[float] = []
    calls: list[Seen] = []

    async def answer(seen: Seen, stream: SocketStream) -> None:
        calls.append(seen)
        first = note("notifications/message", level="info", data=1)
        await stream_open(stream, "id: e-0\nretry: 60\ndata:\n\n", numbered(first, 1))
        waited.append(anyio.current_time())
        if orderly:
            await stream.send(chunk(b""))
        else:
            await stream.aclose()

    async def get(seen: Seen, stream: SocketStream) -> None:
        if "last-event-id" not in seen.headers:
            await stream.send(response(b"", None, "405 Method Not Allowed"))
            return
        waited.append(anyio.current_time())
        again = note("notifications/message", level="info", data=1)
        news = note("notifications/message", level="info", data=2)
        await stream_whole(stream, numbered(again, 1), numbered(news, 2), numbered(said(calls[0], "late"), 3))

    async with linked(legacy(answer, get=get)) as (client, server):
        assert (await client.call())["content"][0]["text"] == "late"
        assert client.heard == ["notifications/message"] * 2  # what came twice is heard once
        resumed = of(server, "GET")[-1]
        assert resumed.headers["last-event-id"] == "e-1"
        assert resumed.headers["mcp-session-id"] == "s-1"
        assert resumed.headers["mcp-protocol-version"] == VERSION
        assert waited[1] - waited[0] >= 0.06
        gets = len(of(server, "GET"))
        await anyio.wait_all_tasks_blocked()
        assert len(of(server, "GET")) == gets


@pytest.mark.rule("TRANSPORT-42")
@pytest.mark.parametrize("attempts", [2, 4])
async def test_a_stream_that_never_goes_on_is_given_up_after_so_many_attempts(attempts: int) -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream_whole(stream, numbered(note("notifications/message", level="info", data=1), 1, retry="1"))

    async def get(seen: Seen, stream: SocketStream) -> None:
        if "last-event-id" not in seen.headers:
            await stream.send(response(b"", None, "405 Method Not Allowed"))
        elif len(of(server, "GET")) % 2:
            await stream.send(response(b"", None, "503 Service Unavailable"))
        else:
            await stream_whole(stream)

    async with linked(legacy(answer, get=get), max_reconnection_attempts=attempts) as (client, server):
        with pytest.raises(MCPError) as caught:
            await client.call()
        assert caught.value.code == CONNECTION_CLOSED
        assert caught.value.message == "SSE stream ended and reconnection attempts were exhausted"
        assert len([seen for seen in of(server, "GET") if "last-event-id" in seen.headers]) == attempts


@pytest.mark.rule("LEG-H-11", "LEG-H-12", "LEG-H-13")
async def test_a_server_may_hang_up_between_events_as_often_as_it_goes_on() -> None:
    calls: list[Seen] = []

    async def answer(seen: Seen, stream: SocketStream) -> None:
        calls.append(seen)
        await stream_whole(stream, "id: e-0\nretry: 1\ndata:\n\n")

    async def get(seen: Seen, stream: SocketStream) -> None:
        last = seen.headers.get("last-event-id")
        if last is None:
            await stream.send(response(b"", None, "405 Method Not Allowed"))
        elif last == "e-9":
            await stream_whole(stream, numbered(said(calls[0]), 10))
        else:
            await stream_whole(stream, f"id: e-{int(last[2:]) + 1}\ndata:\n\n")

    async with linked(legacy(answer, get=get)) as (client, _):
        assert (await client.call())["content"]


@pytest.mark.rule("TRANSPORT-39")
@pytest.mark.parametrize("orderly", [True, False])
async def test_a_stream_without_ids_cannot_go_on(orderly: bool) -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream_open(stream, event(note("notifications/message", level="info", data=1)))
        if orderly:
            await stream.send(chunk(b""))
        else:
            await stream.aclose()

    async with linked(legacy(answer)) as (client, server):
        with pytest.raises(MCPError) as caught:
            await client.call()
        assert caught.value.code == CONNECTION_CLOSED
        assert not any("last-event-id" in seen.headers for seen in server.seen)


@pytest.mark.rule("TRANSPORT-44")
async def test_a_caller_learns_each_event_id_and_resumes_from_one_later() -> None:
    tokens: list[str] = []

    async def on_token(token: str) -> None:
        tokens.append(token)
        raise RuntimeError("what this raises is logged")

    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream_whole(
            stream,
            "id: e-0\ndata:\n\n",
            numbered(note("notifications/message", level="info", data=1), 1),
            numbered(said(seen), 2),
        )

    async def get(seen: Seen, stream: SocketStream) -> None:
        if "last-event-id" not in seen.headers:
            await stream.send(response(b"", None, "405 Method Not Allowed"))
        else:
            await stream_whole(stream, numbered({**legacy_message, "id": "of another client"}, 2))

    legacy_message: dict[str, Any] = {"jsonrpc": "2.0", "result": {"late": True}}
    async with linked(legacy(answer, get=get)) as (client, server):
        await client.call(on_resumption_token=on_token)
        assert tokens[-2:] == ["e-1", "e-2"]  # one that comes with another in one piece is passed over
        assert (await client.call(resumption_token="e-1"))["late"] is True
        assert of(server, "GET")[-1].headers["last-event-id"] == "e-1"
        assert len(of(server, "tools/call")) == 1


# Sessions that are lost


class Forgetful:
    """Forgets its sessions when told to."""

    def __init__(self, *, forever: bool = False) -> None:
        self.sessions = 0
        self.known: set[str] = set()
        self._forever = forever

    async def __call__(self, seen: Seen, stream: SocketStream) -> None:
        if method_of(seen) == "initialize":
            self.sessions += 1
            name = f"s-{self.sessions}"
            if self.sessions == 1 or not self._forever:
                self.known.add(name)
            await stream.send(opening(seen, name))
        elif seen.method == "GET":
            await stream.send(response(b"", None, "405 Method Not Allowed"))
        elif seen.headers.get("mcp-session-id") not in self.known:
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Session not found"}}
            await stream.send(response(json.dumps(error), status="404 Not Found"))
        elif "id" not in seen.message:
            await stream.send(accepted())
        else:
            await answer_ok(seen, stream)


@pytest.mark.rule("TRANSPORT-D6", "LEG-N-07", "LEG-N-09", "LEG-N-05", "CASE-8")
async def test_a_lost_session_is_replaced_once_for_all_calls_that_notice() -> None:
    answer = Forgetful()
    async with linked(answer, terminate_on_close=False) as (client, server):
        await client.call()
        answer.known.clear()
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(client.call)

        first, second = of(server, "initialize")
        assert first.message["params"] == second.message["params"]
        assert "mcp-session-id" not in second.headers
        assert "mcp-protocol-version" not in second.headers
        assert [seen.headers["mcp-session-id"] for seen in of(server, INITIALIZED)] == ["s-1", "s-2"]
        retried = [s for s in of(server, "tools/call") if s.headers["mcp-session-id"] == "s-2"]
        assert sorted(seen.message["id"] for seen in retried) == [2, 3, 4, 5, 6]


@pytest.mark.rule("TRANSPORT-D6", "TROUBLE-5", "CASE-8")
async def test_a_session_that_is_lost_again_at_once_fails_the_call() -> None:
    answer = Forgetful(forever=True)
    async with linked(answer, terminate_on_close=False) as (client, server):
        answer.known.clear()
        with pytest.raises(MCPError) as caught:
            await client.call()
        assert (caught.value.code, caught.value.message) == (INVALID_REQUEST, "Session terminated")
        assert len(of(server, "initialize")) == 2
        assert len(of(server, "tools/call")) == 2


@pytest.mark.rule("CASE-8")
async def test_a_session_that_replaces_a_lost_one_is_set_up_like_it(caplog: pytest.LogCaptureFixture) -> None:
    async def ask(method: str, **params: Any) -> None:
        request = client.request(method)
        request.params = {**params, "_meta": {"progressToken": 1}}
        await client.link.exchange(request, client.hear)

    async def answer(seen: Seen, stream: SocketStream) -> None:
        error = {"code": -32002, "message": "no such thing"}
        if forgetful.sessions == 2 and b"a:2" in seen.body:
            await stream.send(response(json.dumps({"jsonrpc": "2.0", "id": seen.message["id"], "error": error})))
        else:
            await forgetful(seen, stream)

    forgetful = Forgetful()
    async with linked(answer, terminate_on_close=False) as (client, server):
        await ask("logging/setLevel", level="info")
        await ask("logging/setLevel", level="error")
        for uri in ("a:1", "a:2", "a:3", "a:4"):
            await ask("resources/subscribe", uri=uri)
        await ask("resources/unsubscribe", uri="a:1")
        before = len(server.seen)
        forgetful.known.clear()
        await client.call()
    told = [(method_of(seen), seen.message.get("params")) for seen in server.seen[before:] if seen.method == "POST"]
    assert [method for method, _ in told[:3]] == ["tools/call", "initialize", INITIALIZED]
    assert told[3:] == [
        ("logging/setLevel", {"level": "error"}),
        ("resources/subscribe", {"uri": "a:2"}),
        ("resources/subscribe", {"uri": "a:3"}),
        ("resources/subscribe", {"uri": "a:4"}),
        ("tools/call", {"name": "add"}),
    ]
    assert "resources/subscribe of {'uri': 'a:2'} was not repeated in the new session: no such thing" in caplog.text


@pytest.mark.rule("TRANSPORT-D6", "CASE-8")
async def test_a_call_that_was_under_way_in_a_lost_session_is_not_sent_again() -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream_whole(stream, "id: e-0\nretry: 1\ndata:\n\n")

    async def get(seen: Seen, stream: SocketStream) -> None:
        await stream.send(response(b"", None, "404 Not Found"))

    async with linked(legacy(answer, get=get)) as (client, server):
        with pytest.raises(MCPError, match="Session terminated"):
            await client.call()
        assert len(of(server, "tools/call")) == 1


@pytest.mark.rule("TRANSPORT-D6")
async def test_a_server_that_comes_back_with_another_version_gets_no_more_calls() -> None:
    openings = 0

    async def answer(seen: Seen, stream: SocketStream) -> None:
        nonlocal openings
        if method_of(seen) == "initialize":
            openings += 1
            await stream.send(opening(seen, f"s-{openings}", VERSION if openings == 1 else "2024-11-05"))
        elif method_of(seen) == "tools/call":
            await stream.send(response(b"", None, "404 Not Found"))
        else:
            await stream.send(accepted())

    async with linked(answer, terminate_on_close=False) as (client, server):
        with pytest.raises(MCPError, match="Session terminated"):
            await client.call()
        assert len(of(server, "tools/call")) == 1


@pytest.mark.rule("TRANSPORT-D6", "LEG-N-09")
async def test_a_lost_standing_stream_opens_another_session_by_itself() -> None:
    async def get(seen: Seen, stream: SocketStream) -> None:
        if len(of(server, "GET")) == 2:
            await stream.send(response(b"", None, "404 Not Found"))
            return
        await stream_open(stream, event(note("notifications/tools/list_changed"), id="a", retry="1"))
        if len(of(server, "GET")) == 1:
            await stream.aclose()
        else:
            await anyio.sleep_forever()

    async with linked(legacy(answer_ok, get=get)) as (client, server):
        await happens(lambda: len(client.told.notes) == 2)
        assert len(of(server, "initialize")) == 2


# Giving up, and the end


@pytest.mark.rule("TRANSPORT-41", "LEG-C-01", "LEG-C-02", "LEG-C-11", "LEG-H-20")
@pytest.mark.parametrize("streaming", [True, False])
async def test_giving_up_a_call_tells_the_server_in_one_message(streaming: bool) -> None:
    called = anyio.Event()

    async def answer(seen: Seen, stream: SocketStream) -> None:
        if seen.message["id"] != 1:
            await answer_ok(seen, stream)
            return
        if streaming:
            await stream_open(stream, ": here\n\n")
        called.set()
        await anyio.sleep_forever()

    async with linked(legacy(answer)) as (client, server):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call)
            await called.wait()
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        [told] = of(server, "notifications/cancelled")
        assert told.message["params"] == {"requestId": 1, "reason": "caller cancelled"}
        assert told.headers["mcp-session-id"] == "s-1"
        await client.call()
        assert len(of(server, "notifications/cancelled")) == 1


@pytest.mark.rule("LEG-C-03")
async def test_an_opening_is_given_up_without_a_word() -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await anyio.sleep_forever()

    with anyio.fail_after(5):
        async with raw_server(answer) as server:
            client = Legacy(StreamableHTTPTransport(server.url).open_link())
            with anyio.move_on_after(0.05):
                await client.initialize()
            await client.link.aclose()
            assert [method_of(seen) for seen in server.seen] == ["initialize"]


@pytest.mark.rule("TRANSPORT-48", "LEG-N-10", "LEG-N-11")
@pytest.mark.parametrize(
    ("status", "loud"),
    [("200 OK", False), ("204 No Content", False), ("405 Method Not Allowed", False), ("500 X", True)],
)
async def test_the_end_of_a_session_is_announced(status: str, loud: bool, caplog: pytest.LogCaptureFixture) -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        if seen.method == "DELETE":
            await stream.send(response(b"", None, status))
        else:
            await legacy(answer_ok)(seen, stream)

    async with linked(answer) as (_, server):
        pass
    [farewell] = of(server, "DELETE")
    assert farewell.headers["mcp-session-id"] == "s-1"
    assert farewell.headers["mcp-protocol-version"] == VERSION
    assert ("Session termination failed: 500" in caplog.text) is loud


@pytest.mark.rule("TRANSPORT-48")
async def test_the_end_of_a_session_is_not_announced_where_that_is_not_wanted() -> None:
    async with linked(legacy(answer_ok), terminate_on_close=False) as (_, server):
        pass
    assert of(server, "DELETE") == []


@pytest.mark.rule("TRANSPORT-48")
async def test_a_server_that_never_answers_the_farewell_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(legacy_session, "TERMINATION_SECONDS", 0.05)

    async def answer(seen: Seen, stream: SocketStream) -> None:
        if seen.method == "DELETE":
            await anyio.sleep_forever()
        await legacy(answer_ok)(seen, stream)

    async with linked(answer):
        pass
    assert "no answer within" in caplog.text


@pytest.mark.parametrize("own_client", [True, False])
async def test_the_end_ends_running_calls_waiting_resumptions_and_the_standing_stream(own_client: bool) -> None:
    called = 0

    async def answer(seen: Seen, stream: SocketStream) -> None:
        nonlocal called
        called += 1
        if seen.message["id"] == 1:
            await stream_whole(stream, "id: e-0\nretry: 600000\ndata:\n\n")
        else:
            await stream_open(stream, ": here\n\n")
            await anyio.sleep_forever()

    async def get(seen: Seen, stream: SocketStream) -> None:
        await stream_open(stream)
        while True:
            await stream.send(chunk(": endless\n\n"))
            await anyio.lowlevel.checkpoint()

    failures: list[str] = []

    async def call(client: Legacy) -> None:
        with pytest.raises(MCPError) as caught:
            await client.call()
        failures.append(caught.value.message)

    http_client = create_mcp_http_client()
    async with http_client:
        async with anyio.create_task_group() as tasks:
            options: dict[str, Any] = {"http_client": http_client} if own_client else {}
            async with linked(legacy(answer, get=get), **options) as (client, server):
                tasks.start_soon(call, client)
                tasks.start_soon(call, client)
                await happens(lambda: called == 2)
                await client.link.aclose()
                await happens(lambda: len(failures) == 2)
                assert of(server, "notifications/cancelled") == []
    assert failures == ["Connection closed"] * 2


async def test_a_link_with_a_session_may_be_closed_in_another_task_than_it_was_opened_in() -> None:
    with anyio.fail_after(5):
        async with raw_server(legacy(answer_ok)) as server:
            client = Legacy(StreamableHTTPTransport(server.url).open_link())
            client.link.attach(client.told.admit, client.told.hear)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.initialize)
            await client.call()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.link.aclose)
            assert len(of(server, "DELETE")) == 1


async def test_nothing_beside_the_protocol_is_logged_in_a_session(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mcp")
    async with linked(legacy(answer_ok)) as (client, _):
        await client.call()
    assert caplog.records == []
