"""An application that traces, in a process of its own: tracing, once loaded, is on for the whole process.

Prints, for each scenario, the spans that ended, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mcp._engine.link import OutgoingRequest
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.server import MCPServer
from mcp.server.tracing import OpenTelemetryMiddleware
from mcp.shared.exceptions import MCPError
from mcp_types import NotificationParams
from tests.server.tracing.report import REMOTE, describe

VERSION = "2026-07-28"
AMBIENT = "ambient"

provider = TracerProvider()
exporter = InMemorySpanExporter()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("application")


def make_server() -> MCPServer[Any]:
    mcp: MCPServer[Any] = MCPServer("Traced")

    @mcp.tool()
    async def own_span() -> str:
        with tracer.start_as_current_span("own"):
            return "ok"

    @mcp.tool()
    def own_span_in_a_thread() -> str:
        with tracer.start_as_current_span("own"):
            return "ok"

    @mcp.tool()
    async def fail(kind: str) -> str:
        raise ToolError("told") if kind == "tool" else MCPError(-32050, "quota used up")

    @mcp.prompt()
    async def greet() -> str:
        return "hi"

    @mcp.prompt()
    async def crash() -> str:
        raise RuntimeError("dsn=secret")

    @mcp.resource("x://a")
    async def resource() -> str:
        return "a"

    return mcp


Send = Callable[..., Awaitable[None]]


async def scenarios(send: Send, notify: Send, mcp: MCPServer[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}

    async def scenario(name: str, awaitable: Awaitable[None]) -> None:
        exporter.clear()
        with suppress(MCPError):
            await awaitable
        found[name] = [describe(span) for span in exporter.get_finished_spans()]

    async def inside_a_span(awaitable: Awaitable[None]) -> None:
        with tracer.start_as_current_span(AMBIENT):
            await awaitable

    await scenario("call", send("tools/call", {"name": "own_span"}))
    await scenario("call in a thread", send("tools/call", {"name": "own_span_in_a_thread"}))
    await scenario("tool error", send("tools/call", {"name": "fail", "arguments": {"kind": "tool"}}))
    await scenario("protocol error", send("tools/call", {"name": "fail", "arguments": {"kind": "mcp"}}))
    await scenario("prompt", send("prompts/get", {"name": "greet"}))
    await scenario("crash", send("prompts/get", {"name": "crash"}))
    await scenario("read", send("resources/read", {"uri": "x://a"}))
    await scenario("list", send("tools/list"))
    await scenario("notification", notify("com.example/noted", {}))
    await scenario("remote parent", send("tools/list", traceparent=REMOTE))
    await scenario("remote and ambient parent", inside_a_span(send("tools/list", traceparent=REMOTE)))
    await scenario("ambient parent", inside_a_span(send("tools/list")))
    await scenario("malformed", send("tools/list", traceparent="00-zz"))
    await scenario("malformed and ambient", inside_a_span(send("tools/list", traceparent="00-zz")))
    await scenario("no text", send("tools/list", traceparent=5))
    mcp.middleware[:] = [entry for entry in mcp.middleware if not isinstance(entry, OpenTelemetryMiddleware)]
    await scenario("removed", send("tools/list"))
    return found


async def main() -> None:
    mcp = make_server()

    async def noted(ctx: ServerRequestContext[Any, Any], params: NotificationParams) -> None: ...

    mcp._lowlevel_server.add_notification_handler("com.example/noted", NotificationParams, noted)
    async with mcp.connect_in_process("auto") as link:

        async def ignore(method: str, params: dict[str, Any] | None) -> None: ...

        async def send(method: str, params: dict[str, Any] | None = None, **meta: Any) -> None:
            metadata: dict[str, Any] = {
                "io.modelcontextprotocol/protocolVersion": VERSION,
                "io.modelcontextprotocol/clientCapabilities": {},
                **meta,
            }
            await link.exchange(OutgoingRequest(7, method, {**(params or {}), "_meta": metadata}), ignore)

        async def notify(method: str, params: dict[str, Any] | None) -> None:
            await link.notify(method, params, VERSION)

        json.dump(await scenarios(send, notify, mcp), sys.stdout)


if __name__ == "__main__":
    anyio.run(main)
