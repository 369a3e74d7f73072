"""Many calls at once, calls that are given up, and calls that take too long."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Any, cast

import anyio
import anyio.to_thread
import pytest

from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import REQUEST_TIMEOUT
from tests.interaction.test_verbs import text_of
from tests.interaction.transports import Connector


class Signs:
    """What a tool shows of itself to the test, which may run in another thread."""

    def __init__(self) -> None:
        self.started = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)
        self.release = threading.Event()

    async def wait(self, sign: threading.Semaphore) -> None:
        """Wait for a sign, without stopping this thread's loop, in which the tool may run."""
        assert await anyio.to_thread.run_sync(lambda: sign.acquire(timeout=5))


def make_server(signs: Signs) -> MCPServer:
    mcp = MCPServer("busy")

    @mcp.tool()
    async def echo(number: int, ctx: Context) -> int:
        await ctx.report_progress(number)
        await anyio.sleep(number % 3 / 1000)
        return number

    @mcp.tool()
    async def hang() -> str:
        signs.started.release()
        try:
            await anyio.sleep_forever()
        finally:
            signs.ended.release()
        raise AssertionError

    @mcp.tool()
    async def slow() -> str:
        signs.started.release()
        await anyio.to_thread.run_sync(signs.release.wait, abandon_on_cancel=True)
        return "slow but sure"

    return mcp


async def test_fifty_calls_at_once_get_their_own_answers_and_progress(connect: Connector) -> None:
    answers: dict[int, Any] = {}
    heard: dict[int, list[float]] = {number: [] for number in range(50)}

    with anyio.fail_after(20):
        async with connect(make_server(Signs())) as client:

            async def call(number: int) -> None:
                async def listen(progress: float, total: float | None, message: str | None) -> None:
                    heard[number].append(progress)

                result = await client.call_tool("echo", {"number": number}, progress_callback=listen)
                answers[number] = result.structured_content

            async with anyio.create_task_group() as tasks:
                for number in range(50):
                    tasks.start_soon(call, number)
    assert answers == {number: {"result": number} for number in range(50)}
    assert heard == {number: [number] for number in range(50)}


@pytest.mark.rule("CANC-01", "CANC-03")
async def test_giving_up_a_call_stops_its_work_and_no_other(connect: Connector) -> None:
    signs = Signs()
    kept: list[str] = []
    with anyio.fail_after(20):
        async with connect(make_server(signs)) as client:

            async def keep() -> None:
                kept.append(text_of(await client.call_tool("slow")))

            async with anyio.create_task_group() as others:
                others.start_soon(keep)
                await signs.wait(signs.started)
                async with anyio.create_task_group() as given_up:
                    for _ in range(3):
                        given_up.start_soon(client.call_tool, "hang")
                    for _ in range(3):
                        await signs.wait(signs.started)
                    given_up.cancel_scope.cancel()
                for _ in range(3):
                    await signs.wait(signs.ended)
                assert text_of(await client.call_tool("echo", {"number": 7})) == "7"
                assert kept == []
                signs.release.set()
            assert kept == ["slow but sure"]


@pytest.mark.rule("CANC-11", "CANC-20", "CANC-21", "CANC-24")
async def test_a_call_that_takes_too_long_fails_and_its_work_stops(connect: Connector) -> None:
    signs = Signs()
    with anyio.fail_after(20):
        async with connect(make_server(signs)) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("hang", read_timeout_seconds=0.2)
            assert caught.value.code == REQUEST_TIMEOUT
            assert "tools/call" in caught.value.message
            await signs.wait(signs.ended)
            assert text_of(await client.call_tool("echo", {"number": 1})) == "1"


async def test_leaving_the_client_stops_the_calls_of_other_tasks(connect: Connector) -> None:
    signs = Signs()
    with anyio.fail_after(20):
        async with connect(make_server(signs)) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "hang")
                await signs.wait(signs.started)
                tasks.cancel_scope.cancel()
            await signs.wait(signs.ended)


caller: ContextVar[str] = ContextVar("caller", default="nobody")


async def test_context_variables_of_the_caller_hold_in_the_same_process_and_never_leak(connect: Connector) -> None:
    mcp = MCPServer("vars")

    @mcp.tool()
    async def who() -> str:
        found = caller.get()
        caller.set("the tool")
        return found if connect.in_process else f"{found} here"

    @mcp.tool()
    def who_in_a_thread() -> str:
        return caller.get() if connect.in_process else f"{caller.get()} here"

    with anyio.fail_after(10):
        async with connect(mcp) as client:
            token = caller.set("me")
            answers = [text_of(await client.call_tool(tool)) for tool in ("who_in_a_thread", "who")]
            caller.reset(token)
    # What is compared across the ways must not differ, so the record is left out of this one.
    connect.record.forget()
    assert answers == (["me", "me"] if connect.in_process else ["nobody here", "nobody here"])


async def test_notifications_of_concurrent_calls_reach_their_own_callers(connect: Connector) -> None:
    mcp = MCPServer("talk")
    barrier = threading.Barrier(2)

    @mcp.tool()
    async def talk(name: str, ctx: Context) -> str:
        for step in range(1, 6):
            await anyio.to_thread.run_sync(barrier.wait, 5)
            await ctx.report_progress(step, message=name)
        return name

    heard: dict[str, list[str | None]] = {"a": [], "b": []}
    with anyio.fail_after(20):
        async with connect(mcp) as client:

            async def call(name: str) -> None:
                async def listen(progress: float, total: float | None, message: str | None) -> None:
                    heard[name].append(message)

                assert text_of(await client.call_tool("talk", {"name": name}, progress_callback=listen)) == name

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call, "a")
                tasks.start_soon(call, "b")
    assert heard == {"a": ["a"] * 5, "b": ["b"] * 5}


async def test_each_call_hands_over_copies(connect: Connector) -> None:
    mcp = MCPServer("copies")
    kept: list[dict[str, Any]] = []

    @mcp.tool()
    async def keep(value: dict[str, Any]) -> dict[str, Any]:
        value["seen"] = True
        kept.append(value)
        return value

    mine: dict[str, Any] = {"deep": [1]}
    with anyio.fail_after(10):
        async with connect(mcp) as client:
            first = await client.call_tool("keep", {"value": mine})
            assert mine == {"deep": [1]}
            received = cast("dict[str, Any]", first.structured_content)
            received["deep"] = "changed"
            kept[0]["deep"].append(2)
            second = await client.call_tool("keep", {"value": mine})
    assert second.structured_content == {"deep": [1], "seen": True}
