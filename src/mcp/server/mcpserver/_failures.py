"""What becomes of a failing tool: which text the model reads, and what the log says."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import mcp_types as types
from mcp._protocol.codec import WireResult
from mcp.server.mcpserver._signature import InvalidArguments
from mcp.server.mcpserver.exceptions import ResourceError, ToolError, ToolTimeoutError, UnexpectedToolError
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from mcp.server import elicitation
    from mcp.server.mcpserver.resolve import run
else:
    elicitation = lazy_module("mcp.server.elicitation")
    run = lazy_module("mcp.server.mcpserver.resolve.run")

logger: Final = logging.getLogger("mcp.server.mcpserver.server")


def tool_failure(name: str, error: BaseException, *, show: bool, request_id: types.RequestId | None) -> ToolError:
    """Log a tool's failure and word it for the model.

    Args:
        name: The tool.
        error: What was raised.
        show: Whether the text of an unexpected exception may be shown.
        request_id: The request; `None` for a direct call.
    """
    prefix = f"Error executing tool {name}"
    if isinstance(error, InvalidArguments):
        logger.info("Tool %r rejected arguments: %s", name, error.fields)
        failure = ToolError(f"{prefix}: {error.text}")
    elif isinstance(error, ToolTimeoutError):
        logger.warning("Tool %r failed: %r", name, str(error))
        failure = ToolTimeoutError(f"{prefix}: {error}")
    elif isinstance(error, (ToolError, ResourceError)) or is_designed(error):
        logger.info("Tool %r failed: %r", name, str(error))
        failure = ToolError(f"{prefix}: {error}")
    else:
        logger.error("Tool %r raised an unexpected exception%s", name, in_request(request_id), exc_info=error)
        failure = UnexpectedToolError(f"{prefix}: {error}" if show else prefix)
    failure.__cause__ = error
    return failure


def in_request(request_id: types.RequestId | None) -> str:
    """What a line of the log says about the request, after everything else."""
    return "" if request_id is None else f" (request {request_id!r})"


def is_designed(error: BaseException) -> bool:
    """Whether the exception's text was made for the other side, and holds nothing of the author's or the user's."""
    # The last is raised where warnings are errors.
    return isinstance(error, (elicitation.InvalidAnswerError, run.ResolveError, MCPDeprecationWarning))


def error_wire(text: str) -> WireResult:
    """An error result, in wire form."""
    return WireResult(content=[{"type": "text", "text": text}], isError=True)
