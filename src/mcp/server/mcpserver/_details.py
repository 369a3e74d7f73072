"""What authors say about an item, checked when it is registered: one mistake would break a whole list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel

import mcp_types as types

ModelT = TypeVar("ModelT", bound=BaseModel)


def check_texts(owner: str, **texts: object) -> None:
    """Check members that are texts.

    Args:
        owner: What they are said of, for messages.
        texts: The members by name.

    Raises:
        TypeError: One is no text.
    """
    for member, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise _wrong(owner, member, "a string", value)


def read_meta(owner: str, meta: object) -> dict[str, Any] | None:
    """Check `_meta`.

    Raises:
        TypeError: It is no dict.
    """
    if meta is None or isinstance(meta, dict):
        return cast("dict[str, Any] | None", meta)
    raise _wrong(owner, "meta", "a dict", meta)


def read_icons(owner: str, icons: object) -> list[types.Icon] | None:
    """Check icons; dicts are read as such.

    Raises:
        TypeError: They are no list of icons.
        ValidationError: A dict is no icon.
    """
    if icons is None:
        return None
    if not isinstance(icons, (list, tuple)):
        raise _wrong(owner, "icons", "a list of icons", icons)
    read = [read_model(owner, "icons", lambda: types.Icon, icon) for icon in cast("list[object]", icons)]
    return [icon for icon in read if icon is not None]


def read_model(owner: str, member: str, kind: Callable[[], type[ModelT]], value: object) -> ModelT | None:
    """Check a member that is a model; a dict is read as one.

    Args:
        owner: What it is said of, for messages.
        member: Its name.
        kind: Names the model: one that is not needed is not loaded.
        value: What was given.

    Raises:
        TypeError: It is something else.
        ValidationError: The dict does not fit.
    """
    if value is None:
        return None
    model = kind()
    if isinstance(value, model):
        return value
    if isinstance(value, Mapping):
        return model.model_validate(value)
    raise _wrong(owner, member, model.__name__, value)


def _wrong(owner: str, member: str, expected: str, value: object) -> TypeError:
    return TypeError(f"{member} of {owner} must be {expected}, got {type(value).__name__}")
