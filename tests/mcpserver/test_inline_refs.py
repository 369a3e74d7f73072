"""Schemas without references say the same as those with them."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from mcp.client import Client
from mcp.server.mcpserver._inline_refs import inline_refs
from mcp.server.mcpserver.server import MCPServer
from tests.mcpserver.wire import connect

T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    """What is inside."""

    color: Color = Color.RED
    note: str | None = Field(None, description="A note.")


class Outer(BaseModel):
    inner: Inner
    maybe: Inner | None = None
    many: dict[str, list[Inner]] = {}
    either: int | Inner = 0


class Box(BaseModel, Generic[T]):
    content: T


class Tree(BaseModel):
    value: Color | None = None
    children: list[Tree] = []
    twin: Optional[Tree] = None  # noqa: UP045


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]
    tail: Inner


class Mixed(enum.Enum):
    A = "a"
    TWO = 2


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]
TYPES: list[Any] = [
    Outer,
    Box[Inner],
    Tree,
    list[Tree],
    Pet,
    Color | None,
    Literal["a"] | None,
    dict[str, Pet] | None,
    Mixed | None,
]
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["red", "a", "cat", "dog", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["inner", "maybe", "many", "either", "color", "note", "content", "value", "children", "kind"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def is_valid(schema: dict[str, Any], data: Any) -> bool:
    validator: Any = jsonschema.Draft202012Validator(schema)
    return validator.is_valid(data)


@pytest.mark.rule("CASE-75")
@given(st.sampled_from(TYPES), DATA)
def test_the_meaning_stays(annotation: Any, data: Any) -> None:
    schema = TypeAdapter[Any](annotation).json_schema()
    inlined = inline_refs(schema)
    jsonschema.Draft202012Validator.check_schema(inlined)
    assert is_valid(inlined, data) is is_valid(schema, data)


@pytest.mark.rule("CASE-75")
def test_what_does_not_contain_itself_has_no_reference_left() -> None:
    annotations: list[Any] = [Outer, Box[Inner], Pet, Color | None]
    for annotation in annotations:
        inlined = inline_refs(TypeAdapter[Any](annotation).json_schema())
        assert "$ref" not in str(inlined)
        assert "$defs" not in inlined


@pytest.mark.rule("CASE-75")
def test_what_contains_itself_keeps_its_own_references_only() -> None:
    inlined = inline_refs(TypeAdapter[Any](dict[str, Tree]).json_schema())
    assert inlined["additionalProperties"] == {"$ref": "#/$defs/Tree"}
    assert inlined["$defs"].keys() == {"Tree"}
    assert inlined["$defs"]["Tree"]["properties"]["value"] == {
        "default": None, "enum": ["red", "blue", None], "title": "Color", "type": ["string", "null"],
    }  # fmt: skip
    assert inlined["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}


@pytest.mark.rule("CASE-75")
def test_null_joins_values_of_several_types() -> None:
    inlined = inline_refs(TypeAdapter[Any](Mixed | None).json_schema())
    assert inlined == {"enum": ["a", 2, None], "title": "Mixed"}


def test_words_beside_a_reference_win_and_constraints_are_joined() -> None:
    definitions = {"A": {"type": "string", "description": "of A", "minLength": 2}}
    described = {"$ref": "#/$defs/A", "description": "here", "default": "ab"}
    assert inline_refs({"properties": {"a": described}, "$defs": definitions}) == {
        "properties": {"a": {"type": "string", "description": "here", "minLength": 2, "default": "ab"}}
    }
    constrained = {"$ref": "#/$defs/A", "minLength": 5}
    assert inline_refs({"items": constrained, "$defs": definitions})["items"] == {
        "minLength": 5, "allOf": [definitions["A"]],
    }  # fmt: skip


def test_data_and_foreign_references_are_left_alone() -> None:
    schema: dict[str, Any] = {
        "properties": {"$ref": {"type": "string"}, "far": {"$ref": "https://example.com/schema"}},
        "default": {"$ref": "#/$defs/A"},
        "items": {"$ref": "#/$defs/Missing"},
        "anyOf": [{"type": "null"}, True],
    }
    assert inline_refs(schema) == schema


@pytest.mark.parametrize(
    "arm",
    [{"anyOf": [{"type": "string"}]}, {"type": "string", "not": {"const": "a"}}, {"type": ["string", "integer"]}, {}],
)
def test_null_is_only_merged_where_nothing_changes(arm: dict[str, Any]) -> None:
    schema = {"anyOf": [arm, {"type": "null"}]}
    assert inline_refs(schema) == schema
    beside = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}], "minLength": 2}
    assert inline_refs(beside) == beside


def f(outer: Outer, color: Color | None = None) -> Outer:
    return outer


@pytest.mark.rule("CASE-75")
async def test_a_server_lists_its_tools_without_references_only_if_told_so() -> None:
    async with connect(MCPServer("Lab", tools=[f])) as peer:
        (tool,) = (await peer.request("tools/list"))["tools"]
        assert tool["inputSchema"]["properties"]["outer"] == {"$ref": "#/$defs/Outer"}
    mcp = MCPServer("Lab", tools=[f], inline_refs=True)
    async with connect(mcp) as peer:
        (tool,) = (await peer.request("tools/list"))["tools"]
        assert "$ref" not in str(tool)
        assert tool["inputSchema"]["properties"]["color"]["type"] == ["string", "null"]
        assert tool["outputSchema"]["properties"]["inner"]["properties"]["color"]["enum"] == ["red", "blue"]
        result = await peer.call("f", outer='{"inner": {}}', color="red")
        assert result["structuredContent"]["inner"] == {"color": "red", "note": None}
    (direct,) = await mcp.list_tools()
    assert "$ref" not in str(direct.input_schema)
    async with Client(mcp) as client:  # which checks the result by the listed schema
        assert (await client.call_tool("f", {"outer": {"inner": {}}})).is_error is False
