"""A store in the memory of one process."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable
from typing import Final

from mcp.stores.store import Record, StoreError

_SLACK: Final = 1024
"""How many outdated notes about ends are let lie before they are swept out."""


class MemoryStore:
    """Keeps entries in this process: for one instance, for tests, and for programs that may forget on a restart.

    It is safe to use from several threads and event loops. Instances of a server cannot share it.

    Args:
        max_entries: How many entries it holds at a time.
        max_bytes: How many bytes their values have together.

    Raises:
        ValueError: A limit is not positive.
    """

    def __init__(self, *, max_entries: int = 1_000_000, max_bytes: int = 64 * 1024 * 1024) -> None:
        for name, limit in (("max_entries", max_entries), ("max_bytes", max_bytes)):
            if limit <= 0:
                raise ValueError(f"{name} must be a positive number, got {limit}")
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: dict[str, tuple[bytes, float]] = {}
        # Ends, soonest first. A note whose entry was replaced or taken is outdated and counts for nothing.
        self._ends: list[tuple[float, str]] = []
        self._records: dict[str, tuple[Record, float | None]] = {}
        self._lock = threading.Lock()
        self._clock: Callable[[], float] = time.monotonic
        self._wall_clock: Callable[[], float] = time.time

    def __len__(self) -> int:
        """Return the number of entries whose time is not over."""
        with self._lock:
            self._forget_ended(self._clock())
            return len(self._entries)

    async def put(self, key: str, value: bytes, ttl: float) -> None:
        """Keep a value for so many seconds, in the place of an earlier one.

        Raises:
            StoreError: It would be more than the store may hold. What others put there is never given up for it.
        """
        with self._lock:
            now = self._clock()
            self._forget_ended(now)
            self._set(key, value, now + ttl)

    async def get(self, key: str) -> bytes | None:
        """Return the value; `None` if there is none."""
        with self._lock:
            entry = self._entries.get(key)
            return entry[0] if entry is not None and entry[1] > self._clock() else None

    async def take(self, key: str) -> bytes | None:
        """Remove the value and return it; `None` if there is none."""
        with self._lock:
            self._forget_ended(self._clock())
            entry = self._entries.pop(key, None)
            if entry is None:
                return None
            self._bytes -= len(entry[0])
            return entry[0]

    async def add_once(self, key: str, ttl: float) -> bool:
        """Add a key without a value for so many seconds; return whether it was not there yet.

        Raises:
            StoreError: The store is full.
        """
        with self._lock:
            now = self._clock()
            self._forget_ended(now)
            if key in self._entries:
                return False
            self._set(key, b"", now + ttl)
            return True

    async def add_record(self, name: str, text: str, expires: float | None) -> bool:
        """Add a record of revision 0; return whether there was none of that name.

        Raises:
            StoreError: There are more than the store may hold.
        """
        with self._lock:
            if self._record(name) is not None:
                return False
            if len(self._records) >= self._max_entries:
                raise StoreError(f"a MemoryStore already has {self._max_entries} records: raise max_entries")
            self._records[name] = Record(name, 0, text), expires
            return True

    async def get_record(self, name: str) -> Record | None:
        """Return a record; `None` if there is none."""
        with self._lock:
            return self._record(name)

    async def change_record(self, seen: Record, text: str, expires: float | None) -> bool:
        """Change a record and count its revision; return whether it was still the one that was seen."""
        with self._lock:
            found = self._record(seen.name)
            if found is None or found.revision != seen.revision:
                return False
            self._records[seen.name] = Record(seen.name, found.revision + 1, text), expires
            return True

    async def list_records(self, prefix: str) -> list[Record]:
        """Return the records whose names begin so, in the order of their names."""
        with self._lock:
            found = [self._record(name) for name in sorted(self._records) if name.startswith(prefix)]
            return [record for record in found if record is not None]

    async def remove_record(self, name: str) -> None:
        """Remove a record, if there is one."""
        with self._lock:
            self._records.pop(name, None)

    def _record(self, name: str) -> Record | None:
        record, expires = self._records.get(name, (None, None))
        if expires is not None and expires <= self._wall_clock():
            del self._records[name]
            return None
        return record

    def _set(self, key: str, value: bytes, end: float) -> None:
        earlier = self._entries.get(key)
        size = self._bytes + len(value) - (0 if earlier is None else len(earlier[0]))
        if size > self._max_bytes:
            raise StoreError(
                f"the values in a MemoryStore would have {size} bytes, and may have {self._max_bytes}: raise max_bytes"
            )
        if earlier is None and len(self._entries) >= self._max_entries:
            raise StoreError(f"a MemoryStore already has {self._max_entries} entries: raise max_entries")
        self._entries[key] = value, end
        self._bytes = size
        heapq.heappush(self._ends, (end, key))

    def _forget_ended(self, now: float) -> None:
        ends, entries = self._ends, self._entries
        while ends and ends[0][0] <= now:
            end, key = heapq.heappop(ends)
            entry = entries.get(key)
            if entry is not None and entry[1] == end:
                del entries[key]
                self._bytes -= len(entry[0])
        if len(ends) > 2 * len(entries) + _SLACK:
            self._ends = [(end, key) for key, (_, end) in entries.items()]
            heapq.heapify(self._ends)
