# ruff: noqa: F403, F405
"""The types of the Model Context Protocol, for every revision from 2024-11-05 to 2026-07-28.

One class serves all revisions: members that a revision does not have stay None. Names load when they are first used.
"""

from typing import TYPE_CHECKING

from mcp_types._lazy import homes, lazy_names

if TYPE_CHECKING:
    from mcp_types._base import *
    from mcp_types._calls import *
    from mcp_types._capabilities import *
    from mcp_types._codes import *
    from mcp_types._completion import *
    from mcp_types._content import *
    from mcp_types._elicitation import *
    from mcp_types._envelopes import *
    from mcp_types._identity import *
    from mcp_types._input_required import *
    from mcp_types._lifecycle import *
    from mcp_types._prompts import *
    from mcp_types._resource_messages import *
    from mcp_types._resources import *
    from mcp_types._roots import *
    from mcp_types._sampling import *
    from mcp_types._subscriptions import *
    from mcp_types._tasks import *
    from mcp_types._tool_messages import *
    from mcp_types._tools import *
    from mcp_types._unions import *
    from mcp_types._vocabulary import *
    from mcp_types.version import LATEST_PROTOCOL_VERSION
else:
    _NAMES = {
        "_base": """
            CacheableResult EmptyResult Notification NotificationParams PaginatedRequest PaginatedRequestParams
            PaginatedResult Request RequestParams RequestParamsMeta Result TaskMetadata
        """,
        "_calls": """
            CallToolRequest CallToolRequestParams GetPromptRequest GetPromptRequestParams ReadResourceRequest
            ReadResourceRequestParams
        """,
        "_capabilities": """
            ClientCapabilities ClientTasksCapability ClientTasksRequestsCapability CompletionsCapability
            ElicitationCapability FormElicitationCapability LoggingCapability
            MissingRequiredClientCapabilityErrorData PromptsCapability ResourcesCapability RootsCapability
            SamplingCapability SamplingContextCapability SamplingToolsCapability ServerCapabilities
            ServerTasksCapability ServerTasksRequestsCapability TasksCallCapability TasksCancelCapability
            TasksCreateElicitationCapability TasksCreateMessageCapability TasksElicitationCapability
            TasksListCapability TasksSamplingCapability TasksToolsCapability ToolsCapability
            UrlElicitationCapability
        """,
        "_codes": """
            CONNECTION_CLOSED HEADER_MISMATCH INTERNAL_ERROR INVALID_PARAMS INVALID_REQUEST JSONRPC_VERSION
            METHOD_NOT_FOUND MISSING_REQUIRED_CLIENT_CAPABILITY PARSE_ERROR REQUEST_TIMEOUT
            UNSUPPORTED_PROTOCOL_VERSION URL_ELICITATION_REQUIRED
        """,
        "_completion": """
            CompleteRequest CompleteRequestParams CompleteResult Completion CompletionArgument CompletionContext
            PromptReference ResourceTemplateReference
        """,
        "_content": """
            AudioContent ContentBlock EmbeddedResource ImageContent ResourceLink SamplingContent
            SamplingMessageContentBlock TextContent ToolResultContent ToolUseContent
        """,
        "_elicitation": """
            ElicitCompleteNotification ElicitCompleteNotificationParams ElicitRequest ElicitRequestFormParams
            ElicitRequestParams ElicitRequestURLParams ElicitRequestedSchema ElicitResult
            ElicitationRequiredErrorData
        """,
        "_envelopes": """
            ErrorData JSONRPCError JSONRPCMessage JSONRPCNotification JSONRPCRequest JSONRPCResponse RequestId
            jsonrpc_message_adapter
        """,
        "_identity": "Annotations BaseMetadata Icon Implementation",
        "_input_required": """
            InputRequest InputRequests InputRequiredResult InputResponse InputResponseRequestParams
            InputResponses
        """,
        "_lifecycle": """
            CancelledNotification CancelledNotificationParams DiscoverRequest DiscoverResult InitializeRequest
            InitializeRequestParams InitializeResult InitializedNotification LoggingMessageNotification
            LoggingMessageNotificationParams PingRequest ProgressNotification ProgressNotificationParams
            SetLevelRequest SetLevelRequestParams UnsupportedProtocolVersionErrorData
        """,
        "_prompts": """
            GetPromptResult ListPromptsRequest ListPromptsResult Prompt PromptArgument
            PromptListChangedNotification PromptMessage
        """,
        "_resource_messages": """
            ListResourceTemplatesRequest ListResourceTemplatesResult ListResourcesRequest ListResourcesResult
            ReadResourceResult ResourceListChangedNotification ResourceUpdatedNotification
            ResourceUpdatedNotificationParams SubscribeRequest SubscribeRequestParams UnsubscribeRequest
            UnsubscribeRequestParams
        """,
        "_resources": "BlobResourceContents Resource ResourceContents ResourceTemplate TextResourceContents",
        "_roots": "ListRootsRequest ListRootsResult Root RootsListChangedNotification",
        "_sampling": """
            CreateMessageRequest CreateMessageRequestParams CreateMessageResult CreateMessageResultWithTools
            IncludeContext ModelHint ModelPreferences SamplingMessage StopReason
        """,
        "_subscriptions": """
            SubscriptionFilter SubscriptionsAcknowledgedNotification SubscriptionsAcknowledgedNotificationParams
            SubscriptionsListenRequest SubscriptionsListenRequestParams SubscriptionsListenResult
        """,
        "_tasks": """
            CancelTaskRequest CancelTaskRequestParams CancelTaskResult CreateTaskResult GetTaskPayloadRequest
            GetTaskPayloadRequestParams GetTaskPayloadResult GetTaskRequest GetTaskRequestParams GetTaskResult
            ListTasksRequest ListTasksResult RelatedTaskMetadata Task TaskStatus TaskStatusNotification
            TaskStatusNotificationParams
        """,
        "_tool_messages": "CallToolResult ListToolsRequest ListToolsResult ToolListChangedNotification",
        "_tools": "Tool ToolAnnotations ToolChoice ToolExecution",
        "_unions": """
            ClientNotification ClientRequest ClientResult ServerNotification ServerRequest ServerResult
            client_notification_adapter client_request_adapter client_result_adapter server_notification_adapter
            server_request_adapter server_result_adapter
        """,
        "_vocabulary": """
            CLIENT_CAPABILITIES_META_KEY CLIENT_INFO_META_KEY CORE_RESULT_TYPES DEFAULT_NEGOTIATED_VERSION
            LOG_LEVEL_META_KEY PROTOCOL_VERSION_META_KEY SERVER_INFO_META_KEY IconTheme LoggingLevel
            ProgressToken ResultType Role
        """,
        "version": "LATEST_PROTOCOL_VERSION",
    }
    __getattr__, __dir__ = lazy_names(
        __name__,
        {name: f"mcp_types.{module}" for name, module in homes(_NAMES).items()},
        submodules=("jsonrpc", "methods", "version"),
    )

__all__ = [
    "CLIENT_CAPABILITIES_META_KEY",
    "CLIENT_INFO_META_KEY",
    "CONNECTION_CLOSED",
    "CORE_RESULT_TYPES",
    "DEFAULT_NEGOTIATED_VERSION",
    "HEADER_MISMATCH",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "JSONRPC_VERSION",
    "LATEST_PROTOCOL_VERSION",
    "LOG_LEVEL_META_KEY",
    "METHOD_NOT_FOUND",
    "MISSING_REQUIRED_CLIENT_CAPABILITY",
    "PARSE_ERROR",
    "PROTOCOL_VERSION_META_KEY",
    "REQUEST_TIMEOUT",
    "SERVER_INFO_META_KEY",
    "UNSUPPORTED_PROTOCOL_VERSION",
    "URL_ELICITATION_REQUIRED",
    "Annotations",
    "AudioContent",
    "BaseMetadata",
    "BlobResourceContents",
    "CacheableResult",
    "CallToolRequest",
    "CallToolRequestParams",
    "CallToolResult",
    "CancelTaskRequest",
    "CancelTaskRequestParams",
    "CancelTaskResult",
    "CancelledNotification",
    "CancelledNotificationParams",
    "ClientCapabilities",
    "ClientNotification",
    "ClientRequest",
    "ClientResult",
    "ClientTasksCapability",
    "ClientTasksRequestsCapability",
    "CompleteRequest",
    "CompleteRequestParams",
    "CompleteResult",
    "Completion",
    "CompletionArgument",
    "CompletionContext",
    "CompletionsCapability",
    "ContentBlock",
    "CreateMessageRequest",
    "CreateMessageRequestParams",
    "CreateMessageResult",
    "CreateMessageResultWithTools",
    "CreateTaskResult",
    "DiscoverRequest",
    "DiscoverResult",
    "ElicitCompleteNotification",
    "ElicitCompleteNotificationParams",
    "ElicitRequest",
    "ElicitRequestFormParams",
    "ElicitRequestParams",
    "ElicitRequestURLParams",
    "ElicitRequestedSchema",
    "ElicitResult",
    "ElicitationCapability",
    "ElicitationRequiredErrorData",
    "EmbeddedResource",
    "EmptyResult",
    "ErrorData",
    "FormElicitationCapability",
    "GetPromptRequest",
    "GetPromptRequestParams",
    "GetPromptResult",
    "GetTaskPayloadRequest",
    "GetTaskPayloadRequestParams",
    "GetTaskPayloadResult",
    "GetTaskRequest",
    "GetTaskRequestParams",
    "GetTaskResult",
    "Icon",
    "IconTheme",
    "ImageContent",
    "Implementation",
    "IncludeContext",
    "InitializeRequest",
    "InitializeRequestParams",
    "InitializeResult",
    "InitializedNotification",
    "InputRequest",
    "InputRequests",
    "InputRequiredResult",
    "InputResponse",
    "InputResponseRequestParams",
    "InputResponses",
    "JSONRPCError",
    "JSONRPCMessage",
    "JSONRPCNotification",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "ListPromptsRequest",
    "ListPromptsResult",
    "ListResourceTemplatesRequest",
    "ListResourceTemplatesResult",
    "ListResourcesRequest",
    "ListResourcesResult",
    "ListRootsRequest",
    "ListRootsResult",
    "ListTasksRequest",
    "ListTasksResult",
    "ListToolsRequest",
    "ListToolsResult",
    "LoggingCapability",
    "LoggingLevel",
    "LoggingMessageNotification",
    "LoggingMessageNotificationParams",
    "MissingRequiredClientCapabilityErrorData",
    "ModelHint",
    "ModelPreferences",
    "Notification",
    "NotificationParams",
    "PaginatedRequest",
    "PaginatedRequestParams",
    "PaginatedResult",
    "PingRequest",
    "ProgressNotification",
    "ProgressNotificationParams",
    "ProgressToken",
    "Prompt",
    "PromptArgument",
    "PromptListChangedNotification",
    "PromptMessage",
    "PromptReference",
    "PromptsCapability",
    "ReadResourceRequest",
    "ReadResourceRequestParams",
    "ReadResourceResult",
    "RelatedTaskMetadata",
    "Request",
    "RequestId",
    "RequestParams",
    "RequestParamsMeta",
    "Resource",
    "ResourceContents",
    "ResourceLink",
    "ResourceListChangedNotification",
    "ResourceTemplate",
    "ResourceTemplateReference",
    "ResourceUpdatedNotification",
    "ResourceUpdatedNotificationParams",
    "ResourcesCapability",
    "Result",
    "ResultType",
    "Role",
    "Root",
    "RootsCapability",
    "RootsListChangedNotification",
    "SamplingCapability",
    "SamplingContent",
    "SamplingContextCapability",
    "SamplingMessage",
    "SamplingMessageContentBlock",
    "SamplingToolsCapability",
    "ServerCapabilities",
    "ServerNotification",
    "ServerRequest",
    "ServerResult",
    "ServerTasksCapability",
    "ServerTasksRequestsCapability",
    "SetLevelRequest",
    "SetLevelRequestParams",
    "StopReason",
    "SubscribeRequest",
    "SubscribeRequestParams",
    "SubscriptionFilter",
    "SubscriptionsAcknowledgedNotification",
    "SubscriptionsAcknowledgedNotificationParams",
    "SubscriptionsListenRequest",
    "SubscriptionsListenRequestParams",
    "SubscriptionsListenResult",
    "Task",
    "TaskMetadata",
    "TaskStatus",
    "TaskStatusNotification",
    "TaskStatusNotificationParams",
    "TasksCallCapability",
    "TasksCancelCapability",
    "TasksCreateElicitationCapability",
    "TasksCreateMessageCapability",
    "TasksElicitationCapability",
    "TasksListCapability",
    "TasksSamplingCapability",
    "TasksToolsCapability",
    "TextContent",
    "TextResourceContents",
    "Tool",
    "ToolAnnotations",
    "ToolChoice",
    "ToolExecution",
    "ToolListChangedNotification",
    "ToolResultContent",
    "ToolUseContent",
    "ToolsCapability",
    "UnsubscribeRequest",
    "UnsubscribeRequestParams",
    "UnsupportedProtocolVersionErrorData",
    "UrlElicitationCapability",
    "client_notification_adapter",
    "client_request_adapter",
    "client_result_adapter",
    "jsonrpc_message_adapter",
    "server_notification_adapter",
    "server_request_adapter",
    "server_result_adapter",
]
