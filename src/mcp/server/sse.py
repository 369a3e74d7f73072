"""The HTTP+SSE transport of revision 2024-11-05: one stream for everything the server says, POSTs for the client.

The protocol has deprecated it. Serve it beside streamable HTTP, for clients that know nothing else:

```python
app = server.sse_app()
```
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import parse_qs, quote
from uuid import UUID, uuid4

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from starlette.requests import Request as HTTPRequest

import mcp_types as types
from mcp._engine.streams import WireWriter, WriteStream, as_model, to_wire
from mcp._protocol.era import knows_batches
from mcp._protocol.errors import Rejection
from mcp._protocol.jsonrpc import Message, Request, dumps, loads, read_batch, read_message, spoiled_answer
from mcp._protocol.sse import encode_event
from mcp.server._http.arrival import rejected
from mcp.server._http.asgi import (
    ASGIHeaders,
    BodyTooLarge,
    ClientLeft,
    Receive,
    Scope,
    Send,
    read_body,
    send_body,
    send_json,
)
from mcp.server._http.legacy import principal_of
from mcp.server._http.lost_sessions import LostSessions
from mcp.server._http.outlet import Outlet
from mcp.server._http.response_stream import ResponseStream
from mcp.server._http.watch import KEEP_ALIVE_INTERVAL
from mcp.server.transport_security import (
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    SecurityCheck,
    TransportSecuritySettings,
    check_body_limit,
    rejection_body,
    too_large,
)
from mcp.shared.message import ServerMessageMetadata, SessionMessage

__all__ = ["DEFAULT_MAX_REQUEST_BODY_SIZE", "SseServerTransport"]

logger = logging.getLogger(__name__)

_TEXT: Final = (b"content-type", b"text/plain; charset=utf-8")


class SseWriteStream(WriteStream[SessionMessage], WireWriter):
    """What the client of one connection receives.

    Args:
        outlet: The response that carries it.

    Attributes:
        opening: The id of the client's `initialize`, once it has come.
        version: The revision that was answered to it.
    """

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self.opening: types.RequestId | None = None
        self.version: str | None = None

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message."""
        await self.send_wire(to_wire(item.message))

    async def send_wire(self, message: dict[str, Any]) -> None:
        """Send one message in wire form.

        Raises:
            BrokenResourceError: The client is gone.
        """
        data = dumps(message)
        if self.opening is not None and self.opening == message.get("id") and "result" in message:
            self.version = message["result"].get("protocolVersion")
        if not self._outlet.is_open:
            raise anyio.BrokenResourceError
        await self._outlet.response.write(encode_event(data))

    def end(self) -> None:
        """End the stream."""
        self._outlet.close()

    async def aclose(self) -> None:
        """End the stream."""
        self.end()

    async def __aenter__(self) -> SseWriteStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@dataclass(frozen=True, slots=True)
class _Connection:
    inbox: MemoryObjectSendStream[SessionMessage | Exception]
    writer: SseWriteStream
    principal: object

    def read(self, body: bytes) -> list[Message | Rejection] | None:
        """Read the message in a body, or the messages of a batch; `None` where the body as a whole is neither."""
        try:
            value = loads(body)
        except (ValueError, RecursionError):
            return None
        version = self.writer.version
        if version is not None and knows_batches(version) and isinstance(value, list) and value:
            return read_batch(cast("list[Any]", value))
        message = read_message(value)
        return None if isinstance(message, Rejection) else [message]


class SseServerTransport:
    """Connections of HTTP+SSE: `connect_sse` serves the GET that opens one, `handle_post_message` the POSTs of all.

    Args:
        endpoint: The path that clients POST to, relative to where the application is mounted.
        security_settings: Which `Host` and `Origin` headers are accepted; `None` accepts all.
        max_request_body_size: How many bytes a message may have.

    Raises:
        ValueError: The endpoint is no path, or the limit makes no sense.
    """

    def __init__(
        self,
        endpoint: str,
        security_settings: TransportSecuritySettings | None = None,
        max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
    ) -> None:
        if "://" in endpoint or endpoint.startswith("//") or "?" in endpoint or "#" in endpoint:
            raise ValueError(f"endpoint must be a path like '/messages/', got {endpoint!r}")
        self._endpoint = endpoint if endpoint.startswith("/") else f"/{endpoint}"
        self._security = SecurityCheck(security_settings)
        self._max_request_body_size = check_body_limit(max_request_body_size)
        self._connections: dict[UUID, _Connection] = {}
        self._lost = LostSessions()

    @asynccontextmanager
    async def connect_sse(
        self, scope: Scope, receive: Receive, send: Send
    ) -> AsyncGenerator[tuple[MemoryObjectReceiveStream[SessionMessage | Exception], WriteStream[SessionMessage]]]:
        """Serve a GET that opens a connection; yields the streams to serve, for `Server.run`.

        A request that the security settings refuse is answered, and yields streams that have ended.
        """
        inbox, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        response = ResponseStream(send, accepts_json=False, prefers_sse=True)
        outlet = Outlet(response, receive, KEEP_ALIVE_INTERVAL)
        writer = SseWriteStream(outlet)
        refused = self._security.refuse(ASGIHeaders(scope["headers"]), is_post=False)
        if refused is not None:
            inbox.close()
            outlet.close()
            await send_json(send, refused.status, rejection_body(refused))
            with messages:
                yield messages, writer
            return
        session_id = uuid4()
        # Under a mount, Starlette tells here what the application's own paths come after.
        path = quote(f"{scope.get('root_path', '').rstrip('/')}{self._endpoint}")
        self._connections[session_id] = _Connection(inbox, writer, principal_of(scope))
        failure: Exception | None = None
        try:
            async with anyio.create_task_group() as group:
                await response.write(encode_event(f"{path}?session_id={session_id.hex}", event="endpoint"))
                group.start_soon(_hold, outlet, inbox)
                try:
                    with messages:
                        yield messages, writer
                except Exception as error:  # it must not leave as a member of the task group's exception
                    failure = error
                outlet.close()
        finally:
            del self._connections[session_id]
            inbox.close()
        if failure is not None:
            raise failure

    def close(self) -> None:
        """End every connection."""
        for connection in self._connections.values():
            connection.writer.end()
            connection.inbox.close()

    async def handle_post_message(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a POST with a message of a client; an ASGI application."""
        headers = ASGIHeaders(scope["headers"])
        refused = self._security.refuse(headers, is_post=True)
        if refused is not None:
            await send_json(send, refused.status, rejection_body(refused))
            return
        try:
            status, text = await self._take_in(scope, headers, receive)
        except BodyTooLarge:
            await send_json(send, 413, rejection_body(too_large(self._max_request_body_size)))
        except ClientLeft:
            return
        else:
            await send_body(send, status, text.encode(), _TEXT)

    async def _take_in(self, scope: Scope, headers: ASGIHeaders, receive: Receive) -> tuple[int, str]:
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("session_id")
        if given is None:
            return 400, "session_id is required"
        try:
            session_id = UUID(hex=given[0])
        except ValueError:
            return 400, "Invalid session ID"
        connection = self._connections.get(session_id)
        # A session is no proof of who its client is, and belongs to whoever opened it.
        if connection is None or connection.principal != principal_of(scope):
            self._lost.report(session_id.hex, is_open=connection is not None)
            return 404, "Could not find session"
        body = await read_body(headers, receive, self._max_request_body_size)
        messages = connection.read(body)
        metadata = ServerMessageMetadata(request_context=HTTPRequest(scope, receive))
        try:
            if messages is None:
                if (answer := spoiled_answer(body)) is not None:
                    await connection.inbox.send(SessionMessage(as_model(answer), metadata))
                return 400, "Could not parse message"
            for message in messages:
                if isinstance(message, Rejection):
                    await connection.writer.send_wire(rejected(message))
                    continue
                if isinstance(message, Request) and message.method == "initialize":
                    connection.writer.opening = message.request_id
                await connection.inbox.send(SessionMessage(as_model(message), metadata))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return 404, "Could not find session"
        return 202, "Accepted"


async def _hold(outlet: Outlet, inbox: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    await outlet.hold()
    inbox.close()  # the client is gone: that ends the conversation
