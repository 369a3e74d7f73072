"""What the log says of requests for sessions that are not here."""

from __future__ import annotations

import logging

import pytest

from mcp.server._http.lost_sessions import QUIET_SECONDS, STATELESS, LostSessions

UNKNOWN = "0123456789abcdef"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.rule("TROUBLE-4")
def test_a_flood_is_one_line_in_ten_seconds_and_the_next_one_counts_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    clock = Clock()
    lost = LostSessions(STATELESS, clock)
    for _ in range(1000):
        lost.report(UNKNOWN, is_open=False)
    assert len(caplog.messages) == 1
    clock.now += QUIET_SECONDS - 0.1
    lost.report(UNKNOWN, is_open=False)
    assert len(caplog.messages) == 1
    clock.now += 0.1
    lost.report(UNKNOWN, is_open=False)
    clock.now += QUIET_SECONDS
    lost.report("short", is_open=False)
    first, second, third = caplog.messages
    cause = (
        "it has ended or expired, or another instance holds it; route the requests of a session to the one that opened "
        "it, or serve without sessions (stateless_http=True)"
    )
    assert first == f"Rejected request with unknown or expired session ID: 01234567…: {cause}"
    assert "01234567… (1000 more since the last such line): it has ended" in second
    assert "session ID: short: it has ended" in third
    assert UNKNOWN not in caplog.text


@pytest.mark.rule("TROUBLE-4")
def test_the_session_of_another_user_is_told_apart_in_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    LostSessions().report(UNKNOWN, is_open=True)
    (line,) = caplog.messages
    assert line == "Rejected request with unknown or expired session ID: 01234567…: it belongs to another user"
