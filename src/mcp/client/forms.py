"""Forms for those who show them: the fields of a server's question, and what was filled in, checked.

For web handlers, chat bots and terminals, which have texts where the schema wants numbers and booleans.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast
from urllib.parse import urlsplit

import mcp_types as types

__all__ = ["Choice", "FieldKind", "FormError", "FormField", "fill_form", "form_fields"]

FieldKind: TypeAlias = Literal["text", "number", "integer", "boolean", "choice", "choices"]
"""A line of text, a number, a whole number, yes or no, one of several values, any of several values."""

Filled: TypeAlias = "str | int | float | bool | Sequence[str] | None"

_YES: Final = {"true", "yes", "on", "1"}
_NO: Final = {"false", "no", "off", "0"}


class FormError(ValueError):
    """A form was not filled in as it has to be.

    Args:
        problems: What is wrong with each field, for the user to read.

    Attributes:
        problems: The same.
    """

    def __init__(self, problems: dict[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {problem}" for name, problem in problems.items()))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values of a field.

    Attributes:
        value: The value.
        label: What the user reads.
    """

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of a form.

    Attributes:
        name: Its name.
        label: What the user reads.
        kind: What is filled in.
        required: Whether it has to be filled in.
        description: What it is for.
        default: What is filled in beforehand.
        choices: The values, for `choice` and `choices`.
        format: Of texts: `email`, `uri`, `date` or `date-time`.
        minimum: The least number, length of a text or count of choices.
        maximum: The greatest of these.
    """

    name: str
    label: str
    kind: FieldKind
    required: bool
    description: str | None = None
    default: Any = None
    choices: tuple[Choice, ...] = ()
    format: str | None = None
    minimum: float | None = None
    maximum: float | None = None


def form_fields(params: types.ElicitRequestFormParams) -> list[FormField]:
    """Return the fields of a form, in the order in which the server lists them.

    Args:
        params: The params of the question.

    Raises:
        ValueError: A field is of a kind that the protocol does not know.
    """
    schema = params.requested_schema
    required = cast("list[str]", schema.get("required") or ())
    return [_field(name, described, name in required) for name, described in schema.get("properties", {}).items()]


def fill_form(params: types.ElicitRequestFormParams, values: Mapping[str, Filled]) -> types.ElicitResult:
    """Return the answer of a user who has filled in a form.

    Texts become what the field is: `"3"` a number, `"on"` and `"yes"` true. An empty text, an empty list and `None` are
    not filled in. A `boolean` that has to be filled in and is missing is false, as a box that nobody ticked.

    Args:
        params: The params of the question.
        values: What was filled in, by the names of the fields; others are left out.

    Raises:
        FormError: Something is missing, or does not fit.
        ValueError: A field is of a kind that the protocol does not know.
    """
    content: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for field in form_fields(params):
        value = values.get(field.name)
        if value is None or (value in ("", []) and not (value == "" and field.kind == "text" and field.minimum == 0)):
            if field.kind == "boolean" and field.required:
                content[field.name] = False
            elif field.required:
                problems[field.name] = "this has to be filled in"
            continue
        try:
            content[field.name] = _READERS[field.kind](field, value)
        except _Unfit as error:
            problems[field.name] = str(error)
    if problems:
        raise FormError(problems)
    return types.ElicitResult(action="accept", content=content)


class _Unfit(Exception):
    """The text says why a value does not fit."""


def _field(name: str, schema: dict[str, Any], required: bool) -> FormField:
    kind = schema.get("type")
    low, high, choices = "minimum", "maximum", ()
    if kind == "string":
        choices = _choices(schema)
        kind, low, high = ("choice" if choices else "text"), "minLength", "maxLength"
    elif kind == "array":
        choices = _choices(schema.get("items", {}))
        kind, low, high = "choices", "minItems", "maxItems"
    elif kind not in ("number", "integer", "boolean"):
        raise ValueError(f"the field {name!r} is of a kind that no form has: {kind!r}")
    return FormField(
        name=name,
        label=schema.get("title") or name,
        kind=kind,
        required=required,
        description=schema.get("description"),
        default=schema.get("default"),
        choices=choices,
        format=schema.get("format"),
        minimum=schema.get(low),
        maximum=schema.get(high),
    )


def _choices(schema: dict[str, Any]) -> tuple[Choice, ...]:
    titled: list[dict[str, str]] | None = schema.get("oneOf") or schema.get("anyOf")
    if titled is not None:
        return tuple(Choice(item["const"], item.get("title", item["const"])) for item in titled)
    values: list[str] = schema.get("enum") or []
    labels: list[str] = schema.get("enumNames") or values
    return tuple(Choice(value, label) for value, label in zip(values, labels, strict=False))


def _text(field: FormField, value: Filled) -> str:
    if not isinstance(value, str):
        raise _Unfit("this has to be a text")
    _check_limits(field, len(value), "at least {} characters", "at most {} characters")
    if field.format in _FORMATS:
        what, fits = _FORMATS[field.format]
        if not fits(value):
            raise _Unfit(f"this has to be {what}")
    return value


def _number(field: FormField, value: Filled) -> float | int:
    try:
        number = float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise _Unfit("this has to be a number")
    _check_limits(field, number, "at least {}", "at most {}")
    return number


def _integer(field: FormField, value: Filled) -> int:
    try:
        number = int(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None:
        raise _Unfit("this has to be a whole number")
    _check_limits(field, number, "at least {}", "at most {}")
    return number


def _boolean(field: FormField, value: Filled) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in _YES | _NO:
        raise _Unfit("this has to be yes or no")
    return word in _YES


def _choice(field: FormField, value: Filled) -> str:
    if not isinstance(value, str) or value not in {choice.value for choice in field.choices}:
        raise _Unfit("this has to be one of: " + ", ".join(choice.label for choice in field.choices))
    return value


def _several(field: FormField, value: Filled) -> list[str]:
    values = [value] if isinstance(value, str) else list(value) if isinstance(value, Sequence) else []
    chosen = [_choice(field, each) for each in values]
    if not chosen or len(set(chosen)) != len(chosen):
        raise _Unfit("this has to be some of: " + ", ".join(choice.label for choice in field.choices))
    _check_limits(field, len(chosen), "at least {} of these", "at most {} of these")
    return chosen


def _check_limits(field: FormField, size: float, low: str, high: str) -> None:
    if field.minimum is not None and size < field.minimum:
        raise _Unfit(f"this has to be {low.format(f'{field.minimum:g}')}")
    if field.maximum is not None and size > field.maximum:
        raise _Unfit(f"this has to be {high.format(f'{field.maximum:g}')}")


def _is_email(text: str) -> bool:
    user, at, host = text.rpartition("@")
    return bool(user and at and host) and not any(character.isspace() for character in text)


def _is_uri(text: str) -> bool:
    try:
        return bool(urlsplit(text).scheme) and not any(character.isspace() for character in text)
    except ValueError:
        return False


def _is_date(text: str) -> bool:
    try:
        return len(text) == 10 and bool(datetime.date.fromisoformat(text))
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    try:
        return "T" in text.upper() and bool(datetime.datetime.fromisoformat(text.upper().replace("Z", "+00:00")))
    except ValueError:
        return False


_FORMATS: Final = {
    "email": ("an email address", _is_email),
    "uri": ("a URI, such as https://example.com", _is_uri),
    "date": ("a date, such as 2026-07-28", _is_date),
    "date-time": ("a date and time, such as 2026-07-28T09:00:00Z", _is_date_time),
}
_READERS: Final = {
    "text": _text,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
    "choice": _choice,
    "choices": _several,
}
