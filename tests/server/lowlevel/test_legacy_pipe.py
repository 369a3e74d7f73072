"""`Server.run()` for a client of the handshake era."""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from tests.server.lowlevel.test_pipe import HELLO
from tests.server.lowlevel.wire import Pipe, pipe

Context = ServerRequestContext[Any, Any]


def serving(body: Any = None, **keywords: Any) -> Server[Any]:
    """A server whose one tool runs `body`."""

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
        result = None if body is None else await body(ctx)
        return types.CallToolResult(content=[], structured_content={"found": result}) if result else _DONE

    return Server("s", version="1", on_call_tool=call_tool, **keywords)


_DONE = types.CallToolResult(content=[types.TextContent(type="text", text="done")])


@asynccontextmanager
async def session(server: Server[Any], **hello: Any) -> AsyncGenerator[Pipe]:
    """A legacy client that has shaken hands."""
    async with pipe(server) as client:
        await client.request("hello", "initialize", {**HELLO, **hello}, modern=False)
        await client.result()
        await client.send({"method": "notifications/initialized"})
        yield client


@pytest.mark.rule("LEG-L-17", "LEG-F-13", "VER-M-07")
@pytest.mark.rule("LOW-33", "VER-10", "LEG-L-03", "LEG-L-09", "LEG-L-10", "LEG-L-11", "LEG-L-21")
@pytest.mark.parametrize(
    ("offered", "agreed"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
async def test_a_known_legacy_version_is_echoed_and_any_other_answered_with_the_newest(
    offered: str, agreed: str
) -> None:
    async with pipe(serving(instructions="how")) as client:
        await client.request(1, "initialize", {**HELLO, "protocolVersion": offered}, modern=False)
        result = (await client.result()).result
    assert result == {
        "protocolVersion": agreed,
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "s", "version": "1"},
        "instructions": "how",
    }


@pytest.mark.rule("LOW-D7")
async def test_a_second_handshake_is_refused() -> None:
    async with session(serving()) as client:
        await client.request(2, "initialize", HELLO, modern=False)
        error = await client.error()
    assert (error.code, error.message) == (-32600, "already initialized")


@pytest.mark.rule("LOW-35")
async def test_after_invalid_handshake_params_the_client_may_try_again() -> None:
    async with pipe(serving()) as client:
        await client.request(1, "initialize", {"protocolVersion": "2025-11-25"}, modern=False)
        error = await client.error()
        assert (error.code, error.message) == (-32602, "Invalid request parameters")
        await client.request(2, "initialize", HELLO, modern=False)
        await client.result()


@pytest.mark.rule("LOW-36", "VER-4", "LEG-J-08")
async def test_requests_are_served_without_waiting_for_the_confirmation_and_without_modern_members() -> None:
    async with pipe(serving()) as client:
        await client.request(1, "initialize", HELLO, modern=False)
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        await client.result()
        result = await client.result()
    assert result.result == {"content": [{"type": "text", "text": "done"}], "isError": False}


@pytest.mark.rule("LOW-31")
async def test_a_modern_request_does_not_belong_on_a_legacy_connection() -> None:
    async with session(serving()) as client:
        await client.request(2, "tools/call", {"name": "x"})
        error = await client.error()
    assert (error.code, error.message) == (
        -32600,
        "this connection serves the handshake protocol era; "
        "requests carrying the 2026-07-28 envelope are not accepted on it",
    )


@pytest.mark.rule("LOW-28", "LEG-P-01", "LEG-P-07")
async def test_a_ping_is_answered_before_and_after_the_handshake() -> None:
    async with pipe(serving()) as client:
        await client.request(1, "ping", modern=False)
        assert (await client.result()).result == {}
        await client.request(2, "initialize", HELLO, modern=False)
        await client.result()
        await client.request(3, "ping", modern=False)
        assert (await client.result()).result == {}


@pytest.mark.rule("VER-4", "LOW-4")
@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
async def test_modern_methods_do_not_exist_in_a_legacy_session(method: str) -> None:
    async with session(serving()) as client:
        await client.request(2, method, {}, modern=False)
        error = await client.error()
    assert (error.code, error.message, error.data) == (-32601, "Method not found", method)


@pytest.mark.rule("LOW-46", "CTX-9", "LEG-L-14")
async def test_the_client_is_known_from_the_handshake() -> None:
    async def body(ctx: Context) -> None:
        assert ctx.protocol_version == "2025-06-18"
        assert ctx.session.client_params is not None
        assert ctx.session.client_params.client_info.name == "c"
        assert ctx.session.client_capabilities is not None
        assert ctx.session.client_capabilities.elicitation is not None
        assert ctx.session.can_send_request

    async with session(serving(body), protocolVersion="2025-06-18") as client:
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        await client.result()


@pytest.mark.rule("LOW-47", "VER-5", "ELICIT-10")
async def test_a_handler_asks_while_it_runs() -> None:
    async def body(ctx: Context) -> Any:
        answer = await ctx.session.elicit_form("where?", {"type": "object", "properties": {}}, ctx.request_id)
        return answer.content

    async with session(serving(body)) as client:
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        question = await client.question()
        assert (question.method, question.params) == (
            "elicitation/create",
            {"mode": "form", "message": "where?", "requestedSchema": {"type": "object", "properties": {}}},
        )
        await client.send({"id": question.request_id, "result": {"action": "accept", "content": {"a": "b"}}})
        assert (await client.result()).result["structuredContent"] == {"found": {"a": "b"}}


@pytest.mark.rule("LOW-D10", "DEP-32", "LEG-L-15", "BASE-A-07")
async def test_what_the_client_did_not_declare_is_not_asked() -> None:
    async def body(ctx: Context) -> None:
        with pytest.raises(MCPError) as raised:
            await ctx.session.elicit_form("where?", {"type": "object", "properties": {}})
        assert raised.value.code == -32021
        assert raised.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}

    async with session(serving(body), capabilities={}) as client:
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        await client.result()


@pytest.mark.rule("LOW-52", "CALLBACK-18", "LEG-L-23")
async def test_a_question_may_have_a_time_limit_and_the_client_is_told_when_it_is_over() -> None:
    async def body(ctx: Context) -> None:
        with pytest.raises(MCPError) as raised:
            await ctx.session.send_request(types.PingRequest(), types.EmptyResult, 0.01)
        assert (raised.value.code, raised.value.message) == (-32001, "Request 'ping' timed out")

    async with session(serving(body)) as client:
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        ping = await client.question()
        farewell = await client.notification()
        assert farewell.method == "notifications/cancelled"
        assert farewell.params == {"requestId": ping.request_id, "reason": "timed out after 0.01s"}
        await client.result()


async def test_a_question_of_a_cancelled_call_is_withdrawn() -> None:
    async def body(ctx: Context) -> None:
        await ctx.session.send_ping()

    async with session(serving(body)) as client:
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        ping = await client.question()
        await client.send({"method": "notifications/cancelled", "params": {"requestId": 2}})
        farewell = await client.notification()
        assert farewell.params == {"requestId": ping.request_id, "reason": "caller cancelled"}
        await client.request(3, "ping", modern=False)
        assert (await client.result()).request_id == 3


@pytest.mark.rule("VER-6", "CTX-13", "LEG-F-01", "LEG-F-03", "LEG-Q-13")
async def test_changes_are_told_as_they_happen() -> None:
    async def body(ctx: Context) -> None:
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_resource_updated("x://y")
        await ctx.session.send_elicit_complete("7")

    async with session(serving(body)) as client:
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        notes = [await client.notification() for _ in range(3)]
        await client.result()
    assert [(note.method, note.params) for note in notes] == [
        ("notifications/tools/list_changed", None),
        ("notifications/resources/updated", {"uri": "x://y"}),
        ("notifications/elicitation/complete", {"elicitationId": "7"}),
    ]


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.rule("LOG-D2", "VER-7", "LEG-F-05", "LEG-F-06")
async def test_the_client_sets_the_level_of_log_messages_for_the_session() -> None:
    async def body(ctx: Context) -> None:
        await ctx.session.send_log_message("info", "quiet")  # pyright: ignore[reportDeprecated]
        await ctx.session.send_log_message("error", "loud")  # pyright: ignore[reportDeprecated]

    async def level(ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        return types.EmptyResult()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        server = serving(body, on_set_logging_level=level)
    async with session(server) as client:
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        assert [(await client.notification()).params for _ in range(2)] == [
            {"level": "info", "data": "quiet"},
            {"level": "error", "data": "loud"},
        ]
        await client.result()
        await client.request(3, "logging/setLevel", {"level": "warning"}, modern=False)
        assert (await client.result()).result == {}
        await client.request(4, "tools/call", {"name": "x"}, modern=False)
        assert (await client.notification()).params == {"level": "error", "data": "loud"}
        await client.result()


@pytest.mark.rule("MRTR-10")
async def test_questions_in_the_result_are_no_answer_to_a_legacy_request() -> None:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.InputRequiredResult:
        return types.InputRequiredResult(request_state="s")

    async with session(Server("s", on_call_tool=call_tool)) as client:
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        error = await client.error()
    assert (error.code, error.message) == (-32603, "Handler returned an invalid result")


@pytest.mark.rule("MW-3", "MW-14")
async def test_middleware_sees_the_handshake() -> None:
    seen: list[str] = []
    confirmed = anyio.Event()

    async def watch(ctx: Context, call_next: CallNext) -> HandlerResult:
        seen.append(ctx.method)
        if ctx.method == "notifications/initialized":
            confirmed.set()
        return await call_next(ctx)

    server = serving()
    server.middleware.append(watch)
    async with session(server):
        with anyio.fail_after(5):
            await confirmed.wait()
    assert seen == ["initialize", "notifications/initialized"]


@pytest.mark.rule("LOW-22")
async def test_what_run_is_given_is_what_the_handshake_answers() -> None:
    from mcp.shared.message import SessionMessage

    server = serving()
    options = server.create_initialization_options(NotificationOptions(tools_changed=True), {"e": {}})
    to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception](10)
    server_writes, from_server = anyio.create_memory_object_stream[SessionMessage](10)
    async with anyio.create_task_group() as tasks, to_server, from_server:
        tasks.start_soon(server.run, server_reads, server_writes, options)
        client = Pipe(to_server, from_server)
        await client.request(1, "initialize", HELLO, modern=False)
        capabilities = (await client.result()).result["capabilities"]
        assert capabilities == {"tools": {"listChanged": True}, "experimental": {"e": {}}}
        tasks.cancel_scope.cancel()


async def test_a_client_may_report_progress_on_a_question() -> None:
    heard: list[float] = []

    async def body(ctx: Context) -> None:
        async def hear(progress: float, total: float | None, message: str | None) -> None:
            heard.append(progress)

        await ctx.session.send_request(types.PingRequest(), types.EmptyResult, progress_callback=hear)

    async with session(serving(body)) as client:
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        ping = await client.question()
        token = (ping.params or {})["_meta"]["progressToken"]
        for value in (1, 2):
            await client.send(
                {"method": "notifications/progress", "params": {"progressToken": token, "progress": value}}
            )
        await client.send({"id": ping.request_id, "result": {}})
        await client.result()
    assert heard == [1, 2]
