"""Which callers see which tools, prompts and resources."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from mcp.server.mcpserver import context as _context
    from mcp.server.mcpserver import prompts as _prompts
    from mcp.server.mcpserver import resources as _resources
    from mcp.server.mcpserver import tools as _tools
else:
    _prompts = lazy_module("mcp.server.mcpserver.prompts")
    _resources = lazy_module("mcp.server.mcpserver.resources")
    _tools = lazy_module("mcp.server.mcpserver.tools")
    _context = lazy_module("mcp.server.mcpserver.context")

logger = logging.getLogger(__name__)

Item: TypeAlias = "_tools.Tool | _prompts.Prompt | _resources.Resource | _resources.ResourceTemplate"
"""What a server shows and serves."""

Visible: TypeAlias = Callable[[_context.Context[Any, Any], Item], bool | Awaitable[bool]]
"""Decides whether the caller of one request sees an item: `(ctx, item) -> bool`, asynchronous or not.

It is asked for every item of a list and for the item of every call, so it should be quick.
"""


async def is_visible(visible: Visible | None, context: _context.Context[Any, Any], item: Item) -> bool:
    """Ask the filter. Without one everything is visible, and so it is outside of a request: there is no caller.

    A filter that raises hides the item like one that says no: an error would tell that there is something.
    """
    if visible is None or context._request_context is None:
        return True
    try:
        verdict = visible(context, item)
        return bool(await verdict if inspect.isawaitable(verdict) else verdict)
    except Exception:
        logger.exception(
            "The server's filter `visible` failed on %s %r, which is hidden", type(item).__name__, item.name
        )
        return False
