"""Code around every inbound message."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from contextvars import ContextVar
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp.client.client import Client
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver.context import Context as ToolContext
from mcp.server.mcpserver.server import MCPServer
from mcp.server.request_state import RequestStateBoundary
from mcp.server.tracing import OpenTelemetryMiddleware
from mcp.shared.exceptions import MCPError
from tests.server.lowlevel.wire import Caller, caller, meta, pipe

Context = ServerRequestContext[Any, Any]


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name == "fail":
        raise LookupError("handler's own")
    return types.CallToolResult(content=[types.TextContent(type="text", text=params.name)])


def make() -> Server[Any]:
    return Server("s", version="1", on_call_tool=call_tool)


async def call(client: Caller, name: str = "x") -> dict[str, Any]:
    return await client.call("tools/call", {"name": name})


@pytest.mark.rule("MW-1", "MW-2")
async def test_the_first_is_outermost_and_the_list_is_live() -> None:
    order: list[str] = []

    def named(name: str) -> Any:
        async def middleware(ctx: Context, call_next: CallNext) -> HandlerResult:
            order.append(f"{name} in")
            result = await call_next(ctx)
            order.append(f"{name} out")
            return result

        return middleware

    server = make()
    assert [type(entry) for entry in server.middleware] == [OpenTelemetryMiddleware]
    async with caller(server) as client:
        server.middleware += [named("a"), named("b")]
        await call(client)
        assert order == ["a in", "b in", "b out", "a out"]
        order.clear()
        del server.middleware[1]
        await call(client)
        assert order == ["b in", "b out"]


@pytest.mark.rule("MW-3", "MW-5", "MW-6")
async def test_it_sees_every_request_and_notification_unknown_ones_too() -> None:
    seen: list[tuple[str, Any]] = []
    told = anyio.Event()

    async def watch(ctx: Context, call_next: CallNext) -> HandlerResult:
        seen.append((ctx.method, ctx.request_id))
        if ctx.request_id is None:
            assert ctx.params is None
            told.set()
            await call_next(ctx)
            return {"ignored": True}
        return await call_next(ctx)

    server = make()
    server.middleware.append(watch)
    async with pipe(server) as client:
        await client.request(1, "server/discover")
        await client.result()
        await client.request(2, "no/such")
        await client.error()
        await client.send({"method": "notifications/unknown"})
        with anyio.fail_after(5):
            await told.wait()
    assert seen == [("server/discover", 1), ("no/such", 2), ("notifications/unknown", None)]


@pytest.mark.rule("MW-7")
async def test_failures_of_the_rest_of_the_chain_surface_as_they_are() -> None:
    failures: list[str] = []

    async def watch(ctx: Context, call_next: CallNext) -> HandlerResult:
        try:
            return await call_next(ctx)
        except Exception as error:
            failures.append(type(error).__name__)
            raise

    server = make()
    server.middleware.append(watch)
    codes: list[int] = []
    async with caller(server) as client:
        for method, params in (("tools/call", {"name": 5}), ("no/such", {}), ("tools/call", {"name": "fail"})):
            with pytest.raises(MCPError) as raised:
                await client.call(method, params)
            codes.append(raised.value.code)
    assert failures == ["ValidationError", "MCPError", "LookupError"]
    assert codes == [-32602, -32601, -32603]


@pytest.mark.rule("MW-8")
async def test_call_next_returns_the_finished_result_and_changing_it_changes_the_answer() -> None:
    async def change(ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        assert isinstance(result, dict)
        assert result["resultType"] == "complete"
        result["content"] = []
        return result

    server = make()
    server.middleware.append(change)
    async with caller(server) as client:
        assert (await call(client))["content"] == []


@pytest.mark.rule("MW-9")
@pytest.mark.parametrize(("error", "answer"), [(MCPError(-7, "no", 1), (-7, "no", 1)), (KeyError("secret"), None)])
async def test_what_it_raises_is_answered_like_a_handlers(error: Exception, answer: Any) -> None:
    async def refuse(ctx: Context, call_next: CallNext) -> HandlerResult:
        raise error

    server = make()
    server.middleware.append(refuse)
    async with caller(server) as client:
        with pytest.raises(MCPError) as raised:
            await call(client)
    found = (raised.value.code, raised.value.message, raised.value.data)
    assert found == (answer or (-32603, "Internal server error", None))


QUESTION: dict[str, Any] = {
    "resultType": "input_required",
    "inputRequests": {
        "q": {
            "method": "elicitation/create",
            "params": {"mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {}}},
        }
    },
}


@pytest.mark.rule("MW-10", "MRTR-D1")
@pytest.mark.parametrize("make_result", [dict, OrderedDict, types.InputRequiredResult.model_validate])
async def test_a_question_of_its_own_is_checked_like_a_handlers(make_result: Any) -> None:
    async def ask(ctx: Context, call_next: CallNext) -> HandlerResult:
        return make_result(QUESTION) if ctx.method == "tools/call" else await call_next(ctx)

    server = make()
    server.middleware.append(ask)
    async with caller(server) as client:
        with pytest.raises(MCPError, match="form elicitation capability required by input request 'q'") as raised:
            await call(client)
        assert raised.value.code == -32021
        able = meta({"elicitation": {"form": {}}})
        result = await client.call("tools/call", {"name": "x"}, request_meta=able)
        assert result["inputRequests"] == QUESTION["inputRequests"]
        assert result["_meta"] == {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}


@pytest.mark.rule("MRTR-10")
@pytest.mark.parametrize("make_result", [dict, OrderedDict, types.InputRequiredResult.model_validate])
async def test_a_question_of_its_own_is_no_answer_on_a_legacy_session(make_result: Any) -> None:
    async def ask(ctx: Context, call_next: CallNext) -> HandlerResult:
        return make_result(QUESTION) if ctx.method == "tools/call" else await call_next(ctx)

    server = make()
    server.middleware.append(ask)
    async with Client(server, mode="legacy") as client:
        with pytest.raises(MCPError, match="Handler returned an invalid result") as raised:
            await client.call_tool("x")
    assert raised.value.code == -32603


@pytest.mark.rule("MW-10")
@pytest.mark.parametrize("requests", [{"q": {"method": "ping"}}, {}, 5])
async def test_a_malformed_question_of_its_own_is_the_servers_failure(requests: Any) -> None:
    async def ask(ctx: Context, call_next: CallNext) -> HandlerResult:
        return {"resultType": "input_required", "inputRequests": requests}

    server = make()
    server.middleware.append(ask)
    async with caller(server) as client:
        with pytest.raises(MCPError, match="Handler returned an invalid result"):
            await call(client)


@pytest.mark.rule("MW-10", "MW-D1")
async def test_it_may_answer_itself_and_the_answer_is_stamped_like_a_handlers() -> None:
    answers: list[Any] = [types.CallToolResult(content=[]), {"content": []}, 5]

    async def answer(ctx: Context, call_next: CallNext) -> HandlerResult:
        return answers.pop(0)

    server = make()
    server.middleware.append(answer)
    async with caller(server) as client:
        for _ in range(2):
            result = await call(client)
            assert result["resultType"] == "complete"
            assert result["_meta"] == {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}
        with pytest.raises(MCPError, match="Internal server error"):
            await call(client)


@pytest.mark.rule("MW-12", "MW-D2")
async def test_it_may_rewrite_the_message_and_the_metadata_stays() -> None:
    async def rewrite(ctx: Context, call_next: CallNext) -> HandlerResult:
        return await call_next(dataclasses.replace(ctx, method="tools/call", params={"name": "rewritten"}))

    metas: list[Any] = []

    async def keep(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        metas.append(params.meta)
        return await call_tool(ctx, params)

    server = Server("s", on_call_tool=keep)
    server.middleware.append(rewrite)
    async with caller(server) as client:
        result = await client.call("com.example/other", {})
    assert result["content"] == [{"type": "text", "text": "rewritten"}]
    assert metas[0]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"


@pytest.mark.rule("MW-13")
async def test_call_next_may_run_twice() -> None:
    async def twice(ctx: Context, call_next: CallNext) -> HandlerResult:
        await call_next(ctx)
        return await call_next(ctx)

    runs: list[int] = []

    async def count(ctx: Context, call_next: CallNext) -> HandlerResult:
        runs.append(1)
        return await call_next(ctx)

    server = make()
    server.middleware += [twice, count]
    async with caller(server) as client:
        await call(client)
    assert len(runs) == 2


@pytest.mark.rule("MW-16")
async def test_context_variables_it_sets_are_visible_in_the_handler() -> None:
    who: ContextVar[str] = ContextVar("who")
    seen: list[str] = []

    async def set_who(ctx: Context, call_next: CallNext) -> HandlerResult:
        who.set("me")
        return await call_next(ctx)

    async def look(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        seen.append(who.get())
        return types.CallToolResult(content=[])

    server = Server("s", on_call_tool=look)
    server.middleware.append(set_who)
    async with caller(server) as client:
        await call(client)
    assert seen == ["me"]


@pytest.mark.rule("MW-20")
async def test_what_goes_out_does_not_pass_through_it() -> None:
    seen: list[str] = []

    async def watch(ctx: Context, call_next: CallNext) -> HandlerResult:
        seen.append(ctx.method)
        return await call_next(ctx)

    async def noisy(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        await ctx.session.report_progress(1)
        return types.CallToolResult(content=[])

    server = Server("s", on_call_tool=noisy)
    server.middleware.append(watch)
    async with caller(server) as client:
        await client.call("tools/call", {"name": "x"}, request_meta=meta(progressToken="p"))
    assert [method for method, _ in client.notifications] == ["notifications/progress"]
    assert seen == ["tools/call"]


@pytest.mark.rule("MW-17", "MW-D3")
@pytest.mark.parametrize(
    ("middleware", "problem"),
    [
        ("text", "middleware must be a sequence of callables, got str"),
        ({"a": 1}, "middleware must be a sequence of callables, got dict"),
        (5, "middleware must be a sequence of callables, got int"),
        ([print, "text"], r"middleware\[1\] must be callable, got str"),
    ],
)
def test_what_is_no_middleware_is_refused_at_construction(middleware: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=f"^{problem}$"):
        MCPServer("s", middleware=middleware)


@pytest.mark.rule("MW-19")
async def test_removing_the_boundary_turns_the_protection_of_state_off() -> None:
    server = MCPServer("s")

    @server.tool()
    async def ask(ctx: ToolContext) -> types.InputRequiredResult | str:
        return ctx.request_state or types.InputRequiredResult(request_state="plain")

    async with server.connect_in_process("auto") as link:
        client = Caller(link)
        assert (await client.call("tools/call", {"name": "ask"}))["requestState"].startswith("r1.")
        server.middleware[:] = [entry for entry in server.middleware if not isinstance(entry, RequestStateBoundary)]
        assert (await client.call("tools/call", {"name": "ask"}))["requestState"] == "plain"
        answer = await client.call("tools/call", {"name": "ask", "requestState": "mine"})
        assert answer["content"] == [{"type": "text", "text": "mine"}]
