"""Messages about resources."""

from typing import Literal

from mcp_types._base import (
    CacheableResult,
    Notification,
    NotificationParams,
    PaginatedRequest,
    PaginatedResult,
    Request,
    RequestParams,
)
from mcp_types._resources import AnyResourceContents, Resource, ResourceTemplate
from mcp_types._vocabulary import ResultType


class ListResourcesRequest(PaginatedRequest):
    """Asks which resources there are."""

    method: Literal["resources/list"] = "resources/list"


class ListResourcesResult(PaginatedResult, CacheableResult):
    """A page of the list of resources."""

    resources: list[Resource]
    result_type: ResultType = "complete"


class ListResourceTemplatesRequest(PaginatedRequest):
    """Asks which resource templates there are."""

    method: Literal["resources/templates/list"] = "resources/templates/list"


class ListResourceTemplatesResult(PaginatedResult, CacheableResult):
    """A page of the list of resource templates."""

    resource_templates: list[ResourceTemplate]
    result_type: ResultType = "complete"


class ReadResourceResult(CacheableResult):
    """What a resource holds. One URI may have several contents, as a folder has files."""

    contents: list[AnyResourceContents]
    result_type: ResultType = "complete"


class SubscribeRequestParams(RequestParams):
    """Params of `resources/subscribe`."""

    uri: str
    """The resource to hear about."""


class SubscribeRequest(Request):
    """Asks to be told when a resource changes (legacy revisions only)."""

    method: Literal["resources/subscribe"] = "resources/subscribe"
    params: SubscribeRequestParams


class UnsubscribeRequestParams(RequestParams):
    """Params of `resources/unsubscribe`."""

    uri: str
    """The resource to hear no more about."""


class UnsubscribeRequest(Request):
    """Asks to be told no more about a resource (legacy revisions only)."""

    method: Literal["resources/unsubscribe"] = "resources/unsubscribe"
    params: UnsubscribeRequestParams


class ResourceListChangedNotification(Notification):
    """Tells that the list of resources changed."""

    method: Literal["notifications/resources/list_changed"] = "notifications/resources/list_changed"
    params: NotificationParams | None = None


class ResourceUpdatedNotificationParams(NotificationParams):
    """Params of `notifications/resources/updated`."""

    uri: str
    """What changed. It may be a part of what was subscribed to."""


class ResourceUpdatedNotification(Notification):
    """Tells that a resource changed and may be read again."""

    method: Literal["notifications/resources/updated"] = "notifications/resources/updated"
    params: ResourceUpdatedNotificationParams


__all__ = [
    "ListResourceTemplatesRequest",
    "ListResourceTemplatesResult",
    "ListResourcesRequest",
    "ListResourcesResult",
    "ReadResourceResult",
    "ResourceListChangedNotification",
    "ResourceUpdatedNotification",
    "ResourceUpdatedNotificationParams",
    "SubscribeRequest",
    "SubscribeRequestParams",
    "UnsubscribeRequest",
    "UnsubscribeRequestParams",
]
