"""Streamable HTTP of the handshake era: a session, its standing stream, streams that go on, questions of the server.

What a request needs happens in the caller's task, as in the modern era: its POST, its answer, and asking for the rest
of a stream that broke off. Beside the calls run the standing stream and the answers to the server's questions.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import anyio

from mcp._engine.connection import COURTESY_SECONDS, OnRequest, progress_owner
from mcp._engine.connection_link import ConnectionLink
from mcp._engine.link import OnNotification, OutgoingRequest
from mcp._engine.mailbox import Hear
from mcp._protocol.headers import MCP_METHOD, MCP_NAME, MCP_PARAM_PREFIX
from mcp._protocol.jsonrpc import (
    ErrorResponse,
    Message,
    Notification,
    Request,
    Response,
    dumps,
    notification_message,
    request_message,
)
from mcp._protocol.negotiate import PROOFS_OF_MODERN
from mcp._protocol.peer import CANCELLED
from mcp._protocol.sse import EventTooLargeError
from mcp.client._http.backend import HTTPResponse, NetworkError, TransportFailure
from mcp.client._http.background import Background
from mcp.client._http.legacy_session import LegacySession, SessionLostError
from mcp.client._http.resumable import DEFAULT_MAX_RECONNECTION_ATTEMPTS, StreamPosition
from mcp.client._http.standing import StandingStream
from mcp.client._http.wire import POST_HEADERS, Wire, answers, check_accepted, read_failure, too_large, unwrap
from mcp.client._session_settings import SessionSettings
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import RequestId

logger = logging.getLogger(__name__)

_INITIALIZED: Final = "notifications/initialized"
_EXHAUSTED: Final = "SSE stream ended and reconnection attempts were exhausted"
_NOT_STREAMABLE: Final = (400, 404, 405)


class HandshakeRefusedError(MCPError):
    """The endpoint does not take `initialize` as a POST; it may be one of the transport before this one."""


class LegacyLink:
    """The part of a link that speaks to servers with a handshake.

    Args:
        wire: The way to the endpoint.
        terminate_on_close: Whether to end the session in the end.
        max_reconnection_attempts: How often in a row to ask for the rest of a stream in vain.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        terminate_on_close: bool = True,
        max_reconnection_attempts: int = DEFAULT_MAX_RECONNECTION_ATTEMPTS,
    ) -> None:
        self._wire = wire
        self._terminate_on_close = terminate_on_close
        self._max_attempts = max_reconnection_attempts
        self._session = LegacySession(wire)
        self._opening: OutgoingRequest | None = None  # how the session was opened, in case it has to be once more
        self._openings = 0
        self._settings = SessionSettings()
        self._reopening = anyio.Lock()
        self._hearing: dict[RequestId, OnNotification] = {}
        self._asked: dict[RequestId, list[RequestId]] = {}  # the server's questions about each request of ours
        self._pipe = ConnectionLink(self._answer)
        self._background = Background(self._run)
        self._running = anyio.Event()
        self._standing = StandingStream(
            self._session,
            max_reconnection_attempts=max_reconnection_attempts,
            on_message=self._hear_standing,
            on_lost=self._reopen,
        )

    @property
    def session_id(self) -> str | None:
        """The session's id; `None` without one."""
        return self._session.id

    def attach(self, on_request: OnRequest, hear: Hear) -> None:
        """Say who answers the server's requests, and who hears what belongs to no request."""
        self._pipe.attach(on_request, hear)

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        """Post a request and wait for its response; cancelling the caller tells the server."""
        self._background.start()
        await self._running.wait()
        self._hearing[request.request_id] = on_notification
        try:
            if request.method == "initialize":
                return await self._open(request)
            used = self._session.id
            try:
                result = await self._exchange(request)
            except SessionLostError:
                await self._reopen(used)
                result = await self._exchange(request)
            self._settings.note(request)
            return result
        except anyio.get_cancelled_exc_class():
            await self._give_up(request)
            raise
        finally:
            self._hearing.pop(request.request_id, None)
            self._asked.pop(request.request_id, None)

    async def notify(self, method: str, params: Mapping[str, Any] | None, version: str | None) -> None:
        """Post a notification; what becomes of it is only logged."""
        headers = self._session.headers(POST_HEADERS, version)
        await self._wire.post_quietly(f"notification {method}", headers, dumps(notification_message(method, params)))
        if method == _INITIALIZED:
            self._standing.begin()

    async def aclose(self) -> None:
        """Stop what runs beside the calls and end the session."""
        await self._background.stop()
        if self._terminate_on_close:
            await self._session.terminate()

    # The session

    async def _open(self, request: OutgoingRequest) -> dict[str, Any]:
        """Open a session: what the answer says in passing counts from now on (legacy: "Session Management")."""
        body = dumps(request_message(request.request_id, request.method, request.params))
        response = await self._send("POST", {**POST_HEADERS, **request.headers}, body)
        message = await self._read(response, request, StreamPosition())
        if message is None:
            raise TransportFailure("SSE stream ended without a response")
        if (
            isinstance(message, ErrorResponse)
            and response.status in _NOT_STREAMABLE
            and message.code not in PROOFS_OF_MODERN
        ):
            raise HandshakeRefusedError(message.code, message.message, message.data, is_local=message.is_local)
        result = unwrap(message)
        self._session.learn(response, result)
        self._opening = request
        return result

    async def _reopen(self, lost: str | None) -> None:
        """Open another session in place of one that the server has lost, as often as that is asked for but once each.

        Raises:
            MCPError: There is no other session to be had.
        """
        async with self._reopening:
            if self._session.id != lost:
                return  # somebody else was here
            if self._opening is None:
                raise SessionLostError
            self._openings += 1
            logger.info("The server has lost the session; opening another one")
            before = self._opening, self._session.version
            request = OutgoingRequest(f"initialize-{self._openings}", "initialize", self._opening.params)
            request.headers = self._opening.headers
            try:
                await self._open(request)
            except MCPError as error:
                raise SessionLostError from error
            if self._session.version != before[1]:
                logger.warning("The server spoke %s and now speaks %s; giving up", before[1], self._session.version)
                self._opening, self._session.version, self._session.id = *before, lost
                raise SessionLostError
            await self.notify(_INITIALIZED, None, self._session.version)
            await self._settings.restore(self._session.version, self._exchange)

    # One request

    async def _exchange(self, request: OutgoingRequest) -> dict[str, Any]:
        position = StreamPosition(request.resumption_token, request.on_resumption_token)
        if request.resumption_token is not None:
            return unwrap(await self._resume(request, position, self._session.id))
        body = dumps(request_message(request.request_id, request.method, request.params))
        headers = self._session.headers(POST_HEADERS, request.version)
        headers.update((name, value) for name, value in request.headers.items() if not _is_modern(name))
        sent_in = self._session.id
        response = await self._send("POST", headers, body)
        if response.status == 404 and sent_in is not None:
            await response.abort()
            raise SessionLostError
        message = await self._read(response, request, position)
        if message is None:
            message = await self._resume(request, position, sent_in)
        return unwrap(message)

    async def _resume(
        self, request: OutgoingRequest, position: StreamPosition, session: str | None
    ) -> Response | ErrorResponse:
        """Ask for the rest of a stream until its response is there (legacy: "Resumability and Redelivery")."""
        vain = -1 if request.resumption_token == position.token else 0  # the first one is no repetition
        while vain < self._max_attempts:
            if vain >= 0:
                await anyio.sleep(position.delay)
            advances = position.advances
            try:
                response = await self._session.continue_stream(session, request.version, position)
            except SessionLostError as lost:
                # The server has worked on the request, who knows how far: it is not sent again.
                raise MCPError(lost.code, lost.message, lost.data, is_local=True) from None
            if response is not None:
                message = await self._read(response, request, position)
                if message is not None:
                    return message
            vain = 0 if position.advances > advances else vain + 1
        raise TransportFailure(_EXHAUSTED)

    async def _send(self, method: str, headers: Mapping[str, str], body: bytes) -> HTTPResponse:
        try:
            return await self._wire.send(method, headers, body)
        except NetworkError as error:
            raise self._wire.failure(error) from error.__cause__

    async def _read(
        self, response: HTTPResponse, request: OutgoingRequest, position: StreamPosition
    ) -> Response | ErrorResponse | None:
        """Read a response's message; `None` if its stream ended before that and can be resumed."""
        try:
            if not 200 <= response.status < 300:
                message = await read_failure(response, response.status, self._wire.url)
            elif check_accepted(response):
                message = await self._read_stream(response, request, position)
            else:
                take_in = partial(self._sort_in, request) if self._session.takes_batches else None
                message = await self._wire.read_json(response, request.request_id, take_in)
        except NetworkError as error:
            await response.abort()
            if position.token is None or self._wire.closed:
                raise self._wire.failure(error) from error.__cause__
            return None
        except anyio.get_cancelled_exc_class():
            # Closing says nothing to a server of this era; it hears of it in a message and may end the stream itself.
            await response.finish()
            raise
        except BaseException:
            await response.abort()
            raise
        await response.finish()
        if message is None and position.token is None:
            raise TransportFailure("SSE stream ended without a response")
        return message

    async def _read_stream(
        self, response: HTTPResponse, request: OutgoingRequest, position: StreamPosition
    ) -> Response | ErrorResponse | None:
        answer: Response | ErrorResponse | None = None
        decoder = self._wire.decoder()
        while chunk := await response.read_chunk():
            try:
                events = decoder.feed(chunk)
            except EventTooLargeError as error:
                raise too_large(error) from None
            for event in events:
                if position.is_known(event):
                    continue
                for message in await self._wire.read_event(event, may_be_batch=self._session.takes_batches):
                    if not isinstance(message, Response | ErrorResponse):
                        await self._sort_in(request, message)
                    # What is resumed by a token was asked by another client, under another id.
                    elif request.resumption_token is not None or answers(message, request.request_id):
                        answer = message
                await position.read(event)
                if answer is not None:
                    return answer
            await position.read_chunk(decoder)
        return None

    async def _sort_in(self, request: OutgoingRequest, message: Message) -> None:
        """Take in what came with the answer to a request."""
        if isinstance(message, Notification) and message.method != CANCELLED:
            await self._hearing.get(request.request_id, self._hear_beside)(message.method, message.params)
        else:
            if isinstance(message, Request):
                self._asked.setdefault(request.request_id, []).append(message.request_id)
            self._take_in(message)

    async def _give_up(self, request: OutgoingRequest) -> None:
        """Tell the server that nobody waits any more (legacy: "Cancellation"); an opening is never cancelled."""
        if self._wire.closed or request.method == "initialize":
            return
        for question in self._asked.get(request.request_id, ()):
            # The server's word that it needs no answer comes on the response, which nobody reads any more.
            self._take_in(Notification(CANCELLED, {"requestId": question, "reason": "the call was cancelled"}))
        with anyio.move_on_after(COURTESY_SECONDS, shield=True):
            params = {"requestId": request.request_id, "reason": request.cancel_reason}
            await self.notify(CANCELLED, params, request.version)

    # Beside the requests

    async def _run(self) -> None:
        async with self._pipe:
            self._running.set()
            await self._standing.run()

    async def _hear_standing(self, message: Request | Notification) -> None:
        # Some servers send the progress of a request here.
        owner = progress_owner(message) if isinstance(message, Notification) else None
        hear = None if owner is None else self._hearing.get(owner)
        if hear is not None:
            await hear(message.method, message.params)
        else:
            self._take_in(message)

    async def _hear_beside(self, method: str, params: dict[str, Any] | None) -> None:
        self._take_in(Notification(method, params))

    def _take_in(self, message: Message) -> None:
        if not self._wire.closed:
            self._pipe.receive(message)

    async def _answer(self, message: dict[str, Any]) -> None:
        """Post the answer to a request of the server's."""
        headers = self._session.headers(POST_HEADERS, self._session.version)
        await self._wire.post_quietly("an answer", headers, dumps(message))


def _is_modern(header: str) -> bool:
    name = header.lower()
    return name in (MCP_METHOD, MCP_NAME) or name.startswith(MCP_PARAM_PREFIX)
