"""What goes into a handler of `Server`, and what becomes of what comes out of it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from tests.server.lowlevel.wire import caller, meta

Context = ServerRequestContext[Any, Any]
LOGGER = "mcp.server._handle"


def answering(result: Any, method: str = "tools/call") -> Server[Any]:
    """A server whose one handler returns `result`, or raises it."""

    async def handle(ctx: Context, params: types.RequestParams) -> Any:
        if isinstance(result, BaseException):
            raise result
        return result

    server = Server("s", version="1")
    server.add_request_handler(method, types.RequestParams, handle)
    return server


async def outcome(server: Server[Any], method: str = "tools/call", **params: Any) -> dict[str, Any]:
    async with caller(server) as client:
        return await client.call(method, {"name": "x", **params})


async def failure(server: Server[Any], method: str = "tools/call", **params: Any) -> MCPError:
    with pytest.raises(MCPError) as raised:
        await outcome(server, method, **params)
    return raised.value


@pytest.mark.rule("LOW-9")
async def test_a_list_handler_gets_a_model_even_without_params() -> None:
    seen: list[types.PaginatedRequestParams | None] = []

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        seen.append(params)
        return types.ListToolsResult(tools=[])

    async with caller(Server("s", on_list_tools=list_tools)) as client:
        await client.call("tools/list")
    assert isinstance(seen[0], types.PaginatedRequestParams)
    assert seen[0].cursor is None


@pytest.mark.rule("LOW-D2", "ERR-14", "SERR-18", "BASE-E-01")
async def test_params_that_do_not_fit_are_refused_naming_the_member_and_not_its_value() -> None:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        raise AssertionError("must not run")

    error = await failure(Server("s", on_call_tool=call_tool), arguments="secret")
    assert (error.code, error.message) == (-32602, "Invalid request parameters")
    assert error.data == [{"loc": ["arguments"], "problem": "Input should be a valid dictionary"}]


@pytest.mark.rule("LOW-11")
async def test_arguments_reach_the_handler_as_sent_for_any_name() -> None:
    seen: list[types.CallToolRequestParams] = []

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        seen.append(params)
        return types.CallToolResult(content=[])

    await outcome(Server("s", on_call_tool=call_tool), name="never listed", arguments={"a": [1, None, {"b": 1.5}]})
    assert (seen[0].name, seen[0].arguments) == ("never listed", {"a": [1, None, {"b": 1.5}]})


@pytest.mark.rule("LOW-12")
async def test_a_handler_that_returns_neither_model_nor_dict_nor_none_is_an_internal_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = await failure(answering("text"))
    assert (error.code, error.message, error.data) == (-32603, "Internal server error", None)
    assert "handler returned str; expected BaseModel, dict, or None" in caplog.text


@pytest.mark.rule("LOW-13", "LOW-16", "VER-14", "BASE-J-08", "BASE-R-06")
async def test_models_are_written_by_alias_without_unset_members_and_stamped() -> None:
    result = await outcome(answering(types.CallToolResult(content=[], structured_content={"a": None})))
    assert result == {
        "content": [],
        "structuredContent": {"a": None},
        "isError": False,
        "resultType": "complete",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}},
    }


async def test_none_is_an_empty_result_of_a_vendor_method() -> None:
    result = await outcome(answering(None, "x/y"), "x/y")
    assert set(result) == {"resultType", "_meta"}


async def test_a_dict_of_a_vendor_method_is_sent_as_it_was_when_it_was_returned() -> None:
    state: dict[str, Any] = {"calls": {"a": 1}}
    result = await outcome(answering(state, "x/y"), "x/y")
    state["calls"]["a"] = 2
    assert result["calls"] == {"a": 1}


@pytest.mark.parametrize("wrong", [{"a": float("nan")}, {"a": object()}, {"a": b"\xff"}])
async def test_a_dict_of_a_vendor_method_that_is_no_json_is_refused(wrong: Any) -> None:
    error = await failure(answering(wrong, "x/y"), "x/y")
    assert (error.code, error.message) == (-32603, "Handler returned an invalid result")


@pytest.mark.rule("LOW-14", "ERR-12", "ERR-D2", "TROUBLE-19")
@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {},
        {"content": "text"},
        types.ListToolsResult(tools=[]),
        types.EmptyResult(),
        {"resultType": "input_required"},
    ],
)
async def test_a_result_of_the_wrong_shape_is_refused_and_the_reason_is_logged(
    wrong: Any, caplog: pytest.LogCaptureFixture
) -> None:
    error = await failure(answering(wrong))
    assert (error.code, error.message, error.data) == (-32603, "Handler returned an invalid result", None)
    record = next(r for r in caplog.records if r.name == LOGGER)
    assert record.levelno == logging.ERROR
    assert record.getMessage().startswith("handler for 'tools/call' returned an invalid result")


@pytest.mark.rule("MRTR-S-03")
async def test_questions_answer_only_the_three_methods_that_may_carry_them() -> None:
    question = types.InputRequiredResult(request_state="s")
    error = await failure(answering(question, "tools/list"), "tools/list")
    assert (error.code, error.message) == (-32603, "Handler returned an invalid result")


@pytest.mark.rule("LOW-D3")
async def test_a_dict_is_stamped_like_a_model_and_loses_unknown_members() -> None:
    result = await outcome(answering({"content": [], "unknown": 1, "_meta": {"k": 1}}))
    assert result["resultType"] == "complete"
    assert result["_meta"] == {"k": 1, "io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}
    assert "unknown" not in result


@pytest.mark.rule("VER-18")
async def test_a_result_of_an_extensions_own_type_passes_whole() -> None:
    result = await outcome(answering({"resultType": "task", "taskId": "7", "inner": {"a": None}}))
    assert result["resultType"] == "task"
    assert (result["taskId"], result["inner"]) == ("7", {"a": None})


@pytest.mark.rule("LOW-D4", "ERR-D1", "SERR-18", "BASE-E-01")
async def test_the_text_of_an_unexpected_exception_stays_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    error = await failure(answering(RuntimeError("password=hunter2")))
    assert (error.code, error.message, error.data) == (-32603, "Internal server error", None)
    assert error.__cause__ is None
    record = next(r for r in caplog.records if r.name == LOGGER)
    assert record.exc_info is not None
    assert "hunter2" in str(record.exc_info[1])


@pytest.mark.rule("LOW-19")
async def test_an_mcp_error_is_answered_verbatim() -> None:
    error = await failure(answering(MCPError(-7, "no", {"k": [1]})))
    assert (error.code, error.message, error.data) == (-7, "no", {"k": [1]})


async def test_a_handlers_own_validation_error_is_not_blamed_on_the_client() -> None:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult.model_validate({"content": 3})

    error = await failure(Server("s", on_call_tool=call_tool))
    assert error.code == -32603


@pytest.mark.rule("CLIENT-77")
async def test_a_client_in_the_same_process_may_ask_for_the_original_exception() -> None:
    original = RuntimeError("boom")
    async with caller(answering(original), raise_exceptions=True) as client:
        with pytest.raises(MCPError, match="boom") as raised:
            await client.call("tools/call", {"name": "x"})
        assert raised.value.code == -32603
        assert raised.value.__cause__ is original
        with pytest.raises(MCPError):
            await client.call("tools/call", {"name": "x"})


@pytest.mark.rule("CACHE-43", "CACHE-44", "CACHE-46", "VER-C-14")
async def test_freshness_comes_from_the_handler_then_the_hint_then_the_default() -> None:
    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[], ttl_ms=7)

    async def list_prompts(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[])

    async def list_resources(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    server = Server(
        "s",
        cache_hints={"tools/list": CacheHint(5, "public"), "prompts/list": CacheHint(9, "public")},
        on_list_tools=list_tools,
        on_list_prompts=list_prompts,
        on_list_resources=list_resources,
    )
    async with caller(server) as client:
        found = [await client.call(m) for m in ("tools/list", "prompts/list", "resources/list", "server/discover")]
    assert [(r["ttlMs"], r["cacheScope"]) for r in found] == [
        (7, "public"),
        (9, "public"),
        (0, "private"),
        (0, "private"),
    ]


@pytest.mark.rule("MRTR-S-29", "CACHE-S-02")
async def test_questions_carry_no_freshness() -> None:
    result = await outcome(answering(types.InputRequiredResult(request_state="s"), "resources/read"), "resources/read")
    assert result["resultType"] == "input_required"
    assert not {"ttlMs", "cacheScope"} & set(result)


@pytest.mark.rule("MRTR-22", "MRTR-21")
async def test_questions_are_written_as_the_modern_wire_knows_them() -> None:
    schema = {"$schema": "s", "type": "object", "title": "T", "properties": {"a": {"type": "string", "title": "A"}}}
    questions: dict[str, types.InputRequest] = {
        "form": types.ElicitRequest(params=types.ElicitRequestFormParams(message="m", requested_schema=schema)),
        "url": types.ElicitRequest(
            params=types.ElicitRequestURLParams(message="m", url="https://x/y", elicitation_id="7")
        ),
        "roots": types.ListRootsRequest(),
        "sample": types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=[types.SamplingMessage(role="user", content=types.TextContent(type="text", text="hi"))],
                max_tokens=5,
            )
        ),
    }
    server = answering(types.InputRequiredResult(input_requests=questions))
    declared = meta({"elicitation": {"form": {}, "url": {}}, "roots": {}, "sampling": {}})
    async with caller(server) as client:
        result = await client.call("tools/call", {"name": "x"}, request_meta=declared)
    properties = {"a": {"type": "string", "title": "A"}}
    assert result["inputRequests"] == {
        "form": {
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": "m",
                "requestedSchema": {"$schema": "s", "type": "object", "properties": properties},
            },
        },
        "url": {"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "https://x/y"}},
        "roots": {"method": "roots/list"},
        "sample": {
            "method": "sampling/createMessage",
            "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5},
        },
    }


@pytest.mark.rule("MRTR-D1", "MRTR-S-08", "MRTR-S-09", "BASE-M-16")
@pytest.mark.parametrize("as_dict", [False, True])
async def test_a_question_that_the_client_did_not_declare_is_refused_before_it_is_sent(as_dict: bool) -> None:
    question = types.InputRequiredResult(
        input_requests={
            "where": types.ElicitRequest(
                params=types.ElicitRequestFormParams(message="m", requested_schema={"type": "object", "properties": {}})
            )
        }
    )
    result = question.model_dump(by_alias=True, exclude_none=True) if as_dict else question
    error = await failure(answering(result))
    assert error.code == -32021
    assert error.message == "Client did not declare the form elicitation capability required by input request 'where'"
    assert error.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


async def test_the_server_cannot_change_the_clients_arguments() -> None:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        assert params.arguments is not None
        params.arguments["list"].append("changed")
        return types.CallToolResult(content=[])

    mine: dict[str, Any] = {"list": []}
    await outcome(Server("s", on_call_tool=call_tool), arguments=mine)
    assert mine == {"list": []}
