"""A legacy client of a manager, over ASGI servers made of plain objects."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio
from anyio.abc import TaskGroup

from mcp._protocol.sse import ServerSentEvent, SSEDecoder
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCMessage
from tests.server.http.fakes import FakeConnection

VERSION = "2025-11-25"


def call(name: str, request_id: Any = 2, /, **arguments: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments, "_meta": {"progressToken": request_id}},
    }


def opening(version: str = VERSION, **capabilities: Any) -> dict[str, Any]:
    """An `initialize` request."""
    params = {
        "protocolVersion": version,
        "capabilities": capabilities,
        "clientInfo": {"name": "legacy", "version": "1"},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def headers_of(changes: dict[str, str | None]) -> dict[str, str]:
    """The headers of a legacy request; a change to `None` leaves one out, `_` stands for `-`."""
    headers: dict[str, str] = {
        "host": "localhost:8000",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    for key, value in changes.items():
        if value is None:
            headers.pop(key.replace("_", "-"), None)
        else:
            headers[key.replace("_", "-")] = value
    return headers


def events_of(connection: FakeConnection) -> list[ServerSentEvent]:
    """What has come on a stream so far, with ids."""
    return SSEDecoder(None).feed(connection.body)


class Endpoint(Protocol):
    """What serves HTTP requests."""

    async def handle_request(self, scope: Any, receive: Any, send: Any) -> None: ...


class LegacyClient:
    """One session of a legacy client.

    Attributes:
        session_id: The session's id.
        opened: The answer to `initialize`.
    """

    def __init__(self, manager: Endpoint, group: TaskGroup, version: str) -> None:
        self.session_id: str | None = None
        self.opened: FakeConnection
        self._manager = manager
        self._group = group
        self._version = version

    def connection(
        self, body: dict[str, Any] | bytes = b"", *, method: str = "POST", **changes: str | None
    ) -> FakeConnection:
        """An HTTP request of this session."""
        changes = {"mcp_session_id": self.session_id, "mcp_protocol_version": self._version, **changes}
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        return FakeConnection(data, headers_of(changes), method=method)

    async def send(
        self, body: dict[str, Any] | bytes = b"", *, method: str = "POST", **changes: str | None
    ) -> FakeConnection:
        """Send a request and wait for the end of its response."""
        connection = self.connection(body, method=method, **changes)
        with anyio.fail_after(5):
            await self._manager.handle_request(connection.scope, connection.receive, connection.send)
        return connection

    def begin(
        self, body: dict[str, Any] | bytes = b"", *, method: str = "POST", **changes: str | None
    ) -> FakeConnection:
        """Send a request and go on."""
        connection = self.connection(body, method=method, **changes)
        self._group.start_soon(self._manager.handle_request, connection.scope, connection.receive, connection.send)
        return connection

    async def listen(self, **changes: str | None) -> FakeConnection:
        """Open the stand-alone stream, or one that was lost."""
        connection = self.begin(b"", method="GET", **changes)
        await connection.until(lambda connection: bool(connection.sent))
        return connection


@asynccontextmanager
async def session(manager: Endpoint, version: str = VERSION, **capabilities: Any) -> AsyncGenerator[LegacyClient]:
    """A session that is open; what it began is given up at the end."""
    async with anyio.create_task_group() as group:
        client = LegacyClient(manager, group, version)
        client.opened = await client.send(opening(version, **capabilities), mcp_protocol_version=None)
        client.session_id = client.opened.headers["mcp-session-id"]
        done = await client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert (done.status, done.body) == (202, b"")
        yield client
        group.cancel_scope.cancel()


class MemoryStore(EventStore):
    """An event store that keeps everything."""

    def __init__(self) -> None:
        self.events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        if not last_event_id.isdigit() or not 0 < int(last_event_id) <= len(self.events):
            return None
        stream_id = self.events[int(last_event_id) - 1][0]
        for number, (stream, message) in enumerate(list(self.events), start=1):
            if stream == stream_id and number > int(last_event_id) and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id
