"""What serves the methods of an `MCPServer`: look up, run, answer."""

from __future__ import annotations

import base64
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, Generic, Protocol, TypeVar

import pydantic_core
from pydantic import BaseModel

import mcp_types as types
from mcp._protocol.codec import WireResult
from mcp._protocol.era import MODERN
from mcp._protocol.fields import dump
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver._registry import Registry
from mcp.server.mcpserver._resource_contents import Contents
from mcp.server.mcpserver._signature import invoke, is_async_callable
from mcp.server.mcpserver.context import Context, ContextServer, InputParams
from mcp.server.mcpserver.exceptions import PromptError, ResourceError, ResourceNotFoundError, UnexpectedResourceError
from mcp.server.mcpserver.prompts.base import InvalidPromptRequest
from mcp.server.mcpserver.prompts.manager import PromptManager
from mcp.server.mcpserver.resources.resource_manager import ResourceManager
from mcp.server.mcpserver.resources.templates import InvalidResourceArguments
from mcp.server.mcpserver.tools.tool_manager import ToolManager
from mcp.server.mcpserver.utilities.context_injection import find_context_parameter
from mcp.server.subscriptions import SubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, Completion, InputRequiredResult, ReadResourceResult

logger: Final = logging.getLogger("mcp.server.mcpserver.server")

RequestContext = ServerRequestContext[Any, Any]
PageParams = types.PaginatedRequestParams | None

_LEGACY_RESOURCE_NOT_FOUND: Final = -32002
_MAX_COMPLETIONS: Final = 100  # completion: "Implementation Considerations"


class Listed(Protocol):
    """Something that a list method shows."""

    def as_listed(self) -> BaseModel: ...


ListedT = TypeVar("ListedT", bound=Listed)


class Listing(Generic[ListedT]):
    """The answers of one list method, in wire form, made again only after a registration.

    Args:
        member: The member of the result that holds the list.
        registry: What is listed.
        page_size: How many items a page has; `None` puts all on one.
    """

    def __init__(self, member: str, registry: Registry[ListedT], page_size: int | None) -> None:
        self._member = member
        self._registry = registry
        self._page_size = page_size
        # As JSON: reading it back is the cheapest way to give each answer values of its own.
        self._items: list[tuple[int, bytes]] = []
        self._version = 0

    async def __call__(self, ctx: RequestContext, params: PageParams) -> WireResult:
        """Serve the list method."""
        items = self._read_registry()
        cursor = None if params is None else params.cursor
        after = 0 if cursor is None else self._read_cursor(cursor)
        rest = items if not after else [entry for entry in items if entry[0] > after]
        page = rest[: self._page_size]
        result = WireResult({self._member: pydantic_core.from_json(b"[%b]" % b",".join(item for _, item in page))})
        if len(rest) > len(page):
            result["nextCursor"] = self._write_cursor(page[-1][0])
        return result

    def _read_registry(self) -> list[tuple[int, bytes]]:
        version = self._registry.version
        if version != self._version:
            # The version comes first: what another thread registers meanwhile is read again next time.
            self._items = [(number, _as_json(item)) for number, item in self._registry.numbered()]
            self._version = version
        return self._items

    def _write_cursor(self, number: int) -> str:
        return base64.urlsafe_b64encode(f"{self._member}:{number}".encode()).decode("ascii")

    def _read_cursor(self, cursor: str) -> int:
        try:
            member, _, text = base64.b64decode(cursor, b"-_", validate=True).decode().partition(":")
            number = int(text) if text.isascii() and text.isdigit() else -1
        except ValueError:  # not base64, not UTF-8, or more digits than the interpreter reads
            member, number = "", -1
        known = self._page_size is not None and member == self._member
        if not known or not 0 <= number <= self._registry.last_number:
            raise MCPError(INVALID_PARAMS, "Invalid cursor")
        return number


def _as_json(item: Listed) -> bytes:
    return pydantic_core.to_json(dump(item.as_listed(), MODERN))


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
    """

    def __init__(
        self,
        server: ContextServer,
        *,
        tools: ToolManager,
        prompts: PromptManager,
        resources: ResourceManager,
        subscriptions: SubscriptionBus | None,
        mask_errors: bool,
        page_size: int | None,
    ) -> None:
        self._server = server
        self._tools = tools
        self._prompts = prompts
        self._resources = resources
        self._subscriptions = subscriptions
        self.show_errors = not mask_errors
        self.on_list_tools = Listing("tools", tools.registry, page_size)
        self.on_list_prompts = Listing("prompts", prompts.registry, page_size)
        self.on_list_resources = Listing("resources", resources.resources, page_size)
        self.on_list_resource_templates = Listing("resourceTemplates", resources.templates, page_size)

    def set_completion(self, server: Server[Any], fn: Callable[..., Any]) -> None:
        """Let a function serve `completion/complete`."""
        if server.get_request_handler("completion/complete") is not None:
            logger.warning("Completion handler already exists; the new one replaces it")
        server.add_request_handler(
            "completion/complete", types.CompleteRequestParams, Completions(fn, self.make_context)
        )

    async def on_set_level(self, ctx: RequestContext, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """Serve `logging/setLevel`: the engine keeps the level for the session, and the log helpers heed it."""
        return types.EmptyResult()

    def make_context(self, ctx: RequestContext | None, params: InputParams | None = None) -> Context[Any, Any]:
        """Make the `Context` of one request; of a direct call, if there is none."""
        return Context(
            request_context=ctx, mcp_server=self._server, input_params=params, subscriptions=self._subscriptions
        )

    def _shows_errors(self, ctx: RequestContext) -> bool:
        return self.show_errors or ctx.session.scope.raise_exceptions

    # Tools

    def on_call_tool(self, ctx: RequestContext, params: types.CallToolRequestParams) -> Awaitable[Any]:
        """Serve `tools/call`. A plain function: the tool's own coroutine is all there is to wait for."""
        tool = self._tools.registry.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        return tool.run_for_wire(params.arguments or {}, ctx, self.make_context, params, self.show_errors)

    # Prompts

    async def on_get_prompt(
        self, ctx: RequestContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | InputRequiredResult:
        """Serve `prompts/get`."""
        try:
            prompt = self._prompts.find(params.name)
            return await prompt.get(dict(params.arguments or {}), self.make_context(ctx, params), mask=False)
        except InvalidPromptRequest as error:
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

    async def read(self, uri: str, context: Context[Any, Any]) -> list[Contents] | InputRequiredResult:
        """Read a resource.

        Raises:
            ResourceNotFoundError: There is none.
            ResourceError: It cannot be read.
            MCPError: It answered with a protocol error.
        """
        try:
            resource = await self._resources.get_resource(uri, context)
            if isinstance(resource, InputRequiredResult):
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
    ) -> ReadResourceResult | InputRequiredResult:
        """Serve `resources/read`."""
        uri = str(params.uri)
        try:
            contents = await self.read(uri, self.make_context(ctx, params))
        except ResourceNotFoundError as error:
            # Resources: "Error Handling". Older revisions have a code of their own for it.
            code = INVALID_PARAMS if ctx.session.scope.era is MODERN else _LEGACY_RESOURCE_NOT_FOUND
            raise MCPError(code, str(error), {"uri": uri}) from error
        except InvalidResourceArguments as error:
            raise MCPError(INVALID_PARAMS, str(error), {"uri": uri}) from error
        except UnexpectedResourceError as error:
            text = f"{error}: {error.__cause__}" if self._shows_errors(ctx) else str(error)
            raise MCPError(INTERNAL_ERROR, text, {"uri": uri}) from error.__cause__
        except ResourceError as error:
            raise MCPError(INTERNAL_ERROR, str(error), {"uri": uri}) from error
        if isinstance(contents, InputRequiredResult):
            return contents
        return ReadResourceResult(contents=contents)


class Completions:
    """Serves `completion/complete` with the author's function.

    Args:
        fn: The function; it may take a `Context` besides its three arguments.
        make_context: Makes the `Context` of a request.
    """

    def __init__(self, fn: Callable[..., Any], make_context: Callable[[RequestContext], Context[Any, Any]]) -> None:
        self._fn = fn
        self._is_async = is_async_callable(fn)
        self._context_kwarg = find_context_parameter(fn)
        self._make_context = make_context

    async def __call__(self, ctx: RequestContext, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Serve the method."""
        try:
            value = await self._call(ctx, params)
            completion = Completion(values=[]) if value is None else Completion.model_validate(value)
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


def _shorten(completion: Completion) -> Completion:
    """Keep to the number of values that one answer may have."""
    values = completion.values
    if len(values) <= _MAX_COMPLETIONS:
        return completion
    total = len(values) if completion.total is None else completion.total
    return Completion(values=values[:_MAX_COMPLETIONS], total=total, has_more=True)


def as_models(items: Iterable[Listed]) -> list[Any]:
    """The listed form of items, for direct callers."""
    return [item.as_listed() for item in items]
