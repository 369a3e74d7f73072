"""Find the parameter that receives the `Context`."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, Union, cast, get_args, get_origin

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import InvalidSignature

__all__ = ["evaluate_hints", "find_context_parameter", "is_context_annotation"]


def is_context_annotation(annotation: object) -> bool:
    """Whether a parameter with this annotation receives the context, also an optional or annotated one."""
    if isinstance(annotation, type):
        # A parametrised built-in such as `list[int]` passes `isinstance(..., type)` on Python 3.10.
        return get_origin(annotation) is None and issubclass(annotation, Context)
    origin = get_origin(annotation)
    if origin is Annotated:
        return is_context_annotation(get_args(annotation)[0])
    if origin is Union or origin is types.UnionType:
        return any(is_context_annotation(arm) for arm in get_args(annotation))
    return isinstance(origin, type) and issubclass(origin, Context)


def evaluate_hints(fn: Callable[..., Any]) -> dict[str, Any]:
    """Return the evaluated annotations of what is really called, a class's `__init__` or an object's `__call__`.

    Raises:
        InvalidSignature: They cannot be evaluated.
    """
    target: Any = fn
    while isinstance(target, functools.partial):
        target = cast("functools.partial[Any]", target).func
    if inspect.isclass(target):
        target = target.__init__
    elif not (inspect.isroutine(target) or hasattr(target, "__wrapped__")):
        target = type(target).__call__
    try:
        return typing.get_type_hints(_without_defaults(target), localns=_enclosing(target), include_extras=True)
    except Exception as error:
        text = f"Unable to evaluate type annotations for callable {callable_name(fn)!r}"
        raise InvalidSignature(f"{text}{_blame(target, error)}") from error


def _enclosing(target: Any) -> dict[str, Any] | None:
    """What a function that was defined in another one uses of that one: postponed annotations may name it too."""
    function = inspect.unwrap(target)
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or not cells:
        return None
    found: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, cells, strict=True):
        with suppress(ValueError):  # not assigned yet
            found[name] = cell.cell_contents
    return found


def _blame(target: Any, error: Exception) -> str:
    """Name the parameter whose annotation is at fault, and what is wrong with it."""
    annotations = cast("dict[str, Any]", getattr(target, "__annotations__", {}))
    for name, annotation in annotations.items():
        alone = types.SimpleNamespace(__annotations__={name: annotation}, __globals__=_globals(target))
        try:
            typing.get_type_hints(alone, localns=_enclosing(target), include_extras=True)
        except Exception as reason:
            place = "the return annotation" if name == "return" else f"parameter {name!r}"
            return f": {place}: {reason}"
    return f": {error}"


def _globals(target: Any) -> dict[str, Any]:
    return getattr(inspect.unwrap(target), "__globals__", {})


def _without_defaults(target: Any) -> Any:
    """Hide the defaults, since Python 3.10 makes `Optional[T]` of `T = None` and buries what `Annotated` says in it."""
    if sys.version_info >= (3, 11) or not hasattr(target, "__annotations__"):
        return target
    return types.SimpleNamespace(__annotations__=target.__annotations__, __globals__=_globals(target))


def callable_name(fn: Callable[..., Any]) -> str:
    """Name a callable for a message: its own name, or its type's."""
    while isinstance(fn, functools.partial):
        fn = cast("functools.partial[Any]", fn).func
    return getattr(fn, "__name__", None) or type(fn).__name__


def find_context_parameter(fn: Callable[..., Any]) -> str | None:
    """Return the name of the first parameter that receives the context."""
    hints = evaluate_hints(fn)
    return next((name for name in hints if name != "return" and is_context_annotation(hints[name])), None)
