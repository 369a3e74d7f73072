"""A link over streamable HTTP: modern requests, each one POST and its answer; older revisions go to `legacy`.

A modern exchange happens in the caller's task: cancelling the caller closes the response, which is how this transport
cancels.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

import anyio

from mcp._engine.connection import OnRequest
from mcp._engine.link import OnNotification, OutgoingRequest
from mcp._engine.mailbox import Hear
from mcp._engine.owner import Owned
from mcp._engine.stream_link import StreamLink
from mcp._protocol.era import LEGACY, era_of
from mcp._protocol.headers import MCP_METHOD, MCP_PROTOCOL_VERSION, standard_headers
from mcp._protocol.jsonrpc import (
    ErrorResponse,
    Notification,
    Request,
    Response,
    dumps,
    notification_message,
    request_message,
)
from mcp._protocol.sse import EventTooLargeError
from mcp.client._http.backend import HTTPResponse, NetworkError, ResumptionError, TransportFailure
from mcp.client._http.legacy import DEFAULT_MAX_RECONNECTION_ATTEMPTS, HandshakeRefusedError, LegacyLink
from mcp.client._http.sse_streams import SSELink, SSEStreams
from mcp.client._http.wire import (
    POST_HEADERS,
    OnFault,
    Wire,
    answers,
    check_accepted,
    read_failure,
    too_large,
    unusable,
    unwrap,
)
from mcp_types.jsonrpc import RequestId

logger = logging.getLogger(__name__)

_CLOSED: Final = "Connection closed"


class HTTPLink:
    """A link over streamable HTTP.

    Args:
        wire: The way to the endpoint.
        terminate_on_close: Whether to end a session of an older server in the end.
        max_reconnection_attempts: How often in a row to ask an older server for the rest of a stream in vain.
        tries_sse: Whether to try HTTP+SSE where the endpoint does not take an `initialize`.
    """

    network_transport = "tcp"  # for spans

    def __init__(
        self,
        wire: Wire,
        *,
        terminate_on_close: bool = True,
        max_reconnection_attempts: int = DEFAULT_MAX_RECONNECTION_ATTEMPTS,
        tries_sse: bool = False,
    ) -> None:
        self._wire = wire
        self._legacy = LegacyLink(
            wire, terminate_on_close=terminate_on_close, max_reconnection_attempts=max_reconnection_attempts
        )
        self._tries_sse = tries_sse
        self._sse: StreamLink | None = None  # once the server has turned out to speak nothing newer
        self._sse_owner: Owned[StreamLink] | None = None
        self._attach: Callable[[StreamLink], None] | None = None
        self._open: set[anyio.CancelScope] = set()
        # A caller's own client stays open when ours closes, so its running requests are ended one by one.
        self._ends_one_by_one = wire.backend.raises_own_errors

    @property
    def session_id(self) -> str | None:
        """The session with an older server, for spans; `None` without one."""
        return self._legacy.session_id

    def attach(self, on_request: OnRequest, hear: Hear, on_fault: OnFault | None = None) -> None:
        """Say who answers an older server's requests, who hears what belongs to no request, and who hears of faults."""
        self._legacy.attach(on_request, hear)
        self._attach = lambda link: link.attach(on_request, hear, on_fault)
        if on_fault is not None:
            self._wire.on_fault = on_fault

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        """Post a request and wait for its response."""
        legacy = _is_legacy(request.method, request.version)
        if request.resumption_token is not None and not legacy:
            # streamable-http: a modern stream is never resumed, and sending the request again would do it twice.
            raise ResumptionError(f"An answer cannot be resumed under protocol version {request.version}")
        if not legacy and not self._ends_one_by_one:
            return await self._exchange(request, on_notification)
        with anyio.CancelScope() as scope:
            self._open.add(scope)
            try:
                exchange = self._exchange_legacy if legacy else self._exchange
                return await exchange(request, on_notification)
            finally:
                self._open.discard(scope)
        raise TransportFailure(_CLOSED)

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        """Post a notification; what becomes of it is only logged."""
        if self._sse is not None:
            await self._sse.notify(method, params, version)
            return
        if _is_legacy(method, version):
            await self._legacy.notify(method, params, version)
            return
        headers = dict(POST_HEADERS)
        if version is not None:
            headers[MCP_PROTOCOL_VERSION] = version
            headers[MCP_METHOD] = method
        await self._wire.post_quietly(f"notification {method}", headers, dumps(notification_message(method, params)))

    async def aclose(self) -> None:
        """End the exchanges that still run, and the session if there is one, and close the connections."""
        self._wire.closed = True
        for scope in self._open:
            scope.cancel()
        await self._legacy.aclose()
        if self._sse_owner is not None:
            await self._sse_owner.__aexit__(None, None, None)
        await self._wire.backend.aclose()

    async def _exchange_legacy(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        if self._sse is not None:
            return await self._sse.exchange(request, on_notification)
        try:
            return await self._legacy.exchange(request, on_notification)
        except HandshakeRefusedError as refused:
            if not self._tries_sse:
                raise
            link = await self._open_sse(refused)
        return await link.exchange(request, on_notification)

    async def _open_sse(self, refused: HandshakeRefusedError) -> StreamLink:
        """Try the transport of 2024-11-05 (streamable-http: "Backward Compatibility")."""
        owner = Owned(SSELink(SSEStreams(lambda: self._wire, closes_backend=False)))
        try:
            self._sse = await owner.__aenter__()
        except Exception as error:
            logger.debug("The server does not speak HTTP+SSE either: %s", error)
            self._wire.closed = False
            raise refused from error
        self._sse_owner = owner
        if self._attach is not None:
            self._attach(self._sse)
        return self._sse

    async def _exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        body = dumps(request_message(request.request_id, request.method, request.params))
        headers = dict(POST_HEADERS)
        if request.version is not None:
            headers.update(standard_headers(request.version, request.method, request.params))
        if request.headers:
            headers.update(request.headers)
        response: HTTPResponse | None = None
        try:
            response = await self._wire.send("POST", headers, body)
            message = await self._read_answer(response, request.request_id, on_notification)
            await response.finish()
        except NetworkError as error:
            if response is not None:
                await response.abort()
            raise self._wire.failure(error) from error.__cause__
        except BaseException:
            if response is not None:
                # After a cancellation, too: closing the response is what tells the server (streamable-http:
                # Cancellation). httpx2 awaits to close, which a cancelled scope would cut short.
                with anyio.CancelScope(shield=True):
                    await response.abort()
            raise
        return unwrap(message)

    async def _read_answer(
        self, response: HTTPResponse, request_id: RequestId, on_notification: OnNotification
    ) -> Response | ErrorResponse:
        status = response.status
        if not 200 <= status < 300:
            return await read_failure(response, status, self._wire.url)
        if check_accepted(response):
            return await self._read_stream(response, request_id, on_notification)
        return await self._wire.read_json(response, request_id)

    async def _read_stream(
        self, response: HTTPResponse, request_id: RequestId, on_notification: OnNotification
    ) -> Response | ErrorResponse:
        decoder = self._wire.decoder()
        while chunk := await response.read_chunk():
            try:
                events = decoder.feed(chunk)
            except EventTooLargeError as error:
                raise too_large(error) from None
            for event in events:
                for message in await self._wire.read_event(event):
                    if isinstance(message, Notification):
                        await on_notification(message.method, message.params)
                    elif isinstance(message, Request):
                        # It cannot be answered: a client posts no responses (streamable-http: Sending Messages).
                        fault = unusable(f"The server sent a request: {message.method}")
                        await self._wire.report(fault)
                    elif answers(message, request_id):
                        return message
        raise TransportFailure("SSE stream ended without a response")


def _is_legacy(method: str, version: str | None) -> bool:
    return method == "initialize" or (version is not None and era_of(version) is LEGACY)
