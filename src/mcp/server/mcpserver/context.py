"""`Context`: what a tool, prompt, template resource or resolver can know and do besides returning a value."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, cast

from typing_extensions import TypeVar as DefaultTypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver._asking_context import AskingContext, Journal
from mcp.shared._deprecated import deprecated
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types import LoggingLevel
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from pydantic import AnyUrl  # loads the metadata of packages

    from mcp.server import session as _session
    from mcp.server.lowlevel import helper_types
else:
    _session = lazy_module("mcp.server.session")
    helper_types = lazy_module("mcp.server.lowlevel.helper_types")

LifespanContextT = DefaultTypeVar("LifespanContextT", default=dict[str, Any])
RequestT = DefaultTypeVar("RequestT", default=Any)

InputParams: TypeAlias = "types.CallToolRequestParams | types.GetPromptRequestParams | types.ReadResourceRequestParams"
"""The params that can carry the answers of a multi-round-trip request."""

_OUTSIDE = "Context is not available outside of a request"
_LOGGING_DEPRECATED = "The logging capability is deprecated as of 2026-07-28 (SEP-2577)."


class ContextServer(Protocol):
    """What a context offers of its server; `MCPServer` is one."""

    max_answer_retries: int

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Any = None
    ) -> types.CallToolResult | types.InputRequiredResult: ...
    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Any = None
    ) -> types.GetPromptResult | types.InputRequiredResult: ...
    async def read_resource(
        self, uri: AnyUrl | str, context: Any = None
    ) -> Iterable[helper_types.ReadResourceContents] | types.InputRequiredResult: ...
    async def list_tools(self) -> list[types.Tool]: ...
    async def list_prompts(self) -> list[types.Prompt]: ...
    async def list_resources(self) -> list[types.Resource]: ...
    async def list_resource_templates(self) -> list[types.ResourceTemplate]: ...
    def add_tool(self, fn: Callable[..., Any], name: str | None = None) -> None: ...
    def remove_tool(self, name: str) -> None: ...


class ChangePublisher(Protocol):
    """Where a context announces changes: the publishing side of a `SubscriptionBus`."""

    async def publish(self, event: ServerEvent) -> None: ...


class Context(AskingContext, Generic[LifespanContextT, RequestT]):
    """One request, for the function that serves it.

    A parameter annotated `Context` receives it and stays invisible to the client:

    ```python
    @mcp.tool()
    async def import_rows(rows: list[str], ctx: Context) -> int:
        for number, row in enumerate(rows, start=1):
            await store(row)
            await ctx.report_progress(number, total=len(rows))
        return len(rows)
    ```

    Args:
        request_context: The request, as the low-level server sees it; `None` outside a request.
        mcp_server: The server.
        input_params: The params that may carry the answers to earlier questions.
        subscriptions: The bus on which changes are announced; `None` announces nothing.
    """

    __slots__ = ("_input_params", "_journal", "_mcp_server", "_request_context", "_subscriptions")

    def __init__(
        self,
        *,
        request_context: ServerRequestContext[LifespanContextT, RequestT] | None = None,
        mcp_server: ContextServer | None = None,
        input_params: types.CallToolRequestParams
        | types.GetPromptRequestParams
        | types.ReadResourceRequestParams
        | None = None,
        subscriptions: ChangePublisher | None = None,
    ) -> None:
        self._request_context = request_context
        self._mcp_server = mcp_server
        self._input_params = input_params
        self._subscriptions = subscriptions
        self._journal: Journal | None = None

    # The request

    @property
    def request_context(self) -> ServerRequestContext[LifespanContextT, RequestT]:
        """The request, as the low-level server sees it.

        Raises:
            ValueError: There is no request: the function was called directly.
        """
        if self._request_context is None:
            raise ValueError(_OUTSIDE)
        return self._request_context

    @property
    def mcp_server(self) -> ContextServer:
        """The server."""
        if self._mcp_server is None:
            raise ValueError(_OUTSIDE)
        return self._mcp_server

    @property
    def request_id(self) -> str:
        """The JSON-RPC id as text (`request_context.request_id` has it in its own type)."""
        return str(self.request_context.request_id)

    @property
    def session(self) -> _session.ServerSession:
        """The way back to the client."""
        return self.request_context.session

    @property
    def headers(self) -> Mapping[str, str] | None:
        """The HTTP headers of this request; `None` on other transports. They are client input, never an identity."""
        context = self.request_context
        if context.request is not None:
            return cast("Mapping[str, str] | None", getattr(context.request, "headers", None))
        return context.session.scope.headers

    @property
    def protocol_version(self) -> str | None:
        """The protocol revision in use; `None` outside a request."""
        return None if self._request_context is None else self._request_context.protocol_version

    @property
    def client_capabilities(self) -> types.ClientCapabilities | None:
        """What the client declared."""
        return self.request_context.session.client_capabilities

    @property
    def input_params(
        self,
    ) -> types.CallToolRequestParams | types.GetPromptRequestParams | types.ReadResourceRequestParams | None:
        """The params that may carry the answers to earlier questions."""
        return self._input_params

    @property
    def max_answer_retries(self) -> int:
        """How often a resolver's question is asked again after an answer that cannot be used."""
        return 0 if self._mcp_server is None else self._mcp_server.max_answer_retries

    # Rounds

    @property
    def input_responses(self) -> types.InputResponses | None:
        """The client's answers, under the keys of the questions; `None` on the first round."""
        return None if self._input_params is None else self._input_params.input_responses

    @property
    def request_state(self) -> str | None:
        """The state that an earlier round returned, verified and in plain text; `None` on the first round."""
        return None if self._input_params is None else self._input_params.request_state

    # Resources and changes

    async def read_resource(self, uri: str | AnyUrl) -> Iterable[helper_types.ReadResourceContents]:
        """Read a resource of this server.

        Raises:
            ResourceNotFoundError: There is none.
            ResourceError: It cannot be read.
            RuntimeError: It answered with questions; a nested read takes no part in a multi-round-trip request.
        """
        server = self.mcp_server
        nested = Context(
            request_context=self._request_context, mcp_server=server, subscriptions=self._subscriptions
        )  # without the params: the answers in them belong to the caller (MRTR-20)
        result = await server.read_resource(uri, nested)
        if isinstance(result, types.InputRequiredResult):
            raise RuntimeError(
                "Resource returned InputRequiredResult; ctx.read_resource() only returns content — use "
                "MCPServer.read_resource(uri, context) to receive and forward it."
            )
        return result

    async def notify_tools_changed(self) -> None:
        """Tell listening clients that the list of tools changed."""
        await self._publish(ToolsListChanged())

    async def notify_prompts_changed(self) -> None:
        """Tell listening clients that the list of prompts changed."""
        await self._publish(PromptsListChanged())

    async def notify_resources_changed(self) -> None:
        """Tell listening clients that the list of resources changed."""
        await self._publish(ResourcesListChanged())

    async def notify_resource_updated(self, uri: str | AnyUrl) -> None:
        """Tell clients that listen to this resource that it changed."""
        await self._publish(ResourceUpdated(uri=str(uri)))

    async def _publish(self, event: ServerEvent) -> None:
        if self._subscriptions is not None:
            await self._subscriptions.publish(event)
        elif self._mcp_server is None:
            raise ValueError(_OUTSIDE)

    # Progress and logging: silent outside a request, so that tools can be tested by calling them

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the request is; nothing happens unless the client asked for it.

        Args:
            progress: How far the work is; it must grow from call to call.
            total: What `progress` will be at the end, if known.
            message: A text for the user.
        """
        if self._request_context is not None:
            await self._request_context.session.report_progress(progress, total, message)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def log(self, level: LoggingLevel, data: Any, *, logger_name: str | None = None) -> None:
        """Send a log message to the client."""
        await self._log(level, data, logger_name)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def debug(self, data: Any, *, logger_name: str | None = None) -> None:
        """Send a log message of level `debug`."""
        await self._log("debug", data, logger_name)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def info(self, data: Any, *, logger_name: str | None = None) -> None:
        """Send a log message of level `info`."""
        await self._log("info", data, logger_name)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def warning(self, data: Any, *, logger_name: str | None = None) -> None:
        """Send a log message of level `warning`."""
        await self._log("warning", data, logger_name)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def error(self, data: Any, *, logger_name: str | None = None) -> None:
        """Send a log message of level `error`."""
        await self._log("error", data, logger_name)

    async def _log(self, level: LoggingLevel, data: Any, logger_name: str | None) -> None:
        if self._request_context is not None:
            await self._request_context.session.log(level, data, logger_name)

    @property
    def sync(self) -> SyncContext:
        """The reporting methods for sync functions, which run in a worker thread."""
        return SyncContext(self)

    # Streams

    async def close_sse_stream(self) -> None:
        """Close the response stream so that the client comes back for the rest; does nothing where there is none."""
        if self._request_context is not None and self._request_context.close_sse_stream is not None:
            await self._request_context.close_sse_stream()

    async def close_standalone_sse_stream(self) -> None:
        """Close the session's stand-alone stream; does nothing where there is none."""
        if self._request_context is not None and self._request_context.close_standalone_sse_stream is not None:
            await self._request_context.close_standalone_sse_stream()


class SyncContext:
    """The reporting methods of a `Context` for a sync function: each waits until the message has left.

    Example:
        ```python
        @mcp.tool()
        def crunch(steps: int, ctx: Context) -> str:
            for step in range(steps):
                ctx.sync.report_progress(step + 1, steps)
            return "done"
        ```
    """

    __slots__ = ("_context",)

    def __init__(self, context: Context[Any, Any]) -> None:
        self._context = context

    def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the request is."""
        self._run(self._context.report_progress, progress, total, message)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    def log(self, level: LoggingLevel, data: Any, *, logger_name: str | None = None) -> None:
        """Send a log message to the client."""
        self._run(self._context._log, level, data, logger_name)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    def debug(self, data: Any, *, logger_name: str | None = None) -> None:
        """Send a log message of level `debug`."""
        self._run(self._context._log, "debug", data, logger_name)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    def info(self, data: Any, *, logger_name: str | None = None) -> None:
        """Send a log message of level `info`."""
        self._run(self._context._log, "info", data, logger_name)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    def warning(self, data: Any, *, logger_name: str | None = None) -> None:
        """Send a log message of level `warning`."""
        self._run(self._context._log, "warning", data, logger_name)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    def error(self, data: Any, *, logger_name: str | None = None) -> None:
        """Send a log message of level `error`."""
        self._run(self._context._log, "error", data, logger_name)

    def _run(self, method: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        if self._context._request_context is not None:
            from anyio.from_thread import run  # loads all that anyio has of locks

            run(method, *args)
