"""Where the results of tools may stand in a conversation with a model (sampling: "Message Content Constraints")."""

from __future__ import annotations

from collections.abc import Sequence

import mcp_types as types


def check_conversation(messages: Sequence[types.SamplingMessage]) -> None:
    """Check every message of a conversation.

    Raises:
        ValueError: Tool results do not stand alone in their message, or do not answer the tool uses before them.
    """
    before: types.SamplingMessage | None = None
    for message in messages:
        check_message(before, message)
        before = message


def check_message(before: types.SamplingMessage | None, message: types.SamplingMessage) -> None:
    """Check one message of a conversation.

    Args:
        before: The message before it; `None` if it is the first.
        message: The message.

    Raises:
        ValueError: As `check_conversation`.
    """
    content = message.content_as_list
    results = {block.tool_use_id for block in content if isinstance(block, types.ToolResultContent)}
    uses = (
        {block.id for block in before.content_as_list if isinstance(block, types.ToolUseContent)}
        if before
        else set[str]()
    )
    if results:
        if any(not isinstance(block, types.ToolResultContent) for block in content):
            raise ValueError("The last message must contain only tool_result content if any is present")
        if before is None:
            raise ValueError("tool_result requires a previous message containing tool_use")
        if not uses:
            raise ValueError("tool_result blocks do not match any tool_use in the previous message")
    if uses and uses != results:
        raise ValueError("ids of tool_result blocks and tool_use blocks from previous message do not match")
