"""One exchange over streamable HTTP: a POST, its answer, and what each kind of answer means.

Everything happens in the caller's task: cancelling the caller closes the response, which is how this transport cancels.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import urljoin

import anyio

from mcp._engine.link import OnNotification, OutgoingRequest
from mcp._protocol.headers import MCP_METHOD, MCP_PROTOCOL_VERSION, standard_headers
from mcp._protocol.jsonrpc import (
    ErrorResponse,
    Notification,
    Response,
    dumps,
    loads,
    notification_message,
    read_message,
    request_message,
)
from mcp._protocol.sse import EventTooLargeError, ServerSentEvent, SSEDecoder
from mcp.client._http.backend import (
    ConnectError,
    HTTPBackend,
    HTTPResponse,
    NetworkError,
    StreamableHTTPError,
    TransportFailure,
    check_url,
    origin,
    without_secrets,
)
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    RequestId,
)

logger = logging.getLogger(__name__)

OnFault: TypeAlias = Callable[[Exception], Awaitable[None]]
"""Told about what cannot be understood and belongs to no request."""

DEFAULT_MAX_SSE_EVENT_SIZE: Final = 1024 * 1024
DEFAULT_MAX_JSON_BODY_SIZE: Final = 64 * 1024 * 1024
_MAX_REASON: Final = 200
_MAX_ERROR_BODY_SIZE: Final = 1024 * 1024
_MAX_REDIRECTS: Final = 5

_HEADERS: Final = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


class HTTPLink:
    """A link over streamable HTTP.

    Args:
        backend: The HTTP library in use.
        url: The MCP endpoint.
        max_sse_event_size: The largest server-sent event to accept, in bytes; `None` for any.
        max_json_body_size: The largest JSON body to accept, in bytes; `None` for any.
        on_fault: Told about stream events that are not JSON-RPC.
    """

    def __init__(
        self,
        backend: HTTPBackend,
        url: str,
        *,
        max_sse_event_size: int | None = DEFAULT_MAX_SSE_EVENT_SIZE,
        max_json_body_size: int | None = DEFAULT_MAX_JSON_BODY_SIZE,
        on_fault: OnFault | None = None,
    ) -> None:
        self._backend = backend
        self._url = url
        self._max_sse_event_size = max_sse_event_size
        self._max_json_body_size = max_json_body_size
        self._on_fault = on_fault
        self._open: set[anyio.CancelScope] | None = set() if backend.raises_own_errors else None
        self._closed = False

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        """Post a request and wait for its response."""
        body = dumps(request_message(request.request_id, request.method, request.params))
        headers = dict(_HEADERS)
        if request.version is not None:
            headers.update(standard_headers(request.version, request.method, request.params))
        if request.headers:
            headers.update(request.headers)
        if self._open is None:
            return await self._exchange(request.request_id, headers, body, on_notification)
        # A caller's own client stays open when ours closes, so its running requests are ended one by one.
        with anyio.CancelScope() as scope:
            self._open.add(scope)
            try:
                return await self._exchange(request.request_id, headers, body, on_notification)
            finally:
                self._open.discard(scope)
        raise TransportFailure("Connection closed")

    async def _exchange(
        self, request_id: RequestId, headers: dict[str, str], body: bytes, on_notification: OnNotification
    ) -> dict[str, Any]:
        response: HTTPResponse | None = None
        try:
            response = await self._post(headers, body)
            message = await self._read_answer(response, request_id, on_notification)
            await response.finish()
        except NetworkError as error:
            if response is not None:
                await response.abort()
            raise self._failure(error) from error.__cause__
        except BaseException:
            if response is not None:
                # After a cancellation, too: closing the response is what tells the server (streamable-http:
                # Cancellation). httpx2 awaits to close, which a cancelled scope would cut short.
                with anyio.CancelScope(shield=True):
                    await response.abort()
            raise
        if isinstance(message, ErrorResponse):
            raise MCPError(message.code, message.message, message.data)
        return message.result

    def _failure(self, error: NetworkError) -> TransportFailure:
        if self._closed:
            return TransportFailure("Connection closed")
        if not isinstance(error, ConnectError):
            return TransportFailure(f"The HTTP exchange failed: {error}")
        own = error.__cause__ if self._backend.raises_own_errors else None
        if not isinstance(own, Exception):
            own = StreamableHTTPError(f"{without_secrets(self._url)} cannot be reached: {error}")
            own.__cause__ = error.__cause__
        return TransportFailure(f"The server cannot be reached: {error}", connect_error=own)

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        """Post a notification; what becomes of it is only logged."""
        headers = dict(_HEADERS)
        if version is not None:
            headers[MCP_PROTOCOL_VERSION] = version
            headers[MCP_METHOD] = method
        try:
            response = await self._post(headers, dumps(notification_message(method, params)))
            if not 200 <= response.status < 300:
                logger.warning("notification %s was answered with status %d", method, response.status)
            await response.abort()
        except (NetworkError, MCPError) as error:
            logger.warning("notification %s was not delivered: %s", method, error)

    async def aclose(self) -> None:
        """End the exchanges that still run and close the connections."""
        self._closed = True
        for scope in self._open or ():
            scope.cancel()
        await self._backend.aclose()

    async def _post(self, headers: dict[str, str], body: bytes) -> HTTPResponse:
        """Post, following a redirect where method, body and headers may go on to the same server."""
        url = self._url
        response = await self._backend.post(url, headers, body)
        for _ in range(_MAX_REDIRECTS):
            if not 300 <= response.status < 400:
                return response
            status, location = response.status, response.header("location")
            await response.abort()
            target = _redirect_target(url, location)
            if status not in (307, 308) or target is None or origin(target) != origin(self._url):
                text = (
                    f"Redirect to {target or location or ''} not followed; "
                    "use that URL as the endpoint if it is the intended server"
                )
                logger.warning(text)
                raise MCPError(INVALID_REQUEST, text)
            url = target
            response = await self._backend.post(url, headers, body)
        await response.abort()
        raise MCPError(INVALID_REQUEST, f"More than {_MAX_REDIRECTS} redirects from {self._url}")

    async def _read_answer(
        self, response: HTTPResponse, request_id: RequestId, on_notification: OnNotification
    ) -> Response | ErrorResponse:
        status = response.status
        if not 200 <= status < 300:
            return await _read_failure(response, status, self._url)
        if status == 202:
            raise MCPError(INVALID_REQUEST, "server answered a request with 202 Accepted")
        content_type = response.header("content-type")
        kind = (content_type or "").partition(";")[0].strip().lower()
        if kind == "application/json":
            return await self._read_json(response, request_id)
        if kind == "text/event-stream":
            return await self._read_stream(response, request_id, on_notification)
        raise MCPError(INVALID_REQUEST, f"Unexpected content type: {content_type}", {"httpStatus": status})

    async def _read_json(self, response: HTTPResponse, request_id: RequestId) -> Response | ErrorResponse:
        body = await read_body(response, self._max_json_body_size)
        try:
            value = loads(body)
            if isinstance(value, list):
                raise ValueError("an array is no single message")
        except (ValueError, RecursionError) as error:
            raise MCPError(PARSE_ERROR, f"Failed to parse JSON response: {error}") from None
        message = read_message(value)
        if not isinstance(message, Response | ErrorResponse):
            raise MCPError(INVALID_REQUEST, "The server answered a request with something that is no response")
        if not _answers(message, request_id):
            raise MCPError(
                INVALID_REQUEST, f"The server answered request {request_id!r} with the id {message.request_id!r}"
            )
        return message

    async def _read_stream(
        self, response: HTTPResponse, request_id: RequestId, on_notification: OnNotification
    ) -> Response | ErrorResponse:
        decoder = SSEDecoder(self._max_sse_event_size)
        while chunk := await response.read_chunk():
            try:
                events = decoder.feed(chunk)
            except EventTooLargeError as error:
                raise TransportFailure(f"SSE stream failed: {error}") from None
            for event in events:
                message = await self._read_event(event)
                if isinstance(message, Notification):
                    await on_notification(message.method, message.params)
                elif message is not None and _answers(message, request_id):
                    return message
        raise TransportFailure("SSE stream ended without a response")

    async def _read_event(self, event: ServerSentEvent) -> Notification | Response | ErrorResponse | None:
        if event.event != "message":
            logger.warning("Unknown SSE event: %s", event.event)
            return None
        try:
            message = read_message(loads(event.data))
        except (ValueError, RecursionError) as error:
            await self._report(MCPError(PARSE_ERROR, f"Failed to parse SSE message: {error}"))
            return None
        if isinstance(message, Notification | Response | ErrorResponse):
            return message
        # A request cannot be answered here: a client posts no responses (streamable-http: Sending Messages).
        await self._report(MCPError(INVALID_REQUEST, "Failed to parse SSE message: neither notification nor response"))
        return None

    async def _report(self, fault: Exception) -> None:
        logger.warning("%s", fault)
        if self._on_fault is not None:
            await self._on_fault(fault)


async def read_body(response: HTTPResponse, limit: int | None) -> bytes:
    """Read the whole body.

    Raises:
        MCPError: It is larger than the limit.
    """
    pieces: list[bytes] = []
    size = 0
    while chunk := await response.read_chunk():
        pieces.append(chunk)
        size += len(chunk)
        if limit is not None and size > limit:
            raise MCPError(INVALID_REQUEST, f"The server's answer exceeds the limit of {limit} bytes")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


async def _read_failure(response: HTTPResponse, status: int, url: str) -> ErrorResponse:
    """Find the JSON-RPC error in an answer with an error status, or make one of the status."""
    body = b""
    message = None
    try:
        body = await read_body(response, _MAX_ERROR_BODY_SIZE)
        message = read_message(loads(body))
    except (ValueError, RecursionError, MCPError, NetworkError):
        pass
    if isinstance(message, ErrorResponse):
        return message
    if status == 404:
        text = f"Not Found: no MCP endpoint at {without_secrets(url)}"
        return ErrorResponse(None, METHOD_NOT_FOUND, text, {"httpStatus": status})
    text = f"Server returned an error response (HTTP {status}: {_reason(response, status, body)})"
    return ErrorResponse(None, INTERNAL_ERROR, text, {"httpStatus": status})


def _reason(response: HTTPResponse, status: int, body: bytes) -> str:
    """The body, if it is a short text for people; the status's usual name if not."""
    if (response.header("content-type") or "").lower().startswith("text/plain"):
        text = " ".join(body.decode(errors="replace").split())
        if text:
            return text[:_MAX_REASON]
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "not a status of HTTP"


def _redirect_target(url: str, location: str | None) -> str | None:
    """The URL that a redirect names; `None` if it names none that could be an endpoint."""
    if not location:
        return None
    try:
        target = urljoin(url, location)
        check_url(target)
    except (ValueError, StreamableHTTPError):
        return None
    return target


def _answers(message: Response | ErrorResponse, request_id: RequestId) -> bool:
    """Whether a response belongs to the request. The id of an unreadable request is missing from its error."""
    answered = message.request_id
    if answered is None:
        return True
    return answered == request_id or (isinstance(request_id, int) and answered == str(request_id))
