"""Headers that mirror tool arguments: `x-mcp-header` in an input schema (streamable HTTP: "Custom Headers")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias, cast

from mcp._protocol.headers import MCP_PARAM_PREFIX, decode_header_value, encode_header_value

HeaderMap: TypeAlias = dict[tuple[str, ...], str]
"""Path of an argument -> the name its header ends in."""

X_MCP_HEADER = "x-mcp-header"
_PREFIX = "Mcp-Param-"

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_TYPES = ("integer", "string", "boolean")
_MAX_SAFE_INTEGER = 2**53 - 1

# Where JSON Schema 2020-12 (and the drafts before it) holds further schemas, `properties` apart. A default, an enum
# or an example is data: the word may stand there and mean nothing.
_ONE = frozenset(
    [
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
_LISTS = frozenset(["allOf", "anyOf", "items", "oneOf", "prefixItems"])
_MAPS = frozenset(["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"])

_Position: TypeAlias = "tuple[tuple[str, ...] | None, dict[str, Any]]"


def find_invalid_x_mcp_header(schema: Any) -> str | None:
    """Say what is wrong with the `x-mcp-header` annotations of an input schema; `None` if nothing is."""
    seen: dict[str, str] = {}
    for path, position in _positions(schema):
        if X_MCP_HEADER not in position:
            continue
        if not path:
            return "x-mcp-header found at a schema position not reachable via a pure `properties` chain"
        name: Any = position[X_MCP_HEADER]
        shown = ".".join(path)
        if (problem := _problem_of(name, position.get("type"))) is not None:
            return f"property {shown!r}: x-mcp-header {problem}"
        if name.lower() in seen:
            return f"x-mcp-header {name!r} on property {shown!r} duplicates property {seen[name.lower()]!r}"
        seen[name.lower()] = shown
    return None


def header_map(schema: Any) -> HeaderMap:
    """Collect the arguments that an input schema mirrors into headers.

    One invalid annotation makes all of them count for nothing; `find_invalid_x_mcp_header` tells what is wrong.
    """
    found = {path: position[X_MCP_HEADER] for path, position in _positions(schema) if path and X_MCP_HEADER in position}
    return found if found and find_invalid_x_mcp_header(schema) is None else {}


def emit(header_map: Mapping[tuple[str, ...], str], arguments: Mapping[str, Any] | None) -> dict[str, str]:
    """Build the headers for a call with these arguments.

    Raises:
        ValueError: A mirrored integer is outside the range that every JSON reader keeps exact.
    """
    headers: dict[str, str] = {}
    for path, name in header_map.items():
        text = _text_of(_value_at(arguments, path))
        if text is None:
            continue
        if not _is_safe(_value_at(arguments, path)):
            raise ValueError(
                f"argument {'.'.join(path)!r} is mirrored into header {_PREFIX}{name} "
                f"and must lie between -(2**53-1) and 2**53-1"
            )
        headers[_PREFIX + name] = encode_header_value(text)
    return headers


def compare(
    header_map: Mapping[tuple[str, ...], str],
    arguments: Mapping[str, Any] | None,
    headers: Mapping[str, Sequence[str]],
) -> str | None:
    """Compare a call's arguments with the headers it came with.

    Args:
        header_map: What the tool's schema mirrors.
        arguments: The call's arguments.
        headers: Header name in lower case -> its raw values; see `ModernRequest.param_headers`.

    Returns:
        What does not fit, as the text of the error; `None` if all fits.
    """
    for path, name in header_map.items():
        header = _PREFIX + name
        argument = f"the request body's {'.'.join(path)!r} argument"
        values = headers.get(MCP_PARAM_PREFIX + name.lower(), ())
        value = _value_at(arguments, path)
        if len(values) > 1:
            return f"{header} header appears more than once"
        if not values:
            if _text_of(value) is not None:
                return f"{header} header is missing but {argument} is present"
        elif value is None:
            return f"{header} header is present but {argument} is absent"
        elif not _matches(values[0], value):
            return f"{header} header does not match {argument}"
    return None


def _problem_of(name: Any, declared_type: Any) -> str | None:
    if not isinstance(name, str):
        return f"must be a string, not {type(name).__name__}"
    if not _TOKEN.fullmatch(name):
        return f"{name!r} is not an RFC 9110 token"
    if declared_type not in _TYPES:
        got = (
            f"got {declared_type!r}"
            if isinstance(declared_type, str)
            else f"the type keyword is {type(declared_type).__name__}, not a string"
        )
        return f"is only permitted on integer/string/boolean properties ({got})"
    return None


def _positions(schema: Any) -> Iterator[_Position]:
    """Walk every schema in a schema; the path is `None` where `properties` alone do not lead."""
    waiting: list[tuple[tuple[str, ...] | None, Any]] = [((), schema)]
    while waiting:
        path, item = waiting.pop()
        if not isinstance(item, dict):
            continue
        position = cast("dict[str, Any]", item)
        yield path, position
        children = list(_children(path, position))
        waiting += reversed(children)  # so that they are met in the order they are written


def _children(path: tuple[str, ...] | None, position: dict[str, Any]) -> Iterator[tuple[tuple[str, ...] | None, Any]]:
    for keyword, value in position.items():
        if keyword == "properties" and isinstance(value, dict):
            for name, child in cast("dict[str, Any]", value).items():
                yield None if path is None else (*path, name), child
        elif keyword in _MAPS and isinstance(value, dict):
            yield from ((None, child) for child in cast("dict[str, Any]", value).values())
        elif keyword in _LISTS and isinstance(value, list):
            yield from ((None, child) for child in cast("list[Any]", value))
        elif keyword in _ONE:
            yield None, value


def _value_at(arguments: Mapping[str, Any] | None, path: tuple[str, ...]) -> Any:
    value: Any = arguments
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = cast("Mapping[str, Any]", value).get(name)
    return value


def _text_of(value: Any) -> str | None:
    """The header text of an argument; `None` if it is of no kind that a header mirrors."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    # JSON makes no difference between 5 and 5.0: both are integers.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else None


def _is_safe(value: Any) -> bool:
    return not isinstance(value, int | float) or abs(value) <= _MAX_SAFE_INTEGER


def _matches(header: str, value: Any) -> bool:
    try:
        text = decode_header_value(header)
    except ValueError:
        return False
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not _is_safe(value) or not _DECIMAL.fullmatch(text):
            return False
        return Decimal(text) == value if isinstance(value, int) else float(text) == value
    return text == _text_of(value)
