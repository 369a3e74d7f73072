"""Multi round-trip requests: the questions of a server and the answers of a client."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from mcp_types import (
    CallToolRequestParams,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    GetPromptRequestParams,
    InputRequest,
    InputRequiredResult,
    InputResponse,
    InputResponseRequestParams,
    ListRootsRequest,
    ListRootsResult,
    PingRequest,
    ReadResourceRequestParams,
    Root,
    SamplingMessage,
    TextContent,
    ToolResultContent,
    ToolUseContent,
)

FORM = ElicitRequest(
    params=ElicitRequestFormParams(message="Name?", requested_schema={"type": "object", "properties": {}})
)
URL = ElicitRequest(params=ElicitRequestURLParams(message="Pay", url="https://example.com/pay"))
SAMPLE = CreateMessageRequest(
    params=CreateMessageRequestParams(
        messages=[SamplingMessage(role="user", content=TextContent(text="Hi"))], max_tokens=9
    )
)

ERROR = "InputRequiredResult requires at least one of input_requests or request_state"


@pytest.mark.rule("MRTR-3")
@pytest.mark.parametrize("members", [{}, {"input_requests": {}}, {"input_requests": None, "request_state": None}])
def test_a_result_that_asks_nothing_and_remembers_nothing_is_refused(members: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=ERROR):
        InputRequiredResult(**members)


@pytest.mark.rule("MRTR-3")
@pytest.mark.parametrize(
    "members",
    [
        {"request_state": ""},
        {"request_state": "s"},
        {"input_requests": {}, "request_state": "s"},
        {"input_requests": {"a": FORM}},
    ],
)
def test_one_of_the_two_members_is_enough(members: dict[str, Any]) -> None:
    result = InputRequiredResult(**members)
    assert result.result_type == "input_required"
    assert {name: getattr(result, name) for name in members} == members


@pytest.mark.rule("MRTR-2")
def test_questions_of_every_kind_cross_the_wire_under_their_keys() -> None:
    questions: dict[str, InputRequest] = {"form": FORM, "url": URL, "model": SAMPLE, "roots": ListRootsRequest()}
    result = InputRequiredResult(input_requests=questions, request_state="s")
    wire = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert wire["resultType"] == "input_required"
    assert wire["inputRequests"]["roots"] == {"method": "roots/list"}
    assert wire["inputRequests"]["form"]["params"]["mode"] == "form"
    assert InputRequiredResult.model_validate(wire) == result


@pytest.mark.rule("MRTR-4")
@pytest.mark.parametrize("question", [PingRequest(), {"method": "ping"}, {"params": {}}, None])
def test_a_question_of_another_kind_is_refused(question: Any) -> None:
    with pytest.raises(ValidationError):
        InputRequiredResult(input_requests={"a": question})


ANSWERS: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (ElicitResult, {"action": "accept", "content": {"name": "Ada"}}),
    (ElicitResult, {"action": "decline"}),
    (ListRootsResult, {"roots": []}),
    (ListRootsResult, {"roots": [{"uri": "file:///a"}]}),
    (CreateMessageResult, {"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"}),
    (CreateMessageResultWithTools, {"role": "assistant", "content": [{"type": "text", "text": "Hi"}], "model": "m"}),
    (CreateMessageResultWithTools, {"role": "assistant", "content": [], "model": "m"}),
    (
        CreateMessageResultWithTools,
        {"role": "assistant", "content": {"type": "tool_use", "name": "t", "id": "1", "input": {}}, "model": "m"},
    ),
]


@pytest.mark.rule("MRTR-6")
@pytest.mark.parametrize("params", [CallToolRequestParams, GetPromptRequestParams, ReadResourceRequestParams])
@pytest.mark.parametrize(("model", "answer"), ANSWERS)
def test_an_answer_is_read_as_its_kind(
    params: type[InputResponseRequestParams], model: type[BaseModel], answer: dict[str, Any]
) -> None:
    read = params.model_validate({"name": "n", "uri": "a:b", "inputResponses": {"key": answer}})
    assert read.input_responses is not None
    assert type(read.input_responses["key"]) is model


@pytest.mark.rule("MRTR-6")
def test_there_are_no_answers_on_the_first_leg() -> None:
    params = CallToolRequestParams.model_validate({"name": "n"})
    assert params.input_responses is None
    assert params.request_state is None


@pytest.mark.parametrize(
    "answer",
    [
        ElicitResult(action="cancel"),
        ListRootsResult(roots=[Root.model_validate({"uri": "file:///a"})]),
        CreateMessageResult(role="assistant", content=TextContent(text="Hi"), model="m"),
        CreateMessageResultWithTools(
            role="assistant", content=ToolUseContent(name="t", id="1", input={}), model="m", stop_reason="toolUse"
        ),
    ],
)
def test_an_answer_that_is_a_model_stays_what_it_is_and_survives_the_wire(answer: InputResponse) -> None:
    params = CallToolRequestParams(name="n", input_responses={"key": answer})
    assert params.input_responses == {"key": answer}
    assert CallToolRequestParams.model_validate_json(params.model_dump_json(by_alias=True)) == params


@pytest.mark.rule("MRTR-7")
def test_null_equals_absence() -> None:
    params = CallToolRequestParams.model_validate({"name": "n", "inputResponses": None, "requestState": None})
    assert params == CallToolRequestParams(name="n")


@pytest.mark.parametrize(
    "responses",
    [
        [],
        "text",
        {"a": {}},
        {"a": None},
        {"a": {"unknown": 1}},
        {"a": {"action": "maybe"}},
        {"a": {"roots": [{"uri": "https://example.com"}]}},
        {"a": {"roots": [{"uri": "/no/scheme"}]}},
        {"a": {"role": "assistant", "model": "m"}},
        {"a": {"role": "assistant", "model": "m", "content": {"type": "video"}}},
    ],
)
def test_an_answer_that_fits_no_question_is_refused(responses: Any) -> None:
    with pytest.raises(ValidationError):
        CallToolRequestParams.model_validate({"name": "n", "inputResponses": responses})


def test_a_refused_answer_says_what_is_wrong_with_that_kind_alone() -> None:
    with pytest.raises(ValidationError) as caught:
        CallToolRequestParams.model_validate({"name": "n", "inputResponses": {"a": {"action": "maybe"}}})
    assert [error["loc"] for error in caught.value.errors()] == [("inputResponses", "a", "elicitation", "action")]


@pytest.mark.rule("ELICIT-3")
@pytest.mark.parametrize("value", ["text", "", 1, 1.5, True, False, ["a", "b"], [], None])
def test_a_form_is_answered_with_plain_values(value: Any) -> None:
    read = ElicitResult.model_validate({"action": "accept", "content": {"field": value}})
    assert read.content is not None
    assert read.content["field"] == value
    assert type(read.content["field"]) is type(value)


@pytest.mark.rule("ELICIT-3")
@pytest.mark.parametrize("value", [{"nested": 1}, [1], [["a"]], [None], b"bytes\xff", object()])
def test_a_form_is_not_answered_with_anything_else(value: Any) -> None:
    with pytest.raises(ValidationError):
        ElicitResult(action="accept", content={"field": value})


def test_content_is_one_piece_or_a_list_and_can_be_had_as_a_list() -> None:
    text, result = TextContent(text="Hi"), ToolResultContent(tool_use_id="1")
    assert SamplingMessage(role="user", content=text).content_as_list == [text]
    assert SamplingMessage(role="user", content=[text, result]).content_as_list == [text, result]
    assert SamplingMessage(role="user", content=[]).content_as_list == []
    assert CreateMessageResultWithTools(role="user", content=text, model="m").content_as_list == [text]


@pytest.mark.parametrize("members", [{"mode": "url", "url": "https://example.com"}, {"mode": "form"}, {}])
def test_an_elicitation_without_a_mode_is_a_form(members: dict[str, Any]) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    params: dict[str, Any] = {"message": "m", "requestedSchema": schema, **members}
    read = ElicitRequest.model_validate({"method": "elicitation/create", "params": params})
    assert read.params.mode == members.get("mode", "form")


def test_an_unknown_mode_of_elicitation_is_refused_by_name() -> None:
    with pytest.raises(ValidationError, match="The mode of an elicitation is form or url"):
        ElicitRequest.model_validate({"params": {"mode": "voice", "message": "m"}})
