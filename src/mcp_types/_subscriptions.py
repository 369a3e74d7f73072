"""Subscriptions: a request whose answer is a stream of change notifications (modern revisions only)."""

from typing import Literal

from mcp_types._base import Notification, NotificationParams, Request, RequestParams, Result
from mcp_types._model import MCPModel
from mcp_types._vocabulary import ResultType


class SubscriptionFilter(MCPModel):
    """Which changes to hear about. Whatever is unset is not wanted."""

    tools_list_changed: bool | None = None
    prompts_list_changed: bool | None = None
    resources_list_changed: bool | None = None
    resource_subscriptions: list[str] | None = None
    """The URIs of resources to hear about."""


class SubscriptionsListenRequestParams(RequestParams):
    """Params of `subscriptions/listen`."""

    notifications: SubscriptionFilter
    """What the client wants to hear about."""


class SubscriptionsListenRequest(Request):
    """Asks to be told of changes until either side ends it."""

    method: Literal["subscriptions/listen"] = "subscriptions/listen"
    params: SubscriptionsListenRequestParams


class SubscriptionsListenResult(Result):
    """Ends the stream in good order."""

    result_type: ResultType = "complete"


class SubscriptionsAcknowledgedNotificationParams(NotificationParams):
    """Params of `notifications/subscriptions/acknowledged`."""

    notifications: SubscriptionFilter
    """What the server will tell: the wish without what it cannot."""


class SubscriptionsAcknowledgedNotification(Notification):
    """Begins the stream."""

    method: Literal["notifications/subscriptions/acknowledged"] = "notifications/subscriptions/acknowledged"
    params: SubscriptionsAcknowledgedNotificationParams


__all__ = [
    "SubscriptionFilter",
    "SubscriptionsAcknowledgedNotification",
    "SubscriptionsAcknowledgedNotificationParams",
    "SubscriptionsListenRequest",
    "SubscriptionsListenRequestParams",
    "SubscriptionsListenResult",
]
