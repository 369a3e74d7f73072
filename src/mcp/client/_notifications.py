"""What a server tells the client in passing: typed callbacks, the message handler, progress."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from pydantic import ValidationError

import mcp_types as types
from mcp._engine.faults import is_fault
from mcp._engine.link import OnNotification
from mcp._protocol.freshness import CHANGES
from mcp.client._bindings import Bindings
from mcp.shared.dispatcher import ProgressFnT, tell_progress
from mcp_types.methods import MONOLITH_NOTIFICATIONS, SERVER_NOTIFICATIONS

logger = logging.getLogger(__name__)

IncomingMessage: TypeAlias = types.ServerNotification | Exception
"""What a message handler receives: a notification, or a fault of the transport."""

LoggingCallback: TypeAlias = Callable[[types.LoggingMessageNotificationParams], Awaitable[None]]
OnChange: TypeAlias = Callable[[str, "dict[str, Any] | None"], Awaitable[None]]
"""Is told a notification's method and params, before anybody else hears of it."""
MessageHandler: TypeAlias = Callable[[IncomingMessage], Awaitable[None]]

_TOOLS_CHANGED = "notifications/tools/list_changed"
_NEVER_HANDLED = frozenset({"notifications/cancelled", "notifications/subscriptions/acknowledged"})


class Notifications:
    """Delivers notifications, each to its typed callback first and to the message handler next.

    A callback that raises costs only that delivery.

    Attributes:
        version: The negotiated protocol version.
        on_change: Hears of every change first.

    Args:
        logging_callback: Receives log messages.
        message_handler: Receives every notification, and faults of the transport.
        on_tools_changed: Called when the server says that its tools have changed.
        bindings: Hears what only extensions know.
    """

    def __init__(
        self,
        logging_callback: LoggingCallback | None,
        message_handler: MessageHandler | None,
        on_tools_changed: Callable[[], None],
        bindings: Bindings,
    ) -> None:
        self.bindings = bindings
        self._logging_callback = logging_callback
        self._message_handler = message_handler
        self._on_tools_changed = on_tools_changed
        self.version: str | None = None
        self.on_change: OnChange | None = None

    async def deliver(self, method: str, params: dict[str, Any] | None) -> None:
        """Deliver one notification."""
        await self._deliver(method, params, None)

    def with_progress(self, token: types.ProgressToken, callback: ProgressFnT) -> OnNotification:
        """Return a `deliver` that also feeds the progress callback of one request."""

        async def report(notification: types.ProgressNotification) -> None:
            if notification.params.progress_token == token:
                await tell_progress(callback, notification.params)

        async def deliver(method: str, params: dict[str, Any] | None) -> None:
            await self._deliver(method, params, report)

        return deliver

    async def fault(self, error: Exception) -> None:
        """Tell the message handler about something that is no message."""
        if self._message_handler is None:
            return
        try:
            await self._message_handler(error)
        except BaseException as failure:
            if not is_fault(failure):
                raise
            logger.exception("message_handler raised on transport exception")

    async def _deliver(
        self,
        method: str,
        params: dict[str, Any] | None,
        report: Callable[[types.ProgressNotification], Awaitable[None]] | None,
    ) -> None:
        if self.bindings.take(method, params):
            return
        if self.on_change is not None and method in CHANGES:
            try:
                await self.on_change(method, params)
            except Exception:
                logger.exception("Response cache eviction failed; the notification is still delivered")
        notification = self._read(method, params)
        if notification is None:
            return
        progress = False
        try:
            if isinstance(notification, types.ProgressNotification) and report is not None:
                progress = True
                await report(notification)
                progress = False
            elif isinstance(notification, types.LoggingMessageNotification) and self._logging_callback is not None:
                await self._logging_callback(notification.params)
            if self._message_handler is not None and method not in _NEVER_HANDLED:
                await self._message_handler(notification)
        except BaseException as failure:
            if not is_fault(failure):
                raise
            if progress:
                logger.exception("progress callback raised")
            else:
                logger.exception("notification callback for %r raised", method)

    def _read(self, method: str, params: dict[str, Any] | None) -> types.ServerNotification | None:
        if method == _TOOLS_CHANGED:
            self._on_tools_changed()
        if self.version is not None and (method, self.version) not in SERVER_NOTIFICATIONS:
            logger.debug("dropped %r: not defined at %s", method, self.version)
            return None
        try:
            notification = MONOLITH_NOTIFICATIONS[method].model_validate({"method": method, "params": params})
            return cast("types.ServerNotification", notification)
        except KeyError:
            logger.debug("dropped %r: not defined", method)
        except ValidationError:
            logger.warning("Failed to validate notification: %s", method)
        return None
