"""Prompts: messages that a server has ready for users."""

from typing import Any, Literal

from pydantic import Field

from mcp_types._base import CacheableResult, Notification, NotificationParams, PaginatedRequest, PaginatedResult, Result
from mcp_types._content import AnyContentBlock
from mcp_types._identity import BaseMetadata, Icon
from mcp_types._model import MCPModel
from mcp_types._vocabulary import ResultType, Role


class PromptArgument(BaseMetadata):
    """Something that a prompt has to be told."""

    description: str | None = None
    """What it is, for people to fill in."""
    required: bool | None = None
    """Whether the prompt cannot do without it."""


class Prompt(BaseMetadata):
    """A prompt, or a template for one."""

    description: str | None = None
    """What it is for."""
    arguments: list[PromptArgument] | None = None
    """What it has to be told."""
    icons: list[Icon] | None = None
    """Pictures for a user interface to choose from."""
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)


class PromptMessage(MCPModel):
    """A message of a prompt."""

    role: Role
    content: AnyContentBlock


class ListPromptsRequest(PaginatedRequest):
    """Asks which prompts there are."""

    method: Literal["prompts/list"] = "prompts/list"


class ListPromptsResult(PaginatedResult, CacheableResult):
    """A page of the list of prompts."""

    prompts: list[Prompt]
    result_type: ResultType = "complete"


class GetPromptResult(Result):
    """The messages of a prompt."""

    description: str | None = None
    """What the prompt is for."""
    messages: list[PromptMessage]
    result_type: ResultType = "complete"


class PromptListChangedNotification(Notification):
    """Tells that the list of prompts changed."""

    method: Literal["notifications/prompts/list_changed"] = "notifications/prompts/list_changed"
    params: NotificationParams | None = None


__all__ = [
    "GetPromptResult",
    "ListPromptsRequest",
    "ListPromptsResult",
    "Prompt",
    "PromptArgument",
    "PromptListChangedNotification",
    "PromptMessage",
]
