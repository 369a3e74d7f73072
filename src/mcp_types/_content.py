"""Content: the pieces that messages, prompts and tool results are made of."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from mcp_types._identity import Annotations
from mcp_types._model import MCPModel
from mcp_types._resources import AnyResourceContents, Resource


class TextContent(MCPModel):
    """A text."""

    type: Literal["text"] = "text"
    text: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)


class ImageContent(MCPModel):
    """An image."""

    type: Literal["image"] = "image"
    data: str
    """The image's bytes in base64."""
    mime_type: str
    """Its media type, such as `image/png`."""
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)


class AudioContent(MCPModel):
    """A sound."""

    type: Literal["audio"] = "audio"
    data: str
    """The sound's bytes in base64."""
    mime_type: str
    """Its media type, such as `audio/wav`."""
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)


class ResourceLink(Resource):
    """A resource by reference: the client reads it if it wants to."""

    type: Literal["resource_link"] = "resource_link"


class EmbeddedResource(MCPModel):
    """A resource by value."""

    type: Literal["resource"] = "resource"
    resource: AnyResourceContents
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)


ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
"""A piece of a prompt or of a tool's result."""

# The public aliases are plain unions; fields use these, which look at `type` instead of trying every member.
AnyContentBlock: TypeAlias = Annotated[ContentBlock, Field(discriminator="type")]


class ToolUseContent(MCPModel):
    """A model's wish to call a tool."""

    type: Literal["tool_use"] = "tool_use"
    name: str
    """The tool."""
    id: str
    """What the result will name this call by."""
    input: dict[str, Any]
    """The arguments."""
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)


class ToolResultContent(MCPModel):
    """What a tool that a model called has answered."""

    type: Literal["tool_result"] = "tool_result"
    tool_use_id: str
    """The `id` of the call."""
    content: list[AnyContentBlock] = Field(default_factory=list[ContentBlock])
    """The answer for the model to read."""
    structured_content: Any = None
    """The answer for programs to read: a JSON object, on modern revisions any JSON value."""
    is_error: bool | None = None
    """Whether the tool failed."""
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)


SamplingContent = TextContent | ImageContent | AudioContent
"""A piece of a conversation without tools."""

SamplingMessageContentBlock = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent
"""A piece of a conversation."""

AnySamplingContent: TypeAlias = Annotated[SamplingContent, Field(discriminator="type")]
AnySamplingMessageContentBlock: TypeAlias = Annotated[SamplingMessageContentBlock, Field(discriminator="type")]

__all__ = [
    "AudioContent",
    "ContentBlock",
    "EmbeddedResource",
    "ImageContent",
    "ResourceLink",
    "SamplingContent",
    "SamplingMessageContentBlock",
    "TextContent",
    "ToolResultContent",
    "ToolUseContent",
]
