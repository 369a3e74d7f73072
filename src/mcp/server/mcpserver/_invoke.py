"""Calling an author's function: on the event loop, or in one of a bounded number of worker threads."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, cast

import anyio

from mcp._engine.apart import Loop
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from mcp._engine import link
else:
    link = lazy_module("mcp._engine.link")


def is_async_callable(fn: Callable[..., Any]) -> bool:
    """Whether calling it yields something to await."""
    target: Any = fn
    while isinstance(target, functools.partial):
        target = cast("functools.partial[Any]", target).func
    return inspect.iscoroutinefunction(target) or (
        not inspect.isclass(target) and inspect.iscoroutinefunction(getattr(target, "__call__", None))  # noqa: B004
    )


async def invoke(
    fn: Callable[..., Any],
    values: Mapping[str, Any],
    is_async: bool,
    positional: Sequence[Any] = (),
    *,
    abandon: bool = False,
) -> Any:
    """Call a function: on the event loop if it is asynchronous, in a worker thread if not.

    Args:
        fn: The function.
        values: Its keyword arguments.
        is_async: What `is_async_callable` says about it.
        positional: Its positional arguments.
        abandon: Whether a cancelled call leaves its thread behind at once.
    """
    if is_async:
        return await fn(*positional, **values)
    # A client in this task gives up on time; elsewhere a call ends with its thread, which a pipe's process waits for.
    abandon = abandon or link.runs_in_callers_task.get()
    threads = _threads.get()
    if threads is None:
        (result,) = await anyio.to_thread.run_sync(_call, fn, positional, values, abandon_on_cancel=abandon)
    else:
        (result,) = await threads.run(fn, positional, values, abandon)
    # A sync callable may still hand back a coroutine (a lambda around an async function).
    return await result if inspect.isawaitable(result) else result


def _call(fn: Callable[..., Any], positional: Sequence[Any], values: Mapping[str, Any]) -> tuple[Any]:
    # In a tuple, since trio takes a thread that yields a coroutine for a mistake.
    return (fn(*positional, **values),)


class SyncThreads:
    """Bounds how many sync functions of a server run at a time; middleware around everything that may call one.

    The bound holds for each event loop that the server runs in. A function that was given up on counts until it ends.

    Args:
        total: How many may run.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._limiters: anyio.lowlevel.RunVar[anyio.CapacityLimiter] | None = None

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Serve one message under this bound."""
        token = _threads.set(self)
        try:
            return await call_next(ctx)
        finally:
            _threads.reset(token)

    async def run(
        self, fn: Callable[..., Any], positional: Sequence[Any], values: Mapping[str, Any], abandon: bool
    ) -> tuple[Any]:
        """Call a function in a worker thread, as soon as one may run."""
        place = _Place(self._limiter())
        await place.limiter.acquire_on_behalf_of(place)
        try:
            # The bound is ours, so anyio's own must not come on top: a limiter for this call alone.
            return await anyio.to_thread.run_sync(
                place.call, fn, positional, values, abandon_on_cancel=abandon, limiter=anyio.CapacityLimiter(1)
            )
        finally:
            place.leave()

    def _limiter(self) -> anyio.CapacityLimiter:
        if self._limiters is None:
            self._limiters = anyio.lowlevel.RunVar("mcp_sync_threads")
        try:
            return self._limiters.get()
        except LookupError:
            limiter = anyio.CapacityLimiter(self._total)
            self._limiters.set(limiter)
            return limiter


class _Place:
    """One of the threads that may run: free again when both the call and its thread have ended."""

    __slots__ = ("_left", "_lock", "_loop", "_running", "limiter")

    def __init__(self, limiter: anyio.CapacityLimiter) -> None:
        self.limiter = limiter
        self._loop = Loop()
        self._lock = threading.Lock()
        self._running = False
        self._left = False

    def call(self, fn: Callable[..., Any], positional: Sequence[Any], values: Mapping[str, Any]) -> tuple[Any]:
        """Call the function; this runs in the thread."""
        with self._lock:
            if self._left:  # given up before it began
                raise RuntimeError("The call was cancelled")
            self._running = True
        # What the function calls in turn must not wait for a place: the function itself would keep it from one.
        _threads.set(None)
        try:
            return _call(fn, positional, values)
        finally:
            with self._lock:
                self._running = False
                abandoned = self._left
            if abandoned:  # the limiter is the event loop's, and gone if that has stopped
                self._loop.call_soon(self.limiter.release_on_behalf_of, self)

    def leave(self) -> None:
        """End the call; the place is free unless the thread still runs."""
        with self._lock:
            self._left = True
            occupied = self._running
        if not occupied:
            self.limiter.release_on_behalf_of(self)


_threads: Final[ContextVar[SyncThreads | None]] = ContextVar("mcp_sync_threads", default=None)
