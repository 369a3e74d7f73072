"""Servers whose answers are none: each call ends at once with one plain error, and the next one is served."""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketStream

from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from tests.cases.ways import both_eras
from tests.client.raw_http import SSE_HEAD, Seen, chunk, modern, raw_server
from tests.client.test_sse import OldServer

# Answers a call of a tool with the lines that it is called with, "ID" being the id of the call.
PARROT = """
import json, sys
era = sys.argv[1]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [], "content": []}
    if message["method"] == "server/discover":
        result |= {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif message["method"] == "initialize":
        result = {"protocolVersion": era, "capabilities": {"tools": {}}, "serverInfo": {"name": "p", "version": "1"}}
    elif message["method"] == "tools/call" and (lines := message["params"].get("arguments", {}).get("lines")):
        for line in lines:
            data = line.encode("latin-1").replace(b"ID", str(message["id"]).encode())
            sys.stdout.buffer.write(data + b"\\n")
        sys.stdout.buffer.flush()
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
START = '{"jsonrpc":"2.0","id":ID'
GOOD = START + ',"result":{"content":[]}}'

# What a call is answered with, and what its caller is told.
BROKEN = [
    (START + "}", "The answer is no JSON-RPC response"),
    (START + ',"result":[]}', "The answer is no JSON-RPC response"),
    (START + ',"result":null}', "The answer is no JSON-RPC response"),
    (START + ',"error":"no"}', "The answer is no JSON-RPC response"),
    (START + ',"error":{"code":1.0,"message":"no"}}', "The answer is no JSON-RPC response"),
    (START + ',"result":{},"error":{"code":1,"message":"no"}}', "The answer is no JSON-RPC response"),
    ('{"id":ID,"result":{"content":[]}}', "The answer is no JSON-RPC response"),
    (START + ',"result":{"content":[],"structuredContent":{"a":NaN}}}', "The answer is not JSON"),
    (START + ',"result":{"content":[],"structuredContent":{"a":' + "9" * 5000 + "}}}", "The answer is not JSON"),
    (START + ',"result":' + "[" * 50_000 + "]" * 50_000 + "}", "The answer is not JSON"),
    (START + ',"result":{"content":[{"type":"te', "The answer is not JSON"),
]

# What may come before an answer, or after, and changes nothing.
NOISE = [
    "Listening...", "{", "\xff\xfe", "null", "[]", "3", '{"jsonrpc":"2.0","id":true,"result":{}}',
    '{"jsonrpc":"2.0","id":ID.0,"result":{"content":[]}}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}',
    '{"jsonrpc":"2.0","id":99999,"result":{}}', '{"jsonrpc":"2.0","id":99999,"result":[]}',
    '{"jsonrpc":"2.0","id":7,"method":"no/such"}', '{"jsonrpc":"2.0","id":7,"method":"no/such"}',
    '{"jsonrpc":"2.0","id":ID,"method":"ping"}', '{"jsonrpc":"2.0","id":[],"method":"ping"}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":ID}}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":true,"progress":"x"}}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":[],"progress":NaN}}',
    '{"jsonrpc":"2.0","method":"notifications/message","params":3}', '{"jsonrpc":"2.0","method":"no/such"}',
]  # fmt: skip


def parrot(mode: str) -> StdioServerParameters:
    version = "2026-07-28" if mode == "auto" else "2025-11-25"
    return StdioServerParameters(command=sys.executable, args=["-I", "-S", "-c", PARROT, version])


@both_eras
async def test_an_answer_over_a_pipe_that_is_none_ends_its_call_and_no_other(mode: str) -> None:
    faults: list[Exception] = []

    async def handle(message: Any) -> None:
        faults.append(message)

    with anyio.fail_after(30):
        async with Client(parrot(mode), mode=mode, message_handler=handle) as client:
            for line, problem in BROKEN:
                with pytest.raises(MCPError, match=f"^{problem}") as caught:
                    await client.call_tool("say", {"lines": [line]})
                assert caught.value.is_local, line[:100]
                assert (await client.call_tool("say")).content == []
            while len(faults) < len(BROKEN):
                await anyio.lowlevel.checkpoint()
    assert all(isinstance(fault, ValueError) for fault in faults)


@both_eras
async def test_what_is_said_beside_an_answer_over_a_pipe_does_no_harm(mode: str) -> None:
    with anyio.fail_after(30):
        async with Client(parrot(mode), mode=mode) as client:
            for noise in NOISE:
                assert (
                    await client.call_tool("say", {"lines": [noise, "\xef\xbb\xbf" + GOOD, noise, GOOD]})
                ).content == []
            assert (await client.list_tools()).tools == []


@pytest.mark.parametrize(("line", "problem"), BROKEN)
async def test_an_answer_in_an_event_that_is_none_ends_its_call(line: str, problem: str) -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        data = line.replace("ID", str(seen.message["id"]))
        await stream.send(SSE_HEAD + chunk(f"data: {data}\n\n"))
        await anyio.sleep_forever()

    with anyio.fail_after(10):
        async with raw_server(modern(answer)) as server, Client(server.url) as client:
            with pytest.raises(MCPError, match=f"^{problem}") as caught:
                await client.call_tool("add")
    assert caught.value.is_local


@pytest.mark.parametrize(("line", "problem"), BROKEN)
async def test_an_answer_over_the_oldest_transport_that_is_none_ends_its_call(line: str, problem: str) -> None:
    old = OldServer()
    old.on_call = lambda seen: f"data: {line.replace('ID', str(seen.message['id']))}\n\n"
    with anyio.fail_after(10):
        async with raw_server(old) as server, Client(sse_client(server.url), mode="legacy") as client:
            with pytest.raises(MCPError, match=f"^{problem}") as caught:
                await client.call_tool("add")
    assert caught.value.is_local


async def test_a_batch_is_read_item_by_item() -> None:
    line = json.dumps([3, {"jsonrpc": "2.0", "id": "x", "result": []}]).replace('"x"', "ID")
    with anyio.fail_after(10):
        async with Client(parrot("legacy"), mode="legacy") as client:
            with pytest.raises(MCPError, match=r"^The answer is no JSON-RPC response$"):
                await client.call_tool("say", {"lines": [line]})
