"""JSON-RPC 2.0 messages as MCP uses them, and its error codes."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, Discriminator, Strict, Tag, TypeAdapter

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

# Strict, because a float or a boolean that is read as an integer would be answered under another id.
RequestId = Annotated[int, Strict()] | str
"""What pairs an answer with its request: a string or an integer."""


class _Message(BaseModel):
    model_config = ConfigDict(defer_build=True)


class JSONRPCRequest(_Message):
    """A request: a message that must be answered."""

    jsonrpc: Literal["2.0"]
    id: RequestId
    """Unique among the sender's requests that wait for an answer."""
    method: str
    params: dict[str, Any] | None = None


class JSONRPCNotification(_Message):
    """A notification: a message that is never answered."""

    jsonrpc: Literal["2.0"]
    method: str
    params: dict[str, Any] | None = None


class JSONRPCResponse(_Message):
    """The answer to a request that succeeded."""

    jsonrpc: Literal["2.0"]
    id: RequestId
    """The id of the request."""
    result: dict[str, Any]


class ErrorData(_Message):
    """What went wrong with a request."""

    code: int
    """What kind of error it is."""
    message: str
    """One sentence for people."""
    data: Any = None
    """More about the error, in a form that belongs to the code."""


class JSONRPCError(_Message):
    """The answer to a request that failed."""

    jsonrpc: Literal["2.0"]
    # Older revisions send null and newer ones leave the member out when the request's id could not be read.
    id: RequestId | None = None
    """The id of the request, or None if it could not be read."""
    error: ErrorData


JSONRPCMessage = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError
"""Any message."""


def _message_kind(value: object) -> str | None:
    if isinstance(value, Mapping):
        message = cast("Mapping[str, object]", value)
        if "method" in message:
            # An id that is null makes a malformed request, not a notification.
            return "request" if "id" in message else "notification"
        if "error" in message:
            return "error"
        return "response" if "result" in message else None
    for kind, model in _KINDS.items():
        if isinstance(value, model):
            return kind
    return None


_KINDS: Final[dict[str, type[_Message]]] = {
    "request": JSONRPCRequest,
    "notification": JSONRPCNotification,
    "response": JSONRPCResponse,
    "error": JSONRPCError,
}

jsonrpc_message_adapter: TypeAdapter[JSONRPCMessage] = TypeAdapter(
    Annotated[
        Annotated[JSONRPCRequest, Tag("request")]
        | Annotated[JSONRPCNotification, Tag("notification")]
        | Annotated[JSONRPCResponse, Tag("response")]
        | Annotated[JSONRPCError, Tag("error")],
        Discriminator(
            _message_kind,
            custom_error_type="jsonrpc_message",
            custom_error_message="A JSON-RPC message has one of method, result and error",
        ),
    ],
    config=ConfigDict(defer_build=True),
)
"""Validates and serializes any message."""

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
