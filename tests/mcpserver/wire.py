"""Speaks to a server of this process in wire form: what a test sees is what would cross a network."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import anyio

from mcp._engine.link import Link, OutgoingRequest
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from mcp_types.version import LATEST_MODERN_VERSION


class InProcessServer(Protocol):
    @property
    def connect_in_process(self) -> Callable[..., AbstractAsyncContextManager[Link]]: ...


class Peer:
    """A client made of dicts.

    Attributes:
        notifications: What the server sent, in order.
    """

    def __init__(self, link: Link, capabilities: dict[str, Any]) -> None:
        self._link = link
        self._capabilities = capabilities
        self._last = 0
        self.notifications: list[tuple[str, dict[str, Any] | None]] = []

    async def request(
        self, method: str, params: dict[str, Any] | None = None, *, meta: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send a request; the result comes without the stamps that every result carries."""
        self._last += 1
        metadata = {
            PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION,
            CLIENT_CAPABILITIES_META_KEY: self._capabilities,
            **(meta or {}),
        }
        request = OutgoingRequest(self._last, method, {**(params or {}), "_meta": metadata})
        with anyio.fail_after(5):
            result = await self._link.exchange(request, self._note)
        stamps = {"ttlMs", "cacheScope", "_meta"}
        if result.get("resultType") == "complete":
            stamps.add("resultType")
        return {name: value for name, value in result.items() if name not in stamps}

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool."""
        return await self.request("tools/call", {"name": name, "arguments": arguments})

    async def text(self, name: str, /, **arguments: Any) -> str:
        """Call a tool and return the text of its only block."""
        result = await self.call(name, **arguments)
        (block,) = result["content"]
        return block["text"]

    async def _note(self, method: str, params: dict[str, Any] | None) -> None:
        self.notifications.append((method, params))


@asynccontextmanager
async def connect(
    server: InProcessServer, *, capabilities: dict[str, Any] | None = None, raise_exceptions: bool = False
) -> AsyncGenerator[Peer]:
    """Connect to a server."""
    async with server.connect_in_process("auto", raise_exceptions=raise_exceptions) as link:
        yield Peer(link, capabilities or {})
