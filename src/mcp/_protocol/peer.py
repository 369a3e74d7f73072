"""One end of a JSON-RPC conversation over a pipe: who asked what, and what is still owed.

The rules about ids live here: what counts as one id, what a duplicate is, that a cancelled request stays unanswered,
and that an answer nobody waits for is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import mcp_types as types
from mcp._protocol.jsonrpc import (
    Message,
    Notification,
    Request,
    Response,
    error_message,
    is_request_id,
    notification_message,
    request_message,
    result_message,
)
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST

CANCELLED = "notifications/cancelled"


class RequestReceived(NamedTuple):
    """The peer asks something; `Peer.respond` is owed."""

    request: Request


class NotificationReceived(NamedTuple):
    """The peer tells something."""

    notification: Notification


class Answered(NamedTuple):
    """One of our requests has its answer."""

    request_id: types.RequestId
    outcome: dict[str, Any] | MCPError


class CancelRequested(NamedTuple):
    """The peer no longer wants the answer to one of its requests that is in progress."""

    request_id: types.RequestId
    notification: Notification


class Refused(NamedTuple):
    """The peer broke a rule; the message is the answer to send."""

    answer: dict[str, Any]


class Ignored(NamedTuple):
    """Nothing follows from the message; the reason is for the log."""

    reason: str


Event: TypeAlias = RequestReceived | NotificationReceived | Answered | CancelRequested | Refused | Ignored


class Peer:
    """The state of one conversation. Feed it what arrives, ask it what to send."""

    def __init__(self) -> None:
        self._last_id = 0
        self._waiting: set[types.RequestId] = set()  # ours, sent and unanswered
        self._serving: set[types.RequestId] = set()  # theirs, received and unanswered

    def receive(self, message: Message) -> Event:
        """Take in one message and tell what it means."""
        if isinstance(message, Request):
            return self._receive_request(message)
        if isinstance(message, Notification):
            return self._receive_notification(message)
        request_id = self._own_id(message.request_id)
        if request_id is None:
            return Ignored(f"an answer to {message.request_id!r}, which nobody waits for")
        self._waiting.discard(request_id)
        if isinstance(message, Response):
            return Answered(request_id, message.result)
        return Answered(request_id, message.as_exception())

    def _receive_request(self, request: Request) -> Event:
        if request.request_id in self._serving:
            # base: "Requests": an id is not used again while its request is unanswered.
            error = types.ErrorData(code=INVALID_REQUEST, message="request id already in flight")
            return Refused(error_message(request.request_id, error))
        self._serving.add(request.request_id)
        return RequestReceived(request)

    def _receive_notification(self, notification: Notification) -> Event:
        if notification.method != CANCELLED:
            return NotificationReceived(notification)
        request_id: Any = (notification.params or {}).get("requestId")
        if not is_request_id(request_id) or request_id not in self._serving:
            # cancellation: "Error Handling": unknown and finished requests are ignored.
            return Ignored(f"a cancellation of {request_id!r}, which is not in progress")
        self._serving.discard(request_id)
        return CancelRequested(request_id, notification)

    def request(
        self, method: str, params: Mapping[str, Any] | None, request_id: types.RequestId | None = None
    ) -> tuple[types.RequestId, dict[str, Any]]:
        """Build the message of a request of ours, under the given id or one of its own."""
        if request_id is None:
            self._last_id += 1
            request_id = self._last_id
        self._waiting.add(request_id)
        return request_id, request_message(request_id, method, params)

    def respond(
        self, request_id: types.RequestId, outcome: Mapping[str, Any] | types.ErrorData
    ) -> dict[str, Any] | None:
        """Build the answer to a request of the peer's; `None` if it was cancelled and gets none."""
        if request_id not in self._serving:
            return None
        self._serving.discard(request_id)
        if isinstance(outcome, types.ErrorData):
            return error_message(request_id, outcome)
        return result_message(request_id, outcome)

    def abandon(self, request_id: types.RequestId, reason: str) -> dict[str, Any] | None:
        """Stop waiting for an answer; build the notification that tells the peer, `None` if it has answered."""
        if request_id not in self._waiting:
            return None
        self._waiting.discard(request_id)
        return notification_message(CANCELLED, {"requestId": request_id, "reason": reason})

    def in_progress(self) -> list[types.RequestId]:
        """The peer's requests that are still owed an answer."""
        return list(self._serving)

    def close(self) -> list[types.RequestId]:
        """End the conversation; our requests that will never be answered."""
        waiting = list(self._waiting)
        self._waiting.clear()
        return waiting

    def _own_id(self, request_id: types.RequestId | None) -> types.RequestId | None:
        """The pending id that an answer names: some peers write the number 7 as "7"."""
        if request_id in self._waiting:
            return request_id
        if isinstance(request_id, str) and request_id.isdecimal() and request_id.isascii() and len(request_id) < 19:
            number = int(request_id)
            return number if number in self._waiting else None
        return None
