"""Short tasks and short waits at the price that the event loop itself asks.

A task group of anyio gives each task a handle, an event and two cancel scopes, and each of them looks up which library
runs the loop. That costs more than most requests do. On asyncio a task here is one of the loop's own with one cancel
scope, and a wait is one future; on trio both are what anyio makes of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import anyio
from anyio.abc import TaskGroup


def asyncio_loop() -> asyncio.AbstractEventLoop | None:
    """The running event loop, if it is one of asyncio's."""
    # Inside trio there may be an asyncio loop underneath (guest mode), but no task of it.
    with suppress(RuntimeError):
        return asyncio.get_running_loop() if asyncio.current_task() is not None else None
    return None


class Tasks:
    """Runs many short tasks, each in a cancel scope of its own.

    Args:
        group: Lives longer than they do, and hears what one of them raises as if it were its own.
        loop: The running event loop, as `asyncio_loop` tells it.
    """

    def __init__(self, group: TaskGroup, loop: asyncio.AbstractEventLoop | None) -> None:
        self._group = group
        self._loop = loop
        self._running: dict[anyio.CancelScope, asyncio.Task[None] | None] = {}

    def start(self, scope: anyio.CancelScope, work: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        """Run something inside a scope, in a task that inherits the caller's context variables."""
        if self._loop is None:
            self._running[scope] = None
            self._group.start_soon(self._run, scope, work, args)
        else:
            self._running[scope] = self._loop.create_task(self._run(scope, work, args))

    async def end(self) -> None:
        """Cancel what still runs and wait for its end, as long as that takes."""
        for scope in self._running:
            scope.cancel()
        with anyio.CancelScope(shield=True):
            while tasks := [task for task in self._running.values() if task is not None and not task.done()]:
                await asyncio.wait(tasks)

    async def _run(
        self, scope: anyio.CancelScope, work: Callable[..., Coroutine[Any, Any, None]], args: tuple[object, ...]
    ) -> None:
        try:
            with scope:
                await work(*args)
        except Exception as error:
            if self._loop is None:
                raise
            self._group.start_soon(_raise, error)
        finally:
            del self._running[scope]


class Signal:
    """Wakes the one task that waits for it, again and again.

    Args:
        loop: The running event loop, as `asyncio_loop` tells it.
    """

    __slots__ = ("_event", "_future", "_loop", "_raised")

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._loop = loop
        self._raised = False
        self._future: asyncio.Future[None] | None = None
        self._event: anyio.Event | None = None

    def set(self) -> None:
        """Wake who waits, or who waits next."""
        self._raised = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)
        if self._event is not None:
            self._event.set()

    async def wait(self) -> None:
        """Wait until it has been set since the last wait; returns at once if it has been already."""
        if not self._raised:
            await self._wait()
        self._raised = False

    async def _wait(self) -> None:
        if self._loop is None:
            self._event = anyio.Event()
            await self._event.wait()
            return
        self._future = self._loop.create_future()
        try:
            await self._future
        finally:
            self._future = None


async def _raise(error: BaseException) -> None:
    raise error
