"""Errors that arose on this side, and those of the other side that look like them."""

from __future__ import annotations

import anyio
import pytest

from mcp.client import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import CONNECTION_CLOSED, INTERNAL_ERROR, REQUEST_TIMEOUT
from tests.interaction.transports import Connector

TIMED_OUT = "Request 'tools/call' timed out"


@pytest.mark.rule("SERR-08", "BASE-E-09", "SERR-06")
async def test_a_time_limit_of_ones_own_is_told_from_what_a_server_says_about_its_own(connect: Connector) -> None:
    server = MCPServer("imitating")

    @server.tool()
    async def imitate(code: int) -> None:
        raise MCPError(code, TIMED_OUT)

    @server.tool()
    async def hang() -> None:
        await anyio.sleep_forever()

    with anyio.fail_after(20):
        async with connect(server) as client:
            for code in (REQUEST_TIMEOUT, CONNECTION_CLOSED):
                with pytest.raises(MCPError) as said:
                    await client.call_tool("imitate", {"code": code})
                assert (said.value.code, said.value.message, said.value.is_local) == (code, TIMED_OUT, False)
            with pytest.raises(MCPError) as own:
                await client.call_tool("hang", read_timeout_seconds=0.2)
            assert (own.value.code, own.value.message, own.value.is_local) == (REQUEST_TIMEOUT, TIMED_OUT, True)


@pytest.mark.rule("SERR-06", "BASE-E-03", "BASE-E-09")
async def test_an_error_that_arose_in_a_server_leaves_it_under_no_code_of_the_old_range(connect: Connector) -> None:
    farther = MCPServer("farther")

    @farther.tool()
    async def hang() -> None:
        await anyio.sleep_forever()

    server = MCPServer("between")

    @server.tool()
    async def pass_on() -> None:
        async with Client(farther) as client:
            await client.call_tool("hang", read_timeout_seconds=0.1)

    @server.prompt()
    async def pass_on_closed() -> str:
        raise MCPError(CONNECTION_CLOSED, "Connection closed", is_local=True)

    with anyio.fail_after(20):
        async with connect(server) as client:
            with pytest.raises(MCPError) as late:
                await client.call_tool("pass_on")
            assert (late.value.code, late.value.message, late.value.is_local) == (INTERNAL_ERROR, TIMED_OUT, False)
            with pytest.raises(MCPError) as closed:
                await client.get_prompt("pass_on_closed")
            assert (closed.value.code, closed.value.message) == (INTERNAL_ERROR, "Connection closed")
