"""Talk to a low-level server in wire form, without a client."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from mcp._engine.link import Link, OutgoingRequest
from mcp._engine.streams import from_model, to_model
from mcp._protocol.jsonrpc import ErrorResponse, Message, Notification, Request, Response
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage

VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"


def meta(capabilities: dict[str, Any] | None = None, **extra: Any) -> dict[str, Any]:
    """The metadata of a modern request; `extra` members get the protocol's prefix unless they are `progressToken`."""
    prefixed = {(key if key == "progressToken" else PREFIX + key): value for key, value in extra.items()}
    return {PREFIX + "protocolVersion": VERSION, PREFIX + "clientCapabilities": capabilities or {}, **prefixed}


class Caller:
    """A client that speaks wire form to a server in this process."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.notifications: list[tuple[str, dict[str, Any] | None]] = []
        self._ids = count(1)

    async def call(
        self, method: str, params: dict[str, Any] | None = None, *, request_meta: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        async def take(name: str, note: dict[str, Any] | None) -> None:
            self.notifications.append((name, note))

        params = {"_meta": meta() if request_meta is None else request_meta, **(params or {})}
        return await self.link.exchange(OutgoingRequest(next(self._ids), method, params, VERSION), take)


@asynccontextmanager
async def caller(server: Server[Any], *, raise_exceptions: bool = False) -> AsyncGenerator[Caller]:
    """Connect to a server in this process."""
    async with server.connect_in_process("auto", raise_exceptions=raise_exceptions) as link:
        yield Caller(link)


class Pipe:
    """The client's end of a pair of message streams."""

    def __init__(
        self,
        to_server: MemoryObjectSendStream[SessionMessage | Exception],
        from_server: MemoryObjectReceiveStream[SessionMessage],
    ) -> None:
        self.to_server = to_server
        self.from_server = from_server

    async def send(self, message: dict[str, Any]) -> None:
        await self.to_server.send(SessionMessage(to_model({"jsonrpc": "2.0", **message})))

    async def request(
        self, request_id: int | str, method: str, params: dict[str, Any] | None = None, *, modern: bool = True
    ) -> None:
        params = {"_meta": meta(), **(params or {})} if modern else params
        message = {"id": request_id, "method": method}
        await self.send(message if params is None else {**message, "params": params})

    async def receive(self) -> Message:
        with anyio.fail_after(5):
            return from_model((await self.from_server.receive()).message)

    async def result(self) -> Response:
        message = await self.receive()
        assert isinstance(message, Response), message
        return message

    async def error(self) -> ErrorResponse:
        message = await self.receive()
        assert isinstance(message, ErrorResponse), message
        return message

    async def question(self) -> Request:
        message = await self.receive()
        assert isinstance(message, Request), message
        return message

    async def notification(self) -> Notification:
        message = await self.receive()
        assert isinstance(message, Notification), message
        return message

    async def close(self) -> None:
        """Close the client's side, as at end of input."""
        await self.to_server.aclose()


@asynccontextmanager
async def pipe(server: Server[Any]) -> AsyncGenerator[Pipe]:
    """Run a server on a pair of streams; leaving the block cancels it if it still runs."""
    to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception](100)
    server_writes, from_server = anyio.create_memory_object_stream[SessionMessage](100)
    async with anyio.create_task_group() as tasks, to_server, from_server:
        tasks.start_soon(server.run, server_reads, server_writes, server.create_initialization_options())
        yield Pipe(to_server, from_server)
        tasks.cancel_scope.cancel()
