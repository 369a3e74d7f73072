"""Work beside all calls: it starts in the middle of one, and outlives it.

A task group cannot do that: it lives where it was entered. So the work gets a task that no caller owns, and a client
may be left in another task than it was entered in.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import anyio

from mcp._engine.apart import start_apart

logger = logging.getLogger(__name__)


class Background:
    """Runs one coroutine function in a task of its own, once.

    Args:
        work: What to run. It is cancelled when the background stops.
    """

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()
        self._task: object = None  # the event loop itself does not keep it
        self.started = False

    def start(self) -> None:
        """Begin, unless that has happened already."""
        if self.started:
            return
        self.started = True
        self._task = start_apart(self._run)

    async def stop(self) -> None:
        """Cancel the work and wait until it has ended."""
        if self.started:
            self._scope.cancel()
            with anyio.CancelScope(shield=True):
                await self._ended.wait()

    async def _run(self) -> None:
        try:
            with self._scope:
                await self._work()
        except Exception:
            logger.exception("the background of a connection failed")
        finally:
            self._ended.set()
