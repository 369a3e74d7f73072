"""A stdio server that misbehaves on request. Run it as a program: how it serves is its argument."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from mcp.server.mcpserver import MCPServer


@asynccontextmanager
async def lifespan(_: MCPServer[None]) -> AsyncGenerator[None]:
    yield
    note("lifespan closed")


mcp = MCPServer("Stdio", lifespan=lifespan)


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@mcp.tool()
async def add(a: int, b: int) -> int:
    return a + b


@mcp.tool()
async def echo(text: str) -> str:
    return text


@mcp.tool()
def print_everywhere() -> str:
    print("printed by a tool")
    os.write(1, b"written to descriptor 1\n")
    subprocess.run(["echo", "printed by a child"], check=True)
    return "quiet"


@mcp.tool()
def read_stdin() -> list[str]:
    child = subprocess.run(["cat"], stdout=subprocess.PIPE, check=True)
    return [sys.stdin.read(), child.stdout.decode()]


@mcp.tool()
async def leave_the_process() -> str:
    sys.exit(3)


@mcp.tool()
def leave_the_process_from_a_thread() -> str:
    sys.exit(3)


@mcp.tool()
async def wait(seconds: float) -> str:
    note("waiting")
    try:
        await anyio.sleep(seconds)
    finally:
        note("wait ended")
    return "waited"


@mcp.tool()
def block(seconds: float) -> str:
    note("blocking")
    time.sleep(seconds)
    return "unblocked"


@mcp.tool()
async def log(lines: int) -> str:
    for number in range(lines):
        logging.getLogger("a.library").warning("%d %s", number, "x" * 1000)
    return "logged"


@mcp.tool()
async def not_json() -> dict[str, float]:
    return {"value": float("nan")}


if __name__ == "__main__":
    print("printed at import")
    if sys.argv[1] == "run":
        try:
            mcp.run("stdio")
        finally:
            note("run returned")
    else:
        anyio.run(mcp.run_stdio_async, backend=sys.argv[1])
    print("printed after serving")
