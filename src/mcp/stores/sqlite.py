"""A store in a file, which the processes of one machine share. Uses SQLite of the standard library."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import anyio.to_thread

from mcp.stores.store import Record, StoreError

ResultT = TypeVar("ResultT")

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value BLOB NOT NULL, expires REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entries_expires ON entries (expires);
CREATE TABLE IF NOT EXISTS records
    (name TEXT PRIMARY KEY, revision INTEGER NOT NULL, text TEXT NOT NULL, expires REAL) WITHOUT ROWID;
"""
_SWEEP_INTERVAL: Final = 10.0
"""Seconds between two looks for entries whose time is over."""


class SQLiteStore:
    """Keeps entries and records in a file: for the processes of one machine, and over their restarts.

    Each operation runs in a worker thread and is on the disk when it returns. A file on a network drive will not do.

    Args:
        path: The file; made if it is not there, for its owner only.
        timeout: How many seconds to wait for other processes.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 5.0) -> None:
        self._path = os.fspath(path)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._next_sweep = 0.0
        self._clock: Callable[[], float] = time.time

    # Entries

    async def put(self, key: str, value: bytes, ttl: float) -> None:
        """Keep a value for so many seconds, in the place of an earlier one.

        Raises:
            StoreError: The file cannot be used. So for all operations.
        """

        def work(db: sqlite3.Connection) -> None:
            db.execute("REPLACE INTO entries VALUES (?, ?, ?)", (key, value, self._clock() + ttl))

        await self._run(work)

    async def get(self, key: str) -> bytes | None:
        """Return the value; `None` if there is none."""

        def work(db: sqlite3.Connection) -> bytes | None:
            return _first(db, "SELECT value FROM entries WHERE key = ? AND expires > ?", (key, self._clock()))

        return await self._run(work)

    async def take(self, key: str) -> bytes | None:
        """Remove the value and return it; `None` if there is none."""

        def work(db: sqlite3.Connection) -> bytes | None:
            value = _first(db, "SELECT value FROM entries WHERE key = ? AND expires > ?", (key, self._clock()))
            db.execute("DELETE FROM entries WHERE key = ?", (key,))
            return value

        return await self._run(work)

    async def add_once(self, key: str, ttl: float) -> bool:
        """Add a key without a value for so many seconds; return whether it was not there yet."""

        def work(db: sqlite3.Connection) -> bool:
            now = self._clock()
            db.execute("DELETE FROM entries WHERE key = ? AND expires <= ?", (key, now))
            return db.execute("INSERT OR IGNORE INTO entries VALUES (?, x'', ?)", (key, now + ttl)).rowcount == 1

        return await self._run(work)

    # Records

    async def add_record(self, name: str, text: str, expires: float | None) -> bool:
        """Add a record of revision 0; return whether there was none of that name."""

        def work(db: sqlite3.Connection) -> bool:
            db.execute("DELETE FROM records WHERE name = ? AND expires <= ?", (name, self._clock()))
            return db.execute("INSERT OR IGNORE INTO records VALUES (?, 0, ?, ?)", (name, text, expires)).rowcount == 1

        return await self._run(work)

    async def get_record(self, name: str) -> Record | None:
        """Return a record; `None` if there is none."""

        def work(db: sqlite3.Connection) -> Record | None:
            found = db.execute(
                "SELECT name, revision, text FROM records WHERE name = ? AND (expires IS NULL OR expires > ?)",
                (name, self._clock()),
            ).fetchone()
            return None if found is None else Record(*found)

        return await self._run(work)

    async def change_record(self, seen: Record, text: str, expires: float | None) -> bool:
        """Change a record and count its revision; return whether it was still the one that was seen."""

        def work(db: sqlite3.Connection) -> bool:
            changed = db.execute(
                "UPDATE records SET revision = revision + 1, text = ?, expires = ? WHERE name = ? AND revision = ? "
                "AND (expires IS NULL OR expires > ?)",
                (text, expires, seen.name, seen.revision, self._clock()),
            )
            return changed.rowcount == 1

        return await self._run(work)

    async def list_records(self, prefix: str) -> list[Record]:
        """Return the records whose names begin so, in the order of their names."""

        def work(db: sqlite3.Connection) -> list[Record]:
            found = db.execute(
                "SELECT name, revision, text FROM records WHERE substr(name, 1, ?) = ? "
                "AND (expires IS NULL OR expires > ?) ORDER BY name",
                (len(prefix), prefix, self._clock()),
            )
            return [Record(*row) for row in found]

        return await self._run(work)

    async def remove_record(self, name: str) -> None:
        """Remove a record, if there is one."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM records WHERE name = ?", (name,))

        await self._run(work)

    def close(self) -> None:
        """Close the file. The next operation opens it again."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    async def _run(self, work: Callable[[sqlite3.Connection], ResultT]) -> ResultT:
        return await anyio.to_thread.run_sync(self._work, work)

    def _work(self, work: Callable[[sqlite3.Connection], ResultT]) -> ResultT:
        with self._lock:
            try:
                db = self._open()
                with _transaction(db):
                    self._sweep(db)
                    return work(db)
            except sqlite3.Error as error:
                reason = f"{type(error).__name__}: {error}"
        raise StoreError(f"the file {self._path} cannot be used as a store ({reason})")

    def _open(self) -> sqlite3.Connection:
        # A connection must not go through a fork.
        if self._connection is None or self._process != os.getpid():
            if not os.path.exists(self._path):
                os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            db = sqlite3.connect(self._path, timeout=self._timeout, isolation_level=None, check_same_thread=False)
            try:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = FULL")
                db.executescript(_SCHEMA)
            except BaseException:
                db.close()
                raise
            self._connection, self._process = db, os.getpid()
        return self._connection

    def _sweep(self, db: sqlite3.Connection) -> None:
        now = self._clock()
        if now >= self._next_sweep:
            self._next_sweep = now + _SWEEP_INTERVAL
            db.execute("DELETE FROM entries WHERE expires <= ?", (now,))
            db.execute("DELETE FROM records WHERE expires <= ?", (now,))


@contextmanager
def _transaction(db: sqlite3.Connection) -> Generator[None]:
    # Writes from the start: a transaction that reads first can lose the race for the lock, and fails then.
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _first(db: sqlite3.Connection, query: str, values: Sequence[Any]) -> Any:
    row = db.execute(query, values).fetchone()
    return None if row is None else row[0]
