"""Checks of sampling requests before they leave (client features: sampling, tool use)."""

from __future__ import annotations

from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ClientCapabilities,
    SamplingMessage,
    Tool,
    ToolChoice,
    ToolResultContent,
    ToolUseContent,
)

__all__ = [
    "INVALID_PARAMS",
    "check_sampling_tools_capability",
    "validate_sampling_tools",
    "validate_tool_use_result_messages",
    "wants_sampling_tools",
]

_UNSUPPORTED: Final = "Client does not support sampling tools capability"


def wants_sampling_tools(tools: list[Tool] | None, tool_choice: ToolChoice | None) -> bool:
    """Whether a sampling request uses tools (an empty list counts)."""
    return tools is not None or tool_choice is not None


def check_sampling_tools_capability(client_caps: ClientCapabilities | None) -> bool:
    """Whether the client declared that it can sample with tools."""
    return client_caps is not None and client_caps.sampling is not None and client_caps.sampling.tools is not None


def validate_sampling_tools(
    client_caps: ClientCapabilities | None, tools: list[Tool] | None, tool_choice: ToolChoice | None
) -> None:
    """Refuse a sampling request with tools to a client that did not declare them.

    Raises:
        MCPError: `-32602`, the client cannot sample with tools.
    """
    if wants_sampling_tools(tools, tool_choice) and not check_sampling_tools_capability(client_caps):
        raise MCPError(INVALID_PARAMS, _UNSUPPORTED)


def validate_tool_use_result_messages(messages: list[SamplingMessage]) -> None:
    """Check that tool results stand alone in their message and answer the tool uses of the message before.

    Raises:
        ValueError: They do not.
    """
    if not messages:
        return
    last = messages[-1].content_as_list
    results = {block.tool_use_id for block in last if isinstance(block, ToolResultContent)}
    before = messages[-2].content_as_list if len(messages) > 1 else []
    uses = {block.id for block in before if isinstance(block, ToolUseContent)}
    if results:
        if any(not isinstance(block, ToolResultContent) for block in last):
            raise ValueError("The last message must contain only tool_result content if any is present")
        if len(messages) < 2:
            raise ValueError("tool_result requires a previous message containing tool_use")
        if not uses:
            raise ValueError("tool_result blocks do not match any tool_use in the previous message")
    if uses and uses != results:
        raise ValueError("ids of tool_result blocks and tool_use blocks from previous message do not match")
