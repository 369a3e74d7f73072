"""A server in this process that answers what a test wants, and shows what it was sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias, cast

from mcp._engine.link import Link, OnNotification, OutgoingRequest
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import METHOD_NOT_FOUND

DISCOVERY: dict[str, Any] = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "instructions": "Be kind.",
    "ttlMs": 0,
    "cacheScope": "private",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "scripted", "version": "1"}},
}

Reply: TypeAlias = dict[str, Any] | MCPError
Answer: TypeAlias = Callable[[OutgoingRequest, OnNotification], Awaitable[Reply]]


def listing(*tools: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Write a page of tools."""
    whole = [{"inputSchema": {"type": "object"}, **tool} for tool in tools]
    return {"resultType": "complete", "tools": whole, "ttlMs": 0, "cacheScope": "private", **members}


def said(text: str = "ok", **members: Any) -> dict[str, Any]:
    """Write the result of a tool call."""
    return {"resultType": "complete", "content": [{"type": "text", "text": text}], **members}


class Scripted:
    """Answers each method with its reply: a fixed one, the next of a list, or what a function makes of the request."""

    def __init__(self, **replies: Any) -> None:
        self.replies: dict[str, Any] = {"server/discover": DISCOVERY, "tools/list": listing({"name": "add"})}
        self.replies.update({name.replace("__", "/"): reply for name, reply in replies.items()})
        self.requests: list[OutgoingRequest] = []
        self.notified: list[tuple[str, dict[str, Any] | None]] = []
        self.open = 0

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.requests]

    def sent(self, method: str) -> list[dict[str, Any]]:
        """Return the params of all requests of a method."""
        return [request.params or {} for request in self.requests if request.method == method]

    def connect_in_process(self, mode: str, *, raise_exceptions: bool) -> AbstractAsyncContextManager[Link]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[Link]:
        self.open += 1
        try:
            yield self
        finally:
            self.open -= 1

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        self.requests.append(request)
        reply = self.replies.get(request.method, MCPError(METHOD_NOT_FOUND, "Method not found", request.method))
        if isinstance(reply, list):
            replies = cast("list[Any]", reply)
            reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if callable(reply):
            reply = await cast("Answer", reply)(request, on_notification)
        if isinstance(reply, MCPError):
            raise MCPError(reply.code, reply.message, reply.data)
        return dict(cast("dict[str, Any]", reply))

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        self.notified.append((method, params))
