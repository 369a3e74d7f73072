"""Peers of other versions than one would wish."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

from mcp.client.client import Client
from tests.cases.program import build
from tests.cases.ways import PROGRAM, child, connected, every_way
from tests.client.legacy_http import legacy, method_of, said
from tests.client.raw_http import Seen, raw_server, response
from tests.server import stdio_child
from tests.server.http.serving import serving

ERROR = '{"jsonrpc": "2.0", "id": 1, "error": {"code": %d, "message": "no"}}'
OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
TOUCHY = """
import json, sys
for number, line in enumerate(sys.stdin):
    message = json.loads(line)
    if number == 0 and message["method"] != "initialize":
        print("x" * 100_000, file=sys.stderr)
        sys.exit(1)
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}
    else:
        result = {"tools": []}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.mark.rule("CASE-23")
@pytest.mark.parametrize(
    "probed",
    [
        response("", None, "400 Bad Request"),
        response("Bad Request: Missing session ID", "text/plain", "400 Bad Request"),
        response("<h1>what?</h1>", "text/html", "404 Not Found"),
        response("", None, "405 Method Not Allowed"),
        response(ERROR % -32600, status="400 Bad Request"),
        response(ERROR % -32602, status="200 OK"),
        response(ERROR % -32601, status="200 OK"),
    ],
)
async def test_whatever_an_old_server_says_to_the_probe_the_handshake_follows(probed: bytes) -> None:
    async def call(seen: Seen, stream: SocketStream) -> None:
        await stream.send(response(json.dumps(said(seen))))

    shake_hands = legacy(call)

    async def serve(seen: Seen, stream: SocketStream) -> None:
        if method_of(seen) == "server/discover":
            await stream.send(probed)
        else:
            await shake_hands(seen, stream)

    with anyio.fail_after(5):
        async with raw_server(serve) as server, Client(server.url) as client:
            assert client.protocol_version == "2025-11-25"
            assert not (await client.call_tool("add")).is_error


@pytest.mark.rule("CASE-56")
async def test_a_server_that_the_probe_kills_is_started_again() -> None:
    with anyio.fail_after(20):
        async with Client(child("-c", TOUCHY)) as client:
            assert client.protocol_version == "2025-06-18"
            assert (await client.list_tools()).tools == []


@pytest.mark.rule("CASE-57")
def test_requests_may_follow_the_handshake_at_once() -> None:
    with stdio_child.child([sys.executable, PROGRAM]) as server:
        request: dict[str, Any] = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
        server.send(request)
        server.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": OPENING})
        server.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        answers = {message["id"]: message for message in (server.message() for _ in range(3))}
        assert answers[0]["result"] == {}
        assert answers[1]["result"]["protocolVersion"] == "2025-11-25"
        assert answers[2]["result"]["tools"]


@pytest.mark.rule("CASE-57")
def test_a_request_that_is_really_too_early_costs_one_error() -> None:
    with stdio_child.child([sys.executable, PROGRAM]) as server:
        server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert server.message()["error"]["code"] < 0
        server.send({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": OPENING})
        assert server.message()["result"]["protocolVersion"] == "2025-11-25"
        assert "Traceback" not in server.stderr


@pytest.mark.rule("CASE-57")
async def test_many_sessions_may_begin_at_once() -> None:
    async def use() -> None:
        async with Client(url, mode="legacy") as client:
            assert (await client.list_tools()).tools
            done.append(1)

    done: list[int] = []
    with serving(build().streamable_http_app()) as port, anyio.fail_after(30):
        url = f"http://127.0.0.1:{port}/mcp"
        async with anyio.create_task_group() as tasks:
            for _ in range(30):
                tasks.start_soon(use)
    assert len(done) == 30


@pytest.mark.rule("CASE-23")
@every_way
async def test_a_probe_is_not_felt_where_the_server_is_new(way: str) -> None:
    async with connected(way, "auto") as client:
        begun = time.monotonic()
        assert client.protocol_version == "2026-07-28"
        await client.list_tools()
        assert time.monotonic() - begun < 2
