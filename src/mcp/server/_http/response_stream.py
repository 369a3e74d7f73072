"""One HTTP response to one exchange: undecided at first, then one JSON document or a stream of events."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

import anyio

from mcp._protocol.jsonrpc import dumps, notification_message
from mcp._protocol.sse import KEEP_ALIVE, encode_event
from mcp.server._http.asgi import JSON_TYPE, Send, send_body

logger = logging.getLogger(__name__)

# What servers, and middleware around the application, raise for a connection that is gone.
_GONE = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)

# no-transform and X-Accel-Buffering keep proxies from holding events back. streamable-http: Receiving Messages
_SSE_HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


class StreamState(Enum):
    """How far a response has come."""

    UNDECIDED = auto()
    SSE = auto()
    DONE = auto()


class ResponseStream:
    """The response side of one exchange.

    The first thing that goes out before the final message commits the response to server-sent events; an exchange that
    only has a final message is answered with plain JSON.

    Args:
        send: The ASGI send function.
        accepts_json: Whether the client takes a JSON document.
        accepts_sse: Whether the client takes events. If not, notifications are dropped.
        prefers_sse: Whether the final result goes out as an event even if nothing came before it.

    Attributes:
        more_headers: What the response has beside the headers of its kind.
    """

    __slots__ = (
        "_send",
        "_turns",
        "_writing",
        "accepts_json",
        "accepts_sse",
        "last_write",
        "more_headers",
        "prefers_sse",
        "state",
    )

    def __init__(
        self, send: Send, *, accepts_json: bool = True, accepts_sse: bool = True, prefers_sse: bool = False
    ) -> None:
        self._send = send
        self.accepts_json = accepts_json
        self.accepts_sse = accepts_sse
        self.prefers_sse = prefers_sse
        self.more_headers: tuple[tuple[bytes, bytes], ...] = ()
        self.state = StreamState.UNDECIDED
        self.last_write = time.monotonic()
        self._writing = False
        self._turns: deque[anyio.Event] = deque()

    async def notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Send a notification ahead of the final message. After the end, and for clients without events, do nothing."""
        if self.accepts_sse and self.state is not StreamState.DONE:
            await self.write(encode_event(dumps(notification_message(method, params))))

    async def keep_alive(self) -> None:
        """Send a comment, so that nobody between here and the client takes silence for death."""
        # While an event waits for the socket the stream is not silent, it is full.
        if self.accepts_sse and self.state is not StreamState.DONE and not self._writing:
            await self.write(KEEP_ALIVE)

    async def finish(self, message: bytes, status: int = 200) -> None:
        """Send the final message and end the response.

        Args:
            message: The JSON-RPC response, encoded.
            status: The HTTP status, for a response that has not started yet.
        """
        if self.state is StreamState.DONE:
            return
        as_json = self.accepts_json and not (self.prefers_sse and status == 200)
        if self.state is StreamState.UNDECIDED and as_json and not self._writing:
            self.state = StreamState.DONE
            try:
                await send_body(self._send, status, message, JSON_TYPE, *self.more_headers)
            except _GONE:
                logger.debug("The client left before its answer was sent")
        else:
            await self.write(encode_event(message), status=status, last=True)

    def abandon(self) -> None:
        """Send nothing more: the client is gone."""
        self.state = StreamState.DONE

    async def end(self) -> None:
        """End a stream without a final message. A client that waits for a JSON document still waits for it."""
        if self.accepts_sse and self.state is not StreamState.DONE:
            await self.write(b"", last=True)

    async def write(self, event: bytes, *, status: int = 200, last: bool = False) -> None:
        """Send an event that is encoded already.

        Args:
            event: The bytes; none only open the stream.
            status: The HTTP status, for a response that has not started yet.
            last: Whether the response ends with it.
        """
        await self._take_turn()
        try:
            if self.state is StreamState.DONE:
                return
            if self.state is StreamState.UNDECIDED:
                # Servers wait for the socket first and write then, so a wait that is cancelled has started nothing.
                headers = [*_SSE_HEADERS, *self.more_headers]
                await self._send({"type": "http.response.start", "status": status, "headers": headers})
            self.state = StreamState.DONE if last else StreamState.SSE
            await self._send({"type": "http.response.body", "body": event, "more_body": not last})
            self.last_write = time.monotonic()
        except _GONE:
            logger.debug("The client left while its response was being sent")
            self.abandon()
        finally:
            self._pass_turn()

    # A lock, made by hand: anyio's costs more than the rest of a write, and here it is nearly always free.

    async def _take_turn(self) -> None:
        while self._writing:
            turn = anyio.Event()
            self._turns.append(turn)
            try:
                await turn.wait()
            except BaseException:
                if turn.is_set():
                    self._wake_next()
                else:
                    self._turns.remove(turn)
                raise
        self._writing = True

    def _pass_turn(self) -> None:
        self._writing = False
        self._wake_next()

    def _wake_next(self) -> None:
        if self._turns and not self._writing:
            self._turns.popleft().set()
