"""Where what the peer says about one request of ours waits to be heard."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from mcp._engine.tasks import Signal
from mcp._protocol.jsonrpc import Notification
from mcp.shared.exceptions import MCPError

logger = logging.getLogger(__name__)

Hear: TypeAlias = Callable[[str, dict[str, Any] | None], Awaitable[None]]
"""Hears a notification (method, params) that belongs to a request of ours, while it waits."""

MAX_UNHEARD: Final = 1024
"""How many notifications may wait for one listener; beyond it the oldest are dropped."""


class Mailbox:
    """What arrives for one request of ours: notifications, and at last its outcome."""

    __slots__ = ("_arrived", "_dropping", "_items")

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._dropping = False  # one warning is enough until everything has been heard
        self._items: deque[Notification | dict[str, Any] | MCPError] = deque()
        self._arrived = Signal(loop)

    def put(self, item: Notification | dict[str, Any] | MCPError) -> None:
        if len(self._items) >= MAX_UNHEARD and isinstance(item, Notification):
            if not self._dropping:
                self._dropping = True
                logger.warning("More than %d notifications of one request wait to be heard; dropping some", MAX_UNHEARD)
            self._items.popleft()
        self._items.append(item)
        self._arrived.set()

    async def wait(self, hear: Hear | None) -> dict[str, Any]:
        while True:
            await self._arrived.wait()
            while self._items:
                item = self._items.popleft()
                if isinstance(item, Notification):
                    if hear is not None:
                        await hear(item.method, item.params)
                elif isinstance(item, MCPError):
                    raise item
                else:
                    return item
            self._dropping = False
