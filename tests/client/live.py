"""A real web server around a real MCP server, in a thread of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import uvicorn

from mcp.server.lowlevel.server import Server


@asynccontextmanager
async def live_server(server: Server[Any]) -> AsyncGenerator[str]:
    """Serve over streamable HTTP on a free port and yield the endpoint's URL."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    started = threading.Event()

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started.set()

    app = server.streamable_http_app()
    runner = Announcing(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        await anyio.to_thread.run_sync(started.wait, 5)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        runner.should_exit = True
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(thread.join, 5)
        listening.close()
