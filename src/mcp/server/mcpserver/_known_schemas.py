"""What common annotations mean, without pydantic's machinery: servers register hundreds of functions at their start.

Pydantic takes more than a millisecond for the parameters of a function. This takes microseconds for plain types and
their constraints, and for models and enumerations that another function had before. The two ways are compared in
`tests/mcpserver/test_known_schemas.py`.
"""

from __future__ import annotations

import enum
import math
import types
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, NamedTuple, NewType, TypeAlias, Union, cast, get_args, get_origin
from weakref import WeakKeyDictionary

from pydantic import BaseModel, TypeAdapter
from pydantic_core import CoreSchema, core_schema

from mcp.server.mcpserver._json_schema import JsonSchema, SchemaGenerator, as_published

_Leaf: TypeAlias = "Callable[[Any], Known | None]"
_PLAIN: Final[dict[object, tuple[CoreSchema, JsonSchema]]] = {
    int: (core_schema.int_schema(), {"type": "integer"}),
    float: (core_schema.float_schema(), {"type": "number"}),
    str: (core_schema.str_schema(), {"type": "string"}),
    bool: (core_schema.bool_schema(), {"type": "boolean"}),
    None: (core_schema.none_schema(), {"type": "null"}),
    types.NoneType: (core_schema.none_schema(), {"type": "null"}),
    Any: (core_schema.any_schema(), {}),
}
_LITERAL_TYPES: Final = {str: "string", int: "integer"}
# Pydantic describes constraints by classes of `annotated_types`, which only it depends on.
_CONSTRAINTS: Final = {
    "Ge": "ge",
    "Gt": "gt",
    "Le": "le",
    "Lt": "lt",
    "MinLen": "min_length",
    "MaxLen": "max_length",
}
_OF_NUMBERS: Final = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_OF_TEXTS: Final = {"min_length": "minLength", "max_length": "maxLength"}
_OF_LISTS: Final = {"min_length": "minItems", "max_length": "maxItems"}
_KEYWORDS: Final = {"int": _OF_NUMBERS, "float": _OF_NUMBERS, "str": _OF_TEXTS, "list": _OF_LISTS}


class Known(NamedTuple):
    """What an annotation means.

    Attributes:
        json: Its JSON schema.
        core: Its validator's schema; `None` if pydantic has to make that, when the validator is needed.
        definitions: What the references in the JSON schema refer to, by name.
        has_title: Whether pydantic gives a title to parameters of this type.
    """

    json: JsonSchema
    core: CoreSchema | None
    definitions: dict[str, JsonSchema] = {}  # noqa: RUF012 - nobody writes to it
    has_title: bool = True


def plain_schema(annotation: object) -> Known | None:
    """Say what a plain annotation means: scalars, literals, and lists, texts to values, or `None` of such."""
    return _known(annotation, _no_leaf)


def argument_schema(annotation: object, constraints: Iterable[object] = ()) -> Known | None:
    """Say what a parameter's annotation means: the same with models and enumerations.

    Args:
        annotation: The annotation, without its metadata.
        constraints: The metadata.

    Returns:
        `None` if pydantic has to read it.
    """
    known = _known(annotation, _named)
    return _constrained(known, constraints) if known is not None and constraints else known


def merge_definitions(*parts: dict[str, JsonSchema]) -> dict[str, JsonSchema] | None:
    """Put definitions together; `None` if two of them need the same name."""
    merged: dict[str, JsonSchema] = {}
    for part in parts:
        for name, schema in part.items():
            if merged.setdefault(name, schema) != schema:
                return None
    return merged


def _known(annotation: object, leaf: _Leaf) -> Known | None:
    try:
        plain = _PLAIN.get(annotation)
    except TypeError:  # unhashable metadata
        return None
    if plain is not None:
        return Known(dict(plain[1]), plain[0])
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is None:
        return _known(annotation.__supertype__, leaf) if isinstance(annotation, NewType) else leaf(annotation)
    if origin is Literal:
        return _literal(arguments)
    if origin is Union or origin is types.UnionType:
        return _optional(arguments, leaf)
    if origin is list:
        item = _known(arguments[0], leaf)
        return item and Known(
            {"items": item.json, "type": "array"}, item.core and core_schema.list_schema(item.core), item.definitions
        )
    if origin is dict and arguments[0] is str:
        item = _known(arguments[1], leaf)
        return item and Known(
            {"additionalProperties": item.json or True, "type": "object"},
            item.core and core_schema.dict_schema(core_schema.str_schema(), item.core),
            item.definitions,
        )
    return None


def _literal(values: tuple[Any, ...]) -> Known | None:
    kind = cast("type[object]", type(values[0]))
    if kind not in _LITERAL_TYPES or any(type(value) is not kind for value in values) or len(set(values)) < len(values):
        return None
    choice: JsonSchema = {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
    return Known({**choice, "type": _LITERAL_TYPES[kind]}, core_schema.literal_schema(list(values)))


def _optional(arms: tuple[Any, ...], leaf: _Leaf) -> Known | None:
    rest = [arm for arm in arms if arm is not types.NoneType]
    if len(rest) != 1 or len(arms) != 2 or rest[0] is Any:
        return None
    inner = _known(rest[0], leaf)
    return inner and Known(
        {"anyOf": [inner.json, {"type": "null"}]},
        inner.core and core_schema.nullable_schema(inner.core),
        inner.definitions,
        inner.has_title,
    )


def _constrained(known: Known, constraints: Iterable[object]) -> Known | None:
    kind = "" if known.core is None else known.core["type"]
    keywords = _KEYWORDS.get(kind)
    if keywords is None:
        return None
    limits: dict[str, Any] = {}
    for constraint in constraints:
        name = _CONSTRAINTS.get(type(constraint).__name__)
        if name not in keywords or name in limits:
            return None
        limit: object = getattr(constraint, name, None)
        if not (type(limit) is int and (limit >= 0 or keywords is _OF_NUMBERS)) and not (
            kind == "float" and type(limit) is float and math.isfinite(limit)
        ):
            return None
        limits[name] = limit
    shown = {keywords[name]: limit for name, limit in limits.items()}
    return known._replace(json={**known.json, **shown}, core=cast("CoreSchema", {**cast("Any", known.core), **limits}))


def _no_leaf(annotation: object) -> None:
    """Nothing else is plain."""


def _named(annotation: object) -> Known | None:
    """A model or an enumeration, which JSON schemas define once and then refer to."""
    if not (isinstance(annotation, type) and issubclass(annotation, (BaseModel, enum.Enum))):
        return None
    # A model that is built anew has another schema. (To keep the schema itself would keep the class alive.)
    build = id(annotation.__pydantic_core_schema__) if issubclass(annotation, BaseModel) else 0
    seen = _definitions.get(annotation)
    if seen is None or seen[0] != build:
        _definitions[annotation] = seen = build, _define(annotation)
    return seen[1]


_definitions: Final[WeakKeyDictionary[type[object], tuple[int, Known | None]]] = WeakKeyDictionary()


def _define(cls: type[object]) -> Known | None:
    try:
        core = TypeAdapter(cls).core_schema
        references, definitions = SchemaGenerator().generate_definitions([("it", "validation", core)])
        definitions = as_published(dict(definitions.items()))
    except Exception:
        return None  # the long way says what is wrong, and with which parameter
    reference = references["it", "validation"]
    # A class may describe itself in a way of its own.
    return Known(reference, None, definitions, has_title=False) if list(reference) == ["$ref"] else None
