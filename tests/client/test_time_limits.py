"""How long things take: these tests let a little time pass."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp._engine.link import OnNotification, OutgoingRequest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import REQUEST_TIMEOUT
from tests.client.scripted import Scripted, said
from tests.client.test_input_required import asking, form


async def ticking(request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
    for tick in range(6):
        await anyio.sleep(0.05)
        await on_notification("notifications/progress", {"progressToken": request.request_id, "progress": tick})
    return said()


@pytest.mark.rule("CLIENT-D15", "CLIENT-72", "CANC-22")
async def test_progress_extends_the_timeout_unless_that_is_not_wanted() -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(tools__call=ticking), read_timeout_seconds=0.2) as client:
            await client.call_tool("add")
        options: dict[str, Any] = {"read_timeout_seconds": 0.2, "reset_timeout_on_progress": False}
        async with Client(Scripted(tools__call=ticking), **options) as client:
            with pytest.raises(MCPError, match="timed out"):
                await client.call_tool("add")


@pytest.mark.rule("CLIENT-D15", "CLIENT-72", "CANC-23")
async def test_a_total_timeout_holds_whatever_the_progress() -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(tools__call=ticking), total_timeout_seconds=0.2) as client:
            with pytest.raises(MCPError, match="timed out"):
                await client.call_tool("add")


@pytest.mark.rule("MRTR-63")
async def test_the_clock_stands_still_while_a_callback_runs() -> None:
    async def one_tick(request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        await on_notification("notifications/progress", {"progressToken": request.request_id, "progress": 1})
        return said()

    async def slow(progress: float, total: float | None, message: str | None) -> None:
        await anyio.sleep(0.1)

    options: dict[str, Any] = {"read_timeout_seconds": 0.05, "reset_timeout_on_progress": False}
    with anyio.fail_after(5):
        async with Client(Scripted(tools__call=one_tick), **options) as client:
            await client.call_tool("add", progress_callback=slow)


@pytest.mark.rule("MRTR-63", "CLIENT-68")
async def test_metadata_progress_and_timeout_apply_to_each_leg_and_not_to_callbacks() -> None:
    async def slow(context: Any, params: Any) -> types.ElicitResult:
        await anyio.sleep(0.1)
        return types.ElicitResult(action="decline")

    heard: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    replies = [asking(a=form()), said()]

    async def answer(request: Any, on_notification: Any) -> dict[str, Any]:
        await on_notification("notifications/progress", {"progressToken": request.request_id, "progress": 1})
        return replies.pop(0)

    server = Scripted(tools__call=answer)
    with anyio.fail_after(5):
        async with Client(server, elicitation_callback=slow) as client:
            meta: Any = {"acme/x": 1}
            await client.call_tool("add", read_timeout_seconds=0.05, progress_callback=on_progress, meta=meta)
    assert heard == [1, 1]
    assert [params["_meta"]["acme/x"] for params in server.sent("tools/call")] == [1, 1]


async def test_the_whole_call_can_be_bounded_by_time() -> None:
    server = Scripted(tools__call=asking("again"))
    options: dict[str, Any] = {"input_required_timeout": 0.12, "input_required_max_rounds": 1000}
    with anyio.fail_after(5):
        async with Client(server, **options) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("add")
            assert caught.value.code == REQUEST_TIMEOUT
            await client.list_tools()


@pytest.mark.rule("MRTR-56", "MRTR-57", "CLIENT-62", "CLIENT-63")
async def test_a_round_of_state_alone_sends_the_state_after_a_pause() -> None:
    server = Scripted(tools__call=[asking("s1"), {**asking("s2"), "inputRequests": {}}, said()])
    before = anyio.current_time()
    async with Client(server) as client:
        await client.call_tool("add")
    assert anyio.current_time() - before >= 0.14
    assert [params.get("requestState") for params in server.sent("tools/call")] == [None, "s1", "s2"]
    assert all("inputResponses" not in params for params in server.sent("tools/call"))
