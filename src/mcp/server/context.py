"""What a handler and a middleware receive for one inbound message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias

from pydantic import BaseModel
from typing_extensions import TypeVar

import mcp_types as types
from mcp_types import LoggingLevel
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from mcp.server import _telling
    from mcp.server import session as _session
    from mcp.server.connection import Connection
    from mcp.shared.dispatcher import DispatchContext
    from mcp.shared.transport_context import TransportContext
else:
    _session = lazy_module("mcp.server.session")
    _telling = lazy_module("mcp.server._telling")

LifespanContextT = TypeVar("LifespanContextT", default=dict[str, Any])
RequestT = TypeVar("RequestT", default=Any)
_MwLifespanT = TypeVar("_MwLifespanT", default=Any)
LifespanT_co = TypeVar("LifespanT_co", covariant=True, default=dict[str, Any])

CloseStream: TypeAlias = Callable[[], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class ServerRequestContext(Generic[LifespanContextT, RequestT]):
    """One inbound request or notification, as handlers and middleware see it.

    Middleware rewrites a message with `dataclasses.replace(ctx, params=...)`.

    Attributes:
        session: The way back to the client. Use it only while the request runs.
        lifespan_context: What the server's lifespan yielded, the same object for every request.
        protocol_version: The protocol revision that the request is served under.
        method: The JSON-RPC method.
        params: The raw params, or `None`.
        request_id: The JSON-RPC id, of the type it had on the wire; `None` for a notification.
        meta: The request's `_meta`; the progress token is spelled `progress_token`.
        request: The HTTP request (Starlette's `Request`); `None` on other transports.
        close_sse_stream: Closes the response stream so that the client polls; `None` where there is no such thing.
        close_standalone_sse_stream: The same for the stand-alone stream of a legacy session.
    """

    session: _session.ServerSession
    lifespan_context: LifespanContextT
    protocol_version: str
    method: str
    params: Mapping[str, Any] | None = None
    request_id: types.RequestId | None = None
    meta: types.RequestParamsMeta | None = None
    request: RequestT | None = None
    close_sse_stream: CloseStream | None = None
    close_standalone_sse_stream: CloseStream | None = None

    def with_params(self, params: Mapping[str, Any] | None) -> ServerRequestContext[LifespanContextT, RequestT]:
        """Return a copy with other params: what `dataclasses.replace` does, at a fraction of its cost."""
        if type(self) is not ServerRequestContext:
            return replace(self, params=params)
        return ServerRequestContext(
            session=self.session,
            lifespan_context=self.lifespan_context,
            protocol_version=self.protocol_version,
            method=self.method,
            params=params,
            request_id=self.request_id,
            meta=self.meta,
            request=self.request,
            close_sse_stream=self.close_sse_stream,
            close_standalone_sse_stream=self.close_standalone_sse_stream,
        )


HandlerResult: TypeAlias = BaseModel | dict[str, Any] | None
"""What a handler or a middleware may return: a result model, a dict in wire form, or `None` for an empty result."""

CallNext: TypeAlias = Callable[[ServerRequestContext[Any, Any]], Awaitable[HandlerResult]]
"""The rest of the middleware chain. For a request it returns the finished result in wire form."""


class ServerMiddleware(Protocol[_MwLifespanT]):
    """Code around every inbound message: observe it, change it, refuse it, or answer it."""

    def __call__(self, ctx: ServerRequestContext[_MwLifespanT, Any], call_next: CallNext) -> Awaitable[HandlerResult]:
        """Handle the message; await `call_next(ctx)` to let the rest of the chain run.

        Raises:
            MCPError: Answers the request with that error.
        """
        ...


class Context(Generic[LifespanT_co]):
    """One message that a dispatcher of your own received, and what belongs to it.

    Handlers of a server receive a `ServerRequestContext`, functions of an `MCPServer` the `Context` from there.

    Args:
        dctx: The message.
        lifespan: What the lifespan yielded.
        connection: Who sent the message.
        meta: Its `_meta`.
    """

    def __init__(
        self,
        dctx: DispatchContext[TransportContext],
        *,
        lifespan: LifespanT_co,
        connection: Connection,
        meta: types.RequestParamsMeta | None = None,
    ) -> None:
        self._dctx = dctx
        self._lifespan = lifespan
        self._connection = connection
        self.meta = meta

    @property
    def connection(self) -> Connection:
        """Who sent the message."""
        return self._connection

    @property
    def lifespan(self) -> LifespanT_co:
        """What the lifespan yielded."""
        return self._lifespan

    @property
    def headers(self) -> Mapping[str, str] | None:
        """The HTTP headers; `None` where there are none."""
        return self._dctx.transport.headers

    @property
    def session_id(self) -> str | None:
        """The id of the session; `None` where there is none."""
        return self._connection.session_id

    async def log(
        self, level: LoggingLevel, data: Any, logger: str | None = None, *, meta: dict[str, Any] | None = None
    ) -> None:
        """Send a log message that belongs to the message, if the client wants messages of this level.

        Raises:
            ValueError: The level is none of the eight.
        """
        connection = self._connection
        if not _telling.wants_log(
            level, connection.facts, connection.handshake if connection.initialize_accepted else None
        ):
            return
        params: dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        if meta is not None:
            params["_meta"] = meta
        await self._dctx.notify("notifications/message", params)
