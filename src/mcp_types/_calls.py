"""The three requests that may take several rounds."""

from typing import Any, Literal

from mcp_types._base import Request, TaskMetadata
from mcp_types._input_required import InputResponseRequestParams


class CallToolRequestParams(InputResponseRequestParams):
    """Params of `tools/call`."""

    name: str
    """The tool."""
    arguments: dict[str, Any] | None = None
    task: TaskMetadata | None = None
    """Present if the call should run as a task (2025-11-25 only)."""


class CallToolRequest(Request):
    """Calls a tool."""

    method: Literal["tools/call"] = "tools/call"
    params: CallToolRequestParams


class GetPromptRequestParams(InputResponseRequestParams):
    """Params of `prompts/get`."""

    name: str
    """The prompt."""
    arguments: dict[str, str] | None = None


class GetPromptRequest(Request):
    """Asks for a prompt's messages."""

    method: Literal["prompts/get"] = "prompts/get"
    params: GetPromptRequestParams


class ReadResourceRequestParams(InputResponseRequestParams):
    """Params of `resources/read`."""

    uri: str
    """The resource."""


class ReadResourceRequest(Request):
    """Asks what a resource holds."""

    method: Literal["resources/read"] = "resources/read"
    params: ReadResourceRequestParams


__all__ = [
    "CallToolRequest",
    "CallToolRequestParams",
    "GetPromptRequest",
    "GetPromptRequestParams",
    "ReadResourceRequest",
    "ReadResourceRequestParams",
]
