"""Tasks: requests that are answered later (2025-11-25 only)."""

from typing import Any, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from mcp_types._base import (
    Notification,
    NotificationParams,
    PaginatedRequest,
    PaginatedResult,
    Request,
    RequestParams,
    Result,
)
from mcp_types._model import MCPModel

TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]
"""Where a task stands."""


class RelatedTaskMetadata(MCPModel):
    """Says in `_meta` which task a message belongs to."""

    task_id: str


class Task(MCPModel):
    """A request that is answered later."""

    task_id: str
    status: TaskStatus
    status_message: str | None = None
    """More about the status, for people to read."""
    created_at: str
    """When it was made, as an ISO 8601 time."""
    last_updated_at: str
    """When it last changed, as an ISO 8601 time."""
    ttl: int | None
    """How many milliseconds after its making it may be forgotten. None means never."""
    poll_interval: int | None = None
    """How many milliseconds to wait between two questions after it."""

    @model_serializer(mode="wrap")
    def _write_null(self, handler: SerializerFunctionWrapHandler):
        # A required member stays when members that are None are left out. A return type would replace the JSON schema.
        written: dict[str, Any] = handler(self)
        return written if self.ttl is not None else {**written, "ttl": None}


class CreateTaskResult(Result):
    """Answers a request that runs as a task."""

    task: Task


class GetTaskRequestParams(RequestParams):
    """Params of `tasks/get`."""

    task_id: str


class GetTaskRequest(Request):
    """Asks where a task stands."""

    method: Literal["tasks/get"] = "tasks/get"
    params: GetTaskRequestParams


class GetTaskResult(Result, Task):
    """Where a task stands."""


class GetTaskPayloadRequestParams(RequestParams):
    """Params of `tasks/result`."""

    task_id: str


class GetTaskPayloadRequest(Request):
    """Asks for the result of the request behind a task, and waits for it."""

    method: Literal["tasks/result"] = "tasks/result"
    params: GetTaskPayloadRequestParams


class GetTaskPayloadResult(Result):
    """The result of the request behind a task. Its members are those of that request's own result."""


class CancelTaskRequestParams(RequestParams):
    """Params of `tasks/cancel`."""

    task_id: str


class CancelTaskRequest(Request):
    """Ends a task early."""

    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: CancelTaskRequestParams


class CancelTaskResult(Result, Task):
    """The task that was ended."""


class ListTasksRequest(PaginatedRequest):
    """Asks which tasks there are."""

    method: Literal["tasks/list"] = "tasks/list"


class ListTasksResult(PaginatedResult):
    """A page of the list of tasks."""

    tasks: list[Task]


class TaskStatusNotificationParams(NotificationParams, Task):
    """Params of `notifications/tasks/status`."""


class TaskStatusNotification(Notification):
    """Tells that a task's status changed."""

    method: Literal["notifications/tasks/status"] = "notifications/tasks/status"
    params: TaskStatusNotificationParams


__all__ = [
    "CancelTaskRequest",
    "CancelTaskRequestParams",
    "CancelTaskResult",
    "CreateTaskResult",
    "GetTaskPayloadRequest",
    "GetTaskPayloadRequestParams",
    "GetTaskPayloadResult",
    "GetTaskRequest",
    "GetTaskRequestParams",
    "GetTaskResult",
    "ListTasksRequest",
    "ListTasksResult",
    "RelatedTaskMetadata",
    "Task",
    "TaskStatus",
    "TaskStatusNotification",
    "TaskStatusNotificationParams",
]
