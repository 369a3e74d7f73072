"""What keeps the events of legacy streams, for clients that come back for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import mcp_types as types

GET_STREAM_KEY: Final = "_GET_stream"
REQUEST_CANCELLED: Final = -32800
"""The code of a legacy answer to a request that its client cancelled."""

StreamId: TypeAlias = str
EventId: TypeAlias = str


@dataclass
class EventMessage:
    """A stored message on its way back to a client.

    Attributes:
        message: The message.
        event_id: The id it was stored under; `None` leaves the event without one.
    """

    message: types.JSONRPCMessage
    event_id: EventId | None = None


EventCallback: TypeAlias = Callable[[EventMessage], Awaitable[None]]


class EventStore(ABC):
    """Keeps the events of legacy streams, so that a client can pick a stream up where it lost it.

    Modern streams are never resumed: a client issues its request anew.
    """

    @abstractmethod
    async def store_event(self, stream_id: StreamId, message: types.JSONRPCMessage | None) -> EventId:
        """Store an event; `message` is `None` for one that only marks a place.

        Returns:
            An id that is unique over all streams.
        """

    @abstractmethod
    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        """Send every event of a stream that came after one of its events.

        Returns:
            The stream's id; `None` if no such event is known.
        """
