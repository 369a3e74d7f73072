"""Fill a URI template in (RFC 6570, section 3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeGuard, cast
from urllib.parse import quote

from mcp.shared._uri_parse import Expression, Operator, Part, Variable

SEPARATORS: Final[dict[Operator, str]] = {
    "": ",",
    "+": ",",
    "#": ",",
    ".": ".",
    "/": "/",
    ";": ";",
    "?": "&",
    "&": "&",
}
"""What stands between the variables of an expression."""

_LEADERLESS: Final = frozenset(("", "+"))
_NAMED: Final = frozenset(";?&")
_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_ESCAPE: Final = re.compile("(%[0-9A-Fa-f]{2})")


def expand_parts(parts: Iterable[Part], values: Mapping[str, str | Sequence[str]]) -> str:
    """Return the URI that the template stands for with these values.

    Raises:
        TypeError: A value is neither a string nor a sequence of strings.
    """
    return "".join(part if isinstance(part, str) else _expand_expression(part, values) for part in parts)


def _expand_expression(expression: Expression, values: Mapping[str, str | Sequence[str]]) -> str:
    items: list[str] = []
    for variable in expression.variables:
        if variable.name in values:
            items.extend(_expand_variable(variable, values[variable.name]))
    if not items:
        return ""
    operator = expression.operator
    lead = "" if operator in _LEADERLESS else operator
    return lead + SEPARATORS[operator].join(items)


def _expand_variable(variable: Variable, value: object) -> list[str]:
    encoded = [_encode(variable.operator, item) for item in _strings(variable.name, value)]
    if encoded and not variable.explode:
        encoded = [",".join(encoded)]
    if variable.operator not in _NAMED:
        return encoded
    # RFC 6570, section 3.2.7: a path parameter without a value is its bare name, a query parameter keeps its "=".
    empty = variable.name if variable.operator == ";" else f"{variable.name}="
    return [f"{variable.name}={item}" if item else empty for item in encoded]


def _strings(name: str, value: object) -> Sequence[str]:
    if isinstance(value, str):
        return (value,)
    if _is_string_sequence(value):
        return value
    raise TypeError(f"Variable {name!r} must be str or a sequence of str, got {type(value).__name__}")


def _is_string_sequence(value: object) -> TypeGuard[Sequence[str]]:
    # bytes, too, is a sequence, but one of numbers; an empty one would pass as an empty list.
    if not isinstance(value, Sequence) or isinstance(value, (bytes, bytearray)):
        return False
    return all(isinstance(item, str) for item in cast("Sequence[object]", value))


def _encode(operator: Operator, value: str) -> str:
    if operator not in ("+", "#"):
        return quote(value, safe="")
    # Reserved characters and escapes that are already there stay; every other "%" is text.
    pieces = _ESCAPE.split(value)
    pieces[::2] = [quote(piece, safe=_RESERVED) for piece in pieces[::2]]
    return "".join(pieces)
