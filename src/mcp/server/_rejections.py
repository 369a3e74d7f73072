"""What becomes of request state that cannot be used: one answer for every cause, and the cause in the log."""

from __future__ import annotations

import logging
import traceback
from typing import Final

from mcp.server._sealing import UNKNOWN_KEY
from mcp.shared.exceptions import MCPError
from mcp.stores.store import StoreError
from mcp_types.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS

logger = logging.getLogger("mcp.server.request_state")

_HINT: Final = (
    " (another instance sealed it, or this one before a restart: "
    "give all instances the same RequestStateSecurity(keys=[...]))"
)


def rejection(method: str, reason: str) -> MCPError:
    """Log why a state is refused, and return the one answer for all reasons."""
    hint = _HINT if reason == UNKNOWN_KEY else ""
    logger.warning("requestState rejected on %s: %s%s", method, reason, hint)
    return MCPError(INVALID_PARAMS, "Invalid or expired requestState")


def store_failure() -> MCPError:
    """Return the answer where a store is needed and does not work. That says nothing about the state."""
    return MCPError(INTERNAL_ERROR, "The store for requestState does not answer; try again later")


def log_failure(what: str, method: str, error: Exception) -> None:
    """Log what failed and where, but not the exception's text, which may quote a token or a principal.

    That of a `StoreError` is made for the log.
    """
    frames = list(traceback.walk_tb(error.__traceback__))
    where = ", ".join(
        f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_name}" for frame, line in reversed(frames)
    )
    kind = f"{type(error).__name__} ({error})" if isinstance(error, StoreError) else type(error).__name__
    logger.error("%s on %s raised %s at %s", what, method, kind, where)
