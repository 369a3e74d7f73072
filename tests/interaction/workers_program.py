"""`run("streamable-http", workers=N)` without a key: `python -m tests.interaction.workers_program N [fails | port]`."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel.server import Server
from tests.interaction.fleet_app import mcp


@asynccontextmanager
async def lifespan(server: Server[Any]) -> AsyncGenerator[None]:
    if "fails" in sys.argv:
        raise ConnectionError("no database")
    yield None
    print(f"cleaned up {os.getpid()}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    mcp._lowlevel_server.lifespan = lifespan
    port = int(sys.argv[2]) if sys.argv[2:] and sys.argv[2].isdecimal() else 0
    mcp.run("streamable-http", port=port, workers=int(sys.argv[1]), shutdown_timeout=0.2)
