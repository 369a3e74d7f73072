"""Tools of the high-level server."""

from mcp.server.mcpserver.tools.base import Tool
from mcp.server.mcpserver.tools.tool_manager import ToolManager

__all__ = ["Tool", "ToolManager"]
