"""A request that nobody sent, for those who call a server's functions without a client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import mcp_types as types
from mcp._engine.scope import RequestScope
from mcp._protocol.era import MODERN
from mcp._protocol.metadata import ClientFacts
from mcp.server._handle import context_of
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import LifespanResultT, Server
from mcp.server.mcpserver.context import Context
from mcp_types.version import LATEST_MODERN_VERSION

_METHOD: Final = "direct"


@asynccontextmanager
async def direct_context(
    server: Server[LifespanResultT],
    make_context: Callable[[ServerRequestContext[Any, Any]], Context[Any, Any]],
) -> AsyncGenerator[Context[LifespanResultT, Any]]:
    """Run a server's lifespan, and make the context of a request that can be told nothing and asked nothing.

    Args:
        server: The server.
        make_context: Makes the `Context` of a request.
    """
    async with server.lifespan(server) as lifespan_context:
        scope = RequestScope(
            method=_METHOD,
            params=None,
            request_id=_METHOD,
            version=LATEST_MODERN_VERSION,
            era=MODERN,
            client=ClientFacts(LATEST_MODERN_VERSION, types.ClientCapabilities()),
            notify=_tell_nobody,
            lifespan_context=lifespan_context,
        )
        try:
            yield make_context(context_of(scope))
        finally:
            scope.finished = True


async def _tell_nobody(method: str, params: dict[str, Any] | None) -> None:
    pass
