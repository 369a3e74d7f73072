"""The registered tools."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.mcpserver._registry import OnDuplicate, Registry
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from mcp.server.mcpserver import context as _context
    from mcp.server.mcpserver.tools import base
else:
    base = lazy_module("mcp.server.mcpserver.tools.base")
    _context = lazy_module("mcp.server.mcpserver.context")

logger = logging.getLogger(__name__)


class ToolManager:
    """The registered tools, in the order of their registration.

    Args:
        warn_on_duplicate_tools: Whether a second tool of one name is reported in the log; the first one stays.
        tools: Tools to begin with.
        on_duplicate: What a second tool of one name does.
    """

    def __init__(
        self,
        warn_on_duplicate_tools: bool = True,
        *,
        tools: list[base.Tool] | None = None,
        on_duplicate: OnDuplicate = "warn",
    ) -> None:
        self.registry: Registry[base.Tool] = Registry(
            "Tool", logger, on_duplicate=on_duplicate, warn=warn_on_duplicate_tools
        )
        for tool in tools or ():
            self.registry.add(tool.name, tool)

    def __iter__(self) -> Iterator[base.Tool]:
        return iter(self.registry)

    def add_tool(
        self,
        fn: Callable[..., Any],
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: types.ToolAnnotations | None = None,
        icons: list[types.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        structured_output: bool | None = None,
    ) -> base.Tool:
        """Register a function and return the tool that has its name now."""
        tool = base.Tool.from_function(
            fn,
            name=name,
            title=title,
            description=description,
            annotations=annotations,
            icons=icons,
            meta=meta,
            structured_output=structured_output,
        )
        return self.registry.add(tool.name, tool)

    def get_tool(self, name: str) -> base.Tool | None:
        """Return the tool of that name."""
        return self.registry.get(name)

    def list_tools(self) -> list[base.Tool]:
        """Return all tools."""
        return list(self.registry)

    def remove_tool(self, name: str) -> None:
        """Remove a tool.

        Raises:
            ToolError: There is none of that name.
        """
        if not self.registry.remove(name):
            raise ToolError(f"Unknown tool: {name}")

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        context: _context.Context[Any, Any],
        convert_result: bool = False,
        *,
        show_errors: bool = False,
    ) -> Any:
        """Call a tool by name; raises what `Tool.run` raises.

        Raises:
            ToolError: There is none of that name, or it failed.
        """
        tool = self.registry.get(name)
        if tool is None:
            raise ToolError(f"Unknown tool: {name}")
        return await tool.run(arguments, context, convert_result, show_errors=show_errors)
