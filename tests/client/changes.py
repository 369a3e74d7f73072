"""A server's streams of changes, played by the test."""

from __future__ import annotations

from typing import Any

import anyio

from mcp._engine.link import OnNotification, OutgoingRequest
from mcp.shared.exceptions import MCPError

ID = "io.modelcontextprotocol/subscriptionId"
TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"


class Stream:
    """A server's side of one subscription, played by the test."""

    def __init__(self, *, acknowledge: bool = True, honored: dict[str, Any] | None = None) -> None:
        self._acknowledge = acknowledge
        self._honored = honored
        self._send, self._receive = anyio.create_memory_object_stream[Any](2000)
        self.request: OutgoingRequest | None = None
        self.cancelled = anyio.Event()

    async def __call__(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        self.request = request
        stamp = {ID: request.request_id}
        if self._acknowledge:
            honored = (request.params or {})["notifications"] if self._honored is None else self._honored
            ack = "notifications/subscriptions/acknowledged"
            await on_notification(ack, {"notifications": honored, "_meta": stamp})
        try:
            with self._receive:
                async for item in self._receive:
                    if isinstance(item, MCPError):
                        raise item
                    if item is None:
                        return {"resultType": "complete", "_meta": stamp}
                    method, params = item
                    await on_notification(method, {"_meta": stamp, **params})
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise
        raise AssertionError

    def tell(self, method: str, **params: Any) -> None:
        self._send.send_nowait((method, params))

    def end(self, error: MCPError | None = None) -> None:
        self._send.send_nowait(error)

    def close(self) -> None:
        self._send.close()
