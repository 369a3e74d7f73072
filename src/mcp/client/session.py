"""`ClientSession`: one conversation with one server, verb by verb and without policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Protocol, cast

from typing_extensions import Self

import mcp_types as types
from mcp._engine.link import Link
from mcp._protocol.codec import decode_result
from mcp._protocol.negotiate import DISCOVER_TIMEOUT_SECONDS, Discover, Negotiated, negotiate, newest_shared
from mcp.client._answers import Answers
from mcp.client._http.backend import TransportFailure
from mcp.client._notifications import IncomingMessage, Notifications, ProgressFnT
from mcp.client._outgoing import Limits, Metadata
from mcp.client._requests import SessionRequests, read_server_info
from mcp.client._tool_schemas import ToolSchemas
from mcp.client._transport import ReadStream, WriteStream
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import RequestParamsMeta
from mcp_types.jsonrpc import ErrorData, RequestId
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

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


class LegacySuspected(NamedTuple):
    """A server that does not answer `server/discover` as a modern one does."""

    reason: str | None
    outcome: dict[str, Any] | MCPError

    def error(self) -> Exception:
        """Return what to raise where there is no handshake to try."""
        hint = "the initialize handshake of older protocol versions is not available"
        if isinstance(self.outcome, MCPError):
            text = f"{self.outcome.message} (in answer to server/discover; {hint})"
            return MCPError(self.outcome.code, text, self.outcome.data)
        return RuntimeError(f"Cannot talk to this server: {self.reason}; {hint}")


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


class ClientSession(SessionRequests):
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
        result_claims: Result shapes that extensions claim.
        notification_bindings: Handlers of extensions' notifications.
        dispatcher: A way to the server instead of streams.
        link: A way to the server instead of streams.
        elicitation_capabilities: Refines what `elicitation_callback` declares.
        reset_timeout_on_progress: Whether progress starts a request's timeout anew.
        total_timeout_seconds: Seconds for one request whatever its progress; `None` for any time.
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
        result_claims: Mapping[str, Sequence[object]] | None = None,
        notification_bindings: Sequence[object] | None = None,
        dispatcher: object | None = None,
        link: Link | None = None,
        elicitation_capabilities: types.ElicitationCapability | None = None,
        reset_timeout_on_progress: bool = True,
        total_timeout_seconds: float | None = None,
    ) -> None:
        _check_ways(read_stream, write_stream, dispatcher, link)
        if result_claims or notification_bindings:
            raise NotImplementedError("result_claims= and notification_bindings= are not available")
        tools = ToolSchemas()
        super().__init__(
            cast("Link", link),
            Limits(read_timeout_seconds, reset_timeout_on_progress, total_timeout_seconds),
            Notifications(logging_callback, message_handler, tools.forget_misses),
            tools,
        )
        self._info = client_info or types.Implementation(name="mcp", version="0.1.0")
        self._log_level: types.LoggingLevel | None = log_level
        self._answers = Answers[ClientRequestContext](
            elicitation=elicitation_callback,
            sampling=sampling_callback,
            sampling_capabilities=sampling_capabilities,
            list_roots=list_roots_callback,
            elicitation_capabilities=elicitation_capabilities,
            extensions=extensions,
        )
        self._discover_result: types.DiscoverResult | None = None

    async def __aenter__(self) -> Self:
        if self._state != "new":
            raise RuntimeError("ClientSession is already entered; cannot reenter")
        self._state = "open"
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        self._state = "closed"
        for tell in list(self._at_close):
            tell()
        return None

    @property
    def initialize_result(self) -> types.InitializeResult | None:
        """What the server answered to `initialize` (handshake-era servers only)."""
        return None

    @property
    def discover_result(self) -> types.DiscoverResult | None:
        """What the server answered to `server/discover`."""
        return self._discover_result

    @property
    def protocol_version(self) -> str | None:
        """The negotiated protocol version; `None` before a version is negotiated."""
        return self._version

    @property
    def server_info(self) -> types.Implementation | None:
        """Who the server says it is; `None` if it does not say."""
        result = self._discover_result
        return None if result is None else read_server_info(result.meta)

    @property
    def server_capabilities(self) -> types.ServerCapabilities | None:
        """What the server says it can do; `None` before a version is negotiated."""
        return None if self._discover_result is None else self._discover_result.capabilities

    @property
    def instructions(self) -> str | None:
        """How the server wants to be used; `None` if it does not say."""
        return None if self._discover_result is None else self._discover_result.instructions

    async def initialize(self) -> types.InitializeResult:
        """Open a session with a handshake-era server.

        Raises:
            RuntimeError: The session already speaks a version without a handshake.
        """
        if self._version is not None:
            raise RuntimeError(f"the session already speaks {self._version}, which knows no initialize")
        raise NotImplementedError("the initialize handshake is not available; use discover()")

    async def send_discover(self, version: str) -> dict[str, Any]:
        """Ask what the server supports without adopting anything.

        Args:
            version: The protocol version to ask at.

        Returns:
            The result as the server sent it.
        """
        before = self._version, self._metadata
        self._speak(version)
        try:
            limit = self._limits.timeout
            timeout = DISCOVER_TIMEOUT_SECONDS if limit is None else min(limit, DISCOVER_TIMEOUT_SECONDS)
            return await self._exchange("server/discover", None, timeout=timeout)
        finally:
            self._version, self._metadata = before

    async def discover(self) -> types.DiscoverResult:
        """Ask what the server supports and adopt the newest version that both sides speak.

        Raises:
            MCPError: The server answered an error.
            RuntimeError: There is no such version.
        """
        if self._discover_result is None:
            suspected = await self._climb()
            outcome = None if suspected is None else suspected.outcome
            if isinstance(outcome, MCPError):
                raise outcome
            if outcome is not None:
                self.adopt(decode_result("server/discover", outcome, types.DiscoverResult))
        return cast("types.DiscoverResult", self._discover_result)

    async def _climb(self) -> LegacySuspected | None:
        """Adopt the newest version that both sides speak; return why the server seems to know none but older ones."""
        steps = negotiate()
        effect = next(steps)
        outcome: dict[str, Any] | MCPError = {}
        while isinstance(effect, Discover):
            try:
                outcome = await self.send_discover(effect.version)
            except TransportFailure:
                raise
            except MCPError as error:
                outcome = error
            try:
                effect = steps.send(outcome)
            except StopIteration as done:
                self.adopt(cast("types.DiscoverResult", cast("Negotiated", done.value).discover_result))
                return None
        return LegacySuspected(effect.reason, outcome)

    def adopt(self, result: types.InitializeResult | types.DiscoverResult) -> None:
        """Speak from now on as a server's answer allows.

        Args:
            result: What the server answered, in this session or in an earlier one.

        Raises:
            RuntimeError: There is no protocol version that both sides speak.
        """
        if isinstance(result, types.InitializeResult):
            raise NotImplementedError("the initialize handshake is not available; use discover()")
        shared = newest_shared(result.supported_versions)
        if shared is None:
            raise RuntimeError(
                f"No mutually supported modern protocol version (server: {result.supported_versions}, "
                f"client: {list(MODERN_PROTOCOL_VERSIONS)})"
            )
        self._speak(shared)
        self._discover_result = result

    def _speak(self, version: str) -> None:
        self._version = self._notifications.version = version
        self._metadata = Metadata(
            version, self._answers.capabilities(), self._answers.capabilities(by_hand=True), self._info, self._log_level
        )

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
    raise NotImplementedError("ClientSession over message streams is not available; use Client(...)")
