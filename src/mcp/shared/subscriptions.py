"""What a subscription tells: that a list changed, or that one resource did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import mcp_types as types

SUBSCRIPTION_ID_META_KEY: Final = "io.modelcontextprotocol/subscriptionId"
"""`_meta` key of every message of a subscription: the id of the request that opened it."""

_TOOLS: Final = "notifications/tools/list_changed"
_PROMPTS: Final = "notifications/prompts/list_changed"
_RESOURCES: Final = "notifications/resources/list_changed"
_UPDATED: Final = "notifications/resources/updated"

LISTEN_STREAM_METHODS: Final = frozenset({_TOOLS, _PROMPTS, _RESOURCES, _UPDATED})
"""The notifications that travel on a subscription's stream, apart from its acknowledgement."""


@dataclass(frozen=True)
class ToolsListChanged:
    """The list of tools changed."""


@dataclass(frozen=True)
class PromptsListChanged:
    """The list of prompts changed."""


@dataclass(frozen=True)
class ResourcesListChanged:
    """The list of resources changed."""


@dataclass(frozen=True)
class ResourceUpdated:
    """A resource changed.

    Attributes:
        uri: Which one. A server may name a part of the resource that was asked for.
    """

    uri: str


ServerEvent: TypeAlias = ToolsListChanged | PromptsListChanged | ResourcesListChanged | ResourceUpdated
"""A change that a server tells its subscribers."""

_LIST_EVENTS: Final[dict[str, ServerEvent]] = {
    _TOOLS: ToolsListChanged(),
    _PROMPTS: PromptsListChanged(),
    _RESOURCES: ResourcesListChanged(),
}


def event_from_wire(method: str, params: Mapping[str, Any] | None) -> ServerEvent | None:
    """Read the event that a notification tells; `None` if it tells none, or is malformed."""
    if method == _UPDATED:
        uri = params.get("uri") if params is not None else None
        return ResourceUpdated(uri) if isinstance(uri, str) else None
    return _LIST_EVENTS.get(method)


def method_of_event(event: ServerEvent) -> str:
    """The method of the notification that tells an event."""
    if isinstance(event, ResourceUpdated):
        return _UPDATED
    if isinstance(event, ToolsListChanged):
        return _TOOLS
    return _PROMPTS if isinstance(event, PromptsListChanged) else _RESOURCES


def event_matches(honored: types.SubscriptionFilter, uris: frozenset[str], event: ServerEvent) -> bool:
    """Whether a subscription asked for an event.

    Args:
        honored: What the server agreed to tell.
        uris: The resources in it, as a set.
        event: The change.
    """
    if isinstance(event, ResourceUpdated):
        return event.uri in uris
    if isinstance(event, ToolsListChanged):
        return bool(honored.tools_list_changed)
    if isinstance(event, PromptsListChanged):
        return bool(honored.prompts_list_changed)
    return bool(honored.resources_list_changed)


def event_to_notification(event: ServerEvent, meta: dict[str, Any]) -> types.ServerNotification:
    """Build the notification that tells an event, with the given `_meta`."""
    if isinstance(event, ResourceUpdated):
        return types.ResourceUpdatedNotification(
            params=types.ResourceUpdatedNotificationParams(uri=event.uri, _meta=meta)
        )
    params = types.NotificationParams(_meta=meta)
    if isinstance(event, ToolsListChanged):
        return types.ToolListChangedNotification(params=params)
    if isinstance(event, PromptsListChanged):
        return types.PromptListChangedNotification(params=params)
    return types.ResourceListChangedNotification(params=params)
