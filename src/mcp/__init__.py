"""The Model Context Protocol for Python: clients, servers, and the types of the protocol.

Names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types._lazy import lazy_names

if TYPE_CHECKING:
    from mcp import types as types
    from mcp._protocol.input_required import InputRequiredRoundsExceededError as InputRequiredRoundsExceededError
    from mcp.client._answers import SamplingRole as SamplingRole
    from mcp.client.client import Client as Client
    from mcp.client.session import ClientSession as ClientSession
    from mcp.client.stdio import StdioServerParameters as StdioServerParameters
    from mcp.client.stdio import stdio_client as stdio_client
    from mcp.server.session import ServerSession as ServerSession
    from mcp.server.stdio import stdio_server as stdio_server
    from mcp.shared.exceptions import (
        MCPDeprecationWarning as MCPDeprecationWarning,
    )
    from mcp.shared.exceptions import (
        MCPError as MCPError,
    )
    from mcp.shared.exceptions import (
        UrlElicitationRequiredError as UrlElicitationRequiredError,
    )
    from mcp.shared.uri_template import (
        InvalidUriTemplate as InvalidUriTemplate,
    )
    from mcp.shared.uri_template import (
        UriTemplate as UriTemplate,
    )
    from mcp_types import (
        CallToolRequest as CallToolRequest,
    )
    from mcp_types import (
        ClientCapabilities as ClientCapabilities,
    )
    from mcp_types import (
        ClientNotification as ClientNotification,
    )
    from mcp_types import (
        ClientRequest as ClientRequest,
    )
    from mcp_types import (
        ClientResult as ClientResult,
    )
    from mcp_types import (
        CompleteRequest as CompleteRequest,
    )
    from mcp_types import (
        CreateMessageRequest as CreateMessageRequest,
    )
    from mcp_types import (
        CreateMessageResult as CreateMessageResult,
    )
    from mcp_types import (
        CreateMessageResultWithTools as CreateMessageResultWithTools,
    )
    from mcp_types import (
        ErrorData as ErrorData,
    )
    from mcp_types import (
        GetPromptRequest as GetPromptRequest,
    )
    from mcp_types import (
        GetPromptResult as GetPromptResult,
    )
    from mcp_types import (
        Implementation as Implementation,
    )
    from mcp_types import (
        IncludeContext as IncludeContext,
    )
    from mcp_types import (
        InitializedNotification as InitializedNotification,
    )
    from mcp_types import (
        InitializeRequest as InitializeRequest,
    )
    from mcp_types import (
        InitializeResult as InitializeResult,
    )
    from mcp_types import (
        JSONRPCError as JSONRPCError,
    )
    from mcp_types import (
        JSONRPCRequest as JSONRPCRequest,
    )
    from mcp_types import (
        JSONRPCResponse as JSONRPCResponse,
    )
    from mcp_types import (
        ListPromptsRequest as ListPromptsRequest,
    )
    from mcp_types import (
        ListPromptsResult as ListPromptsResult,
    )
    from mcp_types import (
        ListResourcesRequest as ListResourcesRequest,
    )
    from mcp_types import (
        ListResourcesResult as ListResourcesResult,
    )
    from mcp_types import (
        ListToolsResult as ListToolsResult,
    )
    from mcp_types import (
        LoggingLevel as LoggingLevel,
    )
    from mcp_types import (
        LoggingMessageNotification as LoggingMessageNotification,
    )
    from mcp_types import (
        Notification as Notification,
    )
    from mcp_types import (
        PingRequest as PingRequest,
    )
    from mcp_types import (
        ProgressNotification as ProgressNotification,
    )
    from mcp_types import (
        PromptsCapability as PromptsCapability,
    )
    from mcp_types import (
        ReadResourceRequest as ReadResourceRequest,
    )
    from mcp_types import (
        ReadResourceResult as ReadResourceResult,
    )
    from mcp_types import (
        Resource as Resource,
    )
    from mcp_types import (
        ResourcesCapability as ResourcesCapability,
    )
    from mcp_types import (
        ResourceUpdatedNotification as ResourceUpdatedNotification,
    )
    from mcp_types import (
        RootsCapability as RootsCapability,
    )
    from mcp_types import (
        SamplingCapability as SamplingCapability,
    )
    from mcp_types import (
        SamplingContent as SamplingContent,
    )
    from mcp_types import (
        SamplingContextCapability as SamplingContextCapability,
    )
    from mcp_types import (
        SamplingMessage as SamplingMessage,
    )
    from mcp_types import (
        SamplingMessageContentBlock as SamplingMessageContentBlock,
    )
    from mcp_types import (
        SamplingToolsCapability as SamplingToolsCapability,
    )
    from mcp_types import (
        ServerCapabilities as ServerCapabilities,
    )
    from mcp_types import (
        ServerNotification as ServerNotification,
    )
    from mcp_types import (
        ServerRequest as ServerRequest,
    )
    from mcp_types import (
        ServerResult as ServerResult,
    )
    from mcp_types import (
        SetLevelRequest as SetLevelRequest,
    )
    from mcp_types import (
        StopReason as StopReason,
    )
    from mcp_types import (
        SubscribeRequest as SubscribeRequest,
    )
    from mcp_types import (
        Tool as Tool,
    )
    from mcp_types import (
        ToolChoice as ToolChoice,
    )
    from mcp_types import (
        ToolResultContent as ToolResultContent,
    )
    from mcp_types import (
        ToolsCapability as ToolsCapability,
    )
    from mcp_types import (
        ToolUseContent as ToolUseContent,
    )
    from mcp_types import (
        UnsubscribeRequest as UnsubscribeRequest,
    )

__all__ = [
    "CallToolRequest",
    "Client",
    "ClientCapabilities",
    "ClientNotification",
    "ClientRequest",
    "ClientResult",
    "ClientSession",
    "CompleteRequest",
    "CreateMessageRequest",
    "CreateMessageResult",
    "CreateMessageResultWithTools",
    "ErrorData",
    "GetPromptRequest",
    "GetPromptResult",
    "Implementation",
    "IncludeContext",
    "InitializeRequest",
    "InitializeResult",
    "InitializedNotification",
    "InputRequiredRoundsExceededError",
    "InvalidUriTemplate",
    "JSONRPCError",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "ListPromptsRequest",
    "ListPromptsResult",
    "ListResourcesRequest",
    "ListResourcesResult",
    "ListToolsResult",
    "LoggingLevel",
    "LoggingMessageNotification",
    "MCPDeprecationWarning",
    "MCPError",
    "Notification",
    "PingRequest",
    "ProgressNotification",
    "PromptsCapability",
    "ReadResourceRequest",
    "ReadResourceResult",
    "Resource",
    "ResourceUpdatedNotification",
    "ResourcesCapability",
    "RootsCapability",
    "SamplingCapability",
    "SamplingContent",
    "SamplingContextCapability",
    "SamplingMessage",
    "SamplingMessageContentBlock",
    "SamplingRole",
    "SamplingToolsCapability",
    "ServerCapabilities",
    "ServerNotification",
    "ServerRequest",
    "ServerResult",
    "ServerSession",
    "SetLevelRequest",
    "StdioServerParameters",
    "StopReason",
    "SubscribeRequest",
    "Tool",
    "ToolChoice",
    "ToolResultContent",
    "ToolUseContent",
    "ToolsCapability",
    "UnsubscribeRequest",
    "UriTemplate",
    "UrlElicitationRequiredError",
    "stdio_client",
    "stdio_server",
]

_HOMES = {
    "Client": "mcp.client.client",
    "ClientSession": "mcp.client.session",
    "InputRequiredRoundsExceededError": "mcp._protocol.input_required",
    "InvalidUriTemplate": "mcp.shared.uri_template",
    "MCPDeprecationWarning": "mcp.shared.exceptions",
    "MCPError": "mcp.shared.exceptions",
    "SamplingRole": "mcp.client._answers",
    "ServerSession": "mcp.server.session",
    "StdioServerParameters": "mcp.client.stdio",
    "UriTemplate": "mcp.shared.uri_template",
    "UrlElicitationRequiredError": "mcp.shared.exceptions",
    "stdio_client": "mcp.client.stdio",
    "stdio_server": "mcp.server.stdio",
}

__getattr__, __dir__ = lazy_names(
    __name__,
    {name: _HOMES.get(name, "mcp_types") for name in __all__},
    submodules=("types",),
    renamed={"McpError": "MCPError"},
)
