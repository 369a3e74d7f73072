"""The server's end of a pipe, in the hands of a test."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from mcp._engine.memory_streams import MessageStream
from mcp._engine.streams import from_model, to_model
from mcp._protocol.jsonrpc import ErrorResponse, Message, Notification, Request, Response
from mcp.client.transports import TransportStreams
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import MessageMetadata, SessionMessage

AGREED: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "raw", "version": "1"},
    "instructions": "Be kind.",
}


class RawServer:
    """Reads what the client sends, and writes what the test wants."""

    def __init__(self, streams: MessageStream) -> None:
        self._read, self._write = streams
        self.metadata: MessageMetadata = None

    async def receive(self) -> Message:
        """Wait for the next message."""
        with anyio.fail_after(5):
            item = await self._read.receive()
        assert isinstance(item, SessionMessage)
        self.metadata = item.metadata
        return from_model(item.message)

    async def request(self, method: str | None = None) -> Request:
        message = await self.receive()
        assert isinstance(message, Request), message
        assert method in (None, message.method), message
        return message

    async def notification(self, method: str) -> Notification:
        message = await self.receive()
        assert isinstance(message, Notification), message
        assert message.method == method
        return message

    async def result(self) -> dict[str, Any]:
        message = await self.receive()
        assert isinstance(message, Response), message
        return message.result

    async def error(self) -> tuple[int, str, Any]:
        message = await self.receive()
        assert isinstance(message, ErrorResponse), message
        return message.code, message.message, message.data

    async def send(self, message: dict[str, Any]) -> None:
        await self._write.send(SessionMessage(to_model({"jsonrpc": "2.0", **message})))

    async def fault(self, error: Exception) -> None:
        await self._write.send(error)

    async def answer(self, request: Request, result: dict[str, Any]) -> None:
        await self.send({"id": request.request_id, "result": result})

    async def refuse(self, request: Request, code: int, message: str = "no", data: Any = None) -> None:
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        await self.send({"id": request.request_id, "error": error})

    async def shake_hands(self, result: dict[str, Any] = AGREED) -> Request:
        """Answer the handshake and take in its confirmation."""
        hello = await self.request("initialize")
        await self.answer(hello, result)
        await self.notification("notifications/initialized")
        return hello

    def silent(self) -> bool:
        """Whether the client has sent nothing more."""
        return self._read.statistics().current_buffer_used == 0

    async def close(self) -> None:
        """Say nothing more, as a process does that has ended."""
        await self._write.aclose()


class Wire:
    """A transport whose other end is the test.

    Attributes:
        server: The other end, once the client has connected.
        log: What happened to the transport.
    """

    def __init__(self) -> None:
        self.connected = anyio.Event()
        self.log: list[str] = []
        self._server: RawServer | None = None

    @property
    def server(self) -> RawServer:
        assert self._server is not None
        return self._server

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[TransportStreams]:
        """What to give to a client."""
        async with create_client_server_memory_streams() as (mine, theirs):
            self._server = RawServer(theirs)
            self.log.append("entered")
            self.connected.set()
            try:
                yield mine
            finally:
                self.log.append("left")
