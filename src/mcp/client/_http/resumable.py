"""What is remembered of an event stream, so that it can go on over another connection."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from mcp._protocol.sse import ServerSentEvent, SSEDecoder

logger = logging.getLogger(__name__)

DEFAULT_RECONNECTION_DELAY_MS: Final = 1000
"""How long to wait before asking for the rest of a stream, where the server does not say."""
DEFAULT_MAX_RECONNECTION_ATTEMPTS: Final = 2
_MAX_REMEMBERED: Final = 1000

OnToken: TypeAlias = Callable[[str], Awaitable[None]]
"""Told each event id: where to resume from."""


class StreamPosition:
    """How far one event stream has been read, over all its connections.

    Args:
        token: The id of the last event that was read before.
        on_token: Told each event id after its event was dealt with.
    """

    def __init__(self, token: str | None = None, on_token: OnToken | None = None) -> None:
        self.token = token
        self.advances = 0  # events and ids so far: whether a connection was of any use
        self._on_token = on_token
        self._retry: int | None = None
        self._read: deque[str] = deque(maxlen=_MAX_REMEMBERED)
        self._before: frozenset[str] = frozenset()

    @property
    def delay(self) -> float:
        """Seconds to wait before the next connection."""
        return (DEFAULT_RECONNECTION_DELAY_MS if self._retry is None else self._retry) / 1000

    def reconnected(self) -> None:
        """Note that a new connection begins: what was read before it may come again."""
        self._before = frozenset((*self._read, *(() if self.token is None else (self.token,))))

    def is_known(self, event: ServerSentEvent) -> bool:
        """Whether an event was read over an earlier connection."""
        return event.event_id in self._before

    async def read(self, event: ServerSentEvent) -> None:
        """Note that an event was dealt with."""
        self.advances += 1
        await self._move(event.event_id)

    async def read_chunk(self, decoder: SSEDecoder) -> None:
        """Note what a chunk said without an event: an id with no data, a time to wait."""
        if decoder.retry is not None:
            self._retry = decoder.retry
        await self._move(decoder.last_event_id)

    async def _move(self, event_id: str) -> None:
        if not event_id or event_id == self.token or event_id in self._before:
            return
        self.token = event_id
        self.advances += 1
        self._read.append(event_id)
        if self._on_token is not None:
            try:
                await self._on_token(event_id)
            except Exception:
                logger.exception("on_resumption_token_update raised")
