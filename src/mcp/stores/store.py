"""What is needed of stores: a few operations, each of them atomic."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class StoreError(Exception):
    """A store could not do what it was asked, and nothing is known about whether it did.

    The text is for the log and names the cure; it quotes neither keys nor values.
    """


class Store(Protocol):
    """Keeps bytes under a key for a time.

    Instances of one server share a store by way of a database. Each operation is atomic: of any number of callers, in
    any number of processes, exactly one adds a key and exactly one takes an entry. Entries disappear by themselves
    when their time is over, and never before.

    All operations may raise `StoreError`, and anything else that an implementation raises is treated like it.
    """

    async def put(self, key: str, value: bytes, ttl: float) -> None:
        """Keep a value for so many seconds, in the place of an earlier one."""
        ...

    async def get(self, key: str) -> bytes | None:
        """Return the value; `None` if there is none."""
        ...

    async def take(self, key: str) -> bytes | None:
        """Remove the value and return it; `None` if there is none."""
        ...

    async def add_once(self, key: str, ttl: float) -> bool:
        """Add a key without a value for so many seconds; return whether it was not there yet."""
        ...


class Record(NamedTuple):
    """A text that is changed by one at a time.

    Attributes:
        name: What it is known by.
        revision: How often it was changed.
        text: The text.
    """

    name: str
    revision: int
    text: str


class RecordStore(Protocol):
    """Keeps texts that several processes change, each change made to what was read before.

    Records disappear by themselves when their time is over: `expires` is in seconds since the epoch, `None` for never.
    All operations may raise `StoreError`, and anything else that an implementation raises is treated like it.
    """

    async def add_record(self, name: str, text: str, expires: float | None) -> bool:
        """Add a record of revision 0; return whether there was none of that name."""
        ...

    async def get_record(self, name: str) -> Record | None:
        """Return a record; `None` if there is none."""
        ...

    async def change_record(self, seen: Record, text: str, expires: float | None) -> bool:
        """Change a record and count its revision; return whether it was still the one that was seen."""
        ...

    async def list_records(self, prefix: str) -> list[Record]:
        """Return the records whose names begin so, in the order of their names."""
        ...

    async def remove_record(self, name: str) -> None:
        """Remove a record, if there is one."""
        ...
