"""Assemble the Starlette application that serves HTTP+SSE."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route

from mcp.server._handle import HandlerTable
from mcp.server._http.asgi import Receive, Scope, Send
from mcp.server._serve import serve_streams
from mcp.server.models import InitializationOptions
from mcp.server.sse import SseServerTransport
from mcp.server.transport_security import TransportSecuritySettings, default_security


class SseServer(HandlerTable, Protocol):
    """What this transport needs of a server."""

    lifespan: Callable[[Any], AbstractAsyncContextManager[Any]]

    def create_initialization_options(self) -> InitializationOptions: ...


class SseEndpoint:
    """The endpoint that a client's GET opens its connection at, as an ASGI application.

    Args:
        server: The server.
        transport: Its connections.
    """

    def __init__(self, server: SseServer, transport: SseServerTransport) -> None:
        self._server = server
        self._transport = transport
        self._lifespan_context: object = None
        self._is_running = False

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        """Serve while the context is entered; the server's lifespan runs inside it, once for all connections."""
        async with self._server.lifespan(self._server) as self._lifespan_context:
            self._is_running = True
            try:
                yield
            finally:
                self._is_running = False
                self._transport.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection to its end."""
        async with (
            self._transport.connect_sse(scope, receive, send) as (read_stream, write_stream),
            self._open_lifespan() as lifespan_context,
        ):
            await serve_streams(
                self._server,
                read_stream,
                write_stream,
                lifespan_context=lifespan_context,
                greeting=self._server.create_initialization_options().greeting(),
            )

    @asynccontextmanager
    async def _open_lifespan(self) -> AsyncGenerator[object]:
        if self._is_running:
            yield self._lifespan_context
            return
        # Mounted in an application that does not run this one's lifespan: each connection opens the server's own.
        async with self._server.lifespan(self._server) as lifespan_context:
            yield lifespan_context


class SseApp(Starlette):
    """A Starlette application that serves HTTP+SSE.

    Attributes:
        mcp_path: Where clients connect.
        shutdown_timeout: Seconds that `stop` takes.
    """

    shutdown_timeout = 0.0

    def __init__(self, transport: SseServerTransport, path: str, **options: Any) -> None:
        super().__init__(**options)
        self.mcp_path = path
        self._transport = transport

    async def stop(self, timeout: float) -> None:
        """End every connection at once; the server behind an open one would not stop."""
        self._transport.close()


def build_sse_app(
    server: SseServer,
    *,
    sse_path: str,
    message_path: str,
    max_request_body_size: int,
    transport_security: TransportSecuritySettings | None,
    host: str,
    custom_starlette_routes: Sequence[BaseRoute] = (),
    debug: bool = False,
) -> SseApp:
    """Build the application.

    Args:
        server: The server.
        sse_path: Where clients connect.
        message_path: Where they POST their messages.
        max_request_body_size: How many bytes a message may have.
        transport_security: Which hosts and origins are accepted. Without it, a loopback `host` accepts loopback names.
        host: The address the application will be bound to.
        custom_starlette_routes: Further routes.
        debug: Show tracebacks of failures outside the endpoints.

    Raises:
        ValueError: A path or limit makes no sense.
    """
    for name, path in (("sse_path", sse_path), ("message_path", message_path)):
        if not path.startswith("/"):
            raise ValueError(f"{name} must start with '/', got {path!r}")
    transport = SseServerTransport(message_path, transport_security or default_security(host), max_request_body_size)
    endpoint = SseEndpoint(server, transport)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with endpoint.run():
            yield

    routes: list[BaseRoute] = [
        Route(sse_path, endpoint=endpoint, methods=["GET"]),
        Mount(message_path, app=transport.handle_post_message),
        *custom_starlette_routes,
    ]
    return SseApp(transport, sse_path, debug=debug, routes=routes, lifespan=lifespan)
