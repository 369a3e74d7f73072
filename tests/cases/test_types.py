"""Types of parameters and results: what users of such packages suffered from."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field
from typing_extensions import NotRequired, ReadOnly, TypeAliasType, TypedDict

from mcp import Client
from mcp.server.mcpserver import Context, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp_types import TextContent

if TYPE_CHECKING:
    from decimal import Context as Unimported

Mood = TypeAliasType("Mood", "Literal['good', 'bad'] | None")


def traced(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return wrapper


def whoami(ctx: Context) -> str:
    return f"request {ctx.request_id}"


@traced
def wrapped(
    mood: Literal["good", "bad"] | None, other: Mood, ctx: Context, who: Annotated[str, Resolve(whoami)]
) -> str:
    return f"{mood} {other} {ctx.request_id} {who}"


@pytest.mark.rule("CASE-40")
async def test_postponed_annotations_are_read_where_the_function_was_written() -> None:
    class Local(BaseModel):
        x: int

    def local(value: Local) -> int:
        return Local.model_validate(value).x

    mcp = MCPServer("Lab", tools=[wrapped, traced(local)])
    async with Client(mcp) as client:
        first, second = (await client.list_tools()).tools
        assert first.input_schema["properties"].keys() == {"mood", "other"}
        assert second.input_schema["$defs"].keys() == {"Local"}
        result = await client.call_tool("wrapped", {"mood": "good", "other": None})
        assert isinstance(result.content[0], TextContent)
        assert result.content[0].text.startswith("good None ")
        assert (await client.call_tool("local", {"value": {"x": 3}})).structured_content == {"result": 3}


@pytest.mark.rule("CASE-40")
def test_a_name_that_is_not_there_at_run_time_is_named_with_its_parameter() -> None:
    def tool(fine: int, value: Unimported) -> None: ...

    with pytest.raises(InvalidSignature, match="parameter 'value': name 'Unimported' is not defined"):
        MCPServer("Lab").add_tool(traced(tool))


class Movie(TypedDict):
    title: str
    year: NotRequired[int]
    language: ReadOnly[str]


class Partial(TypedDict, total=False):
    a: int


@dataclasses.dataclass
class Point:
    x: int
    y: int | None = None


class Aliased(BaseModel):
    name: str = Field(serialization_alias="theName", validation_alias="inName")


class Tree(BaseModel):
    children: list[Tree] = []


RESULTS: list[tuple[Any, Any, Any]] = [
    (Movie, {"title": "M", "language": "de"}, {"title": "M", "language": "de"}),
    (Partial, {}, {}),
    (Point, Point(1), {"x": 1, "y": None}),
    (Aliased, Aliased.model_validate({"inName": "n"}), {"theName": "n"}),
    (list[dict[str, Any]], [{"a": None}, {}], {"result": [{"a": None}, {}]}),
    (bytes, b"text", {"result": "text"}),
    (None, None, {"result": None}),
    (int | Point, Point(2), {"result": {"x": 2, "y": None}}),
    (Tree, Tree(children=[Tree()]), {"children": [{"children": []}]}),
]


@pytest.mark.rule("CASE-41")
@pytest.mark.parametrize(("annotation", "value", "structured"), RESULTS, ids=[str(entry[0]) for entry in RESULTS])
async def test_a_result_is_what_its_schema_says_and_its_text_is_the_same_data(
    annotation: Any, value: Any, structured: Any
) -> None:
    def tool() -> Any:
        return value

    tool.__annotations__["return"] = annotation
    async with Client(MCPServer("Lab", tools=[tool])) as client:
        (listed,) = (await client.list_tools()).tools
        result = await client.call_tool("tool")  # the client checks it as well
    assert result.is_error is False
    assert result.structured_content == structured
    assert listed.output_schema is not None
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    if texts and not isinstance(value, bytes) and annotation is not Aliased:
        copy = [json.loads(one) for one in texts]
        data = structured.get("result", structured)
        assert copy == (data if isinstance(data, list) else [data])
    validator: Any = jsonschema.Draft202012Validator(listed.output_schema)
    validator.validate(structured)


@pytest.mark.rule("CASE-41")
async def test_what_a_generator_yields_is_sent_as_one_array() -> None:
    def tool() -> Iterator[int]:
        yield from (1, 2)

    async with Client(MCPServer("Lab", tools=[tool])) as client:
        (listed,) = (await client.list_tools()).tools
        (block,) = (await client.call_tool("tool")).content
    assert listed.output_schema is None
    assert isinstance(block, TextContent)
    assert json.loads(block.text) == [1, 2]
