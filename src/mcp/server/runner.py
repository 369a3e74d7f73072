"""Serve a server on messages that come from anywhere: one of them, a pair of streams, a dispatcher of your own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskStatus

from mcp._engine.streams import ReadStream, WriteStream
from mcp._protocol.jsonrpc import Request
from mcp.server._handle import handle_notification, handle_request
from mcp.server._serve import serve_streams
from mcp.server.connection import Connection, scope_of
from mcp.server.lowlevel.server import Server
from mcp.server.models import InitializationOptions
from mcp.shared.dispatcher import DispatchContext, Dispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext

__all__ = ["serve_connection", "serve_loop", "serve_one"]

LifespanT = TypeVar("LifespanT")


async def serve_loop(
    server: Server[LifespanT],
    read_stream: ReadStream[SessionMessage | Exception],
    write_stream: WriteStream[SessionMessage],
    *,
    lifespan_state: LifespanT,
    session_id: str | None = None,
    init_options: InitializationOptions | None = None,
    raise_exceptions: bool = False,
) -> None:
    """Serve one pair of message streams to its end, in a lifespan that somebody else has entered.

    Args:
        server: The server.
        read_stream: What the client sends.
        write_stream: What it receives.
        lifespan_state: What handlers see as the lifespan's value.
        session_id: The id under which others know the conversation.
        init_options: What a legacy handshake answers; what the server says everywhere by default.
        raise_exceptions: Whether an unexpected exception of a handler ends serving and is raised from here.
    """
    await serve_streams(
        server,
        read_stream,
        write_stream,
        lifespan_context=lifespan_state,
        greeting=None if init_options is None else init_options.greeting(),
        session_id=session_id,
        raise_exceptions=raise_exceptions,
    )


async def serve_one(
    server: Server[LifespanT],
    dctx: DispatchContext[TransportContext],
    method: str,
    params: Mapping[str, Any] | None,
    *,
    connection: Connection,
    lifespan_state: LifespanT,
) -> dict[str, Any]:
    """Serve one request whose sender is known.

    Args:
        server: The server.
        dctx: The request, and the way back to its sender.
        method: Its method.
        params: Its params, `_meta` included.
        connection: Its sender; `Connection.from_envelope` makes one of a modern request's metadata.
        lifespan_state: What handlers see as the lifespan's value.

    Returns:
        The result in wire form.

    Raises:
        MCPError: The request is answered with this error.
    """
    scope = scope_of(dctx, connection, method=method, params=params, lifespan_context=lifespan_state)
    return await handle_request(server, scope)


async def serve_connection(
    server: Server[LifespanT],
    dispatcher: Dispatcher[Any],
    *,
    connection: Connection,
    lifespan_state: LifespanT,
    init_options: InitializationOptions | None = None,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serve a conversation of either era that a dispatcher carries, to its end.

    Args:
        server: The server.
        dispatcher: What carries it.
        connection: Its client, as `Connection.for_loop` makes it.
        lifespan_state: What handlers see as the lifespan's value.
        init_options: What a legacy handshake answers; what the server says everywhere by default.
        task_status: Told when messages can come.
    """
    handshake = connection.handshake
    if init_options is not None:
        handshake.greeting = init_options.greeting()

    async def on_request(dctx: DispatchContext[Any], method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        request_id = dctx.request_id
        if request_id is None:
            raise ValueError(f"the request {method!r} has no id")
        client = handshake.admit(Request(request_id, method, None if params is None else dict(params)))
        scope = scope_of(dctx, connection, method=method, params=params, client=client, lifespan_context=lifespan_state)
        return await handle_request(server, scope)

    async def on_notify(dctx: DispatchContext[Any], method: str, params: Mapping[str, Any] | None) -> None:
        if method == "notifications/initialized":
            handshake.initialized = True
        scope = scope_of(dctx, connection, method=method, params=params, lifespan_context=lifespan_state)
        await handle_notification(server, scope)

    task_status.started()
    await dispatcher.run(on_request, on_notify)
