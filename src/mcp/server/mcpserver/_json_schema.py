"""JSON schemas and validators for values described by Python annotations."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Literal, TypeAlias, Union, cast, get_args, get_origin

import pydantic_core
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import CoreSchema, PydanticSerializationError, core_schema

JsonSchema: TypeAlias = dict[str, Any]

# Plain annotations are so common that they are worth the short way: pydantic's own generation costs about half a
# millisecond a function, this a few microseconds. `tests/mcpserver/test_json_schema.py` compares the two.
_SCALARS: Final[dict[object, tuple[CoreSchema, JsonSchema]]] = {
    int: (core_schema.int_schema(), {"type": "integer"}),
    float: (core_schema.float_schema(), {"type": "number"}),
    str: (core_schema.str_schema(), {"type": "string"}),
    bool: (core_schema.bool_schema(), {"type": "boolean"}),
    None: (core_schema.none_schema(), {"type": "null"}),
    types.NoneType: (core_schema.none_schema(), {"type": "null"}),
    Any: (core_schema.any_schema(), {}),
}
_DESCRIBING: Final = {"type", "$ref", "const", "enum", "anyOf", "oneOf", "allOf"}
_BOUNDS: Final = {"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"}
_LITERAL_TYPES: Final = {str: "string", int: "integer"}


class SchemaGenerator(GenerateJsonSchema):
    """Pydantic's generator; defaults without a JSON form are left out in silence, and plain ones cost nothing."""

    _methods: ClassVar[dict[str, str]] = {}

    def build_schema_type_to_method(self) -> dict[Any, Callable[[Any], JsonSchema]]:
        """Find the methods that pydantic looks for by name, once instead of for each schema."""
        if not self._methods:
            found = super().build_schema_type_to_method()
            self._methods.update({str(kind): method.__name__ for kind, method in found.items()})
        return {kind: getattr(self, name) for kind, name in self._methods.items()}

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        if kind != "non-serializable-default":
            super().emit_warning(kind, detail)

    def encode_default(self, dft: Any) -> Any:
        if dft is None or type(dft) in (int, bool):
            return dft
        try:
            encoded = pydantic_core.to_jsonable_python(dft, timedelta_mode="iso8601", bytes_mode="utf8")
            return in_json_form(encoded)
        except ValueError as error:  # what pydantic reports of its own is one, too
            raise PydanticSerializationError(str(error)) from error


def as_published(schema: JsonSchema) -> JsonSchema:
    """Return a generated schema in a form that JSON can express.

    Raises:
        ValueError: There is none: a choice holds lone surrogates.
    """
    try:
        return in_json_form(schema)
    except ValueError:
        return in_json_form(without_infinite_bounds(schema))


def in_json_form(value: Any) -> Any:
    """Return the value.

    Raises:
        ValueError: JSON cannot express it: it holds NaN, infinity or lone surrogates.
    """
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    return value


def without_infinite_bounds(schema: Any) -> Any:
    """Leave out bounds that are no finite number: JSON has none that they keep out."""
    if isinstance(schema, list):
        return [without_infinite_bounds(part) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        keyword: without_infinite_bounds(part)
        for keyword, part in cast("JsonSchema", schema).items()
        if not (keyword in _BOUNDS and isinstance(part, float) and not math.isfinite(part))
    }


def title_of(name: str) -> str:
    """The title that pydantic gives to a field of that name."""
    return name.title().replace("_", " ").strip()


def plain_schema(annotation: object) -> tuple[CoreSchema, JsonSchema] | None:
    """Return validator schema and JSON schema of a plain annotation, or `None` if pydantic has to read it."""
    try:
        known = _SCALARS.get(annotation)
    except TypeError:  # unhashable metadata
        return None
    if known is not None:
        core, json = known
        return core, dict(json)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return _plain_literal(arguments)
    if origin is Union or origin is types.UnionType:
        return _plain_optional(arguments)
    if origin is list:
        item = plain_schema(arguments[0])
        return item and (core_schema.list_schema(item[0]), {"items": item[1], "type": "array"})
    if origin is dict and arguments[0] is str:
        item = plain_schema(arguments[1])
        return item and (
            core_schema.dict_schema(core_schema.str_schema(), item[0]),
            {"additionalProperties": item[1] or True, "type": "object"},
        )
    return None


def _plain_literal(values: tuple[Any, ...]) -> tuple[CoreSchema, JsonSchema] | None:
    kind = cast("type[object]", type(values[0]))
    if kind not in _LITERAL_TYPES or any(type(value) is not kind for value in values) or len(set(values)) < len(values):
        return None
    choice: JsonSchema = {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
    return core_schema.literal_schema(list(values)), {**choice, "type": _LITERAL_TYPES[kind]}


def _plain_optional(arms: tuple[Any, ...]) -> tuple[CoreSchema, JsonSchema] | None:
    rest = [arm for arm in arms if arm is not types.NoneType]
    if len(rest) != 1 or len(arms) != 2 or rest[0] is Any:
        return None
    inner = plain_schema(rest[0])
    if inner is None:
        return None
    return core_schema.nullable_schema(inner[0]), {"anyOf": [inner[1], {"type": "null"}]}


def accepts_text(schema: object, definitions: Mapping[str, object], depth: int = 0) -> bool:
    """Whether a value of this schema may be a JSON string."""
    if not isinstance(schema, dict) or depth > 16:
        return True
    schema = cast("JsonSchema", schema)
    if "$ref" in schema:
        return accepts_text(definitions.get(str(schema["$ref"]).rsplit("/", 1)[-1]), definitions, depth + 1)
    for combination in ("anyOf", "oneOf"):
        if combination in schema:
            return any(accepts_text(arm, definitions, depth + 1) for arm in schema[combination])
    if "allOf" in schema:
        return all(accepts_text(arm, definitions, depth + 1) for arm in schema["allOf"])
    if "const" in schema:
        return isinstance(schema["const"], str)
    if "enum" in schema:
        return any(isinstance(value, str) for value in schema["enum"])
    kind = schema.get("type")
    return kind is None or kind == "string" or (isinstance(kind, list) and "string" in kind)


def may_hold_floats(schema: object) -> bool:
    """Whether a value of this schema may hold a float, and so something that JSON cannot express."""
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        return False
    schema = cast("JsonSchema", schema)
    kind = schema.get("type")
    is_open_object = kind == "object" and "properties" not in schema and "additionalProperties" not in schema
    is_open_array = kind == "array" and "items" not in schema and "prefixItems" not in schema
    if kind == "number" or is_open_object or is_open_array or not _DESCRIBING & schema.keys():
        return True
    parts: list[object] = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    for several in ("prefixItems", "anyOf", "oneOf", "allOf"):
        parts += schema.get(several, ())
    parts += [schema[one] for one in ("items", "additionalProperties") if one in schema]
    return any(map(may_hold_floats, parts))
