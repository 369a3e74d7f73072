"""What surrounds an outgoing request: its metadata, and the clock that runs while it is answered."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel

from mcp._engine.link import Link, OnNotification, OutgoingRequest
from mcp._protocol.metadata import ClientFacts, build_metadata
from mcp.shared.exceptions import MCPError
from mcp_types import LOG_LEVEL_META_KEY, ClientCapabilities, Implementation, LoggingLevel, ProgressToken
from mcp_types.jsonrpc import REQUEST_TIMEOUT


class Metadata:
    """The request metadata of one session, written once and copied into each request.

    Args:
        version: The negotiated protocol version.
        declared: What the callbacks can answer.
        by_hand: What is declared where the caller answers by itself.
        info: Who the client is.
        log_level: The least severe log message that the client wants.
    """

    def __init__(
        self,
        version: str,
        declared: ClientCapabilities,
        by_hand: ClientCapabilities,
        info: Implementation,
        log_level: LoggingLevel | None,
    ) -> None:
        self._reserved = [build_metadata(ClientFacts(version, said, info)) for said in (declared, by_hand)]
        self._defaults: dict[str, Any] = {} if log_level is None else {LOG_LEVEL_META_KEY: log_level}
        self._usual = {**self._defaults, **self._reserved[False]}

    def build(
        self, meta: Mapping[str, Any] | None, progress_token: ProgressToken | None, by_hand: bool
    ) -> dict[str, Any]:
        """Write the `_meta` of one request: the caller's keys are kept, the reserved ones are the session's."""
        if not meta and not by_hand:
            built = self._usual.copy()
        else:
            built = {**self._defaults, **own_metadata(meta or {}), **self._reserved[by_hand]}
        if progress_token is not None:
            built["progressToken"] = progress_token
        return built


def own_metadata(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Write a caller's metadata in wire form."""
    wire = dict(meta)
    if "progress_token" in wire:
        wire["progressToken"] = wire.pop("progress_token")
    return wire


@dataclass(frozen=True, slots=True)
class Limits:
    """How long an answer may take.

    Attributes:
        timeout: Seconds for one request; `None` for any time.
        extended_by_progress: Whether the server's progress notifications start the time anew.
        total: Seconds for one request whatever its progress; `None` for any time.
    """

    timeout: float | None = None
    extended_by_progress: bool = True
    total: float | None = None


async def exchange_in_time(
    link: Link, request: OutgoingRequest, on_notification: OnNotification, timeout: float | None, limits: Limits
) -> dict[str, Any]:
    """Do an exchange under a clock. The clock stands still while the caller's own callbacks run.

    Raises:
        MCPError: `-32001`, the time is over.
    """
    if timeout is None:
        timeout = math.inf
    end = math.inf if limits.total is None else anyio.current_time() + limits.total
    with anyio.CancelScope(deadline=min(anyio.current_time() + timeout, end)) as scope:

        def time_is_over() -> str | None:
            if not scope.cancel_called:
                return None
            return f"timed out after {limits.total if scope.deadline == end else timeout:g}s"

        request.time_is_over = time_is_over

        async def deliver(method: str, params: dict[str, Any] | None) -> None:
            left = scope.deadline - anyio.current_time()
            scope.deadline = end
            await on_notification(method, params)
            if method == "notifications/progress" and limits.extended_by_progress:
                left = timeout
            scope.deadline = min(anyio.current_time() + left, end)

        if timeout <= 0:
            await anyio.lowlevel.checkpoint()
        return await link.exchange(request, deliver)
    raise MCPError(REQUEST_TIMEOUT, f"Request {request.method!r} timed out", is_local=True)
