"""Servers: `MCPServer` for Python functions, `Server` for handlers of protocol methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types._lazy import lazy_names

if TYPE_CHECKING:
    from mcp.server.caching import CacheHint
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel.server import NotificationOptions, Server
    from mcp.server.mcpserver.server import MCPServer
    from mcp.server.models import InitializationOptions

__all__ = ["CacheHint", "InitializationOptions", "MCPServer", "NotificationOptions", "Server", "ServerRequestContext"]

_MODULES = {
    "CacheHint": "mcp.server.caching",
    "InitializationOptions": "mcp.server.models",
    "MCPServer": "mcp.server.mcpserver.server",
    "NotificationOptions": "mcp.server.lowlevel.server",
    "Server": "mcp.server.lowlevel.server",
    "ServerRequestContext": "mcp.server.context",
}

__getattr__, __dir__ = lazy_names(
    __name__, _MODULES, renamed={"FastMCP": "MCPServer (from mcp.server.mcpserver import MCPServer)"}
)
