"""Params and results between wire form and models."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

import mcp_types as types
from mcp._protocol.codec import (
    InvalidHandlerResult,
    InvalidServerResult,
    WireResult,
    decode_params,
    decode_result,
    encode_input_request,
    encode_input_required,
    encode_input_response,
    encode_input_responses,
    encode_result,
)
from mcp._protocol.era import LEGACY, MODERN
from mcp._protocol.errors import describe, http_status, to_error
from mcp._protocol.fields import dump, exclusions
from mcp.shared.exceptions import MCPError

STAMP = {"name": "s", "version": "1"}


@pytest.mark.rule("CLIENT-D9", "BASE-R-05", "VER-D2", "VER-C-08")
def test_a_result_without_a_type_is_complete() -> None:
    result = decode_result("tools/call", {"content": []}, types.CallToolResult)
    assert result == types.CallToolResult(content=[])


@pytest.mark.rule("CLIENT-D10", "BASE-R-04", "SERR-27", "MRTR-C-10", "BASE-R-03")
@pytest.mark.parametrize("kind", ["task", "", 5, {"a": 1}])
def test_a_result_of_an_unknown_type_is_invalid_unless_it_is_claimed(kind: Any) -> None:
    with pytest.raises(InvalidServerResult, match=r"The server answered 'tools/call' with the unknown resultType"):
        decode_result("tools/call", {"content": [], "resultType": kind}, types.CallToolResult)
    if kind == "task":
        assert decode_result("tools/call", {"content": [], "resultType": kind}, types.CallToolResult, claimed=[kind])


@pytest.mark.rule("CLIENT-D8")
def test_a_result_that_does_not_fit_names_the_method_and_the_member() -> None:
    with pytest.raises(InvalidServerResult) as raised:
        decode_result("tools/list", {"tools": [{"name": 5}]}, types.ListToolsResult)
    text = str(raised.value)
    assert text.startswith("The server answered 'tools/list' with an invalid result: ")
    assert "tools.0.name: Input should be a valid string" in text
    assert isinstance(raised.value.__cause__, ValidationError)


def test_a_result_may_be_read_by_an_adapter_or_into_any_type() -> None:
    assert decode_result("x/y", {"a": 1}, TypeAdapter(dict[str, int])) == {"a": 1}
    assert decode_result("x/y", {"a": 1}, dict[str, int]) == {"a": 1}


@pytest.mark.rule("VER-15", "LOW-17", "CACHE-45")
def test_legacy_results_carry_no_modern_members() -> None:
    listing = types.ListToolsResult(tools=[], ttl_ms=5)
    assert encode_result("tools/list", listing, LEGACY, stamp=STAMP) == {"tools": []}
    wire = encode_result("tools/call", {"content": [], "resultType": "complete"}, LEGACY, stamp=STAMP)
    assert wire == {"content": [], "isError": False}


@pytest.mark.rule("LEG-D-02", "VER-C-19")
def test_legacy_tools_have_objects_alone_for_structured_output() -> None:
    content: list[types.ContentBlock] = [types.TextContent(text="[1]")]
    for value, kept in (([1], False), ("a", False), ({"a": 1}, True)):
        result = types.CallToolResult(content=content, structured_content=value)
        assert encode_result("tools/call", result, MODERN, stamp=STAMP)["structuredContent"] == value
        wire = encode_result("tools/call", result, LEGACY, stamp=STAMP)
        assert wire["content"] == [{"type": "text", "text": "[1]"}]
        assert ("structuredContent" in wire) == kept
    for schema, kept in (({"type": "array"}, False), ({}, False), ({"type": "object"}, True)):
        listing = types.ListToolsResult(tools=[types.Tool(name="t", input_schema={}, output_schema=schema)])
        assert encode_result("tools/list", listing, MODERN, stamp=STAMP)["tools"][0]["outputSchema"] == schema
        (tool,) = encode_result("tools/list", listing, LEGACY, stamp=STAMP)["tools"]
        assert ("outputSchema" in tool) == kept


def test_questions_are_no_legacy_result() -> None:
    with pytest.raises(InvalidHandlerResult):
        encode_result("tools/call", types.InputRequiredResult(request_state="s"), LEGACY, stamp=STAMP)


def test_a_result_in_wire_form_is_only_stamped() -> None:
    wire = encode_result("tools/call", WireResult(content=[], isError=False), MODERN, stamp=STAMP)
    assert wire == {
        "content": [],
        "isError": False,
        "resultType": "complete",
        "_meta": {"io.modelcontextprotocol/serverInfo": STAMP},
    }


def test_fields_of_the_other_era_are_left_out_at_any_depth() -> None:
    tool = types.Tool(name="t", input_schema={}, execution=types.ToolExecution(task_support="optional"))
    listing = types.ListToolsResult(tools=[tool])
    assert dump(listing, MODERN)["tools"] == [{"name": "t", "inputSchema": {}}]
    assert dump(listing, LEGACY)["tools"][0]["execution"] == {"taskSupport": "optional"}
    call = types.CallToolRequestParams(name="t", request_state="s", task=types.TaskMetadata())
    assert dump(call, MODERN) == {"name": "t", "requestState": "s"}
    assert dump(call, LEGACY) == {"name": "t", "task": {}}
    assert exclusions(types.CallToolResult, MODERN) is None


def test_each_answer_loses_only_what_its_own_kind_may_not_have() -> None:
    wire = encode_input_responses(
        {
            "form": types.ElicitResult(action="decline", _meta={"a": 1}),
            "sample": types.CreateMessageResult(
                role="assistant", content=types.TextContent(type="text", text="hi"), model="m", _meta={"a": 1}
            ),
        }
    )
    assert wire["form"] == {"action": "decline"}
    assert wire["sample"]["_meta"] == {"a": 1}


@pytest.mark.rule("MRTR-7")
def test_null_answers_and_state_equal_absent_ones() -> None:
    params = decode_params(types.CallToolRequestParams, {"name": "x", "inputResponses": None, "requestState": None})
    assert (params.input_responses, params.request_state) == (None, None)


@pytest.mark.rule("VER-19", "SERR-09", "SERR-10", "SERR-11", "SERR-12", "SERR-13", "BASE-M-17")
@pytest.mark.parametrize(
    ("code", "status"),
    [
        (-32700, 400),
        (-32600, 400),
        (-32602, 400),
        (-32020, 400),
        (-32021, 400),
        (-32022, 400),
        (-32601, 404),
        (-32603, 200),
        (-32000, 200),
        (-7, 200),
        (0, 200),
    ],
)
def test_each_error_code_has_its_http_status(code: int, status: int) -> None:
    assert http_status(code) == status


def test_only_protocol_errors_keep_their_text() -> None:
    own = MCPError(-7, "no")
    assert to_error(own) is own
    masked = to_error(RuntimeError("secret"))
    assert (masked.code, masked.message, masked.data) == (-32603, "Internal server error", None)
    assert to_error(RuntimeError("secret"), show=True).message == "secret"


@pytest.mark.rule("LOW-D2")
def test_the_description_of_a_misfit_holds_no_values() -> None:
    with pytest.raises(ValidationError) as raised:
        decode_params(types.CallToolRequestParams, {"name": ["hunter2"], "arguments": "hunter2"})
    problems = describe(raised.value)
    assert {tuple(p["loc"]) for p in problems} == {("name",), ("arguments",)}
    assert "hunter2" not in str(problems)


class OwnRequest(types.ElicitRequest):
    """Takes the long way, as every class but the protocol's own does."""


class OwnResult(types.ElicitResult):
    """The same for an answer."""


class OwnQuestions(types.InputRequiredResult):
    """The same for a result."""


TEXTS = st.text(st.characters(), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(TEXTS, children, max_size=3),
    max_leaves=8,
)
SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(TEXTS, st.dictionaries(TEXTS, JSON, max_size=3))},
    optional={"title": TEXTS, "required": st.lists(TEXTS), "$schema": TEXTS, "additionalProperties": st.booleans()},
)


@pytest.mark.rule("MRTR-22")
@given(TEXTS, SCHEMAS, st.none() | TEXTS)
@example("m", {"type": "object", "properties": {"\ud800": {"type": "string"}}}, None)
def test_the_short_way_of_a_question_writes_what_the_long_way_does(
    message: str, schema: dict[str, Any], state: str | None
) -> None:
    params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    request, own = types.ElicitRequest(params=params), OwnRequest(params=params)
    wire = encode_input_request(request)

    assert wire == encode_input_request(own)
    assert wire["params"]["requestedSchema"]["properties"] is not schema["properties"]
    short = types.InputRequiredResult(input_requests={"k": request}, request_state=state)
    long = OwnQuestions(input_requests={"k": request}, request_state=state)
    assert encode_input_required(short) == encode_input_required(long)


@given(
    st.sampled_from(["accept", "decline", "cancel"]),
    st.none()
    | st.dictionaries(
        st.text(max_size=5),
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.lists(TEXTS, max_size=3),
        max_size=3,
    ),
)
def test_the_short_way_of_an_answer_writes_what_the_long_way_does(action: Any, content: Any) -> None:
    short = types.ElicitResult(action=action, content=content, _meta={"k": "v"})
    long = OwnResult(action=action, content=content, _meta={"k": "v"})
    assert encode_input_response(short) == encode_input_response(long)
