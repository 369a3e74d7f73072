"""One legacy session over HTTP whose messages go through a pair of streams, to whoever serves them."""

from __future__ import annotations

import secrets
from types import TracebackType

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream

import mcp_types as types
from mcp._engine.streams import ReadStream, WriteStream, as_model, to_wire
from mcp._protocol.headers import MCP_SESSION_ID
from mcp._protocol.jsonrpc import Message, Notification, Request, error_message
from mcp._protocol.peer import CANCELLED
from mcp.server._http.arrival import Arrival
from mcp.server._http.event_store import REQUEST_CANCELLED
from mcp.server._http.legacy import LegacyEndpoint, Refusal, principal_of
from mcp.server._http.resumable import Storage
from mcp.server._http.session_streams import SessionStreams
from mcp.server._http.watch import KEEP_ALIVE_INTERVAL
from mcp.shared.message import ServerMessageMetadata, SessionMessage


class PipedSession(SessionStreams):
    """A session whose messages go through a pair of streams.

    Attributes:
        messages: What the client sends.
    """

    def __init__(self, session_id: str | None, storage: Storage | None) -> None:
        super().__init__(session_id or secrets.token_hex(16), storage=storage, principal=None)
        self._is_named = session_id is not None
        self._version: str | None = None
        self._opening: types.RequestId | None = None
        self._inbox, self.messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)

    @property
    def version(self) -> str | None:
        """The revision agreed on; `None` before the handshake."""
        return self._version

    @property
    def is_working(self) -> bool:
        """Whether a request waits for its answer."""
        return bool(self._arrivals)

    @property
    def opening_headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """What the response to `initialize` has besides the usual headers."""
        return super().opening_headers if self._is_named else ()

    def end(self) -> None:
        """End the session, and what its messages are read from."""
        super().end()
        self._inbox.close()

    def drop(self, request_id: types.RequestId | None) -> None:
        """End the response of a request, or of the stand-alone stream, but not the stream."""
        arrival = None if request_id is None else self._arrivals.get(request_id)
        stream = self._standalone if request_id is None else None if arrival is None else arrival.stream
        if stream is not None and stream.outlet is not None:
            stream.outlet.close()

    async def take_in(self, message: Message, arrival: Arrival) -> None:
        """Pass one message on to whoever reads the session's stream."""
        said = ServerMessageMetadata(request_context=arrival.http_request)
        if isinstance(message, Request):
            if message.method == "initialize":
                self._opening = message.request_id
            said.can_send_request = arrival.takes_events and not arrival.opens
            if arrival.stream is not None and self._storage is not None and self._polls():
                said.close_sse_stream = arrival.stream.drop
                said.close_standalone_sse_stream = self._standalone.drop
        try:
            await self._inbox.send(SessionMessage(as_model(message), said))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self.end()  # nobody reads any more
            return
        if isinstance(message, Notification) and message.method == CANCELLED:
            # A request that was taken back gets no answer, but its response has to end somehow.
            request_id = (message.params or {})["requestId"]
            error = types.ErrorData(code=REQUEST_CANCELLED, message="Request cancelled")
            await self.answer(request_id, error_message(request_id, error))

    async def send(self, item: SessionMessage) -> None:
        """Let a message go out on the stream that it belongs to.

        Raises:
            BrokenResourceError: It is a request, and does not reach the client.
        """
        message = to_wire(item.message)
        if "method" not in message:
            if message["id"] == self._opening and "result" in message:
                self._version = message["result"].get("protocolVersion")
            await self.answer(message["id"], message)
            return
        related = item.metadata.related_request_id if isinstance(item.metadata, ServerMessageMetadata) else None
        arrival = None if related is None else self._arrivals.get(related)
        # The response to `initialize` begins with the answer, which names the session.
        own = None if arrival is None or arrival.opens else arrival
        stream = self._standalone if own is None or own.stream is None else own.stream
        if "id" in message and own is not None and not own.takes_events:
            raise anyio.BrokenResourceError
        try:
            await stream.send(message)
        except anyio.BrokenResourceError:
            if "id" in message:
                raise


class OneSession(LegacyEndpoint):
    """The HTTP requests of one session."""

    def __init__(self, session_id: str | None, storage: Storage | None, *, json_response: bool) -> None:
        super().__init__(
            None,
            json_response=json_response,
            stateless=False,
            storage=storage,
            idle_timeout=None,
            max_sessions=None,
            keep_alive_interval=KEEP_ALIVE_INTERVAL,
        )
        self._session_id = session_id
        self.session: PipedSession | None = None

    async def _open(self, arrival: Arrival) -> SessionStreams:
        session = self._living()
        session.principal = principal_of(arrival.http_request.scope)
        return session

    def _give_up(self, session: SessionStreams) -> None:
        """Let the client try again: there will be no other session."""

    def _session(self, arrival: Arrival) -> SessionStreams:
        session = self._living()
        if self._session_id is not None:
            given = arrival.headers.first(MCP_SESSION_ID.encode())
            if given is None:
                raise Refusal(400, "Bad Request: Missing session ID")
            if given != self._session_id or session.principal != principal_of(arrival.http_request.scope):
                raise Refusal(404, "Session not found")
        return session

    def _living(self) -> PipedSession:
        if self.session is None or self.session.is_over:
            raise Refusal(404, "Session not found")
        return self.session


class Reader(ReadStream[SessionMessage | Exception]):
    """What the client of a session sends. It ends with the session, whoever closes what first."""

    def __init__(self, messages: MemoryObjectReceiveStream[SessionMessage | Exception]) -> None:
        self._messages = messages

    async def receive(self) -> SessionMessage | Exception:
        """Wait for the next message.

        Raises:
            EndOfStream: There will be none.
        """
        try:
            return await self._messages.receive()
        except anyio.ClosedResourceError:
            raise anyio.EndOfStream from None

    async def aclose(self) -> None:
        """Read no more."""
        self._messages.close()

    def __aiter__(self) -> Reader:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Reader:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        await self.aclose()


class Writer(WriteStream[SessionMessage]):
    """What the client of a session receives."""

    def __init__(self, session: PipedSession) -> None:
        self._session = session

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message."""
        await self._session.send(item)

    async def aclose(self) -> None:
        """End the session."""
        self._session.end()

    async def __aenter__(self) -> Writer:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        await self.aclose()
