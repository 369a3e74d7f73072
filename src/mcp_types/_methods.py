"""The protocol's methods: one row for each, which `mcp_types.methods` turns into its tables."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType, UnionType
from typing import Final, NamedTuple, TypeVar

from pydantic import BaseModel

import mcp_types as types
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

_LEGACY: Final = HANDSHAKE_PROTOCOL_VERSIONS
_MODERN: Final = MODERN_PROTOCOL_VERSIONS
_ALL: Final = KNOWN_PROTOCOL_VERSIONS
_ELICITATION: Final = ("2025-06-18", "2025-11-25")


ResultT = TypeVar("ResultT", bound=BaseModel)


def union_of(members: Sequence[type[ResultT]]) -> type[ResultT] | UnionType:
    """Return the union of some types, which is the type itself if there is one."""
    union: type[ResultT] | UnionType = members[0]
    for member in members[1:]:
        union = union | member
    return union


class RequestSpec(NamedTuple):
    """What the protocol says of a request method."""

    request: type[types.Request]
    results: tuple[type[types.Result], ...]
    """What completes it; two where the choice depends on the request."""
    from_client: tuple[str, ...] = ()
    """The revisions in which clients send it."""
    from_server: tuple[str, ...] = ()
    """The revisions in which servers send it."""
    cacheable: bool = False
    """Whether its result says how long it stays fresh."""
    input_required: bool = False
    """Whether modern servers may answer it with `InputRequiredResult`."""

    def result_type(self, version: str) -> type[types.Result] | UnionType:
        """Return the type of its result in a revision."""
        may_ask = self.input_required and version in _MODERN
        members = (*self.results, types.InputRequiredResult) if may_ask else self.results
        return union_of(members)


class NotificationSpec(NamedTuple):
    """What the protocol says of a notification method."""

    notification: type[types.Notification]
    from_client: tuple[str, ...] = ()
    """The revisions in which clients send it."""
    from_server: tuple[str, ...] = ()
    """The revisions in which servers send it."""


REQUEST_SPECS: Final[Mapping[str, RequestSpec]] = MappingProxyType(
    {
        "completion/complete": RequestSpec(types.CompleteRequest, (types.CompleteResult,), _ALL),
        "elicitation/create": RequestSpec(types.ElicitRequest, (types.ElicitResult,), from_server=_ELICITATION),
        "initialize": RequestSpec(types.InitializeRequest, (types.InitializeResult,), _LEGACY),
        "logging/setLevel": RequestSpec(types.SetLevelRequest, (types.EmptyResult,), _LEGACY),
        "ping": RequestSpec(types.PingRequest, (types.EmptyResult,), _LEGACY, _LEGACY),
        "prompts/get": RequestSpec(types.GetPromptRequest, (types.GetPromptResult,), _ALL, input_required=True),
        "prompts/list": RequestSpec(types.ListPromptsRequest, (types.ListPromptsResult,), _ALL, cacheable=True),
        "resources/list": RequestSpec(types.ListResourcesRequest, (types.ListResourcesResult,), _ALL, cacheable=True),
        "resources/read": RequestSpec(
            types.ReadResourceRequest, (types.ReadResourceResult,), _ALL, cacheable=True, input_required=True
        ),
        "resources/subscribe": RequestSpec(types.SubscribeRequest, (types.EmptyResult,), _LEGACY),
        "resources/templates/list": RequestSpec(
            types.ListResourceTemplatesRequest, (types.ListResourceTemplatesResult,), _ALL, cacheable=True
        ),
        "resources/unsubscribe": RequestSpec(types.UnsubscribeRequest, (types.EmptyResult,), _LEGACY),
        "roots/list": RequestSpec(types.ListRootsRequest, (types.ListRootsResult,), from_server=_LEGACY),
        "sampling/createMessage": RequestSpec(
            types.CreateMessageRequest,
            (types.CreateMessageResult, types.CreateMessageResultWithTools),
            from_server=_LEGACY,
        ),
        "server/discover": RequestSpec(types.DiscoverRequest, (types.DiscoverResult,), _MODERN, cacheable=True),
        "subscriptions/listen": RequestSpec(
            types.SubscriptionsListenRequest, (types.SubscriptionsListenResult,), _MODERN
        ),
        "tools/call": RequestSpec(types.CallToolRequest, (types.CallToolResult,), _ALL, input_required=True),
        "tools/list": RequestSpec(types.ListToolsRequest, (types.ListToolsResult,), _ALL, cacheable=True),
    }
)
"""Every request method. Tasks are not among them: they exist as types only."""

NOTIFICATION_SPECS: Final[Mapping[str, NotificationSpec]] = MappingProxyType(
    {
        "notifications/cancelled": NotificationSpec(types.CancelledNotification, _ALL, _ALL),
        "notifications/elicitation/complete": NotificationSpec(
            types.ElicitCompleteNotification, from_server=("2025-11-25",)
        ),
        "notifications/initialized": NotificationSpec(types.InitializedNotification, _LEGACY),
        "notifications/message": NotificationSpec(types.LoggingMessageNotification, from_server=_ALL),
        "notifications/progress": NotificationSpec(types.ProgressNotification, _LEGACY, _ALL),
        "notifications/prompts/list_changed": NotificationSpec(types.PromptListChangedNotification, from_server=_ALL),
        "notifications/resources/list_changed": NotificationSpec(
            types.ResourceListChangedNotification, from_server=_ALL
        ),
        "notifications/resources/updated": NotificationSpec(types.ResourceUpdatedNotification, from_server=_ALL),
        "notifications/roots/list_changed": NotificationSpec(types.RootsListChangedNotification, _LEGACY),
        "notifications/subscriptions/acknowledged": NotificationSpec(
            types.SubscriptionsAcknowledgedNotification, from_server=_MODERN
        ),
        "notifications/tools/list_changed": NotificationSpec(types.ToolListChangedNotification, from_server=_ALL),
    }
)
"""Every notification method, without those of tasks."""
