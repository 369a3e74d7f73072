"""A server and its client in one process: what `Client(server)` connects to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Any

from mcp._engine.link import DirectLink, Link
from mcp._engine.scope import RequestScope
from mcp.server._handle import HandlerTable, handle_notification, handle_request


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
                from mcp.server._conversation import Conversation

                return await self._stack.enter_async_context(
                    Conversation(self._server, context, raise_exceptions=self._raise_exceptions)
                )
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

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(exc_type, exc, traceback)
