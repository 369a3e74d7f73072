"""The engine under `MCPServer`: one handler per method."""

from typing import TYPE_CHECKING

from mcp_types._lazy import homes, lazy_names

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import NotificationOptions, Server
else:
    _NAMES = {
        "mcp.server.lowlevel.server": "NotificationOptions Server",
    }
    __getattr__, __dir__ = lazy_names(__name__, homes(_NAMES))

__all__ = ["NotificationOptions", "Server"]
