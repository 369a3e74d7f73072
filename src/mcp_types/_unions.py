"""Everything that one side can send to the other, by kind, and adapters that validate it."""

from collections.abc import Mapping
from typing import Annotated, Final, cast

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter

from mcp_types._base import EmptyResult, Result
from mcp_types._calls import CallToolRequest, GetPromptRequest, ReadResourceRequest
from mcp_types._completion import CompleteRequest, CompleteResult
from mcp_types._elicitation import ElicitCompleteNotification, ElicitRequest, ElicitResult
from mcp_types._input_required import InputRequiredResult, response_kind
from mcp_types._lifecycle import (
    CancelledNotification,
    DiscoverRequest,
    DiscoverResult,
    InitializedNotification,
    InitializeRequest,
    InitializeResult,
    LoggingMessageNotification,
    PingRequest,
    ProgressNotification,
    SetLevelRequest,
)
from mcp_types._prompts import GetPromptResult, ListPromptsRequest, ListPromptsResult, PromptListChangedNotification
from mcp_types._resource_messages import (
    ListResourcesRequest,
    ListResourcesResult,
    ListResourceTemplatesRequest,
    ListResourceTemplatesResult,
    ReadResourceResult,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
    SubscribeRequest,
    UnsubscribeRequest,
)
from mcp_types._roots import ListRootsRequest, ListRootsResult, RootsListChangedNotification
from mcp_types._sampling import CreateMessageRequest, CreateMessageResult, CreateMessageResultWithTools
from mcp_types._subscriptions import (
    SubscriptionsAcknowledgedNotification,
    SubscriptionsListenRequest,
    SubscriptionsListenResult,
)
from mcp_types._tool_messages import CallToolResult, ListToolsRequest, ListToolsResult, ToolListChangedNotification

ClientRequest = (
    PingRequest
    | InitializeRequest
    | CompleteRequest
    | SetLevelRequest
    | GetPromptRequest
    | ListPromptsRequest
    | ListResourcesRequest
    | ListResourceTemplatesRequest
    | ReadResourceRequest
    | SubscribeRequest
    | UnsubscribeRequest
    | CallToolRequest
    | ListToolsRequest
    | DiscoverRequest
    | SubscriptionsListenRequest
)
"""A request that a client sends."""

ClientNotification = (
    CancelledNotification | ProgressNotification | InitializedNotification | RootsListChangedNotification
)
"""A notification that a client sends."""

ClientResult = EmptyResult | CreateMessageResult | CreateMessageResultWithTools | ListRootsResult | ElicitResult
"""A result that a client answers with."""

ServerRequest = PingRequest | CreateMessageRequest | ListRootsRequest | ElicitRequest
"""A request that a server sends (legacy revisions), or asks in `InputRequiredResult` (all but `ping`)."""

ServerNotification = (
    CancelledNotification
    | ProgressNotification
    | LoggingMessageNotification
    | ResourceUpdatedNotification
    | ResourceListChangedNotification
    | ToolListChangedNotification
    | PromptListChangedNotification
    | ElicitCompleteNotification
    | SubscriptionsAcknowledgedNotification
)
"""A notification that a server sends."""

ServerResult = (
    EmptyResult
    | InitializeResult
    | DiscoverResult
    | CompleteResult
    | GetPromptResult
    | ListPromptsResult
    | ListResourcesResult
    | ListResourceTemplatesResult
    | ReadResourceResult
    | CallToolResult
    | ListToolsResult
    | SubscriptionsListenResult
    | InputRequiredResult
)
"""A result that a server answers with."""

_DEFER: Final = ConfigDict(defer_build=True)

client_request_adapter: TypeAdapter[ClientRequest] = TypeAdapter(
    Annotated[ClientRequest, Field(discriminator="method")], config=_DEFER
)
"""Validates and serializes client requests."""

client_notification_adapter: TypeAdapter[ClientNotification] = TypeAdapter(
    Annotated[ClientNotification, Field(discriminator="method")], config=_DEFER
)
"""Validates and serializes client notifications."""

server_request_adapter: TypeAdapter[ServerRequest] = TypeAdapter(
    Annotated[ServerRequest, Field(discriminator="method")], config=_DEFER
)
"""Validates and serializes server requests."""

server_notification_adapter: TypeAdapter[ServerNotification] = TypeAdapter(
    Annotated[ServerNotification, Field(discriminator="method")], config=_DEFER
)
"""Validates and serializes server notifications."""


# Nothing in a result states its kind, so it is known by a member that only that kind must have.
_SERVER_RESULTS: Final[dict[str, type[Result]]] = {
    "protocolVersion": InitializeResult,
    "supportedVersions": DiscoverResult,
    "completion": CompleteResult,
    "messages": GetPromptResult,
    "prompts": ListPromptsResult,
    "resources": ListResourcesResult,
    "resourceTemplates": ListResourceTemplatesResult,
    "contents": ReadResourceResult,
    "content": CallToolResult,
    "tools": ListToolsResult,
}


def _server_result_kind(value: object) -> str:
    if isinstance(value, Mapping):
        result = cast("Mapping[str, object]", value)
        if result.get("resultType") == "input_required":
            return "input_required"
        return next((member for member in _SERVER_RESULTS if member in result), "empty")
    if isinstance(value, InputRequiredResult):
        return "input_required"
    if isinstance(value, SubscriptionsListenResult):
        return "listen"
    return next((member for member, model in _SERVER_RESULTS.items() if isinstance(value, model)), "empty")


def _client_result_kind(value: object) -> str:
    return response_kind(value) or "empty"


client_result_adapter: TypeAdapter[ClientResult] = TypeAdapter(
    Annotated[
        Annotated[EmptyResult, Tag("empty")]
        | Annotated[CreateMessageResult, Tag("sampling")]
        | Annotated[CreateMessageResultWithTools, Tag("sampling_with_tools")]
        | Annotated[ListRootsResult, Tag("roots")]
        | Annotated[ElicitResult, Tag("elicitation")],
        Discriminator(_client_result_kind),
    ],
    config=_DEFER,
)
"""Validates and serializes client results."""

server_result_adapter: TypeAdapter[ServerResult] = TypeAdapter(
    Annotated[
        Annotated[EmptyResult, Tag("empty")]
        | Annotated[InitializeResult, Tag("protocolVersion")]
        | Annotated[DiscoverResult, Tag("supportedVersions")]
        | Annotated[CompleteResult, Tag("completion")]
        | Annotated[GetPromptResult, Tag("messages")]
        | Annotated[ListPromptsResult, Tag("prompts")]
        | Annotated[ListResourcesResult, Tag("resources")]
        | Annotated[ListResourceTemplatesResult, Tag("resourceTemplates")]
        | Annotated[ReadResourceResult, Tag("contents")]
        | Annotated[CallToolResult, Tag("content")]
        | Annotated[ListToolsResult, Tag("tools")]
        | Annotated[SubscriptionsListenResult, Tag("listen")]
        | Annotated[InputRequiredResult, Tag("input_required")],
        Discriminator(_server_result_kind),
    ],
    config=_DEFER,
)
"""Validates and serializes server results."""

__all__ = [
    "ClientNotification",
    "ClientRequest",
    "ClientResult",
    "ServerNotification",
    "ServerRequest",
    "ServerResult",
    "client_notification_adapter",
    "client_request_adapter",
    "client_result_adapter",
    "server_notification_adapter",
    "server_request_adapter",
    "server_result_adapter",
]
