"""Elicitation: questions that a server asks the client's user."""

from typing import Any, Literal

from mcp_types._base import MCPModel, Notification, NotificationParams, Request, RequestParams, Result
from mcp_types._tasks import TaskMetadata

ElicitRequestedSchema = dict[str, Any]
"""JSON Schema of a form: an object whose properties are all plain values."""


class ElicitRequestFormParams(RequestParams):
    """Params of `elicitation/create` that show a form."""

    mode: Literal["form"] = "form"
    message: str
    """What the user is asked."""
    requested_schema: ElicitRequestedSchema
    """The form's fields."""
    task: TaskMetadata | None = None
    """Present if the request should run as a task (2025-11-25 only)."""


class ElicitRequestURLParams(RequestParams):
    """Params of `elicitation/create` that send the user to a URL."""

    mode: Literal["url"] = "url"
    message: str
    """Why the user should go there."""
    url: str
    elicitation_id: str | None = None
    """What `notifications/elicitation/complete` will name it by (2025-11-25 only, and required there)."""
    task: TaskMetadata | None = None
    """Present if the request should run as a task (2025-11-25 only)."""


ElicitRequestParams = ElicitRequestURLParams | ElicitRequestFormParams
"""Params of `elicitation/create` in either mode."""


class ElicitRequest(Request):
    """Asks the client's user."""

    method: Literal["elicitation/create"] = "elicitation/create"
    params: ElicitRequestParams


class ElicitResult(Result):
    """What the user answered."""

    action: Literal["accept", "decline", "cancel"]
    """Whether the user agreed, refused, or chose neither."""
    content: dict[str, str | int | float | bool | list[str] | None] | None = None
    """The filled-in form, if the user agreed to one."""


class ElicitationRequiredErrorData(MCPModel):
    """The `data` of a `URL_ELICITATION_REQUIRED` error (legacy revisions only)."""

    elicitations: list[ElicitRequestURLParams]
    """Where the user has to go before the request can succeed."""


class ElicitCompleteNotificationParams(NotificationParams):
    """Params of `notifications/elicitation/complete`."""

    elicitation_id: str
    """The elicitation that is finished."""


class ElicitCompleteNotification(Notification):
    """Tells that the user is done at the URL (2025-11-25 only)."""

    method: Literal["notifications/elicitation/complete"] = "notifications/elicitation/complete"
    params: ElicitCompleteNotificationParams


__all__ = [
    "ElicitCompleteNotification",
    "ElicitCompleteNotificationParams",
    "ElicitRequest",
    "ElicitRequestFormParams",
    "ElicitRequestParams",
    "ElicitRequestURLParams",
    "ElicitRequestedSchema",
    "ElicitResult",
    "ElicitationRequiredErrorData",
]
