"""One end of a JSON-RPC conversation: what each message means, and what is still owed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp._protocol.jsonrpc import ErrorResponse, Message, Notification, Rejection, Request, Response, read_message
from mcp._protocol.peer import (
    Answered,
    CancelRequested,
    Ignored,
    NotificationReceived,
    Peer,
    Refused,
    RequestReceived,
)
from mcp.shared.exceptions import MCPError
from mcp_types import ErrorData


def cancel(request_id: Any) -> Notification:
    return Notification("notifications/cancelled", {"requestId": request_id})


@pytest.mark.rule("LEG-J-05")
def test_a_request_is_owed_one_answer() -> None:
    peer = Peer()
    request = Request(1, "a", None)
    assert peer.receive(request) == RequestReceived(request)
    assert peer.in_progress() == [1]
    assert peer.respond(1, {"k": 1}) == {"jsonrpc": "2.0", "id": 1, "result": {"k": 1}}
    assert peer.in_progress() == []
    assert peer.respond(1, {"k": 1}) is None


@pytest.mark.rule("LEG-J-05")
def test_an_error_answers_too() -> None:
    peer = Peer()
    peer.receive(Request("x", "a", None))
    answer = peer.respond("x", ErrorData(code=-1, message="no"))
    assert answer == {"jsonrpc": "2.0", "id": "x", "error": {"code": -1, "message": "no"}}


@pytest.mark.rule("LOW-D8", "BASE-J-04")
def test_an_id_in_flight_is_refused_and_may_be_used_again_after_the_answer() -> None:
    peer = Peer()
    peer.receive(Request(1, "a", None))
    refused = peer.receive(Request(1, "b", None))
    assert isinstance(refused, Refused)
    assert refused.answer["error"] == {"code": -32600, "message": "request id already in flight"}
    assert peer.respond(1, {}) is not None
    assert isinstance(peer.receive(Request(1, "b", None)), RequestReceived)


def test_the_string_and_the_number_are_two_ids_of_the_peer() -> None:
    peer = Peer()
    peer.receive(Request(1, "a", None))
    assert isinstance(peer.receive(Request("1", "b", None)), RequestReceived)


@pytest.mark.rule("CANC-12", "CANC-13", "CANC-15", "LEG-C-06")
def test_a_cancelled_request_is_not_answered_and_an_unknown_one_is_ignored() -> None:
    peer = Peer()
    peer.receive(Request(1, "a", None))
    event = peer.receive(cancel(1))
    assert isinstance(event, CancelRequested)
    assert event.request_id == 1
    assert peer.respond(1, {}) is None
    for unknown in (1, 2, "1", None, True, [1], {"a": 1}, 1.0):
        assert isinstance(peer.receive(cancel(unknown)), Ignored)
    assert isinstance(peer.receive(Notification("notifications/cancelled", None)), Ignored)


def test_other_notifications_are_passed_on() -> None:
    note = Notification("notifications/x", {"a": 1})
    assert Peer().receive(note) == NotificationReceived(note)


@pytest.mark.rule("SESSION-29")
@pytest.mark.parametrize("spelling", [1, "1"])
def test_our_request_is_answered_once_also_when_its_number_comes_back_as_text(spelling: Any) -> None:
    peer = Peer()
    request_id, message = peer.request("m", {"a": 1})
    assert message == {"jsonrpc": "2.0", "id": request_id, "method": "m", "params": {"a": 1}}
    assert peer.receive(Response(spelling, {"k": 1})) == Answered(1, {"k": 1})
    assert isinstance(peer.receive(Response(spelling, {"k": 1})), Ignored)


def test_an_error_answers_our_request() -> None:
    peer = Peer()
    request_id, _ = peer.request("m", None)
    event = peer.receive(ErrorResponse(request_id, -5, "no", [1]))
    assert isinstance(event, Answered)
    assert isinstance(event.outcome, MCPError)
    assert (event.outcome.code, event.outcome.message, event.outcome.data) == (-5, "no", [1])
    assert isinstance(peer.receive(ErrorResponse(None, -5, "no")), Ignored)


@pytest.mark.rule("CANC-02", "CANC-09")
def test_only_a_request_that_is_still_open_is_abandoned() -> None:
    peer = Peer()
    request_id, _ = peer.request("m", None)
    assert peer.abandon(request_id, "enough") == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": request_id, "reason": "enough"},
    }
    assert peer.abandon(request_id, "enough") is None
    assert isinstance(peer.receive(Response(request_id, {})), Ignored)


def test_closing_names_what_will_never_be_answered() -> None:
    peer = Peer()
    first, _ = peer.request("m", None)
    second, _ = peer.request("m", None)
    peer.receive(Response(first, {}))
    assert peer.close() == [second]
    assert peer.close() == []


IDS = st.one_of(st.integers(0, 3), st.sampled_from(["0", "1", "a"]))
STEPS = st.one_of(
    st.tuples(st.just("send"), st.none()),
    st.tuples(st.just("deliver"), st.booleans()),
    st.tuples(st.just("answer"), st.booleans()),
    st.tuples(st.just("abandon"), st.none()),
)


@given(st.lists(STEPS, max_size=40), st.randoms(use_true_random=False))
def test_two_peers_never_lose_or_double_an_answer(steps: list[tuple[str, Any]], random: Any) -> None:
    left, right = Peer(), Peer()
    to_right: list[dict[str, Any]] = []
    to_left: list[dict[str, Any]] = []
    open_at_left: set[Any] = set()
    answered: list[Any] = []

    def read(message: dict[str, Any]) -> Message:
        found = read_message(message)
        assert not isinstance(found, Rejection)
        return found

    for step, choice in steps:
        if step == "send":
            request_id, message = left.request("m", None)
            open_at_left.add(request_id)
            to_right.append(message)
        elif step == "deliver" and choice and to_right:
            right.receive(read(to_right.pop(0)))
        elif step == "deliver" and to_left:
            event = left.receive(read(to_left.pop(0)))
            if isinstance(event, Answered):
                assert event.request_id in open_at_left
                open_at_left.discard(event.request_id)
                answered.append(event.request_id)
        elif step == "answer" and right.in_progress():
            answer = right.respond(random.choice(right.in_progress()), {})
            assert answer is not None
            to_left.append(answer)
        elif step == "abandon" and open_at_left:
            request_id = random.choice(sorted(open_at_left))
            open_at_left.discard(request_id)
            farewell = left.abandon(request_id, "r")
            assert farewell is not None
            to_right.append(farewell)
    assert len(answered) == len(set(answered))
    assert set(left.close()) == open_at_left
