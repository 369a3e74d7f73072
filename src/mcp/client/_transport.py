"""What a transport of one's own has to offer."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

from mcp._engine.streams import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

__all__ = ["ReadStream", "Transport", "TransportStreams", "WriteStream"]

TransportStreams: TypeAlias = tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]


class Transport(AbstractAsyncContextManager[TransportStreams], Protocol):
    """An async context manager that connects when entered and yields the pair of streams to talk through."""
