"""HTTP+SSE, the transport before streamable HTTP: one stream for all the server says, and a place to post to."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Any, Final
from urllib.parse import parse_qs, urljoin, urlsplit

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from mcp._engine.stream_link import StreamLink
from mcp._engine.streams import LastFault, as_model, from_model
from mcp._protocol.jsonrpc import (
    ErrorResponse,
    Message,
    Notification,
    Request,
    dumps,
    error_message,
    notification_message,
    request_message,
    result_message,
)
from mcp._protocol.sse import EventTooLargeError, ServerSentEvent
from mcp.client._http.backend import HTTPResponse, NetworkError, StreamableHTTPError, check_url, origin, without_secrets
from mcp.client._http.wire import Wire, check_accepted, read_failure
from mcp.client._transport import TransportStreams
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import ErrorData
from mcp_types.jsonrpc import CONNECTION_CLOSED

logger = logging.getLogger(__name__)

CONNECT_SECONDS: Final = 5.0
"""How long a server may take to say where to post."""


class SSEStreams:
    """Connects when entered, and yields the pair of message streams.

    Args:
        make_wire: Makes the way to the URL of the stream, inside a running event loop.
        timeout: Seconds to wait until the server says where to post.
        on_session_created: Told the session's id, if the place to post to names one.
        closes_backend: Whether to close the HTTP library in the end.
    """

    def __init__(
        self,
        make_wire: Callable[[], Wire],
        *,
        timeout: float = CONNECT_SECONDS,
        on_session_created: Callable[[str], None] | None = None,
        closes_backend: bool = True,
    ) -> None:
        self._make_wire = make_wire
        self._timeout = timeout
        self._on_session_created = on_session_created
        self._closes_backend = closes_backend
        self._endpoint: str | None = None
        self._failure: Exception | None = None
        self._connected = anyio.Event()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> TransportStreams:
        self._wire = self._make_wire()
        self._url = without_secrets(self._wire.url)
        if self._closes_backend:
            self._stack.push_async_callback(self._wire.backend.aclose)
        self._to_reader, reader = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        writer, from_writer = anyio.create_memory_object_stream[SessionMessage](0)
        self._wire.on_fault = self._to_reader.send
        for end in (self._to_reader, reader, writer, from_writer):
            self._stack.push_async_callback(end.aclose)
        tasks = self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        try:
            tasks.start_soon(self._listen)
            with anyio.move_on_after(self._timeout):
                await self._connected.wait()
        except BaseException as error:
            tasks.cancel_scope.cancel()
            await self._stack.__aexit__(type(error), error, error.__traceback__)
            raise
        if self._endpoint is None:
            await self.__aexit__(None, None, None)
            raise self._failure or StreamableHTTPError(
                f"{self._url} did not say within {self._timeout:g} s where to post messages"
            )
        tasks.start_soon(self._write, from_writer, tasks)
        return reader, writer

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._wire.closed = True
        self._tasks.cancel_scope.cancel()
        await self._stack.__aexit__(None, None, None)

    # What the server says

    async def _listen(self) -> None:
        response: HTTPResponse | None = None
        try:
            response = await self._wire.send("GET", {"accept": "text/event-stream", "cache-control": "no-store"})
            await self._read(response)
            logger.debug("The server has ended its stream")
        except NetworkError as error:
            self._failure = self._own_error(error)
            logger.debug("The stream broke off: %s", error)
        except EventTooLargeError as error:
            logger.warning("The stream has failed: %s", error)
            self._failure = LastFault(f"{error} sse_client(url) has no such limit")
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._to_reader.send(self._failure)
        except (MCPError, StreamableHTTPError) as error:
            self._failure = error
            if self._endpoint is not None:
                logger.warning("The stream has failed: %s", error)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            logger.debug("Nobody reads any more")
        except Exception as error:
            if response is None or response.status < 300:
                raise
            self._failure = error
        finally:
            self._connected.set()
            self._to_reader.close()
            if response is not None:
                with anyio.CancelScope(shield=True):
                    await response.abort()

    def _own_error(self, error: NetworkError) -> Exception:
        cause = error.__cause__ if self._wire.backend.raises_own_errors else None
        return cause if isinstance(cause, Exception) else StreamableHTTPError(f"{self._url}: {error}")

    async def _read(self, response: HTTPResponse) -> None:
        if not 200 <= response.status < 300:
            raise response.status_error()
        if not check_accepted(response):
            raise StreamableHTTPError(f"{self._url} answers with JSON, not with an event stream")
        decoder = self._wire.decoder()
        while chunk := await response.read_chunk():
            for event in decoder.feed(chunk):
                if self._endpoint is None:
                    self._endpoint = self._read_endpoint(event)
                    self._connected.set()
                else:
                    for message in await self._wire.read_event(event, may_be_batch=True):
                        await self._to_reader.send(SessionMessage(as_model(message)))
        if self._endpoint is None:
            raise StreamableHTTPError(f"{self._url} ended its stream before it said where to post messages")

    def _read_endpoint(self, event: ServerSentEvent) -> str:
        """Find out where to post; never elsewhere, for the posts carry the caller's credentials."""
        if event.event != "endpoint":
            raise StreamableHTTPError(
                f"{self._url} began its stream with an event named {event.event!r}, not with 'endpoint'"
            )
        try:
            url = urljoin(self._wire.url, event.data.decode())
            check_url(url)
        except (ValueError, StreamableHTTPError):
            raise StreamableHTTPError(f"{self._url} names no URL to post to: {event.data!r}") from None
        if origin(url) != origin(self._wire.url):
            text = f"Endpoint origin does not match connection origin: {url}"
            logger.error(text)
            raise StreamableHTTPError(text)
        query = parse_qs(urlsplit(url).query)
        session_id = (query.get("session_id") or query.get("sessionId") or [None])[0]
        if session_id is not None and self._on_session_created is not None:
            self._on_session_created(session_id)
        return url

    # What the client says

    async def _write(self, from_writer: MemoryObjectReceiveStream[SessionMessage], tasks: TaskGroup) -> None:
        async for item in from_writer:
            message = from_model(item.message)
            extra = item.metadata.headers if isinstance(item.metadata, ClientMessageMetadata) else None
            if isinstance(message, Notification):
                await self._post(message, extra)  # what follows a notification may depend on it
            else:
                tasks.start_soon(self._post, message, extra)

    async def _post(self, message: Message, extra: dict[str, str] | None) -> None:
        headers = {"content-type": "application/json", **(extra or {})}
        try:
            response = await self._wire.send("POST", headers, dumps(wire_form(message)), self._endpoint)
            failure = None
            if not 200 <= response.status < 300:
                failure = await read_failure(response, response.status, self._endpoint or self._wire.url)
            await response.finish()
        except (NetworkError, MCPError) as error:
            text = f"The message was not delivered: {error}"
            failure = ErrorResponse(None, CONNECTION_CLOSED, text, is_local=True)
        if failure is None:
            return
        logger.warning("A message was refused: %s", failure.message)
        if isinstance(message, Request):
            failure.request_id = message.request_id
            try:
                await self._to_reader.send(SessionMessage(as_model(failure)))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                logger.debug("Nobody reads any more")

    _wire: Wire
    _url: str
    _tasks: TaskGroup
    _to_reader: MemoryObjectSendStream[SessionMessage | Exception]


class SSELink:
    """Connects when entered, and yields a link over the streams.

    Args:
        streams: The streams.
    """

    def __init__(self, streams: SSEStreams) -> None:
        self._streams = streams
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> StreamLink:
        streams = await self._stack.enter_async_context(self._streams)
        link = await self._stack.enter_async_context(StreamLink(*streams))
        link.network_transport = "tcp"
        return link

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(exc_type, exc, traceback)


def wire_form(message: Message) -> dict[str, Any]:
    """Put a message into wire form."""
    if isinstance(message, Request):
        return request_message(message.request_id, message.method, message.params)
    if isinstance(message, Notification):
        return notification_message(message.method, message.params)
    if isinstance(message, ErrorResponse):
        error = ErrorData(code=message.code, message=message.message, data=message.data)
        return error_message(message.request_id, error, null_id=True)
    return result_message(message.request_id, message.result)
