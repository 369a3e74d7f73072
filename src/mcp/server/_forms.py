"""Elicitation forms: a flat pydantic model as the schema that the client shows, and the filled-in form back as one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final, Generic, NamedTuple, cast
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ValidationError
from typing_extensions import TypeVar

from mcp._protocol.canonical import canonical_json
from mcp._protocol.codec import modern_form_schema
from mcp._protocol.jsonrpc import dumps, loads

ModelT = TypeVar("ModelT", bound=BaseModel, default=BaseModel)

# elicitation: "Requested Schema" knows these formats and no others.
_STRING_FORMATS: Final = frozenset({"email", "uri", "date", "date-time"})
_PLAIN_TYPES: Final = frozenset({"integer", "number", "boolean"})


class _Rendered(NamedTuple):
    """What a model class renders to.

    Attributes:
        schema: The JSON of the schema. As text, nobody can change what all share, and reading it is a cheap copy.
        modern: The JSON of the part of the schema that the modern protocol sends.
        canonical: The canonical JSON of the same.
        properties: The names of the properties.
        optional: The properties that the model wants but the user may leave out; they are `None` then.
    """

    schema: bytes
    modern: bytes
    canonical: bytes
    properties: frozenset[str]
    optional: tuple[str, ...]


# Rendering takes longer than everything else about a question, and models do not change: once for each class. What is
# kept must not refer to the class, or no class would ever be let go.
_rendered: WeakKeyDictionary[type[BaseModel], _Rendered] = WeakKeyDictionary()


class Form(Generic[ModelT]):
    """A model class as a form.

    Attributes:
        model: The model class.
        rendered: What it renders to.

    Raises:
        TypeError: It is no model class, or not a flat one, or says what JSON cannot.
    """

    __slots__ = ("model", "rendered")

    def __init__(self, model: type[ModelT]) -> None:
        rendered = _rendered.get(model) if isinstance(model, type) else None  # pyright: ignore[reportUnnecessaryIsInstance]
        if rendered is None:
            rendered = _rendered[model] = _render(model)
        self.model = model
        self.rendered = rendered

    def schema(self) -> dict[str, Any]:
        """Return the schema, in a copy of the caller's own."""
        return loads(self.rendered.schema)

    def modern_schema(self) -> dict[str, Any]:
        """The same for the part that the modern protocol sends."""
        return loads(self.rendered.modern)

    def read(self, content: Mapping[str, Any]) -> ModelT:
        """Turn a filled-in form into an instance of the model.

        Raises:
            ValidationError: It does not fit.
        """
        if self.rendered.optional:
            content = {**dict.fromkeys(self.rendered.optional), **content}
        return self.model.model_validate(content)

    def bad_members(self, error: ValidationError) -> list[str]:
        """Name the members that do not fit, without their values and only those that the form has."""
        first = (str(detail["loc"][0]) for detail in error.errors() if detail["loc"])
        return [name for name in dict.fromkeys(first) if name in self.rendered.properties]


def _render(model: type[BaseModel]) -> _Rendered:
    if not (isinstance(model, type) and issubclass(model, BaseModel)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"An elicitation schema must be a pydantic model class, not {model!r}")
    schema = model.model_json_schema()
    definitions: dict[str, dict[str, Any]] = schema.pop("$defs", {})
    if "$ref" in schema:  # a model that names itself
        schema = deepcopy(_definition(schema, definitions) or {})
    if schema.get("type") != "object":
        raise TypeError(f"Elicitation schema {model.__name__!r} must be an object with plain fields")
    optional: list[str] = []
    properties: dict[str, dict[str, Any]] = schema.setdefault("properties", {})
    for name, rendered in properties.items():
        plain, nullable = _without_null(rendered)
        if nullable:
            optional.append(name)
        plain = _with_inline_choices(name, plain, definitions)
        if _is_non_finite(plain.get("default")):
            del plain["default"]
        if not _is_primitive(plain):
            raise TypeError(
                f"Elicitation schema field {name!r} rendered as {plain}, which is not a valid PrimitiveSchemaDefinition"
            )
        properties[name] = plain
    required: list[str] = schema.pop("required", [])
    # `null` is no value that a form can hold, so a field that wants "a value or None" is one that may be left out.
    optional = [name for name in required if name in optional]
    if required := [name for name in required if name not in optional]:
        schema["required"] = required
    try:
        text = dumps(schema)
    except ValueError as error:
        raise TypeError(f"Elicitation schema {model.__name__!r} cannot be sent: {error}") from error
    modern = modern_form_schema(loads(text))
    return _Rendered(text, dumps(modern), canonical_json(modern), frozenset(properties), tuple(optional))


def _is_non_finite(default: object) -> bool:
    """Whether a default is a number that JSON has no form for. The form does not show it, and the model has it."""
    return isinstance(default, float) and not math.isfinite(default)


def _without_null(rendered: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Take `null` out of a property's alternatives; the rest stands for itself if only one is left."""
    arms: list[dict[str, Any]] = rendered.get("anyOf", [])
    left = [arm for arm in arms if arm.get("type") != "null"]
    if len(left) == len(arms):
        return rendered, False
    others = {member: value for member, value in rendered.items() if member != "anyOf"}
    if others.get("default", ...) is None:
        del others["default"]
    merged = {**left[0], **others} if len(left) == 1 else {"anyOf": left, **others}
    return dict(sorted(merged.items())), True


def _with_inline_choices(name: str, rendered: dict[str, Any], definitions: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Write the values of an `Enum` class in place, and a choice among one value as a list of one."""
    if choices := _choices(rendered, definitions):
        title = name.replace("_", " ").title()
        own = {member: value for member, value in rendered.items() if member != "$ref"}
        return dict(sorted({**choices, "title": title, **own}.items()))
    if not isinstance(rendered.get("items"), dict):
        return rendered
    items = cast("dict[str, Any]", rendered["items"])
    chosen = _choices(items, definitions) or items
    if "const" in chosen:
        chosen = {"enum": [chosen["const"]], **{key: value for key, value in chosen.items() if key != "const"}}
    if chosen is items:
        return rendered
    return {**rendered, "items": {key: chosen[key] for key in ("enum", "type") if key in chosen}}


def _choices(rendered: dict[str, Any], definitions: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    definition = _definition(rendered, definitions)
    return definition if definition is not None and ("enum" in definition or "const" in definition) else None


def _definition(rendered: dict[str, Any], definitions: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    reference = rendered.get("$ref")
    return definitions.get(reference.rpartition("/")[2]) if isinstance(reference, str) else None


def _is_primitive(rendered: dict[str, Any]) -> bool:
    """Whether the protocol has such a form field (elicitation: `PrimitiveSchemaDefinition`)."""
    kind = rendered.get("type")
    if kind == "string":
        return rendered.get("format", "email") in _STRING_FORMATS
    if kind == "array":
        return isinstance(rendered.get("items"), dict) and _is_choice(rendered["items"])
    return kind in _PLAIN_TYPES


def _is_choice(items: dict[str, Any]) -> bool:
    if "anyOf" in items:
        arms: list[dict[str, Any]] = items["anyOf"]
        return all("const" in arm and "title" in arm for arm in arms)
    return items.get("type") == "string" and "enum" in items
