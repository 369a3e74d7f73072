"""Logging that never waits for whoever reads it.

A host that starts a server over stdio need not read the server's stderr. Once that pipe is full, writing to it blocks,
and a log line in the event loop would stop every call.
"""

from __future__ import annotations

import copy
import logging
import os
import queue
import threading
import time
from typing import Final

MAX_WAITING: Final = 10_000
"""How many records may wait to be written; beyond it they are dropped."""
FLUSH_SECONDS: Final = 2.0
"""How long the end of the process waits for the last ones."""
STUCK_SECONDS: Final = 0.5
"""How long it waits for one of them."""

_STDERR: Final = 2


class RawStderr:
    """Writes to stderr without a buffer, whose lock would be held while nobody reads."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        data = memoryview(text.encode(errors="backslashreplace"))
        while data:
            data = data[os.write(_STDERR, data) :]
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return os.isatty(_STDERR)

    def fileno(self) -> int:
        return _STDERR


class BackgroundHandler(logging.Handler):
    """Hands records to another handler in a thread of its own.

    Args:
        target: The handler; nobody else uses it.
    """

    def __init__(self, target: logging.Handler) -> None:
        super().__init__()
        self._target = target
        self._records: queue.Queue[logging.LogRecord] = queue.Queue(MAX_WAITING)
        self._thread: threading.Thread | None = None
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Let the thread write a record."""
        record = copy.copy(record)
        record.msg, record.args = record.getMessage(), None  # now: what it is made of may change
        try:
            self._records.put_nowait(record)
        except queue.Full:
            self._dropped += 1
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="mcp-logging", daemon=True)
            self._thread.start()

    def flush(self) -> None:
        """Wait until everything has been written, but not for ever."""
        end = time.monotonic() + FLUSH_SECONDS
        waiting = self._records.qsize() + 1
        with self._records.all_tasks_done:
            while self._records.unfinished_tasks and time.monotonic() < end:
                self._records.all_tasks_done.wait(STUCK_SECONDS)
                if self._records.unfinished_tasks >= waiting:
                    return  # nobody reads
                waiting = self._records.unfinished_tasks

    def _write(self) -> None:
        while True:
            record = self._records.get()
            try:
                # Not `handle`: its lock would be held while nobody reads, and the end of the process takes it.
                self._target.emit(record)
                if self._dropped:
                    dropped, self._dropped = self._dropped, 0
                    text = f"{dropped} log records were dropped: nobody read stderr"
                    self._target.emit(logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, None, None))
            except Exception:
                self._target.handleError(record)
            finally:
                self._records.task_done()
