"""Server processes that end by themselves and are started again."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import ValidationError

import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.subscriptions import Reconnected, ResourceUpdated, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import CONNECTION_CLOSED, REQUEST_TIMEOUT
from tests.cases.ways import both_eras, child, eventually, until
from tests.client import changing

# Writes down that it lives, and then does what the plan says for this life.
MORTAL = """
import json, os, sys
log, *plan = sys.argv[1:]
with open(log, "a") as lives:
    lives.write(f"{os.getpid()} ")
does = plan[min(len(open(log).read().split()), len(plan)) - 1]
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        if does == "hush":
            continue
        version = "2025-06-18" if does == "older" else "2025-11-25"
        result = {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "mortal", "version": "1"}}
        greeted, said = False, []
    elif message["method"] == "notifications/initialized":
        greeted = True
        continue
    else:
        if does == "die" and message["method"] == "tools/list":
            sys.exit(1)
        said.append(message["method"])
        result = {"tools": [], "_meta": {"greeted": greeted, "pid": os.getpid(), "said": said}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


LEVEL = types.SetLevelRequestParams(level="error")
URI = types.SubscribeRequestParams(uri="note://1")


def restarting(server: StdioServerParameters, restarts: int) -> StdioServerParameters:
    return server.model_copy(update={"max_restarts": restarts})


@asynccontextmanager
async def mortal(path: Path, *plan: str, restarts: int = 2, **options: Any) -> AsyncGenerator[Client]:
    """A client of a server of the handshake era that lives by a plan, one word for each life; the last one repeats."""
    with anyio.fail_after(30):
        server = restarting(child("-c", MORTAL, path / "lives", *plan), restarts)
        async with Client(server, mode="legacy", **options) as client:
            yield client


def lives(path: Path) -> list[int]:
    """The process of each life."""
    return [int(pid) for pid in (path / "lives").read_text().split()]


async def kill_during_a_call(client: Client, path: Path) -> int:
    """Kill the server while it works on a call; returns which process it was, once the call has failed."""
    pid = (await client.call_tool("pid")).structured_content
    assert pid is not None

    async def call() -> None:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("wait", {"path": str(path)})
        assert (caught.value.code, caught.value.message) == (CONNECTION_CLOSED, "Connection closed")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await until(path, "begun")
        os.kill(pid["result"], signal.SIGKILL)
    killed: int = pid["result"]
    return killed


@pytest.mark.rule("STDIO-S-04", "STDIO-S-05")
@both_eras
async def test_a_server_that_was_killed_is_started_again_once_by_those_who_need_it(mode: str, tmp_path: Path) -> None:
    pids: list[object] = []

    async def call() -> None:
        pids.append((await client.call_tool("pid")).structured_content)

    with anyio.fail_after(30):
        async with Client(restarting(child(), 1), mode=mode) as client:
            version = client.protocol_version
            killed = await kill_during_a_call(client, tmp_path / "state")
            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(call)
            assert client.protocol_version == version
    assert len(pids) == 10
    assert all(pid == pids[0] for pid in pids)
    assert pids[0] != {"result": killed}


@pytest.mark.rule("STDIO-S-04", "STDIO-S-06", "LISTEN-D5", "SUB-17")
async def test_a_watch_listens_again_to_a_server_that_was_started_again() -> None:
    with anyio.fail_after(30):
        async with Client(restarting(child(changing.__file__), 1)) as client:
            async with client.watch(resource_subscriptions=["note://1"], retry_delay=0.01) as changes:
                pids: list[object] = []
                for _ in range(2):
                    pid = (await client.call_tool("change")).structured_content
                    assert pid is not None
                    pids.append(pid["result"])
                    assert await anext(changes) == ResourceUpdated("note://1")
                    os.kill(pid["result"], signal.SIGKILL)
                    assert await anext(changes) == Reconnected()
    assert len(set(pids)) == 2


@pytest.mark.rule("STDIO-S-04")
async def test_restarts_count_anew_once_the_server_was_of_use(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Client(restarting(child(), 1)) as client:
            killed = {await kill_during_a_call(client, tmp_path / str(number)) for number in range(3)}
    assert len(killed) == 3


@pytest.mark.rule("STDIO-S-04")
async def test_a_server_that_ends_at_every_call_is_given_up(tmp_path: Path) -> None:
    async with mortal(tmp_path, "die") as client:
        for _ in range(3):
            with pytest.raises(MCPError, match=r"^Connection closed$"):
                await client.list_tools()
        for _ in range(2):
            with pytest.raises(MCPError, match=r"started 2 more times and ended each time \(max_restarts\)$") as caught:
                await client.list_tools()
            assert caught.value.code == CONNECTION_CLOSED
            assert caught.value.is_local
    assert len(lives(tmp_path)) == 3


async def test_a_watch_is_lost_with_a_server_that_cannot_be_started_again(tmp_path: Path) -> None:
    normal = child(changing.__file__)
    program = tmp_path / "server"
    program.write_text(f'#!/bin/sh\nexec "{normal.command}" "$@"\n')
    program.chmod(0o755)
    server = normal.model_copy(update={"command": str(program), "max_restarts": 1})
    with anyio.fail_after(30):
        async with Client(server) as client:
            async with client.watch(resource_subscriptions=["note://1"], retry_delay=0.01) as changes:
                pid = (await client.call_tool("change")).structured_content
                assert pid is not None
                assert await anext(changes) == ResourceUpdated("note://1")
                program.unlink()
                os.kill(pid["result"], signal.SIGKILL)
                with pytest.raises(SubscriptionLost, match="the connection has ended for good") as caught:
                    await anext(changes)
    failure = caught.value.__cause__
    assert isinstance(failure, MCPError)
    assert failure.message == "Connection closed: the server ended and could not be started again"
    assert isinstance(failure.__cause__, FileNotFoundError)


@pytest.mark.rule("STDIO-S-04")
async def test_a_session_is_opened_anew_before_anything_is_asked(tmp_path: Path) -> None:
    async with mortal(tmp_path, "die", "serve") as client:
        await client.session.send_request(types.SetLevelRequest(params=LEVEL), types.EmptyResult)
        await client.session.send_request(types.SubscribeRequest(params=URI), types.EmptyResult)
        with pytest.raises(MCPError, match="Connection closed"):
            await client.list_tools()
        result = await client.list_tools()
    said = ["logging/setLevel", "resources/subscribe", "tools/list"]
    assert result.meta == {"greeted": True, "pid": lives(tmp_path)[1], "said": said}


async def test_a_server_that_comes_back_with_another_version_is_refused(tmp_path: Path) -> None:
    async with mortal(tmp_path, "die", "older", restarts=1) as client:
        with pytest.raises(MCPError, match=r"^Connection closed$"):
            await client.list_tools()
        with pytest.raises(MCPError, match="could not be started again") as caught:
            await client.list_tools()
        assert "the server spoke 2025-11-25 and now speaks 2025-06-18" in str(caught.value.__cause__)


async def test_a_new_handshake_that_takes_too_long_ends_that_process_and_the_next_call_starts_another(
    tmp_path: Path,
) -> None:
    async with mortal(tmp_path, "die", "hush", "serve") as client:
        with pytest.raises(MCPError, match=r"^Connection closed$"):
            await client.list_tools()
        with pytest.raises(MCPError) as caught:
            await client.session.send_request(types.ListToolsRequest(), types.ListToolsResult, 0.5)
        assert caught.value.code == REQUEST_TIMEOUT
        with pytest.raises(ProcessLookupError):
            os.kill(lives(tmp_path)[1], 0)
        result = await client.list_tools()
        assert result.meta == {"greeted": True, "pid": lives(tmp_path)[2], "said": ["tools/list"]}


async def test_leaving_the_client_ends_a_server_that_is_just_being_started_again(tmp_path: Path) -> None:
    failures: list[MCPError] = []

    async def call() -> None:
        with pytest.raises(MCPError) as caught:
            await client.list_tools()
        failures.append(caught.value)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            async with mortal(tmp_path, "die", "hush") as client:
                await call()
                tasks.start_soon(call)
                await eventually(lambda: len(lives(tmp_path)) == 2)
    assert [failure.code for failure in failures] == [CONNECTION_CLOSED, CONNECTION_CLOSED]
    with pytest.raises(ProcessLookupError):
        os.kill(lives(tmp_path)[1], 0)
    assert len(lives(tmp_path)) == 2


@pytest.mark.parametrize("restarts", [-1, "many"])
def test_a_number_of_restarts_that_is_none_is_refused(restarts: Any) -> None:
    with pytest.raises(ValidationError, match="max_restarts"):
        StdioServerParameters(command="x", max_restarts=restarts)
