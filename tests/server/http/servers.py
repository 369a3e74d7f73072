"""A low-level server whose tools do what the tests of the transport need."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from tests.server.http.fakes import FakeConnection

Context = ServerRequestContext[Any, Any]


class Workshop:
    """A server and what its tools noted.

    Attributes:
        server: The server.
        bus: Carries its changes.
        seen: What the tools noted, in order.
        contexts: The contexts of the calls.
        begun: Set when the tool `wait` runs.
        release: Lets the tool `wait` end.
    """

    def __init__(self, **options: Any) -> None:
        self.seen: list[str] = []
        self.contexts: list[Context] = []
        self.begun = anyio.Event()
        self.release = anyio.Event()
        self.bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self.bus)
        options.setdefault("on_call_tool", self.call_tool)
        options.setdefault("on_subscriptions_listen", self.listen)
        self.server: Server[Any] = Server("workshop", version="1", **options)

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        self.contexts.append(ctx)
        if params.name == "progress":
            for step in (1, 2):
                await ctx.session.report_progress(step, 2)
        elif params.name == "wait":
            self.begun.set()
            try:
                await self.release.wait()
            except anyio.get_cancelled_exc_class():
                self.seen.append("cancelled")
                raise
        elif params.name == "refuse":
            raise MCPError(*(params.arguments or {})["error"])
        elif params.name == "fail":
            raise RuntimeError("dsn=secret")
        elif params.name == "late":
            await ctx.session.report_progress(1)
            raise MCPError(-32601, "too late")
        return types.CallToolResult(content=[types.TextContent(type="text", text=f"{params.name} done")])


@asynccontextmanager
async def running(workshop: Workshop, **options: Any) -> AsyncGenerator[StreamableHTTPSessionManager]:
    """A manager of the workshop's server, while it runs."""
    manager = StreamableHTTPSessionManager(workshop.server, **options)
    with anyio.fail_after(10):
        async with manager.run():
            yield manager


async def ask(manager: StreamableHTTPSessionManager, connection: FakeConnection) -> FakeConnection:
    """Let the manager serve a connection, and return it."""
    with anyio.fail_after(5):
        await manager.handle_request(connection.scope, connection.receive, connection.send)
    return connection
