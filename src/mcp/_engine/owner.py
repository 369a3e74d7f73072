"""A context that is entered and left by a task of its own, so that its users may come and go in any task."""

from __future__ import annotations

import logging
import sys
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Final, Generic, TypeVar, cast

import anyio

from mcp._engine.apart import start_apart

if sys.version_info < (3, 11):
    from exceptiongroup import BaseExceptionGroup  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

logger = logging.getLogger(__name__)

T = TypeVar("T")

LEAVE_SECONDS: Final = 10.0
"""How long leaving may take when the one who waits for it has been cancelled."""


class Owned(Generic[T]):
    """Enter it and leave it from different tasks if need be, in any order with others.

    Task groups and cancel scopes belong to the task that enters them. A connection has them inside, but fixtures, exit
    stacks and web frameworks close in another task than they open in. Here one task does both, and waits in between.

    Args:
        context: What to enter there. It may end early by an exception of its own; leaving then raises that.
    """

    def __init__(self, context: AbstractAsyncContextManager[T]) -> None:
        self._context = context
        self._scope = anyio.CancelScope()
        self._entered = anyio.Event()
        self._leave = anyio.Event()
        self._left = anyio.Event()
        self._value: list[T] = []
        self._failure: BaseException | None = None
        self._task: object = None

    async def __aenter__(self) -> T:
        self._task = start_apart(self._own)
        try:
            await self._entered.wait()
        except BaseException:
            self._scope.cancel()
            await self._wait_shielded()
            raise
        if not self._value:
            raise self._failure or RuntimeError("the task that entered was cancelled")
        return self._value[0]

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave.set()
        try:
            await self._left.wait()
        except BaseException:
            await self._wait_shielded()
            self._scope.cancel()
            raise
        if self._failure is None:
            return
        if exc is None:
            raise self._failure
        logger.warning("The connection ended with an error of its own, too", exc_info=self._failure)

    async def _own(self) -> None:
        try:
            with self._scope:
                async with self._context as value:
                    self._value.append(value)
                    self._entered.set()
                    await self._leave.wait()
        except BaseException as error:
            self._failure = _sole(error)
        finally:
            self._entered.set()
            self._left.set()

    async def _wait_shielded(self) -> None:
        with anyio.move_on_after(LEAVE_SECONDS, shield=True):
            await self._left.wait()


def _sole(error: BaseException) -> BaseException:
    """Take the one exception out of groups that hold nothing else."""
    while isinstance(error, BaseExceptionGroup):
        inner = cast("tuple[BaseException, ...]", error.exceptions)  # pyright: ignore[reportUnknownMemberType]
        if len(inner) != 1:
            break
        error = inner[0]
    return error
