"""Tools: functions that a server offers to models."""

from typing import Any, Literal

from pydantic import Field

from mcp_types._identity import BaseMetadata, Icon
from mcp_types._model import MCPModel


class ToolAnnotations(MCPModel):
    """Hints on what a tool does. They are the server's word: do not trust a server you do not know."""

    title: str | None = None
    """What people call the tool."""
    read_only_hint: bool | None = None
    """Whether it changes nothing. Unset means that it may."""
    destructive_hint: bool | None = None
    """Whether its changes may destroy something. Unset means that they may."""
    idempotent_hint: bool | None = None
    """Whether a second call with the same arguments changes nothing more. Unset means that it may."""
    open_world_hint: bool | None = None
    """Whether it reaches beyond a closed set of things, as a web search does. Unset means that it does."""


class ToolExecution(MCPModel):
    """How a tool may be run (2025-11-25 only)."""

    task_support: Literal["forbidden", "optional", "required"] | None = None
    """Whether calls run as tasks. Unset means `forbidden`."""


class Tool(BaseMetadata):
    """A function that a model can call."""

    description: str | None = None
    """What it does, for a model to choose by."""
    input_schema: dict[str, Any]
    """JSON Schema of its arguments."""
    execution: ToolExecution | None = None
    output_schema: dict[str, Any] | None = None
    """JSON Schema of its structured content, if it has any."""
    icons: list[Icon] | None = None
    """Pictures for a user interface to choose from."""
    annotations: ToolAnnotations | None = None
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)


class ToolChoice(MCPModel):
    """Whether a model that is asked has to use tools."""

    mode: Literal["auto", "required", "none"] | None = None
    """`auto` leaves it to the model, `required` demands at least one call, `none` forbids any. Unset means `auto`."""


__all__ = [
    "Tool",
    "ToolAnnotations",
    "ToolChoice",
    "ToolExecution",
]
