"""What older revisions do not know of questions and answers is written their way, or refused."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_types as types
from mcp._protocol.legacy_questions import write_answer, write_question
from mcp.shared.exceptions import MCPError

TEXT = {"type": "text", "text": "hi"}
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
USE: dict[str, Any] = {"type": "tool_use", "name": "t", "id": "1", "input": {}}
RESULT: dict[str, Any] = {"type": "tool_result", "toolUseId": "1", "content": []}
OLDER = ["2024-11-05", "2025-03-26", "2025-06-18"]


def sampling(*contents: Any, **members: Any) -> types.CreateMessageRequestParams:
    messages = [{"role": "user", "content": content} for content in contents]
    return types.CreateMessageRequestParams.model_validate({"messages": messages, "maxTokens": 5, **members})


def form(**fields: Any) -> types.ElicitRequestFormParams:
    return types.ElicitRequestFormParams(message="m", requested_schema={"type": "object", "properties": fields})


def asked(params: Any, version: str) -> Any:
    method = "sampling/createMessage" if isinstance(params, types.CreateMessageRequestParams) else "elicitation/create"
    return write_question(method, params, version)


@pytest.mark.rule("LEG-Q-07")
@pytest.mark.parametrize("version", OLDER)
def test_before_2025_11_25_a_message_has_one_piece_of_content(version: str) -> None:
    written = asked(sampling([TEXT, IMAGE], TEXT, [], [TEXT]), version)
    assert written["messages"] == [{"role": "user", "content": piece} for piece in (TEXT, IMAGE, TEXT, TEXT)]
    newest = asked(sampling([TEXT, IMAGE], TEXT), "2025-11-25")
    assert [message["content"] for message in newest["messages"]] == [[TEXT, IMAGE], TEXT]


@pytest.mark.rule("LEG-Q-07")
@pytest.mark.parametrize("version", OLDER)
@pytest.mark.parametrize(
    ("params", "problem"),
    [
        (sampling(TEXT, tools=[]), "sampling with tools"),
        (sampling(TEXT, toolChoice={"mode": "auto"}), "sampling with tools"),
        (sampling([USE]), "content of type 'tool_use' in sampling"),
        (sampling([RESULT]), "content of type 'tool_result' in sampling"),
    ],
)
def test_before_2025_11_25_there_are_no_tools_in_sampling(version: str, params: Any, problem: str) -> None:
    with pytest.raises(MCPError, match=f"^Revision {version}, which this session speaks, does not know {problem}$"):
        asked(params, version)
    assert asked(params, "2025-11-25")["messages"]


@pytest.mark.rule("LEG-Q-07")
def test_a_model_hears_nothing_before_2025_03_26() -> None:
    with pytest.raises(MCPError, match="content of type 'audio'"):
        asked(sampling(AUDIO), "2024-11-05")
    assert asked(sampling(AUDIO), "2025-03-26")["messages"] == [{"role": "user", "content": AUDIO}]


@pytest.mark.rule("LEG-Q-07")
@pytest.mark.parametrize("version", OLDER)
def test_before_2025_11_25_a_model_answers_with_one_piece(version: str) -> None:
    def answer(*pieces: Any) -> Any:
        result = {"role": "assistant", "content": list(pieces), "model": "m"}
        return write_answer(
            "sampling/createMessage", types.CreateMessageResultWithTools.model_validate(result), version
        )

    assert answer(TEXT) == {"role": "assistant", "content": TEXT, "model": "m"}
    for pieces, problem in (((TEXT, TEXT), "in 2 pieces"), ((), "in 0 pieces"), ((USE,), "'tool_use'")):
        with pytest.raises(MCPError, match=problem):
            answer(*pieces)


@pytest.mark.rule("LEG-Q-09")
def test_forms_of_2025_06_18_have_no_mode_and_their_own_way_to_name_choices() -> None:
    choices = [{"const": "r", "title": "Red"}, {"const": "g"}]
    params = form(
        plain={"type": "string", "default": "x", "minLength": 1},
        count={"type": "integer", "default": 3},
        sure={"type": "boolean", "default": True},
        color={"type": "string", "oneOf": choices, "default": "r"},
        size={"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"]},
    )
    assert asked(params, "2025-06-18") == {
        "message": "m",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "plain": {"type": "string", "minLength": 1},
                "count": {"type": "integer"},
                "sure": {"type": "boolean", "default": True},
                "color": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "g"]},
                "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"]},
            },
        },
    }
    newest = asked(params, "2025-11-25")
    assert newest["mode"] == "form"
    assert newest["requestedSchema"] == params.requested_schema
    assert params.requested_schema["properties"]["plain"]["default"] == "x"


@pytest.mark.rule("LEG-Q-09")
@pytest.mark.parametrize(
    ("params", "problem"),
    [
        (form(tags={"type": "array", "items": {"type": "string", "enum": ["a"]}}), "the form's field 'tags'"),
        (types.ElicitRequestURLParams(message="m", url="https://x", elicitation_id="1"), "elicitation by URL"),
    ],
)
def test_what_2025_06_18_cannot_ask_is_refused(params: Any, problem: str) -> None:
    with pytest.raises(MCPError, match=problem):
        asked(params, "2025-06-18")
    assert asked(params, "2025-11-25")["message"] == "m"


@pytest.mark.parametrize("schema", [{}, {"properties": 3}, {"properties": {"a": 3, "b": {"oneOf": 3}}}])
def test_a_form_that_is_none_is_passed_on_as_it_is(schema: dict[str, Any]) -> None:
    params = types.ElicitRequestFormParams(message="m", requested_schema=schema)
    assert asked(params, "2025-06-18") == {"message": "m", "requestedSchema": schema}


def test_a_question_without_params_stays_without() -> None:
    assert write_question("roots/list", None, "2024-11-05") is None
    assert write_answer("roots/list", types.ListRootsResult(roots=[]), "2024-11-05") == {"roots": []}
