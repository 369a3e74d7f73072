"""The high-level server: tools, prompts and resources made of Python functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types._lazy import lazy_names

if TYPE_CHECKING:
    from mcp.server.elicitation import (
        AcceptedElicitation,
        CancelledElicitation,
        DeclinedElicitation,
        ElicitationResult,
    )
    from mcp.server.extension import Extension, MethodBinding, ResourceBinding, ToolBinding
    from mcp.server.mcpserver._resource_security import DEFAULT_RESOURCE_SECURITY, ResourceSecurity
    from mcp.server.mcpserver.context import Context
    from mcp.server.mcpserver.exceptions import PromptError
    from mcp.server.mcpserver.prompts.base import AssistantMessage, Message, UserMessage
    from mcp.server.mcpserver.resolve.markers import Elicit, ElicitUrl, ListRoots, Resolve, Sample
    from mcp.server.mcpserver.server import MCPServer, require_client_extension
    from mcp.server.mcpserver.utilities.types import Audio, File, Image
    from mcp.server.request_state import (
        AESGCMRequestStateCodec,
        InvalidRequestState,
        RequestStateBoundary,
        RequestStateCodec,
        RequestStateSecurity,
        authenticated_principal,
    )
    from mcp_types import Icon

__all__ = [
    "DEFAULT_RESOURCE_SECURITY",
    "AESGCMRequestStateCodec",
    "AcceptedElicitation",
    "AssistantMessage",
    "Audio",
    "CancelledElicitation",
    "Context",
    "DeclinedElicitation",
    "Elicit",
    "ElicitUrl",
    "ElicitationResult",
    "Extension",
    "File",
    "Icon",
    "Image",
    "InvalidRequestState",
    "ListRoots",
    "MCPServer",
    "Message",
    "MethodBinding",
    "PromptError",
    "RequestStateBoundary",
    "RequestStateCodec",
    "RequestStateSecurity",
    "Resolve",
    "ResourceBinding",
    "ResourceSecurity",
    "Sample",
    "ToolBinding",
    "UserMessage",
    "authenticated_principal",
    "require_client_extension",
]

_MODULES = {
    "AESGCMRequestStateCodec": "mcp.server.request_state",
    "AcceptedElicitation": "mcp.server.elicitation",
    "AssistantMessage": "mcp.server.mcpserver.prompts.base",
    "Audio": "mcp.server.mcpserver.utilities.types",
    "CancelledElicitation": "mcp.server.elicitation",
    "Context": "mcp.server.mcpserver.context",
    "DEFAULT_RESOURCE_SECURITY": "mcp.server.mcpserver._resource_security",
    "DeclinedElicitation": "mcp.server.elicitation",
    "Elicit": "mcp.server.mcpserver.resolve.markers",
    "ElicitUrl": "mcp.server.mcpserver.resolve.markers",
    "ElicitationResult": "mcp.server.elicitation",
    "Extension": "mcp.server.extension",
    "File": "mcp.server.mcpserver.utilities.types",
    "Icon": "mcp_types",
    "Image": "mcp.server.mcpserver.utilities.types",
    "InvalidRequestState": "mcp.server.request_state",
    "ListRoots": "mcp.server.mcpserver.resolve.markers",
    "MCPServer": "mcp.server.mcpserver.server",
    "Message": "mcp.server.mcpserver.prompts.base",
    "MethodBinding": "mcp.server.extension",
    "PromptError": "mcp.server.mcpserver.exceptions",
    "RequestStateBoundary": "mcp.server.request_state",
    "RequestStateCodec": "mcp.server.request_state",
    "RequestStateSecurity": "mcp.server.request_state",
    "Resolve": "mcp.server.mcpserver.resolve.markers",
    "ResourceBinding": "mcp.server.extension",
    "ResourceSecurity": "mcp.server.mcpserver._resource_security",
    "Sample": "mcp.server.mcpserver.resolve.markers",
    "ToolBinding": "mcp.server.extension",
    "UserMessage": "mcp.server.mcpserver.prompts.base",
    "authenticated_principal": "mcp.server.request_state",
    "require_client_extension": "mcp.server.mcpserver.server",
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
