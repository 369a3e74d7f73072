"""From parameters to the input schema, and from arguments to the call."""

# Authors write the older spellings of optional types, and defaults that are made at definition.
# ruff: noqa: B006, B008, UP007, UP045

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import logging
import math
import pathlib
import uuid
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypeVar, Union

import pytest
from annotated_types import Ge, MaxLen
from pydantic import BaseModel, Field
from typing_extensions import NotRequired, TypedDict

from mcp.server.mcpserver._signature import Arguments, InvalidArguments, build_arguments, read_signature
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.server import MCPServer
from tests.mcpserver.wire import connect

T = TypeVar("T")
UserName = NewType("UserName", str)


class Point(BaseModel):
    x: int
    y: int = 0


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Box:
    width: int


class Options(TypedDict):
    a: int
    b: NotRequired[str]


class Pair(NamedTuple):
    left: int
    right: str


class Opaque:
    pass


def arguments_of(fn: Callable[..., Any]) -> Arguments:
    return build_arguments(read_signature(fn))


def properties(fn: Callable[..., Any]) -> dict[str, Any]:
    return arguments_of(fn).json_schema["properties"]


def schema_of(annotation: Any) -> dict[str, Any]:
    def f(value: Any) -> None: ...

    f.__annotations__["value"] = annotation
    schema = properties(f)["value"]
    schema.pop("title", None)
    return schema


@pytest.mark.rule("TOOLS-13")
@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (str, {"type": "string"}),
        (None, {"type": "null"}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Union[int, str, None], {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
        (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
        (Literal["a"], {"const": "a", "type": "string"}),
        (Literal[1, 2], {"enum": [1, 2], "type": "integer"}),
        (list[int], {"items": {"type": "integer"}, "type": "array"}),
        (Sequence[int], {"items": {"type": "integer"}, "type": "array"}),
        (set[int], {"items": {"type": "integer"}, "type": "array", "uniqueItems": True}),
        (frozenset[int], {"items": {"type": "integer"}, "type": "array", "uniqueItems": True}),
        (
            tuple[int, str],
            {"maxItems": 2, "minItems": 2, "prefixItems": [{"type": "integer"}, {"type": "string"}], "type": "array"},
        ),
        (dict[str, int], {"additionalProperties": {"type": "integer"}, "type": "object"}),
        (dict[str, Any], {"additionalProperties": True, "type": "object"}),
        (datetime.datetime, {"format": "date-time", "type": "string"}),
        (datetime.date, {"format": "date", "type": "string"}),
        (datetime.time, {"format": "time", "type": "string"}),
        (datetime.timedelta, {"format": "duration", "type": "string"}),
        (uuid.UUID, {"format": "uuid", "type": "string"}),
        (pathlib.Path, {"format": "path", "type": "string"}),
        (bytes, {"format": "binary", "type": "string"}),
        (Any, {}),
        (object, {}),
        (T, {}),
    ],
)
def test_types_become_json_schemas(annotation: Any, expected: dict[str, Any]) -> None:
    assert schema_of(annotation) == expected


@pytest.mark.rule("TOOLS-13")
def test_named_types_become_definitions() -> None:
    def f(model: Point, color: Color, box: Box, options: Options, pair: Pair) -> None: ...

    schema = arguments_of(f).json_schema
    assert schema["properties"]["model"] == {"$ref": "#/$defs/Point"}
    definitions = schema["$defs"]
    assert definitions["Point"]["required"] == ["x"]
    assert definitions["Color"] == {"enum": ["red", "blue"], "title": "Color", "type": "string"}
    assert definitions["Box"]["properties"] == {"width": {"title": "Width", "type": "integer"}}
    assert definitions["Options"]["required"] == ["a"]
    assert definitions["Pair"]["prefixItems"][1] == {"title": "Right", "type": "string"}


def test_a_decimal_is_a_number_or_a_string() -> None:
    assert [arm["type"] for arm in schema_of(decimal.Decimal)["anyOf"]] == ["number", "string"]


def test_a_default_of_none_leaves_the_annotation_as_it_is() -> None:
    def f(
        x: Annotated[int, Field(description="d", alias="theX")] = None,  # noqa: RUF013  # pyright: ignore[reportArgumentType]
    ) -> None: ...

    assert properties(f) == {"theX": {"default": None, "description": "d", "title": "Thex", "type": "integer"}}


@pytest.mark.rule("TOOLS-11", "TOOLS-30")
def test_defaults_are_shown_in_their_json_form_and_copied_for_each_call() -> None:
    def f(
        point: Point = Point(x=1),
        box: Box = Box(2),
        numbers: set[int] = {1},
        items: list[int] = [1],
        when: datetime.date = datetime.date(2026, 1, 2),
    ) -> None: ...

    arguments = arguments_of(f)
    shown = {name: schema["default"] for name, schema in arguments.json_schema["properties"].items()}
    assert shown == {
        "point": {"x": 1, "y": 0},
        "box": {"width": 2},
        "numbers": [1],
        "items": [1],
        "when": "2026-01-02",
    }
    assert "required" not in arguments.json_schema
    first = arguments.validate({})
    first["items"].append(2)
    assert arguments.validate({})["items"] == [1]


@pytest.mark.rule("TOOLS-11")
def test_a_default_without_a_json_form_is_used_but_not_shown() -> None:
    marker = Opaque()

    def f(x: Any = marker) -> None: ...

    arguments = arguments_of(f)
    assert arguments.json_schema["properties"] == {"x": {"title": "X"}}
    assert arguments.validate({})["x"] is marker


@pytest.mark.rule("TOOLS-14")
def test_constraints_are_shown_and_enforced() -> None:
    def f(
        a: Annotated[int, Field(description="An a", ge=1)],
        b: str = Field("x", max_length=3, pattern="^[a-z]+$"),
        c: Annotated[int, Ge(0)] = 0,
        d: Annotated[str, MaxLen(2), "other metadata"] = "",
        e: list[int] = Field(default_factory=lambda: [7]),
    ) -> None: ...

    arguments = arguments_of(f)
    shown = arguments.json_schema["properties"]
    assert shown["a"] == {"description": "An a", "minimum": 1, "title": "A", "type": "integer"}
    assert shown["b"] == {"default": "x", "maxLength": 3, "pattern": "^[a-z]+$", "title": "B", "type": "string"}
    assert shown["c"] == {"default": 0, "minimum": 0, "title": "C", "type": "integer"}
    assert shown["d"]["maxLength"] == 2
    assert "default" not in shown["e"]
    assert arguments.json_schema["required"] == ["a"]
    assert arguments.validate({"a": 1}) == {"a": 1, "b": "x", "c": 0, "d": "", "e": [7]}
    with pytest.raises(InvalidArguments) as caught:
        arguments.validate({"a": 0, "b": "long", "c": -1})
    assert caught.value.fields == ["a", "b", "c"]


@pytest.mark.rule("TOOLS-15", "TOOLS-D6")
def test_a_parameter_without_annotation_takes_anything() -> None:
    def f(x: Any, y: Any = 1) -> None: ...

    f.__annotations__.clear()
    assert properties(f) == {"x": {"title": "x"}, "y": {"default": 1, "title": "y"}}
    assert arguments_of(f).validate({"x": [1]}) == {"x": [1], "y": 1}

    def g(x: Any, y: Point) -> None: ...

    del g.__annotations__["x"]
    assert properties(g)["x"] == {"title": "x"}


@pytest.mark.rule("TOOLS-16", "TOOLS-D8", "CASE-73")
async def test_names_that_pydantic_uses_itself_are_ordinary_names() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def f(
        schema: str, json: int, copy: bool, dict: str, validate: int, model_dump: int, model_config: Point, self: int
    ) -> list[Any]:
        return [schema, json, copy, dict, validate, model_dump, model_config.x, self]

    async with connect(mcp) as peer:
        result = await peer.call(
            "f",
            schema="s",
            json=1,
            copy=True,
            dict="d",
            validate=2,
            model_dump=3,
            model_config={"x": 4},
            self=5,
        )
    assert result["structuredContent"] == {"result": ["s", 1, True, "d", 2, 3, 4, 5]}


@pytest.mark.rule("TOOLS-17", "CTX-1")
@pytest.mark.parametrize(
    "annotation",
    [
        Context,
        Context[dict[str, Any]],
        Context[dict[str, Any], Any],
        Context | None,
        Optional[Context],
        Annotated[Context, "x"],
        Annotated[Context | None, "x"],
        "Context",
    ],
)
def test_a_context_parameter_is_not_the_clients(annotation: Any) -> None:
    def f(x: int, c: Any) -> None: ...

    f.__annotations__["c"] = annotation
    signature = read_signature(f)
    assert signature.context_kwarg == "c"
    assert [parameter.name for parameter in signature.parameters] == ["x"]


@pytest.mark.rule("TOOLS-19")
async def test_keyword_only_parameters_work() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def f(*, a: int, b: int = 1) -> int:
        return a + b

    async with connect(mcp) as peer:
        assert await peer.text("f", a=1) == "2"


@pytest.mark.rule("TOOLS-19")
def test_collected_keywords_are_one_required_property() -> None:
    def f(**options: int) -> None: ...

    assert arguments_of(f).json_schema["required"] == ["options"]


@pytest.mark.rule("TOOLS-20")
def test_a_name_with_a_leading_underscore_is_refused() -> None:
    def f(_x: int) -> None: ...

    with pytest.raises(InvalidSignature, match=r"^Parameter _x of f cannot start with '_'$"):
        arguments_of(f)


@pytest.mark.parametrize(
    ("annotation", "default"),
    [(float, float("nan")), (float, float("inf")), (str, "\ud800"), (Any, {"\ud800": 1}), (Any, [float("-inf")])],
)
async def test_a_default_that_json_cannot_express_is_used_but_not_shown(annotation: Any, default: Any) -> None:
    def f(value: Any = default) -> str:
        return repr(value)

    f.__annotations__["value"] = annotation
    mcp = MCPServer("Lab", tools=[f])
    async with connect(mcp) as peer:
        (tool,) = (await peer.request("tools/list"))["tools"]
        assert "default" not in tool["inputSchema"]["properties"]["value"]
        assert await peer.text("f") == repr(default)


async def test_a_bound_of_infinity_keeps_nothing_out_of_json() -> None:
    def f(value: Annotated[float, Field(gt=0, lt=math.inf)]) -> None: ...

    async with connect(MCPServer("Lab", tools=[f])) as peer:
        (tool,) = (await peer.request("tools/list"))["tools"]
    assert tool["inputSchema"]["properties"]["value"] == {"exclusiveMinimum": 0, "title": "Value", "type": "number"}


@pytest.mark.parametrize("annotation", [Literal["\ud800"], Annotated[str, Field(pattern="(")]])
def test_a_type_that_cannot_be_checked_is_refused_with_its_parameter(annotation: Any) -> None:
    def f(a: str, b: Any) -> None: ...

    f.__annotations__["b"] = annotation
    with pytest.raises(InvalidSignature, match=r"^Parameter 'b' of 'f' has a type without a JSON schema: "):
        MCPServer("Lab").add_tool(f)


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        (Annotated[str, Field(ge=1)], "ge of a value of type string"),
        (Annotated[list[int], Field(lt=1.5)], "lt of a value of type array"),
        (Annotated[int, MaxLen(3)], "maxLength of a value of type integer"),
        (Annotated[float | None, MaxLen(3)], "maxLength of a value of type number"),
        (Annotated[bool, Field(min_length=3)], "minLength of a value of type boolean"),
    ],
)
def test_a_constraint_that_no_value_could_be_held_against_is_refused_with_its_parameter(
    annotation: Any, problem: str
) -> None:
    def f(a: str, b: Any) -> None: ...

    f.__annotations__["b"] = annotation
    with pytest.raises(InvalidSignature, match=f"^Parameter 'b' of 'f' has a constraint that does not fit: {problem}$"):
        MCPServer("Lab").add_tool(f)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Annotated[str, Field(ge="b")], "c"),
        (Annotated[Any, Field(ge=1)], 2),
        (Annotated[int | None, Field(ge=1)], None),
        (Annotated[dict[str, int], MaxLen(1)], {"a": 1}),
        (Annotated[bytes, MaxLen(1)], "a"),
    ],
)
def test_constraints_that_fit_are_taken(annotation: Any, value: Any) -> None:
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = annotation
    assert arguments_of(f).validate({"x": value})


@pytest.mark.rule("TOOLS-21", "CASE-40")
def test_annotations_that_cannot_be_evaluated_are_refused() -> None:
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = "Nowhere"

    prefix = "Unable to evaluate type annotations for callable 'f'"
    with pytest.raises(InvalidSignature) as caught:
        MCPServer("Lab").add_tool(f)
    assert str(caught.value) == f"{prefix}: parameter 'x': name 'Nowhere' is not defined"
    f.__annotations__.update({"x": "int", "return": "Nowhere"})
    with pytest.raises(InvalidSignature, match=r": the return annotation: name 'Nowhere' is not defined$"):
        MCPServer("Lab").add_tool(f)


@pytest.mark.rule("TOOLS-22", "TOOLS-D5")
@pytest.mark.parametrize("annotation", [Opaque, Callable[[], None]])
def test_a_type_without_a_json_schema_is_refused_with_its_parameter(annotation: Any) -> None:
    def f(fine: int, bad: Any) -> None: ...

    f.__annotations__["bad"] = annotation
    with pytest.raises(InvalidSignature, match=r"^Parameter 'bad' of 'f' has a type without a JSON schema: "):
        arguments_of(f)


@pytest.mark.rule("TOOLS-23", "TOOLS-D3", "CASE-73")
async def test_an_alias_is_the_name_for_the_client_only() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def f(x: Annotated[int, Field(alias="externalX")], y: str = Field("d", validation_alias="external-y")) -> str:
        return f"{x}{y}"

    async with connect(mcp) as peer:
        schema = (await peer.request("tools/list"))["tools"][0]["inputSchema"]
        assert list(schema["properties"]) == ["externalX", "external-y"]
        assert schema["required"] == ["externalX"]
        result = await peer.request("tools/call", {"name": "f", "arguments": {"externalX": 1, "external-y": "z"}})
    assert result["structuredContent"] == {"result": "1z"}


@pytest.mark.rule("TOOLS-25")
@pytest.mark.parametrize(
    ("annotation", "given", "received"),
    [
        (int, "5", 5),
        (int, 5.0, 5),
        (int, True, 1),
        (bool, 1, True),
        (bool, "yes", True),
        (bool, "on", True),
        (bool, "true", True),
        (float, "1.5", 1.5),
        (datetime.date, "2026-01-02", datetime.date(2026, 1, 2)),
        (Color, "red", Color.RED),
        (uuid.UUID, "00000000-0000-0000-0000-000000000001", uuid.UUID(int=1)),
        (Box, {"width": "3"}, Box(3)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (set[int], [1, 1], {1}),
    ],
)
def test_arguments_are_read_leniently(annotation: Any, given: Any, received: Any) -> None:
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = annotation
    assert arguments_of(f).validate({"x": given}) == {"x": received}


@pytest.mark.rule("TOOLS-25")
@pytest.mark.parametrize(("annotation", "given"), [(str, 5), (int, 5.5), (int, "x"), (bool, "perhaps")])
def test_what_cannot_be_read_is_refused(annotation: Any, given: Any) -> None:
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = annotation
    with pytest.raises(InvalidArguments):
        arguments_of(f).validate({"x": given})


@pytest.mark.rule("TOOLS-26", "TOOLS-31")
async def test_unknown_arguments_are_ignored_and_models_arrive_as_instances() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def f(point: Point) -> str:
        return type(point).__name__

    async with connect(mcp) as peer:
        assert await peer.text("f", point={"x": 1, "z": 9}, extra=1) == "Point"


@pytest.mark.rule("TOOLS-27", "TOOLS-28", "TOOLS-D1", "CASE-15")
@pytest.mark.parametrize(
    ("annotation", "given", "received"),
    [
        (list[int], "[1, 2]", [1, 2]),
        (Point, '{"x": 1}', Point(x=1)),
        (Optional[int], "null", None),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (Optional[list[str]], "null", None),
        # What may be a text stays a text.
        (Optional[str], "null", "null"),
        (str, "[1]", "[1]"),
        (Annotated[str, MaxLen(99)], '{"a": 1}', '{"a": 1}'),
        (str | int, "5", "5"),
        (UserName, "null", "null"),
        (Literal["[1]"], "[1]", "[1]"),
        (list[str] | str, '["a"]', '["a"]'),
        (list[str] | str, '"a"', '"a"'),
        (Any, "[1]", "[1]"),
        (bytes, "[1]", b"[1]"),
    ],
)
def test_json_texts_are_parsed_only_where_a_text_cannot_stand(annotation: Any, given: str, received: Any) -> None:
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = annotation
    assert arguments_of(f).validate({"x": given}) == {"x": received}


@pytest.mark.rule("TOOLS-27", "TOOLS-29", "TOOLS-D1")
@pytest.mark.parametrize(
    ("annotation", "given", "problem"),
    [
        (list[int], '["a"]', "x.0\n  Input should be a valid integer"),
        (list[int], "not json", "x\n  Input should be a valid list"),
        (list[int], "NaN", "x\n  Input should be a valid list"),
        (list[int], "5", "x\n  Input should be a valid list"),
        (list[int], "\ud800", "x\n  Input should be a valid list"),
        (list[int], "[" * 5000, "x\n  Input should be a valid list"),
        (Literal["a"], "[1]", "x\n  Input should be 'a'"),
        (Annotated[str, MaxLen(1)], "[1]", "x\n  String should have at most 1 character"),
    ],
)
def test_the_reason_names_what_is_really_wrong(annotation: Any, given: str, problem: str) -> None:
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = annotation
    with pytest.raises(InvalidArguments) as caught:
        arguments_of(f).validate({"x": given})
    assert problem in caught.value.text


@pytest.mark.rule("TOOLS-27")
def test_nested_texts_are_not_parsed() -> None:
    def f(x: list[list[int]]) -> None: ...

    with pytest.raises(InvalidArguments):
        arguments_of(f).validate({"x": ["[1]"]})


@pytest.mark.rule("TOOLS-32", "TOOLS-D7", "ERR-19", "SERR-19")
async def test_bad_arguments_are_explained_without_their_values(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("Lab")
    ran = False

    @mcp.tool()
    async def add(a: int, b: Point) -> int:
        nonlocal ran
        ran = True
        return a

    caplog.set_level(logging.INFO)
    async with connect(mcp) as peer:
        result = await peer.call("add", a="secret", b={"x": "secret"})
    assert result == {
        "content": [
            {
                "type": "text",
                "text": "Error executing tool add: 2 validation errors for addArguments\n"
                "a\n  Input should be a valid integer, unable to parse string as an integer\n"
                "b.x\n  Input should be a valid integer, unable to parse string as an integer",
            }
        ],
        "isError": True,
    }
    assert not ran
    messages = [record.getMessage() for record in caplog.records if record.name == "mcp.server.mcpserver.server"]
    assert messages == ["Tool 'add' rejected arguments: ['a', 'b']"]
    assert "secret" not in caplog.text
