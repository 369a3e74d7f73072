"""Run a web application until the process is told to stop. Loads uvicorn, so that nothing else does."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import math
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio
import uvicorn
from starlette.applications import Starlette

from mcp.server._http.app import MCPApp
from mcp.server._http.sse_app import SseApp

logger = logging.getLogger(__name__)

STARTUP_FAILED: Final = 3  # uvicorn's own exit status for it

# Seconds beyond the time that running calls have: for their last messages, and for whoever ignores its cancellation.
_LAST_MESSAGES: Final = 2.0
_LAST_TASKS: Final = 1.0
LAST_SECONDS: Final = _LAST_MESSAGES + _LAST_TASKS + 1.0
"""Seconds beyond the time that running calls have, after which a server has ended."""


@dataclass(frozen=True, slots=True)
class Worker:
    """What a worker has of the process that started it.

    Attributes:
        listening: The socket that all workers share.
        alive: The end of a pipe that the parent closes to stop its workers, and by ending itself.
    """

    listening: socket.socket
    alive: int


_worker: Worker | None = None


def become_worker(worker: Worker) -> None:
    """Let this process serve as a worker."""
    global _worker
    _worker = worker


class _Server(uvicorn.Server):
    """A uvicorn server that ends the exchanges of its application when it stops.

    uvicorn waits for open responses before it lets the application's lifespan end, and an open listen stream would keep
    it waiting for ever. So would a request whose body never comes, and a client that does not read.
    """

    def __init__(self, config: uvicorn.Config, app: MCPApp | SseApp) -> None:
        super().__init__(config)
        self._manager = app.session_manager if isinstance(app, MCPApp) else app
        if _worker is not None and isinstance(app, MCPApp):
            app.session_manager.is_one_of_several = True
        self._time_for_answers = self._manager.shutdown_timeout + _LAST_MESSAGES
        config.timeout_graceful_shutdown = math.ceil(self._time_for_answers + _LAST_TASKS)
        self._path = app.mcp_path

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and _worker is not None:
            asyncio.get_running_loop().add_reader(_worker.alive, self._stop_with_parent, _worker.alive)
            logger.info("Worker %d is ready", os.getpid())
        elif self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            logger.info("MCP server running on %s%s (Press CTRL+C to quit)", url, self._path)

    def _stop_with_parent(self, alive: int) -> None:
        asyncio.get_running_loop().remove_reader(alive)
        self.should_exit = True

    def _log_started_message(self, listeners: object) -> None:
        """Leave it to the line above, which has the endpoint's path."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        manager = self._manager
        stopping = asyncio.create_task(manager.stop(manager.shutdown_timeout))
        cutting = asyncio.get_running_loop().call_later(self._time_for_answers, self._cut)
        try:
            await super().shutdown(sockets)
        finally:
            cutting.cancel()
            if self.force_exit:
                stopping.cancel()
            with suppress(asyncio.CancelledError):
                await stopping

    def _cut(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()


async def serve_app(app: Starlette, *, host: str, port: int, log_level: str) -> None:
    """Serve an application with uvicorn, in this process and this event loop.

    uvicorn's loggers get no handlers of their own, one of which would write to stdout: their lines, those about each
    request included, go where the application's go.

    Args:
        app: What `streamable_http_app()` or `sse_app()` made.
        host: The address to bind.
        port: The port to bind.
        log_level: The level of uvicorn's loggers.

    Raises:
        SystemExit: The application did not start; its reason is in the log.
    """
    config = uvicorn.Config(app, host=host, port=port, log_config=None, log_level=log_level.lower())
    server = _Server(config, app) if isinstance(app, MCPApp | SseApp) else uvicorn.Server(config)
    await server.serve(None if _worker is None else [_worker.listening])
    if not server.started:
        sys.exit(STARTUP_FAILED)


def refuse_running_loop(instead: str) -> None:
    """Say what to do in a program that has an event loop already, a notebook for example.

    Raises:
        RuntimeError: This one has.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(f"Already running asyncio in this thread; {instead}")


def run_in_fast_loop(main: Callable[[], Awaitable[None]]) -> None:
    """Run `main` in a new event loop, uvloop's where it is installed. Ctrl-C ends it like any other end.

    Raises:
        RuntimeError: An event loop already runs in this thread.
    """
    # uvicorn stops in good order on the signal and raises it again afterwards, for those who called it. On Python 3.10
    # that arrives as the cancellation of the main task.
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        anyio.run(main, backend_options={"use_uvloop": importlib.util.find_spec("uvloop") is not None})
