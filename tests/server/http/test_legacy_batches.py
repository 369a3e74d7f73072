"""Several messages in one body, as the revision 2025-03-26 has them."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from tests.server.http.fakes import FakeConnection
from tests.server.http.legacy_client import MemoryStore, call, events_of, headers_of, opening, session
from tests.server.http.servers import ask, running
from tests.server.http.test_legacy_sessions import Office, text_of

BATCHES = "2025-03-26"
INVALID = "Body must be a single JSON-RPC request or notification object"


def batch(*items: Any) -> bytes:
    return json.dumps(items).encode()


def note(method: str = "notifications/unknown", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def refusal_of(connection: FakeConnection) -> tuple[int, Any, int, str]:
    message = connection.json
    return connection.status, message["id"], message["error"]["code"], message["error"]["message"]


def by_id(messages: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    return {message["id"]: message for message in messages if "method" not in message}


@pytest.mark.rule("LEG-J-12", "LEG-J-15", "LEG-J-16")
async def test_the_stream_has_an_answer_to_every_request_and_ends_with_the_last() -> None:
    office = Office()
    async with running(office) as manager, session(manager, BATCHES) as client:
        answered = client.begin(batch(call("wait", 2), note(), call("progress", "three"), call("echo", 4)))
        await answered.until(lambda answered: len(events_of(answered)) == 4)
        assert not answered.ended
        assert by_id(answered.events).keys() == {"three", 4}
        office.release.set()
        await answered.until(lambda answered: answered.ended)
        assert answered.status == 200
        answers = by_id(answered.events)
        assert {key: text_of(answer) for key, answer in answers.items()} == {
            "three": "progress done",
            4: "echo done",
            2: "wait done",
        }
        told = [message["params"] for message in answered.events if "method" in message]
        assert told == [{"progressToken": "three", "progress": step, "total": 2} for step in (1, 2)]
        assert text_of((await client.send(call("echo", 2))).events[0]) == "echo done"


@pytest.mark.rule("LEG-J-16", "LEG-J-18")
async def test_a_client_that_takes_no_events_gets_a_batch() -> None:
    async with running(Office(), json_response=True) as manager, session(manager, BATCHES) as client:
        answered = await client.send(batch(call("progress", 2), call("refuse", 3, error=[-32050, "no"])))
        assert answered.headers["content-type"] == "application/json"
        answers = by_id(answered.json)
        assert text_of(answers[2]) == "progress done"
        assert answers[3]["error"] == {"code": -32050, "message": "no"}


@pytest.mark.rule("LEG-J-17")
@pytest.mark.parametrize("stateless", [False, True])
async def test_what_needs_no_answer_is_accepted_with_202(stateless: bool) -> None:
    async with running(Office(), stateless=stateless) as manager:
        if stateless:
            items = batch(note(), note())
            accepted = await ask(manager, FakeConnection(items, headers_of({"mcp-protocol-version": BATCHES})))
        else:
            async with session(manager, BATCHES) as client:
                response: dict[str, Any] = {"jsonrpc": "2.0", "id": 77, "result": {}}
                accepted = await client.send(batch(note(), response))
        assert (accepted.status, accepted.body) == (202, b"")


@pytest.mark.rule("LEG-J-15", "LEG-J-17")
async def test_responses_come_in_a_batch_too() -> None:
    async with running(Office()) as manager, session(manager, BATCHES, elicitation={}) as client:
        asking = client.begin(batch(call("ask", 2), call("ask", 3)))
        await asking.until(lambda asking: len(events_of(asking)) == 2)
        asked = [message["id"] for message in asking.events]
        answers = [{"jsonrpc": "2.0", "id": number, "result": {"action": "decline"}} for number in asked]
        accepted = await client.send(batch(*answers))
        assert (accepted.status, accepted.body) == (202, b"")
        await asking.until(lambda asking: asking.ended)
        assert [text_of(answer) for answer in by_id(asking.events).values() if "result" in answer] == ["decline"] * 2


@pytest.mark.rule("LEG-J-12", "RUN-D13")
@pytest.mark.parametrize("json_response", [False, True])
async def test_each_item_is_refused_by_itself(json_response: bool) -> None:
    async with running(Office(), json_response=json_response) as manager, session(manager, BATCHES) as client:
        bad = {"jsonrpc": "2.0", "id": 9, "method": 5}
        answered = await client.send(batch(5, bad, call("echo", 2), call("echo", 2)))
        messages = answered.json if json_response else answered.events
        assert len(messages) == 4
        errors = [(message["id"], message["error"]["code"]) for message in messages if "error" in message]
        assert errors == [(None, -32600), (9, -32600), (2, -32600)]
        assert [text_of(message) for message in messages if "result" in message] == ["echo done"]
        nothing = await client.send(batch({}))
        (refused,) = nothing.json if json_response else nothing.events
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)


@pytest.mark.rule("LEG-J-14", "LEG-J-19", "RUN-D10", "RUN-49")
async def test_batches_are_for_open_sessions_of_their_revision() -> None:
    async with running(Office()) as manager:
        for version in ("2024-11-05", "2025-06-18", "2025-11-25"):
            async with session(manager, version) as client:
                for said in (version, BATCHES, None):
                    refused = await client.send(batch(call("echo")), mcp_protocol_version=said)
                    assert (refused.status, refused.json["error"]) == (400, {"code": -32600, "message": INVALID})
                assert text_of((await client.send(call("echo"))).events[0]) == "echo done"
        refused = await ask(manager, FakeConnection(batch(call("echo")), headers_of({})))
        assert refusal_of(refused) == (400, None, -32600, INVALID)
        async with session(manager, BATCHES) as client:
            refused = await client.send(batch(call("echo")), mcp_session_id="0" * 32)
            assert refusal_of(refused) == (404, None, -32600, "Session not found")
            refused = await client.send(b"[]")
            assert refused.json["error"]["code"] == -32600
            refused = await client.send(batch(call("echo"), opening(BATCHES)))
            text = "initialize must not be part of a batch; send it by itself"
            assert refusal_of(refused) == (400, None, -32600, text)
            unacceptable = await client.send(batch(call("echo")), accept="text/html")
            assert unacceptable.status == 406


@pytest.mark.rule("RUN-56", "LEG-J-16")
async def test_one_request_of_a_batch_can_be_taken_back() -> None:
    office = Office()
    async with running(office) as manager, session(manager, BATCHES) as client:
        answered = client.begin(batch(call("wait", 2), call("echo", 3)))
        await office.begun.wait()
        await client.send(batch(note("notifications/cancelled", requestId=2)))
        await answered.until(lambda answered: answered.ended)
        answers = by_id(answered.events)
        assert answers[2]["error"]["code"] == -32800
        assert text_of(answers[3]) == "echo done"
        assert office.seen == ["cancelled"]


@pytest.mark.rule("LEG-J-16")
@pytest.mark.parametrize("is_over", [False, True])
async def test_the_rest_of_a_batch_is_replayed(is_over: bool) -> None:
    office = Office()
    async with running(office, event_store=MemoryStore()) as manager, session(manager, BATCHES) as client:
        lost = client.begin(batch(call("echo", 2), call("wait", 3), call("echo", 4)))
        await lost.until(lambda lost: len(events_of(lost)) == 2)
        first, _ = events_of(lost)
        if is_over:
            office.release.set()
            await lost.until(lambda lost: lost.ended)
        else:
            lost.gone.set()
        resumed = await client.listen(last_event_id=first.event_id)
        office.release.set()
        await resumed.until(lambda resumed: resumed.ended)
        assert [text_of(message) for message in resumed.events] == ["echo done", "wait done"]


@pytest.mark.rule("RUN-51", "LEG-N-07", "LEG-J-16")
@pytest.mark.parametrize("json_response", [False, True])
async def test_the_end_of_the_session_ends_the_batch(json_response: bool) -> None:
    office = Office()
    async with running(office, json_response=json_response) as manager, session(manager, BATCHES) as client:
        waiting = client.begin(batch(call("wait", 2), call("echo", 3)))
        await office.begun.wait()
        await client.send(method="DELETE")
        await waiting.until(lambda waiting: waiting.ended)
        assert waiting.status == (404 if json_response else 200)
        assert office.seen == ["cancelled"]


@pytest.mark.rule("LEG-J-16")
@pytest.mark.parametrize("json_response", [False, True])
async def test_without_sessions_a_batch_is_answered_in_order(json_response: bool) -> None:
    async with running(Office(), stateless=True, json_response=json_response) as manager:
        items = batch(call("progress", 2), 5, note(), call("refuse", 3, error=[-32050, "no"]), call("echo", 4))
        answered = await ask(manager, FakeConnection(items, headers_of({})))
        messages = answered.json if json_response else answered.events
        assert list(by_id(messages)) == [2, None, 3, 4]
        assert len(messages) == (4 if json_response else 6)
        later = FakeConnection(items, headers_of({"mcp-protocol-version": "2025-06-18"}))
        assert refusal_of(await ask(manager, later)) == (400, None, -32600, INVALID)


async def test_a_batch_without_session_is_told_that_the_server_stops() -> None:
    office = Office()
    waiting = FakeConnection(batch(call("echo", 2), call("wait", 3), call("echo", 4)), headers_of({}))
    async with anyio.create_task_group() as group:
        async with running(office, stateless=True) as manager:
            group.start_soon(manager.handle_request, waiting.scope, waiting.receive, waiting.send)
            await office.begun.wait()
        await waiting.until(lambda waiting: waiting.ended)
    answers = by_id(waiting.events)
    assert text_of(answers[2]) == "echo done"
    assert [answers[number]["error"]["message"] for number in (3, 4)] == ["The server is shutting down"] * 2
