"""One legacy session over HTTP: a conversation whose messages come in as many POSTs."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskStatus

import mcp_types as types
from mcp._engine.connection import Connection, progress_owner
from mcp._engine.scope import Ask, RequestScope
from mcp._protocol.era import LEGACY
from mcp._protocol.handshake import Handshake
from mcp._protocol.jsonrpc import Message, Notification, Request, error_message
from mcp._protocol.metadata import ClientFacts
from mcp._protocol.peer import CANCELLED
from mcp.server._handle import HandlerTable, handle_notification, handle_request
from mcp.server._http.arrival import FAREWELL_TIME, Arrival
from mcp.server._http.event_store import REQUEST_CANCELLED
from mcp.server._http.lost_sessions import beginning_of
from mcp.server._http.resumable import EventStream, Storage
from mcp.server._http.session_streams import SessionStreams
from mcp.server.connection import ShownConnection
from mcp_types import INTERNAL_ERROR
from mcp_types.version import LATEST_HANDSHAKE_VERSION

logger = logging.getLogger(__name__)

_UNKNOWN = ClientFacts(LATEST_HANDSHAKE_VERSION, types.ClientCapabilities.model_construct())


class LegacySession(SessionStreams):
    """The server's side of one session.

    Args:
        server: The server.
        lifespan_context: What its lifespan yielded.
        storage: Keeps events for clients that come back; `None` without an event store.
        principal: Who opened the session; `None` where nobody is authenticated.
    """

    def __init__(
        self, server: HandlerTable, *, lifespan_context: object, storage: Storage | None, principal: object
    ) -> None:
        super().__init__(secrets.token_hex(16), storage=storage, principal=principal)
        self._server = server
        self._lifespan_context = lifespan_context
        self._handshake = Handshake()
        self._connection = Connection(self._send, self._admit, self._take_note)
        self._arriving: Arrival | None = None  # while its message is being delivered
        self._channel = _StandaloneChannel(self._connection, self._standalone)
        self._shown = ShownConnection(self._channel, self._handshake, self.session_id)

    # Its life

    async def run(
        self,
        idle_timeout: float | None,
        forget: Callable[[LegacySession], None],
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Live until the session is ended, or nothing has happened for `idle_timeout` seconds; then be forgotten."""
        try:
            async with self._connection:
                task_status.started()
                try:
                    await self.wait_until_over(idle_timeout)
                finally:
                    self.end()  # nothing is taken in any more once the connection is left
        except Exception:
            logger.exception("Session %s failed", beginning_of(self.session_id))
        finally:
            self.end()
            forget(self)

    @property
    def version(self) -> str | None:
        """The revision agreed on; `None` before the handshake."""
        return None if self._handshake.client is None else self._handshake.client.version

    @property
    def is_working(self) -> bool:
        """Whether a request of the client runs that does not wait for the client itself."""
        return self._connection.is_working

    async def shut_down(self) -> None:
        """End the session because the server stops, and tell those who wait for an answer."""
        error = types.ErrorData(code=INTERNAL_ERROR, message="The server is shutting down")
        with anyio.move_on_after(FAREWELL_TIME):
            for request_id in list(self._arrivals):
                await self.answer(request_id, error_message(request_id, error))
        self.end()

    async def take_in(self, message: Message, arrival: Arrival) -> None:
        """Let one message be served."""
        await self._connection.wait_for_room()
        if self.is_over:
            return
        self._arriving = arrival
        try:
            self._connection.deliver(message)
        finally:
            self._arriving = None

    # The conversation

    def _admit(self, request: Request) -> Callable[[], Any]:
        arrival = self._arriving
        assert arrival is not None
        assert arrival.stream is not None
        client = self._handshake.admit(request)
        scope = self._scope(request.method, request.params, client, arrival)
        scope.request_id = request.request_id
        if arrival.opens:
            return partial(self._handle, scope, arrival)  # its response begins with the answer, which names the session
        scope.notify = arrival.stream.notify
        if arrival.takes_events:
            scope.ask = partial(self._connection.ask, via=arrival.stream.send)
            if self._storage is not None and self._polls():
                scope.close_stream = arrival.stream.drop
                scope.close_channel = self._standalone.drop
        return partial(self._handle, scope, arrival)

    async def _handle(self, scope: RequestScope, arrival: Arrival) -> dict[str, Any]:
        try:
            return await handle_request(self._server, scope)
        finally:
            if arrival.was_cancelled and scope.request_id is not None:
                # A request that was taken back gets no answer, but its response has to end somehow.
                error = types.ErrorData(code=REQUEST_CANCELLED, message="Request cancelled")
                with anyio.move_on_after(FAREWELL_TIME, shield=True):
                    await self.answer(scope.request_id, error_message(scope.request_id, error))

    def _take_note(self, notification: Notification) -> None:
        arrival = self._arriving
        assert arrival is not None
        if notification.method == "notifications/initialized":
            self._handshake.initialized = True
        elif notification.method == CANCELLED:
            cancelled = self._arrivals.get((notification.params or {})["requestId"])
            if cancelled is not None:
                cancelled.was_cancelled = True
        owner = progress_owner(notification)
        if owner is not None:
            self._connection.pass_on(owner, notification)
        client = self._handshake.client or _UNKNOWN
        scope = self._scope(notification.method, notification.params, client, arrival)
        self._connection.start_note(handle_notification, self._server, scope)

    def _scope(self, method: str, params: dict[str, Any] | None, client: ClientFacts, arrival: Arrival) -> RequestScope:
        return RequestScope(
            method=method,
            params=params,
            request_id=None,
            version=client.version,
            era=LEGACY,
            client=client,
            notify=self._connection.notify,
            channel=self._channel,
            handshake=self._handshake,
            lifespan_context=self._lifespan_context,
            request=arrival.http_request,
            headers=arrival.headers,
            connection=self._shown,
        )

    async def _send(self, message: dict[str, Any]) -> None:
        if "method" in message:
            await self._standalone.send(message)
        else:
            await self.answer(message["id"], message)


class _StandaloneChannel:
    """The stand-alone stream, as handlers know it."""

    __slots__ = ("_connection", "_stream")

    def __init__(self, connection: Connection, stream: EventStream) -> None:
        self._connection = connection
        self._stream = stream

    @property
    def is_open(self) -> bool:
        return self._stream.is_open

    @property
    def ask(self) -> Ask:
        return self._connection.ask

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        await self._stream.notify(method, params)
