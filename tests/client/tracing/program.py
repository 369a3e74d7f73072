"""A client that traces, in a process of its own: tracing, once loaded, is on for the whole process.

``program.py [sdk|api]`` prints, for each scenario, the spans that ended and the `_meta` of what the server got.
With ``api``, OpenTelemetry is loaded, and nobody has configured it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mcp import Client
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.types import RootsListChangedNotification
from tests.client.live import live_server
from tests.server.tracing.report import REMOTE, describe

exporter = InMemorySpanExporter()
metas: list[dict[str, Any]] = []
Act = Callable[[Client], Awaitable[object]]


async def note_meta(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    keys = ("traceparent", "tracestate", "baggage")
    if ctx.method not in ("server/discover", "initialize"):
        metas.append({"method": ctx.method, **{key: ctx.meta[key] for key in keys if ctx.meta and key in ctx.meta}})
    return await call_next(ctx)


def make_server(*, tracing: bool = True) -> MCPServer[Any]:
    mcp: MCPServer[Any] = MCPServer("Traced", tracing=tracing, middleware=[note_meta])

    @mcp.tool(structured_output=False)
    async def greet() -> str:
        return "hi"

    @mcp.tool(structured_output=False)
    async def fail() -> str:
        raise ToolError("told")

    @mcp.tool(structured_output=False)
    async def refuse() -> str:
        raise MCPError(-32050, "quota used up")

    @mcp.prompt()
    async def verse() -> str:
        return "Roses"

    return mcp


@asynccontextmanager
async def in_memory() -> AsyncGenerator[Any]:
    yield make_server()


@asynccontextmanager
async def over_http() -> AsyncGenerator[Any]:
    async with live_server(make_server()._lowlevel_server) as url:
        yield url


async def act(client: Client) -> None:
    await client.call_tool("greet")


def inside_a_span(act: Act) -> Act:
    async def wrapped(client: Client) -> None:
        with trace.get_tracer("application").start_as_current_span("ambient"):
            await act(client)

    return wrapped


async def main(configured: bool) -> None:
    if configured:
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
    found: dict[str, Any] = {}

    async def scenario(name: str, client: Client, act: Act) -> None:
        async with client:
            await client.list_tools()  # what a call would look up by itself
            exporter.clear()
            metas.clear()
            with suppress(MCPError):
                await act(client)
            await client.session.send_notification(RootsListChangedNotification())
        spans = [describe(span) for span in exporter.get_finished_spans()]
        found[name] = {"spans": spans, "metas": list(metas)}

    for way, target in (("memory", in_memory), ("http", over_http)):
        for mode in ("auto", "legacy"):
            async with target() as server:
                await scenario(f"{way} {mode}", Client(server, mode=mode), act)
                await scenario(f"{way} {mode} inside", Client(server, mode=mode), inside_a_span(act))
    server = make_server()
    await scenario("tool error", Client(server), lambda client: client.call_tool("fail"))
    await scenario("protocol error", Client(server), lambda client: client.call_tool("refuse"))
    await scenario("prompt", Client(server), lambda client: client.get_prompt("verse"))
    await scenario("list", Client(server), lambda client: client.list_prompts())
    own: Any = {"traceparent": REMOTE}
    await scenario("own parent", Client(server), lambda client: client.call_tool("greet", meta=own))
    await scenario("silent client", Client(server, tracing=False), act)
    await scenario("silent client with own", Client(server, tracing=False), lambda c: c.call_tool("greet", meta=own))
    await scenario("silent server", Client(make_server(tracing=False)), act)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1] == "sdk")
