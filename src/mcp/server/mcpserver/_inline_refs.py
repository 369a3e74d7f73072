"""Schemas without references, for model providers that refuse them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from mcp.server.mcpserver._json_schema import JsonSchema

_LOCAL: Final = "#/$defs/"
_SCHEMA: Final = {
    "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems",
    "unevaluatedProperties",
}  # fmt: skip
_SCHEMAS: Final = {"allOf", "anyOf", "oneOf", "prefixItems"}
_NAMED_SCHEMAS: Final = {"dependentSchemas", "patternProperties", "properties"}
_ANNOTATIONS: Final = {"default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"}
# Where one of these is, `null` among the types would not be all that it takes to allow null.
_COMBINING: Final = {"$ref", "allOf", "anyOf", "if", "not", "oneOf"}
_NULL: Final = {"type": "null"}


def inline_refs(schema: JsonSchema) -> JsonSchema:
    """Put definitions where they are referred to, and write `X or null` as one schema; the meaning stays.

    A definition that contains itself has no other form: it stays in `$defs`, and what refers to it stays a `$ref`.
    """
    inliner = _Inliner(schema.get("$defs", {}))
    inlined = inliner.inline({name: part for name, part in schema.items() if name != "$defs"})
    kept = inliner.kept()
    return {**inlined, "$defs": kept} if kept else inlined


class _Inliner:
    """Inlines the definitions of one schema.

    Args:
        definitions: Its `$defs`.
    """

    def __init__(self, definitions: Mapping[str, JsonSchema]) -> None:
        self._definitions = definitions
        self._recursive = {name for name in definitions if name in self._reached_from(name)}
        self._inlined: dict[str, JsonSchema] = {}
        self._used: set[str] = set()

    def inline(self, schema: JsonSchema) -> JsonSchema:
        """Inline a schema; what is no keyword for schemas is data and stays."""
        made: JsonSchema = {}
        for keyword, part in schema.items():
            if keyword in _SCHEMA and isinstance(part, dict):
                made[keyword] = self.inline(cast("JsonSchema", part))
            elif keyword in _SCHEMAS:
                made[keyword] = [self._inline_any(one) for one in part]
            elif keyword in _NAMED_SCHEMAS:
                made[keyword] = {name: self._inline_any(one) for name, one in part.items()}
            elif keyword != "discriminator":  # says by name which definition is which; the arms say it as well
                made[keyword] = part
        name = self._name_of(schema.get("$ref"))
        if name is not None and name not in self._recursive:
            made = _joined(self._definition(name), {key: part for key, part in made.items() if key != "$ref"})
        elif name is not None:
            self._used.add(name)
        return _flattened(made)

    def kept(self) -> dict[str, JsonSchema]:
        """Return the definitions that are still referred to."""
        kept: dict[str, JsonSchema] = {}
        while missing := self._used - kept.keys():
            for name in sorted(missing):
                kept[name] = self.inline(self._definitions[name])
        return kept

    def _inline_any(self, schema: Any) -> Any:
        return self.inline(cast("JsonSchema", schema)) if isinstance(schema, dict) else schema

    def _definition(self, name: str) -> JsonSchema:
        known = self._inlined.get(name)
        if known is None:
            known = self._inlined[name] = self.inline(self._definitions[name])
        return known

    def _name_of(self, reference: object) -> str | None:
        if not isinstance(reference, str) or not reference.startswith(_LOCAL):
            return None
        name = reference[len(_LOCAL) :]
        return name if name in self._definitions else None

    def _reached_from(self, start: str) -> set[str]:
        reached: set[str] = set()
        waiting = list(self._named_in(self._definitions[start]))
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting += self._named_in(self._definitions[name])
        return reached

    def _named_in(self, part: object) -> set[str]:
        """The definitions that a part refers to. What only looks like it, in data, is as good: it keeps a `$ref`."""
        if isinstance(part, list):
            return {name for one in cast("list[object]", part) for name in self._named_in(one)}
        if not isinstance(part, dict):
            return set()
        part = cast("dict[str, object]", part)
        found = {name for one in part.values() for name in self._named_in(one)}
        name = self._name_of(part.get("$ref"))
        return found if name is None else {*found, name}


def _joined(definition: JsonSchema, beside: JsonSchema) -> JsonSchema:
    """Put a definition in the place of a reference that has further keywords beside it."""
    if definition.keys() & beside.keys() <= _ANNOTATIONS:
        return {**definition, **beside}
    return {**beside, "allOf": [definition, *beside.get("allOf", ())]}


def _flattened(schema: JsonSchema) -> JsonSchema:
    """Write `anyOf: [X, null]` as X with one more type, where that is all it takes."""
    arms = schema.get("anyOf")
    if not isinstance(arms, list) or len(cast("list[object]", arms)) != 2 or _NULL not in arms:
        return schema
    other = cast("object", arms[0] if arms[1] == _NULL else arms[1])
    if not isinstance(other, dict):
        return schema
    other = cast("JsonSchema", other)
    kind = other.get("type")
    beside = {keyword: part for keyword, part in schema.items() if keyword != "anyOf"}
    is_alone = other.keys() & beside.keys() <= _ANNOTATIONS
    if kind is None and "enum" in other and is_alone and not _COMBINING & other.keys():
        return {**other, **beside, "enum": [*other["enum"], None]}  # values of several types
    if not isinstance(kind, str) or kind == "null" or _COMBINING & other.keys() or not is_alone:
        return schema
    values = [other["const"]] if "const" in other else other.get("enum")
    if values is not None:
        other = {keyword: part for keyword, part in other.items() if keyword != "const"}
        other["enum"] = [*values, None]
    return {**other, **beside, "type": [kind, "null"]}
