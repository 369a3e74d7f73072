"""Notifications of extensions: checked, queued, and handed to their handlers beside the conversation."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

import anyio
from pydantic import BaseModel, ValidationError

from mcp.client._http.background import Background
from mcp_types.methods import MONOLITH_NOTIFICATIONS

logger = logging.getLogger(__name__)

MAX_WAITING: Final = 1024
"""How many notifications of a method may wait for their handler; beyond it the oldest are dropped."""


class Binding(Protocol):
    """What a session needs to know of a `NotificationBinding`."""

    @property
    def method(self) -> str: ...
    @property
    def params_type(self) -> type[BaseModel]: ...
    @property
    def handler(self) -> Callable[[Any], Awaitable[None]]: ...


class Bindings:
    """The handlers of a session for notifications that the core protocol does not know.

    Args:
        bindings: One for each method.

    Raises:
        ValueError: There are two for one method.
    """

    def __init__(self, bindings: Sequence[Binding] = ()) -> None:
        self._queues: dict[str, _Queue] = {}
        for binding in bindings:
            if binding.method in self._queues:
                raise ValueError(f"duplicate notification binding for method {binding.method!r}")
            self._queues[binding.method] = _Queue(binding)
        self._idle = [method for method in self._queues if method in MONOLITH_NOTIFICATIONS]
        for method in self._idle:
            del self._queues[method]

    def warn(self) -> None:
        """Say once which bindings are of no use."""
        for method in self._idle:
            logger.warning("notification binding for %r never fires: the core protocol defines that method", method)
        self._idle = []

    def take(self, method: str, params: dict[str, Any] | None) -> bool:
        """Take in a notification, if there is a handler for it."""
        queue = self._queues.get(method)
        if queue is not None:
            queue.put(params)
        return queue is not None

    async def stop(self) -> None:
        """Stop handling: what still waits is dropped."""
        for queue in self._queues.values():
            await queue.stop()


class _Queue:
    def __init__(self, binding: Binding) -> None:
        self._binding = binding
        self._waiting: deque[BaseModel] = deque()
        self._news = anyio.Event()
        self._dropping = False  # one warning is enough until everything has been handled
        self._background: Background | None = None  # a session may be made where no event loop runs

    def put(self, params: dict[str, Any] | None) -> None:
        method = self._binding.method
        try:
            checked = self._binding.params_type.model_validate(params or {})
        except ValidationError:
            logger.warning("Failed to validate notification: %s", method)
            return
        if len(self._waiting) == MAX_WAITING:
            if not self._dropping:
                self._dropping = True
                logger.warning("notification queue for %r is full", method)
            self._waiting.popleft()
        self._waiting.append(checked)
        self._news.set()
        if self._background is None:
            self._background = Background(self._handle_all)
            self._background.start()

    async def stop(self) -> None:
        if self._background is not None:
            await self._background.stop()

    async def _handle_all(self) -> None:
        while True:
            await self._news.wait()
            while self._waiting:
                await self._handle(self._waiting.popleft())
            self._dropping = False
            self._news = anyio.Event()

    async def _handle(self, params: BaseModel) -> None:
        try:
            await self._binding.handler(params)
        except Exception:
            logger.exception("notification binding handler for %r raised", self._binding.method)
