"""Resources of the high-level server."""

from typing import TYPE_CHECKING

from mcp_types._lazy import homes, lazy_names

if TYPE_CHECKING:
    from mcp.server.mcpserver._resource_security import (
        DEFAULT_RESOURCE_SECURITY,
        ResourceSecurity,
        ResourceSecurityError,
    )
    from mcp.server.mcpserver.resources.base import Resource
    from mcp.server.mcpserver.resources.resource_manager import ResourceManager
    from mcp.server.mcpserver.resources.templates import ResourceTemplate
    from mcp.server.mcpserver.resources.types import (
        BinaryResource,
        DirectoryResource,
        FileResource,
        FunctionResource,
        HttpResource,
        TextResource,
    )
else:
    _NAMES = {
        "mcp.server.mcpserver._resource_security": "DEFAULT_RESOURCE_SECURITY ResourceSecurity ResourceSecurityError",
        "mcp.server.mcpserver.resources.base": "Resource",
        "mcp.server.mcpserver.resources.resource_manager": "ResourceManager",
        "mcp.server.mcpserver.resources.templates": "ResourceTemplate",
        "mcp.server.mcpserver.resources.types": """
            BinaryResource DirectoryResource FileResource FunctionResource HttpResource TextResource
        """,
    }
    __getattr__, __dir__ = lazy_names(__name__, homes(_NAMES))

__all__ = [
    "DEFAULT_RESOURCE_SECURITY",
    "BinaryResource",
    "DirectoryResource",
    "FileResource",
    "FunctionResource",
    "HttpResource",
    "Resource",
    "ResourceManager",
    "ResourceSecurity",
    "ResourceSecurityError",
    "ResourceTemplate",
    "TextResource",
]
