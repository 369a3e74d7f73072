"""Lists to their end, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Final, Generic, TypeVar

import mcp_types as types
from mcp.client.caching import CacheMode
from mcp_types import RequestParamsMeta

DEFAULT_MAX_PAGES: Final = 1_000

PageT = TypeVar("PageT", bound=types.PaginatedResult)
ItemT = TypeVar("ItemT")


class Items(AsyncIterator[ItemT], Generic[PageT, ItemT]):
    """Iterates over a list. A page is asked for when the one before it has been read.

    No generator: those that are left before their end want to be closed.

    Args:
        list_page: Asks for the page at a cursor; `None` is the first one.
        items_of: Takes the items out of a page.
        max_pages: How many pages to ask for; `None` for any number.
    """

    def __init__(
        self,
        list_page: Callable[[str | None], Awaitable[PageT]],
        items_of: Callable[[PageT], Sequence[ItemT]],
        max_pages: int | None,
    ) -> None:
        self._max_pages = max_pages
        self._list_page = list_page
        self._items_of = items_of
        self._page: Iterator[ItemT] = iter(())
        self._cursor: str | None = None
        self._given: set[str | None] = set()

    async def __anext__(self) -> ItemT:
        """Return the next item. After an error of the page's request, the page is asked for again.

        Raises:
            RuntimeError: The server gave a cursor that it gave before, so that the list would never end, or the list
                has too many pages.
        """
        while True:
            for item in self._page:
                return item
            if self._given and self._cursor is None:
                raise StopAsyncIteration
            if self._cursor in self._given:
                raise RuntimeError(f"The server gave the cursor {self._cursor!r} a second time; its list has no end")
            if self._max_pages is not None and len(self._given) >= self._max_pages:
                raise RuntimeError(f"The list has more than {self._max_pages} pages; `max_pages` allows for more")
            page = await self._list_page(self._cursor)
            self._given.add(self._cursor)
            self._page = iter(self._items_of(page))
            self._cursor = page.next_cursor


class AllPages:
    """The verbs that go through all pages of a list, on top of those that list one."""

    async def list_tools(
        self, *, cursor: str | None = None, meta: RequestParamsMeta | None = None, cache_mode: CacheMode = "use"
    ) -> types.ListToolsResult:
        """List one page of the server's tools."""
        raise NotImplementedError

    async def list_prompts(
        self, *, cursor: str | None = None, meta: RequestParamsMeta | None = None, cache_mode: CacheMode = "use"
    ) -> types.ListPromptsResult:
        """List one page of the server's prompts."""
        raise NotImplementedError

    async def list_resources(
        self, *, cursor: str | None = None, meta: RequestParamsMeta | None = None, cache_mode: CacheMode = "use"
    ) -> types.ListResourcesResult:
        """List one page of the server's resources."""
        raise NotImplementedError

    async def list_resource_templates(
        self, *, cursor: str | None = None, meta: RequestParamsMeta | None = None, cache_mode: CacheMode = "use"
    ) -> types.ListResourceTemplatesResult:
        """List one page of the server's resource templates."""
        raise NotImplementedError

    def iter_tools(
        self,
        *,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
        max_pages: int | None = DEFAULT_MAX_PAGES,
    ) -> AsyncIterator[types.Tool]:
        """Iterate over all tools of the server: `async for tool in client.iter_tools()`.

        A page is asked for when the one before it has been read.

        Args:
            meta: Metadata for each request.
            cache_mode: Whether the response cache may answer.
            max_pages: How many pages to ask for; `None` for any number.

        Raises:
            RuntimeError: The server gives a cursor for the second time, so that its list would never end, or the list
                has more pages than that.
        """
        return Items(
            lambda cursor: self.list_tools(cursor=cursor, meta=meta, cache_mode=cache_mode),
            lambda page: page.tools,
            max_pages,
        )

    async def list_all_tools(
        self,
        *,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
        max_pages: int | None = DEFAULT_MAX_PAGES,
    ) -> list[types.Tool]:
        """List all tools of the server, from all pages; arguments and errors as in `iter_tools`."""
        found = self.iter_tools(meta=meta, cache_mode=cache_mode, max_pages=max_pages)
        return [item async for item in found]

    def iter_prompts(
        self,
        *,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
        max_pages: int | None = DEFAULT_MAX_PAGES,
    ) -> AsyncIterator[types.Prompt]:
        """Iterate over all prompts of the server; arguments and errors as in `iter_tools`."""
        return Items(
            lambda cursor: self.list_prompts(cursor=cursor, meta=meta, cache_mode=cache_mode),
            lambda page: page.prompts,
            max_pages,
        )

    async def list_all_prompts(
        self,
        *,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
        max_pages: int | None = DEFAULT_MAX_PAGES,
    ) -> list[types.Prompt]:
        """List all prompts of the server, from all pages; arguments and errors as in `iter_tools`."""
        found = self.iter_prompts(meta=meta, cache_mode=cache_mode, max_pages=max_pages)
        return [item async for item in found]

    def iter_resources(
        self,
        *,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
        max_pages: int | None = DEFAULT_MAX_PAGES,
    ) -> AsyncIterator[types.Resource]:
        """Iterate over all resources of the server; arguments and errors as in `iter_tools`."""
        return Items(
            lambda cursor: self.list_resources(cursor=cursor, meta=meta, cache_mode=cache_mode),
            lambda page: page.resources,
            max_pages,
        )

    async def list_all_resources(
        self,
        *,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
        max_pages: int | None = DEFAULT_MAX_PAGES,
    ) -> list[types.Resource]:
        """List all resources of the server, from all pages; arguments and errors as in `iter_tools`."""
        found = self.iter_resources(meta=meta, cache_mode=cache_mode, max_pages=max_pages)
        return [item async for item in found]

    def iter_resource_templates(
        self,
        *,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
        max_pages: int | None = DEFAULT_MAX_PAGES,
    ) -> AsyncIterator[types.ResourceTemplate]:
        """Iterate over all resource templates of the server; arguments and errors as in `iter_tools`."""
        return Items(
            lambda cursor: self.list_resource_templates(cursor=cursor, meta=meta, cache_mode=cache_mode),
            lambda page: page.resource_templates,
            max_pages,
        )

    async def list_all_resource_templates(
        self,
        *,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
        max_pages: int | None = DEFAULT_MAX_PAGES,
    ) -> list[types.ResourceTemplate]:
        """List all resource templates of the server, from all pages; arguments and errors as in `iter_tools`."""
        found = self.iter_resource_templates(meta=meta, cache_mode=cache_mode, max_pages=max_pages)
        return [item async for item in found]
