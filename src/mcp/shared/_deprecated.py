"""`deprecated` for methods, without what the one of `typing_extensions` loads."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from typing import TYPE_CHECKING, Any

__all__ = ["deprecated"]

if TYPE_CHECKING:
    # Type checkers know this one, and strike out what it decorates.
    from typing_extensions import deprecated
else:

    def deprecated(message: str, /, *, category: type[Warning]) -> Any:
        """Warn at every call of a function. Before Python 3.12, the original loads asyncio for a coroutine function."""

        def decorate(function: Any) -> Any:
            @functools.wraps(function)
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                warnings.warn(message, category=category, stacklevel=2)
                return function(*args, **kwargs)

            if sys.version_info >= (3, 12) and inspect.iscoroutinefunction(function):
                wrapper = inspect.markcoroutinefunction(wrapper)
            function.__deprecated__ = wrapper.__deprecated__ = message
            return wrapper

        return decorate
