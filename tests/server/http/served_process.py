"""A server in a process of its own, for the tests of starting and stopping. Run with `lives` or `fails`."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver._running import run_in_fast_loop, serve_app
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from tests.server.http.servers import Context


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name == "wait":
        await ctx.session.report_progress(1)
        await anyio.sleep_forever()
    if params.name == "flood":
        for number in itertools.count(1):
            await ctx.session.report_progress(number, None, "x" * 65536)
    return types.CallToolResult(content=[])


@asynccontextmanager
async def lifespan(server: Server[Any]) -> AsyncGenerator[None]:
    if sys.argv[1] == "fails":
        raise ConnectionError("no database")
    yield None
    print("cleaned up", flush=True)


async def main() -> None:
    logging.basicConfig(level="INFO", format="%(message)s")
    server: Server[Any] = Server(
        "process",
        on_call_tool=call_tool,
        on_subscriptions_listen=ListenHandler(InMemorySubscriptionBus()),
        lifespan=lifespan,
    )
    await serve_app(server.streamable_http_app(shutdown_timeout=0.2), host="127.0.0.1", port=0, log_level="INFO")


if __name__ == "__main__":
    run_in_fast_loop(main)
