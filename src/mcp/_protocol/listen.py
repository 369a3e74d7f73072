"""Subscriptions on the wire: what a stream carries, how it begins, and which events belong on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import mcp_types as types
from mcp.shared.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    ResourceUpdated,
    ServerEvent,
    event_matches,
    method_of_event,
)

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

_KINDS: Final = ("tools_list_changed", "prompts_list_changed", "resources_list_changed")


def honoured(asked: types.SubscriptionFilter) -> types.SubscriptionFilter:
    """Return what a server agrees to tell: what was asked for, without what says nothing, each resource once."""
    uris = list(dict.fromkeys(asked.resource_subscriptions or ()))
    return types.SubscriptionFilter(
        tools_list_changed=asked.tools_list_changed or None,
        prompts_list_changed=asked.prompts_list_changed or None,
        resources_list_changed=asked.resources_list_changed or None,
        resource_subscriptions=uris or None,
    )


def refused(asked: types.SubscriptionFilter, honored: types.SubscriptionFilter) -> list[str]:
    """Name what a server did not agree to tell: members of the filter, and resources by their URI."""
    missing = [kind for kind in _KINDS if getattr(asked, kind) and not getattr(honored, kind)]
    uris = set(honored.resource_subscriptions or ())
    return missing + [uri for uri in dict.fromkeys(asked.resource_subscriptions or ()) if uri not in uris]


def filter_to_wire(wanted: types.SubscriptionFilter) -> dict[str, Any]:
    """Write a filter with just the members that ask for something."""
    wire: dict[str, Any] = {}
    if wanted.tools_list_changed:
        wire["toolsListChanged"] = True
    if wanted.prompts_list_changed:
        wire["promptsListChanged"] = True
    if wanted.resources_list_changed:
        wire["resourcesListChanged"] = True
    if wanted.resource_subscriptions:
        wire["resourceSubscriptions"] = list(wanted.resource_subscriptions)
    return wire


def acknowledgement(wanted: types.SubscriptionFilter, request_id: types.RequestId) -> tuple[str, dict[str, Any]]:
    """Build the first notification of a stream (method, params)."""
    return ACKNOWLEDGED, {"_meta": {SUBSCRIPTION_ID_META_KEY: request_id}, "notifications": filter_to_wire(wanted)}


def to_notification(event: ServerEvent, request_id: types.RequestId) -> tuple[str, dict[str, Any]]:
    """Build the notification that tells an event on a stream (method, params)."""
    params: dict[str, Any] = {"_meta": {SUBSCRIPTION_ID_META_KEY: request_id}}
    if isinstance(event, ResourceUpdated):
        params["uri"] = event.uri
    return method_of_event(event), params


def subscription_id_of(params: Mapping[str, Any] | None) -> types.RequestId | None:
    """Read which subscription a notification belongs to; `None` if to none."""
    meta = params.get("_meta") if params is not None else None
    if not isinstance(meta, Mapping):
        return None
    value = cast("Mapping[str, Any]", meta).get(SUBSCRIPTION_ID_META_KEY)
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def matches(wanted: types.SubscriptionFilter, event: ServerEvent) -> bool:
    """Whether a server tells an event on a stream: resources match by their exact URI."""
    uris = wanted.resource_subscriptions
    return event_matches(wanted, frozenset(uris) if uris and isinstance(event, ResourceUpdated) else frozenset(), event)


def expects(honored: types.SubscriptionFilter, event: ServerEvent) -> bool:
    """Whether a client takes an event from a stream: a server may also name a part of a resource."""
    if not isinstance(event, ResourceUpdated):
        return event_matches(honored, frozenset(), event)
    return any(_is_within(event.uri, uri) for uri in honored.resource_subscriptions or ())


def _is_within(uri: str, whole: str) -> bool:
    if uri == whole:
        return True
    return uri.startswith(whole) and (whole.endswith(("/", ":")) or uri[len(whole)] in "/?#")
