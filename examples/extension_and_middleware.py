"""An extension that counts calls and offers a method of its own, and a middleware that measures every request."""

import sys
import time
from collections.abc import Sequence
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Extension, MCPServer, MethodBinding, ToolBinding
from mcp.types import CallToolRequestParams, RequestParams


def stamp(text: str) -> str:
    """Put a stamp on a text."""
    return f"{text} [stamped]"


class Stamps(Extension):
    """Brings a tool, a method, a capability, and counts the calls of all tools."""

    identifier = "com.example/stamps"

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}

    def settings(self) -> dict[str, Any]:
        """What clients read in the server's capabilities."""
        return {"format": "v2"}

    def tools(self) -> Sequence[ToolBinding]:
        """The tools it brings."""
        return [ToolBinding(stamp, meta={"com.example/kind": "stamp"})]

    def methods(self) -> Sequence[MethodBinding]:
        """The methods it brings."""
        return [MethodBinding("com.example/calls", RequestParams, self.count)]

    async def count(self, ctx: ServerRequestContext[Any, Any], params: RequestParams) -> dict[str, Any]:
        """Answer `com.example/calls`."""
        return {"resultType": "complete", "calls": self.calls}

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Count the call and let it go on."""
        self.calls[params.name] = self.calls.get(params.name, 0) + 1
        return await call_next(ctx)


seconds: dict[str, float] = {}


async def measure(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Add up how long the requests of each method take."""
    start = time.perf_counter()
    try:
        return await call_next(ctx)
    finally:
        seconds[ctx.method] = seconds.get(ctx.method, 0) + time.perf_counter() - start


server = MCPServer("Office", extensions=[Stamps()], middleware=[measure], log_level="WARNING")


@server.tool
def letter(to: str) -> str:
    """Write a letter."""
    return f"Dear {to}"


if __name__ == "__main__":
    server.run("streamable-http", port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
