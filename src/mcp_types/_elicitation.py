"""Elicitation: questions that a server asks the client's user."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import Discriminator, Tag

from mcp_types._base import Notification, NotificationParams, Request, RequestParams, Result, TaskMetadata
from mcp_types._model import MCPModel

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


def _mode(value: object) -> object:
    if isinstance(value, Mapping):
        # A form need not say that it is one.
        mode = cast("Mapping[str, object]", value).get("mode", "form")
        return mode if mode in ("form", "url") else None
    return getattr(value, "mode", None)


AnyElicitRequestParams: TypeAlias = Annotated[
    Annotated[ElicitRequestURLParams, Tag("url")] | Annotated[ElicitRequestFormParams, Tag("form")],
    Discriminator(
        _mode,
        custom_error_type="elicitation_mode",
        custom_error_message="The mode of an elicitation is form or url",
    ),
]


class ElicitRequest(Request):
    """Asks the client's user."""

    method: Literal["elicitation/create"] = "elicitation/create"
    params: AnyElicitRequestParams


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
