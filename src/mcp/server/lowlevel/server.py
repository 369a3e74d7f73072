"""`Server`: one handler per method, the same on every transport and in both eras."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from typing_extensions import overload

import mcp_types as types
from mcp.server import models
from mcp.server.lowlevel import handlers as h
from mcp.server.lowlevel.entries import HandlerEntry, HandlerRegistry, LifespanResultT, NamedEntry
from mcp.server.models import NotificationOptions
from mcp.shared._deprecated import deprecated
from mcp_types._lazy import lazy_module
from mcp_types._renamed import what_it_is_now
from mcp_types.methods import CacheableMethod
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS, MCPDeprecationWarning

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.routing import Route
    from typing_extensions import Unpack

    from mcp._engine import streams
    from mcp._protocol import capabilities, era
    from mcp.server import _handle, _in_process, caching, context
    from mcp.server import tracing as spans
    from mcp.server._http.event_store import EventStore
    from mcp.server.lowlevel import opening
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import CorsSettings, TransportSecuritySettings
    from mcp.shared import message
else:
    # What only a server that serves needs.
    streams = lazy_module("mcp._engine.streams")
    capabilities = lazy_module("mcp._protocol.capabilities")
    era = lazy_module("mcp._protocol.era")
    _handle = lazy_module("mcp.server._handle")
    _in_process = lazy_module("mcp.server._in_process")
    caching = lazy_module("mcp.server.caching")
    context = lazy_module("mcp.server.context")
    opening = lazy_module("mcp.server.lowlevel.opening")
    spans = lazy_module("mcp.server.tracing")
    message = lazy_module("mcp.shared.message")

__all__ = [
    "DEFAULT_MAX_REQUEST_BODY_SIZE",
    "DEFAULT_MAX_SESSIONS",
    "DEFAULT_SESSION_IDLE_TIMEOUT",
    "MODERN_PROTOCOL_VERSIONS",
    "HandlerEntry",
    "LifespanResultT",
    "NotificationOptions",
    "Server",
    "lifespan",
]

DEFAULT_MAX_REQUEST_BODY_SIZE: Final = 4 * 1024 * 1024
DEFAULT_MAX_SESSIONS: Final = 10_000
DEFAULT_SESSION_IDLE_TIMEOUT: Final = 1800

lifespan: Final = h.lifespan
_Lifespan: TypeAlias = "Callable[[Server[LifespanResultT]], AbstractAsyncContextManager[LifespanResultT]]"


class Server(HandlerRegistry[LifespanResultT]):
    """An MCP server made of one handler per method.

    ```python
    async def list_tools(ctx: context.ServerRequestContext, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="echo", input_schema={"type": "object"})])


    server = Server("Echo", on_list_tools=list_tools)
    ```

    Nothing is derived from signatures and nothing is checked on the handlers' behalf; `MCPServer` does that on top.

    Args:
        name: The server's name, as clients see it.
        version: Its version.
        title: Its name for people.
        description: What it is.
        instructions: How a model should use it.
        website_url: Where people read about it.
        icons: Pictures of it.
        cache_hints: Freshness of results, by method.
        lifespan: Makes the async context manager that is entered around serving; what it yields is
            `ctx.lifespan_context`.
        get_tool_input_schema: Returns a tool's input schema by name, for the check of parameter headers.
        tracing: Whether messages have spans, where the application traces with OpenTelemetry.
        on_list_tools: Serves `tools/list`; each further `on_*` serves the method of its name.
        legacy_input: What becomes of an `InputRequiredResult` on a legacy session: `"error"` answers with one,
            `"bridge"` asks the client while its request waits, and calls the handler again with the answers.

    Raises:
        TypeError: The name is no string, or the lifespan makes no async context manager.
        ValueError: `legacy_input` is neither.
    """

    @overload
    def __init__(
        self, name: str, *, lifespan: _Lifespan[LifespanResultT] = ..., **rest: Unpack[h.Options[LifespanResultT]]
    ) -> None: ...
    @overload
    @deprecated("Setting levels, roots and clients' progress are deprecated.", category=MCPDeprecationWarning)
    def __init__(
        self, name: str, *, lifespan: _Lifespan[LifespanResultT] = ..., **rest: Unpack[h.OldOptions[LifespanResultT]]
    ) -> None: ...
    def __init__(
        self,
        name: str,
        *,
        version: str = "",
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        website_url: str | None = None,
        icons: list[types.Icon] | None = None,
        cache_hints: Mapping[CacheableMethod, caching.CacheHint] | None = None,
        lifespan: Callable[[Server[LifespanResultT]], AbstractAsyncContextManager[LifespanResultT]] = h.lifespan,
        get_tool_input_schema: Callable[[str], Mapping[str, Any] | None] | None = None,
        on_list_tools: h.OnListTools[LifespanResultT] | None = None,
        on_call_tool: h.OnCallTool[LifespanResultT] | None = None,
        on_list_resources: h.OnListResources[LifespanResultT] | None = None,
        on_list_resource_templates: h.OnListResourceTemplates[LifespanResultT] | None = None,
        on_read_resource: h.OnReadResource[LifespanResultT] | None = None,
        on_subscribe_resource: h.OnSubscribeResource[LifespanResultT] | None = None,
        on_unsubscribe_resource: h.OnUnsubscribeResource[LifespanResultT] | None = None,
        on_subscriptions_listen: h.OnSubscriptionsListen[LifespanResultT] | None = None,
        on_list_prompts: h.OnListPrompts[LifespanResultT] | None = None,
        on_get_prompt: h.OnGetPrompt[LifespanResultT] | None = None,
        on_completion: h.OnCompletion[LifespanResultT] | None = None,
        on_set_logging_level: h.OnSetLoggingLevel[LifespanResultT] | None = None,
        on_ping: h.OnPing[LifespanResultT] = h.answer_ping,
        on_roots_list_changed: h.OnRootsListChanged[LifespanResultT] | None = None,
        on_progress: h.OnProgress[LifespanResultT] | None = None,
        tracing: bool = True,
        legacy_input: h.LegacyInput = "error",
    ) -> None:
        given = locals()
        super().__init__()
        if not isinstance(name, str):
            raise TypeError(f"a server's name must be a string, got {type(name).__name__}")
        h.check_lifespan(lifespan)
        self.name = name
        self.version = version
        self.title = title
        self.description = description
        self.instructions = instructions
        self.website_url = website_url
        self.icons = icons
        self.cache_hints: dict[str, caching.CacheHint] = (
            caching.validate_cache_hints(cache_hints) if cache_hints else {}
        )
        self.lifespan = lifespan
        self.get_tool_input_schema = get_tool_input_schema
        self.legacy_input: h.LegacyInput = h.check_legacy_input(legacy_input)
        self.notification_options = NotificationOptions()
        self.extensions: dict[str, dict[str, Any]] = {}
        self.middleware: list[context.ServerMiddleware[Any]] = [spans.OpenTelemetryMiddleware()] if tracing else []
        self._session_manager: StreamableHTTPSessionManager | None = None
        for keyword in (*h.REQUESTS, *h.NOTIFICATIONS):
            if given[keyword] is not None:
                self.serve_method(keyword, given[keyword])
        for keyword, text in h.DEPRECATED.items():
            if given[keyword] is not None:
                warnings.warn(text, MCPDeprecationWarning, stacklevel=2)
        self._request_handlers["initialize"] = NamedEntry("InitializeRequestParams", self._initialize)
        self._request_handlers["server/discover"] = NamedEntry("RequestParams", self._discover)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say of what servers of version 1 have what it is now."""
            if (now := h.of_version_1(name)) is None:
                return super().__getattribute__(name)  # which raises what it has to say
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: {what_it_is_now(now)}")

    def _initialize(self, ctx: context.ServerRequestContext[Any, Any], params: Any) -> Awaitable[Any]:
        return opening.initialize(self, ctx, params)

    def _discover(self, ctx: context.ServerRequestContext[Any, Any], params: Any) -> Awaitable[Any]:
        return opening.discover(self, ctx)

    if TYPE_CHECKING:
        chain: _handle.Chain
    else:

        @cached_property
        def chain(self) -> _handle.Chain:
            """The middleware around the handlers. An attribute to type checkers, as protocols have no cached ones."""
            return _handle.Chain(self)

    # Identity and capabilities

    @property
    def server_info(self) -> types.Implementation:
        """The server's identity in full, as `server/discover` gives it."""
        return types.Implementation(
            name=self.name,
            version=self.version,
            title=self.title,
            description=self.description,
            website_url=self.website_url,
            icons=self.icons,
        )

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """The identity that every modern result carries: name and version, so that icons do not travel each time."""
        return {"name": self.name, "version": self.version}

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        """Derive the capabilities from the registered handlers.

        Args:
            notification_options: Which list changes are announced (legacy); `self.notification_options` by default.
            experimental_capabilities: Capabilities outside the protocol.
            extensions: Extensions and their settings (modern); the server's own by default.
            protocol_version: The revision to answer for; a legacy one by default.
        """
        return capabilities.derive_capabilities(
            self._request_handlers.keys(),
            era.era_of(protocol_version or LATEST_HANDSHAKE_VERSION),
            list_changed=(notification_options or self.notification_options).families,
            experimental=experimental_capabilities,
            extensions=self.extensions if extensions is None else extensions,
        )

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> models.InitializationOptions:
        """Collect what the server tells in a legacy handshake."""
        return models.InitializationOptions(
            server_name=self.name,
            server_version=self.version,
            title=self.title,
            description=self.description,
            capabilities=self.get_capabilities(notification_options, experimental_capabilities, extensions),
            instructions=self.instructions,
            website_url=self.website_url,
            icons=self.icons,
        )

    # Serving

    def connect_in_process(self, mode: str, *, raise_exceptions: bool = False) -> _in_process.InProcess:
        """Serve one client in this process; entering the result yields the client's link.

        Args:
            mode: The client's connection mode.
            raise_exceptions: Whether the client sees the text and cause of unexpected exceptions.
        """
        return _in_process.InProcess(self, lambda: self.lifespan(self), mode=mode, raise_exceptions=raise_exceptions)

    async def run(
        self,
        read_stream: streams.ReadStream[message.SessionMessage | Exception],
        write_stream: streams.WriteStream[message.SessionMessage],
        initialization_options: models.InitializationOptions,
        raise_exceptions: bool = False,
    ) -> None:
        """Serve one pair of message streams to its end.

        Args:
            read_stream: What the client sends.
            write_stream: What it receives.
            initialization_options: What a legacy handshake answers.
            raise_exceptions: Whether an unexpected exception of a handler ends serving and is raised from here
                (for tests; the client is still told nothing of it).
        """
        from mcp.server._serve import serve_streams

        async with self.lifespan(self) as context:
            await serve_streams(
                self,
                read_stream,
                write_stream,
                lifespan_context=context,
                greeting=initialization_options.greeting(),
                raise_exceptions=raise_exceptions,
            )

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
        auth: object | None = None,
        token_verifier: object | None = None,
        auth_server_provider: object | None = None,
        custom_starlette_routes: list[Route] | None = None,
        debug: bool = False,
        cors: CorsSettings | None = None,
        shutdown_timeout: float | None = None,
    ) -> Starlette:
        """Build the ASGI application that serves this server over streamable HTTP.

        Args:
            streamable_http_path: Where the endpoint is.
            json_response: Whether legacy requests are answered with JSON instead of a stream.
            stateless_http: Whether legacy requests are served without sessions.
            event_store: Keeps the events of legacy streams, so that a client can resume them.
            retry_interval: Milliseconds after which a client of a legacy stream comes back.
            max_request_body_size: How many bytes a request body may have.
            session_idle_timeout: Seconds after which an idle legacy session ends; `None` for never.
            max_sessions: How many legacy sessions may be open; `None` for no limit.
            transport_security: Which `Host` and `Origin` values are accepted; by default those of the loopback
                interface if `host` is a loopback address.
            host: The address the application will be bound to.
            auth: Settings of the authorization of requests.
            token_verifier: Verifies access tokens.
            auth_server_provider: Issues access tokens.
            custom_starlette_routes: Further routes beside the endpoint.
            debug: Whether failures outside the endpoint show their traceback.
            cors: Lets browser scripts of other origins in; off by default.
            shutdown_timeout: Seconds that running calls have to end when the server stops.

        Raises:
            ValueError: A path or a limit makes no sense.
        """
        from mcp.server._http.app import build_app

        app = build_app(
            self,
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
            auth=auth,
            token_verifier=token_verifier,
            auth_server_provider=auth_server_provider,
            custom_starlette_routes=custom_starlette_routes,
            debug=debug,
            cors=cors,
            shutdown_timeout=shutdown_timeout,
            replaces=self._session_manager,
        )
        self._session_manager = app.session_manager
        return app

    @property
    def session_manager(self) -> StreamableHTTPSessionManager:
        """The manager of the app that `streamable_http_app()` made last.

        Raises:
            RuntimeError: No app has been made yet.
        """
        if self._session_manager is None:
            raise RuntimeError(
                "Session manager can only be accessed after calling streamable_http_app(). "
                "The session manager is created lazily to avoid unnecessary initialization."
            )
        return self._session_manager
