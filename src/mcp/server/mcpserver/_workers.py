"""Serve with several processes that share one socket and one key: `run("streamable-http", workers=4)`.

The parent binds the socket, makes the key, and forks. It serves nothing: it replaces workers that ended by themselves
and stops all of them by closing a pipe that each of them watches, which happens by itself when the parent is killed.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final, NoReturn

from mcp.server._fleet_check import share_key, warn_of_what_is_not_shared
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver._running import LAST_SECONDS, STARTUP_FAILED, Worker, become_worker
from mcp.server.streamable_http_manager import DEFAULT_SHUTDOWN_TIMEOUT

logger = logging.getLogger(__name__)

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_BACKLOG: Final = 2048
_LONG_LIFE: Final = 10.0
"""A worker that lived so many seconds is started anew at once."""
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0


def run_workers(server: Server[Any], workers: int, serve: Callable[[], None], options: Mapping[str, Any]) -> None:
    """Serve until the process is told to stop.

    Args:
        server: The server, whose key the workers get if it has none that is shared already.
        workers: How many there are.
        serve: Serves with one event loop, in a worker.
        options: The options of streamable HTTP, all of them.

    Raises:
        SystemExit: The address cannot be bound, or the application did not start; the reason is in the log.
    """
    share_key(server)
    warn_of_what_is_not_shared(server, "run(workers=...)", stateless=options["stateless_http"])
    host, port = options["host"], options["port"]
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        logger.error("Cannot listen on %s, port %d: %s", host, port, error)
        sys.exit(1)
    host, port = listening.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    path, timeout = options["streamable_http_path"], options["shutdown_timeout"]
    grace = (DEFAULT_SHUTDOWN_TIMEOUT if timeout is None else timeout) + LAST_SECONDS
    logger.info("MCP server running on %s%s with %d workers (Press CTRL+C to quit)", url, path, workers)
    with listening:
        ended_by = _Supervisor(workers, serve, listening, grace).run()
    if ended_by == signal.SIGTERM:
        signal.raise_signal(ended_by)  # for those who look how the process ended, as without workers


class _Supervisor:
    def __init__(self, workers: int, serve: Callable[[], None], listening: socket.socket, grace: float) -> None:
        self._workers = workers
        self._serve = serve
        self._listening = listening
        self._grace = grace
        self._started: dict[int, float] = {}
        self._is_first_try = True
        self._is_stopping = False
        self._pause = 0.0
        self._start_at = 0.0
        self._told: list[int] = []
        self._alive, self._stop = os.pipe()

    def run(self) -> int | None:
        """Supervise until a signal comes; returns it.

        Raises:
            SystemExit: The application does not start.
        """
        with _signals() as wakeup:
            while not self._told:
                self._start_missing()
                missing = len(self._started) < self._workers
                self._wait(wakeup, max(self._start_at - time.monotonic(), 0) if missing else None)
                if self._reap():
                    self._stop_all(wakeup)
                    sys.exit(STARTUP_FAILED)
            self._stop_all(wakeup)
        return self._told[0]

    def _start_missing(self) -> None:
        if time.monotonic() < self._start_at:
            return
        while len(self._started) < self._workers:
            # No signal gets lost between the fork and the moment when the child has its own handlers.
            signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
            try:
                process = os.fork()
                if process == 0:
                    self._be_worker()
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            self._started[process] = time.monotonic()

    def _be_worker(self) -> NoReturn:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            os.close(self._stop)
            become_worker(Worker(self._listening, self._alive))
            self._serve()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            # Nothing of the parent's stack runs in the child.
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def _reap(self) -> bool:
        """Note which workers have ended; return whether the application does not start at all."""
        for process, since in list(self._started.items()):
            ended, raw_status = os.waitpid(process, os.WNOHANG)
            if not ended:
                continue
            del self._started[process]
            if self._is_stopping:
                continue
            status = os.waitstatus_to_exitcode(raw_status)
            if status == STARTUP_FAILED and self._is_first_try:
                logger.error("The application does not start; the reason is above")
                return True
            self._plan_restart(time.monotonic() - since)
            logger.warning("Worker %d ended (%s); another one takes its place", process, _describe(status))
        return False

    def _plan_restart(self, lifetime: float) -> None:
        self._is_first_try = False
        self._pause = 0.0 if lifetime >= _LONG_LIFE else min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        self._start_at = time.monotonic() + self._pause

    def _stop_all(self, wakeup: socket.socket) -> None:
        """Let all workers end in good order; who does not in time, or when a second signal comes, is killed."""
        self._is_stopping = True
        os.close(self._stop)
        deadline = time.monotonic() + self._grace
        already = len(self._told)
        while self._started and len(self._told) == already and (left := deadline - time.monotonic()) > 0:
            self._wait(wakeup, left)
            self._reap()
        for process in self._started:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for process in self._started:
            os.waitpid(process, 0)
        os.close(self._alive)

    def _wait(self, wakeup: socket.socket, seconds: float | None) -> None:
        """Wait for a signal, that of a worker's end among them."""
        if select.select([wakeup], [], [], seconds)[0]:
            self._told += [number for number in wakeup.recv(4096) if number in _SIGNALS]


@contextmanager
def _signals() -> Generator[socket.socket]:
    """Turn signals into bytes to wait for."""
    reading, writing = socket.socketpair()
    with reading, writing:
        writing.setblocking(False)
        before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        handlers = {number: signal.signal(number, _note) for number in (*_SIGNALS, signal.SIGCHLD)}
        try:
            yield reading
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(before)


def _note(number: int, frame: FrameType | None) -> None:
    """Do nothing: the number is in the wakeup socket."""


def _describe(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    with suppress(ValueError):
        return f"killed by {signal.Signals(-status).name}"
    return f"killed by signal {-status}"
