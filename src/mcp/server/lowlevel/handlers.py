"""The handlers that a `Server` takes in its constructor: their types, and the methods they serve."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import mcp_types as types
from mcp_types._lazy import lazy_module, lazy_names

if TYPE_CHECKING:
    from mcp.server import context
    from mcp.server.lowlevel.handler_types import *  # noqa: F403
else:
    context = lazy_module("mcp.server.context")
    _TYPES = """
        OnCallTool OnCompletion OnGetPrompt OnListPrompts OnListResourceTemplates OnListResources OnListTools OnPing
        OnProgress OnReadResource OnRootsListChanged OnSetLoggingLevel OnSubscribeResource OnSubscriptionsListen
        OnUnsubscribeResource Options OldOptions
    """
    __getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(_TYPES.split(), "mcp.server.lowlevel.handler_types"))

LegacyInput: TypeAlias = Literal["error", "bridge"]
"""What becomes of an `InputRequiredResult` on a legacy session: it is an error, or the server asks for the handler."""

REQUESTS: Final[dict[str, tuple[str, str]]] = {
    "on_list_tools": ("tools/list", "PaginatedRequestParams"),
    "on_call_tool": ("tools/call", "CallToolRequestParams"),
    "on_list_resources": ("resources/list", "PaginatedRequestParams"),
    "on_list_resource_templates": ("resources/templates/list", "PaginatedRequestParams"),
    "on_read_resource": ("resources/read", "ReadResourceRequestParams"),
    "on_subscribe_resource": ("resources/subscribe", "SubscribeRequestParams"),
    "on_unsubscribe_resource": ("resources/unsubscribe", "UnsubscribeRequestParams"),
    "on_subscriptions_listen": ("subscriptions/listen", "SubscriptionsListenRequestParams"),
    "on_list_prompts": ("prompts/list", "PaginatedRequestParams"),
    "on_get_prompt": ("prompts/get", "GetPromptRequestParams"),
    "on_completion": ("completion/complete", "CompleteRequestParams"),
    "on_set_logging_level": ("logging/setLevel", "SetLevelRequestParams"),
    "on_ping": ("ping", "RequestParams"),
}
"""Constructor keyword -> the request method it serves and the name of the model of its params."""

NOTIFICATIONS: Final[dict[str, tuple[str, str]]] = {
    "on_roots_list_changed": ("notifications/roots/list_changed", "NotificationParams"),
    "on_progress": ("notifications/progress", "ProgressNotificationParams"),
}
"""Constructor keyword -> the notification method it serves and the name of the model of its params."""

DEPRECATED: Final[dict[str, str]] = {
    "on_set_logging_level": "The logging capability is deprecated as of 2026-07-28 (SEP-2577).",
    "on_roots_list_changed": "The roots capability is deprecated as of 2026-07-28 (SEP-2577).",
    "on_progress": "Client-to-server progress is deprecated as of 2026-07-28.",
}
"""Constructor keyword -> the warning that using it gives."""


def of_version_1(attribute: str) -> str | None:
    """Say what an attribute of a server of version 1 is now; `None` if it was none, or still is."""
    if attribute == "request_context":
        return "the first argument of each handler, ctx"
    keyword = f"on_{attribute}"
    return f"an argument: Server(..., {keyword}=handler)" if keyword in REQUESTS else None


INITIALIZE_IS_RESERVED: Final = (
    "'initialize' is handled by the server runner and cannot be overridden; "
    "use Server.middleware to observe or wrap initialization"
)


@asynccontextmanager
async def lifespan(_: object) -> AsyncGenerator[dict[str, Any]]:
    """The lifespan of a server that has none: an empty dict."""
    yield {}


async def answer_ping(
    ctx: context.ServerRequestContext[Any, Any], params: types.RequestParams | None
) -> types.EmptyResult:
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


def check_legacy_input(value: LegacyInput) -> LegacyInput:
    """Refuse what is none of the two.

    Raises:
        ValueError: It is not.
    """
    if value not in get_args(LegacyInput):
        raise ValueError(f"legacy_input must be 'error' or 'bridge', got {value!r}")
    return value


def check_lifespan(factory: object) -> None:
    """Refuse a lifespan that is no factory of async context managers."""
    if not callable(factory):
        raise TypeError(f"lifespan must be callable, got {type(factory).__name__}")
    if inspect.iscoroutinefunction(factory) or inspect.isasyncgenfunction(factory):
        raise TypeError(
            "lifespan must return an async context manager; decorate the function with contextlib.asynccontextmanager"
        )
