"""The error codes of JSON-RPC and of MCP. Importing it loads nothing."""

from typing import Final, Literal

JSONRPC_VERSION: Final[Literal["2.0"]] = "2.0"
"""The only value of a message's `jsonrpc` member."""

# JSON-RPC's own codes.
PARSE_ERROR: Final = -32700
"""The text is not JSON."""
INVALID_REQUEST: Final = -32600
"""The JSON is not a message, or not one that may be sent here."""
METHOD_NOT_FOUND: Final = -32601
"""Nobody serves the method, or the revision does not have it."""
INVALID_PARAMS: Final = -32602
"""The params do not fit the method."""
INTERNAL_ERROR: Final = -32603
"""The receiver failed."""

# Codes that a sender makes for itself; they never cross a wire.
CONNECTION_CLOSED: Final = -32000
"""The connection ended before the answer came."""
REQUEST_TIMEOUT: Final = -32001
"""The answer did not come in time."""

# Codes of the MCP specification.
HEADER_MISMATCH: Final = -32020
"""The HTTP headers contradict the body."""
MISSING_REQUIRED_CLIENT_CAPABILITY: Final = -32021
"""The request needs a capability that its client did not declare."""
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022
"""The request names a revision that the server does not speak."""
URL_ELICITATION_REQUIRED: Final = -32042
"""The user must open a URL first (legacy revisions only)."""

__all__ = [
    "CONNECTION_CLOSED",
    "HEADER_MISMATCH",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "JSONRPC_VERSION",
    "METHOD_NOT_FOUND",
    "MISSING_REQUIRED_CLIENT_CAPABILITY",
    "PARSE_ERROR",
    "REQUEST_TIMEOUT",
    "UNSUPPORTED_PROTOCOL_VERSION",
    "URL_ELICITATION_REQUIRED",
]
