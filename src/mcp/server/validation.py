"""Checks of sampling requests before they leave (client features: sampling, tool use)."""

from __future__ import annotations

from typing import Final

import mcp_types as types
from mcp._protocol.tool_results import check_message
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

__all__ = [
    "INVALID_PARAMS",
    "check_sampling_tools_capability",
    "validate_sampling_tools",
    "validate_tool_use_result_messages",
    "wants_sampling_tools",
]

_UNSUPPORTED: Final = "Client does not support sampling tools capability"


def wants_sampling_tools(tools: list[types.Tool] | None, tool_choice: types.ToolChoice | None) -> bool:
    """Whether a sampling request uses tools (an empty list counts)."""
    return tools is not None or tool_choice is not None


def check_sampling_tools_capability(client_caps: types.ClientCapabilities | None) -> bool:
    """Whether the client declared that it can sample with tools."""
    return client_caps is not None and client_caps.sampling is not None and client_caps.sampling.tools is not None


def validate_sampling_tools(
    client_caps: types.ClientCapabilities | None, tools: list[types.Tool] | None, tool_choice: types.ToolChoice | None
) -> None:
    """Refuse a sampling request with tools to a client that did not declare them.

    Raises:
        MCPError: `-32602`, the client cannot sample with tools.
    """
    if wants_sampling_tools(tools, tool_choice) and not check_sampling_tools_capability(client_caps):
        raise MCPError(INVALID_PARAMS, _UNSUPPORTED)


def validate_tool_use_result_messages(messages: list[types.SamplingMessage]) -> None:
    """Check that tool results stand alone in their message and answer the tool uses of the message before.

    Raises:
        ValueError: They do not.
    """
    if messages:
        check_message(messages[-2] if len(messages) > 1 else None, messages[-1])
