"""What travels through a pair of transport streams: a JSON-RPC message and what its transport knows about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import mcp_types as types

__all__ = [
    "ClientMessageMetadata",
    "MessageMetadata",
    "ResumptionToken",
    "ResumptionTokenUpdateCallback",
    "ServerMessageMetadata",
    "SessionMessage",
]

ResumptionToken: TypeAlias = str
ResumptionTokenUpdateCallback: TypeAlias = Callable[[ResumptionToken], Awaitable[None]]


@dataclass
class ClientMessageMetadata:
    """What a client tells its transport about one message."""

    resumption_token: ResumptionToken | None = None
    on_resumption_token_update: ResumptionTokenUpdateCallback | None = None
    headers: dict[str, str] | None = None


@dataclass
class ServerMessageMetadata:
    """What a server and its transport tell each other about one message."""

    related_request_id: types.RequestId | None = None
    request_context: Any = None
    close_sse_stream: Callable[[], Awaitable[None]] | None = None
    close_standalone_sse_stream: Callable[[], Awaitable[None]] | None = None
    on_request_unanswered: Callable[[], Awaitable[None]] | None = None
    can_send_request: bool = True


MessageMetadata: TypeAlias = ClientMessageMetadata | ServerMessageMetadata | None


@dataclass
class SessionMessage:
    """A JSON-RPC message with its metadata."""

    message: types.JSONRPCMessage
    metadata: MessageMetadata = None
