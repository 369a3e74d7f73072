"""JSON schemas and validators for values described by Python annotations."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Literal, TypeAlias, cast

import pydantic_core
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import PydanticSerializationError, core_schema

JsonSchema: TypeAlias = dict[str, Any]

_DESCRIBING: Final = {"type", "$ref", "const", "enum", "anyOf", "oneOf", "allOf"}
# Keywords that pydantic cannot translate for a type stay as authors write them.
_OF_NUMBERS: Final = ("ge", "gt", "le", "lt", "multiple_of")
_OF_TEXTS: Final = ("minLength", "maxLength", "min_length", "max_length")
_MISFITS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("string", "array", "object"), _OF_NUMBERS),
    **dict.fromkeys(("integer", "number", "boolean"), _OF_TEXTS),
}
_PROSE: Final = {"title", "description"}
_BOUNDS: Final = {"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"}


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

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchema:
        """Describe an enumeration; flags as integers, since they can be combined."""
        described = super().enum_schema(schema)
        if issubclass(schema["cls"], enum.Flag):
            described = {"type": "integer", **{name: described[name] for name in _PROSE & described.keys()}}
        return described

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


def find_misfit(schema: JsonSchema) -> str | None:
    """Say which constraint of a generated schema its values cannot be held against, such as a length of a number.

    Pydantic applies it all the same, and fails at each value.
    """
    kind = schema.get("type")
    for keyword in _MISFITS.get(kind, ()) if isinstance(kind, str) else ():
        if isinstance(schema.get(keyword), (int, float)):
            return f"{keyword} of a value of type {kind}"
    return next((found for arm in schema.get("anyOf", ()) if (found := find_misfit(arm)) is not None), None)


def may_hold(schema: object, kind: Literal["number", "object"]) -> bool:
    """Whether a value of this schema may hold a number that is no integer, or an object whose keys nobody chose."""
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        return False
    schema = cast("JsonSchema", schema)
    found = schema.get("type")
    is_open_object = found == "object" and "properties" not in schema and "additionalProperties" not in schema
    is_open_array = found == "array" and "items" not in schema and "prefixItems" not in schema
    if is_open_object or is_open_array or not _DESCRIBING & schema.keys():
        return True
    if found == kind and (kind == "number" or schema.get("additionalProperties", False) is not False):
        return True
    parts: list[object] = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    for several in ("prefixItems", "anyOf", "oneOf", "allOf"):
        parts += schema.get(several, ())
    parts += [schema[one] for one in ("items", "additionalProperties") if one in schema]
    return any(may_hold(part, kind) for part in parts)
