"""One inbound message: what is known about it, and the way back to its sender."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import mcp_types as types
from mcp._protocol.era import Era
from mcp._protocol.handshake import Handshake
from mcp._protocol.metadata import ClientFacts
from mcp_types import ProgressToken

CloseStream: TypeAlias = Callable[[], Awaitable[None]]
"""Drop the HTTP response that a stream goes out on, so that the client comes back for the rest."""

Notify: TypeAlias = Callable[[str, dict[str, Any] | None], Awaitable[None]]
"""Send one notification (method, params) to the peer that sent the message this scope stands for."""


class Ask(Protocol):
    """Send one request to that peer and wait for its result."""

    async def __call__(
        self,
        method: str,
        params: dict[str, Any] | None,
        /,
        *,
        timeout: float | None = None,
        hear: Notify | None = None,
    ) -> dict[str, Any]:
        """Ask.

        Args:
            method: The JSON-RPC method.
            params: The params in wire form.
            timeout: Seconds to wait; `None` for any time.
            hear: Hears the progress that the peer reports on this request.

        Raises:
            MCPError: The peer answered an error, did not answer in time (`-32001`), or is gone (`-32000`).
        """
        ...


class Channel(Protocol):
    """A connection's own way to its peer, beside those of its requests."""

    @property
    def is_open(self) -> bool:
        """Whether anything sent on it reaches the peer now."""
        ...

    @property
    def ask(self) -> Ask:
        """Sends a request that belongs to no request of the peer's."""
        ...

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Send a notification that belongs to no request."""
        ...


@dataclass(slots=True, eq=False, kw_only=True)
class RequestScope:
    """Facts about one inbound request or notification, and the functions that reach its sender.

    Transports build one for each message; everything above reads it. Nothing in it outlives the message.

    Attributes:
        method: The JSON-RPC method.
        params: The raw params as received, `_meta` included.
        request_id: The JSON-RPC id; `None` for a notification.
        version: The protocol revision that this message is served under.
        era: The era of that revision.
        client: What the client said about itself: with this request (modern), in its handshake (legacy).
        notify: Sends a notification to the sender, related to this request.
        ask: Sends a request to the sender; `None` where the protocol or the transport has no way to ask.
        channel: The sender's connection, for what belongs to no request; `None` where there is none.
        handshake: What the legacy handshake agreed on; `None` on modern messages.
        lifespan_context: What the server's lifespan yielded.
        request: The transport's request object (Starlette's `Request` on HTTP); `None` elsewhere.
        headers: The HTTP headers, names in lower case; `None` elsewhere.
        close_stream: Drops this request's response stream; `None` where the client could not come back for it.
        close_channel: The same for the channel's stream.
        raise_exceptions: Whether the caller wants an unexpected exception's text and cause (in-memory tests).
        last_progress: The progress reported last (it must grow).
        finished: Whether the request has been answered; nothing may be sent for it any more.
        state_is_record: Whether the call's `requestState` is the record that resolvers keep, and no state of an author
            that merely looks like one; `None` if nobody knows.
        spend_state: Marks the call's `requestState` as used, and raises if it was used before; `None` if it may be used
            again, or the call has none.
        connection: What sessions show of the conversation; `None` until somebody wants to see it.
        invalid_params: The exception by which the params were found not to fit, to tell it from one of the handler's.
    """

    method: str
    params: Mapping[str, Any] | None
    request_id: types.RequestId | None
    version: str
    era: Era
    client: ClientFacts
    notify: Notify
    ask: Ask | None = None
    channel: Channel | None = None
    handshake: Handshake | None = None
    lifespan_context: Any = None
    request: Any = None
    headers: Mapping[str, str] | None = None
    close_stream: CloseStream | None = None
    close_channel: CloseStream | None = None
    raise_exceptions: bool = False
    last_progress: float | None = None
    finished: bool = False
    connection: object = None
    invalid_params: Exception | None = None
    state_is_record: bool | None = None
    spend_state: Callable[[], Awaitable[None]] | None = None

    @property
    def meta(self) -> dict[str, Any] | None:
        """The `_meta` of the message as received, if it has one."""
        meta: Any = None if self.params is None else self.params.get("_meta")
        return cast("dict[str, Any]", meta) if isinstance(meta, dict) else None

    @property
    def progress_token(self) -> ProgressToken | None:
        """The token under which the sender wants to hear of progress, if it does."""
        meta = self.meta
        token: Any = None if meta is None else meta.get("progressToken")
        return token if isinstance(token, (str, int)) and not isinstance(token, bool) else None
