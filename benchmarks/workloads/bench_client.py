"""The client that is measured, and how: prints the microseconds of one call as JSON.

``python bench_client.py memory add --seconds 2`` calls a server in the same process; with a URL instead it
calls a server elsewhere, with ``stdio`` one that it starts.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp.types import ElicitRequestParams, ElicitResult

WARM_UP_CALLS = 300


async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"amount": 3})


def connect(target: str, mode: str) -> Client:
    if target == "memory":
        from bench_server import server

        return Client(server, mode=mode, elicitation_callback=answer)
    if target == "stdio":
        command = [str(Path(__file__).with_name("bench_server.py")), "stdio"]
        parameters = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
        return Client(parameters, mode=mode, elicitation_callback=answer)
    return Client(target, mode=mode, elicitation_callback=answer)


def make_call(client: Client, tool: str) -> Callable[[], Awaitable[None]]:
    arguments: dict[str, Any] = {"a": 2, "b": 3} if tool == "add" else {"item": "tea"}
    expected = "5" if tool == "add" else "3 of tea"

    async def call() -> None:
        result = await client.call_tool(tool, arguments)
        if getattr(result.content[0], "text", None) != expected:
            raise AssertionError(f"wrong answer: {result!r}")

    return call


async def measure(call: Callable[[], Awaitable[None]], in_flight: int, seconds: float) -> float:
    """Return the microseconds of one call: the time that passed, divided by the calls that ended in it."""
    calls = 0
    end = 0.0

    async def worker() -> None:
        nonlocal calls
        while time.perf_counter() < end:
            await call()
            calls += 1

    for _ in range(WARM_UP_CALLS):
        await call()
    start = time.perf_counter()
    end = start + seconds
    await asyncio.gather(*(worker() for _ in range(in_flight)))
    return (time.perf_counter() - start) / calls * 1e6


async def run(target: str, tool: str, mode: str, in_flight: int, seconds: float) -> float:
    async with connect(target, mode) as client:
        return await measure(make_call(client, tool), in_flight, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", help="memory, stdio or a URL")
    parser.add_argument("tool", choices=["add", "order"])
    parser.add_argument("--mode", default="auto")
    parser.add_argument("--in-flight", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    value = asyncio.run(run(options.target, options.tool, options.mode, options.in_flight, options.seconds))
    print(json.dumps(value))


if __name__ == "__main__":
    main()
