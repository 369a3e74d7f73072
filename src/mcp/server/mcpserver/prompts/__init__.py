"""Prompts of the high-level server."""

from mcp.server.mcpserver.prompts.base import Prompt
from mcp.server.mcpserver.prompts.manager import PromptManager

__all__ = ["Prompt", "PromptManager"]
