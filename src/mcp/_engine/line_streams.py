"""Message streams over lines: what stdio yields on either side.

They are pairs of streams for whoever asks for such a pair. The engine asks for messages in wire form instead
(`receive_wire`, `send_wire`), and so no models are built on the way.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Any, Final

import anyio
from pydantic_core import PydanticSerializationError
from typing_extensions import Self

import mcp_types as types
from mcp._engine.descriptors import ByteSink, ByteSource
from mcp._engine.lines import DEFAULT_MAX_LINE_BYTES, Line, LineSplitter
from mcp._engine.streams import WireReader, WireWriter, as_model, to_wire
from mcp._protocol.jsonrpc import dumps, error_message
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR

logger = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 1.0
"""How long the last bytes may wait for the other side."""


def encode_line(message: dict[str, Any]) -> bytes:
    """Write a message as one line. An answer that has no JSON form becomes an error, so that it is one.

    Raises:
        ValueError: A message of another kind has none.
    """
    try:
        return dumps(message) + b"\n"
    except (ValueError, PydanticSerializationError) as error:
        if "method" in message:
            raise ValueError(f"cannot be sent as JSON: {error}") from error
        logger.exception("The answer to request %r has no JSON form", message.get("id"))
        failure = types.ErrorData(code=INTERNAL_ERROR, message="Internal server error")
        return dumps(error_message(message.get("id"), failure)) + b"\n"


class LineReader:
    """Lines out of bytes.

    Args:
        source: The bytes.
        max_line_bytes: How long a line may be.
        keep_unended: Whether the end of input also ends the last line.
    """

    def __init__(
        self, source: ByteSource, *, max_line_bytes: int = DEFAULT_MAX_LINE_BYTES, keep_unended: bool = False
    ) -> None:
        self._source = source
        self._splitter = LineSplitter(max_line_bytes)
        self._keep_unended = keep_unended
        self._lines: deque[Line] = deque()
        self._ended = False

    async def read(self) -> Line | None:
        """Wait for the next line; `None` at the end."""
        while not self._lines:
            if self._ended:
                return None
            if data := await self._source.read():
                self._lines.extend(self._splitter.feed(data))
            else:
                self._ended = True
                if self._keep_unended:
                    self._lines.extend(self._splitter.end())
        return self._lines.popleft()

    def stop(self) -> None:
        """Make this the end of input."""
        self._source.stop()


class LineReadStream(WireReader):
    """The receiving stream of a pair; subclasses say how messages come out of the lines."""

    def __init__(self, lines: LineReader) -> None:
        self._lines = lines
        self._closed = False

    async def receive(self) -> SessionMessage | Exception:
        """Wait for the next message as a model."""
        if self._closed:
            raise anyio.ClosedResourceError
        message = await self.receive_wire(None)
        if message is None:
            raise anyio.EndOfStream
        return message if isinstance(message, Exception) else SessionMessage(as_model(message))

    def end(self) -> None:
        """Make this the end of input."""
        self._lines.stop()

    async def aclose(self) -> None:
        """Stop reading."""
        self._closed = True
        self._lines.stop()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


class LineWriteStream(WireWriter):
    """The sending stream of a pair: one message, one line, one write."""

    def __init__(self, sink: ByteSink) -> None:
        self._sink = sink
        self._closed = False

    async def send_wire(self, message: dict[str, Any]) -> None:
        """Write one message in wire form."""
        await self.write_line(encode_line(message))

    async def write_line(self, line: bytes) -> None:
        """Write one line, with its end."""
        if self._closed:
            raise anyio.ClosedResourceError
        await self._sink.write(line)

    async def send(self, item: SessionMessage) -> None:
        """Write one message."""
        try:
            await self.send_wire(to_wire(item.message))
        except OSError as error:
            raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        """Write what is left, as long as the other side takes it without delay, and stop."""
        if self._closed:
            return
        self._closed = True
        with anyio.move_on_after(FLUSH_SECONDS, shield=True), suppress(OSError):
            await self._sink.flush()
        self._sink.stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
