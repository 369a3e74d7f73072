"""`MCPServer`: tools, prompts and resources made of Python functions."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import mcp_types as types
from mcp.server.lowlevel.handlers import LegacyInput, check_legacy_input
from mcp.server.lowlevel.server import (
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    DEFAULT_MAX_SESSIONS,
    DEFAULT_SESSION_IDLE_TIMEOUT,
    LifespanResultT,
    Server,
)
from mcp.server.lowlevel.server import lifespan as default_lifespan
from mcp.server.mcpserver._registration import Registrations
from mcp.server.mcpserver._resource_security import DEFAULT_RESOURCE_SECURITY, ResourceSecurity
from mcp.server.mcpserver._serving import Serving
from mcp.server.models import NotificationOptions
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_REQUIRED_CLIENT_CAPABILITY
from mcp_types._lazy import lazy_module, lazy_names
from mcp_types.methods import CacheableMethod

if TYPE_CHECKING:
    from mcp.server import caching, extension, request_state
    from mcp.server import context as _context
    from mcp.server import subscriptions as _subscriptions
    from mcp.server.mcpserver import _checks, _invoke, _list_changes, _registry, _settings, _visibility
    from mcp.server.mcpserver import _handlers as _methods
    from mcp.server.mcpserver import prompts as _prompts
    from mcp.server.mcpserver import resources as _resources
    from mcp.server.mcpserver import tools as _tools
    from mcp.server.mcpserver._settings import Settings
else:
    caching = lazy_module("mcp.server.caching")
    _context = lazy_module("mcp.server.context")
    _checks = lazy_module("mcp.server.mcpserver._checks")
    _methods = lazy_module("mcp.server.mcpserver._handlers")
    _invoke = lazy_module("mcp.server.mcpserver._invoke")
    _list_changes = lazy_module("mcp.server.mcpserver._list_changes")
    _settings = lazy_module("mcp.server.mcpserver._settings")
    _visibility = lazy_module("mcp.server.mcpserver._visibility")
    _registry = lazy_module("mcp.server.mcpserver._registry")
    _prompts = lazy_module("mcp.server.mcpserver.prompts")
    _resources = lazy_module("mcp.server.mcpserver.resources")
    _tools = lazy_module("mcp.server.mcpserver.tools")
    request_state = lazy_module("mcp.server.request_state")
    _subscriptions = lazy_module("mcp.server.subscriptions")
    extension = lazy_module("mcp.server.extension")
    __getattr__, __dir__ = lazy_names(__name__, {"Settings": "mcp.server.mcpserver._settings"})

__all__ = [
    "DEFAULT_MAX_REQUEST_BODY_SIZE",
    "DEFAULT_MAX_SESSIONS",
    "DEFAULT_SESSION_IDLE_TIMEOUT",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "METHOD_NOT_FOUND",
    "MISSING_REQUIRED_CLIENT_CAPABILITY",
    "MCPServer",
    "Settings",
    "lifespan_wrapper",
    "require_client_extension",
]

ServerLifespan: TypeAlias = "Callable[[MCPServer[LifespanResultT]], AbstractAsyncContextManager[LifespanResultT]]"


def lifespan_wrapper(
    app: MCPServer[LifespanResultT],
    lifespan: Callable[[MCPServer[LifespanResultT]], AbstractAsyncContextManager[LifespanResultT]],
) -> Callable[[Server[LifespanResultT]], AbstractAsyncContextManager[LifespanResultT]]:
    """Make the lifespan of the low-level server of one that takes the `MCPServer`."""

    @asynccontextmanager
    async def wrapped(_: Server[LifespanResultT]) -> AsyncGenerator[LifespanResultT]:
        async with lifespan(app) as yielded:
            yield yielded

    return wrapped


class MCPServer(Registrations[LifespanResultT], Serving[LifespanResultT]):
    """A server made of Python functions.

    ```python
    mcp = MCPServer("Calculator")


    @mcp.tool()
    async def add(a: int, b: int) -> int:
        \"\"\"Add two numbers.\"\"\"
        return a + b


    mcp.run("streamable-http")
    ```

    Args:
        name: The server's name; `"mcp-server"` by default.
        title: A name for people.
        description: What it is.
        instructions: How a model should use it.
        website_url: Where people read about it.
        icons: Icons.
        version: Its version.
        auth_server_provider: The authorization server that is part of this one.
        token_verifier: Checks the access tokens of requests.
        tools: Functions or tools to register.
        resources: Resources to register.
        extensions: Extensions to register.
        debug: Whether the web application shows tracebacks.
        log_level: The level that `run()` configures logging with.
        warn_on_duplicate_resources: Whether a second resource of one URI is reported; the first stays.
        warn_on_duplicate_tools: Whether a second tool of one name is reported; the first stays.
        warn_on_duplicate_prompts: Whether a second prompt of one name is reported; the first stays.
        dependencies: Packages that the server's file needs, for installers.
        lifespan: `(server) -> async context manager`, entered around serving; what it yields is
            `ctx.request_context.lifespan_context`.
        auth: Authorization settings.
        resource_security: The checks on the values of template variables.
        request_state_security: How `request_state` is sealed; under a key of this process by default.
        cache_hints: How long clients may keep results, by method.
        subscriptions: The bus for changes; an in-memory one by default, `False` for none.
        middleware: Middleware around every message, outermost first, inside the server's own.
        tracing: Whether messages have spans, where the application traces with OpenTelemetry.
        mask_errors: Whether the texts of unexpected exceptions stay in the log. `False` is for development.
        on_duplicate: What a second registration under one name does; wins over `warn_on_duplicate_*`.
        page_size: How many items a page of a listing has; all by default.
        max_answer_retries: How often a resolver's question is asked again after an answer that cannot be used.
        legacy_input: What becomes of an `InputRequiredResult` that a function returns on a legacy session: `"error"`
            answers with one, `"bridge"` asks the client while its call waits, and calls the function again.
        notify_list_changes: Whether legacy clients, too, are told by themselves of what is registered or removed while
            the server runs, and that they will be (`listChanged`). Modern listeners are told in any case.
        strict_arguments: Whether tools refuse arguments that they do not have, and their schemas say so. By default
            such arguments are ignored. A tool's own setting wins.
        inline_refs: Whether listed schemas have no `$ref` and no `anyOf` with `null`, which some model providers
            refuse. What contains itself keeps its references.
        visible: `(ctx, item) -> bool`, asynchronous or not: whether the caller sees a tool, prompt, resource or
            template. What it does not see is in no list, and counts as unknown. Results are never shared by caches.
        max_sync_threads: How many sync functions run at a time; by default anyio's limit for the process, 40.

    Raises:
        ValueError: A value makes no sense.
        TypeError: A value is of a wrong kind.
    """

    def __init__(
        self,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        website_url: str | None = None,
        icons: list[types.Icon] | None = None,
        version: str = "",
        auth_server_provider: object | None = None,
        token_verifier: object | None = None,
        *,
        tools: Sequence[_tools.Tool | Callable[..., Any]] | None = None,
        resources: list[_resources.Resource] | None = None,
        extensions: Sequence[extension.Extension] | None = None,
        debug: bool = False,
        log_level: _settings.LogLevel = "INFO",
        warn_on_duplicate_resources: bool = True,
        warn_on_duplicate_tools: bool = True,
        warn_on_duplicate_prompts: bool = True,
        dependencies: list[str] | None = None,
        lifespan: Callable[[MCPServer[LifespanResultT]], AbstractAsyncContextManager[LifespanResultT]] | None = None,
        auth: object | None = None,
        resource_security: ResourceSecurity = DEFAULT_RESOURCE_SECURITY,
        request_state_security: request_state.RequestStateSecurity | None = None,
        cache_hints: Mapping[CacheableMethod, caching.CacheHint] | None = None,
        subscriptions: _subscriptions.SubscriptionBus | Literal[False] | None = None,
        middleware: Sequence[_context.ServerMiddleware[Any]] | None = None,
        mask_errors: bool = True,
        on_duplicate: _registry.OnDuplicate | None = None,
        page_size: int | None = None,
        max_answer_retries: int = 0,
        tracing: bool = True,
        strict_arguments: bool = False,
        inline_refs: bool = False,
        visible: _visibility.Visible | None = None,
        max_sync_threads: int | None = None,
        legacy_input: LegacyInput = "error",
        notify_list_changes: bool = False,
    ) -> None:
        _check_unserved(auth_server_provider, token_verifier, auth)
        _checks.check_numbers(page_size, max_answer_retries, max_sync_threads)
        _checks.check_visible(visible)
        self.settings: _settings.Settings[LifespanResultT] = _settings.make_settings(
            debug=debug,
            log_level=log_level,
            warn_on_duplicate_resources=warn_on_duplicate_resources,
            warn_on_duplicate_tools=warn_on_duplicate_tools,
            warn_on_duplicate_prompts=warn_on_duplicate_prompts,
            dependencies=list(dependencies or ()),
            lifespan=lifespan,
            auth=auth,
        )
        self.max_answer_retries = max_answer_retries
        self._resource_security = resource_security
        self._strict_arguments = strict_arguments
        self._custom_routes: list[Any] = []
        duplicates: _registry.OnDuplicate = on_duplicate or "warn"
        self._tool_manager = _tools.ToolManager(warn_on_duplicate_tools, on_duplicate=duplicates)
        self._prompt_manager = _prompts.PromptManager(warn_on_duplicate_prompts, on_duplicate=duplicates)
        self._resource_manager = _resources.ResourceManager(warn_on_duplicate_resources, on_duplicate=duplicates)
        bus = _checks.choose_bus(subscriptions)
        self._handlers = _methods.Handlers(
            self,
            tools=self._tool_manager,
            prompts=self._prompt_manager,
            resources=self._resource_manager,
            subscriptions=bus,
            mask_errors=mask_errors,
            page_size=page_size,
            inline_refs=inline_refs,
            visible=visible,
        )
        if visible is not None:
            cache_hints = _checks.private_hints(cache_hints)
        listen = None if bus is None else self._handlers.make_listen_handler(bus)
        self._lowlevel_server: Server[LifespanResultT] = self._make_server(
            name or _checks.DEFAULT_NAME,
            version,
            title,
            description,
            instructions,
            website_url,
            icons,
            cache_hints,
            listen,
            tracing,
        )
        self._lowlevel_server.legacy_input = check_legacy_input(legacy_input)
        self._announce_changes(bus, in_sessions=notify_list_changes)
        self._handle_calls(self._handlers.on_call_tool)
        if extensions:
            self._add_extensions(extensions)
        self.middleware.append(_checks.make_boundary(request_state_security, name))
        if max_sync_threads is not None:
            self.middleware.append(_invoke.SyncThreads(max_sync_threads))
        self.middleware.extend(_checks.checked_middleware(middleware))
        self._register(tools or ())
        for resource in resources or ():
            self.add_resource(resource)

    def _make_server(
        self,
        name: str,
        version: str,
        title: str | None,
        description: str | None,
        instructions: str | None,
        website_url: str | None,
        icons: list[types.Icon] | None,
        cache_hints: Mapping[CacheableMethod, caching.CacheHint] | None,
        listen: _subscriptions.ListenHandler | None,
        tracing: bool,
    ) -> Server[LifespanResultT]:
        handlers = self._handlers
        lifespan = cast("ServerLifespan[LifespanResultT] | None", self.settings.lifespan)
        server: Server[LifespanResultT] = Server(
            name,
            version=version,
            title=title,
            description=description,
            instructions=instructions,
            website_url=website_url,
            icons=icons,
            cache_hints=cache_hints,
            lifespan=cast("Any", default_lifespan) if lifespan is None else _checked_lifespan(self, lifespan),
            get_tool_input_schema=self._input_schema,
            on_list_tools=cast("Any", handlers.on_list_tools),
            on_call_tool=handlers.on_call_tool,
            on_list_resources=cast("Any", handlers.on_list_resources),
            on_list_resource_templates=cast("Any", handlers.on_list_resource_templates),
            on_read_resource=handlers.on_read_resource,
            on_list_prompts=cast("Any", handlers.on_list_prompts),
            on_get_prompt=handlers.on_get_prompt,
            on_subscriptions_listen=listen,
            tracing=tracing,
        )
        server.serve_method("on_set_logging_level", handlers.on_set_level)
        return server

    def _announce_changes(self, bus: _subscriptions.SubscriptionBus | None, *, in_sessions: bool) -> None:
        changes = _list_changes.ListChanges(bus)
        self._tool_manager.registry.on_change = partial(changes.note, _list_changes.TOOLS)
        self._prompt_manager.registry.on_change = partial(changes.note, _list_changes.PROMPTS)
        self._resource_manager.resources.on_change = partial(changes.note, _list_changes.RESOURCES)
        self._resource_manager.templates.on_change = partial(changes.note, _list_changes.RESOURCES)
        server = self._lowlevel_server
        server.lifespan = changes.during(server.lifespan)
        if in_sessions:
            server.notification_options = NotificationOptions(True, True, True)
            server.middleware.append(changes.admit)

    def _handle_calls(self, handler: extension.RequestHandler) -> None:
        self._lowlevel_server.serve_method("on_call_tool", handler)

    def _add_extensions(self, extensions: Sequence[extension.Extension]) -> None:
        from mcp.server.mcpserver._extensions import add_extensions

        self._handle_calls(add_extensions(self, self._lowlevel_server, extensions, self._handlers.on_call_tool))

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        tool = self._tool_manager.registry.get(name)
        return None if tool is None else tool.parameters

    # Identity

    @property
    def name(self) -> str:
        """The server's name."""
        return self._lowlevel_server.name

    @property
    def title(self) -> str | None:
        """Its name for people."""
        return self._lowlevel_server.title

    @property
    def description(self) -> str | None:
        """What it is."""
        return self._lowlevel_server.description

    @property
    def instructions(self) -> str | None:
        """How a model should use it."""
        return self._lowlevel_server.instructions

    @property
    def website_url(self) -> str | None:
        """Where people read about it."""
        return self._lowlevel_server.website_url

    @property
    def icons(self) -> list[types.Icon] | None:
        """Its icons."""
        return self._lowlevel_server.icons

    @property
    def version(self) -> str:
        """Its version."""
        return self._lowlevel_server.version

    @property
    def middleware(self) -> list[_context.ServerMiddleware[Any]]:
        """The middleware around every message, outermost first; the list is live."""
        return self._lowlevel_server.middleware


def require_client_extension(ctx: _context.ServerRequestContext[Any, Any], identifier: str) -> None:
    """Refuse a request whose client did not declare an extension.

    Raises:
        MCPError: `-32021`, naming the extension.
    """
    declared = ctx.session.client_capabilities
    if declared is None or identifier not in (declared.extensions or {}):
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"Client did not declare required extension {identifier!r}",
            {"requiredCapabilities": {"extensions": {identifier: {}}}},
        )


def _checked_lifespan(
    server: MCPServer[LifespanResultT], lifespan: ServerLifespan[LifespanResultT]
) -> Callable[[Server[LifespanResultT]], AbstractAsyncContextManager[LifespanResultT]]:
    if inspect.iscoroutinefunction(lifespan) or inspect.isasyncgenfunction(lifespan):
        raise TypeError(
            "lifespan must return an async context manager; decorate the function with contextlib.asynccontextmanager"
        )
    return lifespan_wrapper(server, lifespan)


def _check_unserved(
    auth_server_provider: object | None,
    token_verifier: object | None,
    auth: object | None,
) -> None:
    if auth is None and (auth_server_provider is not None or token_verifier is not None):
        raise ValueError("Cannot specify auth_server_provider or token_verifier without auth settings")
    if auth is not None:
        # Never serve without the protection that was asked for.
        raise ValueError("This server has no authorization of its own; put its app behind one and leave auth out")
