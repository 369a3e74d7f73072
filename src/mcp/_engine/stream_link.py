"""A client's link over a pair of message streams."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Any

import anyio

import mcp_types as types
from mcp._engine.connection import COURTESY_SECONDS
from mcp._engine.connection_link import ConnectionLink
from mcp._engine.link import OnNotification, OutgoingRequest
from mcp._engine.streams import LastFault, ReadStream, WireReader, WireWriter, WriteStream, from_model, to_model
from mcp._protocol.era import MODERN, era_of
from mcp._protocol.headers import MCP_PROTOCOL_VERSION, standard_headers
from mcp._protocol.jsonrpc import Message, dumps, loads
from mcp.shared.message import ClientMessageMetadata, SessionMessage

logger = logging.getLogger(__name__)


class StreamLink(ConnectionLink):
    """While it is entered, what arrives is read. Leaving it closes both streams.

    Args:
        read_stream: Where messages arrive; an exception among them is told and ends nothing.
        write_stream: Where messages go. Their metadata carries the headers that a transport with headers needs.
    """

    def __init__(
        self, read_stream: ReadStream[SessionMessage | Exception], write_stream: WriteStream[SessionMessage]
    ) -> None:
        super().__init__(self._write)
        self._read_stream = read_stream
        self._write_stream = write_stream
        self._version: str | None = None
        self._headers: dict[types.RequestId, dict[str, str]] = {}

    async def __aenter__(self) -> StreamLink:
        await super().__aenter__()
        self._connection.start(self._pump)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        try:
            return await super().__aexit__(exc_type, exc, traceback)
        finally:
            with anyio.move_on_after(COURTESY_SECONDS, shield=True):
                await self._write_stream.aclose()
                await self._read_stream.aclose()

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        """Send a request and wait for its response; cancelling the caller tells the server."""
        self._version = request.version
        if isinstance(self._write_stream, WireWriter):  # has no headers
            return await super().exchange(request, on_notification)
        self._headers[request.request_id] = _headers_of(request)
        try:
            return await super().exchange(request, on_notification)
        finally:
            self._headers.pop(request.request_id, None)

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        """Send a notification."""
        self._version = version
        await super().notify(method, params, version)

    async def _write(self, message: dict[str, Any]) -> None:
        if isinstance(self._write_stream, WireWriter):
            await self._write_stream.send_wire(message)
            return
        headers = self._headers.get(message.get("id", 0)) if "method" in message else None
        if headers is None and self._version is not None:
            headers = {MCP_PROTOCOL_VERSION: self._version}
        metadata = ClientMessageMetadata(headers=headers) if headers else None
        # What has no JSON form is refused here, as by a transport that writes bytes.
        await self._write_stream.send(SessionMessage(to_model(loads(dumps(message))), metadata))

    async def _pump(self) -> None:
        why: str | None = None
        try:
            while (item := await self._receive()) is not None:
                if isinstance(item, Exception):
                    self.fault(item)
                    if isinstance(item, LastFault):
                        why = str(item)
                        break
                    continue
                await self._connection.wait_for_room()
                self.receive(item)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            logger.debug("The read stream was closed", exc_info=True)
        except Exception as error:
            logger.warning("The read stream failed: %r", error)
            self.fault(error)
        await self.closed(why)

    async def _receive(self) -> Message | Exception | None:
        if isinstance(self._read_stream, WireReader):
            return await self._read_stream.receive_wire(self._version)
        try:
            item = await self._read_stream.receive()
        except anyio.EndOfStream:
            return None
        return item if isinstance(item, Exception) else from_model(item.message)


def _headers_of(request: OutgoingRequest) -> dict[str, str]:
    if request.version is None:
        return dict(request.headers)
    if era_of(request.version) is not MODERN:
        return {MCP_PROTOCOL_VERSION: request.version, **request.headers}
    return {**standard_headers(request.version, request.method, request.params), **request.headers}
