"""What a tool's return value becomes."""

# The older spellings of optional types are what many authors write.
# ruff: noqa: UP007, UP045

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import logging
import math
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, NewType, Optional, Union

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, computed_field, field_serializer
from pydantic_core import PydanticSerializationError
from typing_extensions import NotRequired, TypeAliasType, TypedDict

from mcp.server.mcpserver._output import InvalidOutput, Output, ToolOutput
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.server import MCPServer
from mcp.server.mcpserver.utilities.types import Audio, Image
from mcp.shared.exceptions import MCPError
from mcp_types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from tests.mcpserver.wire import connect


class Point(BaseModel):
    """A point."""

    x: int
    label: str | None = None
    size: float = Field(1.5, alias="theSize")


class Point3D(Point):
    z: int = 7


@dataclasses.dataclass
class Box:
    width: int
    when: datetime.date


class Options(TypedDict):
    a: int
    b: NotRequired[str]


class Plain:
    """An ordinary class."""

    name: str
    size: int = 3

    def __init__(self, name: str) -> None:
        self.name = name


class Bare:
    def __init__(self) -> None:
        self.x = 1


class Color(enum.Enum):
    RED = "red"


class Access(enum.Flag):
    """Who may."""

    READ = 1
    WRITE = 2


class Untyped(BaseModel):
    any: Any = None


class Binary(BaseModel):
    data: bytes


class Pair(NamedTuple):
    left: int
    right: str


class Numbers(RootModel[list[int]]):
    pass


class Named(RootModel[dict[str, int]]):
    pass


Blocks = TypeAliasType("Blocks", list[TextContent])
Count = TypeAliasType("Count", int)


Size = NewType("Size", int)
Sizes = NewType("Sizes", list[Size])
Place = NewType("Place", Untyped)


def output_of(annotation: Any, structured_output: bool | None = None) -> Output:
    return Output("f", annotation, structured_output)


def convert(annotation: Any, value: Any) -> ToolOutput:
    return output_of(annotation).to_result(value)


def wrapped(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "title": "fOutput",
        "properties": {"result": {"title": "Result", **schema}},
        "required": ["result"],
        **more,
    }


@pytest.mark.rule("OUT-1")
async def test_without_annotation_there_is_only_content() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def f():
        return Point(x=1, theSize=2)

    async with connect(mcp) as peer:
        assert "outputSchema" not in (await peer.request("tools/list"))["tools"][0]
        assert await peer.call("f") == {
            "content": [{"type": "text", "text": '{\n  "x": 1,\n  "label": null,\n  "theSize": 2.0\n}'}],
            "isError": False,
        }


@pytest.mark.rule("OUT-2", "OUT-13")
def test_objects_are_their_own_schema() -> None:
    model = output_of(Point).schema
    assert model is not None
    assert (model["title"], model["description"], model["required"]) == ("Point", "A point.", ["x"])
    assert "theSize" in model["properties"]
    assert "$schema" not in model
    box = output_of(Box).schema
    assert box is not None
    assert box["properties"]["when"] == {"format": "date", "title": "When", "type": "string"}
    options = output_of(Options).schema
    assert options is not None
    assert options["required"] == ["a"]
    assert "default" not in options["properties"]["b"]
    plain = output_of(Plain).schema
    assert plain is not None
    assert (plain["title"], plain["description"], plain["required"]) == ("Plain", "An ordinary class.", ["name"])


@pytest.mark.rule("OUT-3")
def test_dicts_with_text_keys_are_objects() -> None:
    assert output_of(dict[str, int]).schema == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
        "title": "fDictOutput",
    }
    assert output_of(dict[str, Any]).schema == {"type": "object", "additionalProperties": True, "title": "fDictOutput"}


@pytest.mark.rule("OUT-4", "OUT-D4")
@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (bytes, {"type": "string", "format": "binary"}),
        (None, {"type": "null"}),
        (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict[int, str], {"type": "object", "additionalProperties": {"type": "string"}}),
        (Annotated[int, Field(ge=2)], {"type": "integer", "minimum": 2}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
    ],
)
def test_other_values_stand_under_result(annotation: Any, schema: dict[str, Any]) -> None:
    assert output_of(annotation).schema == wrapped(schema)


@pytest.mark.rule("OUT-4", "OUT-D4")
def test_enums_decimals_iterables_and_aliases_stand_under_result() -> None:
    for annotation in (Color, decimal.Decimal, Iterable[int], Count, list[Point], tuple[int, str]):
        schema = output_of(annotation).schema
        assert schema is not None
        assert list(schema["properties"]) == ["result"]


@pytest.mark.rule("OUT-5", "OUT-12", "OUT-D5")
@pytest.mark.parametrize(
    "annotation",
    [list, dict, Any, object, Pair, Bare, Iterator[Bare], Awaitable[int], Callable[[], int], list[Bare]],
)
def test_types_that_say_too_little_have_content_only(annotation: Any) -> None:
    assert output_of(annotation).schema is None
    result = convert(annotation, 5)
    assert result == {"content": [{"type": "text", "text": "5"}], "isError": False}


@pytest.mark.rule("OUT-6", "MEDIA-6")
@pytest.mark.parametrize(
    "annotation",
    [
        TextContent,
        ImageContent,
        AudioContent,
        EmbeddedResource,
        ResourceLink,
        ContentBlock,
        Image,
        Audio,
        list[Image],
        tuple[TextContent, ...],
        Sequence[ContentBlock],
        TextContent | str,
        Image | None,
        Annotated[TextContent, "x"],
        Blocks,
    ],
)
def test_content_blocks_are_no_data(annotation: Any) -> None:
    assert output_of(annotation).schema is None


@pytest.mark.rule("OUT-6")
def test_content_blocks_inside_data_are_data() -> None:
    assert output_of(dict[str, TextContent]).schema is not None


@pytest.mark.rule("OUT-7")
def test_content_blocks_can_be_asked_for_as_data_but_media_cannot() -> None:
    assert output_of(TextContent, True).schema is not None
    with pytest.raises(InvalidSignature, match=r"is not serializable for structured output$"):
        output_of(list[Image], True)


@pytest.mark.rule("OUT-8")
def test_a_hand_built_result_has_no_schema_and_stands_alone() -> None:
    assert output_of(CallToolResult).schema is None
    for annotation in (CallToolResult | None, CallToolResult | str, Optional[CallToolResult]):
        with pytest.raises(InvalidSignature) as caught:
            output_of(annotation)
        assert str(caught.value) == (
            "Function f: CallToolResult cannot be used in Union or Optional types. "
            "To return empty results, use: CallToolResult(content=[])"
        )


@pytest.mark.rule("OUT-9")
def test_a_hand_built_result_can_be_described() -> None:
    point = output_of(Annotated[CallToolResult, Point]).schema
    assert point is not None
    assert point["title"] == "Point"
    assert output_of(Annotated[CallToolResult, int]).schema == wrapped({"type": "integer"})
    assert output_of(Annotated[CallToolResult, list[TextContent]]).schema is None


@pytest.mark.rule("OUT-10", "MRTR-16")
def test_questions_add_nothing_to_the_schema() -> None:
    assert output_of(int | InputRequiredResult).schema == wrapped({"type": "integer"})
    assert output_of(InputRequiredResult).schema is None
    described = output_of(Annotated[CallToolResult, int] | InputRequiredResult).schema
    assert described == wrapped({"type": "integer"})
    assert output_of(CallToolResult | InputRequiredResult).schema is None


@pytest.mark.rule("OUT-11")
@pytest.mark.parametrize("annotation", [Final[int], ClassVar[int]])
def test_type_qualifiers_are_no_return_annotations(annotation: Any) -> None:
    with pytest.raises(InvalidSignature, match=r"^Function f: return annotation contains an invalid type qualifier$"):
        output_of(annotation)


@pytest.mark.rule("OUT-7", "OUT-5")
def test_structured_output_that_cannot_be_is_refused() -> None:
    mcp = MCPServer("Lab")

    def untyped(): ...

    def opaque() -> Bare: ...  # pyright: ignore[reportReturnType]

    with pytest.raises(InvalidSignature) as caught:
        mcp.add_tool(untyped, structured_output=True)
    assert str(caught.value) == "Function untyped: return annotation required for structured output"
    with pytest.raises(InvalidSignature, match=r"return type <class '.*Bare'> is not serializable for structured"):
        mcp.add_tool(opaque, structured_output=True)


async def test_structured_output_can_be_turned_off() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool(structured_output=False)
    async def f() -> int:
        return 1

    async with connect(mcp) as peer:
        assert "outputSchema" not in (await peer.request("tools/list"))["tools"][0]
        assert await peer.call("f") == {"content": [{"type": "text", "text": "1"}], "isError": False}


@pytest.mark.rule("OUT-14", "OUT-D8")
def test_a_root_model_is_its_own_schema_if_it_is_an_object() -> None:
    schema = output_of(Named).schema
    assert schema is not None
    assert schema["title"] == "Named"
    numbers = output_of(Numbers)
    assert numbers.schema is not None
    assert list(numbers.schema["properties"]) == ["result"]
    result = numbers.to_result(Numbers([1]))
    assert isinstance(result, dict)
    assert result["structuredContent"] == {"result": [1]}


@pytest.mark.rule("OUT-15", "OUT-16", "OUT-17", "OUT-19", "OUT-24", "OUT-25")
@pytest.mark.parametrize(
    ("annotation", "value", "structured", "texts"),
    [
        (int, 8, {"result": 8}, ["8"]),
        (int, "5", {"result": 5}, ["5"]),
        (int, True, {"result": 1}, ["true"]),
        (bool, False, {"result": False}, ["false"]),
        (str, "", {"result": ""}, [""]),
        (float, 1, {"result": 1.0}, ["1"]),
        (float, 1.5, {"result": 1.5}, ["1.5"]),
        (list[int], [2, 3], {"result": [2, 3]}, ["2", "3"]),
        (dict[str, int], {"a": 1}, {"a": 1}, ['{\n  "a": 1\n}']),
        (None, None, {"result": None}, []),
        (Optional[str], None, {"result": None}, []),
        (set[int], {1}, {"result": [1]}, ["[\n  1\n]"]),
        (tuple[int, str], (1, "a"), {"result": [1, "a"]}, ["1", "a"]),
        (bytes, "aé".encode(), {"result": "aé"}, ['"aé"']),
        (datetime.date, datetime.date(2026, 1, 2), {"result": "2026-01-02"}, ['"2026-01-02"']),
        (Color, Color.RED, {"result": "red"}, ['"red"']),
        (
            Point,
            Point(x=1, theSize=2),
            {"x": 1, "label": None, "theSize": 2.0},
            ['{\n  "x": 1,\n  "label": null,\n  "theSize": 2.0\n}'],
        ),
        (Point, {"x": "1"}, {"x": 1, "label": None, "theSize": 1.5}, ['{\n  "x": "1"\n}']),
        (
            Point,
            Point3D.model_validate({"x": 1}),
            {"x": 1, "label": None, "theSize": 1.5, "z": 7},
            ['{\n  "x": 1,\n  "label": null,\n  "theSize": 1.5,\n  "z": 7\n}'],
        ),
        (Options, {"a": 1, "c": 2}, {"a": 1}, ['{\n  "a": 1,\n  "c": 2\n}']),
        (Box, Box(1, datetime.date(2026, 1, 2)), {"width": 1, "when": "2026-01-02"}, None),
        (Plain, Plain("n"), {"name": "n", "size": 3}, None),
    ],
)
def test_values_become_data_and_text(
    annotation: Any, value: Any, structured: dict[str, Any], texts: list[str] | None
) -> None:
    result = convert(annotation, value)
    assert isinstance(result, dict)
    assert result["structuredContent"] == structured
    assert result["isError"] is False
    if texts is not None:
        assert result["content"] == [{"type": "text", "text": text} for text in texts]


@pytest.mark.rule("OUT-18", "OUT-19", "OUT-D3", "ERR-D3")
async def test_a_value_that_is_not_what_was_promised_names_the_member(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def f() -> Point:
        return {"x": "secret"}  # pyright: ignore[reportReturnType]

    @mcp.tool()
    async def g() -> int:
        return {"result": 5}  # pyright: ignore[reportReturnType]

    caplog.set_level(logging.INFO)
    async with connect(mcp) as peer:
        result = await peer.call("f")
        assert result == {
            "content": [
                {
                    "type": "text",
                    "text": "Error executing tool f: the returned value does not match the declared output "
                    "(x: Input should be a valid integer, unable to parse string as an integer)",
                }
            ],
            "isError": True,
        }
        assert (await peer.call("g"))["isError"] is True
    assert "secret" not in caplog.text


async def test_a_forgotten_await_is_called_by_its_name() -> None:
    mcp = MCPServer("Lab")

    async def later() -> str:
        raise AssertionError("never awaited")

    @mcp.tool()
    async def declared() -> str:
        return later()  # pyright: ignore[reportReturnType]

    @mcp.tool()
    async def silent():  # pyright: ignore[reportUnknownParameterType]
        return [later()]

    async with connect(mcp) as peer:
        for name in ("declared", "silent"):
            result = await peer.call(name)
            assert result["isError"] is True
            assert "the function returned a coroutine; an 'await' is missing" in result["content"][0]["text"]


@pytest.mark.rule("OUT-26")
def test_bytes_that_are_no_text_are_an_error() -> None:
    for annotation in (bytes, Any):
        with pytest.raises(Exception, match="cannot be expressed as JSON"):
            convert(annotation, b"\xff")


@pytest.mark.rule("CASE-39")
@pytest.mark.parametrize("value", [math.nan, {"a": [math.inf]}, [1, math.nan], {math.nan}])
async def test_numbers_that_json_cannot_express_are_refused_without_a_schema_as_well(value: Any) -> None:
    mcp = MCPServer("Lab")

    @mcp.tool(structured_output=False)
    def plain() -> Any:
        return value

    @mcp.tool
    def words() -> dict[str, Any]:
        return {"text": ["NaN", "Infinity"]}

    @mcp.resource("x://value")
    def resource() -> Any:
        return value

    async with connect(mcp) as peer:
        assert "which is not a finite number" in await peer.text("plain")
        assert json.loads(await peer.text("words")) == {"text": ["NaN", "Infinity"]}
        with pytest.raises(MCPError, match="Error reading resource x://value"):
            await peer.request("resources/read", {"uri": "x://value"})


@pytest.mark.rule("OUT-21", "OUT-D6", "CASE-39")
@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [
        (float, float("nan"), "the returned value at 'result' is not a finite number"),
        (list[float], [1.0, float("inf")], "the returned value at 'result.1' is not a finite number"),
        (Point, Point(x=1, theSize=float("-inf")), "the returned value at 'theSize' is not a finite number"),
        (dict[str, Any], {"a": {"b": float("nan")}}, "the returned value holds NaN, which is not a finite number"),
        # Untyped members of models, for which pydantic itself writes `null`.
        (
            Untyped,
            Untyped(any={"b": float("-inf")}),
            "the returned value holds -Infinity, which is not a finite number",
        ),
        (list[Untyped], [Untyped(any=[float("nan")])], "the returned value holds NaN, which is not a finite number"),
        (Any, Untyped(any=(float("nan"),)), "the returned value holds NaN, which is not a finite number"),
        (Any, {"a": [None, Untyped(any=float("nan"))]}, "the returned value holds NaN, which is not a finite number"),
    ],
)
def test_numbers_that_json_cannot_express_are_refused(annotation: Any, value: Any, text: str) -> None:
    assert convert(dict[str, Any], {"a": "NaN", "b": {1: None}})
    assert convert(Untyped, Untyped(any=[None, {2, 3.5}, Untyped()]))
    with pytest.raises(Exception, match=f"^{text}$"):
        convert(annotation, value)


@pytest.mark.parametrize("annotation", [int, list[int], dict[str, Any]])
@pytest.mark.parametrize("text_copy", [True, False])
def test_an_integer_that_readers_would_refuse_is_refused(annotation: Any, text_copy: bool) -> None:
    def value(number: int) -> Any:
        return {int: number, list[int]: [number], dict[str, Any]: {"a": -number}}[annotation]

    output = Output("f", annotation, None, text_copy=text_copy)
    assert output.to_result(value(10**4299))
    with pytest.raises(InvalidOutput, match="integer with more digits than readers of JSON take"):
        output.to_result(value(10**4300))
    assert convert(annotation | str, "1" * 5000)


def test_a_key_that_is_no_text_is_refused_rather_than_replaced() -> None:
    with pytest.raises(InvalidOutput, match="has a key that is no Unicode text"):
        convert(dict[str, dict[str, int]], {"a": {"\ud800": 1}})
    result = convert(dict[str, list[Any]], {"\ufffd": [{"\ufffd": "\ufffd"}]})
    assert isinstance(result, dict)
    assert result["structuredContent"] == {"\ufffd": [{"\ufffd": "\ufffd"}]}


@pytest.mark.parametrize("annotation", [Any, list[Any], dict[str, Any], Untyped])
def test_a_value_that_contains_itself_is_refused(annotation: Any) -> None:
    items: list[Any] = []
    items.append(items)
    members: dict[str, Any] = {"any": items}
    value = {Any: items, list[Any]: items, dict[str, Any]: members, Untyped: Untyped(any=items)}[annotation]
    with pytest.raises(InvalidOutput, match="cannot be expressed as JSON"):
        convert(annotation, value)


class Faulty(BaseModel):
    x: int = 1

    @field_serializer("x")
    def fail(self, value: int) -> int:
        raise KeyError("secret")


@pytest.mark.parametrize("annotation", [Any, Faulty, list[Faulty]])
def test_a_serializer_that_fails_is_a_fault_of_the_server(annotation: Any) -> None:
    with pytest.raises(PydanticSerializationError, match="secret"):  # which is masked, and logged with its traceback
        convert(annotation, [Faulty()] if annotation == list[Faulty] else Faulty())


@pytest.mark.parametrize("annotation", [Any, Binary])
def test_bytes_of_a_model_that_are_no_text_are_refused(annotation: Any) -> None:
    with pytest.raises(InvalidOutput, match="cannot be expressed as JSON"):
        convert(annotation, Binary(data=b"\xff"))


@pytest.mark.parametrize(
    ("annotation", "schema", "value", "sent"),
    [
        (Size, {"title": "Result", "type": "integer"}, 1, 1),
        (Sizes, {"items": {"type": "integer"}, "title": "Result", "type": "array"}, [1], [1]),
        (Annotated[Place, "metadata"], {"$ref": "#/$defs/Untyped"}, Untyped(any=1), {"any": 1}),
    ],
)
def test_a_new_type_has_the_schema_of_what_it_stands_for(annotation: Any, schema: Any, value: Any, sent: Any) -> None:
    output = output_of(annotation)
    assert output.schema is not None
    assert output.schema["properties"] == {"result": schema}
    result = output.to_result(value)
    assert isinstance(result, dict)
    assert result["structuredContent"] == {"result": sent}


def test_flags_are_numbers_since_they_can_be_combined() -> None:
    output = output_of(list[Access])
    assert output.schema is not None
    assert output.schema["$defs"]["Access"] == {"description": "Who may.", "title": "Access", "type": "integer"}
    result = output.to_result([Access.READ | Access.WRITE])
    assert isinstance(result, dict)
    assert result["structuredContent"] == {"result": [3]}


@pytest.mark.rule("OUT-20", "OUT-D2", "TOOLS-37")
async def test_a_hand_built_result_has_to_keep_its_promise() -> None:
    mcp = MCPServer("Lab")
    text = TextContent(type="text", text="t")

    @mcp.tool()
    async def coerced() -> Annotated[CallToolResult, Point]:
        return CallToolResult(content=[text], structured_content={"x": "5"})

    @mcp.tool()
    async def missing() -> Annotated[CallToolResult, Point]:
        return CallToolResult(content=[text])

    @mcp.tool()
    async def failed() -> Annotated[CallToolResult, Point]:
        return CallToolResult(content=[text], is_error=True)

    @mcp.tool()
    async def free() -> CallToolResult:
        return CallToolResult(content=[text], structured_content={"any": "thing"})

    @mcp.tool()
    async def undeclared() -> int:
        return CallToolResult(content=[text], structured_content={"result": "7"})  # pyright: ignore[reportReturnType]

    async with connect(mcp) as peer:
        assert (await peer.call("coerced"))["structuredContent"] == {"x": 5, "label": None, "theSize": 1.5}
        assert (await peer.call("missing"))["isError"] is True
        assert await peer.call("failed") == {"content": [{"type": "text", "text": "t"}], "isError": True}
        assert (await peer.call("free"))["structuredContent"] == {"any": "thing"}
        assert (await peer.call("undeclared"))["structuredContent"] == {"result": 7}


@pytest.mark.rule("OUT-9")
def test_a_described_result_must_be_one() -> None:
    with pytest.raises(Exception, match=r"^expected a CallToolResult, got int$"):
        convert(Annotated[CallToolResult, int], 5)


@pytest.mark.rule("OUT-22", "OUT-23", "OUT-D7", "MEDIA-7", "MEDIA-8")
def test_values_without_schema_become_content() -> None:
    link = ResourceLink(type="resource_link", name="n", uri="a://b")
    embedded = EmbeddedResource(
        type="resource", resource=TextResourceContents(uri="a://b", mime_type="text/markdown", text="t")
    )
    value = ["a", None, [link, (1,)], Image(data=b"a"), Audio(data=b"b"), {"é": None}, embedded]
    result = convert(Any, value)
    assert result == {
        "content": [
            {"type": "text", "text": "a"},
            {"type": "text", "text": "null"},
            {"type": "resource_link", "name": "n", "uri": "a://b"},
            {"type": "text", "text": "1"},
            {"type": "image", "data": "YQ==", "mimeType": "image/png"},
            {"type": "audio", "data": "Yg==", "mimeType": "audio/wav"},
            {"type": "text", "text": '{\n  "é": null\n}'},
            {"type": "resource", "resource": {"uri": "a://b", "mimeType": "text/markdown", "text": "t"}},
        ],
        "isError": False,
    }
    assert convert(Any, None) == {"content": [], "isError": False}


@pytest.mark.rule("OUT-24")
def test_what_json_cannot_express_becomes_its_repr() -> None:
    result = convert(Any, Bare())
    assert isinstance(result, dict)
    assert "Bare object at" in result["content"][0]["text"]


@pytest.mark.rule("OUT-D1")
async def test_the_schema_describes_what_is_sent() -> None:
    class Invoice(BaseModel):
        model_config = ConfigDict(extra="forbid")

        amount: int
        paid: bool = Field(False, validation_alias="isPaid", serialization_alias="wasPaid")

        @computed_field
        @property
        def doubled(self) -> int:
            return self.amount * 2

        @field_serializer("amount")
        def spell(self, value: int) -> str:
            return f"{value} EUR"

    output = output_of(Invoice)
    assert output.schema is not None
    assert set(output.schema["properties"]) == {"amount", "wasPaid", "doubled"}
    assert output.schema["properties"]["amount"]["type"] == "string"
    result = output.to_result(Invoice.model_validate({"amount": 2}))
    assert isinstance(result, dict)
    assert result["structuredContent"] == {"amount": "2 EUR", "wasPaid": False, "doubled": 4}


def test_the_schema_is_made_once() -> None:
    output = output_of(Point)
    assert output.schema is output.schema


class Rows:
    """Rows of a table whose database goes away after the first."""

    def __init__(self, *later: object) -> None:
        self._later = later

    def __call__(self) -> Iterator[object]:
        yield "row1"
        yield from self._later
        if not self._later:
            raise ValueError("db gone")


async def test_what_a_generator_yields_is_one_text() -> None:
    def rows() -> Any:
        yield from ["row1", 2]

    def typed() -> Iterable[str]:
        return iter(["row1", "row2"])

    mcp = MCPServer("Lab")
    mcp.add_tool(rows)
    mcp.add_tool(typed)
    async with connect(mcp) as peer:
        assert json.loads(await peer.text("rows")) == ["row1", 2]
        result = await peer.call("typed")
        assert result["structuredContent"] == {"result": ["row1", "row2"]}
        assert [block["text"] for block in result["content"]] == ["row1", "row2"]


@pytest.mark.parametrize("later", [(), ("\ud800",), (b"\xff",), (math.nan,)], ids=repr)
async def test_an_iterator_that_fails_half_way_is_a_failure(
    later: tuple[object, ...], caplog: pytest.LogCaptureFixture
) -> None:
    rows = Rows(*later)

    def bare():
        return rows()

    def nested():
        return {"rows": rows()}

    def listed() -> list[Any]:
        return rows()  # pyright: ignore[reportReturnType]

    mcp = MCPServer("Lab")
    mcp.resource("x://rows")(bare)
    mcp.prompt("rows")(bare)
    for tool in (bare, nested, listed):
        mcp.add_tool(tool)
    async with connect(mcp) as peer:
        for tool in (bare, nested, listed):
            result = await peer.call(tool.__name__)
            if tool is not nested and later == ("\ud800",):  # a list may hold what is no Unicode text
                continue
            assert result["isError"], result
            assert "db gone" not in str(result)
        if later == ():
            for method, params in (("resources/read", {"uri": "x://rows"}), ("prompts/get", {"name": "rows"})):
                with pytest.raises(MCPError) as caught:
                    await peer.request(method, params)
                assert "db gone" not in str(caught.value)
    assert later or "db gone" in caplog.text


async def test_an_async_generator_is_refused() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def rows():
        yield 1

    async with connect(mcp) as peer:
        text = await peer.text("rows")
        assert text.endswith("the function returned an async generator; collect what it yields and return that")
