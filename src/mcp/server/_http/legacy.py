"""The legacy side of the endpoint: sessions by their id, and requests without any (`stateless`)."""

from __future__ import annotations

import logging
import math
from typing import Final

import anyio
from anyio.abc import TaskGroup
from pydantic_core import PydanticSerializationError
from starlette.requests import Request as HTTPRequest

from mcp._engine.scope import RequestScope
from mcp._protocol.era import LEGACY, errors_need_id
from mcp._protocol.handshake import Handshake
from mcp._protocol.headers import MCP_PROTOCOL_VERSION, MCP_SESSION_ID
from mcp._protocol.http_request import DEFAULT_LEGACY_VERSION, LegacyMessage, negotiate_accept
from mcp._protocol.jsonrpc import Notification, Request, dumps, error_message, result_message
from mcp._protocol.metadata import ClientFacts, unsupported_version
from mcp.server._handle import HandlerTable, handle_notification, handle_request
from mcp.server._http.asgi import ASGIHeaders, Receive, Scope, Send, send_body, send_json
from mcp.server._http.outlet import Outlet
from mcp.server._http.response_stream import ResponseStream, StreamState
from mcp.server._http.resumable import EventStream, Storage
from mcp.server._http.session import Arrival, LegacySession
from mcp.server.auth._access_token import principal_components
from mcp.server.auth.middleware.auth_context import get_access_token, verified_user
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, ClientCapabilities, ErrorData, RequestId
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

logger = logging.getLogger(__name__)

_SHOWN_OF_ID: Final = 8

_ALLOW_ALL: Final = (b"allow", b"GET, POST, DELETE")
_ALLOW_POST: Final = (b"allow", b"POST")
_SESSION_ID: Final = MCP_SESSION_ID.encode()
_VERSION: Final = MCP_PROTOCOL_VERSION.encode()
_FAREWELL_TIME: Final = 1.0
_NO_CAPABILITIES: Final = ClientCapabilities()


class _Refusal(Exception):
    """A request of HTTP that no session answers."""

    def __init__(self, status: int, message: str, code: int = INVALID_REQUEST) -> None:
        super().__init__(message)
        self.status = status
        self.error = ErrorData(code=code, message=message)


class LegacyEndpoint:
    """Serves the legacy messages of one server.

    Args:
        server: The server.
        json_response: Answer with JSON documents.
        stateless: Serve each request by itself.
        storage: Keeps the events of streams.
        idle_timeout: Seconds after which an idle session ends; `None` for never.
        max_sessions: How many sessions may be open; `None` for no limit.
        keep_alive_interval: Seconds of silence after which a comment is sent.
    """

    def __init__(
        self,
        server: HandlerTable,
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
        self._stateless = stateless
        self._storage = storage
        self._idle_timeout = idle_timeout
        self._max_sessions = max_sessions
        self._keep_alive_interval = keep_alive_interval
        self.lifespan_context: object = None
        self.host: TaskGroup | None = None  # the sessions' tasks
        self._sessions: dict[str, LegacySession] = {}
        self._alone: set[anyio.CancelScope] = set()  # requests without session

    @property
    def open_sessions(self) -> int:
        """How many sessions are open."""
        return len(self._sessions)

    async def stop(self) -> None:
        """End every session and every request at once."""
        for scope in list(self._alone):
            scope.cancel()
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
                await self._take_in(found, http_scope, headers, body, receive)
                await send_body(send, 202, b"")
                return
            outlet = self._outlet(headers, receive, send, opens=found.message.method == "initialize")
            arrival = _arrival(http_scope, headers, body, outlet.receive_disconnect)
            if self._stateless:
                await self._serve_alone(found.message, found.version or DEFAULT_LEGACY_VERSION, arrival, outlet)
            else:
                await self._serve_in_session(found.message, found.version, arrival, outlet)
        except _Refusal as refusal:
            await _refuse(send, refusal, headers, request_id)

    def _outlet(self, headers: ASGIHeaders, receive: Receive, send: Send, *, opens: bool) -> Outlet:
        accepted = negotiate_accept(headers.first(b"accept"))
        if accepted is None:
            wanted = "application/json" if self._json_response else "both application/json and text/event-stream"
            raise _Refusal(406, f"Not Acceptable: Client must accept {wanted}")
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
                    session.end()  # it was refused, or its client left before it heard of it
        else:
            session = self._session(arrival)
            session.note_version(version)
            if session.is_serving(request.request_id):
                raise _Refusal(400, "request id already in flight")
            await session.request(request, arrival, outlet)
        if outlet.response.state is StreamState.UNDECIDED:
            raise _Refusal(404, "Session not found")  # it ended while a client waited for a JSON document

    async def _open(self, arrival: Arrival) -> LegacySession:
        if self._max_sessions is not None and len(self._sessions) >= self._max_sessions:
            raise _Refusal(503, "Too many open sessions", INTERNAL_ERROR)
        session = LegacySession(
            self._server,
            lifespan_context=self.lifespan_context,
            storage=self._storage,
            principal=principal_of(arrival.http_request.scope),
        )
        assert self.host is not None
        self._sessions[session.session_id] = session
        await self.host.start(session.run, self._idle_timeout, self._forget)
        return session

    def _forget(self, session: LegacySession) -> None:
        self._sessions.pop(session.session_id, None)

    def _session(self, arrival: Arrival) -> LegacySession:
        session_id = arrival.headers.first(_SESSION_ID)
        if session_id is None:
            raise _Refusal(400, "Bad Request: Missing session ID")
        session = self._sessions.get(session_id)
        # security: a session is no proof of who its client is, and belongs to whoever opened it.
        if session is None or session.is_over or session.principal != principal_of(arrival.http_request.scope):
            # The id may be a living one that belongs to somebody else: whoever reads the log gets its beginning only.
            beginning = session_id[:_SHOWN_OF_ID] + "…" * (len(session_id) > _SHOWN_OF_ID)
            logger.info("Rejected request with unknown or expired session ID: %s", beginning)
            raise _Refusal(404, "Session not found")
        return session

    async def _take_in(
        self, found: LegacyMessage, http_scope: Scope, headers: ASGIHeaders, body: bytes, receive: Receive
    ) -> None:
        arrival = _arrival(http_scope, headers, body, receive)
        if not self._stateless:
            session = self._session(arrival)
            session.note_version(found.version)
            await session.deliver(found.message, arrival)
        elif isinstance(found.message, Notification):
            version = found.version or DEFAULT_LEGACY_VERSION
            scope = self._lone_scope(found.message, version, arrival, EventStream("", None, bool))
            await handle_notification(self._server, scope)

    # Requests without session

    def _lone_scope(
        self, message: Request | Notification, version: str, arrival: Arrival, stream: EventStream
    ) -> RequestScope:
        return RequestScope(
            method=message.method,
            params=message.params,
            request_id=message.request_id if isinstance(message, Request) else None,
            version=version,
            era=LEGACY,
            client=ClientFacts(version, _NO_CAPABILITIES),
            notify=stream.notify,
            handshake=Handshake(),
            lifespan_context=self.lifespan_context,
            request=arrival.http_request,
            headers=arrival.headers,
        )

    async def _serve_alone(self, request: Request, version: str, arrival: Arrival, outlet: Outlet) -> None:
        stream = EventStream("", None, bool, outlet)
        scope = self._lone_scope(request, version, arrival, stream)
        async with anyio.create_task_group() as group:
            group.start_soon(outlet.hold)
            with anyio.CancelScope() as running:
                self._alone.add(running)
                try:
                    message = await self._handle_alone(scope)
                finally:
                    self._alone.discard(running)
                await _finish(stream, message)
            if running.cancelled_caught:
                error = ErrorData(code=INTERNAL_ERROR, message="The server is shutting down")
                with anyio.move_on_after(_FAREWELL_TIME):
                    await _finish(stream, error_message(request.request_id, error))
            stream.end()

    async def _handle_alone(self, scope: RequestScope) -> dict[str, object]:
        assert scope.request_id is not None
        try:
            message = result_message(scope.request_id, await handle_request(self._server, scope))
            dumps(message)
        except MCPError as error:
            return error_message(scope.request_id, error.error)
        except (ValueError, PydanticSerializationError):
            logger.exception("the answer to %r has no JSON form", scope.method)
            return error_message(scope.request_id, ErrorData(code=INTERNAL_ERROR, message="Internal server error"))
        return message

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
                raise _Refusal(405, "Method Not Allowed")
            if self._stateless:
                reason = "" if method == "GET" else ": Session termination not supported"
                raise _Refusal(405, f"Method Not Allowed{reason}")
            if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
                error = unsupported_version(version)
                await send_json(send, 400, error_message(None, error.error))
                return
            if method == "GET":
                await self._get(http_scope, headers, version, receive, send)
            else:
                self._session(_arrival(http_scope, headers, b"", receive)).end()
                await send_body(send, 200, b"")
        except _Refusal as refusal:
            allow = () if refusal.status != 405 else (_ALLOW_POST if self._stateless else _ALLOW_ALL,)
            await _refuse(send, refusal, headers, None, *allow)

    async def _get(
        self, http_scope: Scope, headers: ASGIHeaders, version: str | None, receive: Receive, send: Send
    ) -> None:
        if negotiate_accept(headers.first(b"accept")) not in ("sse", "both"):
            raise _Refusal(406, "Not Acceptable: Client must accept text/event-stream")
        session = self._session(_arrival(http_scope, headers, b"", receive))
        session.note_version(version)
        response = ResponseStream(send, accepts_json=False, prefers_sse=True)
        outlet = Outlet(response, receive, self._keep_alive_interval)
        last_event_id = headers.first(b"last-event-id")
        if last_event_id and self._storage is not None:
            if not await session.resume(last_event_id, outlet):
                raise _Refusal(404, "Unknown event id")
        elif session.has_standalone_stream:
            raise _Refusal(409, "Conflict: Only one SSE stream is allowed per session")
        else:
            await session.listen(outlet)


def _arrival(http_scope: Scope, headers: ASGIHeaders, body: bytes, receive: Receive) -> Arrival:
    http_request = HTTPRequest(http_scope, receive)
    http_request._body = body
    return Arrival(http_request, headers)


def principal_of(http_scope: object) -> object:
    """Who a request speaks for; `None` where nobody is authenticated."""
    user = verified_user(http_scope)
    token = get_access_token() if user is None else user.access_token
    return None if token is None else principal_components(token)


async def _finish(stream: EventStream, message: dict[str, object]) -> None:
    try:
        await stream.send(message, last=True)
    except anyio.BrokenResourceError:
        logger.debug("The client left before its answer was sent")


async def _refuse(
    send: Send,
    refusal: _Refusal,
    headers: ASGIHeaders,
    request_id: RequestId | None,
    *more_headers: tuple[bytes, bytes],
) -> None:
    null_id = refusal.status == 503 or errors_need_id(headers.first(_VERSION) or DEFAULT_LEGACY_VERSION)
    request_id = None if refusal.status == 503 else request_id
    message = error_message(request_id, refusal.error, null_id=null_id)
    await send_body(send, refusal.status, dumps(message), (b"content-type", b"application/json"), *more_headers)
