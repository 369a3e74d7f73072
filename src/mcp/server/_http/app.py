"""Assemble the Starlette application of a server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp.server._http.event_store import EventStore
from mcp.server._http.modern import HTTPServer
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import CorsSettings, TransportSecuritySettings, default_security

# What a browser script has to send, and to read, to speak the protocol.
_CORS_METHODS = ["GET", "POST", "DELETE"]
_CORS_HEADERS = ["mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name", "last-event-id", "authorization"]
_CORS_EXPOSED = ["Mcp-Session-Id"]


class MCPApp(Starlette):
    """A Starlette application whose first route is an MCP endpoint.

    While nobody has put anything between the server and the endpoint, requests go to it directly. With the first
    middleware, exception handler, mount or route before it, they take Starlette's usual way.
    """

    def __init__(self, manager: StreamableHTTPSessionManager, route: Route, **options: Any) -> None:
        super().__init__(**options)
        self.session_manager = manager
        self._mcp_route = route
        self.mcp_path = route.path
        self._plain_stack: ASGIApp | None = None

    def build_middleware_stack(self) -> ASGIApp:
        """Build Starlette's stack, and note whether it does anything of its own."""
        stack = super().build_middleware_stack()
        self._plain_stack = None if self.user_middleware or self.exception_handlers or self.debug else stack
        return stack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if (
            scope["type"] == "http"
            and scope["path"] == self.mcp_path
            and self._plain_stack is not None
            and self.middleware_stack is self._plain_stack
            and not scope.get("root_path")
            and self.router.routes[0] is self._mcp_route
            and self.session_manager.is_running  # the error of a manager that is not is Starlette's to show
        ):
            scope["app"] = self
            scope.setdefault("router", self.router)
            scope["route"] = self._mcp_route
            scope["endpoint"] = self._mcp_route.endpoint
            scope.setdefault("path_params", {})
            await self.session_manager.handle_request(scope, receive, send)
            return
        await super().__call__(scope, receive, send)


def build_app(
    server: HTTPServer,
    *,
    streamable_http_path: str = "/mcp",
    json_response: bool = False,
    stateless_http: bool = False,
    event_store: EventStore | None = None,
    retry_interval: int | None = None,
    max_request_body_size: int,
    session_idle_timeout: float | None,
    max_sessions: int | None,
    transport_security: TransportSecuritySettings | None = None,
    host: str = "127.0.0.1",
    auth: object | None = None,
    token_verifier: object | None = None,
    auth_server_provider: object | None = None,
    custom_starlette_routes: Sequence[BaseRoute] | None = None,
    debug: bool = False,
    cors: CorsSettings | None = None,
    shutdown_timeout: float | None = None,
    replaces: StreamableHTTPSessionManager | None = None,
) -> MCPApp:
    """Build the application that serves `server`; its `session_manager` is new.

    Args:
        server: The server.
        streamable_http_path: Where the endpoint is.
        json_response: See `StreamableHTTPSessionManager`, as for the options that are not explained here.
        stateless_http: Serve legacy requests without sessions.
        event_store: Keeps the events of legacy streams.
        retry_interval: Milliseconds before a client of a legacy stream comes back.
        max_request_body_size: How many bytes a request body may have.
        session_idle_timeout: Seconds after which an idle legacy session ends.
        max_sessions: How many legacy sessions may be open.
        transport_security: Which hosts and origins are accepted. Without it, a loopback `host` accepts loopback names.
        host: The address the application will be bound to.
        auth: Not served yet.
        token_verifier: Not served yet.
        auth_server_provider: Not served yet.
        custom_starlette_routes: Further routes, after the endpoint's. They are neither authenticated nor checked.
        debug: Show tracebacks of failures outside the endpoint.
        cors: Lets browser scripts of other origins in; off by default.
        shutdown_timeout: Seconds that running calls have to end when the server stops.
        replaces: The manager of an earlier application of the same server.

    Raises:
        ValueError: A path or limit makes no sense, or a route hides behind the endpoint.
        NotImplementedError: Authentication was asked for.
    """
    if auth is not None or token_verifier is not None or auth_server_provider is not None:
        raise NotImplementedError(
            "auth, token_verifier and auth_server_provider are not served yet; put the app behind your own middleware"
        )
    if not streamable_http_path.startswith("/"):
        raise ValueError(f"streamable_http_path must start with '/', got {streamable_http_path!r}")
    extra = list(custom_starlette_routes or ())
    for route in extra:
        if getattr(route, "path", None) == streamable_http_path:
            raise ValueError(
                f"the custom route {streamable_http_path!r} would never be reached: the MCP endpoint has that path. "
                "Move one of them (streamable_http_path=...)"
            )
    timing = {} if shutdown_timeout is None else {"shutdown_timeout": shutdown_timeout}
    manager = StreamableHTTPSessionManager(
        server,
        event_store=event_store,
        json_response=json_response,
        stateless=stateless_http,
        security_settings=transport_security or default_security(host),
        retry_interval=retry_interval,
        session_idle_timeout=session_idle_timeout,
        max_request_body_size=max_request_body_size,
        max_sessions=max_sessions,
        **timing,
    )
    if replaces is not None:
        replaces.is_superseded = True

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with manager.run():
            yield

    endpoint = Route(streamable_http_path, endpoint=StreamableHTTPASGIApp(manager))
    return MCPApp(
        manager,
        endpoint,
        debug=debug,
        routes=[endpoint, *extra],
        middleware=[_cors_middleware(cors)] if cors is not None else None,
        lifespan=lifespan,
    )


def _cors_middleware(cors: CorsSettings) -> Middleware:
    return Middleware(
        CORSMiddleware,
        allow_origins=cors.allow_origins,
        allow_origin_regex=cors.allow_origin_regex,
        allow_methods=_CORS_METHODS,
        allow_headers=_CORS_HEADERS,
        expose_headers=_CORS_EXPOSED,
        max_age=cors.max_age,
    )
