"""One modern POST, one exchange (streamable-http: Sending Messages, Receiving Messages)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol

import anyio
from pydantic_core import PydanticSerializationError
from starlette.requests import Request

import mcp_types as types
from mcp._engine.scope import RequestScope
from mcp._protocol.era import era_of
from mcp._protocol.errors import http_status
from mcp._protocol.http_request import ModernNotification, ModernRequest
from mcp._protocol.jsonrpc import dumps, error_message, result_message
from mcp._protocol.metadata import ClientFacts
from mcp.server._handle import HandlerTable, handle_notification, handle_request
from mcp.server._http.asgi import ASGIHeaders, Receive, Scope, Send
from mcp.server._http.param_check import ParamHeaderCheck, SchemaLookup
from mcp.server._http.response_stream import ResponseStream
from mcp.server._http.watch import Newcomers, StopCause, Watch
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import INTERNAL_ERROR

logger = logging.getLogger(__name__)

LISTEN_METHOD = "subscriptions/listen"

_FAREWELL_TIME = 1.0  # seconds that a client has to take the last message of a server that stops


class HTTPServer(HandlerTable, Protocol):
    """What this transport needs of a server."""

    lifespan: Callable[[Any], AbstractAsyncContextManager[Any]]
    get_tool_input_schema: SchemaLookup | None


class Exchange:
    """A request being served: its handler, its response, and what may stop it."""

    __slots__ = ("_endpoint", "_request", "_scope", "_stream", "_watch")

    def __init__(
        self, endpoint: ModernEndpoint, request: ModernRequest, stream: ResponseStream, receive: Receive
    ) -> None:
        self._endpoint = endpoint
        self._request = request
        self._stream = stream
        self._watch = Watch(receive, stream, endpoint.newcomers, endpoint.keep_alive_interval)
        self._scope: RequestScope

    async def run(self, http_scope: Scope, headers: ASGIHeaders, body: bytes) -> None:
        """Serve the request in the caller's task."""
        request = self._request
        # A bound method of the exchange would close a circle that only the garbage collector opens.
        http_request = Request(http_scope, self._watch.receive_disconnect)
        http_request._body = body
        self._scope = RequestScope(
            method=request.method,
            params=request.params,
            request_id=request.request_id,
            version=request.version,
            era=era_of(request.version),
            client=request.client,
            notify=self._stream.notify,
            lifespan_context=self._endpoint.lifespan_context,
            request=http_request,
            headers=headers,
        )
        await self._watch.run(self._answer)
        if self._watch.cause is StopCause.SERVER_STOPPING:
            with anyio.move_on_after(_FAREWELL_TIME):
                error = types.ErrorData(code=INTERNAL_ERROR, message="The server is shutting down")
                await self._stream.finish(dumps(error_message(request.request_id, error)), 503)

    def stop(self) -> None:
        """Cancel the handler and tell the client that the server is stopping."""
        self._watch.stop(StopCause.SERVER_STOPPING)

    async def _answer(self) -> None:
        request_id = self._request.request_id
        try:
            if self._request.method == "tools/call" and self._endpoint.param_headers.is_needed(self._request):
                await self._endpoint.param_headers.check(self._request, self._scope)
            result = await handle_request(self._endpoint.server, self._scope)
            message, status = result_message(request_id, result), 200
        except MCPError as error:
            message, status = error_message(request_id, error.error), http_status(error.code)
        await self._stream.finish(self._encode(message), status)

    def _encode(self, message: Mapping[str, Any]) -> bytes:
        try:
            return dumps(message)
        except (ValueError, PydanticSerializationError):
            logger.exception("the answer to %r has no JSON form", self._request.method)
            error = types.ErrorData(code=INTERNAL_ERROR, message="Internal server error")
            return dumps(error_message(self._request.request_id, error))


class ModernEndpoint:
    """Serves the modern requests of one server.

    Args:
        server: The server.
        json_response: Answer with JSON documents where the protocol allows it.
        keep_alive_interval: Seconds of silence after which a comment is sent.
    """

    def __init__(self, server: HTTPServer, *, json_response: bool, keep_alive_interval: float) -> None:
        self.server = server
        self.keep_alive_interval = keep_alive_interval
        self.lifespan_context: Any = None
        self.newcomers = Newcomers()
        self._json_response = json_response
        self.param_headers = ParamHeaderCheck(server, server.get_tool_input_schema)
        self._exchanges: set[Exchange] = set()
        self._idle: anyio.Event | None = None

    async def serve(
        self,
        request: ModernRequest,
        accepted: Literal["json", "sse", "both"],
        http_scope: Scope,
        headers: ASGIHeaders,
        body: bytes,
        receive: Receive,
        send: Send,
    ) -> None:
        """Serve one request in the caller's task."""
        is_listen = request.method == LISTEN_METHOD
        stream = ResponseStream(
            send,
            accepts_json=accepted != "sse",
            accepts_sse=accepted != "json" and (is_listen or not self._json_response or accepted == "sse"),
            prefers_sse=is_listen,
        )
        exchange = Exchange(self, request, stream, receive)
        self._exchanges.add(exchange)
        try:
            await exchange.run(http_scope, headers, body)
        finally:
            self._exchanges.discard(exchange)
            if self._idle is not None and not self._exchanges:
                self._idle.set()
        if request.method == "tools/list":
            # Whoever just read a new listing will follow it.
            self.param_headers.forget_listing()

    async def notified(self, notification: ModernNotification, headers: ASGIHeaders) -> None:
        """Hand a notification to its handler."""

        async def unheard(method: str, params: Mapping[str, Any] | None) -> None:
            logger.debug("Dropping %r: a notification has no response to send it on", method)

        await handle_notification(
            self.server,
            RequestScope(
                method=notification.method,
                params=notification.params,
                request_id=None,
                version=notification.version,
                era=era_of(notification.version),
                client=ClientFacts(notification.version, types.ClientCapabilities()),
                notify=unheard,
                lifespan_context=self.lifespan_context,
                headers=headers,
            ),
        )

    async def stop(self, timeout: float) -> None:
        """End listen streams in good order, wait for running calls, and cancel those that take longer."""
        entry = self.server.get_request_handler(LISTEN_METHOD)
        if entry is not None and isinstance(entry.handler, ListenHandler):
            entry.handler.close()
        if timeout <= 0:
            self._stop_exchanges()
        with anyio.move_on_after(timeout):
            await self._wait_until_idle()
        if self._exchanges:
            self._stop_exchanges()
            with anyio.move_on_after(2 * _FAREWELL_TIME):
                await self._wait_until_idle()

    def _stop_exchanges(self) -> None:
        for exchange in list(self._exchanges):
            exchange.stop()

    async def _wait_until_idle(self) -> None:
        while self._exchanges:
            self._idle = anyio.Event()
            await self._idle.wait()
