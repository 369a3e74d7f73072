"""Registers 500 tools, lists them, and calls one: milliseconds on stdout, by the name of the figure."""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from mcp import Client
from mcp.server.mcpserver import Context, MCPServer

COUNT = 500


def make_function(number: int) -> Callable[..., Any]:
    """Make a function that no other tool has, with models and constraints of its own."""
    address = create_model(f"Address{number}", street=(str, ...), number=(int, 1))

    async def plain(name: str, count: int = 1, tags: list[str] | None = None) -> str:
        """Take plain values."""
        return name * count

    def constrained(
        size: Annotated[int, Field(ge=0, description=f"How large number {number} is.")],
        unit: Literal["cm", "in"] = "cm",
    ) -> float:
        """Take described values."""
        return size * 2.54 if unit == "in" else size

    async def nested(address: Any, ctx: Context) -> Any:
        """Take a model and return one."""
        return address

    nested.__annotations__.update({"address": address, "return": address})
    return (plain, constrained, nested)[number % 3]


def register(count: int) -> tuple[MCPServer, float]:
    """Register so many tools; return the server and how long that took."""
    functions = [make_function(number) for number in range(count)]
    start = time.perf_counter()
    server = MCPServer("Bench")
    for number, function in enumerate(functions):
        server.add_tool(function, f"tool_{number}")
    return server, time.perf_counter() - start


async def use(server: MCPServer) -> tuple[float, float]:
    """List the tools and call one; return how long each took, the best of several."""
    lists: list[float] = []
    calls: list[float] = []
    async with Client(server, cache=None) as client:
        await client.call_tool("tool_0", {"name": "a"})
        for _ in range(5):
            start = time.perf_counter()
            await client.list_tools()
            lists.append(time.perf_counter() - start)
        for _ in range(200):
            start = time.perf_counter()
            await client.call_tool("tool_0", {"name": "a"})
            calls.append(time.perf_counter() - start)
    return min(lists), min(calls)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    register(3)  # what the first use of pydantic costs is not the question
    server, registering = register(count)
    listing, calling = asyncio.run(use(server))
    print(json.dumps({"register": registering * 1000, "list": listing * 1000, "call": calling * 1000}))


if __name__ == "__main__":
    main()
