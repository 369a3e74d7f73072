"""Many calls, many of them given up at a random moment; `python -m tests.interaction.load 10000 2000` for a long run.

Nothing is measured. What counts is that every call that was not given up gets its own answer, that the work of those
that were given up ends, and that no task of the event loop is left over.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel

import mcp_types as types
from mcp.client import Client, ClientRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ElicitResult, InputRequiredResult

AT_ONCE = 100
SCHEMA = {"type": "object", "properties": {"answer": {"type": "integer"}}}


class Load:
    """A server, a client's calls to it, and what became of them.

    Attributes:
        server: The server.
        outcomes: How many calls were `answered` and how many `given up`.
        running: How many calls the server is working on.
    """

    def __init__(self, calls: int, seed: int = 7) -> None:
        self.server = MCPServer("load")
        self.outcomes: Counter[str] = Counter()
        self.running = 0
        self._calls = calls
        self._random = random.Random(seed)
        self.server.add_tool(self.work)

    async def work(self, number: int, pause: float, ctx: Context) -> str | InputRequiredResult:
        self.running += 1
        try:
            await (anyio.sleep(pause) if pause else anyio.lowlevel.checkpoint())
            if number % 3 == 0:
                await ctx.report_progress(number)
            if number % 5 == 0 and ctx.input_responses is None:
                form = types.ElicitRequestFormParams(message=str(number), requested_schema=SCHEMA)
                request = types.ElicitRequest(params=form)
                return InputRequiredResult(input_requests={"q": request}, request_state=f"state {number}")
            answer = (ctx.input_responses or {}).get("q")
            content = answer.content if isinstance(answer, ElicitResult) else None
            return f"{number} {content} {ctx.request_state}"
        finally:
            self.running -= 1

    async def run(self, target: Any) -> None:
        """Connect, make all the calls, and check their answers."""
        limit = anyio.Semaphore(AT_ONCE)
        async with Client(target, elicitation_callback=answer) as client, anyio.create_task_group() as tasks:
            for number in range(self._calls):
                await limit.acquire()
                tasks.start_soon(self._call, client, number, limit)

    async def _call(self, client: Client, number: int, limit: anyio.Semaphore) -> None:
        patience = self._random.choice([0.0, self._random.uniform(0, 0.02)]) if self._random.random() < 0.3 else 60.0
        heard: list[float] = []

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            heard.append(progress)

        try:
            with anyio.move_on_after(patience):
                arguments = {"number": number, "pause": self._random.choice([0, 0, 0.001, 0.01])}
                result = await client.call_tool("work", arguments, progress_callback=listen)
                self._check(number, result, heard)
                self.outcomes["answered"] += 1
                return
            assert patience < 60.0, f"call {number} never came back"
            self.outcomes["given up"] += 1
        finally:
            limit.release()

    def _check(self, number: int, result: types.CallToolResult, heard: list[float]) -> None:
        asked = number % 5 == 0
        expected = f"{number} {{'answer': {number * 2}}} state {number}" if asked else f"{number} None None"
        assert not result.is_error, result.content
        assert result.structured_content == {"result": expected}
        assert heard == [number] * ((2 if asked else 1) if number % 3 == 0 else 0)

    async def settle(self) -> None:
        """Wait until the server has noticed all that was given up."""
        while self.running:
            await anyio.lowlevel.checkpoint()


async def answer(context: ClientRequestContext, params: types.ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"answer": int(params.message) * 2})


@asynccontextmanager
async def served_here(server: MCPServer) -> AsyncGenerator[str]:
    """Serve in this event loop, so that its tasks can be counted."""
    import socket

    import uvicorn

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(server.streamable_http_app(), log_level="warning", ws="none")  # pyright: ignore[reportArgumentType]
        runner = uvicorn.Server(config)
        task = asyncio.create_task(runner.serve(sockets=[listener]))
        while not runner.started:
            await anyio.lowlevel.checkpoint()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            runner.should_exit = True
            await task


async def load_in_memory(calls: int) -> Load:
    """Run the load in memory; on asyncio, no task may be left."""
    load = Load(calls)
    before = asyncio.all_tasks()
    await load.run(load.server)
    await load.settle()
    assert asyncio.all_tasks() == before
    return load


async def load_over_http(calls: int) -> Load:
    """Run the load over HTTP, both sides in this event loop; no task may be left."""
    load = Load(calls)
    alone = asyncio.all_tasks()
    async with served_here(load.server) as url:
        before = asyncio.all_tasks()
        await load.run(url)
        await load.settle()
        while asyncio.all_tasks() != before:  # connections that are still closing
            await anyio.lowlevel.checkpoint()
    assert asyncio.all_tasks() == alone
    return load


async def main(in_memory: int, over_http: int) -> None:
    for what, run, calls in (("memory", load_in_memory, in_memory), ("HTTP", load_over_http, over_http)):
        with anyio.fail_after(600):
            load = await run(calls)
        print(f"{what}: {calls} calls, {load.outcomes['answered']} answered, {load.outcomes['given up']} given up")


if __name__ == "__main__":
    many, fewer = sys.argv[1:] or ("10000", "2000")
    anyio.run(main, int(many), int(fewer))
