"""One legacy session over HTTP: a conversation whose messages come in as many POSTs.

The answer to a request goes out on the response of the POST that brought it, with everything that is said while the
request runs. The stand-alone stream, which a GET opens, carries the rest.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskStatus
from pydantic_core import PydanticSerializationError

import mcp_types as types
from mcp._engine.connection import Connection, progress_owner
from mcp._engine.scope import Ask, RequestScope
from mcp._protocol.era import LEGACY, polls_streams
from mcp._protocol.errors import Rejection
from mcp._protocol.handshake import Handshake
from mcp._protocol.jsonrpc import ErrorResponse, Message, Notification, Request, Response, error_message
from mcp._protocol.metadata import ClientFacts
from mcp._protocol.peer import CANCELLED
from mcp.server._handle import HandlerTable, handle_notification, handle_request
from mcp.server._http.arrival import FAREWELL_TIME, IN_FLIGHT, Arrival, rejected
from mcp.server._http.lost_sessions import beginning_of
from mcp.server._http.outlet import Outlet
from mcp.server._http.resumable import BatchStream, EventStream, Storage, replay_stream, write_replayed
from mcp.server.connection import ShownConnection
from mcp.server.streamable_http import GET_STREAM_KEY, REQUEST_CANCELLED
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST
from mcp_types.version import LATEST_HANDSHAKE_VERSION

logger = logging.getLogger(__name__)

_UNKNOWN = ClientFacts(LATEST_HANDSHAKE_VERSION, types.ClientCapabilities.model_construct())


class LegacySession:
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
        self.session_id = secrets.token_hex(16)
        self.principal = principal
        self._server = server
        self._lifespan_context = lifespan_context
        self._storage = storage
        self._handshake = Handshake()
        self._connection = Connection(self._send, self._admit, self._take_note)
        self._arrivals: dict[types.RequestId, Arrival] = {}
        self._arriving: Arrival | None = None  # while its message is being delivered
        self._standalone = EventStream(f"{self.session_id}/{GET_STREAM_KEY}", storage, self._polls)
        self._channel = _StandaloneChannel(self._connection, self._standalone)
        self._shown = ShownConnection(self._channel, self._handshake, self.session_id)
        self._streams = {self._standalone.stream_id: self._standalone}
        self._streams_made = 0
        self._held = 0  # responses that are open
        self._last_traffic = anyio.current_time()
        self._was_warned = False
        self._over = anyio.Event()

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
                    await self._wait_until_over(idle_timeout)
                finally:
                    self.end()  # nothing is taken in any more once the connection is left
        except Exception:
            logger.exception("Session %s failed", beginning_of(self.session_id))
        finally:
            self.end()
            forget(self)

    async def _wait_until_over(self, idle_timeout: float | None) -> None:
        while not self._over.is_set():
            rest = idle_timeout
            if idle_timeout is not None and not self._held and not self._connection.is_working:
                rest = self._last_traffic + idle_timeout - anyio.current_time()
                if rest <= 0:
                    logger.info("Session %s idle timeout", self.session_id)
                    return
            with anyio.move_on_after(rest):
                await self._over.wait()

    @property
    def is_over(self) -> bool:
        """Whether the session has ended."""
        return self._over.is_set()

    @property
    def version(self) -> str | None:
        """The revision agreed on; `None` before the handshake."""
        return None if self._handshake.client is None else self._handshake.client.version

    def end(self) -> None:
        """End the session: what runs is cancelled, what is open ends without an answer."""
        self._over.set()
        for stream in self._streams.values():
            stream.end()

    async def shut_down(self) -> None:
        """End the session because the server stops, and tell those who wait for an answer."""
        error = types.ErrorData(code=INTERNAL_ERROR, message="The server is shutting down")
        with anyio.move_on_after(FAREWELL_TIME):
            for request_id in list(self._arrivals):
                await self._answer(request_id, error_message(request_id, error))
        self.end()

    def note_version(self, version: str | None) -> None:
        """Warn, once, of a client whose version header is not what was agreed on. It is served all the same."""
        agreed = self.version
        if version is None or agreed is None or version == agreed or self._was_warned:
            return
        self._was_warned = True
        logger.warning(
            "A client of session %s sends MCP-Protocol-Version %s, but %s was agreed on",
            beginning_of(self.session_id),
            version,
            agreed,
        )

    def _polls(self) -> bool:
        version = self.version
        return version is not None and polls_streams(version)

    # What arrives

    def is_serving(self, request_id: types.RequestId) -> bool:
        """Whether a request with this id is in progress."""
        return request_id in self._arrivals

    async def request(self, request: Request, arrival: Arrival, outlet: Outlet) -> None:
        """Serve a request; returns when its response has ended, which may be before the request has."""
        self._streams_made += 1
        arrival.opens = self._streams_made == 1
        arrival.takes_events = outlet.takes_events
        storage = self._storage if arrival.takes_events else None
        stream = EventStream(f"{self.session_id}/{self._streams_made}", storage, self._polls, outlet)
        arrival.stream = stream
        self._arrivals[request.request_id] = arrival
        self._streams[stream.stream_id] = stream
        if storage is not None and not arrival.opens:
            await stream.open()
        await self.deliver(request, arrival)
        if self.is_over:
            stream.end()
        await self._hold(outlet)

    async def batch(self, items: Sequence[Message | Rejection], arrival: Arrival, outlet: Outlet) -> None:
        """Serve the messages of one POST, requests among them; returns when its response has ended."""
        self._streams_made += 1
        arrival.takes_events = outlet.takes_events
        storage = self._storage if arrival.takes_events else None
        answers = sum(isinstance(item, Request | Rejection) for item in items)
        stream = BatchStream(f"{self.session_id}/{self._streams_made}", storage, self._polls, outlet, answers)
        self._streams[stream.stream_id] = stream
        if storage is not None:
            await stream.open()
        for item in items:
            if isinstance(item, Request) and self.is_serving(item.request_id):
                item = Rejection(400, INVALID_REQUEST, IN_FLIGHT, None, item.request_id)
            if isinstance(item, Rejection):
                await self._say_last(stream, rejected(item))
            elif isinstance(item, Request):
                own = self._arrivals[item.request_id] = replace(arrival, stream=stream)
                await self.deliver(item, own)
            else:
                await self.deliver(item, arrival)
        if self.is_over:
            stream.end()
        await self._hold(outlet)

    async def deliver(self, message: Request | Notification | Response | ErrorResponse, arrival: Arrival) -> None:
        """Take in one message."""
        await self._connection.wait_for_room()
        self._last_traffic = anyio.current_time()
        if self.is_over:
            return
        self._arriving = arrival
        try:
            self._connection.deliver(message)
        finally:
            self._arriving = None

    @property
    def has_standalone_stream(self) -> bool:
        """Whether the stand-alone stream is open."""
        return self._standalone.is_open

    async def listen(self, outlet: Outlet) -> None:
        """Open the stand-alone stream; returns when it was closed."""
        self._standalone.outlet = outlet
        await self._standalone.open()
        await self._hold(outlet)

    async def resume(self, last_event_id: str, outlet: Outlet) -> bool:
        """Let a stream go on where a client lost it; returns when it was closed.

        Returns:
            Whether the event is one of this session's.
        """
        if self._storage is None:
            return False
        found = await replay_stream(self._storage.store, last_event_id)
        if found is None or not found[0].startswith(f"{self.session_id}/"):
            return False
        stream_id, events = found
        stream = self._streams.get(stream_id)
        if stream is not None:
            await stream.pick_up(last_event_id, events, outlet)
        else:
            await write_replayed(events, outlet)
            outlet.close()
        await self._hold(outlet)
        return True

    async def _hold(self, outlet: Outlet) -> None:
        self._held += 1
        try:
            await outlet.hold()
        finally:
            self._held -= 1
            self._last_traffic = anyio.current_time()

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
                    await self._answer(scope.request_id, error_message(scope.request_id, error))

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
            await self._answer(message["id"], message)

    async def _answer(self, request_id: types.RequestId, message: dict[str, Any]) -> None:
        arrival = self._arrivals.pop(request_id, None)
        if arrival is None or arrival.stream is None:
            return
        stream = arrival.stream
        if arrival.opens and stream.outlet is not None and "result" in message and self.version is not None:
            stream.outlet.response.more_headers = ((b"mcp-session-id", self.session_id.encode()),)
        arrival.was_answered = stream.is_open
        await self._say_last(stream, message)

    async def _say_last(self, stream: EventStream, message: dict[str, Any]) -> None:
        try:
            await _send_last(stream, message)
        except anyio.BrokenResourceError:
            logger.debug("The client left before its answer was sent")
        except Exception:
            logger.exception("An answer of session %s was not sent", beginning_of(self.session_id))
            stream.end()
        finally:
            if stream.is_answered:
                self._streams.pop(stream.stream_id, None)


async def _send_last(stream: EventStream, message: dict[str, Any]) -> None:
    try:
        await stream.send(message, last=True)
    except (ValueError, PydanticSerializationError):
        logger.exception("An answer has no JSON form")
        error = types.ErrorData(code=INTERNAL_ERROR, message="Internal server error")
        await stream.send(error_message(message["id"], error), last=True)


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
