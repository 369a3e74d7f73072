"""A client's link to a server process."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

from mcp._engine.connection import OnRequest
from mcp._engine.link import OnFault, OnNotification, OutgoingRequest
from mcp._engine.owner import Owned
from mcp._engine.stream_link import StreamLink
from mcp.client.stdio import StdioServerParameters, stdio_client

logger = logging.getLogger(__name__)


class StdioLink:
    """Entering it starts the server, leaving it ends the server.

    Some servers of the handshake era end at the first request that is not `initialize`. One that ends on the probe is
    started once more, to be greeted as it expects.

    Args:
        server: How to start it.
    """

    def __init__(self, server: StdioServerParameters) -> None:
        self._server = server
        self._listeners: tuple[OnRequest, OnNotification, OnFault | None] | None = None
        self._probed = False  # whether the last request was the probe

    async def __aenter__(self) -> StdioLink:
        await self._start()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._process.__aexit__(exc_type, exc, traceback)

    async def _start(self) -> None:
        self._process = Owned(_conversation(self._server))
        self._link = await self._process.__aenter__()
        if self._listeners is not None:
            self._link.attach(*self._listeners)

    def attach(self, on_request: OnRequest, hear: OnNotification, on_fault: OnFault | None = None) -> None:
        """Say who answers the server's requests, who hears what belongs to no request, and who hears of faults."""
        self._listeners = on_request, hear, on_fault
        self._link.attach(*self._listeners)

    @property
    def is_open(self) -> bool:
        """Whether the server can still be reached."""
        return self._link.is_open

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        """Send a request and wait for its response; cancelling the caller tells the server."""
        if self._probed and request.method == "initialize" and not self._link.is_open:
            logger.info("The server ended when it was asked server/discover; starting it again for the handshake")
            await self._process.__aexit__(None, None, None)
            await self._start()
        self._probed = request.method == "server/discover"
        return await self._link.exchange(request, on_notification)

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        """Send a notification."""
        await self._link.notify(method, params, version)


@asynccontextmanager
async def _conversation(server: StdioServerParameters) -> AsyncGenerator[StreamLink]:
    async with stdio_client(server, sys.stderr) as streams, StreamLink(*streams) as link:
        yield link
