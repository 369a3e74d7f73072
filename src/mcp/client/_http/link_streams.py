"""A pair of message streams with a link behind it, for a session that is built by hand."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from mcp._engine.connection import COURTESY_SECONDS, Work
from mcp._engine.link import OutgoingRequest
from mcp._engine.streams import as_model, from_model
from mcp._protocol.headers import MCP_PROTOCOL_VERSION
from mcp._protocol.jsonrpc import ErrorResponse, Message, Notification, Request, Response
from mcp._protocol.peer import CANCELLED
from mcp.client._http.exchange import HTTPLink
from mcp.client._http.wire import unwrap
from mcp.client._transport import TransportStreams
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import PROTOCOL_VERSION_META_KEY
from mcp_types.jsonrpc import RequestId

logger = logging.getLogger(__name__)


class LinkStreams:
    """Opens a link when entered, and yields streams: what is written is sent over it, what comes back can be read.

    Args:
        open_link: Opens the link.
    """

    def __init__(self, open_link: Callable[[Callable[[Exception], Awaitable[None]]], HTTPLink]) -> None:
        self._open_link = open_link
        self._stack = AsyncExitStack()
        self._version: str | None = None  # what a handshake agreed on
        self._running: dict[RequestId, _Exchange] = {}
        self._asked: dict[RequestId, _Question] = {}

    async def __aenter__(self) -> TransportStreams:
        self._to_reader, reader = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        writer, from_writer = anyio.create_memory_object_stream[SessionMessage](0)
        link = self._link = self._open_link(self._to_reader.send)
        link.attach(self._admit, self._hear)
        for end in (self._to_reader, reader, writer, from_writer, link):
            self._stack.push_async_callback(end.aclose)
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._tasks.start_soon(self._write, from_writer)
        return reader, writer

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._tasks.cancel_scope.cancel()
        await self._stack.__aexit__(None, None, None)

    async def _write(self, from_writer: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async for item in from_writer:
            message = from_model(item.message)
            if isinstance(message, Request):
                metadata = item.metadata if isinstance(item.metadata, ClientMessageMetadata) else None
                exchange = self._running[message.request_id] = _Exchange(self._outgoing(message, metadata))
                self._tasks.start_soon(self._exchange, exchange)
            elif isinstance(message, Notification):
                await self._tell(message)
            elif message.request_id is not None and (question := self._asked.get(message.request_id)) is not None:
                question.answer = message
                question.answered.set()

    def _outgoing(self, message: Request, metadata: ClientMessageMetadata | None) -> OutgoingRequest:
        headers = dict((metadata and metadata.headers) or {})
        meta: Any = (message.params or {}).get("_meta") or {}
        version = headers.pop(MCP_PROTOCOL_VERSION, None) or meta.get(PROTOCOL_VERSION_META_KEY)
        if message.method != "initialize":
            version = version or self._version
        request = OutgoingRequest(message.request_id, message.method, message.params, version, headers)
        if metadata is not None:
            request.resumption_token = metadata.resumption_token
            request.on_resumption_token = metadata.on_resumption_token_update
        return request

    async def _exchange(self, exchange: _Exchange) -> None:
        request = exchange.request
        answer: Response | ErrorResponse | None = None
        with exchange.scope:
            try:
                result = await self._link.exchange(request, self._hear)
                if request.method == "initialize":
                    self._version = result.get("protocolVersion")
                answer = Response(request.request_id, result)
            except MCPError as error:
                answer = ErrorResponse(request.request_id, error.code, error.message, error.data, error.is_local)
        if self._running.get(request.request_id) is exchange:
            del self._running[request.request_id]
        if answer is not None:
            await self._show(answer)

    async def _tell(self, message: Notification) -> None:
        params = message.params or {}
        exchange = self._running.pop(params.get("requestId", ""), None) if message.method == CANCELLED else None
        if exchange is None:
            await self._link.notify(message.method, message.params, self._version)
        else:
            # The link knows how the era at hand says that.
            exchange.request.time_is_over = lambda: params.get("reason")
            exchange.scope.cancel()

    # What the server says

    async def _hear(self, method: str, params: dict[str, Any] | None) -> None:
        await self._show(Notification(method, params))

    async def _show(self, message: Message) -> None:
        try:
            await self._to_reader.send(SessionMessage(as_model(message)))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            logger.debug("Nobody reads any more")

    def _admit(self, request: Request) -> Work:
        async def ask() -> dict[str, Any]:
            question = self._asked[request.request_id] = _Question()
            try:
                await self._show(request)
                await question.answered.wait()
            except anyio.get_cancelled_exc_class():
                with anyio.move_on_after(COURTESY_SECONDS, shield=True):
                    await self._hear(CANCELLED, {"requestId": request.request_id})
                raise
            finally:
                del self._asked[request.request_id]
            assert isinstance(question.answer, Response | ErrorResponse)
            return unwrap(question.answer)

        return ask

    _link: HTTPLink
    _tasks: TaskGroup
    _to_reader: MemoryObjectSendStream[SessionMessage | Exception]


class _Exchange:
    """A request that has been written and is not answered yet."""

    def __init__(self, request: OutgoingRequest) -> None:
        self.request = request
        self.scope = anyio.CancelScope()


class _Question:
    """A request of the server that can be read and is not answered yet."""

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.answer: Message | None = None
