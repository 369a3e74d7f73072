"""From an exception to what the peer is told, and to which HTTP status: the only such mapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    UNSUPPORTED_PROTOCOL_VERSION,
)

_STATUS_OF_CODE: Final[dict[int, int]] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_REQUIRED_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}

# base: "Error Codes": no code of their range is used on the wire. They name what arises on this side, and a handler
# that talks to somebody else may let such an error escape.
_NOT_FOR_PEERS: Final = (CONNECTION_CLOSED, REQUEST_TIMEOUT)

_MAX_PROBLEMS: Final = 20


@dataclass(frozen=True, slots=True)
class Rejection:
    """A message that is refused before any handler sees it.

    Attributes:
        status: The HTTP status for transports that have one.
        code: The JSON-RPC error code.
        message: The JSON-RPC error message.
        data: The JSON-RPC error data.
        request_id: The id of the refused request, where it could be read.
    """

    status: int
    code: int
    message: str
    data: Any = None
    request_id: types.RequestId | None = None


def http_status(code: int) -> int:
    """The HTTP status of a modern error answer (streamable HTTP: "Protocol Version Header", errors)."""
    return _STATUS_OF_CODE.get(code, 200)


def to_error(error: BaseException, *, show: bool = False) -> MCPError:
    """Turn a failure of a handler into the error that the peer receives.

    Args:
        error: What the handler raised.
        show: Whether the peer may see the text of an unexpected exception (only for a client in the same process
            that asked for it).
    """
    if isinstance(error, MCPError):
        if error.is_local and error.code in _NOT_FOR_PEERS:
            return MCPError(INTERNAL_ERROR, error.message, error.data)
        return error
    return MCPError(INTERNAL_ERROR, str(error) if show else "Internal server error")


def invalid_params(problems: ValidationError | Sequence[dict[str, Any]]) -> MCPError:
    """The error for params that do not fit, naming the bad members but none of their values."""
    data = describe(problems) if isinstance(problems, ValidationError) else list(problems)
    return MCPError(INVALID_PARAMS, "Invalid request parameters", data or None)


def method_not_found(method: str) -> MCPError:
    """The error for a method that is unknown, not registered, or not part of the protocol revision in use."""
    return MCPError(METHOD_NOT_FOUND, "Method not found", method)


def describe(error: ValidationError) -> list[dict[str, Any]]:
    """List where a value broke its model and why, without the value: `{"loc": [...], "problem": "..."}` entries."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    return [{"loc": list(detail["loc"]), "problem": detail["msg"]} for detail in details[:_MAX_PROBLEMS]]
