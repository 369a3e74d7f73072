"""Named things in the order of their registration."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Generic, Literal, TypeAlias, TypeVar

T = TypeVar("T")

OnDuplicate: TypeAlias = Literal["warn", "error", "replace"]
"""What a second registration under one name does: keep the first and warn, raise, or take its place."""


class Registry(Generic[T]):
    """Tools, prompts, resources or templates by name. Any thread may register, remove and read.

    Args:
        kind: What they are, for messages: `"Tool"`.
        logger: Where duplicates are reported.
        on_duplicate: What a second registration under one name does.
        warn: Whether keeping the first is reported.

    Attributes:
        version: Differs after each change: what was made of the items holds while it stays.
        on_change: Called after each change, in the thread that made it.
    """

    __slots__ = (
        "_items", "_lock", "_next", "_numbers", "kind", "logger", "on_change", "on_duplicate", "version", "warn",
    )  # fmt: skip

    def __init__(
        self, kind: str, logger: logging.Logger, *, on_duplicate: OnDuplicate = "warn", warn: bool = True
    ) -> None:
        if on_duplicate not in ("warn", "error", "replace"):
            raise ValueError(f"on_duplicate must be 'warn', 'error' or 'replace', got {on_duplicate!r}")
        self.kind = kind
        self.logger = logger
        self.on_duplicate: OnDuplicate = on_duplicate
        self.warn = warn
        self.version = 0
        self.on_change: Callable[[], None] = _tell_nobody
        self._items: dict[str, T] = {}
        self._numbers: dict[str, int] = {}
        self._next = 1
        self._lock = threading.Lock()

    def add(self, name: str, item: T) -> T:
        """Register an item and return what is registered under its name now.

        Raises:
            ValueError: The name is taken and duplicates are errors.
        """
        with self._lock:
            existing = self._items.get(name)
            if existing is None:
                self._numbers[name] = self._next
                self._next += 1
            changes = existing is None or self.on_duplicate == "replace"
            if changes:
                self._items[name] = item
                self.version += 1
        if existing is None or changes:
            self.on_change()
            return item
        if self.on_duplicate == "error":
            raise ValueError(f"{self.kind} already exists: {name}")
        if self.warn:
            self.logger.warning("%s already exists: %s", self.kind, name)
        return existing

    def remove(self, name: str) -> bool:
        """Take an item out; return whether there was one."""
        with self._lock:
            if self._items.pop(name, None) is None:
                return False
            del self._numbers[name]
            self.version += 1
        self.on_change()
        return True

    def get(self, name: str) -> T | None:
        """Return the item of that name."""
        return self._items.get(name)

    def numbered(self) -> list[tuple[int, T]]:
        """Return the items with their numbers, which grow and are never used again: pages can point at them."""
        with self._lock:
            return [(self._numbers[name], item) for name, item in self._items.items()]

    @property
    def last_number(self) -> int:
        """The highest number given out so far."""
        return self._next - 1

    def __iter__(self) -> Iterator[T]:
        with self._lock:
            return iter(list(self._items.values()))

    def __len__(self) -> int:
        return len(self._items)


def _tell_nobody() -> None:
    pass
