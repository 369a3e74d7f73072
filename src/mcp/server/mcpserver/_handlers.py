"""What serves the methods of an `MCPServer`: look up, run, answer."""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import mcp_types as types
from mcp._protocol.era import MODERN
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver._invoke import invoke, is_async_callable
from mcp.server.mcpserver._listing import Listing, RequestContext, without_refs
from mcp.server.mcpserver._visibility import Visible, is_visible
from mcp.server.mcpserver.exceptions import (
    PromptError,
    ResourceError,
    ResourceNotFoundError,
    ToolError,
    UnexpectedResourceError,
)
from mcp.server.mcpserver.prompts.manager import PromptManager
from mcp.server.mcpserver.resources.resource_manager import ResourceManager, Shows
from mcp.server.mcpserver.tools.tool_manager import ToolManager
from mcp.server.mcpserver.utilities.context_injection import find_context_parameter
from mcp.server.subscriptions import ListenHandler, SubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from mcp.server.mcpserver import _resource_contents
    from mcp.server.mcpserver import context as _context
    from mcp.server.mcpserver.prompts import base as prompt_base
    from mcp.server.mcpserver.resources import templates
    from mcp.server.mcpserver.tools import base as tool_base
else:
    prompt_base = lazy_module("mcp.server.mcpserver.prompts.base")
    templates = lazy_module("mcp.server.mcpserver.resources.templates")
    _resource_contents = lazy_module("mcp.server.mcpserver._resource_contents")
    tool_base = lazy_module("mcp.server.mcpserver.tools.base")
    _context = lazy_module("mcp.server.mcpserver.context")

logger: Final = logging.getLogger("mcp.server.mcpserver.server")

Reference: TypeAlias = "types.PromptReference | types.ResourceTemplateReference"

_LEGACY_RESOURCE_NOT_FOUND: Final = -32002
_MAX_COMPLETIONS: Final = 100  # completion: "Implementation Considerations"


class Handlers:
    """The handlers that an `MCPServer` gives to its low-level server.

    Args:
        server: The `MCPServer`.
        tools: Its tools.
        prompts: Its prompts.
        resources: Its resources and templates.
        subscriptions: Its bus.
        mask_errors: Whether texts of unexpected exceptions stay on the server.
        page_size: How many items a page of a listing has; `None` puts all on one.
        inline_refs: Whether the schemas of listed tools have their references inlined.
        visible: Decides who sees what; everybody sees everything without it.
    """

    def __init__(
        self,
        server: _context.ContextServer,
        *,
        tools: ToolManager,
        prompts: PromptManager,
        resources: ResourceManager,
        subscriptions: SubscriptionBus | None,
        mask_errors: bool,
        page_size: int | None,
        inline_refs: bool,
        visible: Visible | None,
    ) -> None:
        self._server = server
        self._tools = tools
        self._prompts = prompts
        self._resources = resources
        self._subscriptions = subscriptions
        self.show_errors = not mask_errors
        self._visible = visible
        options: dict[str, Any] = {"page_size": page_size, "make_context": self.make_context, "visible": visible}
        render: dict[str, Any] = {"render": without_refs} if inline_refs else {}
        self.on_list_tools = Listing("tools", tools.registry, **options, **render)
        self.on_list_prompts = Listing("prompts", prompts.registry, **options)
        self.on_list_resources = Listing("resources", resources.resources, **options)
        self.on_list_resource_templates = Listing("resourceTemplates", resources.templates, **options)

    def set_completion(self, server: Server[Any], fn: Callable[..., Any]) -> None:
        """Let a function serve `completion/complete`."""
        if server.get_request_handler("completion/complete") is not None:
            logger.warning("Completion handler already exists; the new one replaces it")
        handler = Completions(fn, self.make_context, self._sees, self._visible)
        server.serve_method("on_completion", handler)

    async def on_set_level(self, ctx: RequestContext, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """Serve `logging/setLevel`: the engine keeps the level for the session, and the log helpers heed it."""
        return types.EmptyResult()

    def make_context(
        self, ctx: RequestContext | None, params: _context.InputParams | None = None
    ) -> _context.Context[Any, Any]:
        """Make the `Context` of one request; of a direct call, if there is none."""
        return _context.Context(
            request_context=ctx, mcp_server=self._server, input_params=params, subscriptions=self._subscriptions
        )

    def _shows_errors(self, ctx: RequestContext) -> bool:
        return self.show_errors or ctx.session.scope.raise_exceptions

    # Tools

    def on_call_tool(self, ctx: RequestContext, params: types.CallToolRequestParams) -> Awaitable[Any]:
        """Serve `tools/call`. A plain function: the tool's own coroutine is all there is to wait for."""
        tool = self._tools.registry.get(params.name)
        if tool is None:
            raise _unknown_tool(params.name)
        if self._visible is not None:
            return self._call_if_visible(tool, ctx, params)
        return tool.run_for_wire(params.arguments or {}, ctx, self.make_context, params, self.show_errors)

    async def _call_if_visible(
        self, tool: tool_base.Tool, ctx: RequestContext, params: types.CallToolRequestParams
    ) -> Any:
        if not await is_visible(self._visible, self.make_context(ctx), tool):
            raise _unknown_tool(tool.name)
        return await tool.run_for_wire(params.arguments or {}, ctx, self.make_context, params, self.show_errors)

    async def call_tool(self, name: str, arguments: dict[str, Any], context: _context.Context[Any, Any]) -> Any:
        """Call a tool for the server's author.

        Raises:
            ToolError: It is unknown, to the request's caller at least, or failed.
            MCPError: It answered with a protocol error.
        """
        tool = self._tools.registry.get(name)
        if tool is not None and not await is_visible(self._visible, context, tool):
            raise ToolError(f"Unknown tool: {name}")
        return await self._tools.call_tool(name, arguments, context, True, show_errors=self.show_errors)

    # Prompts

    async def find_prompt(self, name: str, context: _context.Context[Any, Any]) -> prompt_base.Prompt:
        """Find a prompt.

        Raises:
            PromptError: There is none, for the request's caller at least.
        """
        prompt = self._prompts.find(name)
        if not await is_visible(self._visible, context, prompt):
            raise prompt_base.InvalidPromptRequest(f"Unknown prompt: {name}")
        return prompt

    async def on_get_prompt(
        self, ctx: RequestContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Serve `prompts/get`."""
        try:
            context = self.make_context(ctx, params)
            prompt = await self.find_prompt(params.name, context)
            return await prompt.get(dict(params.arguments or {}), context, mask=False)
        except prompt_base.InvalidPromptRequest as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        except PromptError as error:
            logger.info("Prompt %r failed: %r", params.name, str(error))
            raise MCPError(INTERNAL_ERROR, str(error)) from error
        except MCPError:
            raise
        except Exception as error:
            if not self.show_errors:
                raise  # the engine logs it and answers with a fixed text
            logger.exception("Prompt %r raised an unexpected exception", params.name)
            raise MCPError(INTERNAL_ERROR, f"Error rendering prompt {params.name}: {error}") from error

    # Resources

    def _shows(self, context: _context.Context[Any, Any]) -> Shows | None:
        return None if self._visible is None else functools.partial(is_visible, self._visible, context)

    async def read(
        self, uri: str, context: _context.Context[Any, Any]
    ) -> list[_resource_contents.Contents] | types.InputRequiredResult:
        """Read a resource.

        Raises:
            ResourceNotFoundError: There is none.
            ResourceError: It cannot be read.
            MCPError: It answered with a protocol error.
        """
        try:
            resource = await self._resources.get_resource(uri, context, shows=self._shows(context))
            if isinstance(resource, types.InputRequiredResult):
                return resource
            return await resource.read_contents(uri)
        except UnexpectedResourceError as error:
            logger.error("Resource %r raised an unexpected exception", uri, exc_info=error.__cause__)
            raise
        except ResourceNotFoundError as error:
            if error.__cause__ is None and str(error) != f"Unknown resource: {uri}":
                logger.info("Resource %r failed: %r", uri, str(error))
            raise
        except ResourceError as error:
            logger.info("Resource %r failed: %r", uri, str(error))
            raise
        except MCPError:
            raise
        except Exception as error:
            logger.exception("Resource %r raised an unexpected exception", uri)
            raise UnexpectedResourceError(f"Error reading resource {uri}") from error

    async def on_read_resource(
        self, ctx: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        """Serve `resources/read`."""
        uri = str(params.uri)
        try:
            contents = await self.read(uri, self.make_context(ctx, params))
        except ResourceNotFoundError as error:
            # Resources: "Error Handling". Older revisions have a code of their own for it.
            code = INVALID_PARAMS if ctx.session.scope.era is MODERN else _LEGACY_RESOURCE_NOT_FOUND
            raise MCPError(code, str(error), {"uri": uri}) from error
        except templates.InvalidResourceArguments as error:
            raise MCPError(INVALID_PARAMS, str(error), {"uri": uri}) from error
        except UnexpectedResourceError as error:
            text = f"{error}: {error.__cause__}" if self._shows_errors(ctx) else str(error)
            raise MCPError(INTERNAL_ERROR, text, {"uri": uri}) from error.__cause__
        except ResourceError as error:
            raise MCPError(INTERNAL_ERROR, str(error), {"uri": uri}) from error
        if isinstance(contents, types.InputRequiredResult):
            return contents
        return types.ReadResourceResult(contents=contents)

    def make_listen_handler(self, bus: SubscriptionBus) -> ListenHandler:
        """Make what serves `subscriptions/listen`."""
        return ListenHandler(bus, authorize_resource=None if self._visible is None else self._finds_resource)

    async def _finds_resource(self, ctx: RequestContext, uri: str) -> bool:
        try:
            return await self._resources.find(uri, self._shows(self.make_context(ctx))) is not None
        except ResourceNotFoundError:
            return False

    async def _sees(self, ctx: RequestContext, ref: Reference) -> bool:
        """Whether something is what a completion is for, for the request's caller at least."""
        if isinstance(ref, types.PromptReference):
            item = self._prompts.get_prompt(ref.name)
        else:
            item = self._resources.templates.get(ref.uri)
            if item is None:
                return await self._finds_resource(ctx, ref.uri)
        return item is not None and await is_visible(self._visible, self.make_context(ctx), item)


def _unknown_tool(name: str) -> MCPError:
    return MCPError(INVALID_PARAMS, f"Unknown tool: {name}")


class Completions:
    """Serves `completion/complete` with the author's function.

    Args:
        fn: The function; it may take a `Context` besides its three arguments.
        make_context: Makes the `Context` of a request.
        sees: Whether what a reference names is there, for the request's caller at least.
        visible: The server's filter. With one, what the caller does not see is refused before the function is called;
            without one the function decides, and `None` from it for what is not there means that nothing is.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        make_context: Callable[[RequestContext], _context.Context[Any, Any]],
        sees: Callable[[RequestContext, Reference], Awaitable[bool]],
        visible: Visible | None,
    ) -> None:
        self._fn = fn
        self._sees = sees
        self._is_filtered = visible is not None
        self._is_async = is_async_callable(fn)
        self._context_kwarg = find_context_parameter(fn)
        self._make_context = make_context

    async def __call__(self, ctx: RequestContext, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Serve the method."""
        if self._is_filtered and not await self._sees(ctx, params.ref):
            raise _unknown(params.ref)
        try:
            value = await self._call(ctx, params)
            if value is None and not await self._sees(ctx, params.ref):
                raise _unknown(params.ref)
            completion = types.Completion(values=[]) if value is None else types.Completion.model_validate(value)
        except MCPError:
            raise
        except Exception as error:
            name = params.argument.name
            logger.exception("Completion for argument %r raised an unexpected exception", name)
            raise MCPError(INTERNAL_ERROR, f"Error completing argument {name}") from error
        return types.CompleteResult(completion=_shorten(completion))

    async def _call(self, ctx: RequestContext, params: types.CompleteRequestParams) -> Any:
        injected = {} if self._context_kwarg is None else {self._context_kwarg: self._make_context(ctx)}
        return await invoke(self._fn, injected, self._is_async, (params.ref, params.argument, params.context))


def _unknown(ref: Reference) -> MCPError:
    thing = f"prompt: {ref.name}" if isinstance(ref, types.PromptReference) else f"resource: {ref.uri}"
    return MCPError(INVALID_PARAMS, f"Unknown {thing}")


def _shorten(completion: types.Completion) -> types.Completion:
    """Keep to the number of values that one answer may have."""
    values = completion.values
    if len(values) <= _MAX_COMPLETIONS:
        return completion
    total = len(values) if completion.total is None else completion.total
    return types.Completion(values=values[:_MAX_COMPLETIONS], total=total, has_more=True)
