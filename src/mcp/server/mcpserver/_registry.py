"""Named things in the order of their registration."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Generic, Literal, TypeAlias, TypeVar

T = TypeVar("T")

OnDuplicate: TypeAlias = Literal["warn", "error", "replace"]
"""What a second registration under one name does: keep the first and warn, raise, or take its place."""


class Registry(Generic[T]):
    """Tools, prompts, resources or templates by name.

    Args:
        kind: What they are, for messages: `"Tool"`.
        logger: Where duplicates are reported.
        on_duplicate: What a second registration under one name does.
        warn: Whether keeping the first is reported.
    """

    __slots__ = ("_items", "_next", "_numbers", "kind", "listeners", "logger", "on_duplicate", "warn")

    def __init__(
        self, kind: str, logger: logging.Logger, *, on_duplicate: OnDuplicate = "warn", warn: bool = True
    ) -> None:
        if on_duplicate not in ("warn", "error", "replace"):
            raise ValueError(f"on_duplicate must be 'warn', 'error' or 'replace', got {on_duplicate!r}")
        self.kind = kind
        self.logger = logger
        self.on_duplicate: OnDuplicate = on_duplicate
        self.warn = warn
        self.listeners: list[Callable[[], None]] = []
        self._items: dict[str, T] = {}
        self._numbers: dict[str, int] = {}
        self._next = 1

    def add(self, name: str, item: T) -> T:
        """Register an item and return what is registered under its name now.

        Raises:
            ValueError: The name is taken and duplicates are errors.
        """
        existing = self._items.get(name)
        if existing is not None and self.on_duplicate != "replace":
            if self.on_duplicate == "error":
                raise ValueError(f"{self.kind} already exists: {name}")
            if self.warn:
                self.logger.warning("%s already exists: %s", self.kind, name)
            return existing
        self._items[name] = item
        if existing is None:
            self._numbers[name] = self._next
            self._next += 1
        self._changed()
        return item

    def remove(self, name: str) -> bool:
        """Take an item out; return whether there was one."""
        if self._items.pop(name, None) is None:
            return False
        del self._numbers[name]
        self._changed()
        return True

    def get(self, name: str) -> T | None:
        """Return the item of that name."""
        return self._items.get(name)

    def numbered(self) -> Iterator[tuple[int, T]]:
        """Iterate over the items with their numbers, which grow and are never used again: pages can point at them."""
        return ((self._numbers[name], item) for name, item in self._items.items())

    @property
    def last_number(self) -> int:
        """The highest number given out so far."""
        return self._next - 1

    def _changed(self) -> None:
        for listener in self.listeners:
            listener()

    def __iter__(self) -> Iterator[T]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)
