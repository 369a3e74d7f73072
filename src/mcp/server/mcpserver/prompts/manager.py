"""The registered prompts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.mcpserver._registry import OnDuplicate, Registry
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from mcp.server.mcpserver import context as _context
    from mcp.server.mcpserver.prompts import base
else:
    base = lazy_module("mcp.server.mcpserver.prompts.base")
    _context = lazy_module("mcp.server.mcpserver.context")

logger = logging.getLogger(__name__)


class PromptManager:
    """The registered prompts, in the order of their registration.

    Args:
        warn_on_duplicate_prompts: Whether a second prompt of one name is reported in the log; the first one stays.
        on_duplicate: What a second prompt of one name does.
    """

    def __init__(self, warn_on_duplicate_prompts: bool = True, *, on_duplicate: OnDuplicate = "warn") -> None:
        self.registry: Registry[base.Prompt] = Registry(
            "Prompt", logger, on_duplicate=on_duplicate, warn=warn_on_duplicate_prompts
        )

    def __iter__(self) -> Iterator[base.Prompt]:
        return iter(self.registry)

    def add_prompt(self, prompt: base.Prompt) -> base.Prompt:
        """Register a prompt and return the one that has its name now."""
        return self.registry.add(prompt.name, prompt)

    def get_prompt(self, name: str) -> base.Prompt | None:
        """Return the prompt of that name."""
        return self.registry.get(name)

    def list_prompts(self) -> list[base.Prompt]:
        """Return all prompts."""
        return list(self.registry)

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt.

        Raises:
            ValueError: There is none of that name.
        """
        if not self.registry.remove(name):
            raise ValueError(f"Unknown prompt: {name}")

    def find(self, name: str) -> base.Prompt:
        """Return the prompt of that name.

        Raises:
            PromptError: There is none.
        """
        prompt = self.registry.get(name)
        if prompt is None:
            raise base.InvalidPromptRequest(f"Unknown prompt: {name}")
        return prompt

    async def render_prompt(
        self, name: str, arguments: dict[str, Any] | None, context: _context.Context[Any, Any]
    ) -> list[base.Message] | types.InputRequiredResult:
        """Render a prompt by name; raises what `Prompt.render` raises."""
        return await self.find(name).render(arguments, context)
