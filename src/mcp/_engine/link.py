"""What a client needs from a transport: exchanges and notifications."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from mcp_types.jsonrpc import RequestId

OnNotification: TypeAlias = Callable[[str, dict[str, Any] | None], Awaitable[None]]
"""Called in arrival order, inside the exchange, for each notification (method, params) the server sends for it."""


@dataclass(slots=True, eq=False)
class OutgoingRequest:
    """One request on its way out.

    Attributes:
        request_id: The JSON-RPC id, unique among this client's pending requests.
        method: The JSON-RPC method.
        params: The params in wire form, `_meta` included; `None` leaves the member out.
        version: The protocol revision the request is made under; `None` before one is known.
        headers: Transport headers beyond the standard ones (`Mcp-Param-*`, a caller's own).
    """

    request_id: RequestId
    method: str
    params: dict[str, Any] | None
    version: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Link(Protocol):
    """A way to the server. Entering and leaving it is the business of whoever made it."""

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        """Send a request and wait for its one response, in the caller's task.

        Cancelling the caller cancels the request in the way the transport and era prescribe.

        Returns:
            The result in wire form.

        Raises:
            MCPError: The peer answered an error, or the transport failed (`-32000`, with the cause attached).
        """
        ...

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        """Send a notification. Failures are logged by the link, never raised."""
        ...
