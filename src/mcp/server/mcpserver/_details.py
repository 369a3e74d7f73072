"""What authors say about an item, checked when it is registered: one mistake would break a whole list."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import pydantic_core
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
        ValueError: One holds lone surrogates, which cannot be sent.
    """
    for member, value in texts.items():
        if value is None:
            continue
        if not isinstance(value, str):
            raise _wrong(owner, member, "a string", value)
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"{member} of {owner} is no Unicode text: {error}") from error


def read_meta(owner: str, meta: object) -> dict[str, Any] | None:
    """Check `_meta`.

    Raises:
        TypeError: It is no dict, or a key is no string.
        ValueError: It cannot be expressed as JSON.
    """
    if meta is None:
        return None
    if not isinstance(meta, dict):
        raise _wrong(owner, "meta", "a dict", meta)
    for key in cast("dict[object, object]", meta):
        if not isinstance(key, str):
            raise _wrong(owner, "a key in meta", "a string", key)
    try:
        text = pydantic_core.to_json(meta, inf_nan_mode="constants")
        json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"meta of {owner} cannot be expressed as JSON: {error}") from error
    return cast("dict[str, Any]", meta)


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


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a finite number")


def _wrong(owner: str, member: str, expected: str, value: object) -> TypeError:
    return TypeError(f"{member} of {owner} must be {expected}, got {type(value).__name__}")
