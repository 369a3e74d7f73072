"""Streams of legacy sessions that clients lose and pick up again."""

from __future__ import annotations

import json
import logging
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http import EventCallback
from mcp_types import JSONRPCMessage
from tests.server.http.fakes import FakeConnection
from tests.server.http.legacy_client import MemoryStore, call, events_of, headers_of, opening, session
from tests.server.http.servers import Workshop, ask, running


class Studio(Workshop):
    """A workshop whose tools drop their streams."""

    async def call_tool(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name == "poll":
            await ctx.session.report_progress(1)
            assert ctx.close_sse_stream is not None
            await ctx.close_sse_stream()
            await super().call_tool(ctx, types.CallToolRequestParams(name="wait"))
            await ctx.session.report_progress(2, message="null: None")
        elif params.name == "drop":
            assert ctx.close_standalone_sse_stream is not None
            await ctx.close_standalone_sse_stream()
        elif params.name == "announce":
            await ctx.session.send_tool_list_changed()
        return await super().call_tool(
            ctx, params.model_copy(update={"name": "echo" if params.name != "wait" else "wait"})
        )


def kinds_of(connection: FakeConnection) -> list[str]:
    return [message.get("method", "answer") for message in connection.events]


@pytest.mark.rule("RUN-62", "LEG-R-01", "LEG-R-02", "LEG-H-10", "LEG-H-13", "LEG-H-21")
async def test_with_a_store_every_event_has_an_id_and_a_stream_begins_with_a_place_to_come_back_to() -> None:
    store = MemoryStore()
    async with running(Studio(), event_store=store, retry_interval=250) as manager, session(manager) as client:
        for connection in (client.opened, await client.send(call("echo"))):
            assert connection.body.startswith(b"id: ")
            first, *rest = connection.body.split(b"\r\n\r\n")
            assert b"retry: 250" in first
            assert first.endswith(b"data: ")
            assert all(part.startswith(b"id: ") for part in rest if part)
    streams = {stream for stream, _ in store.events}
    assert len(streams) == 2
    assert all(stream.startswith(f"{client.session_id}/") for stream in streams)


@pytest.mark.rule("RUN-62", "LEG-H-10", "RUN-66")
async def test_older_clients_get_ids_but_no_event_without_data() -> None:
    studio = Studio()
    async with running(studio, event_store=MemoryStore()) as manager, session(manager, "2025-06-18") as client:
        called = await client.send(call("echo"))
        assert [event.event_id for event in events_of(called)] == ["2"]
        assert b"data: \r\n" not in called.body
        assert studio.contexts[0].close_sse_stream is None


@pytest.mark.rule("RUN-63", "RUN-66", "LEG-H-11", "LEG-H-12", "LEG-R-04", "LEG-R-05", "LEG-R-07", "LEG-E-06", "CASE-65")
async def test_a_stream_that_was_dropped_is_replayed_and_goes_on() -> None:
    studio = Studio()
    async with running(studio, event_store=MemoryStore()) as manager, session(manager) as client:
        dropped = await client.send(call("poll"))
        assert kinds_of(dropped) == ["notifications/progress"]
        await studio.begun.wait()
        primed = dropped.body.split(b"\r\n")[0].removeprefix(b"id: ").decode()
        again = await client.listen(last_event_id=primed)
        await again.until(lambda again: len(again.sent) > 2)
        assert kinds_of(again) == ["notifications/progress"]
        studio.release.set()
        await again.until(lambda again: again.ended)
        assert kinds_of(again) == ["notifications/progress", "notifications/progress", "answer"]
        assert [event.event_id for event in events_of(again)] == sorted({event.event_id for event in events_of(again)})


@pytest.mark.rule("RUN-64", "RUN-D16", "RUN-63")
async def test_a_stream_that_has_ended_is_replayed_to_its_end() -> None:
    async with running(Studio(), event_store=MemoryStore()) as manager, session(manager) as client:
        called = await client.send(call("echo"))
        primed, answer = [
            part.split(b"\r\n")[0].removeprefix(b"id: ").decode() for part in called.body.split(b"\r\n\r\n")[:2]
        ]
        again = await client.send(method="GET", last_event_id=primed)
        assert kinds_of(again) == ["answer"]
        nothing = await client.send(method="GET", last_event_id=answer)
        assert (nothing.status, nothing.body) == (200, b"")


@pytest.mark.rule("RUN-D15", "CASE-36", "LEG-R-06", "LEG-R-03")
async def test_events_of_nobody_and_of_other_sessions_are_404() -> None:
    store = MemoryStore()
    async with running(Studio(), event_store=store) as manager, session(manager) as one, session(manager) as two:
        theirs = events_of(await one.send(call("echo")))[-1].event_id
        for event_id in (theirs, "no such"):
            refused = await two.send(method="GET", last_event_id=event_id)
            assert refused.status == 404
            assert refused.json["error"] == {"code": -32600, "message": "Unknown event id"}


@pytest.mark.rule("RUN-58", "RUN-65", "RUN-66", "LEG-E-07", "LEG-E-11")
async def test_what_the_stand_alone_stream_missed_is_replayed() -> None:
    store = MemoryStore()
    async with running(Studio(), event_store=store) as manager, session(manager) as client:
        stream = await client.listen(last_event_id="")
        await stream.until(lambda stream: len(stream.sent) > 1)
        primed = stream.body.split(b"\r\n")[0].removeprefix(b"id: ").decode()
        await client.send(call("drop"))
        await stream.until(lambda stream: stream.ended)
        await client.send(call("announce"))
        again = await client.listen(last_event_id=primed)
        await again.until(lambda again: len(again.sent) > 2)
        await client.send(call("announce", 3))
        await again.until(lambda again: len(again.events) > 1)
        assert kinds_of(again) == ["notifications/tools/list_changed"] * 2
        assert any(stream_id == f"{client.session_id}/_GET_stream" for stream_id, _ in store.events)


async def test_a_client_that_comes_back_takes_its_stream_from_its_old_connection() -> None:
    studio = Studio()
    async with running(studio, event_store=MemoryStore()) as manager, session(manager) as client:
        calling = client.begin(call("wait"))
        await studio.begun.wait()
        primed = calling.body.split(b"\r\n")[0].removeprefix(b"id: ").decode()
        again = await client.listen(last_event_id=primed)
        await calling.until(lambda calling: calling.ended)
        studio.release.set()
        await again.until(lambda again: again.ended)
        assert kinds_of(calling) == []
        assert kinds_of(again) == ["answer"]


@pytest.mark.rule("RUN-66")
async def test_without_a_store_there_is_nothing_to_come_back_to() -> None:
    studio = Studio()
    async with running(studio) as manager, session(manager) as client:
        called = await client.send(call("echo"))
        assert b"id: " not in called.body
        context = studio.contexts[0]
        assert (context.close_sse_stream, context.close_standalone_sse_stream) == (None, None)
        stream = await client.listen(last_event_id="5")
        assert (stream.status, stream.events) == (200, [])


class _BrokenStore(MemoryStore):
    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        raise RuntimeError("disk full")

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        return None


async def test_a_store_that_fails_costs_the_ids_and_no_answers(caplog: pytest.LogCaptureFixture) -> None:
    async with running(Studio(), event_store=_BrokenStore()) as manager, session(manager) as client:
        called = await client.send(call("echo"))
        assert kinds_of(called) == ["answer"]
        assert b"id: " not in called.body
        assert any(record.levelno == logging.ERROR for record in caplog.records)


@pytest.mark.rule("RUN-59", "RUN-61", "LEG-V-03")
@pytest.mark.parametrize("json_response", [False, True])
async def test_stateless_requests_need_no_session(json_response: bool) -> None:
    studio = Studio()
    async with running(studio, stateless=True, json_response=json_response) as manager:
        for version, expected in ((None, "2025-03-26"), ("2025-11-25", "2025-11-25")):
            connection = _alone(call("progress" if version else "echo"), version)
            await ask(manager, connection)
            assert connection.status == 200
            assert "mcp-session-id" not in connection.headers
            messages = [connection.json] if json_response else connection.events
            assert messages[-1]["id"] == 2
            assert studio.contexts[-1].protocol_version == expected
            assert not studio.contexts[-1].session.can_send_request
        assert manager.open_sessions == 0


def _alone(body: dict[str, Any], version: str | None = None, **options: Any) -> FakeConnection:
    headers = headers_of({"mcp_protocol_version": version, "mcp_session_id": "made-up"})
    return FakeConnection(json.dumps(body).encode(), headers, **options)


@pytest.mark.rule("RUN-59", "RUN-37", "RUN-47")
async def test_stateless_openings_and_notifications_are_answered_too() -> None:
    async with running(Studio(), stateless=True) as manager:
        opened = await ask(manager, _alone(opening()))
        assert opened.events[0]["result"]["protocolVersion"] == "2025-11-25"
        bodies: list[dict[str, Any]] = [
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 1, "result": {}},
        ]
        for body in bodies:
            taken = await ask(manager, _alone(body))
            assert (taken.status, taken.body) == (202, b"")
        unknown = await ask(manager, _alone({"jsonrpc": "2.0", "id": 1, "method": "no/such"}))
        assert unknown.events[0]["error"]["code"] == -32601


@pytest.mark.rule("RUN-60", "RUN-D14", "RUN-52", "LEG-E-03", "LEG-N-11")
@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("GET", "Method Not Allowed"),
        ("DELETE", "Method Not Allowed: Session termination not supported"),
        ("PUT", "Method Not Allowed"),
    ],
)
async def test_stateless_endpoints_take_posts_only(method: str, text: str) -> None:
    async with running(Studio(), stateless=True) as manager:
        refused = await ask(manager, _alone({}, method=method))
        assert (refused.status, refused.headers["allow"]) == (405, "POST")
        assert refused.json["error"] == {"code": -32600, "message": text}


@pytest.mark.rule("RUN-73")
async def test_stateless_calls_are_cancelled_when_the_server_stops() -> None:
    studio = Studio()
    waiting = _alone(call("wait"))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group, running(studio, stateless=True) as manager:
            group.start_soon(manager.handle_request, waiting.scope, waiting.receive, waiting.send)
            await studio.begun.wait()
    assert waiting.events[-1]["error"]["message"] == "The server is shutting down"
    assert studio.seen == ["cancelled"]


@pytest.mark.rule("LEG-C-10")
async def test_a_stateless_call_goes_on_when_its_client_leaves() -> None:
    studio = Studio()
    waiting = _alone(call("wait"))
    async with running(studio, stateless=True) as manager, anyio.create_task_group() as group:
        group.start_soon(manager.handle_request, waiting.scope, waiting.receive, waiting.send)
        await studio.begun.wait()
        waiting.gone.set()
        await ask(manager, _alone(call("echo", 3)))
        assert studio.seen == []
        studio.release.set()
    assert studio.contexts[0].session.scope.finished
    assert waiting.sent == []
