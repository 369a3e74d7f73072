"""The protocol's methods: one row for each, and what follows from the rows.

Rows name their types instead of holding them, so that whoever asks which methods there are loads no types.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeGuard, cast

import mcp_types as types
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

_LEGACY: Final = HANDSHAKE_PROTOCOL_VERSIONS
_MODERN: Final = MODERN_PROTOCOL_VERSIONS
_ALL: Final = KNOWN_PROTOCOL_VERSIONS
_ELICITATION: Final = ("2025-06-18", "2025-11-25")


class RequestSpec(NamedTuple):
    """What the protocol says of a request method."""

    request: str
    """Its type, a name of `mcp_types`; so are its results."""
    results: tuple[str, ...]
    """What completes it; two where the choice depends on the request."""
    from_client: tuple[str, ...] = ()
    """The revisions in which clients send it."""
    from_server: tuple[str, ...] = ()
    """The revisions in which servers send it."""
    cacheable: bool = False
    """Whether its result says how long it stays fresh."""
    input_required: bool = False
    """Whether modern servers may answer it with `InputRequiredResult`."""

    def results_in(self, version: str) -> tuple[str, ...]:
        """Return the types that its result may have in a revision."""
        may_ask = self.input_required and version in _MODERN
        return (*self.results, "InputRequiredResult") if may_ask else self.results


class NotificationSpec(NamedTuple):
    """What the protocol says of a notification method."""

    notification: str
    """Its type, a name of `mcp_types`."""
    from_client: tuple[str, ...] = ()
    """The revisions in which clients send it."""
    from_server: tuple[str, ...] = ()
    """The revisions in which servers send it."""


REQUEST_SPECS: Final[Mapping[str, RequestSpec]] = MappingProxyType(
    {
        "completion/complete": RequestSpec("CompleteRequest", ("CompleteResult",), _ALL),
        "elicitation/create": RequestSpec("ElicitRequest", ("ElicitResult",), from_server=_ELICITATION),
        "initialize": RequestSpec("InitializeRequest", ("InitializeResult",), _LEGACY),
        "logging/setLevel": RequestSpec("SetLevelRequest", ("EmptyResult",), _LEGACY),
        "ping": RequestSpec("PingRequest", ("EmptyResult",), _LEGACY, _LEGACY),
        "prompts/get": RequestSpec("GetPromptRequest", ("GetPromptResult",), _ALL, input_required=True),
        "prompts/list": RequestSpec("ListPromptsRequest", ("ListPromptsResult",), _ALL, cacheable=True),
        "resources/list": RequestSpec("ListResourcesRequest", ("ListResourcesResult",), _ALL, cacheable=True),
        "resources/read": RequestSpec(
            "ReadResourceRequest", ("ReadResourceResult",), _ALL, cacheable=True, input_required=True
        ),
        "resources/subscribe": RequestSpec("SubscribeRequest", ("EmptyResult",), _LEGACY),
        "resources/templates/list": RequestSpec(
            "ListResourceTemplatesRequest", ("ListResourceTemplatesResult",), _ALL, cacheable=True
        ),
        "resources/unsubscribe": RequestSpec("UnsubscribeRequest", ("EmptyResult",), _LEGACY),
        "roots/list": RequestSpec("ListRootsRequest", ("ListRootsResult",), from_server=_LEGACY),
        "sampling/createMessage": RequestSpec(
            "CreateMessageRequest",
            ("CreateMessageResult", "CreateMessageResultWithTools"),
            from_server=_LEGACY,
        ),
        "server/discover": RequestSpec("DiscoverRequest", ("DiscoverResult",), _MODERN, cacheable=True),
        "subscriptions/listen": RequestSpec("SubscriptionsListenRequest", ("SubscriptionsListenResult",), _MODERN),
        "tools/call": RequestSpec("CallToolRequest", ("CallToolResult",), _ALL, input_required=True),
        "tools/list": RequestSpec("ListToolsRequest", ("ListToolsResult",), _ALL, cacheable=True),
    }
)
"""Every request method. Tasks are not among them: they exist as types only."""

NOTIFICATION_SPECS: Final[Mapping[str, NotificationSpec]] = MappingProxyType(
    {
        "notifications/cancelled": NotificationSpec("CancelledNotification", _ALL, _ALL),
        "notifications/elicitation/complete": NotificationSpec(
            "ElicitCompleteNotification", from_server=("2025-11-25",)
        ),
        "notifications/initialized": NotificationSpec("InitializedNotification", _LEGACY),
        "notifications/message": NotificationSpec("LoggingMessageNotification", from_server=_ALL),
        "notifications/progress": NotificationSpec("ProgressNotification", _LEGACY, _ALL),
        "notifications/prompts/list_changed": NotificationSpec("PromptListChangedNotification", from_server=_ALL),
        "notifications/resources/list_changed": NotificationSpec("ResourceListChangedNotification", from_server=_ALL),
        "notifications/resources/updated": NotificationSpec("ResourceUpdatedNotification", from_server=_ALL),
        "notifications/roots/list_changed": NotificationSpec("RootsListChangedNotification", _LEGACY),
        "notifications/subscriptions/acknowledged": NotificationSpec(
            "SubscriptionsAcknowledgedNotification", from_server=_MODERN
        ),
        "notifications/tools/list_changed": NotificationSpec("ToolListChangedNotification", from_server=_ALL),
    }
)
"""Every notification method, without those of tasks."""

SPEC_CLIENT_METHODS: Final[frozenset[str]] = frozenset(
    method for method, spec in REQUEST_SPECS.items() if spec.from_client
)
"""The request methods of clients, in any revision. All others belong to extensions and vendors."""

SPEC_CLIENT_NOTIFICATION_METHODS: Final[frozenset[str]] = frozenset(
    method for method, spec in NOTIFICATION_SPECS.items() if spec.from_client
)
"""The notification methods of clients, in any revision."""

CacheableMethod = Literal[
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/list",
]
"""A method whose result says how long it stays fresh."""

CACHEABLE_METHODS: Final[frozenset[CacheableMethod]] = frozenset(
    cast("CacheableMethod", method) for method, spec in REQUEST_SPECS.items() if spec.cacheable
)
"""The methods whose results say how long they stay fresh."""

INPUT_REQUIRED_METHODS: Final[frozenset[str]] = frozenset(
    method for method, spec in REQUEST_SPECS.items() if spec.input_required
)
"""The methods that modern servers may answer with `InputRequiredResult`."""


def is_input_required(result: object) -> TypeGuard[types.InputRequiredResult | dict[str, Any]]:
    """Tell whether a result, as a model or in its wire form, asks for input before the request can complete."""
    if isinstance(result, Mapping):
        return cast("Mapping[str, object]", result).get("resultType") == "input_required"
    return isinstance(result, types.InputRequiredResult)


CLIENT_REQUEST_ROWS: Final[frozenset[tuple[str, str]]] = frozenset(
    (method, version) for method, spec in REQUEST_SPECS.items() for version in spec.from_client
)
"""The methods of clients' requests, each with every revision that has it."""

CLIENT_NOTIFICATION_ROWS: Final[frozenset[tuple[str, str]]] = frozenset(
    (method, version) for method, spec in NOTIFICATION_SPECS.items() for version in spec.from_client
)
"""The methods of clients' notifications, each with every revision that has it."""


@cache
def result_named_by(method: str) -> type[types.Result]:
    """Return the type of what completes a request of the protocol, without loading those of other methods.

    Raises:
        KeyError: The protocol has no such method.
    """
    result: type[types.Result] = getattr(types, REQUEST_SPECS[method].results[0])
    return result
