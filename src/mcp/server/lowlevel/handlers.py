"""The handlers that a `Server` takes in its constructor: their types, and the methods they serve."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Generic, TypeAlias

from pydantic import BaseModel
from typing_extensions import TypedDict, TypeVar

import mcp_types as types
from mcp.server._asking import LegacyInput
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp_types.methods import CacheableMethod

L = TypeVar("L", default=Any)

_Context: TypeAlias = ServerRequestContext[L, Any]
_PageParams: TypeAlias = types.PaginatedRequestParams | None

OnListTools: TypeAlias = Callable[[_Context[L], _PageParams], Awaitable[types.ListToolsResult]]
OnCallTool: TypeAlias = Callable[
    [_Context[L], types.CallToolRequestParams], Awaitable[types.CallToolResult | types.InputRequiredResult]
]
OnListResources: TypeAlias = Callable[[_Context[L], _PageParams], Awaitable[types.ListResourcesResult]]
OnListResourceTemplates: TypeAlias = Callable[[_Context[L], _PageParams], Awaitable[types.ListResourceTemplatesResult]]
OnReadResource: TypeAlias = Callable[
    [_Context[L], types.ReadResourceRequestParams], Awaitable[types.ReadResourceResult | types.InputRequiredResult]
]
OnSubscribeResource: TypeAlias = Callable[[_Context[L], types.SubscribeRequestParams], Awaitable[types.EmptyResult]]
OnUnsubscribeResource: TypeAlias = Callable[[_Context[L], types.UnsubscribeRequestParams], Awaitable[types.EmptyResult]]
OnSubscriptionsListen: TypeAlias = Callable[
    [_Context[L], types.SubscriptionsListenRequestParams], Awaitable[types.SubscriptionsListenResult]
]
OnListPrompts: TypeAlias = Callable[[_Context[L], _PageParams], Awaitable[types.ListPromptsResult]]
OnGetPrompt: TypeAlias = Callable[
    [_Context[L], types.GetPromptRequestParams], Awaitable[types.GetPromptResult | types.InputRequiredResult]
]
OnCompletion: TypeAlias = Callable[[_Context[L], types.CompleteRequestParams], Awaitable[types.CompleteResult]]
OnSetLoggingLevel: TypeAlias = Callable[[_Context[L], types.SetLevelRequestParams], Awaitable[types.EmptyResult]]
OnPing: TypeAlias = Callable[[_Context[L], types.RequestParams | None], Awaitable[types.EmptyResult]]
OnRootsListChanged: TypeAlias = Callable[[_Context[L], types.NotificationParams | None], Awaitable[None]]
OnProgress: TypeAlias = Callable[[_Context[L], types.ProgressNotificationParams], Awaitable[None]]

REQUESTS: Final[dict[str, tuple[str, type[BaseModel]]]] = {
    "on_list_tools": ("tools/list", types.PaginatedRequestParams),
    "on_call_tool": ("tools/call", types.CallToolRequestParams),
    "on_list_resources": ("resources/list", types.PaginatedRequestParams),
    "on_list_resource_templates": ("resources/templates/list", types.PaginatedRequestParams),
    "on_read_resource": ("resources/read", types.ReadResourceRequestParams),
    "on_subscribe_resource": ("resources/subscribe", types.SubscribeRequestParams),
    "on_unsubscribe_resource": ("resources/unsubscribe", types.UnsubscribeRequestParams),
    "on_subscriptions_listen": ("subscriptions/listen", types.SubscriptionsListenRequestParams),
    "on_list_prompts": ("prompts/list", types.PaginatedRequestParams),
    "on_get_prompt": ("prompts/get", types.GetPromptRequestParams),
    "on_completion": ("completion/complete", types.CompleteRequestParams),
    "on_set_logging_level": ("logging/setLevel", types.SetLevelRequestParams),
    "on_ping": ("ping", types.RequestParams),
}
"""Constructor keyword -> the request method it serves and the model of its params."""

NOTIFICATIONS: Final[dict[str, tuple[str, type[BaseModel]]]] = {
    "on_roots_list_changed": ("notifications/roots/list_changed", types.NotificationParams),
    "on_progress": ("notifications/progress", types.ProgressNotificationParams),
}
"""Constructor keyword -> the notification method it serves and the model of its params."""

DEPRECATED: Final[dict[str, str]] = {
    "on_set_logging_level": "The logging capability is deprecated as of 2026-07-28 (SEP-2577).",
    "on_roots_list_changed": "The roots capability is deprecated as of 2026-07-28 (SEP-2577).",
    "on_progress": "Client-to-server progress is deprecated as of 2026-07-28.",
}
"""Constructor keyword -> the warning that using it gives."""


class Options(TypedDict, Generic[L], total=False):
    """The keywords of a `Server` that need no knowledge of it, for type checkers; it explains them itself."""

    version: str
    title: str | None
    description: str | None
    instructions: str | None
    website_url: str | None
    icons: list[types.Icon] | None
    cache_hints: Mapping[CacheableMethod, CacheHint] | None
    get_tool_input_schema: Callable[[str], Mapping[str, Any] | None] | None
    on_list_tools: OnListTools[L] | None
    on_call_tool: OnCallTool[L] | None
    on_list_resources: OnListResources[L] | None
    on_list_resource_templates: OnListResourceTemplates[L] | None
    on_read_resource: OnReadResource[L] | None
    on_subscribe_resource: OnSubscribeResource[L] | None
    on_unsubscribe_resource: OnUnsubscribeResource[L] | None
    on_subscriptions_listen: OnSubscriptionsListen[L] | None
    on_list_prompts: OnListPrompts[L] | None
    on_get_prompt: OnGetPrompt[L] | None
    on_completion: OnCompletion[L] | None
    on_ping: OnPing[L]
    tracing: bool
    legacy_input: LegacyInput


class OldOptions(Options[L], total=False):
    """The same with those that a type checker strikes out."""

    on_set_logging_level: OnSetLoggingLevel[L] | None
    on_roots_list_changed: OnRootsListChanged[L] | None
    on_progress: OnProgress[L] | None


INITIALIZE_IS_RESERVED: Final = (
    "'initialize' is handled by the server runner and cannot be overridden; "
    "use Server.middleware to observe or wrap initialization"
)


@asynccontextmanager
async def lifespan(_: object) -> AsyncGenerator[dict[str, Any]]:
    """The lifespan of a server that has none: an empty dict."""
    yield {}


async def answer_ping(ctx: _Context[Any], params: types.RequestParams | None) -> types.EmptyResult:
    """Serve `ping`."""
    return types.EmptyResult()


def check_registration(method: object, handler: object) -> None:
    """Refuse a registration that could never serve."""
    if not isinstance(method, str):
        raise TypeError(f"a method must be a string, got {type(method).__name__}")
    if not method:
        raise ValueError("a method must not be empty")
    if not callable(handler):
        raise TypeError(f"the handler of {method!r} must be callable, got {type(handler).__name__}")


def check_lifespan(factory: object) -> None:
    """Refuse a lifespan that is no factory of async context managers."""
    if not callable(factory):
        raise TypeError(f"lifespan must be callable, got {type(factory).__name__}")
    if inspect.iscoroutinefunction(factory) or inspect.isasyncgenfunction(factory):
        raise TypeError(
            "lifespan must return an async context manager; decorate the function with contextlib.asynccontextmanager"
        )
