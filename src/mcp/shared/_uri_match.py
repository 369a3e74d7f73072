"""Match a URI against a template in linear time, without backtracking.

Seen from far away a template is literals with variables between them: `literal variable literal … variable literal`. At
most one variable may span separators. The variables right of it are cut off from the right end, each at the last
occurrence of the literal before it; those left of it from the left end, each at the first occurrence of the literal
after it; the rest is its value. Every step looks once at text that no later step looks at again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from mcp.shared._uri_expand import SEPARATORS
from mcp.shared._uri_parse import Expression, InvalidUriTemplate, Operator, Part, Variable

_STOP: Final[dict[Operator, re.Pattern[str]]] = {
    "": re.compile(r"[/?#&,]"),
    "+": re.compile(r"[?#]"),
    "#": re.compile(r"(?!)"),
    ".": re.compile(r"[./?#]"),
    "/": re.compile(r"[/?#]"),
    ";": re.compile(r"[;/?#]"),
    "?": re.compile(r"[&#]"),
    "&": re.compile(r"[&#]"),
}
"""Characters that cannot be inside a variable's text, by operator."""

_STOP_EXPLODED: Final[dict[Operator, re.Pattern[str]]] = {
    ".": re.compile(r"[/?#]"),
    "/": re.compile(r"[?#]"),
    ";": re.compile(r"[/?#]"),
}


class Shape(NamedTuple):
    """A template prepared for matching.

    Attributes:
        literals: The text before, between and after the variables; one more than there are variables.
        variables: The variables in template order, those of `query` left out.
        multi_segment: The index of the variable that may span separators; -1 without one.
        query: The variables that may be absent and come in any order.
        has_query: Whether the template ends in a query expression of that kind.
    """

    literals: tuple[str, ...]
    variables: tuple[Variable, ...]
    multi_segment: int
    query: frozenset[str]
    has_query: bool


def build_shape(template: str, parts: Sequence[Part]) -> Shape:
    """Prepare a template for matching.

    Raises:
        InvalidUriTemplate: Matching would have to guess where one variable ends and the next begins.
    """
    path, query = _split_query(parts)
    literals = [""]
    variables: list[Variable] = []
    multi_segment = -1
    for part in path:
        if isinstance(part, str):
            literals[-1] += part
            continue
        for index, variable in enumerate(part.variables):
            literals[-1] += _lead(variable, first=index == 0)
            if variables and not literals[-1]:
                raise InvalidUriTemplate(_adjacent(variables[-1], variable), template=template)
            if variable.is_multi_segment:
                if multi_segment >= 0:
                    message = (
                        "Template contains more than one multi-segment variable "
                        "({+var}, {#var}, or explode modifier); matching would be ambiguous"
                    )
                    raise InvalidUriTemplate(message, template=template)
                multi_segment = len(variables)
            variables.append(variable)
            literals.append("")
    names = frozenset(variable.name for expression in query for variable in expression.variables)
    return Shape(tuple(literals), tuple(variables), multi_segment, names, bool(query))


def match_shape(shape: Shape, uri: str) -> dict[str, str | list[str]] | None:
    """Return the decoded variables of a URI, or `None` if it does not fit."""
    if not shape.has_query:
        return _match_path(shape, uri)
    path, _, query = uri.partition("#")[0].partition("?")
    found = _match_path(shape, path)
    if found is not None and query:
        for parameter in query.split("&"):
            name, _, value = parameter.partition("=")
            if name in shape.query and name not in found:
                found[name] = _decode(value)
    return found


def _split_query(parts: Sequence[Part]) -> tuple[Sequence[Part], list[Expression]]:
    """Cut the trailing `{?…}{&…}` run off, if its parameters can be read as a query: unordered and optional."""
    query: list[Expression] = []
    for part in reversed(parts):
        if isinstance(part, str) or part.operator not in ("?", "&"):
            break
        query.insert(0, part)
    path = parts[: len(parts) - len(query)]
    if not query or query[0].operator != "?" or any(map(_starts_query_or_fragment, path)):
        return parts, []
    return path, query


def _starts_query_or_fragment(part: Part) -> bool:
    return ("?" in part or "#" in part) if isinstance(part, str) else part.operator == "#"


def _lead(variable: Variable, *, first: bool) -> str:
    """Return the text that must stand before a variable's value."""
    operator = variable.operator
    if variable.explode:
        return ""  # its separators are part of its text
    if not first:
        lead = SEPARATORS[operator]
    elif operator in ("", "+"):
        lead = ""
    else:
        lead = operator
    if operator == ";":
        return f";{variable.name}"  # the "=" is missing where the value is
    return f"{lead}{variable.name}=" if operator in ("?", "&") else lead


def _adjacent(left: Variable, right: Variable) -> str:
    return (
        f"Variables {left.name!r} and {right.name!r} are adjacent with no literal separator; "
        "matching cannot determine where one ends and the other begins. "
        "Add a literal between them or use a single variable."
    )


def _match_path(shape: Shape, text: str) -> dict[str, str | list[str]] | None:
    literals, variables = shape.literals, shape.variables
    if not variables:
        return {} if text == literals[0] else None
    left, right = len(literals[0]), len(text) - len(literals[-1])
    if left > right or not text.startswith(literals[0]) or not text.endswith(literals[-1]):
        return None
    multi_segment = shape.multi_segment
    # Without a multi-segment variable the first one takes what is left over.
    rest = max(multi_segment, 0)
    raw = [""] * len(variables)
    for index in range(len(variables) - 1, rest, -1):
        at = text.rfind(literals[index], left, right)
        if at < 0:
            return None
        raw[index] = text[at + len(literals[index]) : right]
        right = at
    for index in range(rest):
        at = text.find(literals[index + 1], left, right)
        if at < 0:
            return None
        raw[index] = text[left:at]
        left = at + len(literals[index + 1])
    raw[rest] = text[left:right]

    found: dict[str, str | list[str]] = {}
    for variable, value in zip(variables, raw, strict=True):
        decoded = _read_list(variable, value) if variable.explode else _read_text(variable, value)
        if decoded is None:
            return None
        found[variable.name] = decoded
    return found


def _read_text(variable: Variable, raw: str) -> str | None:
    if _STOP[variable.operator].search(raw):
        return None
    if variable.operator == ";" and raw:
        # ";ab" must not pass for ";a"
        return _decode(raw[1:]) if raw[0] == "=" else None
    return _decode(raw)


def _read_list(variable: Variable, raw: str) -> list[str] | None:
    if not raw:
        return []
    if raw[0] != variable.operator or _STOP_EXPLODED[variable.operator].search(raw):
        return None
    # Escapes are decoded after splitting, so that an escaped separator stays inside its item.
    items = raw[1:].split(variable.operator)
    if variable.operator != ";":
        return [_decode(item) for item in items]
    values: list[str] = []
    for item in items:
        name, _, value = item.partition("=")
        if name != variable.name:
            return None
        values.append(_decode(value))
    return values


def _decode(text: str) -> str:
    return unquote(text) if "%" in text else text
