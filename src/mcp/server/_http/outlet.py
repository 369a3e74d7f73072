"""One HTTP response that a legacy stream goes out on.

The task that received the HTTP request holds it open, other tasks write to it. Nothing that runs depends on it: unlike
in the modern era, a client that goes away cancels nothing (legacy transports: "Sending Messages to the Server").
"""

from __future__ import annotations

import anyio

from mcp.server._http.asgi import Message, Receive
from mcp.server._http.response_stream import ResponseStream, StreamState


class Outlet:
    """A response that stays open until its stream is done with it or its client leaves.

    Args:
        response: The response.
        receive: The ASGI receive function, its request body already read.
        keep_alive_interval: Seconds of silence between two comments.
    """

    __slots__ = ("_closing", "_interval", "_left", "_receive", "response")

    def __init__(self, response: ResponseStream, receive: Receive, keep_alive_interval: float) -> None:
        self.response = response
        self._receive = receive
        self._interval = keep_alive_interval
        self._closing = anyio.Event()
        self._left = anyio.Event()

    @property
    def is_open(self) -> bool:
        """Whether what is written now may still reach the client."""
        return not self._closing.is_set() and self.response.state is not StreamState.DONE

    @property
    def takes_events(self) -> bool:
        """Whether more than one message can be written."""
        return self.response.accepts_sse

    def close(self) -> None:
        """Let the task that holds the response end it."""
        self._closing.set()

    async def receive_disconnect(self) -> Message:
        """An ASGI receive function for the handler: only the end of the connection is left to receive."""
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def hold(self) -> None:
        """Keep the response open, in the task that received its request."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._listen)
                while not self._closing.is_set():
                    with anyio.move_on_after(self._interval):
                        await self._closing.wait()
                    if not self._closing.is_set():
                        await self.response.keep_alive()
                await self.response.end()
                group.cancel_scope.cancel()
        finally:
            self._closing.set()  # also when the ASGI server gave the request up

    async def _listen(self) -> None:
        try:
            while (await self._receive())["type"] != "http.disconnect":
                pass
        except OSError:
            pass
        self._left.set()
        self.response.abandon()
        self._closing.set()
