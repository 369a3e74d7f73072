"""A server whose code fails in ways that are not exceptions: an object for this process, or a program on pipes."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import anyio

from mcp.server.mcpserver import Context, MCPServer, Resolve


class PanicError(BaseException):
    """What extensions in other languages raise."""


def panic() -> str:
    raise PanicError("a secret")


async def panic_among_tasks() -> str:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(panic_later)
    return "never"


async def panic_later() -> None:
    await anyio.lowlevel.checkpoint()
    raise PanicError("a secret")


def leave() -> str:
    sys.exit(3)


async def stray() -> str:
    """Await something that somebody else has cancelled."""
    try:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    except RuntimeError:  # trio knows nothing of the kind
        raise PanicError from None
    future.cancel()
    return await future


async def stray_in_time() -> str:
    with anyio.fail_after(60):
        return await stray()


async def stray_once(ctx: Context) -> str:
    return await ctx.once("key", stray)


async def resolve_stray() -> str:
    return await stray()


def resolve_panic() -> str:
    return panic()


async def needs_stray(value: Annotated[str, Resolve(resolve_stray)]) -> str:
    return value


async def needs_both(one: Annotated[str, Resolve(resolve_stray)], two: Annotated[str, Resolve(resolve_panic)]) -> str:
    return one + two


FAILING = (panic, panic_among_tasks, leave, stray, stray_in_time, needs_stray, needs_both)
RESUMABLE = (stray_once,)
STRAYS = {"stray", "stray_in_time", "needs_stray", "stray_once"}


def build() -> MCPServer[None]:
    """Make the server."""
    server: MCPServer[None] = MCPServer("Failing", log_level="CRITICAL")
    for tool in FAILING:
        server.add_tool(tool)
    for tool in RESUMABLE:
        server.tool(resumable=True)(tool)
    server.prompt(panic)
    server.prompt(stray)
    server.resource("failing://panic")(panic)
    server.resource("failing://stray")(stray)
    waiting: list[anyio.Event] = []

    @server.tool
    async def wait() -> str:
        """Wait for `release`."""
        waiting.append(anyio.Event())
        await waiting[-1].wait()
        return "released"

    @server.tool
    async def release() -> None:
        for event in waiting:
            event.set()

    return server


if __name__ == "__main__":
    build().run()
