"""Sampling: questions that a server asks the client's model."""

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import Discriminator, Field, Tag

from mcp_types._base import Request, RequestParams, Result, TaskMetadata
from mcp_types._content import AnySamplingContent, AnySamplingMessageContentBlock, SamplingMessageContentBlock
from mcp_types._model import MCPModel
from mcp_types._tools import Tool, ToolChoice
from mcp_types._vocabulary import Role

IncludeContext = Literal["none", "thisServer", "allServers"]
"""Whose context a model gets along with a question."""

StopReason = Literal["endTurn", "stopSequence", "maxTokens", "toolUse"] | str
"""Why a model stopped: the known reasons, or one of its provider's own."""

T = TypeVar("T")


def _one_or_many(value: object) -> str:
    return "many" if isinstance(value, list | tuple) else "one"


OneOrMany: TypeAlias = Annotated[
    Annotated[T, Tag("one")] | Annotated[list[T], Tag("many")],
    Discriminator(_one_or_many),
]


def _as_list(
    content: SamplingMessageContentBlock | list[SamplingMessageContentBlock],
) -> list[SamplingMessageContentBlock]:
    return content if isinstance(content, list) else [content]


class SamplingMessage(MCPModel):
    """A message of the conversation."""

    role: Role
    content: OneOrMany[AnySamplingMessageContentBlock]
    """One piece or several. Tool results come in messages of their own."""
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)

    @property
    def content_as_list(self) -> list[SamplingMessageContentBlock]:
        """The content as a list, whether it is one piece or several."""
        return _as_list(self.content)


class ModelHint(MCPModel):
    """A hint on which model to take."""

    name: str | None = None
    """A part of a model's name, such as `sonnet`."""


class ModelPreferences(MCPModel):
    """What a server values in a model. Priorities run from 0, unimportant, to 1, most important."""

    hints: list[ModelHint] | None = None
    """Models to take if there are any such, the best first."""
    cost_priority: float | None = None
    speed_priority: float | None = None
    intelligence_priority: float | None = None


class CreateMessageRequestParams(RequestParams):
    """Params of `sampling/createMessage`."""

    messages: list[SamplingMessage]
    """The conversation so far."""
    model_preferences: ModelPreferences | None = None
    system_prompt: str | None = None
    include_context: IncludeContext | None = None
    """Whose context to add. Unset means `none`."""
    temperature: float | None = None
    max_tokens: int
    """How many tokens the answer may have at most."""
    stop_sequences: list[str] | None = None
    """Texts at which the model should stop."""
    metadata: dict[str, Any] | None = None
    """Settings for the model's provider."""
    tools: list[Tool] | None = None
    """Tools that the model may call."""
    tool_choice: ToolChoice | None = None
    task: TaskMetadata | None = None
    """Present if the request should run as a task (2025-11-25 only)."""


class CreateMessageRequest(Request):
    """Asks the client's model."""

    method: Literal["sampling/createMessage"] = "sampling/createMessage"
    params: CreateMessageRequestParams


class CreateMessageResult(Result):
    """What the model answered, without tools."""

    role: Role
    content: AnySamplingContent
    model: str
    """The model that answered."""
    stop_reason: StopReason | None = None
    """Why it stopped, if known."""


class CreateMessageResultWithTools(Result):
    """What the model answered when it was given tools."""

    role: Role
    content: OneOrMany[AnySamplingMessageContentBlock]
    """One piece or several, tool calls among them."""
    model: str
    """The model that answered."""
    stop_reason: StopReason | None = None
    """Why it stopped, if known: `toolUse` if it waits for tools."""

    @property
    def content_as_list(self) -> list[SamplingMessageContentBlock]:
        """The content as a list, whether it is one piece or several."""
        return _as_list(self.content)


__all__ = [
    "CreateMessageRequest",
    "CreateMessageRequestParams",
    "CreateMessageResult",
    "CreateMessageResultWithTools",
    "IncludeContext",
    "ModelHint",
    "ModelPreferences",
    "SamplingMessage",
    "StopReason",
]
