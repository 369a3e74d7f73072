"""Whatever an author's code does, it fails alone: the other calls, the connection and the server go on."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR
from tests.cases.ways import both_eras, child
from tests.interaction import failing_program
from tests.interaction.failing_program import FAILING, RESUMABLE, STRAYS, PanicError, build
from tests.server.http.serving import serving

# A task does not know before Python 3.11 whether somebody wants it to stop, except where nobody else can.
CAN_TELL = sys.version_info >= (3, 11)
WAYS: dict[str, dict[str, Any]] = {
    "memory": {},
    "stdio": {},
    "http": {},
    "json": {"json_response": True},
    "stateless": {"stateless_http": True},
}
every_way = pytest.mark.parametrize("way", WAYS)


@asynccontextmanager
async def connected(way: str, mode: str) -> AsyncGenerator[Client]:
    with anyio.fail_after(30):
        if way == "memory":
            async with Client(build(), mode=mode) as client:
                yield client
        elif way == "stdio":
            async with Client(child("-m", failing_program.__name__), mode=mode) as client:
                yield client
        else:
            with serving(build().streamable_http_app(**WAYS[way])) as port:
                async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client:
                    yield client


def is_told_apart(name: str, way: str, mode: str) -> bool:
    return CAN_TELL or name not in STRAYS or way == "stdio" or mode == "legacy"


@both_eras
@every_way
async def test_a_tool_that_fails_in_any_way_fails_alone(way: str, mode: str) -> None:
    answers: list[Any] = []
    async with connected(way, mode) as client, anyio.create_task_group() as tasks:

        async def wait() -> None:
            answers.append(await client.call_tool("wait"))

        tasks.start_soon(wait)
        for tool in (*FAILING, *RESUMABLE):
            name = tool.__name__
            if not is_told_apart(name, way, mode):
                continue
            with pytest.raises(MCPError) as caught:
                await client.call_tool(name)
            assert (caught.value.code, caught.value.message) == (INTERNAL_ERROR, "Internal server error")
        await client.call_tool("release")
    assert [answer.structured_content for answer in answers] == [{"result": "released"}]


@both_eras
@every_way
async def test_prompts_and_resources_that_fail_in_any_way_fail_alone(way: str, mode: str) -> None:
    async with connected(way, mode) as client:
        for name in ("panic", "stray"):
            if not is_told_apart(name, way, mode):
                continue
            with pytest.raises(MCPError) as caught:
                await client.get_prompt(name)
            assert (caught.value.code, "secret" in str(caught.value)) == (INTERNAL_ERROR, False)
            with pytest.raises(MCPError) as caught:
                await client.read_resource(f"failing://{name}")
            assert (caught.value.code, "secret" in str(caught.value)) == (INTERNAL_ERROR, False)
        assert len((await client.list_tools()).tools) == len(FAILING) + len(RESUMABLE) + 2


async def test_the_log_names_the_tool_and_the_request(caplog: pytest.LogCaptureFixture) -> None:
    async with connected("memory", "auto") as client:
        with pytest.raises(MCPError, match="Internal server error"):
            await client.call_tool("panic")
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.getMessage().startswith("Tool 'panic' raised an unexpected exception (request ")
    assert record.exc_info is not None
    assert record.exc_info[0] is PanicError


@both_eras
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_that_somebody_cancels_is_cancelled(mode: str) -> None:
    async with connected("memory", mode) as client:
        call = asyncio.create_task(client.call_tool("wait"))
        await anyio.wait_all_tasks_blocked()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        with anyio.move_on_after(0.01) as scope:
            await client.call_tool("wait")
        assert scope.cancelled_caught
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.call_tool("wait"), 0.01)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.list_tools(meta={"vendor/x": 1}), 0)
        await client.call_tool("release")


@both_eras
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("fault", ["panic", "stray"] if CAN_TELL else ["panic"])
async def test_a_callback_that_fails_in_any_way_ends_no_connection(mode: str, fault: str) -> None:
    async def handle(message: object) -> None:
        if fault == "panic":
            raise PanicError
        await failing_program.stray()

    with anyio.fail_after(30):
        async with Client(child("-m", "tests.cases.program"), mode=mode, message_handler=handle) as client:
            await client.call_tool("announce")
            await client.call_tool("count", {"steps": 2, "pause": 0})
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
