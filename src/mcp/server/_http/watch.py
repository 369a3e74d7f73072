"""Run one exchange's work until it ends, its client leaves, or the server stops.

streamable-http: Cancellation. A client cancels a request by closing its response stream, so somebody has to listen for
that while the handler runs, and the same somebody can tell when the stream has been silent for too long. Most calls are
over before any of this matters. On asyncio they pay for an entry in a set, which a timer shared by all looks through.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from enum import Enum, auto

import anyio

from mcp.server._http.asgi import Message, Receive
from mcp.server._http.response_stream import ResponseStream, StreamState

KEEP_ALIVE_INTERVAL = 15.0
"""Seconds of silence after which a comment is sent."""

_PATIENCE = 0.02  # seconds between two looks for exchanges that nobody listens for yet


class StopCause(Enum):
    """Why work was stopped from outside."""

    CLIENT_LEFT = auto()
    SERVER_STOPPING = auto()


class Newcomers:
    """The exchanges of one asyncio loop that are not listened for yet, and the timer that sees to it."""

    __slots__ = ("_timer", "_waiting")

    def __init__(self) -> None:
        self._waiting: set[Watch] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, watch: Watch, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to listen for an exchange within `_PATIENCE` seconds."""
        self._waiting.add(watch)
        if self._timer is None:
            self._timer = loop.call_later(_PATIENCE, self._look, loop)

    def remove(self, watch: Watch) -> None:
        """Forget an exchange that has ended."""
        self._waiting.discard(watch)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        for watch in self._waiting:
            watch.listen(loop)
        self._waiting.clear()


class Watch:
    """Supervision of one exchange.

    Args:
        receive: The ASGI receive function, its request body already read.
        stream: The response.
        newcomers: Where the exchange waits until it is listened for.
        interval: Seconds of silence between two keep-alive comments.

    Attributes:
        cause: Why the work was stopped; `None` while it runs and if it ended by itself.
    """

    __slots__ = (
        "_context",
        "_interval",
        "_listener",
        "_newcomers",
        "_pinger",
        "_receive",
        "_scope",
        "_stream",
        "_task",
        "_timer",
        "cause",
    )

    def __init__(
        self,
        receive: Receive,
        stream: ResponseStream,
        newcomers: Newcomers,
        interval: float = KEEP_ALIVE_INTERVAL,
    ) -> None:
        self._receive = receive
        self._stream = stream
        self._newcomers = newcomers
        self._interval = interval
        self.cause: StopCause | None = None
        self._task: asyncio.Task[object] | None = None
        self._scope: anyio.CancelScope | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._context: Context | None = None
        self._listener: asyncio.Task[None] | None = None
        self._pinger: asyncio.Task[None] | None = None

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` in the caller's task. Returns when it has ended or was stopped; see `cause`."""
        try:
            task = asyncio.current_task()
        except RuntimeError:
            task = None
        if task is None:
            await self._run_on_anyio(work)
            return
        self._task = task
        self._context = copy_context()
        self._newcomers.add(self, task.get_loop())
        try:
            # A native cancellation lets awaits in the handler's `finally` blocks finish; an anyio scope cuts them.
            await work()
        except asyncio.CancelledError:
            if self.cause is None or self._absorb_cancellation(task) > 0:
                raise
        else:
            if self.cause is not None:  # the work kept the cancellation to itself
                self._absorb_cancellation(task)
        finally:
            self._task = None
            if self._listener is None:
                self._newcomers.remove(self)
            else:
                self._stop_listening(self._listener)

    def stop(self, cause: StopCause) -> None:
        """Cancel the work, unless it has ended. May be called from any task of the event loop."""
        if self.cause is not None:
            return
        if self._task is not None:
            self.cause = cause
            self._task.cancel()
        elif self._scope is not None:
            self.cause = cause
            self._scope.cancel()
        if cause is StopCause.CLIENT_LEFT:
            self._stream.abandon()

    async def receive_disconnect(self) -> Message:
        """An ASGI receive function for the handler: its body is read, so only the end of the connection is left.

        It does not read the connection itself, or the message would be missing where it is waited for.
        """
        if self.cause is None:
            await anyio.sleep_forever()  # the client's leaving cancels the handler
        return {"type": "http.disconnect"}

    @staticmethod
    def _absorb_cancellation(task: asyncio.Task[object]) -> int:
        """Take back our own `cancel()`. Returns how many cancellations by others remain (before 3.11 nobody counts)."""
        uncancel = getattr(task, "uncancel", None)
        return uncancel() if uncancel is not None else 0

    def listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to listen for the client's leaving, and to keep the stream alive."""
        if self._context is not None:  # the functions of the ASGI server see the context they were called in before
            self._listener = self._context.run(loop.create_task, self._listen())
        self._tick(loop)

    def _stop_listening(self, listener: asyncio.Task[None]) -> None:
        listener.cancel()
        if self._timer is not None:
            self._timer.cancel()
        if self._pinger is not None:
            self._pinger.cancel()
        # A cancelled task remembers where it was, which is in a method of this object: do not close the circle.
        self._listener = self._timer = self._pinger = self._context = None

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        rest = self._rest()
        if rest <= 0:
            if self._pinger is None or self._pinger.done():
                self._pinger = loop.create_task(self._stream.keep_alive())
            rest = self._interval
        self._timer = loop.call_later(rest, self._tick, loop)

    def _rest(self) -> float:
        return self._stream.last_write + self._interval - time.monotonic()

    async def _listen(self) -> None:
        try:
            while (await self._receive())["type"] != "http.disconnect":
                pass
        except OSError:
            pass
        self.stop(StopCause.CLIENT_LEFT)

    async def _run_on_anyio(self, work: Callable[[], Awaitable[None]]) -> None:
        async with anyio.create_task_group() as group:
            self._scope = group.cancel_scope
            group.start_soon(self._listen)
            group.start_soon(self._ping_when_silent)
            await work()
            self._scope = None
            group.cancel_scope.cancel()

    async def _ping_when_silent(self) -> None:
        while self._stream.state is not StreamState.DONE:
            rest = self._rest()
            if rest > 0:
                await anyio.sleep(rest)
            else:
                await self._stream.keep_alive()
                await anyio.sleep(self._interval)
