"""A conversation between a server and a client of the handshake era in one process."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import mcp_types as types
from mcp._engine.connection import Send
from mcp._engine.connection_link import ConnectionLink
from mcp._engine.link import OnNotification, OutgoingRequest
from mcp._protocol.errors import Rejection
from mcp._protocol.jsonrpc import Message, dumps, parse_message
from mcp.server._handle import HandlerTable
from mcp.server._serve import ServerConnection
from mcp.shared.exceptions import MCPError


class Conversation:
    """The two ends of a conversation put together: what one sends, the other takes in. Entering it yields the link.

    Args:
        server: The server.
        lifespan_context: What the server's lifespan yielded.
        raise_exceptions: Whether the client sees the text and cause of unexpected exceptions.
    """

    def __init__(self, server: HandlerTable, lifespan_context: object, *, raise_exceptions: bool) -> None:
        self._link = _CandidLink(self._to_server) if raise_exceptions else ConnectionLink(self._to_server)
        self._served = ServerConnection(
            server,
            self._to_client,
            lifespan_context=lifespan_context,
            on_failure=self._link.causes.__setitem__ if isinstance(self._link, _CandidLink) else None,
        )

    async def __aenter__(self) -> ConnectionLink:
        await self._served.__aenter__()
        return await self._link.__aenter__()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self._link.__aexit__(exc_type, exc, traceback)
        finally:
            await self._served.__aexit__(exc_type, exc, traceback)

    async def _to_server(self, message: dict[str, Any]) -> None:
        await self._served.receive(_crossed(message))

    async def _to_client(self, message: dict[str, Any]) -> None:
        self._link.receive(_crossed(message))


class _CandidLink(ConnectionLink):
    """A link that raises an unexpected exception of a handler with its text and as the cause."""

    def __init__(self, send: Send) -> None:
        super().__init__(send)
        self.causes: dict[types.RequestId, BaseException] = {}

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        """Send a request and wait for its response."""
        try:
            return await super().exchange(request, on_notification)
        except MCPError as error:
            cause = self.causes.pop(request.request_id, None)
            if cause is None:
                raise
            raise MCPError(error.code, str(cause), error.data) from cause


def _crossed(message: dict[str, Any]) -> Message:
    """The message as the other end reads it: nothing is shared, and only what JSON can carry arrives."""
    read = parse_message(dumps(message))
    if isinstance(read, Rejection):
        raise MCPError(read.code, read.message)
    return read
