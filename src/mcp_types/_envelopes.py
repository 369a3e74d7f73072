"""JSON-RPC 2.0 messages as MCP uses them."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, Discriminator, Strict, Tag, TypeAdapter

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
    "ErrorData",
    "JSONRPCError",
    "JSONRPCMessage",
    "JSONRPCNotification",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "RequestId",
    "jsonrpc_message_adapter",
]
