"""`ServerSession`: what a handler can send to the client besides its result."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

import mcp_types as types
from mcp._engine.scope import RequestScope
from mcp._protocol.capabilities import declares, missing_capability
from mcp._protocol.era import MODERN
from mcp._protocol.fields import dump
from mcp._protocol.legacy_questions import write_question
from mcp.server._telling import as_handshake, drops_change, progress_to, wants_log
from mcp.server.validation import validate_sampling_tools, validate_tool_use_result_messages
from mcp.shared._advice import advise
from mcp.shared._deprecated import deprecated
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError, NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import INTERNAL_ERROR, MISSING_REQUIRED_CLIENT_CAPABILITY, LoggingLevel

if TYPE_CHECKING:
    from pydantic import AnyUrl  # loads the metadata of packages

    from mcp.server.connection import Connection
    from mcp.shared.dispatcher import DispatchContext, ProgressFnT

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT", bound=BaseModel)

_DEPRECATED: Final = "The {} capability is deprecated as of 2026-07-28 (SEP-2577)."

_WAY_OUT: Final = (
    "ask with a resolver (Resolve, Elicit) or return an InputRequiredResult; or register the function with "
    "resumable=True, and ask with ctx.elicit(), ctx.sample() or ctx.list_roots()"
)


class ServerSession:
    """The way back to the client that sent one message.

    It is made for each message; keep it only while that message is handled.

    Args:
        request_outbound: The message it belongs to.
        connection: Who sent the message. Needed for messages that a dispatcher of your own received.
        request_meta: The metadata of such a message.
    """

    __slots__ = ("scope",)

    def __init__(
        self,
        request_outbound: RequestScope | DispatchContext[Any],
        connection: Connection | None,
        *,
        request_meta: types.RequestParamsMeta | None = None,
    ) -> None:
        if not isinstance(request_outbound, RequestScope):
            request_outbound = _scope_of(request_outbound, connection, request_meta)
        self.scope = request_outbound

    @property
    def _connection(self) -> Connection:
        """The conversation, one object for all its messages: fastmcp keeps things under it."""
        from mcp.server.connection import connection_of

        return connection_of(self.scope)

    @property
    def protocol_version(self) -> str:
        """The protocol revision in use."""
        return self.scope.version

    @property
    def client_capabilities(self) -> types.ClientCapabilities | None:
        """What the client declared: with this request (modern) or in its handshake (legacy)."""
        return self.scope.client.capabilities

    @property
    def client_params(self) -> types.InitializeRequestParams | None:
        """What the client said about itself, in the shape of a handshake."""
        return as_handshake(self.scope.client)

    @property
    def can_send_request(self) -> bool:
        """Whether the client can be asked while the request runs (never on modern connections)."""
        return self.scope.ask is not None

    def check_client_capability(self, capability: types.ClientCapabilities) -> bool:
        """Whether the client declared everything that is set in `capability`."""
        return declares(self.scope.client.capabilities, capability)

    # Notifications

    async def send_notification(
        self, notification: types.ServerNotification, related_request_id: types.RequestId | None = None
    ) -> None:
        """Send any notification, related to the request at hand."""
        params = None if notification.params is None else dump(notification.params, self.scope.era)
        await self._notify(notification.method, params, related=related_request_id is not None)

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the request is; nothing happens unless the client asked for it.

        Args:
            progress: How far the work is; it must grow from call to call (a value that does not is dropped).
            total: What `progress` will be at the end, if known.
            message: A text for the user.

        Raises:
            ValueError: A value is not a finite number.
        """
        for name, value in (("progress", progress), ("total", total)):
            if not (_is_finite_number(value) or (value is None and name == "total")):
                raise ValueError(f"{name} must be a finite number, got {value!r}")
        scope = self.scope
        token = scope.progress_token
        if token is None:
            return
        if scope.last_progress is not None and progress <= scope.last_progress:
            logger.debug("Dropping progress %r of %r: it does not increase", progress, scope.method)
            return
        scope.last_progress = progress
        await self.send_progress_notification(token, progress, total, message)

    async def send_progress_notification(
        self,
        progress_token: str | int,
        progress: float,
        total: float | None = None,
        message: str | None = None,
        related_request_id: str | None = None,
    ) -> None:
        """Send a progress notification with any token."""
        params: dict[str, Any] = {"progressToken": progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self._notify("notifications/progress", params)

    @deprecated(_DEPRECATED.format("logging"), category=MCPDeprecationWarning)
    async def send_log_message(
        self,
        level: LoggingLevel,
        data: Any,
        logger: str | None = None,
        related_request_id: types.RequestId | None = None,
    ) -> None:
        """Send a log message; on modern connections only if the request asked for this level.

        Deprecated by the protocol: log with `logging`, trace with OpenTelemetry.

        Raises:
            ValueError: The level is none of the eight.
        """
        await self.log(level, data, logger, related=related_request_id is not None)

    async def log(self, level: LoggingLevel, data: Any, logger: str | None = None, *, related: bool = True) -> None:
        """Send a log message without the deprecation warning (for callers that have warned already)."""
        if not wants_log(level, self.scope.client, self.scope.handshake):
            return
        params: dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        await self._notify("notifications/message", params, related=related)

    async def send_tool_list_changed(self) -> None:
        """Tell a legacy client that the list of tools changed."""
        await self._notify_change("notifications/tools/list_changed", None)

    async def send_prompt_list_changed(self) -> None:
        """Tell a legacy client that the list of prompts changed."""
        await self._notify_change("notifications/prompts/list_changed", None)

    async def send_resource_list_changed(self) -> None:
        """Tell a legacy client that the list of resources changed."""
        await self._notify_change("notifications/resources/list_changed", None)

    async def send_resource_updated(self, uri: str | AnyUrl) -> None:
        """Tell a legacy client that a resource changed."""
        await self._notify_change("notifications/resources/updated", {"uri": str(uri)})

    async def send_elicit_complete(
        self, elicitation_id: str, related_request_id: types.RequestId | None = None
    ) -> None:
        """Tell a legacy client that the part of a URL elicitation that happens elsewhere is done."""
        await self._notify_change("notifications/elicitation/complete", {"elicitationId": elicitation_id})

    async def _notify_change(self, method: str, params: dict[str, Any] | None) -> None:
        if drops_change(method, self.scope.version):
            return
        await self._notify(method, params, related=False)

    async def _notify(self, method: str, params: dict[str, Any] | None, *, related: bool = True) -> None:
        channel = self.scope.channel
        if not related and channel is not None and self.scope.era is not MODERN:
            await channel.notify(method, params)
        elif self.scope.finished:
            logger.debug("Dropping %s: the request it belongs to has ended", method)
        else:
            await self.scope.notify(method, params)

    # Requests: only where the protocol and the transport have a way to ask

    async def send_request(
        self,
        request: types.ServerRequest,
        result_type: type[ResultT],
        request_read_timeout_seconds: float | None = None,
        metadata: ServerMessageMetadata | None = None,
        progress_callback: ProgressFnT | None = None,
    ) -> ResultT:
        """Ask the client and wait for its answer.

        Args:
            request: The request.
            result_type: The model of its result.
            request_read_timeout_seconds: Seconds to wait; `None` for any time.
            metadata: `related_request_id` ties the request to the one at hand.
            progress_callback: Receives the progress that the client reports.

        Raises:
            NoBackChannelError: This request has no way to ask (always so on modern connections).
            MCPError: The client answered an error, did not declare what is asked of it (`-32021`), or did not answer
                in time (`-32001`).
        """
        scope = self.scope
        if scope.ask is None:
            if isinstance(request, types.PingRequest):
                raise NoBackChannelError(request.method)
            logger.warning("%r cannot be sent from here: %s", request.method, _WAY_OUT)
            raise advise(NoBackChannelError(request.method), f"To ask the client all the same, {_WAY_OUT}.")
        if not isinstance(request, types.PingRequest):
            missing = missing_capability(request, self.scope.client.capabilities)
            if missing is not None:
                name, required = missing
                raise MCPError(
                    MISSING_REQUIRED_CLIENT_CAPABILITY,
                    f"Client did not declare the {name} capability required by {request.method!r}",
                    {"requiredCapabilities": required},
                    is_local=True,
                )
        params = write_question(request.method, request.params, scope.version)
        channel = scope.channel
        if channel is not None and channel.is_open and not self._belongs_here(request, metadata):
            ask = channel.ask
        else:
            ask = scope.ask
        hear = None if progress_callback is None else progress_to(progress_callback)
        answer = await ask(request.method, params, timeout=request_read_timeout_seconds, hear=hear)
        try:
            return result_type.model_validate(answer)
        except ValidationError as error:
            text = f"The client answered {request.method!r} with an invalid result"
            raise MCPError(INTERNAL_ERROR, text, is_local=True) from error

    def _belongs_here(self, request: types.ServerRequest, metadata: ServerMessageMetadata | None) -> bool:
        """Whether a request goes the way of the client's request that is at hand.

        SEP-2260: a question belongs to the request that is being processed while it is asked, whether or not the
        author says so. A ping belongs to none unless they do.
        """
        if metadata is not None and metadata.related_request_id is not None:
            return True
        in_progress = self.scope.request_id is not None and not self.scope.finished
        return in_progress and not isinstance(request, types.PingRequest)

    async def send_ping(self) -> types.EmptyResult:
        """Check that the client answers."""
        return await self.send_request(types.PingRequest(), types.EmptyResult)

    @deprecated(_DEPRECATED.format("roots"), category=MCPDeprecationWarning)
    async def list_roots(self) -> types.ListRootsResult:
        """Ask for the client's roots. Deprecated by the protocol: take paths as tool arguments."""
        return await self.send_request(types.ListRootsRequest(), types.ListRootsResult)

    @deprecated(_DEPRECATED.format("sampling"), category=MCPDeprecationWarning)
    async def create_message(
        self,
        messages: list[types.SamplingMessage],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        include_context: types.IncludeContext | None = None,
        temperature: float | None = None,
        stop_sequences: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        model_preferences: types.ModelPreferences | None = None,
        tools: list[types.Tool] | None = None,
        tool_choice: types.ToolChoice | None = None,
        related_request_id: types.RequestId | None = None,
    ) -> types.CreateMessageResult | types.CreateMessageResultWithTools:
        """Ask the client's model for a message. Deprecated by the protocol: call a model yourself.

        Raises:
            ValueError: Tool results stand where they may not.
            MCPError: `-32602`, tools are given and the client did not declare `sampling.tools`.
        """
        validate_sampling_tools(self.client_capabilities, tools, tool_choice)
        validate_tool_use_result_messages(messages)
        request = types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=messages,
                max_tokens=max_tokens,
                system_prompt=system_prompt,
                include_context=include_context,
                temperature=temperature,
                stop_sequences=stop_sequences,
                metadata=metadata,
                model_preferences=model_preferences,
                tools=tools,
                tool_choice=tool_choice,
            )
        )
        with_tools = tools is not None or tool_choice is not None
        result_type: type[types.CreateMessageResult | types.CreateMessageResultWithTools] = (
            types.CreateMessageResultWithTools if with_tools else types.CreateMessageResult
        )
        related = ServerMessageMetadata(related_request_id=related_request_id)
        return await self.send_request(request, result_type, metadata=related)

    async def elicit(
        self, message: str, requested_schema: dict[str, Any], related_request_id: types.RequestId | None = None
    ) -> types.ElicitResult:
        """Ask the user to fill in a form (the older name of `elicit_form`)."""
        return await self.elicit_form(message, requested_schema, related_request_id)

    async def elicit_form(
        self, message: str, requested_schema: dict[str, Any], related_request_id: types.RequestId | None = None
    ) -> types.ElicitResult:
        """Ask the user to fill in a form."""
        params = types.ElicitRequestFormParams(message=message, requested_schema=requested_schema)
        related = ServerMessageMetadata(related_request_id=related_request_id)
        return await self.send_request(types.ElicitRequest(params=params), types.ElicitResult, metadata=related)

    async def elicit_url(
        self, message: str, url: str, elicitation_id: str, related_request_id: types.RequestId | None = None
    ) -> types.ElicitResult:
        """Ask the user to open a URL."""
        params = types.ElicitRequestURLParams(message=message, url=url, elicitation_id=elicitation_id)
        related = ServerMessageMetadata(related_request_id=related_request_id)
        return await self.send_request(types.ElicitRequest(params=params), types.ElicitResult, metadata=related)


def _scope_of(
    context: DispatchContext[Any], connection: Connection | None, meta: types.RequestParamsMeta | None
) -> RequestScope:
    from mcp.server.connection import scope_of

    if connection is None:
        raise TypeError("a ServerSession for a dispatcher of your own needs the connection")
    wire = {"progressToken" if key == "progress_token" else key: value for key, value in (meta or {}).items()}
    return scope_of(context, connection, params={"_meta": wire} if wire else None)


def _is_finite_number(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)
