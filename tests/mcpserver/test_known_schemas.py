"""Annotations whose meaning is known without asking pydantic: it would say the same."""

# Authors write the older spelling of optional types.
# ruff: noqa: UP045

from __future__ import annotations

import enum
import gc
import math
import weakref
from collections.abc import Callable
from typing import Annotated, Any, Generic, Literal, NewType, Optional, TypeVar

import pytest
from annotated_types import Ge, Interval, MaxLen, MultipleOf
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic_core import core_schema

from mcp.server.mcpserver._known_schemas import argument_schema, plain_schema
from mcp.server.mcpserver._signature import Arguments, InvalidArguments, build_arguments, read_signature
from mcp.server.mcpserver.exceptions import InvalidSignature

T = TypeVar("T")


class Point(BaseModel):
    """A place."""

    x: int
    y: Annotated[int, Field(ge=0)] = 0


class Tree(BaseModel):
    children: list[Tree] = []
    at: Point | None = None


class Box(BaseModel, Generic[T]):
    content: T


class Late(BaseModel):
    model_config = ConfigDict(defer_build=True)

    point: Point


class Color(enum.Enum):
    """Of a flower."""

    RED = "red"
    TWO = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Odd(BaseModel):
    """Described by hand."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> Any:
        return {"type": "object", "description": "something else"}


class Count(enum.Enum):
    """Taken as a number."""

    ONE = 1

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.int_schema()


def arguments_of(fn: Callable[..., Any]) -> Arguments:
    return build_arguments(read_signature(fn))


def outcome(arguments: Arguments, given: dict[str, Any]) -> Any:
    try:
        return repr(arguments.validate(given))
    except InvalidArguments as error:
        return error.text
    except TypeError as error:  # a text, say, compared with a number
        return str(error)


VALUES: list[Any] = [
    None, 1, -1, 1.5, "1", "x", "long text", True, [1], ["a"], [["a"]], {"a": 1}, {"a": [1.5]}, {"a": "b"}, "[1]",
    "null", "red", 2, {"x": 1}, {"x": 1, "y": -1}, '{"x": 1}', [{"x": "1"}], {"a": {"x": 1}}, {"content": 1},
    {"children": [{"children": [], "at": {"x": 3}}]}, {"point": {"x": 1}},
]  # fmt: skip


def assert_that_both_ways_agree(annotation: Any, default: Any) -> None:
    def short(value: Any = default) -> None: ...
    def long(value: Any = default) -> None: ...

    if default is ...:
        short.__defaults__ = long.__defaults__ = None
    short.__annotations__["value"] = annotation
    # Whatever else is said of a parameter takes the long way.
    long.__annotations__["value"] = Annotated[annotation, Field(json_schema_extra={"long": True})]
    long.__name__ = "short"
    try:
        asked = arguments_of(long)
    except InvalidSignature:
        with pytest.raises(InvalidSignature):
            arguments_of(short)
        return
    known = arguments_of(short)
    (described,) = asked.json_schema["properties"].values()
    assert described.pop("long")
    assert known.json_schema == asked.json_schema
    for arguments in [{}, *({"value": value, "alias": value} for value in VALUES)]:
        assert outcome(known, arguments) == outcome(asked, arguments)


PLAIN: list[Any] = [
    int,
    float,
    str,
    bool,
    None,
    Any,
    int | None,
    Optional[str],
    list[int],
    list[list[str]],
    list[Any],
    dict[str, int],
    dict[str, Any],
    dict[str, list[float]] | None,
    Literal["a", "b"],
    Literal[3],
    list[Literal["x"]],
]
NAMED: list[Any] = [
    Point,
    Point | None,
    list[Point],
    list[Point] | None,
    dict[str, Point | None],
    Tree,
    Box[int],
    Box[Point],
    Late,
    Color,
    Level,
    Color | None,
    list[Color],
    Odd,
]
CONSTRAINED: list[Any] = [
    Annotated[int, Ge(0)],
    Annotated[int, Field(gt=0, le=9, description="A number.")],
    Annotated[float, Field(ge=0, lt=1.5)],
    Annotated[str, MaxLen(3)],
    Annotated[str, Field(min_length=1, max_length=4, description="A text.")],
    Annotated[list[int], Field(min_length=1)],
    Annotated[Point, Field(description="A point.")],
    Annotated[Color, Field(description="A color.")],
    NewType("UserId", int),
    list[NewType("Place", Point)],
    Annotated[NewType("Size", float), Field(ge=0)],
]


@pytest.mark.parametrize("annotation", [*PLAIN, *NAMED, *CONSTRAINED])
@pytest.mark.parametrize("default", [None, 3, "x", False, ...])
def test_the_short_way_agrees_with_pydantic(annotation: Any, default: Any) -> None:
    def f(value: Any) -> None: ...

    f.__annotations__["value"] = annotation
    (parameter,) = read_signature(f).parameters
    assert argument_schema(parameter.bare, parameter.constraints) is not None
    assert_that_both_ways_agree(annotation, default)


@pytest.mark.parametrize(
    "field",
    [
        Field(description="A number."),
        Field(3, description="A number.", ge=1),
        Field(3, alias="alias"),
        Field(default_factory=lambda: 3),
        Field(title="Another title"),
        Field(examples=[1]),
        Field(strict=True),
    ],
)
def test_a_field_as_default_means_the_same_both_ways(field: Any) -> None:
    assert_that_both_ways_agree(int, field)


BASES = st.sampled_from([*PLAIN, *NAMED])
METADATA = st.sampled_from(
    [Ge(0), Ge(0.5), Field(lt=3), Field(gt=-math.inf), MaxLen(2), Field(min_length=1), Field(description="d"), "other"]
)


@settings(deadline=None, max_examples=60)
@given(BASES, st.lists(METADATA, max_size=3), st.sampled_from([..., None, 3, "x"]))
def test_both_ways_agree_on_whatever_is_said_of_a_type(annotation: Any, metadata: list[Any], default: Any) -> None:
    for item in metadata:
        annotation = Annotated[annotation, item]
    assert_that_both_ways_agree(annotation, default)


@pytest.mark.parametrize(
    "annotation",
    [
        set[int],
        Literal["a", 1],
        Literal[True],
        int | str,
        dict[int, str],
        Count,
        Annotated[int, Ge(0.5)],
        Annotated[int, MultipleOf(2)],
        Annotated[int, Interval(ge=0, le=3), Ge(1)],
        Annotated[str, Ge(1)],
        Annotated[str, MaxLen(-1)],
        Annotated[float, Ge(math.inf)],
        Annotated[int | None, Ge(1)],
        Annotated[Point, MaxLen(1)],
        Annotated[int, "metadata of others"],
        Annotated[str, Field(pattern="^a")],
    ],
)
def test_other_types_take_the_long_way(annotation: Any) -> None:
    def f(value: Any) -> None: ...

    f.__annotations__["value"] = annotation
    (parameter,) = read_signature(f).parameters
    assert parameter.bare is None or argument_schema(parameter.bare, parameter.constraints) is None


@pytest.mark.parametrize("annotation", [Point, Color, list[Point]])
def test_models_and_enumerations_are_not_plain(annotation: Any) -> None:
    assert plain_schema(annotation) is None


@pytest.mark.rule("TOOLS-14", "PROMPT-3")
def test_a_description_is_shown() -> None:
    def f(a: Annotated[int, Field(description="An a")], b: Annotated[str, Field(description="A b")] = "x") -> None: ...

    assert arguments_of(f).json_schema["properties"] == {
        "a": {"description": "An a", "title": "A", "type": "integer"},
        "b": {"description": "A b", "default": "x", "title": "B", "type": "string"},
    }


def test_two_models_of_one_name_are_told_apart() -> None:
    other = create_model("Point", z=(str, ...))

    def f(a: Point, b: Any, c: list[Any]) -> None: ...

    f.__annotations__.update(b=other, c=list[other])
    arguments = arguments_of(f)
    definitions = arguments.json_schema["$defs"]
    reference = arguments.json_schema["properties"]["b"]["$ref"]
    assert len(definitions) == 2
    assert definitions[reference.rsplit("/", 1)[-1]]["required"] == ["z"]
    assert arguments.validate({"a": {"x": 1}, "b": {"z": "z"}, "c": []})["b"] == other(z="z")


def test_a_model_that_is_built_anew_is_described_anew() -> None:
    model = create_model("Changing", x=(int, ...))

    def f(value: Any) -> None: ...

    f.__annotations__["value"] = model
    assert arguments_of(f).json_schema["$defs"]["Changing"]["properties"]["x"]["type"] == "integer"
    model.model_fields["x"].annotation = str
    model.model_rebuild(force=True)
    assert arguments_of(f).json_schema["$defs"]["Changing"]["properties"]["x"]["type"] == "string"


def test_a_model_that_was_a_parameter_can_be_forgotten() -> None:
    def register() -> weakref.ref[type[BaseModel]]:
        def f(value: Any) -> None: ...

        f.__annotations__["value"] = model = create_model("Brief", x=(int, ...))
        assert arguments_of(f).validate({"value": {"x": 1}})
        return weakref.ref(model)

    forgotten = register()
    gc.collect()
    assert forgotten() is None
