"""How a client behaves on a pipe: what it writes, in which order, and what it makes of what it was not meant to get."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp._protocol.jsonrpc import Request
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server.subscriptions import ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError
from tests.client.raw_pipe import RawServer
from tests.client.scripted import DISCOVERY
from tests.client.test_client_over_pipes import connected
from tests.client.test_handshake import opened, piped, while_answering

PREFIX = "io.modelcontextprotocol/"

# Writes down what it reads, and answers everything but calls of "slow".
NOTEBOOK = """
import json, sys
log = open(sys.argv[1], "ab", buffering=0)
for line in sys.stdin.buffer:
    log.write(line)
    message = json.loads(line)
    if message.get("params", {}).get("name") == "slow" or "id" not in message:
        continue
    result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    if message["method"] == "server/discover":
        result |= {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif message["method"] == "tools/list":
        result |= {"tools": [{"name": "slow", "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        result |= {"content": []}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.mark.rule("STDIO-F-03", "STDIO-F-09", "STDIO-F-10", "STDIO-F-14", "STDIO-C-01", "CANC-04", "CANC-08", "TR-07")
@pytest.mark.rule("BASE-J-16", "VER-N-02")
async def test_every_line_a_modern_client_writes_is_a_request_with_metadata_or_a_notification(tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = StdioServerParameters(command=sys.executable, args=["-I", "-S", "-c", NOTEBOOK, str(log)])
    with anyio.fail_after(20):
        async with Client(server) as client:
            await client.list_tools()
            await client.call_tool("fast", {"text": "two\nlines \u2028 \u00e9"})
            with pytest.raises(MCPError, match="timed out"):
                await client.call_tool("slow", None, 0.05)
            await client.list_tools()
    text = log.read_bytes()
    assert text.endswith(b"\n")
    messages = [json.loads(line) for line in text.decode().split("\n")[:-1]]
    requests = [message for message in messages if "id" in message]
    assert len({message["id"] for message in requests}) == len(requests)
    for message in messages:
        assert message["jsonrpc"] == "2.0"
        assert "result" not in message
        assert "error" not in message
        assert message["method"] in {"server/discover", "tools/list", "tools/call", "notifications/cancelled"}
    for request in requests:
        assert request["params"]["_meta"][PREFIX + "protocolVersion"] == "2026-07-28"
        assert PREFIX + "clientCapabilities" in request["params"]["_meta"]
    (slow,) = [request["id"] for request in requests if request["params"].get("name") == "slow"]
    cancelled = [message["params"]["requestId"] for message in messages if "id" not in message]
    assert cancelled == [slow]


@pytest.mark.rule("LEG-L-05")
async def test_nothing_is_sent_until_the_handshake_is_answered() -> None:
    async def serve(server: RawServer) -> None:
        hello = await server.request("initialize")
        await anyio.wait_all_tasks_blocked()
        assert server.silent()
        await server.answer(
            hello, {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
        )
        await server.notification("notifications/initialized")

    async with connected(serve, mode="legacy") as (client, _):
        assert client.protocol_version == "2025-11-25"


@pytest.mark.rule("LEG-J-04")
async def test_no_request_id_is_used_twice_in_a_session() -> None:
    async with opened() as (session, server):
        seen: list[types.RequestId] = [1]  # the handshake
        for number in range(6):
            if number % 2:
                with pytest.raises(MCPError, match="timed out"):
                    await session.call_tool("slow", None, 0.01)
                seen.append((await server.request("tools/call")).request_id)
                await server.notification("notifications/cancelled")
            else:

                async def answer() -> None:
                    ping = await server.request("ping")
                    seen.append(ping.request_id)
                    await server.answer(ping, {})

                await while_answering(session.send_ping(), answer)
    assert len(set(seen)) == 7


@pytest.mark.rule("LEG-Q-15")
async def test_the_end_of_a_visit_that_nobody_made_is_no_trouble() -> None:
    async with opened() as (session, server):
        await server.send({"method": "notifications/elicitation/complete", "params": {"elicitationId": "unknown"}})

        async def answer() -> None:
            await server.answer(await server.request("ping"), {})

        await while_answering(session.send_ping(), answer)


@pytest.mark.rule("LEG-L-25", "LEG-L-26", "LEG-L-23")
@pytest.mark.parametrize("limit", ["read_timeout_seconds", "total_timeout_seconds"])
async def test_progress_extends_the_time_of_a_legacy_call_but_not_the_whole_of_it(limit: str) -> None:
    async def serve(server: RawServer) -> None:
        await server.shake_hands()
        call = await server.request()
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # whoever gave up may be gone
            for tick in range(6):
                await anyio.sleep(0.05)  # the clock is what this is about
                params = {"progressToken": call.request_id, "progress": tick}
                await server.send({"method": "notifications/progress", "params": params})
            await server.answer(call, {"messages": []})

    async def hear(progress: float, total: float | None, message: str | None) -> None: ...

    with anyio.fail_after(5):
        async with connected(serve, mode="legacy", **{limit: 0.2}) as (client, _):
            request = types.GetPromptRequest(params=types.GetPromptRequestParams(name="p"))
            call = client.session.send_request(request, types.GetPromptResult, progress_callback=hear)
            if limit == "read_timeout_seconds":
                assert (await call).messages == []
            else:
                with pytest.raises(MCPError, match="timed out"):
                    await call


@pytest.mark.rule("STDIO-F-12", "STDIO-F-13", "SUB-11", "BASE-S-07")
async def test_subscriptions_that_share_a_pipe_hear_their_own_news_and_end_one_by_one() -> None:
    async def news(server: RawServer, listen: Request, method: str, **params: Any) -> None:
        meta = {PREFIX + "subscriptionId": listen.request_id}
        await server.send({"method": method, "params": {**params, "_meta": meta}})

    async def acknowledge(server: RawServer) -> Request:
        listen = await server.request("subscriptions/listen")
        wanted = (listen.params or {})["notifications"]
        await news(server, listen, "notifications/subscriptions/acknowledged", notifications=wanted)
        return listen

    async def serve(server: RawServer) -> None:
        await server.answer(await server.request("server/discover"), DISCOVERY)
        tools, resource = [await acknowledge(server) for _ in range(2)]
        await news(server, resource, "notifications/resources/updated", uri="x://y")
        await news(server, tools, "notifications/tools/list_changed")
        farewell = await server.notification("notifications/cancelled")
        assert (farewell.params or {})["requestId"] == resource.request_id
        await news(server, tools, "notifications/tools/list_changed")

    with anyio.fail_after(5):
        async with connected(serve) as (client, _):
            async with client.listen(tools_list_changed=True) as tools:
                async with client.listen(resource_subscriptions=["x://y"]) as resource:
                    assert await anext(tools) == ToolsListChanged()
                    assert await anext(resource) == ResourceUpdated("x://y")
                assert await anext(tools) == ToolsListChanged()


@pytest.mark.rule("VER-M-02")
async def test_a_pinned_client_fails_at_a_legacy_server() -> None:
    async with piped() as (session, server):
        session.adopt(types.DiscoverResult.model_validate(DISCOVERY))

        async def refuse() -> None:
            await server.refuse(await server.request("tools/list"), -32602, "not initialized")

        with pytest.raises(MCPError, match="not initialized"):
            await while_answering(session.list_tools(), refuse)


@pytest.mark.rule("BASE-X-01", "BASE-X-03", "LEG-J-10")
@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
async def test_a_schema_that_names_no_dialect_is_of_2020(mode: str) -> None:
    schema = {"type": "object", "properties": {"pair": {"type": "array", "prefixItems": [{"type": "string"}]}}}

    async def serve(server: RawServer) -> None:
        if mode == "legacy":
            await server.shake_hands()
        call = await server.request("tools/call")
        await server.answer(call, {"content": [], "structuredContent": {"pair": [1]}})
        listing = await server.request("tools/list")
        await server.answer(
            listing, {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema}]}
        )

    async with connected(serve, mode=mode) as (client, _):
        with pytest.raises(RuntimeError, match=r"^Invalid structured content returned by tool t"):
            await client.call_tool("t")


@pytest.mark.rule("BASE-X-07")
async def test_an_unknown_dialect_is_named_in_the_error() -> None:
    schema = {"$schema": "https://example.com/dialect", "type": "object"}

    async def serve(server: RawServer) -> None:
        await server.answer(await server.request("tools/call"), {"content": [], "structuredContent": {}})
        tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema}
        await server.answer(await server.request("tools/list"), {"tools": [tool]})

    async with connected(serve, mode="2026-07-28") as (client, _):
        with pytest.raises(RuntimeError, match=r"^Invalid schema for tool t.*example\.com/dialect"):
            await client.call_tool("t")
