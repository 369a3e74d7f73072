"""A server whose resource changes when it is told to: an object, a program on pipes (no argument) or HTTP (a port)."""

from __future__ import annotations

import os
import sys

from mcp.server.mcpserver import Context, MCPServer

CHANGING = "note://1"


def build() -> MCPServer[None]:
    """Make the server."""
    server: MCPServer[None] = MCPServer("Changing", log_level="ERROR")
    server.add_tool(change)
    return server


async def change(ctx: Context) -> int:
    """Tell that the resource has changed; returns whose process this is."""
    await ctx.notify_resource_updated(CHANGING)
    return os.getpid()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        build().run("streamable-http", port=int(sys.argv[1]))
    else:
        build().run()
