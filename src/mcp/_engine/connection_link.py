"""A client's link over a pipe: one conversation in which the server may also ask, and tell."""

from __future__ import annotations

import logging
from collections import deque
from types import TracebackType
from typing import Any

import anyio

from mcp._engine.connection import Connection, OnRequest, Send, Work, progress_owner
from mcp._engine.link import OnFault, OnNotification, OutgoingRequest
from mcp._engine.mailbox import MAX_UNHEARD, Hear
from mcp._protocol.errors import method_not_found
from mcp._protocol.jsonrpc import ErrorResponse, Message, Notification, Request
from mcp._protocol.listen import subscription_id_of
from mcp._protocol.peer import CANCELLED

logger = logging.getLogger(__name__)


class ConnectionLink:
    """Enter it, `attach` who answers and listens, give it what arrives, leave it when the pipe has ended.

    A notification that belongs to a request of the client (progress by its token, a subscription by its id) is heard
    inside that exchange, in order and before it returns. All others are heard by one task, in order.

    Args:
        send: Writes one message in wire form.
    """

    network_transport = "pipe"  # for spans

    def __init__(self, send: Send) -> None:
        self._connection = Connection(send, self._admit, self._take_note)
        self._on_request: OnRequest = _refuse
        self._hear: Hear | None = None
        self._on_fault: OnFault | None = None
        self._notes: deque[Notification | Exception] = deque()
        self._noted = anyio.Event()
        self._dropping = False  # one warning is enough until everything has been heard

    async def __aenter__(self) -> ConnectionLink:
        await self._connection.__aenter__()
        self._connection.start(self._tell)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._connection.__aexit__(exc_type, exc, traceback)

    def attach(self, on_request: OnRequest, hear: Hear, on_fault: OnFault | None = None) -> None:
        """Say who answers the server's requests, who hears what belongs to no request, and who hears of faults."""
        self._on_request = on_request
        self._hear = hear
        self._on_fault = on_fault

    @property
    def is_open(self) -> bool:
        """Whether the server can still be reached."""
        return self._connection.is_open

    def receive(self, message: Message) -> None:
        """Take in one message."""
        if isinstance(message, ErrorResponse) and message.request_id is None:
            # The server could not read what it was sent, and cannot say which request that was.
            self.fault(message.as_exception())
            return
        self._connection.deliver(message)

    def fault(self, error: Exception) -> None:
        """Take in something that is no message, or is about none."""
        self._note(error)

    async def closed(self, why: str | None = None) -> None:
        """Note that nothing more arrives, as the server closed its side or because of `why`: all that waits fails."""
        await self._connection.finish(0, why)

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        """Send a request and wait for its response; cancelling the caller tells the server."""
        return await self._connection.request(
            request.method,
            request.params,
            request_id=request.request_id,
            hear=on_notification,
            reason=lambda: request.cancel_reason,
        )

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        """Send a notification."""
        await self._connection.notify(method, params)

    def _admit(self, request: Request) -> Work:
        return self._on_request(request)

    def _take_note(self, notification: Notification) -> None:
        if notification.method == CANCELLED:
            return  # the request it names has been stopped already
        owner = progress_owner(notification)
        if owner is None:
            owner = subscription_id_of(notification.params)
        if owner is not None and self._connection.pass_on(owner, notification):
            return
        self._note(notification)

    def _note(self, note: Notification | Exception) -> None:
        if len(self._notes) == MAX_UNHEARD:
            if not self._dropping:
                self._dropping = True
                logger.warning("More than %d notifications wait to be heard; dropping the oldest", MAX_UNHEARD)
            self._notes.popleft()
        self._notes.append(note)
        self._noted.set()

    async def _tell(self) -> None:
        while True:
            await self._noted.wait()
            while self._notes:
                note = self._notes.popleft()
                if isinstance(note, Exception):
                    logger.debug("The transport delivered a fault: %r", note)
                    if self._on_fault is not None:
                        await self._on_fault(note)
                elif self._hear is not None:
                    await self._hear(note.method, note.params)
            self._dropping = False
            self._noted = anyio.Event()


def _refuse(request: Request) -> Work:
    raise method_not_found(request.method)
