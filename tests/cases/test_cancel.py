"""Calls that are given up, servers that go away, and how long anything takes at most."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import CONNECTION_CLOSED, REQUEST_TIMEOUT
from tests.cases.ways import PROGRAM, both_eras, connected, every_way, until
from tests.client.legacy_http import legacy, said
from tests.client.raw_http import SSE_HEAD, Seen, chunk, modern, raw_server
from tests.server.stdio_child import child


@pytest.mark.rule("CASE-3")
@both_eras
async def test_a_stream_that_ends_without_an_answer_is_one_plain_error(mode: str) -> None:
    async def hang_up(seen: Seen, stream: SocketStream) -> None:
        await stream.send(SSE_HEAD + chunk(b": nothing\n\n") + chunk(b""))

    serve = modern(hang_up) if mode == "auto" else legacy(hang_up)
    with anyio.fail_after(5):
        async with raw_server(serve) as server, Client(server.url, mode=mode) as client:
            begun = time.monotonic()
            with pytest.raises(MCPError) as caught:
                await client.call_tool("add")
            assert caught.value.code == CONNECTION_CLOSED
            assert time.monotonic() - begun < 1


@pytest.mark.rule("CASE-4")
@every_way
@both_eras
@pytest.mark.parametrize("how", ["cancelled", "timeout"])
async def test_a_call_that_is_given_up_ends_on_the_server(way: str, mode: str, how: str, tmp_path: Path) -> None:
    path = tmp_path / "state"
    async with connected(way, mode) as client:
        if how == "timeout":
            with pytest.raises(MCPError) as caught:
                await client.call_tool("wait", {"path": str(path)}, read_timeout_seconds=0.4)
            assert caught.value.code == REQUEST_TIMEOUT
        else:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "wait", {"path": str(path)})
                await until(path, "begun")
                tasks.cancel_scope.cancel()
        await until(path, "ended", 1)
        assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}


@pytest.mark.rule("CASE-5")
def test_cancelling_at_any_moment_costs_only_the_answer() -> None:
    chance = random.Random(5)
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}

    def request(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

    with child([sys.executable, PROGRAM]) as server:
        server.send(request(0, "initialize", opening))
        assert server.message()["id"] == 0
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        answered: list[int] = []
        for number in range(1, 101):
            pause = chance.choice([0.0, 0.001, 0.005])
            work = {"name": "count", "arguments": {"steps": 1, "pause": pause}}
            server.send(request(2 * number, "tools/call", work))
            time.sleep(chance.choice([0, 0, 0.001, 0.005]))
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2 * number}})
            server.send(request(2 * number + 1, "tools/call", {"name": "add", "arguments": {"a": number, "b": 0}}))
            while (message := server.message())["id"] != 2 * number + 1:
                assert "result" in message, message  # it was faster than the cancellation
                answered.append(message["id"])
            assert message["result"]["structuredContent"] == {"result": number}
        assert len(answered) == len(set(answered)) < 100
        assert server.end() == 0


@pytest.mark.rule("CASE-29")
@pytest.mark.parametrize("way", ["memory", "http"])  # the limits hold for the handshake with a new process, too
@both_eras
async def test_progress_keeps_a_call_alive_and_a_total_caps_it(way: str, mode: str) -> None:
    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    heard: list[float] = []
    async with connected(way, mode, read_timeout_seconds=1, total_timeout_seconds=1.9) as client:
        result = await client.call_tool("count", {"steps": 8, "pause": 0.16}, progress_callback=hear)
        assert not result.is_error
        assert heard == list(range(8))
        begun = time.monotonic()
        with pytest.raises(MCPError) as caught:
            await client.call_tool("count", {"steps": 100, "pause": 0.1}, progress_callback=hear)
        assert caught.value.code == REQUEST_TIMEOUT
        assert 1.5 < time.monotonic() - begun < 4


@pytest.mark.rule("CASE-64")
@every_way
@both_eras
async def test_a_tool_that_blocks_a_thread_is_waited_for_no_longer_than_asked(way: str, mode: str) -> None:
    async with connected(way, mode) as client:
        begun = time.monotonic()
        with pytest.raises(MCPError) as caught:
            await client.call_tool("block", {"seconds": 1.5}, read_timeout_seconds=0.2)
        assert caught.value.code == REQUEST_TIMEOUT
        assert time.monotonic() - begun < 1


@pytest.mark.rule("CASE-66")
async def test_leaving_does_not_wait_for_a_server_that_no_longer_answers(caplog: pytest.LogCaptureFixture) -> None:
    async def answer_call(seen: Seen, stream: SocketStream) -> None:
        raise AssertionError(said(seen))

    shake_hands = legacy(answer_call)

    async def serve(seen: Seen, stream: SocketStream) -> None:
        if seen.method == "DELETE":
            await anyio.sleep_forever()
        await shake_hands(seen, stream)

    with anyio.fail_after(10):
        async with raw_server(serve) as server:
            async with Client(server.url, mode="legacy"):
                begun = time.monotonic()
            assert time.monotonic() - begun < 6
            assert server.seen[-1].method == "DELETE"
    assert [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")] == []
