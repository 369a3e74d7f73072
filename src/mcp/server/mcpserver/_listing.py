"""The list methods: what is registered, as the caller may see it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import pydantic_core
from pydantic import BaseModel

import mcp_types as types
from mcp._protocol.codec import WireResult
from mcp._protocol.era import MODERN
from mcp._protocol.fields import dump
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver._registry import Registry
from mcp.server.mcpserver._visibility import Item, Visible, is_visible
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from mcp.server.mcpserver import _inline_refs
    from mcp.server.mcpserver import context as _context
    from mcp.server.mcpserver.tools import base as tool_base
else:
    tool_base = lazy_module("mcp.server.mcpserver.tools.base")
    _inline_refs = lazy_module("mcp.server.mcpserver._inline_refs")
    _context = lazy_module("mcp.server.mcpserver.context")

RequestContext: TypeAlias = ServerRequestContext[Any, Any]
PageParams: TypeAlias = "types.PaginatedRequestParams | None"


ItemT = TypeVar("ItemT", bound=Item)


class Listing(Generic[ItemT]):
    """The answers of one list method, in wire form, made again only after a registration.

    Args:
        member: The member of the result that holds the list.
        registry: What is listed.
        page_size: How many items a page has; `None` puts all on one.
        make_context: Makes the `Context` of a request, for the filter.
        visible: Decides who sees what; everybody sees everything without it.
        render: Makes an item's listed form.
    """

    def __init__(
        self,
        member: str,
        registry: Registry[ItemT],
        page_size: int | None,
        *,
        make_context: Callable[[RequestContext], _context.Context[Any, Any]],
        visible: Visible | None = None,
        render: Callable[[ItemT], BaseModel] = lambda item: item.as_listed(),
    ) -> None:
        self._member = member
        self._registry = registry
        self._page_size = page_size
        self._make_context = make_context
        self._visible = visible
        self._render = render
        # As JSON: reading it back is the cheapest way to give each answer values of its own.
        self._items: list[tuple[int, bytes, ItemT]] = []
        self._version = 0

    async def __call__(self, ctx: RequestContext, params: PageParams) -> WireResult:
        """Serve the list method."""
        rest = self._read_registry()
        cursor = None if params is None else params.cursor
        if cursor is not None:
            after = self._read_cursor(cursor)
            rest = [entry for entry in rest if entry[0] > after]
        if self._visible is not None:
            rest = await self._seen(self._make_context(ctx), rest)
        page = rest[: self._page_size]
        items = b",".join([item for _, item, _ in page])
        result = WireResult({self._member: pydantic_core.from_json(b"[%b]" % items)})
        if len(rest) > len(page):
            result["nextCursor"] = self._write_cursor(page[-1][0])
        return result

    def models(self) -> list[Any]:
        """The listed form of everything, for direct callers."""
        return [self._render(item) for item in self._registry]

    async def _seen(
        self, context: _context.Context[Any, Any], entries: Iterable[tuple[int, bytes, ItemT]]
    ) -> list[tuple[int, bytes, ItemT]]:
        """Return what the caller sees, no further than it takes to know whether there is another page."""
        seen: list[tuple[int, bytes, ItemT]] = []
        for entry in entries:
            if self._page_size is not None and len(seen) > self._page_size:
                break
            if await is_visible(self._visible, context, entry[2]):
                seen.append(entry)
        return seen

    def _read_registry(self) -> list[tuple[int, bytes, ItemT]]:
        version = self._registry.version
        if version != self._version:
            # The version comes first: what another thread registers meanwhile is read again next time.
            self._items = [
                (number, pydantic_core.to_json(dump(self._render(item), MODERN)), item)
                for number, item in self._registry.numbered()
            ]
            self._version = version
        return self._items

    def _write_cursor(self, number: int) -> str:
        return base64.urlsafe_b64encode(f"{self._member}:{number}".encode()).decode("ascii")

    def _read_cursor(self, cursor: str) -> int:
        try:
            member, _, text = base64.b64decode(cursor, b"-_", validate=True).decode().partition(":")
            number = int(text) if text.isascii() and text.isdigit() else -1
        except ValueError:  # not base64, not UTF-8, or more digits than the interpreter reads
            member, number = "", -1
        known = self._page_size is not None and member == self._member
        if not known or not 0 <= number <= self._registry.last_number:
            raise MCPError(INVALID_PARAMS, "Invalid cursor")
        return number


def without_refs(tool: tool_base.Tool) -> types.Tool:
    """The tool as `tools/list` shows it, with no references in its schemas."""
    listed = tool.as_listed()
    schemas: dict[str, Any] = {"input_schema": _inline_refs.inline_refs(listed.input_schema)}
    if listed.output_schema is not None:
        schemas["output_schema"] = _inline_refs.inline_refs(listed.output_schema)
    return listed.model_copy(update=schemas)
