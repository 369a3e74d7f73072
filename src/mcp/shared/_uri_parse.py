"""Read a URI template: the part of RFC 6570 that can be matched without guessing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias, cast, get_args

Operator: TypeAlias = Literal["", "+", "#", ".", "/", ";", "?", "&"]

_OPERATORS: Final = frozenset(get_args(Operator)) - {""}
_EXPLODABLE: Final = frozenset("/.;")
_NAME: Final = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*")


class InvalidUriTemplate(ValueError):
    """A template breaks the grammar, or cannot be matched unambiguously.

    Attributes:
        template: The template's text.
        position: Where the bad expression starts; `None` where the whole template is at fault.
    """

    def __init__(self, message: str, *, template: str, position: int | None = None) -> None:
        super().__init__(message)
        self.template = template
        self.position = position


@dataclass(frozen=True)
class Variable:
    """One variable of a template."""

    name: str
    operator: Operator
    explode: bool = False

    @property
    def is_multi_segment(self) -> bool:
        """Whether the variable's text may run across separators."""
        return self.explode or self.operator in ("+", "#")


class Expression(NamedTuple):
    """One `{...}` of a template."""

    operator: Operator
    variables: tuple[Variable, ...]


Part: TypeAlias = str | Expression
"""Literal text or an expression."""


def parse_parts(template: str, *, max_length: int, max_variables: int) -> tuple[Part, ...]:
    """Split a template into literals and expressions, and check what can be checked without looking at neighbours.

    Raises:
        InvalidUriTemplate: The template is too long, has too many variables, or breaks the grammar.
    """
    if len(template) > max_length:
        raise InvalidUriTemplate(f"Template exceeds maximum length of {max_length}", template=template)
    parts: list[Part] = []
    count = 0
    end = 0
    while (start := template.find("{", end)) >= 0:
        if start > end:
            parts.append(template[end:start])
        close = template.find("}", start)
        if close < 0:
            raise InvalidUriTemplate(f"Unclosed expression at position {start}", template=template, position=start)
        expression = _parse_expression(template, start, template[start + 1 : close])
        count += len(expression.variables)
        if count > max_variables:
            raise InvalidUriTemplate(f"Template exceeds maximum of {max_variables} variables", template=template)
        parts.append(expression)
        end = close + 1
    if end < len(template):
        parts.append(template[end:])
    _check_names(template, parts)
    return tuple(parts)


def _parse_expression(template: str, position: int, body: str) -> Expression:
    if not body:
        raise InvalidUriTemplate(f"Empty expression at position {position}", template=template, position=position)
    operator = cast("Operator", body[0] if body[0] in _OPERATORS else "")
    names = body[len(operator) :]
    if not names:
        text = f"Expression has operator but no variables at position {position}"
        raise InvalidUriTemplate(text, template=template, position=position)
    return Expression(operator, tuple(_parse_variable(template, position, operator, name) for name in names.split(",")))


def _parse_variable(template: str, position: int, operator: Operator, text: str) -> Variable:
    if ":" in text:
        message = f"Prefix modifier {{var:N}} is not supported (in {text!r} at position {position})"
        raise InvalidUriTemplate(message, template=template, position=position)
    explode = text.endswith("*")
    name = text[:-1] if explode else text
    if not _NAME.fullmatch(name):
        message = f"Invalid variable name {name!r} at position {position}"
        raise InvalidUriTemplate(message, template=template, position=position)
    if explode and operator not in _EXPLODABLE:
        message = f"Explode modifier on {{{operator}{name}*}} is not supported for matching"
        raise InvalidUriTemplate(message, template=template, position=position)
    return Variable(name, operator, explode)


def _check_names(template: str, parts: list[Part]) -> None:
    seen: set[str] = set()
    queries = 0
    for part in parts:
        if isinstance(part, str):
            continue
        queries += part.operator == "?"
        for variable in part.variables:
            if variable.name in seen:
                message = f"Variable {variable.name!r} appears more than once; repeated variables are not supported"
                raise InvalidUriTemplate(message, template=template)
            seen.add(variable.name)
    if queries > 1:
        message = (
            "Template contains more than one {?...} expression; use {?a,b} or {?a}{&b} for multiple query parameters"
        )
        raise InvalidUriTemplate(message, template=template)
