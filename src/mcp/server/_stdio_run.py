"""A process that is a stdio server: served to the end of its input, or until it is told to stop."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import sys
import threading
from contextlib import suppress
from types import TracebackType
from typing import Any, Final

import anyio

from mcp._engine.connection import COURTESY_SECONDS
from mcp.server._serve import SHUTDOWN_GRACE
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import StdioReadStream, stdio_server

logger = logging.getLogger(__name__)

STUCK_SECONDS: Final = SHUTDOWN_GRACE + COURTESY_SECONDS
"""How long after the end of input a call may still hold the process, as one in a thread can, which nothing stops."""


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client on standard input and output until it closes its side."""
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


def run_stdio(server: Server[Any]) -> None:
    """Serve in a new event loop and own the process: SIGINT and SIGTERM end it as the end of input does.

    Afterwards the process ends with the signal's status. For SIGINT, that is a `KeyboardInterrupt` that prints nothing.

    Raises:
        KeyboardInterrupt: SIGINT arrived.
    """
    process = _Process(server)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        anyio.run(process.main, backend_options={"use_uvloop": _has_uvloop()})
    except KeyboardInterrupt:
        process.received = signal.SIGINT
    finally:
        process.served()
    if process.received is None:
        return
    if threading.current_thread() is threading.main_thread():
        for number, handler in before.items():
            signal.signal(number, handler)
    if process.received == signal.SIGTERM:
        _flush()
        signal.raise_signal(signal.SIGTERM)
        return
    interrupt = KeyboardInterrupt()
    _be_silent_about(interrupt)
    raise interrupt


class _Process:
    def __init__(self, server: Server[Any]) -> None:
        self._server = server
        self._watchdog: threading.Timer | None = None
        self._over = False
        self.received: signal.Signals | None = None

    async def main(self) -> None:
        failure: Exception | None = None  # of the server's lifespan; it leaves as it is, not as a group
        async with stdio_server() as (read_stream, write_stream):
            read_stream.on_end = self._watch
            write_stream.on_close = self.served
            async with anyio.create_task_group() as tasks:
                if _may_handle_signals():
                    tasks.start_soon(self._obey, read_stream, tasks.cancel_scope)
                try:
                    await self._server.run(read_stream, write_stream, self._server.create_initialization_options())
                except Exception as error:
                    failure = error
                tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def _obey(self, read_stream: StdioReadStream, everything: anyio.CancelScope) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                if self.received is not None:
                    everything.cancel()  # told twice: at once
                    return
                self.received = number
                read_stream.end()

    def _watch(self) -> None:
        """See to it that a call that nothing can stop does not keep the process."""
        if self._watchdog is None and not self._over:
            self._watchdog = threading.Timer(STUCK_SECONDS, self._leave)
            self._watchdog.daemon = True
            self._watchdog.start()

    def served(self) -> None:
        """Note that no call runs any more."""
        self._over = True
        if self._watchdog is not None:
            self._watchdog.cancel()

    def _leave(self) -> None:
        logger.warning("A call does not end; the process ends without it")
        _flush()
        os._exit(0 if self.received is None else 128 + self.received)


def _flush() -> None:
    """Write what waits to be written: the process ends in a way that writes nothing."""
    for output in (*logging.getLogger().handlers, sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            output.flush()


def _may_handle_signals() -> bool:
    return sys.platform != "win32" and threading.current_thread() is threading.main_thread()


def _has_uvloop() -> bool:
    return importlib.util.find_spec("uvloop") is not None


def _be_silent_about(interrupt: KeyboardInterrupt) -> None:
    """Print no traceback of this one, if it ends the process: everything was in order."""
    print_traceback = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if error is not interrupt:
            print_traceback(kind, error, traceback)

    sys.excepthook = hook
