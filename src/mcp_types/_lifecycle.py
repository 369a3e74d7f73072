"""Getting to know each other, and what accompanies any request: cancellation, progress, log messages."""

from typing import Any, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from mcp_types._base import CacheableResult, Notification, NotificationParams, Request, RequestParams, Result
from mcp_types._capabilities import ClientCapabilities, ServerCapabilities
from mcp_types._envelopes import RequestId
from mcp_types._identity import Implementation
from mcp_types._model import MCPModel
from mcp_types._vocabulary import LoggingLevel, ProgressToken, ResultType


class InitializeRequestParams(RequestParams):
    """Params of `initialize`."""

    protocol_version: str
    """The newest revision that the client speaks."""
    capabilities: ClientCapabilities
    client_info: Implementation


class InitializeRequest(Request):
    """Opens a legacy connection."""

    method: Literal["initialize"] = "initialize"
    params: InitializeRequestParams


class InitializeResult(Result):
    """The server's side of opening a legacy connection."""

    protocol_version: str
    """The revision to speak. A client that cannot has to disconnect."""
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str | None = None
    """How to use the server, for a model to read."""


class InitializedNotification(Notification):
    """Tells that a legacy connection is open."""

    method: Literal["notifications/initialized"] = "notifications/initialized"
    params: NotificationParams | None = None


class DiscoverRequest(Request):
    """Asks what the server is and can do (modern revisions only)."""

    method: Literal["server/discover"] = "server/discover"
    params: RequestParams | None = None


class DiscoverResult(CacheableResult):
    """What a server is and can do."""

    supported_versions: list[str]
    """The revisions it speaks."""
    capabilities: ServerCapabilities
    instructions: str | None = None
    """How to use the server, for a model to read."""
    result_type: ResultType = "complete"


class UnsupportedProtocolVersionErrorData(MCPModel):
    """The `data` of an `UNSUPPORTED_PROTOCOL_VERSION` error."""

    supported: list[str]
    """The revisions that the server speaks."""
    requested: str
    """The revision that the request named."""


class PingRequest(Request):
    """Asks whether the other side is still there (legacy revisions only)."""

    method: Literal["ping"] = "ping"
    params: RequestParams | None = None


class CancelledNotificationParams(NotificationParams):
    """Params of `notifications/cancelled`."""

    request_id: RequestId | None = None
    """The request whose sender no longer wants an answer."""
    reason: str | None = None
    """Why, for people to read."""


class CancelledNotification(Notification):
    """Tells that a request's answer is no longer wanted."""

    method: Literal["notifications/cancelled"] = "notifications/cancelled"
    params: CancelledNotificationParams


class ProgressNotificationParams(NotificationParams):
    """Params of `notifications/progress`."""

    progress_token: ProgressToken
    """The token of the request that asked for progress."""
    progress: float
    """How far it is. Grows each time."""
    total: float | None = None
    """How far it will go, if known."""
    message: str | None = None
    """What is going on, for people to read."""


class ProgressNotification(Notification):
    """Tells how far a request is."""

    method: Literal["notifications/progress"] = "notifications/progress"
    params: ProgressNotificationParams


class SetLevelRequestParams(RequestParams):
    """Params of `logging/setLevel`."""

    level: LoggingLevel
    """The least serious level that the client wants."""


class SetLevelRequest(Request):
    """Sets how serious log messages have to be (legacy revisions only)."""

    method: Literal["logging/setLevel"] = "logging/setLevel"
    params: SetLevelRequestParams


class LoggingMessageNotificationParams(NotificationParams):
    """Params of `notifications/message`."""

    level: LoggingLevel
    logger: str | None = None
    """The name of the logger."""
    data: Any
    """The message: any JSON value."""

    @model_serializer(mode="wrap")
    def _write_null(self, handler: SerializerFunctionWrapHandler):
        # A required member stays when members that are None are left out. A return type would replace the JSON schema.
        written: dict[str, Any] = handler(self)
        return written if self.data is not None else {**written, "data": None}


class LoggingMessageNotification(Notification):
    """A log message."""

    method: Literal["notifications/message"] = "notifications/message"
    params: LoggingMessageNotificationParams


__all__ = [
    "CancelledNotification",
    "CancelledNotificationParams",
    "DiscoverRequest",
    "DiscoverResult",
    "InitializeRequest",
    "InitializeRequestParams",
    "InitializeResult",
    "InitializedNotification",
    "LoggingMessageNotification",
    "LoggingMessageNotificationParams",
    "PingRequest",
    "ProgressNotification",
    "ProgressNotificationParams",
    "SetLevelRequest",
    "SetLevelRequestParams",
    "UnsupportedProtocolVersionErrorData",
]
