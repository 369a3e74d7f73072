"""A server whose lifespan fails: at its `start` or its `exit`, over pipes or, given a port, with two workers."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mcp.server.mcpserver import MCPServer


@asynccontextmanager
async def lifespan(_: MCPServer[None]) -> AsyncGenerator[None]:
    if sys.argv[1] == "start":
        raise OSError("there is no database")
    yield
    raise OSError("the database does not close")


if __name__ == "__main__":
    server: MCPServer[None] = MCPServer("Lab", lifespan=lifespan)
    if len(sys.argv) > 2:
        server.run("streamable-http", port=int(sys.argv[2]), workers=2)
    else:
        server.run()
