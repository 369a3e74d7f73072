"""Random functions called with random arguments: a result, a tool error or -32602, and nothing else."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import inspect
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, TypeVar

import anyio
import jsonschema
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import NotRequired, TypeAliasType, TypedDict

from mcp.server.mcpserver.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from tests.mcpserver.wire import connect

T = TypeVar("T")
UserId = NewType("UserId", int)
Names = TypeAliasType("Names", "list[str]")
Nested = TypeAliasType("Nested", "int | list[Nested] | dict[str, Nested]")


class Color(enum.Enum):
    RED = "red"
    TWO = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(BaseModel):
    x: int
    y: Annotated[float, Field(ge=0)] = 0
    label: str | None = Field(None, alias="Label")


class Tree(BaseModel):
    value: int = 0
    children: list[Tree] = []


class Box(BaseModel, Generic[T]):
    content: T


@dataclasses.dataclass
class Row:
    name: str
    tags: set[str] = dataclasses.field(default_factory=set[str])


class Options(TypedDict):
    a: int
    b: NotRequired[str]


class Pair(NamedTuple):
    left: int
    right: str


LEAVES: list[Any] = [
    int, float, str, bool, bytes, None, Any, datetime.datetime, datetime.date, datetime.timedelta, uuid.UUID,
    decimal.Decimal, Color, Level, Literal["a", "null", "[1]"], Literal[1, 2], UserId, Names, Nested, Point, Tree,
    Box[int], Row, Options, Pair, Annotated[int, Field(ge=0, le=9)], Annotated[str, Field(max_length=3)],
]  # fmt: skip
TYPES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        inner.map(lambda one: list[one]),
        inner.map(lambda one: dict[str, one]),
        inner.map(lambda one: tuple[one, ...]),
        inner.map(lambda one: one | None if one is not None else None),
        st.tuples(inner, inner).map(lambda two: tuple[two]),
    ),
    max_leaves=4,
)
MEMBERS = ["x", "y", "Label", "value", "children", "content", "name", "tags", "a", "b", "\ud800"]
# Numbers without a JSON form are not among them, but everything that a JSON parser may hand over is.
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-10, 10)
    | st.sampled_from([2**63, -(2**70), 10**400, 0.5, 1e308, -0.0])
    | st.sampled_from(["", "a", "null", "[1]", '{"x": 1}', "5", "2020-01-02", "1e400", "NaN", "\ud800", "é\0", "red"])
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(MEMBERS),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def function(name: str, parameters: dict[str, tuple[Any, Any]], returns: Any, body: Callable[..., Any]) -> Any:
    """Make a function with that signature."""

    def made(**values: Any) -> Any:
        return body(values)

    made.__name__ = made.__qualname__ = name
    made.__annotations__ = {key: annotation for key, (annotation, _) in parameters.items()} | {"return": returns}
    keyword = inspect.Parameter.KEYWORD_ONLY
    made.__signature__ = inspect.Signature(  # pyright: ignore[reportFunctionMemberAccess]
        [inspect.Parameter(key, keyword, default=default) for key, (_, default) in parameters.items()]
    )
    return made


async def call(mcp: MCPServer[Any], name: str, arguments: Any) -> dict[str, Any] | None:
    """Call a tool; `None` if it refused the arguments or the value, in words that are meant for somebody."""
    async with connect(mcp) as peer:
        try:
            result = await peer.request("tools/call", {"name": name, "arguments": arguments})
        except MCPError as error:
            if error.code != INVALID_PARAMS:
                raise
            return None
        if result["isError"]:
            (block,) = result["content"]
            prefix = f"Error executing tool {name}"
            assert block["text"].startswith(f"{prefix}: "), "an exception that nobody meant"
            return None
        return result


async def list_tools(mcp: MCPServer[Any]) -> list[dict[str, Any]]:
    async with connect(mcp) as peer:
        return (await peer.request("tools/list"))["tools"]


NO_DEFAULT = inspect.Parameter.empty


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c", "schema", "self", "model_config", "x"]),
        st.tuples(TYPES, st.one_of(st.just(NO_DEFAULT), st.none(), st.floats(), JSON)),
        max_size=3,
    ),
    st.one_of(st.dictionaries(st.sampled_from(["a", "b", "c", "schema", "self", "x"]), JSON, max_size=4), JSON),
    st.booleans(),
)
def test_any_call_of_any_function_ends_in_a_result_or_in_an_error_that_is_meant(
    parameters: dict[str, tuple[Any, Any]], arguments: Any, strict: bool
) -> None:
    received: list[dict[str, Any]] = []

    def body(values: dict[str, Any]) -> str:
        received.append(values)
        return "done"

    mcp = MCPServer("Lab", strict_arguments=strict)
    mcp.add_tool(function("f", parameters, str, body))
    (tool,) = anyio.run(list_tools, mcp)
    jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
    assert tool["inputSchema"]["properties"].keys() == parameters.keys()
    result = anyio.run(call, mcp, "f", arguments)
    assert len(received) == (result is not None)
    if received:
        assert received[0].keys() == parameters.keys()
        if strict:
            assert (arguments or {}).keys() <= parameters.keys()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TYPES, JSON)
@example(Tree, {"children": [{"children": "[]"}]})
@example(bytes, "\ud800")
@example(float, "NaN")
@example(Any, 10**400)
@example(dict[str, Any], {"\ud800": 1})
def test_what_is_accepted_comes_back_as_what_the_schema_says_and_is_accepted_again(annotation: Any, value: Any) -> None:
    received: list[Any] = []

    def body(values: dict[str, Any]) -> Any:
        received.append(values["value"])
        return values["value"]

    mcp = MCPServer("Lab")
    mcp.add_tool(function("f", {"value": (annotation, NO_DEFAULT)}, annotation, body))
    result = anyio.run(call, mcp, "f", {"value": value})
    if result is None or "structuredContent" not in result:
        return
    structured = result["structuredContent"]
    (tool,) = anyio.run(mcp.list_tools)
    assert tool.output_schema is not None
    validator: Any = jsonschema.Draft202012Validator(tool.output_schema)
    validator.validate(structured)
    wrapped = tool.output_schema.get("title") == "fOutput"
    again = anyio.run(call, mcp, "f", {"value": structured["result"] if wrapped else structured})
    assert again is not None
    assert again["structuredContent"] == structured
