"""Work that belongs to an event loop and to no task: started beside whoever asks for it, also from other threads."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeAlias

from anyio.lowlevel import current_token

Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class Loop:
    """The event loop that it is made in."""

    __slots__ = ("_native",)

    def __init__(self) -> None:
        self._native: Any = current_token().native_token

    def call_soon(self, fn: Callable[..., object], *args: object) -> None:
        """Have something called in the event loop, without waiting for it; nothing happens if the loop has stopped.

        Any thread may call this.
        """
        soon = getattr(self._native, "call_soon_threadsafe", None) or self._native.run_sync_soon
        with suppress(RuntimeError):  # the loop is closed
            soon(fn, *args)

    def start(self, work: Work) -> object:
        """Run something in a task that belongs to the event loop alone, with the caller's context variables.

        Returns:
            The task. The event loop may forget a task that nobody else keeps.
        """
        create_task = getattr(self._native, "create_task", None)
        if create_task is not None:
            return create_task(work())
        import trio

        return trio.lowlevel.spawn_system_task(work, context=contextvars.copy_context())


def start_apart(work: Work) -> object:
    """Run something in a task that belongs to the running event loop alone: see `Loop.start`."""
    return Loop().start(work)
