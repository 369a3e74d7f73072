"""A link over streamable HTTP: modern requests, each one POST and its answer; older revisions go to `legacy`.

A modern exchange happens in the caller's task: cancelling the caller closes the response, which is how this transport
cancels.
"""

from __future__ import annotations

import logging
from typing import Any, Final

import anyio

from mcp._engine.connection import Hear, OnRequest
from mcp._engine.link import OnNotification, OutgoingRequest
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
from mcp.client._http.backend import HTTPResponse, NetworkError, TransportFailure
from mcp.client._http.legacy import DEFAULT_MAX_RECONNECTION_ATTEMPTS, LegacyLink
from mcp.client._http.wire import POST_HEADERS, OnFault, Wire, answers, check_accepted, read_failure, unwrap
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import INVALID_REQUEST, RequestId

logger = logging.getLogger(__name__)

_CLOSED: Final = "Connection closed"


class HTTPLink:
    """A link over streamable HTTP.

    Args:
        wire: The way to the endpoint.
        terminate_on_close: Whether to end a session of an older server in the end.
        max_reconnection_attempts: How often in a row to ask an older server for the rest of a stream in vain.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        terminate_on_close: bool = True,
        max_reconnection_attempts: int = DEFAULT_MAX_RECONNECTION_ATTEMPTS,
    ) -> None:
        self._wire = wire
        self._legacy = LegacyLink(
            wire, terminate_on_close=terminate_on_close, max_reconnection_attempts=max_reconnection_attempts
        )
        self._open: set[anyio.CancelScope] = set()
        # A caller's own client stays open when ours closes, so its running requests are ended one by one.
        self._ends_one_by_one = wire.backend.raises_own_errors

    def attach(self, on_request: OnRequest, hear: Hear, on_fault: OnFault | None = None) -> None:
        """Say who answers an older server's requests, who hears what belongs to no request, and who hears of faults."""
        self._legacy.attach(on_request, hear)
        if on_fault is not None:
            self._wire.on_fault = on_fault

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        """Post a request and wait for its response."""
        legacy = _is_legacy(request.method, request.version)
        if not legacy and not self._ends_one_by_one:
            return await self._exchange(request, on_notification)
        with anyio.CancelScope() as scope:
            self._open.add(scope)
            try:
                exchange = self._legacy.exchange if legacy else self._exchange
                return await exchange(request, on_notification)
            finally:
                self._open.discard(scope)
        raise TransportFailure(_CLOSED)

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        """Post a notification; what becomes of it is only logged."""
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
        await self._wire.backend.aclose()

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
                raise TransportFailure(f"SSE stream failed: {error}") from None
            for event in events:
                message = await self._wire.read_event(event)
                if isinstance(message, Notification):
                    await on_notification(message.method, message.params)
                elif isinstance(message, Request):
                    # It cannot be answered: a client posts no responses (streamable-http: Sending Messages).
                    await self._wire.report(MCPError(INVALID_REQUEST, f"The server sent a request: {message.method}"))
                elif message is not None and answers(message, request_id):
                    return message
        raise TransportFailure("SSE stream ended without a response")


def _is_legacy(method: str, version: str | None) -> bool:
    return method == "initialize" or (version is not None and era_of(version) is LEGACY)
