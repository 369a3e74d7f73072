"""Peers that die, clients without manners, and cancellations without pattern: nothing is left, nobody else is hurt.

`python -m tests.cases.test_faults` does it in large numbers, in some minutes, and prints what it counted.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import sys
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn

from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import CONNECTION_CLOSED
from tests.cases.program import build
from tests.cases.ways import MODES, PROGRAM, WAYS, both_eras, child, eventually, every_way, plain_client, until
from tests.programs import free_port
from tests.programs import serving as running
from tests.server.http.legacy_client import headers_of, opening

HEADERS = {name: value for name, value in headers_of({}).items() if name != "host"}
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])  # its tasks can be counted


async def killed_during_a_call(client: Client, path: Path, kill: Any) -> float:
    """Call, kill the server, and return how long the one error took."""
    errors: list[BaseException] = []

    async def call() -> None:
        try:
            await client.call_tool("wait", {"path": str(path)})
        except Exception as error:
            errors.append(error)

    killed = 0.0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await until(path, "begun")
        kill()
        killed = time.monotonic()
    (error,) = errors
    assert isinstance(error, MCPError), error
    assert error.code == CONNECTION_CLOSED
    return time.monotonic() - killed


@pytest.mark.rule("CASE-3")
@both_eras
async def test_a_killed_process_is_one_plain_error_within_a_second(mode: str, tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Client(child(), mode=mode) as client, Client(build(), mode=mode) as other:
            pid = (await client.call_tool("pid")).structured_content
            assert pid is not None
            took = await killed_during_a_call(
                client, tmp_path / "state", lambda: os.kill(pid["result"], signal.SIGKILL)
            )
            assert took < 1
            assert (await other.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}


@pytest.mark.rule("CASE-3")
@pytest.mark.parametrize(("way", "mode"), [("http", "auto"), ("http", "legacy"), ("sse", "legacy")])
async def test_a_killed_web_server_is_one_plain_error_within_a_second(way: str, mode: str, tmp_path: Path) -> None:
    port = free_port()
    with anyio.fail_after(30), running([PROGRAM, str(port), way], port) as url:
        target = sse_client(f"http://127.0.0.1:{port}/sse") if way == "sse" else url
        async with Client(target, mode=mode) as client:
            pid = (await client.call_tool("pid")).structured_content
            assert pid is not None
            took = await killed_during_a_call(
                client, tmp_path / "state", lambda: os.kill(pid["result"], signal.SIGKILL)
            )
            assert took < 1
            begun = time.monotonic()
            with pytest.raises(MCPError):
                await client.call_tool("pid")
            assert time.monotonic() - begun < 1


class Belongings:
    """What this process holds."""

    def __init__(self) -> None:
        gc.collect()
        tasks = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        self.children = len(tasks)
        self.threads = {thread for thread in threading.enumerate() if "worker" not in thread.name.lower()}
        self.descriptors = len(os.listdir("/proc/self/fd"))

    def are_no_more_than(self, before: Belongings) -> bool:
        same = (self.children, self.descriptors) == (before.children, before.descriptors)
        return same and self.threads <= before.threads

    def __str__(self) -> str:
        return f"{self.children} children, {len(self.threads)} threads, {self.descriptors} descriptors"


async def start_and_stop(times: int, mode: str) -> tuple[Belongings, Belongings]:
    async def once() -> None:
        async with Client(child(), mode=mode) as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}

    await once()  # what is made once stays
    before = Belongings()
    for _ in range(times):
        with anyio.fail_after(30):
            await once()
    return before, Belongings()


@on_linux
@pytest.mark.rule("CASE-11")
async def test_servers_that_start_and_stop_leave_nothing() -> None:
    before, after = await start_and_stop(5, "auto")
    assert after.are_no_more_than(before)


@asynccontextmanager
async def served_here(server: MCPServer[None], **options: Any) -> AsyncGenerator[int]:
    """Serve in this event loop, so that tasks and memory are to be seen."""
    config = uvicorn.Config(server.streamable_http_app(**options), log_level="error", ws="none", port=free_port())  # pyright: ignore[reportArgumentType]
    runner = uvicorn.Server(config)
    task = asyncio.create_task(runner.serve())
    await eventually(lambda: runner.started)
    try:
        yield config.port
    finally:
        runner.should_exit = True
        await task


async def open_and_forget(client: httpx2.AsyncClient, server: MCPServer[None], times: int) -> None:
    """Shake hands so often and never say goodbye; wait until all is forgotten."""
    for _ in range(times):
        answer = await client.post("/mcp", json=opening(), headers=HEADERS)
        assert answer.status_code == 200, answer.text
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        session = {**HEADERS, "mcp-session-id": answer.headers["mcp-session-id"]}
        assert (await client.post("/mcp", json=note, headers=session)).status_code == 202
    await eventually(lambda: server.session_manager.open_sessions == 0, 30)


def held() -> tuple[int, int]:
    """Tasks and bytes."""
    gc.collect()
    return len(asyncio.all_tasks()), tracemalloc.get_traced_memory()[0]


async def sessions_without_end(times: int) -> tuple[tuple[int, int], tuple[int, int]]:
    server = build()
    tracemalloc.start()
    try:
        async with served_here(server, session_idle_timeout=0.3) as port:
            async with plain_client(port) as client:
                await open_and_forget(client, server, times)
                before = held()
                await open_and_forget(client, server, times)
                return before, held()
    finally:
        tracemalloc.stop()


@on_asyncio
@pytest.mark.rule("CASE-9")
async def test_sessions_that_nobody_ends_leave_neither_tasks_nor_memory() -> None:
    before, after = await sessions_without_end(60)
    assert after[0] == before[0]
    assert after[1] - before[1] < 60 * 1000  # a session is many times as large


async def random_cancellations(target: Any, mode: str, calls: int) -> Counter[str]:
    """Call and give up at random; every call that is not given up must have its own answer."""
    chance = random.Random(9)
    outcomes: Counter[str] = Counter()
    limit = anyio.CapacityLimiter(20)

    async def call(client: Client, number: int) -> None:
        patience = chance.choice([0.0, 0.001, 0.003, 0.01, 60, 60, 60])
        async with limit:
            with anyio.move_on_after(patience):
                if number % 2:
                    arguments = {"steps": 2, "pause": chance.choice([0, 0.002])}
                    result = await client.call_tool("count", arguments)
                    assert result.structured_content == {"result": "counted"}
                else:
                    result = await client.call_tool("add", {"a": number, "b": 1})
                    assert result.structured_content == {"result": number + 1}
                outcomes["answered"] += 1
                return
            assert patience < 60, f"call {number} never came back"
            outcomes["given up"] += 1

    async with Client(target, mode=mode) as client:
        async with anyio.create_task_group() as tasks:
            for number in range(calls):
                tasks.start_soon(call, client, number)
        result = await client.call_tool("add", {"a": 20, "b": 22})
        assert result.structured_content == {"result": 42}
    assert outcomes.total() == calls
    return outcomes


async def cancellations_leave_no_task(way: str, mode: str, calls: int) -> Counter[str]:
    alone = asyncio.all_tasks()
    if way == "http":
        async with served_here(build()) as port:
            outcomes = await random_cancellations(f"http://127.0.0.1:{port}/mcp", mode, calls)
    else:
        outcomes = await random_cancellations(build() if way == "memory" else child(), mode, calls)
    await eventually(lambda: asyncio.all_tasks() == alone)  # connections may still be closing
    return outcomes


@on_asyncio
@both_eras
@every_way
@pytest.mark.rule("CASE-4", "CASE-5")
async def test_calls_that_are_given_up_at_random_disturb_no_other(way: str, mode: str) -> None:
    outcomes = await cancellations_leave_no_task(way, mode, 150)
    assert outcomes["answered"] > 20
    assert outcomes["given up"] > 20


@both_eras
@pytest.mark.rule("CASE-4", "CASE-5")
async def test_calls_that_are_given_up_at_random_disturb_no_other_on_any_loop(mode: str) -> None:
    assert (await random_cancellations(build(), mode, 100))["given up"] > 10


async def main() -> None:
    """Do all of it in large numbers."""
    for mode in MODES:
        begun = time.monotonic()
        before, after = await start_and_stop(100, mode)
        print(f"stdio, {mode}: 100 cycles in {time.monotonic() - begun:.1f} s; before {before}, after {after}")
        assert after.are_no_more_than(before)
    begun = time.monotonic()
    old, new = await sessions_without_end(1000)
    print(f"2 x 1,000 sessions in {time.monotonic() - begun:.1f} s; (tasks, bytes) {old}, then {new}")
    assert new[0] == old[0]
    assert new[1] - old[1] < 100_000
    for mode, calls in (("auto", 10_000), ("legacy", 2_000)):
        for way in WAYS:
            begun = time.monotonic()
            outcomes = await cancellations_leave_no_task(way, mode, calls)
            print(f"{way}, {mode}: {calls:,} calls in {time.monotonic() - begun:.1f} s, {dict(outcomes)}, no task left")


if __name__ == "__main__":
    anyio.run(main)
