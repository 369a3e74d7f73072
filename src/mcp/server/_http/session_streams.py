"""The HTTP side of one legacy session: a response for each request, and the stand-alone stream.

The answer to a request goes out on the response of the POST that brought it, with everything that is said while the
request runs. The stand-alone stream, which a GET opens, carries the rest.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import anyio
from pydantic_core import PydanticSerializationError

import mcp_types as types
from mcp._protocol.era import polls_streams
from mcp._protocol.errors import Rejection
from mcp._protocol.jsonrpc import Message, Request, error_message
from mcp.server._http.arrival import IN_FLIGHT, Arrival, rejected
from mcp.server._http.event_store import GET_STREAM_KEY
from mcp.server._http.lost_sessions import beginning_of
from mcp.server._http.outlet import Outlet
from mcp.server._http.resumable import BatchStream, EventStream, Storage, replay_stream, write_replayed
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST

logger = logging.getLogger(__name__)


class SessionStreams(ABC):
    """The streams of one session. What serves its messages is a subclass's.

    Args:
        session_id: Names the session.
        storage: Keeps events for clients that come back; `None` without an event store.
        principal: Who opened the session; `None` where nobody is authenticated.

    Attributes:
        session_id: Names the session.
        principal: Who opened it.
    """

    def __init__(self, session_id: str, *, storage: Storage | None, principal: object) -> None:
        self.session_id = session_id
        self.principal = principal
        self._storage = storage
        self._arrivals: dict[types.RequestId, Arrival] = {}
        self._standalone = EventStream(f"{session_id}/{GET_STREAM_KEY}", storage, self._polls)
        self._streams = {self._standalone.stream_id: self._standalone}
        self._streams_made = 0
        self._held = 0  # responses that are open
        self._last_traffic = anyio.current_time()
        self._was_warned = False
        self._over = anyio.Event()

    @property
    @abstractmethod
    def version(self) -> str | None:
        """The revision agreed on; `None` before the handshake."""

    @property
    @abstractmethod
    def is_working(self) -> bool:
        """Whether a request of the client runs that does not wait for the client itself."""

    @abstractmethod
    async def take_in(self, message: Message, arrival: Arrival) -> None:
        """Let one message be served."""

    # Its life

    async def wait_until_over(self, idle_timeout: float | None) -> None:
        """Return when the session has ended, or nothing has happened for `idle_timeout` seconds."""
        while not self._over.is_set():
            rest = idle_timeout
            if idle_timeout is not None and not self._held and not self.is_working:
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

    def end(self) -> None:
        """End the session: what runs is cancelled, what is open ends without an answer."""
        self._over.set()
        for stream in self._streams.values():
            stream.end()

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

    async def deliver(self, message: Message, arrival: Arrival) -> None:
        """Take in one message, unless the session has ended."""
        self._last_traffic = anyio.current_time()
        if not self.is_over:
            await self.take_in(message, arrival)

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

    @property
    def opening_headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """What the response to `initialize` has besides the usual headers."""
        return ((b"mcp-session-id", self.session_id.encode()),)

    async def answer(self, request_id: types.RequestId, message: dict[str, Any]) -> None:
        """End the response of a request with its answer."""
        arrival = self._arrivals.pop(request_id, None)
        if arrival is None or arrival.stream is None:
            return
        stream = arrival.stream
        if arrival.opens and stream.outlet is not None and "result" in message and self.version is not None:
            stream.outlet.response.more_headers = self.opening_headers
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
