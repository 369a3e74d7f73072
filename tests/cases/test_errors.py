"""Errors on the client's side: what users of such packages suffered from."""

from __future__ import annotations

import anyio
import httpx2
import pytest
from anyio.abc import SocketStream

from mcp.client.client import Client
from mcp.client.streamable_http import StreamableHTTPError
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, REQUEST_TIMEOUT
from tests.cases.ways import both_eras, connected, every_way
from tests.client.raw_http import Seen, modern, raw_server, response
from tests.programs import free_port


@pytest.mark.rule("CASE-20")
@every_way
async def test_the_callers_own_exception_leaves_the_block_as_it_was_raised(way: str) -> None:
    mine = ValueError("mine")

    async def use() -> None:
        async with connected(way, "auto") as client:
            await client.call_tool("add", {"a": 1, "b": 2})
            raise mine

    with pytest.raises(ValueError, match=r"^mine$") as caught:
        await use()
    assert caught.value is mine


@pytest.mark.rule("CASE-20")
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
@pytest.mark.parametrize("host", ["127.0.0.1", "nowhere.invalid"])
async def test_a_server_that_cannot_be_reached_is_one_plain_error(mode: str, host: str) -> None:
    with anyio.fail_after(20), pytest.raises((StreamableHTTPError, httpx2.HTTPError, MCPError)) as caught:
        async with Client(f"http://{host}:{free_port()}/mcp", mode=mode) as client:
            await client.list_tools()
    assert caught.value.__cause__ is not None


@pytest.mark.rule("CASE-20")
@both_eras
async def test_an_entry_that_is_refused_is_one_plain_error(mode: str) -> None:
    async def refuse(seen: Seen, stream: SocketStream) -> None:
        await stream.send(response("no entry", "text/plain", "401 Unauthorized"))

    with anyio.fail_after(10):
        async with raw_server(refuse) as server:
            with pytest.raises(MCPError, match="401"):
                async with Client(server.url, mode=mode):
                    raise AssertionError("never entered")


@pytest.mark.rule("CASE-51")
async def test_failures_can_be_told_apart_by_their_codes() -> None:
    started = anyio.Event()

    async def misbehave(seen: Seen, stream: SocketStream) -> None:
        match seen.message["params"]["name"]:
            case "closes":
                await stream.aclose()
            case "refuses":
                await stream.send(response("", None, "503 Service Unavailable"))
            case _:
                started.set()
                await anyio.sleep_forever()

    async def failure(tool: str, seconds: float = 5) -> MCPError:
        with pytest.raises(MCPError) as caught:
            await client.call_tool(tool, {}, read_timeout_seconds=seconds)
        return caught.value

    with anyio.fail_after(10):
        async with raw_server(modern(misbehave)) as server, Client(server.url) as client:
            assert (await failure("waits", 0.05)).code == REQUEST_TIMEOUT
            closed, refused = await failure("closes"), await failure("refuses")
            assert (closed.code, closed.data) == (CONNECTION_CLOSED, None)
            assert refused.data == {"httpStatus": 503}
            # Whoever gives up sees that alone: a cancellation and no error.
            started = anyio.Event()
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "waits")
                await started.wait()
                group.cancel_scope.cancel()
        async with Client(MCPServer("Lab")) as client:
            assert (await failure("nothing")).code == INVALID_PARAMS
