"""Lists to their end, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Generic, TypeVar

import mcp_types as types

PageT = TypeVar("PageT", bound=types.PaginatedResult)
ItemT = TypeVar("ItemT")


class Items(AsyncIterator[ItemT], Generic[PageT, ItemT]):
    """Iterates over a list. A page is asked for when the one before it has been read.

    No generator: those that are left before their end want to be closed.

    Args:
        list_page: Asks for the page at a cursor; `None` is the first one.
        items_of: Takes the items out of a page.
    """

    def __init__(
        self, list_page: Callable[[str | None], Awaitable[PageT]], items_of: Callable[[PageT], Sequence[ItemT]]
    ) -> None:
        self._list_page = list_page
        self._items_of = items_of
        self._page: Iterator[ItemT] = iter(())
        self._cursor: str | None = None
        self._given: set[str | None] = set()

    async def __anext__(self) -> ItemT:
        """Return the next item. After an error of the page's request, the page is asked for again.

        Raises:
            RuntimeError: The server gave a cursor that it gave before: the list would never end.
        """
        while True:
            for item in self._page:
                return item
            if self._given and self._cursor is None:
                raise StopAsyncIteration
            if self._cursor in self._given:
                raise RuntimeError(f"The server gave the cursor {self._cursor!r} a second time; its list has no end")
            page = await self._list_page(self._cursor)
            self._given.add(self._cursor)
            self._page = iter(self._items_of(page))
            self._cursor = page.next_cursor
