"""Prompts of the high-level server."""

from typing import TYPE_CHECKING

from mcp_types._lazy import homes, lazy_names

if TYPE_CHECKING:
    from mcp.server.mcpserver.prompts.base import Prompt
    from mcp.server.mcpserver.prompts.manager import PromptManager
else:
    _NAMES = {
        "mcp.server.mcpserver.prompts.base": "Prompt",
        "mcp.server.mcpserver.prompts.manager": "PromptManager",
    }
    __getattr__, __dir__ = lazy_names(__name__, homes(_NAMES))

__all__ = ["Prompt", "PromptManager"]
