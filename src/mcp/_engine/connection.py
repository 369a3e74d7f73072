"""One conversation over one pipe: a task for each request of the peer, a mailbox for each of ours."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Final, TypeAlias

import anyio
from anyio.abc import TaskGroup

import mcp_types as types
from mcp._engine.faults import is_fault
from mcp._engine.mailbox import Hear, Mailbox
from mcp._engine.tasks import Tasks, asyncio_loop
from mcp._protocol.errors import to_error
from mcp._protocol.jsonrpc import (
    Message,
    Notification,
    Request,
    error_message,
    is_request_id,
    notification_message,
)
from mcp._protocol.peer import Answered, CancelRequested, Ignored, NotificationReceived, Peer, Refused, RequestReceived
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, REQUEST_TIMEOUT

logger = logging.getLogger(__name__)

Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
"""Writes one message in wire form; raises when the pipe is closed."""

Work: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
"""Handles one request that was admitted; raises `MCPError` for every failure."""

OnRequest: TypeAlias = Callable[[Request], Work]
"""Admits a request of the peer, at once and in order of arrival; raises `MCPError` to refuse it."""

OnNotification: TypeAlias = Callable[[Notification], None]
"""Takes in a notification of the peer, at once and in order of arrival; raises nothing."""

DEFAULT_MAX_IN_FLIGHT: Final = 1000
COURTESY_SECONDS: Final = 1.0
"""How long the last words to a peer that may be gone are allowed to take."""
_UNANNOUNCED: Final = frozenset({"initialize", "server/discover"})
"""Requests whose end is never announced to the peer (cancellation: "Behavior Requirements")."""


class Connection:
    """Runs a conversation. Enter it, `deliver` what arrives, leave it when the pipe has ended.

    Args:
        send: Writes to the pipe.
        on_request: Admits a request of the peer; the work it returns runs in a task of its own.
        on_notification: Takes in a notification of the peer.
        max_in_flight: How many messages of the peer may be worked on at once; beyond it `wait_for_room` waits.
        after_result: Builds a message to send after the result of a request of the peer; `None` for none.
    """

    def __init__(
        self,
        send: Send,
        on_request: OnRequest,
        on_notification: OnNotification,
        *,
        max_in_flight: int = DEFAULT_MAX_IN_FLIGHT,
        after_result: Callable[[Request], dict[str, Any] | None] = lambda request: None,
    ) -> None:
        self._send = send
        self._on_request = on_request
        self._on_notification = on_notification
        self._max_in_flight = max_in_flight
        self._after_result = after_result
        self._peer = Peer()
        self._group: TaskGroup | None = None
        self._tasks: Tasks | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scopes: dict[types.RequestId, anyio.CancelScope] = {}
        self._mailboxes: dict[types.RequestId, Mailbox] = {}
        self._running = 0  # requests of the peer that have not been answered yet
        self._noting = 0  # notifications of the peer that are still being handled
        self._asking = 0  # of all these, how many wait for the peer
        self._ended: anyio.Event | None = None  # there while somebody waits for the end of a request of the peer
        self._closed = False
        self._why_closed: str | None = None

    async def __aenter__(self) -> Connection:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._loop = asyncio_loop()
        self._tasks = Tasks(self._group, self._loop)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        assert self._group is not None
        assert self._tasks is not None
        self._fail_waiting()
        self._group.cancel_scope.cancel()
        await self._tasks.end()
        return await self._group.__aexit__(exc_type, exc, traceback)

    # What arrives

    def deliver(self, message: Message) -> None:
        """Take in one message. Work it starts runs in tasks that inherit the caller's context variables."""
        event = self._peer.receive(message)
        if isinstance(event, RequestReceived):
            self._start(event.request)
        elif isinstance(event, NotificationReceived):
            self._on_notification(event.notification)
        elif isinstance(event, Answered):
            if (mailbox := self._mailboxes.pop(event.request_id, None)) is not None:
                mailbox.put(event.outcome)
        elif isinstance(event, CancelRequested):
            why = (event.notification.params or {}).get("reason")
            logger.debug("The peer cancels its request %r: %r", event.request_id, why)
            if (scope := self._scopes.get(event.request_id)) is not None:
                scope.cancel()
            self._on_notification(event.notification)
        elif isinstance(event, Refused):
            self._refuse(event.answer)
        else:
            assert isinstance(event, Ignored)
            logger.debug("Ignoring %s", event.reason)

    def pass_on(self, request_id: types.RequestId, notification: Notification) -> bool:
        """Put a notification into the mailbox of the request of ours that it belongs to, if that still waits."""
        mailbox = self._mailboxes.get(request_id)
        if mailbox is not None:
            mailbox.put(notification)
        return mailbox is not None

    def start(self, work: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        """Run something beside the conversation, until it ends or the connection does."""
        assert self._group is not None, "enter the connection first"
        self._group.start_soon(work, *args)

    def start_note(self, work: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        """Run what a notification of the peer makes to do, beside the conversation."""
        self._noting += 1
        self._start_task(self._handle_note, work, *args)

    async def wait_for_room(self) -> None:
        """Wait until another message of the peer may make work. What waits for the peer itself does not count."""
        while self._running + self._noting - self._asking >= self._max_in_flight:
            await self._wait_for_an_end()

    async def wait_until_answered(self, request_id: types.RequestId) -> None:
        """Wait until a request of the peer is no longer in progress."""
        while request_id in self._scopes:
            await self._wait_for_an_end()

    async def _wait_for_an_end(self) -> None:
        if self._ended is None:
            self._ended = anyio.Event()
        await self._ended.wait()

    def _start(self, request: Request) -> None:
        request_id = request.request_id
        try:
            work = self._on_request(request)
        except MCPError as error:
            if (answer := self._peer.respond(request_id, error.error)) is not None:
                self._refuse(answer)
            return
        scope = self._scopes[request_id] = anyio.CancelScope()
        self._running += 1
        self._start_task(self._serve, request, work, scope, scope=scope)

    def _start_task(
        self, work: Callable[..., Coroutine[Any, Any, None]], *args: object, scope: anyio.CancelScope | None = None
    ) -> None:
        assert self._tasks is not None, "enter the connection first"
        self._tasks.start(scope or anyio.CancelScope(), work, *args)

    async def _serve(self, request: Request, work: Work, scope: anyio.CancelScope) -> None:
        try:
            outcome = await self._work(request, work)
            self._forget(request, scope)  # from here on nobody cancels it
            if (answer := self._peer.respond(request.request_id, outcome)) is not None:
                await self._send_answer(answer)
                if "result" in answer and (more := self._after_result(request)) is not None:
                    await self._send_quietly(more)
        finally:
            self._forget(request, scope)
            self._running -= 1
            self._tell_of_an_end()

    def _forget(self, request: Request, scope: anyio.CancelScope) -> None:
        if self._scopes.get(request.request_id) is scope:  # the id of a cancelled request may be in use again
            del self._scopes[request.request_id]

    async def _work(self, request: Request, work: Work) -> dict[str, Any] | types.ErrorData:
        try:
            return await work()
        except MCPError as error:
            return error.error
        except BaseException as error:
            if not is_fault(error, in_own_task=True):
                raise
            logger.exception("Request %r (%r) failed", request.request_id, request.method)
            return to_error(error).error

    def _refuse(self, answer: dict[str, Any]) -> None:
        self._running += 1
        self._start_task(self._send_refusal, answer)

    async def _send_refusal(self, answer: dict[str, Any]) -> None:
        await self._send_answer(answer)
        self._running -= 1
        self._tell_of_an_end()

    async def _handle_note(self, work: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        await work(*args)
        self._noting -= 1
        self._tell_of_an_end()

    def _tell_of_an_end(self) -> None:
        if self._ended is not None:
            self._ended.set()
            self._ended = None

    async def _send_answer(self, answer: dict[str, Any]) -> None:
        try:
            await self._send_quietly(answer)
        except (ValueError, TypeError, MCPError) as problem:
            # The answer has no form on this pipe: whoever made it is told in the log, and the peer that it failed.
            logger.error("the answer to request %r cannot be sent: %s", answer["id"], problem)
            error = types.ErrorData(code=INTERNAL_ERROR, message="Internal server error")
            await self._send_quietly(error_message(answer["id"], error))

    async def _send_quietly(self, message: dict[str, Any], via: Send | None = None) -> None:
        try:
            await (via or self._send)(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            logger.debug("The peer is gone; dropping a message", exc_info=True)

    # What we send

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        request_id: types.RequestId | None = None,
        hear: Hear | None = None,
        reason: Callable[[], str] = lambda: "caller cancelled",
        via: Send | None = None,
    ) -> dict[str, Any]:
        """Ask the peer and wait for its answer, in the caller's task; cancelling the caller tells the peer.

        Args:
            method: The method.
            params: The params in wire form.
            request_id: The id to use instead of one of the connection's own.
            hear: Hears, in order and before this returns, the notifications that `pass_on` gives to this request.
            reason: Says why the caller no longer waits, when it was cancelled.
            via: Writes the request; `None` for the connection's own way.

        Raises:
            MCPError: The peer answered an error, or the pipe ended first (`-32000`).
        """
        if self._closed:
            raise _closed(self._why_closed)
        send = self._send if via is None else via
        own_id = request_id is None
        request_id, message = self._peer.request(method, params, request_id)
        if own_id and hear is not None:
            message["params"] = with_progress_token(params, request_id)
        mailbox = self._mailboxes[request_id] = Mailbox(self._loop)
        self._asking += 1
        try:
            try:
                await send(message)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
                raise _closed() from error
            except Exception:  # it cannot be written, and so will never be answered
                self._peer.abandon(request_id, "")
                raise
            return await mailbox.wait(hear)
        except anyio.get_cancelled_exc_class():
            farewell = self._peer.abandon(request_id, reason())
            if farewell is not None and method not in _UNANNOUNCED:
                with anyio.move_on_after(COURTESY_SECONDS, shield=True):
                    await self._send_quietly(farewell, via)
            raise
        finally:
            self._asking -= 1
            self._mailboxes.pop(request_id, None)

    async def ask(
        self,
        method: str,
        params: dict[str, Any] | None,
        /,
        *,
        timeout: float | None = None,
        hear: Hear | None = None,
        via: Send | None = None,
    ) -> dict[str, Any]:
        """Ask the peer, as `request` does, for a limited time."""
        with anyio.move_on_after(timeout) as clock:

            def reason() -> str:
                return f"timed out after {timeout:g}s" if clock.cancel_called else "caller cancelled"

            return await self.request(method, params, hear=hear, reason=reason, via=via)
        raise MCPError(REQUEST_TIMEOUT, f"Request {method!r} timed out", is_local=True)

    @property
    def is_open(self) -> bool:
        """Whether the pipe still carries messages."""
        return not self._closed

    @property
    def is_working(self) -> bool:
        """Whether a request of the peer runs that does not wait for the peer itself."""
        return self._running > self._asking

    async def notify(self, method: str, params: dict[str, Any] | None, *, via: Send | None = None) -> None:
        """Tell the peer something; dropped if it is gone."""
        await self._send_quietly(notification_message(method, params), via)

    # The end

    async def finish(self, grace: float, why: str | None = None) -> None:
        """End the conversation after the pipe stopped delivering.

        Requests in progress get `grace` seconds to answer; then they are cancelled and answered `-32000`.

        Args:
            grace: These seconds.
            why: What to tell those who wait for answers of the peer, if it did not just go.
        """
        self._why_closed = why
        self._fail_waiting()
        with anyio.move_on_after(grace):
            while self._running:
                await self._wait_for_an_end()
        with anyio.move_on_after(COURTESY_SECONDS, shield=True):
            for request_id in self._peer.in_progress():
                if (scope := self._scopes.get(request_id)) is not None:
                    scope.cancel()
                if (answer := self._peer.respond(request_id, _closed().error)) is not None:
                    await self._send_quietly(answer)

    def _fail_waiting(self) -> None:
        self._closed = True
        for request_id in self._peer.close():
            if (mailbox := self._mailboxes.pop(request_id, None)) is not None:
                mailbox.put(_closed(self._why_closed))


def with_progress_token(params: Mapping[str, Any] | None, token: types.RequestId) -> dict[str, Any]:
    """Ask for progress under a token: the id of the request, which is unique among those in progress."""
    meta: Any = (params or {}).get("_meta") or {}
    return {**(params or {}), "_meta": {**meta, "progressToken": token}}


def progress_owner(notification: Notification) -> types.RequestId | None:
    """The id of the request of ours that a progress notification is about."""
    if notification.method != "notifications/progress":
        return None
    token: Any = (notification.params or {}).get("progressToken")
    return token if is_request_id(token) else None


def _closed(why: str | None = None) -> MCPError:
    return MCPError(CONNECTION_CLOSED, f"Connection closed: {why}" if why else "Connection closed", is_local=True)
