"""How an `MCPServer` is served: in process, as a web application, by `run()`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from mcp.server.lowlevel.server import (
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    DEFAULT_MAX_SESSIONS,
    DEFAULT_SESSION_IDLE_TIMEOUT,
    LifespanResultT,
    Server,
)
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from mcp.server import _in_process
    from mcp.server._http.event_store import EventStore
    from mcp.server.mcpserver import _checks, _direct, _settings
    from mcp.server.mcpserver import _handlers as _methods
    from mcp.server.mcpserver import context as _context
    from mcp.server.mcpserver.utilities import logging
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import CorsSettings, TransportSecuritySettings
else:
    _in_process = lazy_module("mcp.server._in_process")
    _checks = lazy_module("mcp.server.mcpserver._checks")
    _direct = lazy_module("mcp.server.mcpserver._direct")
    _methods = lazy_module("mcp.server.mcpserver._handlers")
    _settings = lazy_module("mcp.server.mcpserver._settings")
    _context = lazy_module("mcp.server.mcpserver.context")
    logging = lazy_module("mcp.server.mcpserver.utilities.logging")

RouteT = TypeVar("RouteT", bound="Callable[[Request], Awaitable[Response] | Response]")


class Serving(Generic[LifespanResultT]):
    """What `MCPServer` has for those who serve it."""

    settings: _settings.Settings[LifespanResultT]
    _lowlevel_server: Server[LifespanResultT]
    _handlers: _methods.Handlers
    _custom_routes: list[Any]

    def connect_in_process(self, mode: str, *, raise_exceptions: bool = False) -> _in_process.InProcess:
        """Serve one client in this process; entering the result yields the client's link.

        Args:
            mode: The client's connection mode.
            raise_exceptions: Whether the client sees the text and cause of unexpected exceptions.
        """
        return self._lowlevel_server.connect_in_process(mode, raise_exceptions=raise_exceptions)

    def direct_context(self) -> AbstractAsyncContextManager[_context.Context[LifespanResultT, Any]]:
        """Run the lifespan around direct calls, for tests and scripts without a client.

        Each use runs the lifespan anew, as each connection in this process does. The context stands for a request of a
        modern client that declared nothing: it cannot be asked, and wants neither progress nor log messages.

        ```python
        async with mcp.direct_context() as ctx:
            result = await mcp.call_tool("query", {"sql": "select 1"}, ctx)
        ```
        """
        return _direct.direct_context(self._lowlevel_server, self._handlers.make_context)

    @property
    def session_manager(self) -> StreamableHTTPSessionManager:
        """The manager of the app that `streamable_http_app()` made last.

        Raises:
            RuntimeError: No app has been made yet.
        """
        return self._lowlevel_server.session_manager

    def custom_route(
        self, path: str, methods: list[str], name: str | None = None, include_in_schema: bool = True
    ) -> Callable[[RouteT], RouteT]:
        """Add a route to the web application: `async (request) -> Response`, neither authenticated nor checked.

        Args:
            path: The path, beginning with `/`.
            methods: The HTTP methods.
            name: The route's name.
            include_in_schema: Whether Starlette's schemas show it.

        Raises:
            ValueError: The path does not begin with `/`.
        """
        if not path.startswith("/"):
            raise ValueError(f"Routed paths must start with '/', got {path!r}")

        def decorator(fn: RouteT) -> RouteT:
            from starlette.routing import Route

            route = Route(path, endpoint=fn, methods=methods, name=name, include_in_schema=include_in_schema)
            self._custom_routes.append(route)
            return fn

        return decorator

    def streamable_http_app(
        self,
        *,
        streamable_http_path: str = "/mcp",
        json_response: bool = False,
        stateless_http: bool = False,
        event_store: EventStore | None = None,
        retry_interval: int | None = None,
        max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
        session_idle_timeout: float | None = DEFAULT_SESSION_IDLE_TIMEOUT,
        max_sessions: int | None = DEFAULT_MAX_SESSIONS,
        transport_security: TransportSecuritySettings | None = None,
        host: str = "127.0.0.1",
        cors: CorsSettings | None = None,
        shutdown_timeout: float | None = None,
    ) -> Starlette:
        """Make the web application that serves streamable HTTP. See `Server.streamable_http_app`."""
        return self._lowlevel_server.streamable_http_app(
            streamable_http_path=streamable_http_path,
            json_response=json_response,
            stateless_http=stateless_http,
            event_store=event_store,
            retry_interval=retry_interval,
            max_request_body_size=max_request_body_size,
            session_idle_timeout=session_idle_timeout,
            max_sessions=max_sessions,
            transport_security=transport_security,
            host=host,
            cors=cors,
            shutdown_timeout=shutdown_timeout,
            custom_starlette_routes=self._custom_routes,
            debug=self.settings.debug,
        )

    def sse_app(
        self,
        *,
        sse_path: str = "/sse",
        message_path: str = "/messages/",
        max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
        transport_security: TransportSecuritySettings | None = None,
        host: str = "127.0.0.1",
    ) -> Starlette:
        """Make the web application that serves HTTP+SSE, for clients that do not know streamable HTTP.

        Args:
            sse_path: Where clients connect.
            message_path: Where they POST their messages.
            max_request_body_size: How many bytes a message may have.
            transport_security: Which hosts and origins are accepted. Without it, a loopback `host` accepts loopback
                names.
            host: The address the application will be bound to.
        """
        from mcp.server._http.sse_app import build_sse_app

        return build_sse_app(
            self._lowlevel_server,
            sse_path=sse_path,
            message_path=message_path,
            max_request_body_size=max_request_body_size,
            transport_security=transport_security,
            host=host,
            custom_starlette_routes=self._custom_routes,
            debug=self.settings.debug,
        )

    def run(self, transport: Literal["stdio", "sse", "streamable-http"] = "stdio", **kwargs: Any) -> None:
        """Serve until the transport ends.

        Args:
            transport: How clients connect.
            kwargs: The transport's options, as the `run_*_async` methods take them; and `workers` for
                `"streamable-http"`, the number of processes that serve, 1 by default.

        Raises:
            ValueError: The transport is unknown, or `workers` is not positive.
            TypeError: The transport has no such option.
            RuntimeError: An event loop runs in this thread already, or the system cannot fork several workers.
        """
        runners: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {
            "stdio": self.run_stdio_async,
            "sse": self.run_sse_async,
            "streamable-http": self.run_streamable_http_async,
        }
        if transport not in runners:
            raise ValueError(f"Unknown transport: {transport}")
        runner = runners[transport]
        workers = _checks.check_workers(kwargs.pop("workers", 1)) if transport == "streamable-http" else 1
        try:
            options = inspect.signature(runner).bind(**kwargs)
        except TypeError as error:
            raise TypeError(f"MCPServer.{runner.__name__}() {error}") from None
        if transport == "stdio":
            from mcp.server._stdio_run import run_stdio

            logging.configure_logging(self.settings.log_level, may_wait=False)
            run_stdio(self._lowlevel_server)
            return
        from mcp.server.mcpserver._running import refuse_running_loop, run_in_fast_loop

        refuse_running_loop(f"await {runner.__name__}(...) instead of run()")
        serve = functools.partial(run_in_fast_loop, functools.partial(runner, **kwargs))
        if workers == 1:
            serve()
            return
        from mcp.server.mcpserver._workers import run_workers

        options.apply_defaults()
        logging.configure_logging(self.settings.log_level)
        run_workers(self._lowlevel_server, workers, serve, options.arguments)

    async def run_stdio_async(self) -> None:
        """Serve one client on standard input and output until it closes its side."""
        from mcp.server._stdio_run import serve_stdio

        logging.configure_logging(self.settings.log_level, may_wait=False)
        await serve_stdio(self._lowlevel_server)

    async def run_sse_async(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        sse_path: str = "/sse",
        message_path: str = "/messages/",
        max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
        transport_security: TransportSecuritySettings | None = None,
    ) -> None:
        """Serve HTTP+SSE with uvicorn until the process is told to stop. See `sse_app` for the arguments."""
        from mcp.server.mcpserver._running import serve_app

        app = self.sse_app(
            sse_path=sse_path,
            message_path=message_path,
            max_request_body_size=max_request_body_size,
            transport_security=transport_security,
            host=host,
        )
        logging.configure_logging(self.settings.log_level)
        await serve_app(app, host=host, port=port, log_level=self.settings.log_level)

    async def run_streamable_http_async(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        streamable_http_path: str = "/mcp",
        json_response: bool = False,
        stateless_http: bool = False,
        event_store: EventStore | None = None,
        retry_interval: int | None = None,
        max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
        session_idle_timeout: float | None = DEFAULT_SESSION_IDLE_TIMEOUT,
        max_sessions: int | None = DEFAULT_MAX_SESSIONS,
        transport_security: TransportSecuritySettings | None = None,
        cors: CorsSettings | None = None,
        shutdown_timeout: float | None = None,
    ) -> None:
        """Serve streamable HTTP with uvicorn until the process is told to stop.

        Args:
            host: The address to bind.
            port: The port to bind.
            streamable_http_path: The endpoint's path.
            json_response: Answer legacy requests with JSON instead of streams.
            stateless_http: Serve legacy requests without sessions.
            event_store: Keeps the events of legacy streams.
            retry_interval: Milliseconds before a client of a legacy stream comes back.
            max_request_body_size: How many bytes a request body may have.
            session_idle_timeout: Seconds after which an idle legacy session ends.
            max_sessions: How many legacy sessions may be open.
            transport_security: Which hosts and origins are accepted.
            cors: Lets browser scripts of other origins in; off by default.
            shutdown_timeout: Seconds that running calls have to end when the server stops.
        """
        from mcp.server.mcpserver._running import serve_app

        app = self.streamable_http_app(
            streamable_http_path=streamable_http_path,
            json_response=json_response,
            stateless_http=stateless_http,
            event_store=event_store,
            retry_interval=retry_interval,
            max_request_body_size=max_request_body_size,
            session_idle_timeout=session_idle_timeout,
            max_sessions=max_sessions,
            transport_security=transport_security,
            host=host,
            cors=cors,
            shutdown_timeout=shutdown_timeout,
        )
        logging.configure_logging(self.settings.log_level)
        await serve_app(app, host=host, port=port, log_level=self.settings.log_level)
