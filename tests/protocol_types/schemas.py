"""The published JSON schemas: their definitions, validators for them, and instances of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

from jsonschema.protocols import Validator
from jsonschema.validators import validator_for

DATA: Final = Path(__file__).parent.parent / "data"

Schema = dict[str, Any]
Json = Any

_TEXTS: Final = ["", "a", "tools/call", "e\u0301", "\U0001f980", "two\nlines", "null"]
_FORMATS: Final = {
    "byte": ["", "YQ==", "/+8="],
    "uri": ["file:///project", "file:///a%20b/c.txt"],
    "uri-template": ["file:///{path}", "users://{id}/posts{?page}"],
}
_VALUES: Final[list[Json]] = [
    None, True, 0, -7, 0.5, "", "text", [], [1, "a", None], {}, {"a": 1, "b": None}, {"deep": [{"deeper": [None, {}]}]},
]  # fmt: skip

# As published, the definition `JSONValue` has neither null nor fractions.
_JSON_VALUES: Final[list[Json]] = [True, 0, -7, "text", [], [1, "a"], {}, {"a": 1}, {"deep": [{"deeper": [{}]}]}]


@cache
def document(version: str) -> Schema:
    """Return the schema of a revision."""
    return json.loads((DATA / "schema" / f"{version}.json").read_text(encoding="utf-8"))


def _keyword(version: str) -> str:
    return "$defs" if "$defs" in document(version) else "definitions"


def definitions(version: str) -> dict[str, Schema]:
    """Return the definitions of a revision by name."""
    return document(version)[_keyword(version)]


@cache
def validator(version: str, name: str) -> Validator:
    """Return a validator for one definition of a revision."""
    schema = document(version)
    keyword = _keyword(version)
    reference = {"$schema": schema["$schema"], "$ref": f"#/{keyword}/{name}", keyword: schema[keyword]}
    return validator_for(schema)(reference)


def instances(version: str, name: str, count: int) -> Iterator[Json]:
    """Make instances of a definition, always the same: one with all members, one with the required ones, then others.

    They have no members that the definition does not name, except where it says what such members look like.
    """
    for number in range(count):
        maker = _Maker(version, Random(f"{version} {name} {number}"), {0: 1.0, 1: 0.0}.get(number, 0.5))
        yield maker.definition(name)


class _Maker:
    def __init__(self, version: str, random: Random, share_of_optional_members: float) -> None:
        self._definitions = definitions(version)
        self._random = random
        self._share = share_of_optional_members

    def definition(self, name: str) -> Json:
        match name:
            case "JSONValue":
                return self._random.choice(_JSON_VALUES)
            case "JSONObject":
                return {text: self._random.choice(_JSON_VALUES) for text in self._some(_TEXTS)}
            case "JSONArray":
                return self._some(_JSON_VALUES)
            case _:
                return self._value(self._definitions[name])

    def _some(self, values: list[Json]) -> list[Json]:
        return self._random.sample(values, self._random.randint(0, 2))

    def _value(self, schema: Schema) -> Json:
        if "$ref" in schema:
            return self.definition(schema["$ref"].rpartition("/")[2])
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        if "anyOf" in schema:
            return self._value(self._random.choice(schema["anyOf"]))
        if "allOf" in schema:
            return {key: value for part in schema["allOf"] for key, value in self._value(part).items()}
        kind: str | list[str] = schema.get("type", [])
        if not kind:
            return self._random.choice(_VALUES)
        return self._of_type(schema, kind if isinstance(kind, str) else self._random.choice(kind))

    def _of_type(self, schema: Schema, kind: str) -> Json:
        match kind:
            case "object":
                return self._object(schema)
            case "array":
                length = self._random.randint(schema.get("minItems", 0), schema.get("maxItems", 2))
                return [self._value(schema.get("items", {})) for _ in range(min(length, 2))]
            case "string":
                return self._random.choice(_FORMATS.get(schema.get("format", ""), _TEXTS))
            case "integer":
                return self._random.choice([schema.get("minimum", -(2**40)), 7, schema.get("maximum", 2**40)])
            case "number":
                return self._random.choice([schema.get("minimum", -1), 0.25, schema.get("maximum", 3)])
            case "boolean":
                return self._random.random() < 0.5
            case _:
                return None

    def _object(self, schema: Schema) -> Json:
        members: dict[str, Schema] = schema.get("properties", {})
        required = schema.get("required", ())
        made = {
            name: self._value(member)
            for name, member in members.items()
            if name in required or self._random.random() < self._share
        }
        more = schema.get("additionalProperties", False)
        if more is not False and not members:
            made |= {text: self._value({} if more is True else more) for text in self._some(_TEXTS)}
        return made
