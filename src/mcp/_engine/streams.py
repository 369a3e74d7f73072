"""Pairs of message streams: the shape of every transport that is a pipe."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol, TypeVar

from mcp._protocol.jsonrpc import ErrorResponse, Message, Notification, Request, Response
from mcp_types.jsonrpc import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class ReadStream(Protocol[T_co]):
    """Where messages come from: iterate it; it ends when the other side is gone."""

    async def receive(self) -> T_co: ...
    async def aclose(self) -> None: ...
    def __aiter__(self) -> ReadStream[T_co]: ...
    async def __anext__(self) -> T_co: ...
    async def __aenter__(self) -> ReadStream[T_co]: ...
    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None, /
    ) -> bool | None: ...


class WriteStream(Protocol[T_contra]):
    """Where messages go."""

    async def send(self, item: T_contra, /) -> None: ...
    async def aclose(self) -> None: ...
    async def __aenter__(self) -> WriteStream[T_contra]: ...
    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None, /
    ) -> bool | None: ...


def from_model(message: JSONRPCMessage) -> Message:
    """Take a message out of its public model."""
    if isinstance(message, JSONRPCRequest):
        return Request(message.id, message.method, message.params)
    if isinstance(message, JSONRPCNotification):
        return Notification(message.method, message.params)
    if isinstance(message, JSONRPCResponse):
        return Response(message.id, message.result)
    return ErrorResponse(message.id, message.error.code, message.error.message, message.error.data)


def to_model(message: dict[str, Any]) -> JSONRPCMessage:
    """Put a message in wire form into its public model."""
    if "method" in message:
        kind = JSONRPCRequest if "id" in message else JSONRPCNotification
        return kind.model_validate(message)
    if "result" in message:
        return JSONRPCResponse.model_validate(message)
    return JSONRPCError.model_validate(message)
