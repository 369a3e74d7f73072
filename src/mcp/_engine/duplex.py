"""What a transport offers on which both sides may speak first."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from mcp._engine.connection import OnRequest
from mcp._engine.link import Link, OnFault, OnNotification


@runtime_checkable
class DuplexLink(Link, Protocol):
    """A link on which the server may also ask, and tell: one that the handshake era can be spoken on."""

    def attach(self, on_request: OnRequest, hear: OnNotification, on_fault: OnFault | None = None) -> None:
        """Say who answers the server's requests, who hears what belongs to no request, and who hears of faults."""
        ...
