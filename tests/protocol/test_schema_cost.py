"""Schemas of a few lines that would keep a validator busy for ever are told from those that only look so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp._protocol.schema_cost import SchemaCost


def doubling(levels: int, **members: Any) -> dict[str, Any]:
    """A schema each of whose definitions refers to the next one twice."""
    definitions: dict[str, Any] = {f"d{levels}": {"const": 1}}
    for level in range(levels):
        ref = {"$ref": f"#/$defs/d{level + 1}"}
        definitions[f"d{level}"] = {"anyOf": [ref, dict(ref)], **members}
    return {"$defs": definitions, "$ref": "#/$defs/d0"}


def chained(
    name: Callable[[int], dict[str, Any]], reference: str, use: Callable[[list[Any]], dict[str, Any]]
) -> dict[str, Any]:
    """The same with names of another kind, used in another way."""
    references = [{"$ref": reference.format(number + 1)} for number in range(30)]
    definitions = {f"d{number}": {**name(number), **use([ref, dict(ref)])} for number, ref in enumerate(references)}
    return {"$defs": {**definitions, "d30": name(30)}, "$ref": reference.format(0)}


def nested(levels: int, value: Any = None) -> Any:
    for _ in range(levels):
        value = {"a": value}
    return value


ROOT = {"$ref": "#"}
EXPRESSION: dict[str, Any] = {
    "$defs": {
        "any": {"oneOf": [{"$ref": "#/$defs/add"}, {"$ref": "#/$defs/neg"}]},
        "add": {"properties": {"kind": {"const": "add"}, "a": {"$ref": "#/$defs/any"}, "b": {"$ref": "#/$defs/any"}}},
        "neg": {"properties": {"kind": {"const": "neg"}, "a": {"$ref": "#/$defs/any"}}},
    },
    "$ref": "#/$defs/any",
}


@pytest.mark.rule("BASE-X-14")
@pytest.mark.parametrize(
    "schema",
    [
        doubling(30),
        doubling(14, unevaluatedProperties=False),
        {"items": doubling(30)["$defs"]["d0"], "$defs": doubling(30)["$defs"]},
        {"$id": "http://a/b", **doubling(30)},
        chained(lambda number: {"$id": f"http://a/{number}"}, "http://a/{}", lambda twice: {"allOf": twice}),
        chained(lambda number: {"$anchor": f"a{number}"}, "#a{}", lambda twice: {"not": {"oneOf": twice}}),
        chained(
            lambda number: {"$anchor": f"a{number}"},
            "#a{}",
            lambda twice: {"properties": {"x": twice[0], "y": {"items": twice[1]}}},
        ),
    ],
)
def test_a_schema_that_multiplies_by_reference_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="more than 1000000 subschemas"):
        SchemaCost(schema)


ORDINARY: list[tuple[dict[str, Any], Any]] = [
    ({}, nested(190)),
    ({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}, {"a": [1] * 5000}),
    (doubling(8), {}),
    ({"properties": {"a": ROOT, "b": ROOT}}, nested(150)),
    ({"$dynamicAnchor": "x", "properties": {"a": {"$dynamicRef": "#x"}}}, nested(150)),
    (EXPRESSION, {"kind": "add", "a": {"kind": "neg"}, "b": {"kind": "add"}}),
    ({"$ref": "http://json-schema.org/draft-07/schema#"}, {}),
    ({"$id": "http://a/b", "$defs": {"c d": {}, "e/f": [{}, {}]}, "allOf": [{"$ref": "#/$defs/c%20d"}]}, {}),
    ({"definitions": {"n": {"id": "#n"}}, "items": [{"$ref": "#/definitions/n"}], "additionalItems": True}, [1]),
    ({"items": {"prefixItems": [{"type": "null"}], "unevaluatedItems": False, "contains": {}}}, [[None], [1, 2]]),
    ({"patternProperties": {"^a": {}}, "propertyNames": {"pattern": "a"}, "additionalProperties": False}, {"a": 1}),
    ({"dependentSchemas": {"a": {"required": ["b"]}}, "if": {}, "then": {}, "else": {}, "not": False}, {"a": 1}),
]


@pytest.mark.rule("BASE-X-14")
@pytest.mark.parametrize(("schema", "value"), ORDINARY)
def test_an_ordinary_schema_is_neither_refused_nor_without_explanation(schema: dict[str, Any], value: Any) -> None:
    assert SchemaCost(schema).can_explain(value)


@pytest.mark.rule("BASE-X-14")
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (ROOT, {}),
        ({"allOf": [ROOT]}, {}),
        ({"properties": {"a": {"anyOf": [ROOT, dict(ROOT)]}}}, nested(40)),
        (EXPRESSION, nested(40)),
    ],
)
def test_what_fits_in_too_many_ways_is_not_explained(schema: dict[str, Any], value: Any) -> None:
    assert not SchemaCost(schema).can_explain(value)


@pytest.mark.rule("BASE-X-13")
@pytest.mark.parametrize("reference", ["http://a/b", "other", "other#/x"])
def test_a_reference_to_something_else_is_refused(reference: str) -> None:
    with pytest.raises(ValueError, match="which is not part of it"):
        SchemaCost({"properties": {"a": {"$ref": reference}}})


@pytest.mark.parametrize("reference", ["#/nothing/here", "#/$defs/0/x", "#/$defs/9", 3, None])
def test_a_reference_to_nothing_is_left_to_the_validator(reference: Any) -> None:
    assert SchemaCost({"$defs": [{"x": {}}], "allOf": [{"$ref": reference}]}).can_explain({})
