"""Tools of the high-level server."""

from typing import TYPE_CHECKING

from mcp_types._lazy import homes, lazy_names

if TYPE_CHECKING:
    from mcp.server.mcpserver.tools.base import Tool
    from mcp.server.mcpserver.tools.tool_manager import ToolManager
else:
    _NAMES = {
        "mcp.server.mcpserver.tools.base": "Tool",
        "mcp.server.mcpserver.tools.tool_manager": "ToolManager",
    }
    __getattr__, __dir__ = lazy_names(__name__, homes(_NAMES))

__all__ = ["Tool", "ToolManager"]
