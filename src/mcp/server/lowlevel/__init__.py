"""The engine under `MCPServer`: one handler per method."""

from mcp.server.lowlevel.server import NotificationOptions, Server

__all__ = ["NotificationOptions", "Server"]
