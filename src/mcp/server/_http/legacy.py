"""The legacy side of the endpoint: sessions by their id, and requests without any (`stateless`)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import anyio
from anyio.abc import TaskGroup
from starlette.requests import Request as HTTPRequest

import mcp_types as types
from mcp._protocol.era import errors_need_id, knows_batches
from mcp._protocol.errors import Rejection
from mcp._protocol.headers import MCP_PROTOCOL_VERSION, MCP_SESSION_ID
from mcp._protocol.http_request import DEFAULT_LEGACY_VERSION, LegacyBatch, LegacyMessage, negotiate_accept
from mcp._protocol.jsonrpc import (
    INVALID_MESSAGE_TEXT,
    Message,
    Request,
    dumps,
    error_message,
    spoiled_answer,
)
from mcp._protocol.metadata import unsupported_version
from mcp.server._handle import HandlerTable
from mcp.server._http.admission import reject
from mcp.server._http.arrival import IN_FLIGHT, Arrival
from mcp.server._http.asgi import ASGIHeaders, Receive, Scope, Send, send_body, send_json
from mcp.server._http.lost_sessions import IN_ANOTHER_WORKER, STATELESS, LostSessions
from mcp.server._http.outlet import Outlet
from mcp.server._http.response_stream import ResponseStream, StreamState
from mcp.server._http.resumable import Storage
from mcp.server._http.session import LegacySession
from mcp.server._http.session_streams import SessionStreams
from mcp.server._http.stateless import StatelessServing
from mcp.server.auth._access_token import principal_components
from mcp.server.auth.middleware.auth_context import get_access_token, verified_user
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

_ALLOW_ALL: Final = (b"allow", b"GET, POST, DELETE")
_ALLOW_POST: Final = (b"allow", b"POST")
_SESSION_ID: Final = MCP_SESSION_ID.encode()
_VERSION: Final = MCP_PROTOCOL_VERSION.encode()


class Refusal(Exception):
    """A request of HTTP that no session answers."""

    def __init__(self, status: int, message: str, code: int = INVALID_REQUEST, *, cure: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error = types.ErrorData(code=code, message=message, data=cure)


class LegacyEndpoint:
    """Serves the legacy messages of one server.

    Args:
        server: The server; `None` where a subclass opens the sessions.
        json_response: Answer with JSON documents.
        stateless: Serve each request by itself.
        storage: Keeps the events of streams.
        idle_timeout: Seconds after which an idle session ends; `None` for never.
        max_sessions: How many sessions may be open; `None` for no limit.
        keep_alive_interval: Seconds of silence after which a comment is sent.
    """

    def __init__(
        self,
        server: HandlerTable | None,
        *,
        json_response: bool,
        stateless: bool,
        storage: Storage | None,
        idle_timeout: float | None,
        max_sessions: int | None,
        keep_alive_interval: float,
    ) -> None:
        self._server = server
        self._json_response = json_response
        self._storage = storage
        self._idle_timeout = idle_timeout
        self._max_sessions = max_sessions
        self._keep_alive_interval = keep_alive_interval
        self._lifespan_context: object = None
        self._host: TaskGroup | None = None
        self._sessions: dict[str, LegacySession] = {}
        self._lost = LostSessions(STATELESS)
        self.is_one_of_several = False
        self._alone = StatelessServing(server) if stateless and server is not None else None

    def start(self, host: TaskGroup, lifespan_context: object) -> None:
        """Begin to serve.

        Args:
            host: Runs the sessions.
            lifespan_context: What the server's lifespan yielded.
        """
        self._host = host
        self._lifespan_context = lifespan_context
        if self._alone is not None:
            self._alone.lifespan_context = lifespan_context

    @property
    def open_sessions(self) -> int:
        """How many sessions are open."""
        return len(self._sessions)

    async def stop(self) -> None:
        """End every session and every request at once."""
        if self._alone is not None:
            self._alone.stop()
        async with anyio.create_task_group() as group:
            for session in list(self._sessions.values()):
                group.start_soon(session.shut_down)

    # POST

    async def post(
        self, found: LegacyMessage, http_scope: Scope, headers: ASGIHeaders, body: bytes, receive: Receive, send: Send
    ) -> None:
        """Serve one message."""
        request_id = found.message.request_id if isinstance(found.message, Request) else None
        try:
            if not isinstance(found.message, Request):
                await self._take_in([found.message], found.version, _arrival(http_scope, headers, body, receive))
                await send_body(send, 202, b"")
                return
            outlet = self._outlet(headers, receive, send, opens=found.message.method == "initialize")
            arrival = _arrival(http_scope, headers, body, outlet.receive_disconnect)
            if self._alone is not None:
                await self._alone.serve(found.message, found.version, arrival, outlet)
            else:
                await self._serve_in_session(found.message, found.version, arrival, outlet)
        except Refusal as refusal:
            await _refuse(send, refusal, headers, request_id)

    async def post_batch(
        self, batch: LegacyBatch, http_scope: Scope, headers: ASGIHeaders, body: bytes, receive: Receive, send: Send
    ) -> None:
        """Serve the messages of one body (2025-03-26 transports: "Sending Messages to the Server")."""
        try:
            arrival = _arrival(http_scope, headers, body, receive)
            self._check_batch(batch, arrival)
            if not batch.has_requests:
                await self._take_in(batch.items, batch.version, arrival)
                await send_body(send, 202, b"")
                return
            outlet = self._outlet(headers, receive, send, opens=False)
            arrival = _arrival(http_scope, headers, body, outlet.receive_disconnect)
            if self._alone is not None:
                await self._alone.serve_batch(batch.items, batch.version, arrival, outlet)
                return
            session = self._session(arrival)
            session.note_version(batch.version)
            await session.batch(batch.items, arrival, outlet)
            _check_answered(outlet)
        except Refusal as refusal:
            await _refuse(send, refusal, headers, None)

    async def refuse(
        self, found: Rejection, http_scope: Scope, headers: ASGIHeaders, body: bytes, receive: Receive, send: Send
    ) -> None:
        """Refuse a body that holds no message; where it was meant as an answer, nobody waits for a better one."""
        if self._alone is None:
            arrival = _arrival(http_scope, headers, body, receive)
            with suppress(Refusal):  # from whoever speaks for no session
                session = self._session(arrival)
                if (answer := spoiled_answer(body)) is not None:
                    await session.deliver(answer, arrival)
        await reject(send, found, headers)

    def _check_batch(self, batch: LegacyBatch, arrival: Arrival) -> None:
        version = batch.version or DEFAULT_LEGACY_VERSION
        if self._alone is None:
            # Nothing that may come before a session comes in a batch.
            known = arrival.headers.first(_SESSION_ID) is not None
            version = (self._session(arrival).version if known else None) or ""
        if not knows_batches(version):
            raise Refusal(400, INVALID_MESSAGE_TEXT)
        if any(isinstance(item, Request) and item.method == "initialize" for item in batch.items):
            raise Refusal(400, "initialize must not be part of a batch; send it by itself")

    def _outlet(self, headers: ASGIHeaders, receive: Receive, send: Send, *, opens: bool) -> Outlet:
        accepted = negotiate_accept(headers.first(b"accept"))
        if accepted is None:
            wanted = "application/json" if self._json_response else "both application/json and text/event-stream"
            raise Refusal(406, f"Not Acceptable: Client must accept {wanted}")
        as_json = accepted == "json" or (self._json_response and accepted == "both")
        response = ResponseStream(send, accepts_json=as_json, accepts_sse=not as_json, prefers_sse=not as_json)
        # A comment would begin the response to `initialize` before it is known whether there is a session to name.
        return Outlet(response, receive, math.inf if opens else self._keep_alive_interval)

    async def _serve_in_session(self, request: Request, version: str | None, arrival: Arrival, outlet: Outlet) -> None:
        if request.method == "initialize" and arrival.headers.first(_SESSION_ID) is None:
            session = await self._open(arrival)
            try:
                await session.request(request, arrival, outlet)
            finally:
                if session.version is None or not arrival.was_answered:
                    self._give_up(session)
        else:
            session = self._session(arrival)
            session.note_version(version)
            if session.is_serving(request.request_id):
                raise Refusal(400, IN_FLIGHT)
            await session.request(request, arrival, outlet)
        _check_answered(outlet)

    async def _open(self, arrival: Arrival) -> SessionStreams:
        if self._max_sessions is not None and len(self._sessions) >= self._max_sessions:
            raise Refusal(503, "Too many open sessions", INTERNAL_ERROR)
        assert self._server is not None
        session = LegacySession(
            self._server,
            lifespan_context=self._lifespan_context,
            storage=self._storage,
            principal=principal_of(arrival.http_request.scope),
        )
        assert self._host is not None
        self._sessions[session.session_id] = session
        await self._host.start(session.run, self._idle_timeout, self._forget)
        return session

    def _give_up(self, session: SessionStreams) -> None:
        """End a session that was refused, or whose client left before it heard of it."""
        session.end()

    def _forget(self, session: LegacySession) -> None:
        self._sessions.pop(session.session_id, None)

    def _session(self, arrival: Arrival) -> SessionStreams:
        session_id = arrival.headers.first(_SESSION_ID)
        if session_id is None:
            raise Refusal(400, "Bad Request: Missing session ID")
        session = self._sessions.get(session_id)
        # security: a session is no proof of who its client is, and belongs to whoever opened it.
        if session is None or session.is_over or session.principal != principal_of(arrival.http_request.scope):
            self._lost.report(session_id, is_open=session is not None and not session.is_over)
            # The same for a session that is somebody else's.
            raise Refusal(404, "Session not found", cure=IN_ANOTHER_WORKER if self.is_one_of_several else None)
        return session

    async def _take_in(self, messages: Iterable[Message | Rejection], version: str | None, arrival: Arrival) -> None:
        if self._alone is not None:
            await self._alone.take_in(messages, version, arrival)
            return
        session = self._session(arrival)
        session.note_version(version)
        for message in messages:
            if not isinstance(message, Rejection):
                await session.deliver(message, arrival)

    # GET, DELETE, and what is neither

    async def serve_other(self, http_scope: Scope, headers: ASGIHeaders, receive: Receive, send: Send) -> None:
        """Serve a request that is no POST."""
        version = headers.first(_VERSION)
        if version in MODERN_PROTOCOL_VERSIONS:
            await send_body(send, 405, b"", _ALLOW_POST)  # streamable-http: modern endpoints have nothing but POST
            return
        method = http_scope["method"]
        try:
            if method not in ("GET", "DELETE"):
                raise Refusal(405, "Method Not Allowed")
            if self._alone is not None:
                reason = "" if method == "GET" else ": Session termination not supported"
                raise Refusal(405, f"Method Not Allowed{reason}")
            if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
                error = unsupported_version(version)
                await send_json(send, 400, error_message(None, error.error))
                return
            if method == "GET":
                await self._get(http_scope, headers, version, receive, send)
            else:
                self._session(_arrival(http_scope, headers, b"", receive)).end()
                await send_body(send, 200, b"")
        except Refusal as refusal:
            allow = () if refusal.status != 405 else (_ALLOW_POST if self._alone is not None else _ALLOW_ALL,)
            await _refuse(send, refusal, headers, None, *allow)

    async def _get(
        self, http_scope: Scope, headers: ASGIHeaders, version: str | None, receive: Receive, send: Send
    ) -> None:
        if negotiate_accept(headers.first(b"accept")) not in ("sse", "both"):
            raise Refusal(406, "Not Acceptable: Client must accept text/event-stream")
        session = self._session(_arrival(http_scope, headers, b"", receive))
        session.note_version(version)
        response = ResponseStream(send, accepts_json=False, prefers_sse=True)
        outlet = Outlet(response, receive, self._keep_alive_interval)
        last_event_id = headers.first(b"last-event-id")
        if last_event_id and self._storage is not None:
            if not await session.resume(last_event_id, outlet):
                raise Refusal(404, "Unknown event id")
        elif session.has_standalone_stream:
            raise Refusal(409, "Conflict: Only one SSE stream is allowed per session")
        else:
            await session.listen(outlet)


def _arrival(http_scope: Scope, headers: ASGIHeaders, body: bytes, receive: Receive) -> Arrival:
    http_request = HTTPRequest(http_scope, receive)
    http_request._body = body
    return Arrival(http_request, headers)


def _check_answered(outlet: Outlet) -> None:
    if outlet.response.state is StreamState.UNDECIDED:
        raise Refusal(404, "Session not found")  # it ended while a client waited for a JSON document


def principal_of(http_scope: object) -> object:
    """Who a request speaks for; `None` where nobody is authenticated."""
    user = verified_user(http_scope)
    token = get_access_token() if user is None else user.access_token
    return None if token is None else principal_components(token)


async def _refuse(
    send: Send,
    refusal: Refusal,
    headers: ASGIHeaders,
    request_id: types.RequestId | None,
    *more_headers: tuple[bytes, bytes],
) -> None:
    null_id = refusal.status == 503 or errors_need_id(headers.first(_VERSION) or DEFAULT_LEGACY_VERSION)
    request_id = None if refusal.status == 503 else request_id
    message = error_message(request_id, refusal.error, null_id=null_id)
    await send_body(send, refusal.status, dumps(message), (b"content-type", b"application/json"), *more_headers)
