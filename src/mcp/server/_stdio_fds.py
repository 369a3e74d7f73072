"""The process's standard input and output, taken away from everybody but the transport.

While they are claimed, descriptor 0 is the null device and descriptor 1 is stderr. So nothing that a tool prints, and
no program that it starts, can put bytes among the messages or take some of them away.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, Final

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2

_claimed: set[int] = set()


def is_descriptor(stream: Any, fd: int) -> bool:
    """Whether one of Python's standard streams is what the system knows under that number."""
    try:
        os.fstat(fd)
        return stream.fileno() == fd
    except (AttributeError, OSError, ValueError):  # no stream at all, one of a test runner, one that is closed
        return False


@contextmanager
def claim_stdin() -> Generator[int]:
    """Claim standard input; yields the descriptor to read instead.

    Raises:
        RuntimeError: It is claimed already.
    """
    with _claim(STDIN) as private:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, STDIN)
        os.close(null)
        try:
            yield private
        finally:
            os.dup2(private, STDIN)


@contextmanager
def claim_stdout() -> Generator[int]:
    """Claim standard output; yields the descriptor to write instead.

    Raises:
        RuntimeError: It is claimed already.
    """
    with _claim(STDOUT) as private:
        try:
            os.dup2(STDERR, STDOUT)
        except OSError:  # there is no stderr
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, STDOUT)
            os.close(null)
        _flush()  # what was printed before must not arrive among the messages
        try:
            yield private
        finally:
            _flush()
            os.dup2(private, STDOUT)


@contextmanager
def _claim(fd: int) -> Generator[int]:
    if fd in _claimed:
        raise RuntimeError(f"another stdio_server() in this process has already claimed fd {fd}")
    _claimed.add(fd)
    private = -1
    try:
        private = _duplicate(fd)
        yield private
    finally:
        _claimed.discard(fd)
        if private >= 0:
            os.close(private)


def _duplicate(fd: int) -> int:
    """Make a copy that no program started from here inherits, with none of the three standard numbers."""
    low: list[int] = []
    try:
        while (copy := os.dup(fd)) <= STDERR:
            low.append(copy)
        return copy
    finally:
        for copy in low:
            os.close(copy)


def _flush() -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
