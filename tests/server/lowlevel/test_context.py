"""What a handler of `Server` knows of its request, and what it can send."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError, NoBackChannelError
from tests.advice import advises
from tests.server.lowlevel.wire import PREFIX, Caller, caller, meta

Context = ServerRequestContext[Any, Any]
Body = Callable[[Context], Awaitable[None]]


async def run(body: Body, request_meta: dict[str, Any] | None = None, **params: Any) -> Caller:
    """Run `body` as the handler of one request and return the client that sent it."""

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        await body(ctx)
        return types.CallToolResult(content=[])

    async with caller(Server("s", on_call_tool=call_tool), raise_exceptions=True) as client:
        await client.call("tools/call", {"name": "x", **params}, request_meta=request_meta)
    return client


@pytest.mark.rule("LOW-44", "CTX-3", "CTX-9")
async def test_the_context_holds_the_request_as_it_came() -> None:
    async def body(ctx: Context) -> None:
        assert ctx.method == "tools/call"
        assert ctx.params is not None
        assert ctx.params["arguments"] == {"a": 1}
        assert ctx.protocol_version == "2026-07-28"
        assert ctx.request is None
        assert ctx.request_id == 1
        assert ctx.meta is not None
        assert ctx.meta.get("progress_token") == "t"
        assert dict(ctx.meta)[PREFIX + "protocolVersion"] == "2026-07-28"
        assert ctx.params["_meta"]["progressToken"] == "t"

    await run(body, meta(progressToken="t"), arguments={"a": 1})


@pytest.mark.rule("LOW-45")
async def test_each_message_has_a_session_of_its_own() -> None:
    sessions: list[Any] = []

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        sessions.append(ctx.session)
        return types.CallToolResult(content=[])

    async with caller(Server("s", on_call_tool=call_tool)) as client:
        await client.call("tools/call", {"name": "x"})
        await client.call("tools/call", {"name": "x"})
    assert sessions[0] is not sessions[1]


@pytest.mark.rule("LOW-46", "BASE-M-14", "BASE-S-01")
async def test_the_client_is_known_from_the_request_alone() -> None:
    async def named(ctx: Context) -> None:
        assert ctx.session.client_params is not None
        assert ctx.session.client_params.client_info.name == "c"
        assert ctx.session.client_params.capabilities.roots is not None
        assert ctx.session.client_capabilities == ctx.session.client_params.capabilities

    async def nameless(ctx: Context) -> None:
        assert ctx.session.client_capabilities == types.ClientCapabilities()

    await run(named, meta({"roots": {}}, clientInfo={"name": "c", "version": "1"}))
    await run(nameless)


@pytest.mark.rule("LOW-47", "LOW-48", "CTX-11", "MRTR-1", "MRTR-S-01", "TR-06", "VER-C-07", "TROUBLE-22")
async def test_a_modern_request_has_no_way_to_ask() -> None:
    async def body(ctx: Context) -> None:
        assert ctx.session.can_send_request is False
        with pytest.raises(NoBackChannelError) as raised:
            await ctx.session.elicit_form("m", {"type": "object", "properties": {}})
        assert raised.value.code == -32600
        assert raised.value.message == (
            "Cannot send 'elicitation/create': "
            "this transport context has no back-channel for server-initiated requests."
        )
        assert advises(raised.value, "return an InputRequiredResult", "resumable=True")
        with pytest.raises(NoBackChannelError, match="'ping'") as raised:
            await ctx.session.send_ping()
        assert not hasattr(raised.value, "__notes__")

    await run(body, meta({"elicitation": {}}))


@pytest.mark.rule("CTX-12")
async def test_asking_for_deprecated_things_warns_at_the_callers_line() -> None:
    async def body(ctx: Context) -> None:
        message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="hi"))
        for ask, capability in (
            (lambda: ctx.session.list_roots(), "roots"),  # pyright: ignore[reportDeprecated]
            (lambda: ctx.session.create_message([message], max_tokens=1), "sampling"),  # pyright: ignore[reportDeprecated]
        ):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with pytest.raises(NoBackChannelError):
                    await ask()
            assert [(w.category, str(w.message)) for w in caught] == [
                (
                    MCPDeprecationWarning,
                    f"The {capability} capability is deprecated as of 2026-07-28 (SEP-2577).",
                )
            ]
            assert caught[0].filename == __file__

    await run(body)


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.rule("LOW-50", "LOW-51")
async def test_sampling_with_tools_is_checked_before_anything_is_sent() -> None:
    tool = types.Tool(name="t", input_schema={"type": "object"})
    text = types.TextContent(type="text", text="hi")
    use = types.ToolUseContent(type="tool_use", id="1", name="t", input={})
    result = types.ToolResultContent(type="tool_result", tool_use_id="1", content=[])
    other = types.ToolResultContent(type="tool_result", tool_use_id="2", content=[])

    def message(role: types.Role, *content: Any) -> types.SamplingMessage:
        return types.SamplingMessage(role=role, content=list(content))

    async def body(ctx: Context) -> None:
        with pytest.raises(MCPError, match="Client does not support sampling tools capability") as raised:
            await ctx.session.create_message([message("user", text)], max_tokens=1, tools=[tool])  # pyright: ignore[reportDeprecated]
        assert raised.value.code == -32602
        for messages, text_of_error in (
            (
                [message("assistant", use), message("user", result, text)],
                "The last message must contain only tool_result content if any is present",
            ),
            ([message("user", result)], "tool_result requires a previous message containing tool_use"),
            (
                [message("assistant", text), message("user", result)],
                "tool_result blocks do not match any tool_use in the previous message",
            ),
            (
                [message("assistant", use), message("user", other)],
                "ids of tool_result blocks and tool_use blocks from previous message do not match",
            ),
        ):
            with pytest.raises(ValueError) as wrong:
                await ctx.session.create_message(messages, max_tokens=1)  # pyright: ignore[reportDeprecated]
            assert str(wrong.value) == text_of_error

    await run(body)


@pytest.mark.rule("LOW-53", "CTX-10", "CTX-D2")
async def test_a_capability_counts_as_declared_when_every_part_that_is_set_was_declared() -> None:
    def wanted(**members: Any) -> types.ClientCapabilities:
        return types.ClientCapabilities.model_validate(members)

    async def body(ctx: Context) -> None:
        check = ctx.session.check_client_capability
        assert check(wanted())
        assert check(wanted(sampling={}))
        assert check(wanted(sampling={"tools": {}}))
        assert not check(wanted(sampling={"context": {}}))
        assert check(wanted(elicitation={"form": {}}))
        assert not check(wanted(elicitation={"url": {}}))
        assert not check(wanted(roots={}))
        assert check(wanted(experimental={"a": {}}))
        assert not check(wanted(experimental={"b": {}}))
        assert check(wanted(extensions={"com.example/x": {}}))
        assert not check(wanted(extensions={"com.example/y": {}}))

    declared: dict[str, Any] = {
        "sampling": {"tools": {}},
        "elicitation": {},
        "experimental": {"a": {}},
        "extensions": {"com.example/x": {"setting": 1}},
    }
    await run(body, meta(declared))


@pytest.mark.rule("LOW-54", "PROGRESS-2", "PROGRESS-3", "PROG-05", "PROG-09")
async def test_progress_is_sent_in_order_with_the_requests_token_and_only_if_asked_for() -> None:
    async def body(ctx: Context) -> None:
        await ctx.session.report_progress(1)
        await ctx.session.report_progress(2.5, 10, "half")

    client = await run(body, meta(progressToken=7))
    assert client.notifications == [
        ("notifications/progress", {"progressToken": 7, "progress": 1}),
        ("notifications/progress", {"progressToken": 7, "progress": 2.5, "total": 10, "message": "half"}),
    ]
    assert (await run(body)).notifications == []

    async def any_token(ctx: Context) -> None:
        await ctx.session.send_progress_notification("other", 1)

    assert (await run(any_token)).notifications == [
        ("notifications/progress", {"progressToken": "other", "progress": 1})
    ]


@pytest.mark.rule("PROGRESS-D1", "PROG-06")
async def test_progress_that_does_not_grow_is_dropped_and_what_is_no_number_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "mcp.server.session")

    async def body(ctx: Context) -> None:
        for value in (2, 2, 1, 3):
            await ctx.session.report_progress(value)
        wrong: list[Any] = [math.nan, math.inf, "1", True, None]
        for value in wrong:
            with pytest.raises(ValueError, match="progress must be a finite number"):
                await ctx.session.report_progress(value)
        with pytest.raises(ValueError, match="total must be a finite number"):
            await ctx.session.report_progress(4, math.nan)

    client = await run(body, meta(progressToken=1))
    assert [params["progress"] for _, params in client.notifications if params] == [2, 3]
    assert "does not increase" in caplog.text


@pytest.mark.rule("PROGRESS-5", "PROG-13")
async def test_after_the_answer_nothing_more_is_sent_for_a_request() -> None:
    kept: list[Context] = []

    async def body(ctx: Context) -> None:
        kept.append(ctx)

    client = await run(body, meta(progressToken=1))
    await kept[0].session.report_progress(1)
    assert client.notifications == []


@pytest.mark.rule("LOW-D11", "CTX-13")
async def test_changes_are_not_sent_outside_of_a_subscription(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp.server.session")

    async def body(ctx: Context) -> None:
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_prompt_list_changed()
        await ctx.session.send_resource_list_changed()
        await ctx.session.send_resource_updated("x://y")
        await ctx.session.send_elicit_complete("1")

    assert (await run(body)).notifications == []
    assert caplog.text.count("subscriptions/listen") == 5


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.rule("LOW-56", "LOW-D12", "LOG-5", "LOG-7", "VER-7")
async def test_log_messages_are_sent_from_the_level_the_request_asks_for() -> None:
    async def body(ctx: Context) -> None:
        await ctx.session.send_log_message("info", "quiet")  # pyright: ignore[reportDeprecated]
        await ctx.session.send_log_message("warning", {"k": 1}, "lg")  # pyright: ignore[reportDeprecated]
        await ctx.session.send_log_message("error", "loud")  # pyright: ignore[reportDeprecated]
        with pytest.raises(ValueError, match="level must be one of debug, info, notice"):
            await ctx.session.send_log_message("loud", "x")  # pyright: ignore[reportDeprecated, reportArgumentType]

    client = await run(body, meta(logLevel="warning"))
    assert client.notifications == [
        ("notifications/message", {"level": "warning", "data": {"k": 1}, "logger": "lg"}),
        ("notifications/message", {"level": "error", "data": "loud"}),
    ]
    assert (await run(body)).notifications == []


@pytest.mark.rule("LOG-7", "SERR-23")
async def test_an_unknown_log_level_in_the_metadata_is_refused() -> None:
    async def body(ctx: Context) -> None:
        raise AssertionError("must not run")

    with pytest.raises(MCPError) as raised:
        await run(body, meta(logLevel="loud"))
    assert (raised.value.code, raised.value.message) == (-32602, "Invalid request parameters")


@pytest.mark.parametrize(
    ("request_meta", "message"),
    [
        ({}, "params._meta must be an object carrying the required 'io.modelcontextprotocol/protocolVersion'"),
        ({PREFIX + "protocolVersion": "2026-07-28"}, "params._meta is missing the required envelope key(s)"),
        ({**meta(), PREFIX + "protocolVersion": 5}, "Invalid request parameters"),
        ({**meta(), PREFIX + "clientCapabilities": []}, "Invalid request parameters"),
        ({**meta(), PREFIX + "clientCapabilities": {"sampling": 3}}, "Invalid request parameters"),
        ({**meta(), PREFIX + "clientInfo": {"name": 3}}, "Invalid request parameters"),
    ],
)
@pytest.mark.rule("BASE-M-09", "BASE-M-12")
async def test_malformed_metadata_is_refused(request_meta: dict[str, Any], message: str) -> None:
    async def body(ctx: Context) -> None:
        raise AssertionError("must not run")

    with pytest.raises(MCPError) as raised:
        await run(body, request_meta)
    assert raised.value.code == -32602
    assert raised.value.message.startswith(message)


@pytest.mark.rule("BASE-M-23", "BASE-M-08")
async def test_unknown_metadata_is_passed_through() -> None:
    async def body(ctx: Context) -> None:
        assert ctx.meta is not None
        assert dict(ctx.meta)["com.example/k"] == {"a": 1}
        assert dict(ctx.meta)["traceparent"] == "00-x"

    await run(body, {**meta(), "com.example/k": {"a": 1}, "traceparent": "00-x"})
