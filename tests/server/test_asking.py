"""Questions in results: what a client must have declared, and exceptions that become questions."""

import copy
import hashlib
import json
from base64 import urlsafe_b64encode
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from mcp._protocol.canonical import canonical_json, digest
from mcp._protocol.capabilities import missing_capability
from mcp._protocol.codec import encode_input_request
from mcp.server._asking import carry_state, check_input_requests, url_elicitation_to_input_required
from mcp.server._questions import FormQuestion, RootsQuestion, SamplingQuestion, UrlQuestion, digest_of
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import (
    CallToolResult,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
    Tool,
)


class Login(BaseModel):
    """Described."""

    model_config = ConfigDict(extra="forbid")

    username: str = Field(description="Naïve \ud800 name")


def capabilities(**declared: Any) -> ClientCapabilities:
    return ClientCapabilities.model_validate(declared)


FORM = ElicitRequest(params=ElicitRequestFormParams(message="m", requested_schema={"type": "object", "properties": {}}))
URL = ElicitRequest(params=ElicitRequestURLParams(message="m", url="https://a/b", elicitation_id="1"))


def sampling(**more: Any) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(type="text", text="hi"))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=5, **more))


def gate(request: InputRequest, **declared: Any) -> None:
    check_input_requests(InputRequiredResult(input_requests={"k": request}), capabilities(**declared))


@pytest.mark.rule("MRTR-23", "MRTR-D1", "DEP-33", "DEP-34", "VER-C-21", "BASE-E-06", "SERR-17")
@pytest.mark.parametrize(
    ("request_", "enough", "short", "name", "required"),
    [
        (FORM, {"elicitation": {}}, {"elicitation": {"url": {}}}, "form elicitation", {"elicitation": {"form": {}}}),
        (FORM, {"elicitation": {"form": {}}}, {}, "form elicitation", {"elicitation": {"form": {}}}),
        (URL, {"elicitation": {"url": {}}}, {"elicitation": {}}, "url elicitation", {"elicitation": {"url": {}}}),
        (sampling(), {"sampling": {}}, {}, "sampling", {"sampling": {}}),
        (
            sampling(tools=[]),
            {"sampling": {"tools": {}}},
            {"sampling": {}},
            "sampling.tools",
            {"sampling": {"tools": {}}},
        ),
        (
            sampling(include_context="thisServer"),
            {"sampling": {"context": {}}},
            {"sampling": {}},
            "sampling.context",
            {"sampling": {"context": {}}},
        ),
        (ListRootsRequest(), {"roots": {}}, {}, "roots", {"roots": {}}),
    ],
)
def test_a_hand_built_question_needs_the_declared_capability(
    request_: InputRequest, enough: dict[str, Any], short: dict[str, Any], name: str, required: dict[str, Any]
) -> None:
    gate(request_, **enough)
    with pytest.raises(MCPError) as caught:
        gate(request_, **short)

    assert caught.value.code == -32021
    assert caught.value.message == f"Client did not declare the {name} capability required by input request 'k'"
    assert caught.value.data == {"requiredCapabilities": required}


@pytest.mark.rule("MRTR-D1")
def test_a_result_that_only_carries_state_needs_no_capability() -> None:
    check_input_requests(InputRequiredResult(request_state="s"), capabilities())


def expected_digest(request: InputRequest) -> str:
    canonical = json.dumps(encode_input_request(request), sort_keys=True, separators=(",", ":"))
    return urlsafe_b64encode(hashlib.sha256(canonical.encode()).digest()[:16]).decode().rstrip("=")


@pytest.mark.rule("MRTR-22", "MRTR-37")
def test_a_question_is_recognised_by_what_the_modern_wire_shows_of_it() -> None:
    form = FormQuestion('Naïve "\ud800"', Login)
    url = UrlQuestion("m", "https://a/b", "first id")
    sample = SamplingQuestion(sampling(temperature=0.5).params)

    for question in (form, url, sample, RootsQuestion()):
        assert question.digest == expected_digest(question.request()) == digest_of(question.request())
        assert len(question.digest) == 22
    assert url.digest == UrlQuestion("m", "https://a/b", "second id").digest
    assert form.digest != FormQuestion("Naïve", Login).digest


class Number(BaseModel):
    """Fields of all kinds."""

    count: int = Field(default=1, ge=0)
    share: float = 0.5
    sure: bool | None = None
    colour: Literal["red", "blue"] = "red"
    some: list[Literal["a", "b"]] = []


class Nothing(BaseModel):
    pass


@pytest.mark.rule("MRTR-22", "MRTR-37")
@given(st.text(st.characters()), st.sampled_from([Login, Number, Nothing]))
def test_a_form_is_the_same_question_with_and_without_models(message: str, schema: type[BaseModel]) -> None:
    question = FormQuestion(message, schema)
    request = question.request()

    assert question.wire() == encode_input_request(request)
    assert question.digest == digest_of(request) == digest(canonical_json(question.wire()))
    elicitation: tuple[Any, ...] = (None, {}, {"form": {}}, {"url": {}})
    for declared in elicitation:
        client = capabilities(elicitation=declared)
        assert question.missing_capability(client) == missing_capability(request, client)


@pytest.mark.parametrize("message", [5, None, b"text"])
def test_a_message_that_is_no_text_is_no_question(message: Any) -> None:
    with pytest.raises(TypeError, match=f"must be a str, got {type(message).__name__}"):
        FormQuestion(message, Login)


def test_what_becomes_of_one_question_does_not_change_the_next() -> None:
    question = FormQuestion("m", Number)
    expected = copy.deepcopy((question.request(), question.wire()))
    request, wire = question.request(), question.wire()
    assert isinstance(request.params, ElicitRequestFormParams)
    for schema in (request.params.requested_schema, wire["params"]["requestedSchema"]):
        schema["properties"]["count"]["title"] = "changed"
        schema["properties"]["more"] = {}

    assert (question.request(), question.wire()) == expected
    assert (FormQuestion("m", Number).request(), FormQuestion("m", Number).wire()) == expected


@pytest.mark.rule("MRTR-22")
def test_a_docstring_and_a_class_name_are_no_part_of_the_question() -> None:
    class Other(BaseModel):
        username: str = Field(description="Naïve \ud800 name")

    assert FormQuestion("m", Login).digest == FormQuestion("m", Other).digest


def test_numbers_that_are_equal_make_equal_questions() -> None:
    one = SamplingQuestion(sampling(metadata={"a": 1, "b": [2.0]}).params)
    other = SamplingQuestion(sampling(metadata={"a": 1.0, "b": [2]}).params)
    different = SamplingQuestion(sampling(metadata={"a": True, "b": [2]}).params)

    assert one.digest == other.digest != different.digest


# `UrlElicitationRequiredError` on modern requests


WANTED = ElicitRequestURLParams(message="Sign in", url="https://a/b", elicitation_id="e1")
DECLARED = capabilities(elicitation={"url": {}})


@pytest.mark.rule("ELICIT-17", "MRTR-21", "SERR-04", "BASE-E-07")
def test_the_exception_becomes_the_questions_and_keeps_the_state() -> None:
    error = UrlElicitationRequiredError([WANTED])

    result = url_elicitation_to_input_required(
        error, DECLARED, method="tools/call", params={"name": "t", "requestState": "mine"}
    )

    assert result == InputRequiredResult(input_requests={"url:e1": ElicitRequest(params=WANTED)}, request_state="mine")


def test_recorded_answers_ride_along_in_place_of_the_state_that_came() -> None:
    error = UrlElicitationRequiredError([ElicitRequestURLParams(message="m", url="https://no/id")])
    carry_state(error, "recorded")

    result = url_elicitation_to_input_required(
        error, DECLARED, method="prompts/get", params={"name": "p", "requestState": "older"}
    )

    assert isinstance(result, InputRequiredResult)
    assert list(result.input_requests or {}) == ["url:https://no/id"]
    assert result.request_state == "recorded"


def test_the_exception_needs_the_url_capability() -> None:
    with pytest.raises(MCPError) as caught:
        url_elicitation_to_input_required(
            UrlElicitationRequiredError([WANTED]), capabilities(elicitation={}), method="tools/call", params=None
        )

    assert caught.value.code == -32021
    assert caught.value.data == {"requiredCapabilities": {"elicitation": {"url": {}}}}


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_refused_url_is_a_tools_error_result_and_elsewhere_an_error(action: str) -> None:
    error = UrlElicitationRequiredError([WANTED])
    params: dict[str, Any] = {"name": "t", "inputResponses": {"url:e1": {"action": action}}}

    result = url_elicitation_to_input_required(error, DECLARED, method="tools/call", params=params)

    assert isinstance(result, CallToolResult)
    assert result.is_error
    assert result.content == [TextContent(type="text", text=f"Error executing tool t: URL elicitation was {action}")]
    for method in ("prompts/get", "resources/read"):
        with pytest.raises(MCPError, match=f"^URL elicitation was {action}$") as caught:
            url_elicitation_to_input_required(error, DECLARED, method=method, params=params)
        assert caught.value.code == -32603


def test_an_accepted_url_is_asked_again_if_the_handler_still_needs_it() -> None:
    params: dict[str, Any] = {"name": "t", "inputResponses": {"url:e1": {"action": "accept"}}}

    result = url_elicitation_to_input_required(
        UrlElicitationRequiredError([WANTED]), DECLARED, method="tools/call", params=params
    )

    assert isinstance(result, InputRequiredResult)


@pytest.mark.parametrize(("method", "wanted"), [("completion/complete", [WANTED]), ("tools/call", [])])
def test_where_nothing_can_be_asked_it_is_an_internal_error(method: str, wanted: list[ElicitRequestURLParams]) -> None:
    with pytest.raises(MCPError) as caught:
        url_elicitation_to_input_required(
            UrlElicitationRequiredError(wanted, "why"), DECLARED, method=method, params={}
        )

    assert (caught.value.code, caught.value.message, caught.value.data) == (-32603, "why", None)


def test_sampling_with_tools_is_another_question_than_without() -> None:
    tool = Tool(name="t", input_schema={"type": "object"})

    assert SamplingQuestion(sampling(tools=[tool]).params).digest != SamplingQuestion(sampling().params).digest
