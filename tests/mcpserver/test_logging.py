"""What a server that runs writes to stderr."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.programs import environment

PROGRAM = """
import logging, sys
{hide}
from mcp.server.mcpserver.utilities.logging import configure_logging
configure_logging(may_wait={may_wait})
print([base.__name__ for handler in logging.root.handlers for base in type(handler).__mro__])
log = logging.getLogger("shop")
log.warning("[red] %s", "long " * 100)
try:
    1 / 0
except ZeroDivisionError:
    log.exception("failed")
"""
HIDE = """
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == "rich" else find_spec(name)
sys.modules["rich"] = None
"""


def run(*, may_wait: bool = True, hide: str = "", **env: str) -> tuple[str, list[str]]:
    """Return the classes of the root's handlers, and the lines on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(may_wait=may_wait, hide=hide)],
        env={**environment(), "COLUMNS": "60", **env},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout, done.stderr.splitlines()


@pytest.mark.rule("LOG-1")
@pytest.mark.parametrize("may_wait", [True, False])
@pytest.mark.parametrize("hide", ["", HIDE], ids=["rich", "plain"])
def test_a_record_is_one_line_where_stderr_is_no_terminal(hide: str, may_wait: bool) -> None:
    handlers, lines = run(hide=hide, may_wait=may_wait)
    assert ("'RichHandler'" in handlers) == (may_wait and not hide)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} WARNING shop: \[red\] (long ){100}", lines[0])
    assert lines[1].endswith(" ERROR shop: failed")
    assert (lines[2], lines[-1]) == ("Traceback (most recent call last):", "ZeroDivisionError: division by zero")


@pytest.mark.rule("LOG-1")
def test_on_a_terminal_rich_lays_records_out_in_columns() -> None:
    handlers, lines = run(FORCE_COLOR="1")
    assert "'RichHandler'" in handlers
    assert len(lines) > 10
    assert max(len(re.sub(r"\x1b\[[^m]*m|\x1b\]8;[^\x1b]*\x1b\\", "", line)) for line in lines) <= 60
