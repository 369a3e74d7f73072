"""Resources of the high-level server."""

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
