"""Messages about tools; what a call of one answers."""

from typing import Any, Literal

from mcp_types._base import CacheableResult, Notification, NotificationParams, PaginatedRequest, PaginatedResult, Result
from mcp_types._content import AnyContentBlock
from mcp_types._tools import Tool
from mcp_types._vocabulary import ResultType


class ListToolsRequest(PaginatedRequest):
    """Asks which tools there are."""

    method: Literal["tools/list"] = "tools/list"


class ListToolsResult(PaginatedResult, CacheableResult):
    """A page of the list of tools."""

    tools: list[Tool]
    result_type: ResultType = "complete"


class CallToolResult(Result):
    """What a tool has answered."""

    content: list[AnyContentBlock]
    """The answer for a model to read."""
    structured_content: Any = None
    """The answer for programs to read: a JSON object, on modern revisions any JSON value."""
    is_error: bool = False
    """Whether the tool failed. The content then says why, so that a model can do better."""
    result_type: ResultType = "complete"


class ToolListChangedNotification(Notification):
    """Tells that the list of tools changed."""

    method: Literal["notifications/tools/list_changed"] = "notifications/tools/list_changed"
    params: NotificationParams | None = None


__all__ = [
    "CallToolResult",
    "ListToolsRequest",
    "ListToolsResult",
    "ToolListChangedNotification",
]
