"""A client's link to a server process, which is started again where that is wished."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, NamedTuple

import anyio

from mcp._engine.connection import OnRequest
from mcp._engine.link import OnFault, OnNotification, OutgoingRequest
from mcp._engine.owner import Owned
from mcp._engine.stream_link import StreamLink
from mcp.client._session_settings import SessionSettings
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

logger = logging.getLogger(__name__)

_LASTING: Final = 5.0
"""A request that a server worked on for so many seconds before it ended shows that starting it was of use."""


class _Opening(NamedTuple):
    """How a handshake went, in case it has to be done once more."""

    params: dict[str, Any] | None
    version: Any


class StdioLink:
    """Entering it starts the server, leaving it ends the server.

    A server that ended by itself is started again by the next request, if its parameters allow that: what was under
    way is lost, since nobody knows how far it went, and nothing is sent twice. A session of the handshake era is opened
    anew first.

    Some servers of that era end at the first request that is not `initialize`. One that ends on the probe is started
    once more in any case, to be greeted as it expects.

    Args:
        server: How to start it.
    """

    network_transport = "pipe"  # for spans

    def __init__(self, server: StdioServerParameters) -> None:
        self._server = server
        self._max_restarts: int = getattr(server, "max_restarts", 0)  # parameters may be of a class of the user's
        self._vain = 0  # restarts since one was of use
        self._restarting = anyio.Lock()
        self._process: Owned[StreamLink] | None = None
        self._left = False
        self._listeners: tuple[OnRequest, OnNotification, OnFault | None] | None = None
        self._probed = False  # whether the last request was the probe
        self._opening: _Opening | None = None
        self._settings = SessionSettings()

    async def __aenter__(self) -> StdioLink:
        await self._start()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._left = True
        if self._process is not None:
            await self._process.__aexit__(exc_type, exc, traceback)

    def attach(self, on_request: OnRequest, hear: OnNotification, on_fault: OnFault | None = None) -> None:
        """Say who answers the server's requests, who hears what belongs to no request, and who hears of faults."""
        self._listeners = on_request, hear, on_fault
        self._link.attach(*self._listeners)

    @property
    def is_open(self) -> bool:
        """Whether the server can still be reached, though it may have to be started first."""
        return not self._left and (self._link.is_open or self._vain < self._max_restarts)

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        """Send a request and wait for its response; cancelling the caller tells the server.

        Raises:
            MCPError: The server answered an error, or it ended (`-32000`).
        """
        if not self._link.is_open and not self._left:
            if self._probed and request.method == "initialize":
                logger.info("The server ended when it was asked server/discover; starting it again for the handshake")
                await self._stop()
                await self._start()
            elif self._max_restarts:
                await self._restart()
        self._probed = request.method == "server/discover"
        begun = time.monotonic()
        try:
            result = await self._link.exchange(request, on_notification)
        except MCPError as error:
            if not error.is_local or time.monotonic() - begun > _LASTING:
                self._vain = 0
            raise
        self._vain = 0
        if request.method == "initialize":
            self._opening = _Opening(request.params, result.get("protocolVersion"))
        self._settings.note(request)
        return result

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        """Send a notification."""
        await self._link.notify(method, params, version)

    # The process

    async def _start(self) -> None:
        process = Owned(_conversation(self._server))
        link = await process.__aenter__()
        self._process = process
        try:
            if self._left:
                raise _gone("the client has been left")
            if self._listeners is not None:
                link.attach(*self._listeners)
            if self._opening is not None:
                await self._open_again(link, self._opening)
        except BaseException:
            await self._stop()
            raise
        self._link = link

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.__aexit__(None, None, None)

    async def _restart(self) -> None:
        """Start the server once for all who found it ended.

        Raises:
            MCPError: It has ended too often, or could not be started.
        """
        async with self._restarting:
            if self._link.is_open or self._left:
                return
            if self._vain >= self._max_restarts:
                raise _gone(f"the server was started {self._vain} more times and ended each time (max_restarts)")
            self._vain += 1
            logger.warning("Starting the server again (%d of %d times in a row)", self._vain, self._max_restarts)
            try:
                await self._stop()
                await self._start()
            except (OSError, MCPError) as error:
                raise _gone("the server ended and could not be started again") from error

    async def _open_again(self, link: StreamLink, opening: _Opening) -> None:
        request = OutgoingRequest(f"initialize-{self._vain}", "initialize", opening.params)
        result = await link.exchange(request, _drop)
        if result.get("protocolVersion") != opening.version:
            raise _gone(f"the server spoke {opening.version} and now speaks {result.get('protocolVersion')}")
        await link.notify("notifications/initialized", None, opening.version)
        await self._settings.restore(opening.version, lambda request: link.exchange(request, _drop))


@asynccontextmanager
async def _conversation(server: StdioServerParameters) -> AsyncGenerator[StreamLink]:
    async with stdio_client(server, sys.stderr) as streams, StreamLink(*streams) as link:
        yield link


async def _drop(method: str, params: dict[str, Any] | None) -> None:
    """Hear nothing: a handshake is not reported on."""


def _gone(why: str) -> MCPError:
    return MCPError(CONNECTION_CLOSED, f"Connection closed: {why}", is_local=True)
