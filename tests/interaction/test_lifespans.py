"""A lifespan that fails ends the process with its own exception, and only once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.interaction import lifespan_program
from tests.programs import environment, free_port


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", lifespan_program.__name__, *arguments]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=environment(), check=False
    )


@pytest.mark.parametrize(("when", "text"), [("start", "there is no database"), ("exit", "the database does not close")])
def test_over_pipes_the_exception_is_the_lifespans_own(when: str, text: str) -> None:
    ended = run(when)
    assert ended.returncode == 1
    assert ended.stderr.rstrip().endswith(f"OSError: {text}")
    assert "Group" not in ended.stderr
    assert ended.stdout == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork()")
def test_workers_that_cannot_start_are_not_started_again() -> None:
    ended = run("start", str(free_port()))
    assert ended.returncode == 3
    assert "The application does not start; the reason is above" in ended.stderr
    assert "another one takes its place" not in ended.stderr
    assert 1 <= ended.stderr.count("OSError: there is no database") <= 2
