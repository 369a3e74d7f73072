"""A server and its client in one process: what `Client(server)` connects to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Any

from mcp._engine.connection import Send
from mcp._engine.connection_link import ConnectionLink
from mcp._engine.link import DirectLink, Link, OnNotification, OutgoingRequest
from mcp._engine.scope import RequestScope
from mcp._protocol.errors import Rejection
from mcp._protocol.jsonrpc import Message, dumps, parse_message
from mcp.server._handle import HandlerTable, handle_notification, handle_request
from mcp.server._serve import ServerConnection
from mcp.shared.exceptions import MCPError
from mcp_types import RequestId


class InProcess:
    """Entering it starts the server's lifespan and yields a link to it; leaving it ends both.

    Modern requests go straight to the server. A legacy client gets a conversation, as over a pipe.

    Args:
        server: The server.
        lifespan: Makes the lifespan of this connection.
        mode: The client's connection mode.
        raise_exceptions: Whether the client sees the text and cause of unexpected exceptions.
    """

    def __init__(
        self,
        server: HandlerTable,
        lifespan: Callable[[], AbstractAsyncContextManager[Any]],
        *,
        mode: str,
        raise_exceptions: bool,
    ) -> None:
        self._server = server
        self._lifespan = lifespan
        self._mode = mode
        self._raise_exceptions = raise_exceptions
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Link:
        try:
            context = await self._stack.enter_async_context(self._lifespan())
            if self._mode == "legacy":
                return await self._converse(context)
        except BaseException as error:
            await self._stack.__aexit__(type(error), error, error.__traceback__)
            raise
        server = self._server

        async def notify(scope: RequestScope) -> None:
            await handle_notification(server, scope)

        return DirectLink(
            lambda scope: handle_request(server, scope),
            notify,
            lifespan_context=context,
            raise_exceptions=self._raise_exceptions,
        )

    async def _converse(self, context: object) -> ConnectionLink:
        """Put the two ends of a conversation together: what one sends, the other takes in."""

        async def to_server(message: dict[str, Any]) -> None:
            await served.receive(_crossed(message))

        async def to_client(message: dict[str, Any]) -> None:
            link.receive(_crossed(message))

        link = _CandidLink(to_server) if self._raise_exceptions else ConnectionLink(to_server)
        served = ServerConnection(
            self._server,
            to_client,
            lifespan_context=context,
            on_failure=link.causes.__setitem__ if isinstance(link, _CandidLink) else None,
        )
        await self._stack.enter_async_context(served)
        await self._stack.enter_async_context(link)
        return link

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(exc_type, exc, traceback)


class _CandidLink(ConnectionLink):
    """A link that raises an unexpected exception of a handler with its text and as the cause."""

    def __init__(self, send: Send) -> None:
        super().__init__(send)
        self.causes: dict[RequestId, BaseException] = {}

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
    assert not isinstance(read, Rejection), read
    return read
