"""Serve one pipe: a pair of message streams, to its end."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any, Final

import anyio

from mcp._engine.connection import Connection, Work
from mcp._engine.scope import RequestScope
from mcp._engine.streams import ReadStream, WriteStream, from_model, to_model
from mcp._protocol.era import MODERN
from mcp._protocol.handshake import Handshake
from mcp._protocol.jsonrpc import Notification, Request
from mcp._protocol.metadata import ClientFacts
from mcp.server._handle import HandlerTable, handle_notification, handle_request
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ClientCapabilities
from mcp_types.version import LATEST_MODERN_VERSION

logger = logging.getLogger(__name__)

SHUTDOWN_GRACE: Final = 2.0
"""Seconds that running calls get to answer after the client closed its side."""


class Pipe:
    """A server at one end of a pipe.

    Args:
        server: The server.
        read_stream: What the client sends.
        write_stream: What it receives.
        lifespan_context: What the server's lifespan yielded.
        raise_exceptions: Whether an unexpected exception of a handler also ends `run()`, by being raised from it.
    """

    def __init__(
        self,
        server: HandlerTable,
        read_stream: ReadStream[SessionMessage | Exception],
        write_stream: WriteStream[SessionMessage],
        *,
        lifespan_context: object,
        raise_exceptions: bool = False,
    ) -> None:
        self._server = server
        self._read_stream = read_stream
        self._write_stream = write_stream
        self._lifespan_context = lifespan_context
        self._raise_exceptions = raise_exceptions
        self._failure: BaseException | None = None
        self._reading = anyio.CancelScope()
        self._handshake = Handshake()
        self._connection = Connection(self._send, self._admit, self._take_note)

    async def run(self) -> None:
        """Serve until the client closes its side."""
        async with self._read_stream, self._write_stream, self._connection as connection:
            with self._reading:
                async for item in self._read_stream:
                    if isinstance(item, Exception):
                        logger.debug("Dropping what the transport could not read: %r", item)
                        continue
                    await connection.wait_for_room()
                    connection.deliver(from_model(item.message))
            await connection.finish(SHUTDOWN_GRACE)
        if self._failure is not None:
            raise self._failure

    async def _send(self, message: dict[str, Any]) -> None:
        await self._write_stream.send(SessionMessage(to_model(message)))

    def _admit(self, request: Request) -> Work:
        client = self._handshake.admit(request)
        scope = RequestScope(
            method=request.method,
            params=request.params,
            request_id=request.request_id,
            version=client.version,
            era=MODERN,
            client=client,
            notify=self._connection.notify,
            lifespan_context=self._lifespan_context,
            raise_exceptions=self._raise_exceptions,
        )
        return partial(self._handle, scope)

    async def _handle(self, scope: RequestScope) -> dict[str, Any]:
        try:
            return await handle_request(self._server, scope)
        except MCPError as error:
            if not self._raise_exceptions or error.__cause__ is None:
                raise
            self._failure = error.__cause__
            self._reading.cancel()
            raise MCPError(INTERNAL_ERROR, "Internal server error") from None

    async def _take_note(self, notification: Notification) -> None:
        scope = RequestScope(
            method=notification.method,
            params=notification.params,
            request_id=None,
            version=LATEST_MODERN_VERSION,
            era=MODERN,
            client=ClientFacts(LATEST_MODERN_VERSION, ClientCapabilities()),
            notify=self._connection.notify,
            lifespan_context=self._lifespan_context,
        )
        await handle_notification(self._server, scope)
