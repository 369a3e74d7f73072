"""One conversation over one pipe: a task for each request of the peer, a slot for each of ours."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Final, TypeAlias

import anyio
from anyio.abc import TaskGroup

from mcp._protocol.jsonrpc import Message, Notification, Request, notification_message
from mcp._protocol.peer import (
    Answered,
    CancelRequested,
    Ignored,
    NotificationReceived,
    Peer,
    Refused,
    RequestReceived,
)
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, ErrorData, RequestId

logger = logging.getLogger(__name__)

Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
"""Writes one message in wire form; raises when the pipe is closed."""

Work: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
"""Handles one request that was admitted; raises `MCPError` for every failure."""

OnRequest: TypeAlias = Callable[[Request], Work]
"""Admits a request of the peer, at once and in order of arrival; raises `MCPError` to refuse it."""

OnNotification: TypeAlias = Callable[[Notification], Coroutine[Any, Any, None]]
"""Handles one notification of the peer; raises nothing."""

DEFAULT_MAX_IN_FLIGHT: Final = 1000
COURTESY_SECONDS: Final = 1.0
"""How long the last words to a peer that may be gone are allowed to take."""


class Connection:
    """Runs a conversation. Enter it, `deliver` what arrives, leave it when the pipe has ended.

    Args:
        send: Writes to the pipe.
        on_request: Admits a request of the peer; the work it returns runs in a task of its own.
        on_notification: Handles a notification of the peer, in a task of its own.
        max_in_flight: How many requests of the peer may run at once; beyond it `wait_for_room` waits.
    """

    def __init__(
        self,
        send: Send,
        on_request: OnRequest,
        on_notification: OnNotification,
        *,
        max_in_flight: int = DEFAULT_MAX_IN_FLIGHT,
    ) -> None:
        self._send = send
        self._on_request = on_request
        self._on_notification = on_notification
        self._max_in_flight = max_in_flight
        self._peer = Peer()
        self._tasks: TaskGroup | None = None
        self._scopes: dict[RequestId, anyio.CancelScope] = {}
        self._slots: dict[RequestId, _Slot] = {}
        self._running = 0  # requests of the peer that have not been answered yet
        self._asking = 0  # of these, how many wait for the peer
        self._ended = anyio.Event()  # replaced each time a request of the peer ends

    async def __aenter__(self) -> Connection:
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        assert self._tasks is not None
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(exc_type, exc, traceback)

    # What arrives

    def deliver(self, message: Message) -> None:
        """Take in one message. Work it starts runs in tasks that inherit the caller's context variables."""
        assert self._tasks is not None, "enter the connection first"
        event = self._peer.receive(message)
        if isinstance(event, RequestReceived):
            self._start(self._tasks, event.request)
        elif isinstance(event, NotificationReceived):
            self._tasks.start_soon(self._on_notification, event.notification)
        elif isinstance(event, Answered):
            if (slot := self._slots.pop(event.request_id, None)) is not None:
                slot.fill(event.outcome)
        elif isinstance(event, CancelRequested):
            if (scope := self._scopes.get(event.request_id)) is not None:
                scope.cancel()
            self._tasks.start_soon(self._on_notification, event.notification)
        elif isinstance(event, Refused):
            self._tasks.start_soon(self._send_quietly, event.answer)
        else:
            assert isinstance(event, Ignored)
            logger.debug("Ignoring %s", event.reason)

    async def wait_for_room(self) -> None:
        """Wait until another request of the peer may start. Requests that wait for the peer itself do not count."""
        while self._running - self._asking >= self._max_in_flight:
            await self._ended.wait()

    def _start(self, tasks: TaskGroup, request: Request) -> None:
        request_id = request.request_id
        try:
            work = self._on_request(request)
        except MCPError as error:
            if (answer := self._peer.respond(request_id, error.error)) is not None:
                tasks.start_soon(self._send_quietly, answer)
            return
        scope = self._scopes[request_id] = anyio.CancelScope()
        self._running += 1
        tasks.start_soon(self._serve, request_id, work, scope)

    async def _serve(self, request_id: RequestId, work: Work, scope: anyio.CancelScope) -> None:
        outcome: dict[str, Any] | ErrorData | None = None
        with scope:
            try:
                outcome = await work()
            except MCPError as error:
                outcome = error.error
        if self._scopes.get(request_id) is scope:
            del self._scopes[request_id]
        if outcome is not None and (answer := self._peer.respond(request_id, outcome)) is not None:
            await self._send_quietly(answer)
        self._running -= 1
        ended, self._ended = self._ended, anyio.Event()
        ended.set()

    async def _send_quietly(self, message: dict[str, Any]) -> None:
        try:
            await self._send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            logger.debug("The peer is gone; dropping a message", exc_info=True)

    # What we send

    async def request(self, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Ask the peer and wait for its answer; cancelling the caller tells the peer.

        Raises:
            MCPError: The peer answered an error, or the pipe ended first (`-32000`).
        """
        request_id, message = self._peer.request(method, params)
        slot = self._slots[request_id] = _Slot()
        self._asking += 1
        try:
            await self._send(message)
            return await slot.wait()
        except anyio.get_cancelled_exc_class():
            if (farewell := self._peer.abandon(request_id, "caller cancelled")) is not None:
                with anyio.move_on_after(COURTESY_SECONDS, shield=True):
                    await self._send_quietly(farewell)
            raise
        finally:
            self._asking -= 1
            self._slots.pop(request_id, None)

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Tell the peer something; dropped if it is gone."""
        await self._send_quietly(notification_message(method, params))

    # The end

    async def finish(self, grace: float) -> None:
        """End the conversation after the pipe stopped delivering.

        Requests in progress get `grace` seconds to answer; then they are cancelled and answered `-32000`.
        """
        for request_id in self._peer.close():
            if (slot := self._slots.pop(request_id, None)) is not None:
                slot.fill(MCPError(CONNECTION_CLOSED, "Connection closed"))
        with anyio.move_on_after(grace):
            while self._running:
                await self._ended.wait()
        closed = ErrorData(code=CONNECTION_CLOSED, message="Connection closed")
        with anyio.move_on_after(COURTESY_SECONDS, shield=True):
            for request_id in self._peer.in_progress():
                if (scope := self._scopes.get(request_id)) is not None:
                    scope.cancel()
                if (answer := self._peer.respond(request_id, closed)) is not None:
                    await self._send_quietly(answer)


class _Slot:
    """Where the answer to one request of ours will be."""

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._outcome: dict[str, Any] | MCPError | None = None

    def fill(self, outcome: dict[str, Any] | MCPError) -> None:
        self._outcome = outcome
        self._event.set()

    async def wait(self) -> dict[str, Any]:
        await self._event.wait()
        assert self._outcome is not None
        if isinstance(self._outcome, MCPError):
            raise self._outcome
        return self._outcome
