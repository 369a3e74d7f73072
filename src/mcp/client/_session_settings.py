"""What a client has set in a session of the handshake era, and has to set anew in one that takes its place."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from mcp._engine.link import OutgoingRequest
from mcp.shared.exceptions import MCPError

logger = logging.getLogger(__name__)

Ask = Callable[[OutgoingRequest], Awaitable[object]]
"""Sends a request in the new session, and waits for its response."""

_LEVEL = "logging/setLevel"
_SUBSCRIBE = "resources/subscribe"
_UNSUBSCRIBE = "resources/unsubscribe"
_METHODS = frozenset({_LEVEL, _SUBSCRIBE, _UNSUBSCRIBE})


class SessionSettings:
    """Remembers the log level and the subscribed resources."""

    def __init__(self) -> None:
        self._level: object = None
        self._uris: dict[object, None] = {}
        self._sent = 0

    def note(self, request: OutgoingRequest) -> None:
        """Take note of a request that the server has answered with a result."""
        if request.method not in _METHODS:
            return
        params = request.params or {}
        if request.method == _LEVEL:
            self._level = params.get("level")
        elif request.method == _SUBSCRIBE:
            self._uris[params.get("uri")] = None
        else:
            self._uris.pop(params.get("uri"), None)

    async def restore(self, version: str | None, ask: Ask) -> None:
        """Set everything in a session that has just been opened; what is refused there is only logged.

        Args:
            version: The protocol revision of the session.
            ask: Sends in it.
        """
        wanted: list[tuple[str, dict[str, Any]]] = [(_SUBSCRIBE, {"uri": uri}) for uri in self._uris]
        if self._level is not None:
            wanted.insert(0, (_LEVEL, {"level": self._level}))
        for method, params in wanted:
            self._sent += 1
            try:
                await ask(OutgoingRequest(f"restore-{self._sent}", method, params, version))
            except MCPError as error:
                logger.warning("%s of %s was not repeated in the new session: %s", method, params, error)
