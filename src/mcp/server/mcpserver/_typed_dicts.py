"""Typed dictionaries of the standard library, which pydantic reads on Python 3.12 and newer only."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Annotated, Any, Final, Union, cast, get_args, get_origin

from typing_extensions import NotRequired, ReadOnly, Required, TypedDict, get_type_hints

_typed_dict: Final = cast("Callable[..., Any]", TypedDict)
_QUALIFIERS: Final = (Required, NotRequired, ReadOnly)


def with_readable_typed_dicts(annotation: Any) -> Any:
    """Return the annotation with every `typing.TypedDict` in it made anew as one that pydantic can read.

    One that contains itself stays as it is, and so does everything on Python 3.12 or newer.
    """
    if sys.version_info >= (3, 12):
        return annotation
    try:
        return _rebuilt(annotation, ())
    except (NameError, TypeError, RecursionError):  # a hint that cannot be evaluated, or a dictionary inside itself
        return annotation


def _rebuilt(annotation: Any, inside: tuple[Any, ...]) -> Any:
    if annotation in inside:
        raise RecursionError
    if type(annotation).__module__ == "typing" and hasattr(annotation, "__required_keys__"):
        return _typed_dict_like(annotation, (*inside, annotation))
    arguments = get_args(annotation)
    rebuilt = tuple(_rebuilt(argument, inside) if _may_hold(argument) else argument for argument in arguments)
    if all(new is old for new, old in zip(rebuilt, arguments, strict=True)):
        return annotation
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return Union[rebuilt]  # noqa: UP007 - built from a tuple
    if origin is Annotated:
        return Annotated[(rebuilt[0], *annotation.__metadata__)]
    return origin[rebuilt[0] if len(rebuilt) == 1 else rebuilt]


def _may_hold(argument: Any) -> bool:
    return isinstance(argument, type) or get_origin(argument) is not None


def _typed_dict_like(cls: Any, inside: tuple[Any, ...]) -> Any:
    fields: dict[str, Any] = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        field = _rebuilt(hint, inside)
        required = get_origin(hint) in _QUALIFIERS or name in cls.__required_keys__
        fields[name] = field if required else NotRequired[field]
    made = _typed_dict(cls.__name__, fields)
    made.__doc__, made.__module__, made.__qualname__ = cls.__doc__, cls.__module__, cls.__qualname__
    if hasattr(cls, "__pydantic_config__"):
        made.__pydantic_config__ = cls.__pydantic_config__
    return made
