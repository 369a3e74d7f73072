"""How much work a JSON Schema of a peer can make for whoever checks a value by it (base: "JSON Schema Usage").

References let a schema of a few lines apply more subschemas than any machine can: each of thirty definitions names the
next one twice. Validators follow, so what they are given is counted first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, cast
from urllib.parse import unquote, urljoin

MAX_SUBSCHEMAS: Final = 1_000_000
"""How many subschemas a schema may have, each counted as often as it is referred to."""

_FREE_STEPS: Final = 10_000
_STEPS_FOR_EACH_PART: Final = 4
_MAX_STEPS: Final = 200_000

_DIALECTS: Final = re.compile(r"https?://json-schema\.org/")

# Keywords whose subschemas apply to the value itself, to the members of an object, and to the items of an array.
_ONE_IN_PLACE: Final = ("not", "if", "then", "else")
_SOME_IN_PLACE: Final = ("allOf", "anyOf", "oneOf")
_NAMED_IN_PLACE: Final = ("dependentSchemas", "dependencies")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_OF_MEMBERS: Final = ("additionalProperties", "unevaluatedProperties")
_OF_ITEMS: Final = ("items", "additionalItems", "contains", "unevaluatedItems")
_LISTED_ITEMS: Final = ("prefixItems", "items")


class SchemaCost:
    """Counts what a schema makes of a validator, and of the values that do not fit.

    Args:
        schema: The schema.

    Raises:
        ValueError: It has more than `MAX_SUBSCHEMAS` subschemas, or refers to what is not part of it.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        self._root = schema
        self._base = _identifier(schema)
        self._named: dict[str, dict[str, Any]] = {"": schema, self._base: schema}
        self._anchors: dict[str, dict[str, Any]] = {}
        for part in _objects_in(schema):
            if name := _identifier(part):
                self._named.setdefault(urljoin(self._base, name), part)
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(part.get(keyword), str):
                    self._anchors.setdefault(part[keyword], part)
        if self._count_subschemas(schema, {}, set()) > MAX_SUBSCHEMAS:
            raise ValueError(f"it has more than {MAX_SUBSCHEMAS} subschemas, counted as often as it refers to them")

    def can_explain(self, value: Any) -> bool:
        """Whether a validator can say in a bearable time why a value does not fit.

        To find out that it does not is quick, but what is collected for the explanation grows with every way to fit.
        """
        steps, limit = 0, _FREE_STEPS
        waiting: list[tuple[Any, Any]] = [(self._root, value)]
        while waiting:
            schema, part = waiting.pop()
            steps += 1
            if steps + len(waiting) > limit:
                limit = min(_FREE_STEPS + _STEPS_FOR_EACH_PART * _count_parts(value), _MAX_STEPS)
                if steps + len(waiting) > limit:
                    return False
            if isinstance(schema, dict):
                waiting.extend(self._applied(cast("dict[str, Any]", schema), part))
        return True

    def _applied(self, schema: dict[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the subschemas that are applied along with a schema, each with the part of the value it is for."""
        # A validator looks at these a second time to know what is evaluated.
        times = 2 if "unevaluatedProperties" in schema or "unevaluatedItems" in schema else 1
        for _ in range(times):
            for subschema in self._in_place(schema):
                yield subschema, value
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            named = _as_object(schema.get("properties"))
            others = [schema[keyword] for keyword in _OF_MEMBERS if keyword in schema]
            others += _as_object(schema.get("patternProperties")).values()
            for name, member in members.items():
                if name in named:
                    yield named[name], member
                for subschema in others:
                    yield subschema, member
                if "propertyNames" in schema:
                    yield schema["propertyNames"], name
        elif isinstance(value, list):
            items = cast("list[Any]", value)
            for keyword in _LISTED_ITEMS:
                yield from zip(_as_list(schema.get(keyword)), items, strict=False)
            for subschema in [schema[keyword] for keyword in _OF_ITEMS if keyword in schema]:
                for item in items:
                    yield subschema, item

    def _in_place(self, schema: dict[str, Any]) -> Iterator[Any]:
        for keyword in _REFERENCES:
            target = self._target(schema.get(keyword))
            if target is not None:
                yield target
        for keyword in _ONE_IN_PLACE:
            if keyword in schema:
                yield schema[keyword]
        for keyword in _SOME_IN_PLACE:
            yield from _as_list(schema.get(keyword))
        for keyword in _NAMED_IN_PLACE:
            yield from _as_object(schema.get(keyword)).values()

    def _target(self, reference: Any) -> Any:
        """What a reference within the schema names; the validator judges those that name nothing."""
        if not isinstance(reference, str) or _DIALECTS.match(reference):
            return None
        name, _, fragment = urljoin(self._base, reference).partition("#")
        target: Any = self._named.get(name, self._named.get(name + "#"))
        if target is None:
            raise ValueError(f"the schema refers to {reference}, which is not part of it")
        if fragment in self._anchors:
            return self._anchors[fragment]
        for step in unquote(fragment).split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict):
                target = cast("dict[str, Any]", target).get(step)
            elif isinstance(target, list) and step.isdecimal() and int(step) < len(cast("list[Any]", target)):
                target = cast("list[Any]", target)[int(step)]
            else:
                return None
        return target

    def _count_subschemas(self, schema: Any, counted: dict[int, int], above: set[int]) -> int:
        """Count a schema's subschemas, each as often as it is referred to, but never within itself."""
        if not isinstance(schema, dict):
            return 1
        identity = id(cast("object", schema))
        if identity in above:
            return 1
        if identity not in counted:
            above.add(identity)
            parts = cast("dict[str, Any]", schema)
            children = [*self._in_place(parts), *_below(parts)]
            # What is evaluated is found out by looking at all of it once more.
            times = 2 if "unevaluatedProperties" in parts or "unevaluatedItems" in parts else 1
            counted[identity] = 1 + times * sum(self._count_subschemas(child, counted, above) for child in children)
            above.discard(identity)
        return counted[identity]


def _below(schema: dict[str, Any]) -> Iterator[Any]:
    for keyword in ("properties", "patternProperties"):
        yield from _as_object(schema.get(keyword)).values()
    for keyword in (*_OF_MEMBERS, "propertyNames"):
        if isinstance(schema.get(keyword), dict):
            yield schema[keyword]
    yield from _for_items(schema)


def _for_items(schema: dict[str, Any]) -> Iterator[Any]:
    for keyword in _OF_ITEMS:
        if isinstance(schema.get(keyword), dict):
            yield schema[keyword]
    for keyword in _LISTED_ITEMS:
        yield from _as_list(schema.get(keyword))


def _objects_in(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield cast("dict[str, Any]", part)
            waiting.extend(cast("dict[str, Any]", part).values())
        elif isinstance(part, list):
            waiting.extend(cast("list[Any]", part))


def _count_parts(value: Any) -> int:
    count, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        count += 1
        if isinstance(part, dict):
            waiting.extend(cast("dict[str, Any]", part).values())
        elif isinstance(part, list):
            waiting.extend(cast("list[Any]", part))
    return count


def _identifier(schema: dict[str, Any]) -> str:
    names = [schema.get(keyword) for keyword in ("$id", "id")]
    return next((name for name in names if isinstance(name, str)), "")


def _as_object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
