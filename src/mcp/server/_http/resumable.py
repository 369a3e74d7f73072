"""A stream of a legacy session, which outlives the HTTP responses it goes out on.

With an event store every event is stored before it is sent, and a client that lost its response comes back with the id
of the last event it saw (legacy transports: "Resumability and Redelivery").
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio

from mcp._engine.streams import to_model
from mcp._protocol.jsonrpc import dumps, notification_message
from mcp._protocol.sse import encode_event
from mcp.server._http.event_store import EventMessage, EventStore
from mcp.server._http.outlet import Outlet

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Storage:
    """Where events are kept, and how soon clients come back for them.

    Attributes:
        store: The store.
        retry_interval: Milliseconds that a client waits before it comes back; `None` for what it likes.
    """

    store: EventStore
    retry_interval: int | None


class EventStream:
    """One stream: of the answer to one request, or the stand-alone one.

    Args:
        stream_id: Names it; it begins with the session's id, so that a shared store cannot mix sessions up.
        storage: Keeps its events; `None` if what cannot be sent at once is lost.
        polls: Whether its client comes back for the rest of a stream that was dropped.
        outlet: The response it goes out on now.

    Attributes:
        stream_id: Names it.
        outlet: The response it goes out on now.
        is_answered: Whether the last message was given to it, if it has one.
        has_ended: Whether nothing can be sent any more.
    """

    __slots__ = ("_lock", "_polls", "_storage", "_was_primed", "has_ended", "is_answered", "outlet", "stream_id")

    def __init__(
        self, stream_id: str, storage: Storage | None, polls: Callable[[], bool], outlet: Outlet | None = None
    ) -> None:
        self.stream_id = stream_id
        self.outlet = outlet
        self.is_answered = False
        self.has_ended = False
        self._storage = storage
        self._polls = polls
        self._was_primed = False
        self._lock = anyio.Lock()  # keeps the order of the store the order of the wire

    @property
    def is_open(self) -> bool:
        """Whether what is sent now goes to the client at once."""
        return self.outlet is not None and self.outlet.is_open

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Send a notification; dropped if it can neither be sent nor stored."""
        try:
            await self.send(notification_message(method, params))
        except anyio.BrokenResourceError:
            logger.debug("Dropping %r: nobody reads the stream it belongs to", method)

    async def send(self, message: dict[str, Any], *, last: bool = False) -> None:
        """Store and send one message.

        Args:
            message: The message in wire form.
            last: Whether the stream ends with it.

        Raises:
            BrokenResourceError: It could neither be sent nor stored.
            ValueError: It has no JSON form.
        """
        data = dumps(message)
        self.is_answered = last
        await self._put(message, data, last=last)

    async def _put(self, message: dict[str, Any], data: bytes, *, last: bool) -> None:
        async with self._lock:
            if self.has_ended:
                raise anyio.BrokenResourceError
            await self._prime_once()
            event_id = await self._keep(message)
            self.has_ended = last
            outlet = self.outlet
            if outlet is None or not outlet.is_open:
                if event_id is None:
                    raise anyio.BrokenResourceError
            elif outlet.takes_events:
                await outlet.response.write(encode_event(data, event_id=event_id), last=last)
            elif last:
                await outlet.response.finish(data)
            if last and outlet is not None:
                outlet.close()

    async def open(self) -> None:
        """Open the response, with an event that marks the place where the client can pick the stream up."""
        async with self._lock:
            self._was_primed = False
            if not await self._prime_once() and self.outlet is not None:
                await self.outlet.response.write(b"")

    async def _prime_once(self) -> bool:
        if self._storage is None or self._was_primed or not self._polls():
            return False
        self._was_primed = True
        event_id = await self._keep(None)
        if event_id is not None and self.outlet is not None and self.outlet.is_open:
            event = encode_event(b"", event_id=event_id, retry=self._storage.retry_interval)
            await self.outlet.response.write(event)
        return event_id is not None

    async def _keep(self, message: dict[str, Any] | None) -> str | None:
        if self._storage is None:
            return None
        try:
            return await self._storage.store.store_event(self.stream_id, None if message is None else to_model(message))
        except Exception:
            logger.exception("The event store did not store an event; it is sent without an id")
            return None

    async def drop(self) -> None:
        """End the response, but not the stream: its client comes back for the rest."""
        if self.outlet is not None:
            self.outlet.close()

    def end(self) -> None:
        """End the stream without a last message."""
        self.has_ended = True
        if self.outlet is not None:
            self.outlet.close()

    async def pick_up(self, last_event_id: str, replayed: list[EventMessage], outlet: Outlet) -> None:
        """Send what was missed to a new response, and let the stream go on there.

        Args:
            last_event_id: The last event that the client saw.
            replayed: What the store has replayed after it.
            outlet: The new response.
        """
        assert self._storage is not None
        async with self._lock:
            # Nothing is stored while the lock is held: what was stored since the replay is all that may be missing.
            last = next((event.event_id for event in reversed(replayed) if event.event_id is not None), last_event_id)
            replayed += await replay(self._storage.store, last) or []
            await write_replayed(replayed, outlet)
            if self.has_ended or not outlet.is_open:
                outlet.close()
                return
            previous, self.outlet = self.outlet, outlet
            if previous is not None:
                previous.close()


class BatchStream(EventStream):
    """The stream of the answers to a batch: it ends with the last of them.

    A client that takes no events gets them all at once, as a batch (2025-03-26 transports: "Sending Messages").

    Args:
        stream_id: As for every stream, like what follows.
        storage: Keeps its events.
        polls: Whether its client comes back for the rest.
        outlet: The response it goes out on now.
        answers: How many answers there will be.
    """

    __slots__ = ("_answers_left", "_collected")

    def __init__(
        self, stream_id: str, storage: Storage | None, polls: Callable[[], bool], outlet: Outlet, answers: int
    ) -> None:
        super().__init__(stream_id, storage, polls, outlet)
        self._answers_left = answers
        self._collected: list[bytes] | None = None if outlet.takes_events else []

    async def send(self, message: dict[str, Any], *, last: bool = False) -> None:
        """Store and send one message.

        Args:
            message: The message in wire form.
            last: Whether it is an answer: the last one for its request.

        Raises:
            BrokenResourceError: It could neither be sent nor stored.
            ValueError: It has no JSON form.
        """
        data = dumps(message)
        if last:
            self._answers_left -= 1
        self.is_answered = not self._answers_left
        if self._collected is None:
            await self._put(message, data, last=self.is_answered)
        elif last:
            self._collected.append(data)
            if self.is_answered:
                await self._put(message, b"[" + b",".join(self._collected) + b"]", last=True)


async def replay(store: EventStore, last_event_id: str) -> list[EventMessage] | None:
    """Everything after an event; `None` if the store does not know the event."""
    found = await replay_stream(store, last_event_id)
    return None if found is None else found[1]


async def replay_stream(store: EventStore, last_event_id: str) -> tuple[str, list[EventMessage]] | None:
    """The id of an event's stream, and everything after the event; `None` if the store does not know it."""
    events: list[EventMessage] = []

    async def collect(event: EventMessage) -> None:
        events.append(event)

    stream_id = await store.replay_events_after(last_event_id, collect)
    return None if stream_id is None else (stream_id, events)


async def write_replayed(events: list[EventMessage], outlet: Outlet) -> None:
    """Write stored events."""
    await outlet.response.write(b"")
    for event in events:
        message: Any = event.message
        if message is None:  # a mark of a place, which stores may replay as well
            continue
        data = message.model_dump_json(by_alias=True, exclude_none=True)
        await outlet.response.write(encode_event(data, event_id=event.event_id))
