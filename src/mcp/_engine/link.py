"""What a client needs from a transport: exchanges and notifications."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import mcp_types as types
from mcp._engine.scope import RequestScope
from mcp._protocol.era import MODERN
from mcp._protocol.jsonrpc import PARSE_ERROR_TEXT, dumps, loads
from mcp._protocol.metadata import ClientFacts, read_metadata
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, PARSE_ERROR
from mcp_types.version import LATEST_MODERN_VERSION

logger = logging.getLogger(__name__)

OnNotification: TypeAlias = Callable[[str, dict[str, Any] | None], Awaitable[None]]
"""Called in arrival order, inside the exchange, for each notification (method, params) the server sends for it."""

OnFault: TypeAlias = Callable[[Exception], Awaitable[None]]
"""Hears of something that arrived and is no message."""


@dataclass(slots=True, eq=False)
class OutgoingRequest:
    """One request on its way out.

    Attributes:
        request_id: The JSON-RPC id, unique among this client's pending requests.
        method: The JSON-RPC method.
        params: The params in wire form, `_meta` included; `None` leaves the member out.
        version: The protocol revision the request is made under; `None` before one is known.
        headers: Transport headers beyond the standard ones (`Mcp-Param-*`, a caller's own).
        time_is_over: Says how long was waited, once a time limit has ended the waiting; `None` until then.
        resumption_token: Where to resume the answer from, instead of asking anew (legacy HTTP).
        on_resumption_token: Told each place from which the answer can be resumed (legacy HTTP).
    """

    request_id: types.RequestId
    method: str
    params: dict[str, Any] | None
    version: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    time_is_over: Callable[[], str | None] | None = None
    resumption_token: str | None = None
    on_resumption_token: Callable[[str], Awaitable[None]] | None = None

    @property
    def cancel_reason(self) -> str:
        """What a server is told now that the caller stops waiting."""
        return (self.time_is_over and self.time_is_over()) or "caller cancelled"


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


@runtime_checkable
class EndingLink(Link, Protocol):
    """A link that may come to an end: what is sent after that is never answered."""

    @property
    def is_open(self) -> bool:
        """Whether the server can still be reached."""
        ...


runs_in_callers_task: ContextVar[bool] = ContextVar("runs_in_callers_task", default=False)
"""Whether a caller's own cancellation and time limit end the request: nothing may hold it, not even a thread."""


class DirectLink:
    """A link to a server in the same process: the request runs in the caller's task, with no bytes in between.

    Values cross as they would on a wire: the server gets its own copy of arguments and answers, the client gets a
    result in wire form and errors without the server's own exception objects.

    Args:
        handle: Handles one request, raising `MCPError` for every failure.
        handle_notification: Handles one notification.
        lifespan_context: What the server's lifespan yielded.
        raise_exceptions: Whether the client sees the text and cause of unexpected exceptions.
    """

    def __init__(
        self,
        handle: Callable[[RequestScope], Awaitable[dict[str, Any]]],
        handle_notification: Callable[[RequestScope], Awaitable[None]],
        *,
        lifespan_context: object,
        raise_exceptions: bool,
    ) -> None:
        self._handle = handle
        self._handle_notification = handle_notification
        self._lifespan_context = lifespan_context
        self._raise_exceptions = raise_exceptions

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        """Handle the request at once and return its result."""
        params = _own_copy(request.params)
        client = read_metadata(params)
        scope = RequestScope(
            method=request.method,
            params=params,
            request_id=request.request_id,
            version=client.version,
            era=MODERN,
            client=client,
            notify=on_notification,
            lifespan_context=self._lifespan_context,
            raise_exceptions=self._raise_exceptions,
        )
        outer = runs_in_callers_task.get()
        runs_in_callers_task.set(True)
        try:
            return await self._handle(scope)
        except MCPError as error:
            cause = error.__cause__ if self._raise_exceptions else None
            raise _own_error(error) from cause
        finally:
            runs_in_callers_task.set(outer)  # no token: the garbage collector may end this in another context

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        """Handle the notification at once."""
        version = version or LATEST_MODERN_VERSION
        scope = RequestScope(
            method=method,
            params=_own_copy(params),
            request_id=None,
            version=version,
            era=MODERN,
            client=ClientFacts(version, types.ClientCapabilities()),
            notify=_drop,
            lifespan_context=self._lifespan_context,
        )
        await self._handle_notification(scope)


async def _drop(method: str, params: dict[str, Any] | None) -> None:
    """Go nowhere: a notification has no response stream."""


def _own_error(error: MCPError) -> MCPError:
    """Copy an error as it would cross a wire; what has no JSON form is the server's fault."""
    if error.data is None:
        return MCPError(error.code, error.message)
    try:
        return MCPError(error.code, error.message, loads(dumps(error.data)))
    except ValueError as problem:
        logger.error("the data of error %d cannot be sent: %s", error.code, problem)
        return MCPError(INTERNAL_ERROR, "Internal server error")


def _own_copy(params: dict[str, Any] | None) -> dict[str, Any] | None:
    """Copy what the server could change under the client's hands; arguments and answers cross as JSON does."""
    if params is None:
        return None
    copied = dict(params)
    for member in ("arguments", "inputResponses"):
        if value := copied.get(member):
            text = dumps(value)
            try:
                copied[member] = loads(text)
            except ValueError:  # a number too long: no server could read it from a wire either
                raise MCPError(PARSE_ERROR, PARSE_ERROR_TEXT) from None
    return copied
