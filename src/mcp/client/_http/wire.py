"""One HTTP endpoint: requests to it, and what each kind of answer means."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, TypeAlias, cast
from urllib.parse import urljoin

from mcp._protocol.jsonrpc import (
    ErrorResponse,
    Message,
    Response,
    loads,
    read_batch,
    read_message,
    unreadable_answer,
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
from mcp_types.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, RequestId

logger = logging.getLogger(__name__)

OnFault: TypeAlias = Callable[[Exception], Awaitable[None]]
"""Told about what cannot be understood and belongs to no request."""

TakeIn: TypeAlias = Callable[[Message], Awaitable[None]]
"""Takes in a message that came along with another one."""

DEFAULT_MAX_SSE_EVENT_SIZE: Final = 1024 * 1024
DEFAULT_MAX_JSON_BODY_SIZE: Final = 64 * 1024 * 1024
_MAX_SHOWN_OF_BODY: Final = 200
_MAX_READ_OF_BODY: Final = 4096  # HTML is mostly not for people
_MAX_ERROR_BODY_SIZE: Final = 1024 * 1024
_MAX_REDIRECTS: Final = 5
_TAG: Final = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)

ACCEPT_BOTH: Final = "application/json, text/event-stream"
POST_HEADERS: Final = {"accept": ACCEPT_BOTH, "content-type": "application/json"}


class Wire:
    """The way to one endpoint.

    Args:
        backend: The HTTP library in use.
        url: The endpoint.
        max_sse_event_size: The largest server-sent event to accept, in bytes; `None` for any.
        max_json_body_size: The largest JSON body to accept, in bytes; `None` for any.
        on_fault: Told about stream events that are not JSON-RPC.

    Attributes:
        on_fault: Told about stream events that are not JSON-RPC.
        closed: Whether the client is closing; failures are its own doing then.
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
        self.backend = backend
        self.url = url
        self.closed = False
        self._max_sse_event_size = max_sse_event_size
        self._max_json_body_size = max_json_body_size
        self.on_fault = on_fault

    def decoder(self) -> SSEDecoder:
        """Make a reader for one event stream."""
        return SSEDecoder(self._max_sse_event_size)

    async def send(
        self, method: str, headers: Mapping[str, str], body: bytes | None = None, url: str | None = None
    ) -> HTTPResponse:
        """Send a request, following a redirect where method, body and headers may go on to the same server.

        Args:
            method: The HTTP method.
            headers: Its headers.
            body: Its body, if it has one.
            url: Where to send it, if not to the endpoint; of the same origin.

        Raises:
            NetworkError: It was not delivered, or not answered.
            MCPError: It was redirected to where it must not go.
        """
        url = url or self.url
        response = await self.backend.send(method, url, headers, body)
        for _ in range(_MAX_REDIRECTS):
            if not 300 <= response.status < 400:
                return response
            status, location = response.status, response.header("location")
            await response.abort()
            target = _redirect_target(url, location)
            if status not in (307, 308) or target is None or origin(target) != origin(self.url):
                text = (
                    f"Redirect to {target or location or ''} not followed; "
                    "use that URL as the endpoint if it is the intended server"
                )
                logger.warning(text)
                raise unusable(text)
            url = target
            response = await self.backend.send(method, url, headers, body)
        await response.abort()
        raise unusable(f"More than {_MAX_REDIRECTS} redirects from {self.url}")

    async def post_quietly(self, what: str, headers: Mapping[str, str], body: bytes) -> None:
        """Post what gets no answer; what becomes of it is only logged."""
        try:
            response = await self.send("POST", headers, body)
            if not 200 <= response.status < 300:
                logger.warning("%s was answered with status %d", what, response.status)
            await response.abort()
        except (NetworkError, MCPError) as error:
            logger.warning("%s was not delivered: %s", what, error)

    def failure(self, error: NetworkError) -> TransportFailure:
        """Say what a failure of the network means to the caller; to be raised from the library's own error."""
        if self.closed:
            return TransportFailure("Connection closed")
        if not isinstance(error, ConnectError):
            return TransportFailure(f"The HTTP exchange failed: {error}")
        own = error.__cause__ if self.backend.raises_own_errors else None
        if not isinstance(own, Exception):
            own = StreamableHTTPError(f"{without_secrets(self.url)} cannot be reached: {error}")
            own.__cause__ = error.__cause__
        return TransportFailure(f"The server cannot be reached: {error}", connect_error=own)

    async def read_json(
        self, response: HTTPResponse, request_id: RequestId, take_in: TakeIn | None = None
    ) -> Response | ErrorResponse:
        """Read the one response that a JSON body is, or holds.

        Args:
            response: The HTTP response.
            request_id: The request's id.
            take_in: Takes in the other messages of a batch; `None` where messages do not come in batches.

        Raises:
            MCPError: It is something else.
            NetworkError: The connection failed.
        """
        body = await read_body(response, self._max_json_body_size)
        try:
            value = loads(body)
            if isinstance(value, list) and (take_in is None or not value):
                raise ValueError("an array is no single message")
        except (ValueError, RecursionError) as error:
            raise unusable(f"Failed to parse JSON response: {error}", PARSE_ERROR) from None
        if isinstance(value, list) and take_in is not None:
            return await self._find_response(cast("list[Any]", value), request_id, take_in)
        message = read_message(value)
        if not isinstance(message, Response | ErrorResponse):
            raise unusable("The server answered a request with something that is no response")
        if not answers(message, request_id):
            raise unusable(f"The server answered request {request_id!r} with the id {message.request_id!r}")
        return message

    async def _find_response(
        self, values: list[Any], request_id: RequestId, take_in: TakeIn
    ) -> Response | ErrorResponse:
        found = None
        for message in await self._read_all(values):
            if not isinstance(message, Response | ErrorResponse):
                await take_in(message)
            elif answers(message, request_id):
                found = message
        if found is None:
            raise unusable(f"The server's batch holds no answer to request {request_id!r}")
        return found

    async def read_event(self, event: ServerSentEvent, *, may_be_batch: bool = False) -> Sequence[Message]:
        """Read the message in an event, or those of a batch; what is none is reported."""
        if event.event != "message":
            logger.warning("Unknown SSE event: %s", event.event)
            return ()
        try:
            value = loads(event.data)
        except (ValueError, RecursionError) as error:
            await self.report(unusable(f"Failed to parse SSE message: {error}", PARSE_ERROR))
            answer = unreadable_answer(event.data, error)
            return () if answer is None else (answer,)
        if may_be_batch and isinstance(value, list) and value:
            return await self._read_all(cast("list[Any]", value))
        return await self._read_all([value])

    async def _read_all(self, values: list[Any]) -> Sequence[Message]:
        messages: list[Message] = []
        for read in read_batch(values):
            if isinstance(read, Message):
                messages.append(read)
            else:
                await self.report(unusable(f"Failed to parse SSE message: {read.message}"))
        return messages

    async def report(self, fault: Exception) -> None:
        """Report what belongs to no request."""
        logger.warning("%s", fault)
        if self.on_fault is not None:
            await self.on_fault(fault)


def unusable(text: str, code: int = INVALID_REQUEST, data: Any = None) -> MCPError:
    """The error for an answer that cannot be used: the server has answered, but no error."""
    return MCPError(code, text, data, is_local=True)


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
            raise unusable(
                f"The server's answer exceeds the limit of {limit} bytes; "
                "to allow more: streamable_http_client(url, max_json_body_size=...)"
            )
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


async def read_failure(response: HTTPResponse, status: int, url: str) -> ErrorResponse:
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
    said = _beginning(response, body)
    if status == 404:
        text = f"Not Found: no MCP endpoint at {without_secrets(url)}{said}"
        return ErrorResponse(None, METHOD_NOT_FOUND, text, {"httpStatus": status}, is_local=True)
    text = f"Server returned an error response (HTTP {status}: {_reason(status)}{said})"
    return ErrorResponse(None, INTERNAL_ERROR, text, {"httpStatus": status}, is_local=True)


def check_accepted(response: HTTPResponse) -> bool:
    """Tell whether a success is an event stream; otherwise it is JSON.

    Raises:
        MCPError: It is neither.
    """
    if response.status == 202:
        raise unusable("server answered a request with 202 Accepted")
    content_type = response.header("content-type")
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        return True
    if kind == "application/json":
        return False
    raise unusable(f"Unexpected content type: {content_type}", data={"httpStatus": response.status})


def too_large(error: EventTooLargeError) -> TransportFailure:
    """The error for a call whose stream cannot be read on."""
    return TransportFailure(
        f"SSE stream failed: {error} To allow more: streamable_http_client(url, max_sse_event_size=...)"
    )


def answers(message: Response | ErrorResponse, request_id: RequestId) -> bool:
    """Whether a response belongs to the request. The id of an unreadable request is missing from its error."""
    answered = message.request_id
    if answered is None:
        return True
    return answered == request_id or (isinstance(request_id, int) and answered == str(request_id))


def unwrap(message: Response | ErrorResponse) -> dict[str, Any]:
    """Return the result that a response carries.

    Raises:
        MCPError: It carries an error.
    """
    if isinstance(message, ErrorResponse):
        raise message.as_exception()
    return message.result


def _reason(status: int) -> str:
    """The status's usual name."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "not a status of HTTP"


def _beginning(response: HTTPResponse, body: bytes) -> str:
    """How a body begins, if it is text; of HTML without its tags. Often only a gateway knows why it refused."""
    kind = (response.header("content-type") or "").partition(";")[0].strip().lower()
    if not kind.startswith("text/") and not kind.endswith("json"):
        return ""
    text = body[:_MAX_READ_OF_BODY].decode(errors="replace")
    if kind == "text/html":
        text = _TAG.sub(" ", text)
    text = "".join(character if character.isprintable() else " " for character in text)
    text = " ".join(text.split())[:_MAX_SHOWN_OF_BODY]
    return f"; it says: {text}" if text else ""


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
