# ruff: noqa: F403, F405
"""JSON-RPC 2.0 messages as MCP uses them, and its error codes."""

from typing import TYPE_CHECKING

from mcp_types._codes import *
from mcp_types._lazy import lazy_names

if TYPE_CHECKING:
    from mcp_types._envelopes import *
else:
    _MODELS = """
        ErrorData JSONRPCError JSONRPCMessage JSONRPCNotification JSONRPCRequest JSONRPCResponse RequestId
        jsonrpc_message_adapter
    """
    __getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(_MODELS.split(), "mcp_types._envelopes"))

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
    "ErrorData",
    "JSONRPCError",
    "JSONRPCMessage",
    "JSONRPCNotification",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "RequestId",
    "jsonrpc_message_adapter",
]
