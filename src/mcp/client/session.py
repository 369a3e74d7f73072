"""`ClientSession`: one conversation with one server, verb by verb and without policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, cast

from typing_extensions import Self

import mcp_types as types
from mcp._engine.duplex import DuplexLink
from mcp._engine.link import Link
from mcp._engine.owner import Owned
from mcp._engine.stream_link import StreamLink
from mcp._protocol.negotiate import DISCOVER_TIMEOUT_SECONDS
from mcp.client._answers import Answers
from mcp.client._bindings import Binding, Bindings
from mcp.client._claims import Claim, Claims
from mcp.client._notifications import IncomingMessage, Notifications
from mcp.client._opening import SessionOpening
from mcp.client._outgoing import Limits
from mcp.client._questions import Questions
from mcp.client._tool_schemas import ToolSchemas
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.message import SessionMessage
from mcp_types import RequestParamsMeta
from mcp_types.jsonrpc import ErrorData, RequestId

__all__ = [
    "DISCOVER_TIMEOUT_SECONDS",
    "ClientRequestContext",
    "ClientSession",
    "ElicitationFnT",
    "IncomingMessage",
    "ListRootsFnT",
    "LoggingFnT",
    "MessageHandlerFnT",
    "ProgressFnT",
    "SamplingFnT",
]


@dataclass(kw_only=True)
class ClientRequestContext:
    """What a callback knows about the question it answers.

    Attributes:
        session: The session that received the question; a callback may call the server through it.
        request_id: The question's id: its key in an `InputRequiredResult`, or the id of a server's request.
        meta: The question's metadata.
    """

    session: ClientSession
    request_id: RequestId
    meta: RequestParamsMeta | None = None


class ElicitationFnT(Protocol):
    """Asks the user what the server wants to know."""

    async def __call__(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | ErrorData: ...


class SamplingFnT(Protocol):
    """Asks a model what the server wants to know."""

    async def __call__(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.CreateMessageResultWithTools | ErrorData: ...


class ListRootsFnT(Protocol):
    """Lists the roots that the server may use."""

    async def __call__(self, context: ClientRequestContext) -> types.ListRootsResult | ErrorData: ...


class LoggingFnT(Protocol):
    """Receives the server's log messages."""

    async def __call__(self, params: types.LoggingMessageNotificationParams) -> None: ...


class MessageHandlerFnT(Protocol):
    """Receives every notification, and faults of the transport as exceptions."""

    async def __call__(self, message: IncomingMessage) -> None: ...


class ClientSession(SessionOpening):
    """One conversation with one server: every verb, and nothing that decides for the caller.

    `Client` builds one and adds what most callers want: negotiation, and the loop that answers a server's questions.

    Args:
        read_stream: Where messages arrive.
        write_stream: Where messages go.
        read_timeout_seconds: Seconds to wait for each answer; `None` for any time.
        sampling_callback: Answers questions to a model.
        elicitation_callback: Answers questions to the user.
        list_roots_callback: Lists the roots.
        logging_callback: Receives log messages.
        message_handler: Receives every notification, and faults of the transport.
        client_info: Who this client is.
        log_level: The least severe log message to ask for with each request.
        sampling_capabilities: Refines what `sampling_callback` declares.
        extensions: The extensions to declare, with their settings.
        result_claims: Result shapes of `tools/call` that extensions claim, by extension.
        notification_bindings: Handlers of extensions' notifications, one for each method.
        dispatcher: A way to the server instead of streams.
        link: A way to the server instead of streams.
        elicitation_capabilities: Refines what `elicitation_callback` declares.
        reset_timeout_on_progress: Whether progress starts a request's timeout anew.
        total_timeout_seconds: Seconds for one request whatever its progress; `None` for any time.
        tracing: Whether requests have spans, where the application traces with OpenTelemetry.
    """

    def __init__(
        self,
        read_stream: ReadStream[SessionMessage | Exception] | None = None,
        write_stream: WriteStream[SessionMessage] | None = None,
        read_timeout_seconds: float | None = None,
        sampling_callback: SamplingFnT | None = None,
        elicitation_callback: ElicitationFnT | None = None,
        list_roots_callback: ListRootsFnT | None = None,
        logging_callback: LoggingFnT | None = None,
        message_handler: MessageHandlerFnT | None = None,
        client_info: types.Implementation | None = None,
        *,
        log_level: types.LoggingLevel | None = None,
        sampling_capabilities: types.SamplingCapability | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        result_claims: Mapping[str, Sequence[Claim]] | None = None,
        notification_bindings: Sequence[Binding] | None = None,
        dispatcher: object | None = None,
        link: Link | None = None,
        elicitation_capabilities: types.ElicitationCapability | None = None,
        reset_timeout_on_progress: bool = True,
        total_timeout_seconds: float | None = None,
        tracing: bool = True,
    ) -> None:
        _check_ways(read_stream, write_stream, dispatcher, link)
        tools = ToolSchemas()
        bindings = Bindings(notification_bindings or ())
        super().__init__(
            link or StreamLink(*cast("TransportStreams", (read_stream, write_stream))),
            Limits(read_timeout_seconds, reset_timeout_on_progress, total_timeout_seconds),
            Notifications(logging_callback, message_handler, tools.forget_misses, bindings),
            tools,
            Answers[ClientRequestContext](
                elicitation=elicitation_callback,
                sampling=sampling_callback,
                sampling_capabilities=sampling_capabilities,
                list_roots=list_roots_callback,
                elicitation_capabilities=elicitation_capabilities,
                claims=Claims(extensions, result_claims),
            ),
            client_info or types.Implementation(name="mcp", version="0.1.0"),
            log_level,
        )
        self._tracing = tracing
        self._own_link = Owned(self._link) if isinstance(self._link, StreamLink) and link is None else None

    async def __aenter__(self) -> Self:
        if self._state != "new":
            raise RuntimeError("ClientSession is already entered; cannot reenter")
        if isinstance(self._link, DuplexLink):
            questions = Questions(self._answers, self._make_context, self.dispatch_input_request, lambda: self._version)
            self._link.attach(questions.admit, self._notifications.deliver, self._notifications.fault)
        self._state = "closed"  # as long as entering has not succeeded
        if self._own_link is not None:
            await self._own_link.__aenter__()
        self._state = "open"
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        self._state = "closed"
        for tell in list(self._at_close):
            tell()
        await self._notifications.bindings.stop()
        if self._own_link is not None:
            await self._own_link.__aexit__(exc_type, exc_val, exc_tb)
        return None

    def _make_context(self, request_id: RequestId, meta: RequestParamsMeta | None) -> ClientRequestContext:
        return ClientRequestContext(session=self, request_id=request_id, meta=meta)

    async def dispatch_input_request(
        self, ctx: ClientRequestContext, request: types.InputRequest
    ) -> types.InputResponse | ErrorData:
        """Answer one question with the session's callbacks, as the automatic loop does.

        Args:
            ctx: The context for the callback.
            request: The question.

        Returns:
            The answer, or the error that stands for a missing callback.
        """
        return await self._answers.answer(ctx, request)


def _check_ways(read_stream: object, write_stream: object, dispatcher: object, link: object) -> None:
    streams = read_stream is not None or write_stream is not None
    if streams and dispatcher is not None:
        raise ValueError("pass read_stream/write_stream or dispatcher, not both")
    if link is not None:
        if streams or dispatcher is not None:
            raise ValueError("pass link or another way to the server, not both")
        return
    if dispatcher is not None:
        raise NotImplementedError("ClientSession over a dispatcher is not available; pass link=")
    if read_stream is None or write_stream is None:
        raise ValueError("read_stream and write_stream are required when no dispatcher is given")
