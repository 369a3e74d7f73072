"""What is needed of a store: four operations, each of them atomic."""

from __future__ import annotations

from typing import Protocol


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
