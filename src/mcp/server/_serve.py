"""A server at one end of a pipe: a conversation of either era, to its end."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import Any, Final, TypeAlias

import anyio

import mcp_types as types
from mcp._engine.connection import Connection, Send, Work, progress_owner
from mcp._engine.scope import RequestScope
from mcp._engine.streams import ReadStream, WireReader, WireWriter, WriteStream, from_model, to_model
from mcp._protocol.era import MODERN, era_of
from mcp._protocol.handshake import Handshake
from mcp._protocol.jsonrpc import Message, Notification, Request, notification_message
from mcp._protocol.metadata import ClientFacts
from mcp.server._handle import HandlerTable, handle_notification, handle_request
from mcp.server.connection import ShownConnection
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import INTERNAL_ERROR
from mcp_types.version import LATEST_MODERN_VERSION

logger = logging.getLogger(__name__)

SendRelated: TypeAlias = Callable[[types.RequestId, dict[str, Any]], Awaitable[None]]

SHUTDOWN_GRACE: Final = 2.0
"""Seconds that running calls get to answer after the client closed its side."""


class ServerConnection:
    """The server's side of one conversation, whatever carries it. Enter it, then give it what arrives.

    Args:
        server: The server.
        send: Writes one message in wire form.
        lifespan_context: What the server's lifespan yielded.
        greeting: What is answered to `initialize`; `None` for what the server says everywhere.
        session_id: The id under which others know the conversation.
        send_related: Writes one message that belongs to a request of the client; `None` where that makes no difference.
        on_failure: Told the request and the cause when a handler raises something unexpected; the client is told
            nothing of it.
    """

    def __init__(
        self,
        server: HandlerTable,
        send: Send,
        *,
        lifespan_context: object,
        greeting: types.InitializeResult | None = None,
        session_id: str | None = None,
        send_related: SendRelated | None = None,
        on_failure: Callable[[types.RequestId, BaseException], None] | None = None,
    ) -> None:
        self._server = server
        self._send_related = send_related
        self._lifespan_context = lifespan_context
        self._on_failure = on_failure
        self._handshake = Handshake(greeting)
        self._connection = Connection(send, self._admit, self._take_note, after_result=_farewell)
        self._shown = ShownConnection(self._connection, self._handshake, session_id)
        self._said: ServerMessageMetadata | None = None  # about the message that is being delivered

    async def __aenter__(self) -> ServerConnection:
        await self._connection.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._connection.__aexit__(exc_type, exc, traceback)

    async def receive(self, message: Message, said: ServerMessageMetadata | None = None) -> None:
        """Take in one message, and what its transport says about it; returns when the next one may come."""
        await self._connection.wait_for_room()
        self._said = said
        self._connection.deliver(message)
        self._said = None
        if isinstance(message, Request) and message.method == "initialize":
            # legacy lifecycle: what follows a handshake depends on what was agreed in it.
            await self._connection.wait_until_answered(message.request_id)

    async def finish(self, grace: float = SHUTDOWN_GRACE) -> None:
        """End the conversation after the client closed its side; running calls have `grace` seconds to answer."""
        await self._connection.finish(grace)

    @property
    def version(self) -> str | None:
        """The protocol revision spoken; `None` until that is known."""
        if self._handshake.client is not None:
            return self._handshake.client.version
        return None if self._handshake.era is None else LATEST_MODERN_VERSION

    def _admit(self, request: Request) -> Work:
        client = self._handshake.admit(request)
        scope = self._scope(request.method, request.params, client)
        scope.request_id = request.request_id
        self._relate(scope, request.request_id)
        if self._on_failure is None:
            return partial(handle_request, self._server, scope)
        scope.raise_exceptions = True
        return partial(self._handle, scope, partial(self._on_failure, request.request_id))

    def _relate(self, scope: RequestScope, request_id: types.RequestId) -> None:
        """Let everything that is said about a request go the way of its answer."""
        if self._send_related is not None:
            send = partial(self._send_related, request_id)
            scope.notify = partial(self._connection.notify, via=send)
            if scope.ask is not None:
                scope.ask = partial(self._connection.ask, via=send)
        if self._said is not None:
            scope.close_stream = self._said.close_sse_stream
            scope.close_channel = self._said.close_standalone_sse_stream
            if not self._said.can_send_request:
                scope.ask = None

    async def _handle(self, scope: RequestScope, on_failure: Callable[[BaseException], None]) -> dict[str, Any]:
        try:
            return await handle_request(self._server, scope)
        except MCPError as error:
            if error.__cause__ is None:
                raise
            on_failure(error.__cause__)
            raise MCPError(INTERNAL_ERROR, "Internal server error") from None

    def _take_note(self, notification: Notification) -> None:
        if notification.method == "notifications/initialized":
            self._handshake.initialized = True
        owner = progress_owner(notification)
        if owner is not None:
            self._connection.pass_on(owner, notification)
        client = self._handshake.client or ClientFacts(LATEST_MODERN_VERSION, types.ClientCapabilities())
        scope = self._scope(notification.method, notification.params, client)
        self._connection.start_note(handle_notification, self._server, scope)

    def _scope(self, method: str, params: dict[str, Any] | None, client: ClientFacts) -> RequestScope:
        era = era_of(client.version)
        http_request = None if self._said is None else self._said.request_context
        return RequestScope(
            method=method,
            params=params,
            request_id=None,
            version=client.version,
            era=era,
            client=client,
            notify=self._connection.notify,
            ask=self._connection.ask if era.may_ask else None,
            channel=self._connection,
            handshake=None if era is MODERN else self._handshake,
            lifespan_context=self._lifespan_context,
            request=http_request,
            headers=getattr(http_request, "headers", None),
            connection=self._shown,
        )


def _farewell(request: Request) -> dict[str, Any] | None:
    """Tell the end of a subscription: no stream ends with it on a pipe (cancellation: "Cancellation Flow")."""
    if request.method != "subscriptions/listen":
        return None
    params = {"requestId": request.request_id, "reason": "the subscription has ended"}
    return notification_message("notifications/cancelled", params)


async def serve_streams(
    server: HandlerTable,
    read_stream: ReadStream[SessionMessage | Exception],
    write_stream: WriteStream[SessionMessage],
    *,
    lifespan_context: object,
    greeting: types.InitializeResult | None = None,
    session_id: str | None = None,
    raise_exceptions: bool = False,
) -> None:
    """Serve one pair of message streams until the client closes its side.

    Args:
        server: The server.
        read_stream: What the client sends.
        write_stream: What it receives.
        lifespan_context: What the server's lifespan yielded.
        greeting: What is answered to `initialize`; `None` for what the server says everywhere.
        session_id: The id under which others know the conversation.
        raise_exceptions: Whether an unexpected exception of a handler also ends serving, by being raised from here.
    """

    async def send(message: dict[str, Any]) -> None:
        await write_stream.send(SessionMessage(to_model(message)))

    async def send_related(request_id: types.RequestId, message: dict[str, Any]) -> None:
        metadata = ServerMessageMetadata(related_request_id=request_id)
        await write_stream.send(SessionMessage(to_model(message), metadata))

    async def send_wire(message: dict[str, Any]) -> None:
        assert isinstance(write_stream, WireWriter)
        try:
            await write_stream.send_wire(message)
        except OSError:
            if not reading.cancel_called:
                logger.info("The client takes no more messages; the conversation ends")
            gone.append(True)
            reading.cancel()
            raise

    failures: list[BaseException] = []
    gone: list[bool] = []
    reading = anyio.CancelScope()

    def stop(request_id: types.RequestId, cause: BaseException) -> None:
        failures.append(cause)
        reading.cancel()

    writes_wire = isinstance(write_stream, WireWriter)
    served = ServerConnection(
        server,
        send_wire if writes_wire else send,
        send_related=None if writes_wire else send_related,
        lifespan_context=lifespan_context,
        greeting=greeting,
        session_id=session_id,
        on_failure=stop if raise_exceptions else None,
    )
    async with read_stream, write_stream, served:
        with reading:
            if isinstance(read_stream, WireReader):
                await _receive_wire(read_stream, served)
            else:
                async for item in read_stream:
                    if isinstance(item, Exception):
                        logger.debug("Dropping what the transport could not read: %r", item)
                        continue
                    said = item.metadata if isinstance(item.metadata, ServerMessageMetadata) else None
                    await served.receive(from_model(item.message), said)
        await served.finish(0 if gone else SHUTDOWN_GRACE)
    if failures:
        raise failures[0]


async def _receive_wire(read_stream: WireReader, served: ServerConnection) -> None:
    while (message := await read_stream.receive_wire(served.version)) is not None:
        if isinstance(message, Exception):
            logger.debug("Dropping what the transport could not read: %r", message)
        else:
            await served.receive(message)
