"""The one JSON text that equal values share, and its digest: how arguments and questions are recognised."""

from __future__ import annotations

import hashlib
import json
import re
from json.encoder import encode_basestring_ascii
from typing import Final, cast

from mcp._protocol.base64url import encode_base64url

_DIGEST_BYTES: Final = 16
_SMALL: Final = 2**63
_CONSTANTS: Final = {None: "null", True: "true", False: "false"}
_ENCODE: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False).encode
_WHOLE_FLOAT: Final = re.compile(r"\.0(?:[,}\]]|\Z)|e\+\d")
"""How a float that may be a whole number ends in JSON; text inside strings can look so too, which costs time only."""


def digest(data: bytes) -> str:
    """Return a short name for data that no other data shares."""
    return encode_base64url(hashlib.sha256(data).digest()[:_DIGEST_BYTES]).decode("ascii")


def canonical_json(value: object) -> bytes:
    """Write a JSON value in the one form that equal values share.

    Raises:
        TypeError: The value is not JSON.
    """
    flat = _write_flat(value)
    if flat is not None:
        return flat.encode("ascii")
    try:
        text = _ENCODE(value)
    except (RecursionError, ValueError):  # nested deeply; an integer beyond the interpreter's limit of digits
        text = _write(value)
    else:
        if (".0" in text or "e+" in text) and _WHOLE_FLOAT.search(text):
            text = _write(value)
    return text.encode("ascii")


def _write_flat(value: object) -> str | None:
    """Write an object of texts, small integers, booleans and nulls, as most arguments are; `None` for any other."""
    if not isinstance(value, dict):
        return None
    members: list[str] = []
    for key, member in sorted(cast("dict[str, object]", value).items(), key=_key_of):
        if type(key) is not str:
            return None
        if type(member) is str:
            text = encode_basestring_ascii(member)
        elif type(member) is int and -_SMALL < member < _SMALL:
            text = str(member)
        elif member is None or type(member) is bool:
            text = _CONSTANTS[member]
        else:
            return None
        members.append(f"{encode_basestring_ascii(key)}:{text}")
    return f"{{{','.join(members)}}}"


def _key_of(pair: tuple[str, object]) -> str:
    return pair[0]


def _write(value: object) -> str:
    """Write as `_ENCODE` does, but whole floats as integers, and without recursion."""
    out: list[str] = []
    # What is still to be written, last first: a tuple holds a value, a string is text.
    todo: list[str | tuple[object]] = [(value,)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        current = item[0]
        if isinstance(current, dict):
            out.append("{")
            todo.append("}")
            pairs = sorted(cast("dict[str, object]", current).items(), key=_key_of, reverse=True)
            for index, (key, member) in enumerate(pairs, start=1):
                comma = "" if index == len(pairs) else ","
                todo += ((member,), f"{comma}{_write_key(key)}:")
        elif isinstance(current, (list, tuple)):
            out.append("[")
            todo.append("]")
            items = cast("list[object]", current)
            for index in range(len(items) - 1, -1, -1):
                todo.append((items[index],))
                if index:
                    todo.append(",")
        else:
            out.append(_write_scalar(current))
    return "".join(out)


def _write_key(key: object) -> str:
    """Write a key; one that is no text as `_ENCODE` does."""
    return encode_basestring_ascii(key) if isinstance(key, str) else _ENCODE({key: 0})[1:-3]


def _write_scalar(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return int.__repr__(value)
        except ValueError:  # more digits than the interpreter writes in decimal
            return hex(value)
    return _ENCODE(value)
