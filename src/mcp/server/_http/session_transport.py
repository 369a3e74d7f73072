"""The streamable HTTP transport of one legacy session, as a pair of message streams."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import anyio
from starlette.requests import Request

import mcp_types as types
from mcp._engine.apart import start_apart
from mcp._engine.streams import ReadStream, WriteStream
from mcp._protocol.errors import Rejection
from mcp._protocol.http_request import (
    LegacyBatch,
    LegacyMessage,
    ModernNotification,
    ModernRequest,
    classify,
    negotiate_accept,
)
from mcp.server._http.admission import admit
from mcp.server._http.asgi import ASGIHeaders, Receive, Scope, Send
from mcp.server._http.event_store import EventStore
from mcp.server._http.piped import OneSession, PipedSession, Reader, Writer
from mcp.server._http.resumable import Storage
from mcp.server.transport_security import (
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    SecurityCheck,
    TransportSecuritySettings,
)
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

CONTENT_TYPE_JSON: Final = "application/json"
CONTENT_TYPE_SSE: Final = "text/event-stream"
REQUEST_STREAM_BUFFER_SIZE: Final = 16
"""How many messages of a request may wait for its response where somebody buffers them."""

_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")


class StreamableHTTPServerTransport:
    """One session over HTTP: requests go in by `handle_request`, their messages come out of `connect()`.

    What is written with `ServerMessageMetadata(related_request_id=...)` goes out on that request's response, other
    requests and notifications on the stand-alone stream. Handshake revisions only.

    Args:
        mcp_session_id: The session's id, of visible ASCII characters; `None` asks clients for none.
        is_json_response_enabled: Answer with JSON documents; what else belongs to a request is dropped then.
        event_store: Keeps the events of streams for clients that come back.
        security_settings: Which `Host` and `Origin` headers are accepted; `None` accepts all.
        retry_interval: Milliseconds that a client of a resumable stream waits before it comes back.
        idle_timeout: Seconds without a request after which the session ends; `None` for never.

    Raises:
        ValueError: The id or a time makes no sense.
    """

    def __init__(
        self,
        mcp_session_id: str | None,
        is_json_response_enabled: bool = False,
        event_store: EventStore | None = None,
        security_settings: TransportSecuritySettings | None = None,
        retry_interval: int | None = None,
        idle_timeout: float | None = None,
    ) -> None:
        if mcp_session_id is not None and not _VISIBLE.fullmatch(mcp_session_id):
            raise ValueError("Session ID must only contain visible ASCII characters (0x21-0x7E)")
        if retry_interval is not None and retry_interval <= 0:
            raise ValueError("retry_interval must be a positive number of milliseconds")
        if idle_timeout is not None and not idle_timeout > 0:
            raise ValueError("idle_timeout must be a positive number of seconds")
        self.mcp_session_id = mcp_session_id
        self.idle_timeout = idle_timeout
        self._security = SecurityCheck(security_settings)
        self._storage = None if event_store is None else Storage(event_store, retry_interval)
        self._endpoint = OneSession(mcp_session_id, self._storage, json_response=is_json_response_enabled)
        self._is_terminated = False

    @property
    def is_terminated(self) -> bool:
        """Whether the session has ended."""
        session = self._endpoint.session
        return self._is_terminated or (session is not None and session.is_over)

    @asynccontextmanager
    async def connect(
        self,
    ) -> AsyncGenerator[tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]]:
        """Let the session live; yields the streams to serve, for `Server.run`.

        Raises:
            RuntimeError: It was connected before.
        """
        if self._endpoint.session is not None:
            raise RuntimeError("StreamableHTTPServerTransport.connect() can only be entered once per instance")
        session = self._endpoint.session = PipedSession(self.mcp_session_id, self._storage)
        if self._is_terminated:
            session.end()
        idle = anyio.CancelScope()

        async def watch() -> None:
            with idle:
                await session.wait_until_over(self.idle_timeout)
                session.end()

        task = None if self.idle_timeout is None else start_apart(watch)
        try:
            with session.messages:
                yield Reader(session.messages), Writer(session)
        finally:
            session.end()
            idle.cancel()
            del task  # kept until here: the event loop may forget it

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI request of the session's client.

        Raises:
            RuntimeError: `connect()` is not entered.
        """
        if self._endpoint.session is None and not self._is_terminated:
            raise RuntimeError("No read stream writer available. Ensure connect() is called first.")
        headers = ASGIHeaders(scope["headers"])
        body = await admit(self._security, DEFAULT_MAX_REQUEST_BODY_SIZE, scope, headers, receive, send)
        if body is None:
            return
        if scope["method"] != "POST":
            await self._endpoint.serve_other(scope, headers, receive, send)
            return
        found = classify(scope["headers"], body)
        if isinstance(found, LegacyMessage):
            await self._endpoint.post(found, scope, headers, body, receive, send)
        elif isinstance(found, LegacyBatch):
            await self._endpoint.post_batch(found, scope, headers, body, receive, send)
        else:
            refused = found if isinstance(found, Rejection) else _unsupported(found)
            await self._endpoint.refuse(refused, scope, headers, body, receive, send)

    def close_sse_stream(self, request_id: types.RequestId) -> None:
        """Close the response stream of a request so that its client comes back for the rest; needs an event store."""
        if self._endpoint.session is not None:
            self._endpoint.session.drop(request_id)

    def close_standalone_sse_stream(self) -> None:
        """Close the stand-alone stream so that its client comes back for the rest."""
        if self._endpoint.session is not None:
            self._endpoint.session.drop(None)

    async def terminate(self) -> None:
        """End the session: its streams end, and its requests are answered 404 from now on."""
        self._is_terminated = True
        if self._endpoint.session is not None:
            self._endpoint.session.end()


def _unsupported(found: ModernRequest | ModernNotification) -> Rejection:
    """What a session of the handshake era says to a message of the modern one."""
    data = {"supported": list(reversed(HANDSHAKE_PROTOCOL_VERSIONS)), "requested": found.version}
    request_id = found.request_id if isinstance(found, ModernRequest) else None
    return Rejection(400, UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data, request_id)


def check_accept_headers(request: Request) -> tuple[bool, bool]:
    """Tell whether a client takes answers as JSON, and whether as events."""
    accepted = negotiate_accept(request.headers.get("accept"))
    return accepted in ("json", "both"), accepted in ("sse", "both")
