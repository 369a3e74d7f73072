"""Forms: what a model renders to, what comes back, and the calls that ask at once."""

import datetime
import enum
import gc
import weakref
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import AliasChoices, AnyUrl, BaseModel, Field, create_model

from mcp._engine.scope import Ask, RequestScope
from mcp._protocol.era import LEGACY, MODERN
from mcp._protocol.metadata import ClientFacts
from mcp.server._forms import Form
from mcp.server.elicitation import (
    AcceptedElicitation,
    AcceptedUrlElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    InvalidAnswerError,
    elicit_url,
    elicit_with_validation,
    render_elicitation_schema,
)
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import ClientCapabilities


class Colour(enum.Enum):
    """What it looks like."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Only(str, enum.Enum):
    ONE = "one"


class Inner(BaseModel):
    x: int


class Login(BaseModel):
    """Doc of it."""

    username: str = Field(description="GH name")


def field_of(annotation: Any, default: Any = ...) -> dict[str, Any]:
    model: type[BaseModel] = create_model("M", v=(annotation, default))
    return render_elicitation_schema(model)["properties"]["v"]


@pytest.mark.rule("ELICIT-5", "ELICIT-7", "ELICIT-9")
@pytest.mark.parametrize(
    ("annotation", "rendered"),
    [
        (str, {"title": "V", "type": "string"}),
        (
            Annotated[str, Field(min_length=1, max_length=3, pattern="a", description="d", title="T")],
            {"title": "T", "type": "string", "minLength": 1, "maxLength": 3, "pattern": "a", "description": "d"},
        ),
        (int, {"title": "V", "type": "integer"}),
        (Annotated[float, Field(ge=1, lt=5)], {"title": "V", "type": "number", "minimum": 1, "exclusiveMaximum": 5}),
        (bool, {"title": "V", "type": "boolean"}),
        (Literal["a", "b"], {"title": "V", "type": "string", "enum": ["a", "b"]}),
        (Literal["a"], {"title": "V", "type": "string", "const": "a"}),
        (Literal[1, 2], {"title": "V", "type": "integer", "enum": [1, 2]}),
        (
            Annotated[str, Field(json_schema_extra={"oneOf": [{"const": "a", "title": "A"}]})],
            {"title": "V", "type": "string", "oneOf": [{"const": "a", "title": "A"}]},
        ),
        (
            Annotated[str, Field(json_schema_extra={"enum": ["a"], "enumNames": ["A"]})],
            {"title": "V", "type": "string", "enum": ["a"], "enumNames": ["A"]},
        ),
        (
            list[Literal["a", "b"]],
            {"title": "V", "type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        ),
        (
            set[Literal["a", "b"]],
            {"title": "V", "type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "uniqueItems": True},
        ),
        (
            Annotated[list[str], Field(json_schema_extra={"items": {"anyOf": [{"const": "a", "title": "A"}]}})],
            {"title": "V", "type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        ),
        (datetime.date, {"title": "V", "type": "string", "format": "date"}),
        (datetime.datetime, {"title": "V", "type": "string", "format": "date-time"}),
        (AnyUrl, {"title": "V", "type": "string", "format": "uri", "minLength": 1}),
        (
            Annotated[str, Field(json_schema_extra={"format": "email"})],
            {"title": "V", "type": "string", "format": "email"},
        ),
    ],
)
def test_plain_fields_render_as_form_fields(annotation: Any, rendered: dict[str, Any]) -> None:
    assert field_of(annotation) == rendered


@pytest.mark.rule("ELICIT-7")
def test_defaults_and_the_docstring_are_kept_and_a_form_may_be_empty() -> None:
    class Empty(BaseModel): ...

    assert field_of(str, "x") == {"title": "V", "type": "string", "default": "x"}
    assert render_elicitation_schema(Login) == {
        "type": "object",
        "title": "Login",
        "description": "Doc of it.",
        "properties": {"username": {"type": "string", "title": "Username", "description": "GH name"}},
        "required": ["username"],
    }
    assert render_elicitation_schema(Empty) == {"type": "object", "title": "Empty", "properties": {}}


@pytest.mark.rule("ELICIT-6", "ELICIT-D2")
def test_a_field_that_allows_none_renders_plainly_and_may_be_left_out() -> None:
    class Filled(BaseModel):
        name: str
        nick: str | None
        age: Annotated[int | None, Field(ge=0)] = None
        size: int | None = 3

    assert render_elicitation_schema(Filled) == {
        "type": "object",
        "title": "Filled",
        "properties": {
            "name": {"type": "string", "title": "Name"},
            "nick": {"type": "string", "title": "Nick"},
            "age": {"type": "integer", "minimum": 0, "title": "Age"},
            "size": {"type": "integer", "title": "Size", "default": 3},
        },
        "required": ["name"],
    }
    assert Form(Filled).read({"name": "a"}) == Filled(name="a", nick=None)
    assert Form(Filled).read({"name": "a", "nick": "b"}) == Filled(name="a", nick="b")


@pytest.mark.rule("ELICIT-D2")
def test_a_form_of_nothing_but_optional_fields_requires_nothing() -> None:
    class Filled(BaseModel):
        nick: str | None = Field(alias="nickName")

    assert "required" not in render_elicitation_schema(Filled)
    assert Form(Filled).read({}) == Filled(nickName=None)


@pytest.mark.rule("ELICIT-8", "ELICIT-D1")
def test_enum_classes_and_choices_among_one_value_render_in_place() -> None:
    assert field_of(Colour) == {
        "title": "V",
        "description": "What it looks like.",
        "type": "string",
        "enum": ["red", "blue"],
    }
    assert field_of(Colour, Colour.BLUE)["default"] == "blue"
    assert field_of(Level) == {"title": "V", "type": "integer", "enum": [1, 2]}
    assert field_of(Only | None)["type"] == "string"
    assert field_of(Colour | None)["enum"] == ["red", "blue"]
    assert field_of(list[Colour]) == {
        "title": "V",
        "type": "array",
        "items": {"type": "string", "enum": ["red", "blue"]},
    }
    assert field_of(list[Literal["one"]])["items"] == {"type": "string", "enum": ["one"]}
    assert field_of(set[Only])["items"] == {"type": "string", "enum": ["one"]}


@pytest.mark.rule("ELICIT-D1")
def test_an_enum_comes_back_as_its_member() -> None:
    class Filled(BaseModel):
        colour: Colour
        more: set[Colour]

    assert Form(Filled).read({"colour": "red", "more": ["blue", "red"]}).model_dump() == {
        "colour": Colour.RED,
        "more": {Colour.RED, Colour.BLUE},
    }


@pytest.mark.rule("ELICIT-8")
@pytest.mark.parametrize(
    ("annotation", "rendered"),
    [
        (Inner, "{'$ref': '#/$defs/Inner'}"),
        (Inner | None, "{'$ref': '#/$defs/Inner'}"),
        (list[str], "{'items': {'type': 'string'}, 'title': 'V', 'type': 'array'}"),
        (list[Inner], "{'items': {'$ref': '#/$defs/Inner'}, 'title': 'V', 'type': 'array'}"),
        (list[Any], "{'items': {}, 'title': 'V', 'type': 'array'}"),
        (dict[str, str], "{'additionalProperties': {'type': 'string'}, 'title': 'V', 'type': 'object'}"),
        (int | str, "{'anyOf': [{'type': 'integer'}, {'type': 'string'}], 'title': 'V'}"),
        (int | str | None, "{'anyOf': [{'type': 'integer'}, {'type': 'string'}], 'title': 'V'}"),
        (Any, "{'title': 'V'}"),
        (None, "{'title': 'V', 'type': 'null'}"),
        (UUID, "{'format': 'uuid', 'title': 'V', 'type': 'string'}"),
        (bytes, "{'format': 'binary', 'title': 'V', 'type': 'string'}"),
        (Literal["a", 1], "{'enum': ['a', 1], 'title': 'V'}"),
        (datetime.time, "{'format': 'time', 'title': 'V', 'type': 'string'}"),
    ],
)
def test_other_fields_are_refused_before_anything_is_sent(annotation: Any, rendered: str) -> None:
    with pytest.raises(TypeError) as caught:
        field_of(annotation)
    assert str(caught.value) == (
        f"Elicitation schema field 'v' rendered as {rendered}, which is not a valid PrimitiveSchemaDefinition"
    )


@pytest.mark.rule("ELICIT-8")
@pytest.mark.parametrize("annotation", [Decimal, tuple[str, str]])
def test_numbers_of_two_forms_and_tuples_are_refused(annotation: Any) -> None:
    with pytest.raises(TypeError, match="not a valid PrimitiveSchemaDefinition"):
        field_of(annotation)


class Tree(BaseModel):
    child: "Tree | None" = None


def test_what_is_no_flat_model_is_refused() -> None:
    with pytest.raises(TypeError, match="field 'child'"):
        render_elicitation_schema(Tree)
    with pytest.raises(TypeError, match=r"must be a pydantic model class, not 5"):
        render_elicitation_schema(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"must be a pydantic model class, not <class 'int'>"):
        render_elicitation_schema(int)  # type: ignore[arg-type]


def test_a_model_is_rendered_once_and_callers_get_copies() -> None:
    rendered = render_elicitation_schema(Login)
    rendered["properties"]["username"]["title"] = "changed"

    assert Form(Login).rendered is Form(Login).rendered
    assert render_elicitation_schema(Login)["properties"]["username"]["title"] == "Username"


@pytest.mark.parametrize("default", [float("inf"), float("-inf"), float("nan")])
def test_a_default_that_json_cannot_carry_stays_with_the_model(default: float) -> None:
    class Limit(BaseModel):
        most: float = default

    assert render_elicitation_schema(Limit)["properties"] == {"most": {"title": "Most", "type": "number"}}
    assert repr(Form(Limit).read({}).most) == repr(default)


@pytest.mark.parametrize("value", [float("nan"), {"y": [float("inf")]}])
def test_a_schema_that_json_cannot_carry_is_refused_by_name(value: object) -> None:
    class Odd(BaseModel):
        a: str = Field(json_schema_extra={"x": value})  # pyright: ignore[reportArgumentType]

    with pytest.raises(TypeError, match=r"Elicitation schema 'Odd' cannot be sent: "):
        Form(Odd)


def test_aliases_name_the_fields() -> None:
    class Filled(BaseModel):
        one: str = Field(alias="theOne")
        two: str = Field(validation_alias="in", serialization_alias="out")
        three: str = Field(validation_alias=AliasChoices("a", "b"))

    assert list(render_elicitation_schema(Filled)["properties"]) == ["theOne", "in", "a"]


# The direct calls


async def _ignore(method: str, params: dict[str, Any] | None) -> None: ...


def session(
    answer: dict[str, Any] | MCPError | None = None,
    *,
    capabilities: dict[str, Any] | None = None,
    modern: bool = False,
) -> tuple[ServerSession, list[tuple[str, dict[str, Any] | None]]]:
    """A session whose client gives one answer, or that has no way to ask."""
    sent: list[tuple[str, dict[str, Any] | None]] = []

    async def ask(method: str, params: dict[str, Any] | None, **limits: object) -> dict[str, Any]:
        sent.append((method, params))
        if isinstance(answer, MCPError):
            raise answer
        assert answer is not None
        return answer

    way: Ask | None = None if answer is None else ask
    version = "2026-07-28" if modern else "2025-11-25"
    everything: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
    declared = everything if capabilities is None else capabilities
    scope = RequestScope(
        method="tools/call",
        params={},
        request_id=1,
        version=version,
        era=MODERN if modern else LEGACY,
        client=ClientFacts(version, ClientCapabilities.model_validate(declared)),
        notify=_ignore,
        ask=way,
    )
    return ServerSession(scope, None), sent


@pytest.mark.rule("ELICIT-1", "ELICIT-2", "ELICIT-7")
async def test_an_accepted_form_is_an_instance_of_the_model() -> None:
    asked, sent = session({"action": "accept", "content": {"username": "bob", "extra": 1}})

    outcome = await elicit_with_validation(asked, "m?", Login)

    assert outcome == AcceptedElicitation(data=Login(username="bob"))
    assert isinstance(outcome, AcceptedElicitation)
    assert isinstance(outcome.data, Login)
    assert sent == [
        (
            "elicitation/create",
            {"mode": "form", "message": "m?", "requestedSchema": render_elicitation_schema(Login)},
        )
    ]


@pytest.mark.rule("ELICIT-1")
@pytest.mark.parametrize(("action", "kind"), [("decline", DeclinedElicitation), ("cancel", CancelledElicitation)])
async def test_a_refusal_is_an_outcome(action: str, kind: Callable[[], BaseModel]) -> None:
    asked, _ = session({"action": action})

    assert await elicit_with_validation(asked, "m?", Login) == kind()
    assert await elicit_url(asked, "m?", "https://a/b", "id1") == kind()


@pytest.mark.rule("ELICIT-1", "ELICIT-4")
async def test_an_accepted_url_has_nothing_but_the_action() -> None:
    asked, sent = session({"action": "accept", "content": {"ignored": "yes"}})

    outcome = await elicit_url(asked, "m?", "https://a/b", "id1")

    assert outcome == AcceptedUrlElicitation()
    assert outcome.model_dump() == {"action": "accept"}
    assert sent == [
        ("elicitation/create", {"mode": "url", "message": "m?", "url": "https://a/b", "elicitationId": "id1"})
    ]


@pytest.mark.rule("ELICIT-13", "ELICIT-D3", "ERR-D3")
async def test_an_answer_that_does_not_fit_is_a_fixed_sentence() -> None:
    empty, _ = session({"action": "accept"})
    wrong, _ = session({"action": "accept", "content": {"username": ["secret"]}})

    with pytest.raises(InvalidAnswerError, match=r"^Received an accepted elicitation with no content$"):
        await elicit_with_validation(empty, "m?", Login)
    with pytest.raises(ValueError, match="Received an accepted elicitation whose content does not") as caught:
        await elicit_with_validation(wrong, "m?", Login)
    assert str(caught.value) == ("Received an accepted elicitation whose content does not match the requested schema")


@pytest.mark.rule("ELICIT-14")
async def test_an_unknown_action_fails() -> None:
    asked, _ = session({"action": "perhaps"})

    with pytest.raises(MCPError, match="invalid result"):
        await elicit_with_validation(asked, "m?", Login)


@pytest.mark.rule("ELICIT-12")
async def test_an_error_of_the_client_is_raised() -> None:
    asked, _ = session(MCPError(-32600, "Elicitation not supported"))

    with pytest.raises(MCPError, match="Elicitation not supported"):
        await elicit_with_validation(asked, "m?", Login)


@pytest.mark.rule("ELICIT-10")
async def test_modern_requests_have_no_way_to_ask_in_the_middle() -> None:
    asked, _ = session(modern=True)

    with pytest.raises(NoBackChannelError):
        await elicit_with_validation(asked, "m?", Login)
    with pytest.raises(NoBackChannelError):
        await elicit_url(asked, "m?", "https://a/b", "id1")


@pytest.mark.rule("ELICIT-11", "ELICIT-D4")
async def test_direct_calls_need_the_declared_mode() -> None:
    form_only, sent_forms = session({"action": "accept"}, capabilities={"elicitation": {}})
    url_only, sent_urls = session({"action": "accept"}, capabilities={"elicitation": {"url": {}}})

    with pytest.raises(MCPError) as caught:
        await elicit_url(form_only, "m?", "https://a/b", "id1")
    assert caught.value.code == -32021
    assert caught.value.data == {"requiredCapabilities": {"elicitation": {"url": {}}}}
    with pytest.raises(MCPError) as caught:
        await elicit_with_validation(url_only, "m?", Login)
    assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    assert sent_forms == sent_urls == []


@pytest.mark.rule("ELICIT-8")
async def test_a_form_that_cannot_be_rendered_is_never_sent() -> None:
    class Filled(BaseModel):
        inner: Inner

    asked, sent = session({"action": "accept"})

    with pytest.raises(TypeError, match="field 'inner'"):
        await elicit_with_validation(asked, "m?", Filled)
    assert sent == []


def test_a_model_class_that_is_no_longer_used_is_let_go() -> None:
    model = create_model("Temporary", v=(str, ...))
    render_elicitation_schema(model)
    reference = weakref.ref(model)
    del model
    gc.collect()

    assert reference() is None
