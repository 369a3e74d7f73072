"""What becomes of a failing tool: which text the model reads, and what the log says."""

from __future__ import annotations

import logging
from typing import Final

from mcp._protocol.codec import WireResult
from mcp.server.elicitation import InvalidAnswerError
from mcp.server.mcpserver._signature import InvalidArguments
from mcp.server.mcpserver.exceptions import ResourceError, ToolError, UnexpectedToolError
from mcp.server.mcpserver.resolve.run import ResolveError

logger: Final = logging.getLogger("mcp.server.mcpserver.server")


def tool_failure(name: str, error: Exception, *, show: bool) -> ToolError:
    """Log a tool's failure and word it for the model.

    Args:
        name: The tool.
        error: What was raised.
        show: Whether the text of an unexpected exception may be shown.
    """
    prefix = f"Error executing tool {name}"
    if isinstance(error, InvalidArguments):
        logger.info("Tool %r rejected arguments: %s", name, error.fields)
        failure = ToolError(f"{prefix}: {error.text}")
    elif isinstance(error, (ToolError, ResourceError)) or is_designed(error):
        logger.info("Tool %r failed: %r", name, str(error))
        failure = ToolError(f"{prefix}: {error}")
    else:
        logger.error("Tool %r raised an unexpected exception", name, exc_info=error)
        failure = UnexpectedToolError(f"{prefix}: {error}" if show else prefix)
    failure.__cause__ = error
    return failure


def is_designed(error: Exception) -> bool:
    """Whether the exception's text was made for the other side, and holds nothing of the author's or the user's."""
    return isinstance(error, (InvalidAnswerError, ResolveError))


def error_wire(text: str) -> WireResult:
    """An error result, in wire form."""
    return WireResult(content=[{"type": "text", "text": text}], isError=True)
