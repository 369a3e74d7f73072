"""Which exceptions are a failure of the code that raised them, and which belong to whoever runs it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import cast

import anyio


def is_fault(error: BaseException, *, in_own_task: bool = False) -> bool:
    """Whether what left an author's code is that code's failure: to be answered and logged, and to end nothing else.

    It is not where somebody wants the code to stop: a cancellation that is under way, Ctrl-C, a generator's close. A
    cancellation that nobody asked for, since something that the code awaited was cancelled, is a failure like others.

    Args:
        error: What was raised.
        in_own_task: Whether only our own cancel scopes cancel the current task. Python 3.10 does not tell of other
            cancellations, so that without this each one counts as wanted there.
    """
    if isinstance(error, Exception):
        return True
    if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
        return False
    parts: tuple[BaseException, ...] | None = getattr(error, "exceptions", None)  # of a group
    if parts is not None:
        return all(is_fault(part, in_own_task=in_own_task) for part in parts)
    if isinstance(error, anyio.get_cancelled_exc_class()):
        return not _is_cancelled(in_own_task=in_own_task)
    return True


def _is_cancelled(*, in_own_task: bool) -> bool:
    """Whether somebody wants the current task to stop."""
    if anyio.current_effective_deadline() == -math.inf:
        return True
    try:
        task = sys.modules["asyncio"].current_task()
    except (KeyError, RuntimeError):
        task = None
    if task is None:
        return True  # trio knows no cancellation but that of its scopes
    cancelling = cast("Callable[[], int] | None", getattr(task, "cancelling", None))
    return not in_own_task if cancelling is None else cancelling() > 0
