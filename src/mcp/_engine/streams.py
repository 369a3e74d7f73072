"""Pairs of message streams: the shape of every transport that is a pipe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Protocol, TypeVar

import mcp_types as types
from mcp._protocol.jsonrpc import ErrorResponse, Message, Notification, Request, Response, error_message

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class WireReader(ABC):
    """A receiving stream that also gives messages without their public models."""

    @abstractmethod
    async def receive_wire(self, version: str | None) -> Message | Exception | None:
        """Wait for the next message; `None` at the end, an exception for what was none.

        Args:
            version: The protocol revision that is spoken, once it is agreed on.
        """


class WireWriter(ABC):
    """A sending stream that also takes messages in wire form."""

    @abstractmethod
    async def send_wire(self, message: dict[str, Any]) -> None:
        """Write one message.

        Raises:
            OSError: The other side is gone.
        """


class LastFault(ValueError):
    """What a reader finds that it cannot get over: a link ends there, and its text is for all who wait."""


class LocalError(types.JSONRPCError):
    """What a transport itself answers to a request that it could not deliver."""


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


def from_model(message: types.JSONRPCMessage) -> Message:
    """Take a message out of its public model."""
    if isinstance(message, types.JSONRPCRequest):
        return Request(message.id, message.method, message.params)
    if isinstance(message, types.JSONRPCNotification):
        return Notification(message.method, message.params)
    if isinstance(message, types.JSONRPCResponse):
        return Response(message.id, message.result)
    error = message.error
    return ErrorResponse(message.id, error.code, error.message, error.data, isinstance(message, LocalError))


def as_model(message: Message) -> types.JSONRPCMessage:
    """Put a message into its public model."""
    if isinstance(message, Request):
        return types.JSONRPCRequest(jsonrpc="2.0", id=message.request_id, method=message.method, params=message.params)
    if isinstance(message, Notification):
        return types.JSONRPCNotification(jsonrpc="2.0", method=message.method, params=message.params)
    if isinstance(message, Response):
        return types.JSONRPCResponse(jsonrpc="2.0", id=message.request_id, result=message.result)
    error = types.ErrorData(code=message.code, message=message.message, data=message.data)
    kind = LocalError if message.is_local else types.JSONRPCError
    return kind(jsonrpc="2.0", id=message.request_id, error=error)


def to_wire(message: types.JSONRPCMessage) -> dict[str, Any]:
    """Put a message in its public model into wire form."""
    if isinstance(message, types.JSONRPCError):
        return error_message(message.id, message.error)
    return message.model_dump(by_alias=True, mode="json", exclude_none=True)


def to_model(message: dict[str, Any]) -> types.JSONRPCMessage:
    """Put a message in wire form into its public model."""
    if "method" in message:
        kind = types.JSONRPCRequest if "id" in message else types.JSONRPCNotification
        return kind.model_validate(message)
    if "result" in message:
        return types.JSONRPCResponse.model_validate(message)
    return types.JSONRPCError.model_validate(message)
