"""A server for the cases: an object for this process, a program on pipes (no argument) or HTTP (port and transport)."""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import anyio

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import Prompt
from mcp.server.mcpserver.resources.types import TextResource

MANY = 50


def build() -> MCPServer[None]:
    """Make the server."""
    server: MCPServer[None] = MCPServer("Cases", log_level="ERROR", notify_list_changes=True)
    for tool in (add, pid, wait, block, count, log_much, large, talk, announce):
        server.add_tool(tool)

    @server.tool
    async def grow() -> None:
        """Register a burst of things, in a task that has no request."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(register_many, server)

    @server.tool
    async def shrink() -> None:
        """Remove them."""
        for number in range(MANY):
            server.remove_tool(f"tool_{number}")
            server.remove_prompt(f"prompt_{number}")
            server.remove_resource(f"case://{number}")

    return server


async def register_many(server: MCPServer[None]) -> None:
    for number in range(MANY):
        server.add_tool(pid, name=f"tool_{number}")
        server.add_prompt(Prompt.from_function(what, name=f"prompt_{number}"))
        server.add_resource(TextResource(uri=f"case://{number}", name="case", text="text"))


def what() -> str:
    return "What now?"


async def announce(ctx: Context) -> None:
    """Say something that belongs to no request."""
    await ctx.session.send_resource_updated("case://announced")


async def add(a: int, b: int) -> int:
    return a + b


async def pid() -> int:
    return os.getpid()


async def wait(path: str) -> str:
    """Wait for ever, and write into a file what happens."""
    note(path, "begun")
    try:
        await anyio.sleep_forever()
    finally:
        note(path, "ended")
    return "never"


def note(path: str, text: str) -> None:
    Path(path).write_text(text)


def block(seconds: float) -> str:
    time.sleep(seconds)
    return "unblocked"


async def count(steps: int, pause: float, ctx: Context) -> str:
    for number in range(steps):
        await ctx.report_progress(number, steps)
        await anyio.sleep(pause)
    return "counted"


async def log_much(size: int) -> str:
    """Write a lot to stderr through `logging`."""
    for _ in range(size // 1000):
        logging.getLogger("cases").error("x" * 1000)
    return "logged"


async def large(megabytes: int, tells: bool, ctx: Context) -> str:
    """Return much, after some progress or without."""
    if tells:
        await ctx.report_progress(1)
    return "x" * (megabytes * 2**20)


def talk() -> list[str]:
    """Use stdout in each of the ways that do not know what it is for; returns what there was to read."""
    print("printed by a tool")
    subprocess.run(["echo", "printed by a child"], check=True)
    read = subprocess.run(["cat"], stdout=subprocess.PIPE, check=True)
    return [read.stdout.decode()]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        port = int(sys.argv[1])
        if sys.argv[2:] == ["sse"]:
            build().run("sse", port=port)
        else:
            build().run("streamable-http", port=port)
    else:
        print("printed at import")
        atexit.register(print, "printed at exit")
        build().run()
