"""Which callers see which tools, prompts and resources."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.prompts.base import Prompt
from mcp.server.mcpserver.resources.base import Resource
from mcp.server.mcpserver.resources.templates import ResourceTemplate
from mcp.server.mcpserver.tools.base import Tool

Item: TypeAlias = Tool | Prompt | Resource | ResourceTemplate
"""What a server shows and serves."""

Visible: TypeAlias = Callable[[Context[Any, Any], Item], bool | Awaitable[bool]]
"""Decides whether the caller of one request sees an item: `(ctx, item) -> bool`, asynchronous or not.

It is asked for every item of a list and for the item of every call, so it should be quick.
"""


async def is_visible(visible: Visible | None, context: Context[Any, Any], item: Item) -> bool:
    """Ask the filter. Without one everything is visible, and so it is outside of a request: there is no caller."""
    if visible is None or context._request_context is None:
        return True
    verdict = visible(context, item)
    return bool(await verdict if inspect.isawaitable(verdict) else verdict)
