"""The types of the handlers that a `Server` takes in its constructor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Literal, TypeAlias

from typing_extensions import TypedDict, TypeVar

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp_types.methods import CacheableMethod

__all__ = [
    "OldOptions",
    "OnCallTool",
    "OnCompletion",
    "OnGetPrompt",
    "OnListPrompts",
    "OnListResourceTemplates",
    "OnListResources",
    "OnListTools",
    "OnPing",
    "OnProgress",
    "OnReadResource",
    "OnRootsListChanged",
    "OnSetLoggingLevel",
    "OnSubscribeResource",
    "OnSubscriptionsListen",
    "OnUnsubscribeResource",
    "Options",
]

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
    legacy_input: Literal["error", "bridge"]


class OldOptions(Options[L], total=False):
    """The same with those that a type checker strikes out."""

    on_set_logging_level: OnSetLoggingLevel[L] | None
    on_roots_list_changed: OnRootsListChanged[L] | None
    on_progress: OnProgress[L] | None
