"""How a server introduces itself, as what it is at the time of the request."""

from __future__ import annotations

from typing import Any, Protocol

import mcp_types as types
from mcp._protocol.era import SERVED_VERSIONS, era_of
from mcp._protocol.errors import method_not_found
from mcp._protocol.fields import dump
from mcp.server.context import ServerRequestContext
from mcp.server.models import InitializationOptions, NotificationOptions


class Introducible(Protocol):
    """What an introduction tells."""

    instructions: str | None

    @property
    def server_info(self) -> types.Implementation: ...
    def get_capabilities(self, *, protocol_version: str | None = None) -> types.ServerCapabilities: ...
    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None
    ) -> InitializationOptions: ...


async def initialize(
    server: Introducible, ctx: ServerRequestContext[Any, Any], params: types.InitializeRequestParams
) -> types.InitializeResult:
    """Serve `initialize`."""
    scope = ctx.session.scope
    handshake = scope.handshake
    if handshake is None:  # nothing that a session could be opened on
        raise method_not_found("initialize")
    # Without a session of its own (stateless), a client gets nothing but answers: no change can be announced.
    announced = NotificationOptions() if scope.channel is None else None
    greeting = handshake.greeting or server.create_initialization_options(announced).greeting()
    return greeting.model_copy(update={"protocol_version": handshake.open(params)})


async def discover(server: Introducible, ctx: ServerRequestContext[Any, Any]) -> types.DiscoverResult:
    """Serve `server/discover`."""
    return types.DiscoverResult(
        supported_versions=list(SERVED_VERSIONS),
        capabilities=server.get_capabilities(protocol_version=ctx.protocol_version),
        instructions=server.instructions,
        _meta={types.SERVER_INFO_META_KEY: dump(server.server_info, era_of(ctx.protocol_version))},
    )
