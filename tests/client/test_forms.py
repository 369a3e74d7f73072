"""Forms for those who show them: fields out of a schema, and texts into an answer."""

from __future__ import annotations

import datetime
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from mcp import Client
from mcp.client import ClientRequestContext
from mcp.client.forms import Choice, FormError, FormField, fill_form, form_fields
from mcp.server.elicitation import render_elicitation_schema
from mcp.server.mcpserver import Elicit, MCPServer, Resolve
from mcp.types import CallToolResult, ElicitRequestFormParams, ElicitRequestParams, ElicitResult, TextContent


def question(properties: dict[str, Any], *required: str) -> ElicitRequestFormParams:
    return ElicitRequestFormParams(
        message="?", requested_schema={"type": "object", "properties": properties, "required": list(required)}
    )


def content(schema: dict[str, Any], value: Any) -> Any:
    return (fill_form(question({"f": schema}, "f"), {"f": value}).content or {})["f"]


def problem(schema: dict[str, Any], value: Any) -> str:
    with pytest.raises(FormError) as caught:
        fill_form(question({"f": schema}, "f"), {"f": value})
    return caught.value.problems["f"]


def test_fields_say_all_that_is_needed_to_show_them() -> None:
    fields = form_fields(
        question(
            {
                "name": {
                    "type": "string",
                    "title": "Name",
                    "description": "In full",
                    "minLength": 2,
                    "maxLength": 9,
                },
                "size": {
                    "type": "string",
                    "oneOf": [{"const": "s", "title": "S"}, {"const": "l", "title": "L"}],
                },
                "old": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
                "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "maxItems": 1},
                "more": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}]}},
                "count": {"type": "integer", "default": 3, "minimum": 1, "maximum": 5},
                "sure": {"type": "boolean"},
                "mail": {"type": "string", "format": "email"},
            },
            "name",
            "sure",
        )
    )
    assert fields == [
        FormField("name", "Name", "text", True, description="In full", minimum=2, maximum=9),
        FormField("size", "size", "choice", False, choices=(Choice("s", "S"), Choice("l", "L"))),
        FormField("old", "old", "choice", False, choices=(Choice("a", "A"), Choice("b", "B"))),
        FormField("tags", "tags", "choices", False, choices=(Choice("x", "x"), Choice("y", "y")), maximum=1),
        FormField("more", "more", "choices", False, choices=(Choice("x", "X"),)),
        FormField("count", "count", "integer", False, default=3, minimum=1, maximum=5),
        FormField("sure", "sure", "boolean", True),
        FormField("mail", "mail", "text", False, format="email"),
    ]


CHOICE = {"type": "string", "enum": ["a", "b"]}
CHOICES = {"type": "array", "items": CHOICE, "minItems": 1, "maxItems": 2}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "string"}, " as it is ", " as it is "),
        ({"type": "string", "format": "email"}, "a@b.example", "a@b.example"),
        ({"type": "string", "format": "uri"}, "https://a.example/x?y", "https://a.example/x?y"),
        ({"type": "string", "format": "date"}, "2026-07-28", "2026-07-28"),
        ({"type": "string", "format": "date-time"}, "2026-07-28T10:00:00Z", "2026-07-28T10:00:00Z"),
        ({"type": "number", "minimum": 1.5}, "1.5", 1.5),
        ({"type": "number"}, 2, 2.0),
        ({"type": "integer", "minimum": 3, "maximum": 3}, " 3 ", 3),
        ({"type": "integer"}, 0, 0),
        ({"type": "boolean"}, "on", True),
        ({"type": "boolean"}, "No", False),
        ({"type": "boolean"}, False, False),
        ({"type": "boolean"}, None, False),
        (CHOICE, "b", "b"),
        (CHOICES, "a", ["a"]),
        (CHOICES, ("b", "a"), ["b", "a"]),
    ],
)
def test_texts_become_what_the_field_is(schema: dict[str, Any], value: Any, expected: Any) -> None:
    result = content(schema, value)
    assert (type(result), result) == (type(expected), expected)


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "string"}, None, "this has to be filled in"),
        ({"type": "string"}, "", "this has to be filled in"),
        ({"type": "string"}, 5, "this has to be a text"),
        ({"type": "string", "minLength": 3}, "ab", "this has to be at least 3 characters"),
        ({"type": "string", "maxLength": 1}, "ab", "this has to be at most 1 characters"),
        ({"type": "string", "format": "email"}, "nobody", "this has to be an email address"),
        ({"type": "string", "format": "uri"}, "no uri", "this has to be a URI, such as https://example.com"),
        ({"type": "string", "format": "date"}, "28.7.2026", "this has to be a date, such as 2026-07-28"),
        (
            {"type": "string", "format": "date-time"},
            "2026-07-28",
            "this has to be a date and time, such as 2026-07-28T09:00:00Z",
        ),
        ({"type": "number"}, "many", "this has to be a number"),
        ({"type": "number"}, "inf", "this has to be a number"),
        ({"type": "number"}, True, "this has to be a number"),
        ({"type": "number", "minimum": 2}, "1", "this has to be at least 2"),
        ({"type": "integer"}, "1.5", "this has to be a whole number"),
        ({"type": "integer"}, 1.5, "this has to be a whole number"),
        ({"type": "integer", "maximum": 5}, "6", "this has to be at most 5"),
        ({"type": "boolean"}, "maybe", "this has to be yes or no"),
        (CHOICE, "c", "this has to be one of: a, b"),
        (CHOICES, [], "this has to be filled in"),
        (CHOICES, ["a", "c"], "this has to be one of: a, b"),
        (CHOICES, ["a", "a"], "this has to be some of: a, b"),
        ({**CHOICES, "maxItems": 1}, ["a", "b"], "this has to be at most 1 of these"),
    ],
)
def test_what_does_not_fit_is_said_to_the_user(schema: dict[str, Any], value: Any, text: str) -> None:
    assert problem(schema, value) == text


def test_all_problems_are_said_at_once() -> None:
    with pytest.raises(FormError) as caught:
        fill_form(question({"a": {"type": "integer"}, "b": {"type": "string"}}, "b"), {"a": "x"})
    assert caught.value.problems == {"a": "this has to be a whole number", "b": "this has to be filled in"}
    assert str(caught.value) == "a: this has to be a whole number; b: this has to be filled in"


def test_what_may_be_left_out_is_left_out_and_what_is_not_in_the_form_is_too() -> None:
    params = question({"a": {"type": "integer"}, "b": {"type": "boolean"}, "c": {"type": "string", "minLength": 0}})
    assert fill_form(params, {"a": "", "c": "", "other": "x"}).content == {"c": ""}
    assert fill_form(params, {}).content == {}


def test_a_field_of_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match=r"^the field 'f' is of a kind that no form has: 'object'$"):
        form_fields(question({"f": {"type": "object"}}))


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Order(BaseModel):
    name: Annotated[str, Field(min_length=1)]
    count: int
    price: float
    express: bool
    day: datetime.date
    colour: Colour
    extras: list[Literal["bag", "card"]]
    note: str | None = None


TEXTS: dict[str, Any] = {
    "name": "Ann", "count": "2", "price": "1.5", "express": "on", "day": "2026-07-28", "colour": "blue",
    "extras": ["bag"], "note": "",
}  # fmt: skip


def test_the_fields_of_a_model_are_those_of_its_form() -> None:
    params = ElicitRequestFormParams(message="?", requested_schema=render_elicitation_schema(Order))
    kinds = {field.name: field.kind for field in form_fields(params)}
    assert kinds == {
        "name": "text", "count": "integer", "price": "number", "express": "boolean", "day": "text", "colour": "choice",
        "extras": "choices", "note": "text",
    }  # fmt: skip


async def ask() -> Elicit[Order]:
    return Elicit("What?", Order)


async def test_a_form_that_was_filled_in_with_texts_reaches_a_server_as_its_model() -> None:
    mcp = MCPServer("shop")

    @mcp.tool()
    async def order(order: Annotated[Order, Resolve(ask)]) -> str:
        return repr(order)

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        return fill_form(params, TEXTS)

    async with Client(mcp, elicitation_callback=answer) as client:
        result = await client.call_tool("order", {})
    assert isinstance(result, CallToolResult)
    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text == repr(Order.model_validate({**TEXTS, "note": None}))
