"""What a server says while it works, progress and log messages, as the client's callbacks hear it."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import LOG_LEVEL_META_KEY
from tests.interaction.test_verbs import text_of
from tests.interaction.transports import Connector


def working_server() -> MCPServer:
    mcp = MCPServer("work")

    @mcp.tool()
    async def work(ctx: Context) -> str:
        await ctx.report_progress(1)
        await ctx.report_progress(2, message="half")
        await ctx.report_progress(4, 4)
        return "done"

    return mcp


@pytest.mark.rule("PROGRESS-4")
async def test_what_a_report_leaves_out_is_none(connect: Connector) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    with anyio.fail_after(10):
        async with connect(working_server()) as client:
            await client.call_tool("work", progress_callback=hear)
    assert heard == [(1, None, None), (2, None, "half"), (4, 4, None)]


@pytest.mark.rule("PROGRESS-9", "PROGRESS-D2")
async def test_a_progress_callback_that_raises_is_logged_and_the_call_goes_on(
    connect: Connector, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)
        raise ZeroDivisionError("no bar")

    with anyio.fail_after(10):
        async with connect(working_server()) as client:
            assert text_of(await client.call_tool("work", progress_callback=hear)) == "done"
    assert heard == [1, 2, 4]
    logged = [record for record in caplog.records if record.message == "progress callback raised"]
    assert [(record.levelno, record.name) for record in logged] == [(logging.ERROR, "mcp.client._notifications")] * 3
    assert all("no bar" in str(record.exc_info) for record in logged)


@pytest.mark.rule("PROGRESS-9")
async def test_a_progress_callback_need_not_be_an_async_function(
    connect: Connector, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[float] = []

    def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    with anyio.fail_after(10):
        async with connect(working_server()) as client:
            done = await client.call_tool("work", progress_callback=hear)  # pyright: ignore[reportArgumentType]
    assert text_of(done) == "done"
    assert heard == [1, 2, 4]
    assert caplog.text == ""


@pytest.mark.rule("LOG-9")
@pytest.mark.parametrize("level", ["warning", None])
async def test_a_client_asks_for_log_messages_with_each_request_and_declares_nothing(
    connect: Connector, level: types.LoggingLevel | None
) -> None:
    seen: list[Any] = []

    async def note(ctx: ServerRequestContext, call_next: Any) -> Any:
        if ctx.method in ("tools/call", "tools/list"):
            assert ctx.session.client_capabilities is not None
            declared = ctx.session.client_capabilities.model_dump(exclude_none=True)
            seen.append((declared, (ctx.meta or {}).get(LOG_LEVEL_META_KEY)))
        return await call_next(ctx)

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        raise AssertionError("nothing was said")

    async def list_tools(ctx: ServerRequestContext, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="t", input_schema={"type": "object"})])

    async def call_tool(ctx: ServerRequestContext, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[])

    server = Server("quiet", on_list_tools=list_tools, on_call_tool=call_tool)
    server.middleware.append(note)
    options: dict[str, Any] = {"logging_callback": hear} | ({} if level is None else {"log_level": level})
    with anyio.fail_after(10):
        async with connect(server, **options) as client:
            await client.list_tools()
            await client.call_tool("t")
    # A legacy client says what it wants with `logging/setLevel`.
    assert seen == [({}, None if connect.way == "legacy" else level)] * 2
