"""Read annotations: which parameters have resolvers, what their consumers want, what a resolver says it returns."""

from __future__ import annotations

import contextlib
import functools
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import NoneType, SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Union, cast, get_args, get_origin

from typing_extensions import TypeAliasType

import mcp_types as types
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.resolve.markers import Resolve
from mcp.server.mcpserver.utilities.context_injection import callable_name, evaluate_hints
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from mcp.server import elicitation
else:
    elicitation = lazy_module("mcp.server.elicitation")

# Python's own and the backport are different classes before Python 3.14.
_ALIASES: Final = tuple({TypeAliasType, getattr(typing, "TypeAliasType", TypeAliasType)})

UNKNOWN: Final = object()
"""Stands for an annotation that cannot be evaluated."""


class Want(Enum):
    """What the consumer of a resolver wants of it."""

    VALUE = "value"
    """The value; a refusal fails the call."""
    ACCEPTED = "accepted"
    """The outcome, but only an accepted one; a refusal fails the call."""
    OUTCOME = "outcome"
    """The outcome, whatever it is."""


def returns_input_required(fn: Callable[..., Any]) -> bool:
    """Whether a function's return annotation has an arm `InputRequiredResult`, however it is spelled."""
    return any(
        isinstance(arm, type) and issubclass(arm, types.InputRequiredResult)
        for arm in arms_of(hints_of(fn).get("return"))
    )


def find_markers(fn: Callable[..., Any], hints: Mapping[str, Any]) -> dict[str, tuple[Resolve, Want]]:
    """Find the parameters that have resolvers, given the function's evaluated annotations.

    Raises:
        InvalidSignature: A marker stands where it would be overlooked.
    """
    name = callable_name(fn)
    found: dict[str, tuple[Resolve, Want]] = {}
    for parameter in parameters_of(fn):
        if _is_resolve(parameter.default):
            raise InvalidSignature(
                f"Parameter {parameter.name!r} of {name!r} has `Resolve(...)` as its default; annotate it as "
                "`Annotated[T, Resolve(...)]`, or it would be filled by the client"
            )
        marker = _marker(name, parameter, hints.get(parameter.name))
        if marker is not None:
            found[parameter.name] = marker
    return found


def _marker(function: str, parameter: inspect.Parameter, hint: Any) -> tuple[Resolve, Want] | None:
    if get_origin(hint) in (Union, UnionType) and parameter.default is None:
        # Python 3.10 reads `x: T = None` as `Optional[T]`.
        arms = [arm for arm in get_args(hint) if arm is not NoneType]
        if len(arms) == 1 and get_origin(arms[0]) is Annotated:
            hint = arms[0]
    if get_origin(hint) is Annotated:
        wanted, *metadata = get_args(hint)
        if Resolve in metadata:
            raise InvalidSignature(
                f"Parameter {parameter.name!r} of {function!r} names `Resolve` without a resolver; write `Resolve(fn)`"
            )
        markers = [item for item in metadata if isinstance(item, Resolve)]
        if len(markers) > 1:
            raise InvalidSignature(f"Parameter {parameter.name!r} of {function!r} has more than one `Resolve(...)`")
        if markers:
            return markers[0], _want(wanted)
    if any(_is_resolve(item) for item in _everything_in(hint)):
        raise InvalidSignature(
            f"Parameter {parameter.name!r} of {function!r} wraps `Resolve(...)` in a union; annotate the parameter "
            "directly as `Annotated[T, Resolve(...)]`"
        )
    return None


def _is_resolve(value: object) -> bool:
    return value is Resolve or isinstance(value, Resolve)


def _everything_in(hint: Any) -> Iterator[Any]:
    yield hint
    if isinstance(hint, _ALIASES):
        yield from _everything_in(hint.__value__)
    for part in get_args(hint):
        yield from _everything_in(part)


def _want(annotation: Any) -> Want:
    classes = [arm for arm in arms_of(annotation) if isinstance(arm, type) and get_origin(arm) is None]
    if any(issubclass(arm, (elicitation.DeclinedElicitation, elicitation.CancelledElicitation)) for arm in classes):
        return Want.OUTCOME
    if any(issubclass(arm, (elicitation.AcceptedElicitation, elicitation.AcceptedUrlElicitation)) for arm in classes):
        return Want.ACCEPTED
    return Want.VALUE


def arms_of(annotation: Any) -> Iterator[Any]:
    """The alternatives of an annotation, through unions, aliases and `Annotated`."""
    origin = get_origin(annotation)
    if isinstance(annotation, _ALIASES):
        yield from arms_of(annotation.__value__)
    elif isinstance(origin, _ALIASES):
        value = origin.__value__
        with contextlib.suppress(TypeError):  # an alias that does not use its parameters
            value = value[get_args(annotation)]
        yield from arms_of(value)
    elif origin in (Union, UnionType):
        for arm in get_args(annotation):
            yield from arms_of(arm)
    elif origin is Annotated:
        yield from arms_of(get_args(annotation)[0])
    else:
        yield annotation


def hints_of(fn: Callable[..., Any]) -> dict[str, Any]:
    """The evaluated annotations of a resolver; `UNKNOWN` for those that cannot be evaluated."""
    try:
        hints = evaluate_hints(fn)
    except InvalidSignature:
        hints = _hints_one_by_one(fn)
    for parameter in parameters_of(fn):
        if parameter.name not in hints and parameter.annotation is not parameter.empty:
            known = not isinstance(parameter.annotation, str)
            hints[parameter.name] = parameter.annotation if known else UNKNOWN
    return hints


def _hints_one_by_one(fn: Callable[..., Any]) -> dict[str, Any]:
    target: Any = underlying(fn)
    if inspect.isclass(target):
        target = target.__init__
    elif not inspect.isroutine(target):
        target = type(target).__call__
    target = inspect.unwrap(target)
    scope = getattr(target, "__globals__", {})
    hints: dict[str, Any] = {}
    for name, annotation in getattr(target, "__annotations__", {}).items():
        one = SimpleNamespace(__annotations__={name: annotation})
        try:
            hints[name] = typing.get_type_hints(one, scope, include_extras=True)[name]
        except Exception:
            hints[name] = UNKNOWN
    return hints


def parameters_of(fn: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a callable.

    Raises:
        TypeError: It is none.
    """
    try:
        return list(inspect.signature(fn).parameters.values())
    except ValueError:  # some built-ins do not tell
        return []


def underlying(fn: Callable[..., Any]) -> Callable[..., Any]:
    """What a partial, or a partial of one, calls in the end."""
    while isinstance(fn, functools.partial):
        fn = cast("functools.partial[Any]", fn).func
    return fn
