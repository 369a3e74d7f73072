"""A server and its client in one process: what `Client(server)` connects to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Any

from mcp._engine.link import DirectLink
from mcp._engine.scope import RequestScope
from mcp.server._handle import HandlerTable, handle_notification, handle_request


class InProcess:
    """Entering it starts the server's lifespan and yields a link to it; leaving it ends both.

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
        self._raise_exceptions = raise_exceptions
        self._stack = AsyncExitStack()
        if mode == "legacy":
            raise RuntimeError("This server speaks modern protocol revisions only; use mode='auto'")

    async def __aenter__(self) -> DirectLink:
        context = await self._stack.enter_async_context(self._lifespan())
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
