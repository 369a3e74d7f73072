"""Several worker processes behind one address, and what a captured approval is good for there."""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cases import workers_program
from tests.interaction.processes import ServerProcess, uvicorn, workers
from tests.interaction.test_fleet import NEW, REFUSED, asleep, call, text_in
from tests.server.http import legacy_client
from tests.server.http.serving import Answer, connected, send

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork()")

PROGRAM = workers_program.__name__
SESSIONS = "a session of a client older than 2026-07-28 lives in one of them"
LISTENERS = "changes are told to the listeners of the same worker only"


def ask(connection: http.client.HTTPConnection, body: dict[str, Any], **headers: str) -> Answer:
    send(connection, body, **headers)
    return Answer(connection.getresponse())


def ask_legacy(connection: http.client.HTTPConnection, body: dict[str, Any], **headers: str | None) -> Answer:
    headers = {"host": None, "mcp-protocol-version": legacy_client.VERSION, **headers}
    connection.request("POST", "/mcp", json.dumps(body), legacy_client.headers_of(headers))
    return Answer(connection.getresponse())


def told(events: list[dict[str, Any]]) -> list[float]:
    return [event["params"]["progress"] for event in events if event.get("method") == "notifications/progress"]


@contextmanager
def each_worker(port: int) -> Generator[tuple[http.client.HTTPConnection, http.client.HTTPConnection]]:
    """A connection to each of two workers: one connection stays with one worker."""
    with connected(port) as one, connected(port) as other:
        worker = int(text_in(ask(one, call("process"))))
        with asleep(worker):
            assert int(text_in(ask(other, call("process")))) != worker
        yield one, other


@pytest.mark.rule("CASE-24")
def test_modern_calls_and_legacy_ones_without_sessions_go_to_any_worker() -> None:
    with workers(2, "stateless", program=PROGRAM) as served, each_worker(served.port) as (one, other):
        asked = ask(one, call("pay", {"to": "bob"}))
        paid = ask(other, call("pay", {"to": "bob"}, after=asked))
        assert text_in(paid) == f"paid by {text_in(ask(other, call('process')))}"

        counting = call("count")
        counting["params"]["_meta"]["progressToken"] = "p"
        ask_legacy(one, legacy_client.opening())
        for connection in (one, other):
            process = text_in(ask(connection, call("process")))
            for events in (
                ask(connection, counting).events,
                ask_legacy(connection, legacy_client.call("count")).events,
            ):
                assert told(events) == [1, 2, 3]
                assert events[-1]["result"]["content"][0]["text"] == process
    assert not any("Several workers serve" in line for line in served.log)


@contextmanager
def started_by_uvicorn() -> Generator[ServerProcess]:
    with uvicorn(NEW, workers=2) as [served]:
        yield served


@pytest.mark.rule("CASE-24")
@pytest.mark.parametrize(("starter", "warnings"), [("run", 1), ("uvicorn", 2)])
def test_workers_with_sessions_and_listeners_of_their_own_say_so_at_the_start_and_in_the_404(
    starter: str, warnings: int
) -> None:
    starting = workers(2, program=PROGRAM) if starter == "run" else started_by_uvicorn()
    with starting as served:
        for text, cure in ((SESSIONS, "stateless_http=True"), (LISTENERS, "RedisSubscriptionBus(url)")):
            served.wait_for(text, times=warnings)
            assert all(cure in line for line in served.log if text in line)
        with each_worker(served.port) as (one, other):
            session = ask_legacy(one, legacy_client.opening()).headers["mcp-session-id"]
            here, elsewhere = (
                ask_legacy(connection, legacy_client.call("process"), mcp_session_id=session)
                for connection in (one, other)
            )
    assert here.status == 200
    assert elsewhere.status == 404
    error = elsewhere.json["error"]
    assert (error["code"], error["message"]) == (-32600, "Session not found")
    assert "another worker" in error["data"]
    assert "stateless_http=True" in error["data"]
    assert sum(SESSIONS in line for line in served.log) == warnings


@pytest.mark.rule("CASE-25")
@pytest.mark.parametrize("is_single_use", [True, False])
def test_a_captured_approval_is_good_for_its_call_only_and_once_with_a_store(
    is_single_use: bool, tmp_path: Path
) -> None:
    options = [str(tmp_path / "used.db")] if is_single_use else []
    with workers(2, "stateless", *options, program=PROGRAM) as served, each_worker(served.port) as (one, other):
        asked = ask(one, call("pay", {"to": "bob"}), x_user="ann")
        approval = call("pay", {"to": "bob"}, after=asked)

        def misused() -> list[Answer]:
            return [
                ask(connection, body, x_user=user)
                for connection in (one, other)
                for body, user in (
                    (call("pay", {"to": "eve"}, after=asked), "ann"),
                    (call("lend", {"to": "bob"}, after=asked), "ann"),
                    (approval, "eve"),
                )
            ]

        refused = misused()
        assert text_in(ask(one, approval, x_user="ann")).startswith("paid by ")
        again = [ask(connection, approval, x_user="ann") for connection in (one, other, one)]
        refused += misused()
    assert [(answer.status, answer.json) for answer in refused] == [(400, REFUSED)] * 12
    if is_single_use:
        assert [(answer.status, answer.json) for answer in again] == [(400, REFUSED)] * 3
        assert sum("requestState rejected on tools/call: replay" in line for line in served.log) == 3
    else:
        assert [text_in(answer)[:8] for answer in again] == ["paid by "] * 3
    assert sum("paid 3 to bob" in line for line in served.log) == (1 if is_single_use else 4)


@pytest.mark.rule("CASE-25")
def test_an_approval_that_reaches_two_workers_at_once_runs_in_one_of_them(tmp_path: Path) -> None:
    with (
        workers(2, "stateless", str(tmp_path / "used.db"), program=PROGRAM) as served,
        each_worker(served.port) as (one, other),
    ):
        approvals = [call("pay", {"to": "bob"}, after=ask(one, call("pay", {"to": "bob"}))) for _ in range(5)]
        for approval in approvals:
            for connection in (one, other):
                send(connection, approval)
            assert sorted(Answer(connection.getresponse()).status for connection in (one, other)) == [200, 400]
    assert sum("paid 3 to bob" in line for line in served.log) == 5
