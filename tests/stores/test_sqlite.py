"""The store in a file: the promises of every store, over processes and restarts."""

from __future__ import annotations

import multiprocessing
import os
import stat
import sys
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from mcp.stores import RecordStore, SQLiteStore, Store, StoreError
from tests.stores.promises import LONG, PROMISES, RECORD_PROMISES


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_it_keeps_the_promises_of_every_store(
    tmp_path: Path, promise: Callable[[Store], Awaitable[None]]
) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    with anyio.fail_after(30):
        await promise(store)
    store.close()


@pytest.mark.parametrize("promise", RECORD_PROMISES, ids=lambda promise: promise.__name__)
async def test_it_keeps_the_promises_about_records(
    tmp_path: Path, promise: Callable[[RecordStore], Awaitable[None]]
) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    with anyio.fail_after(30):
        await promise(store)
    store.close()


async def test_entries_end_with_their_time_and_leave_the_file(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    now = [1000.0]
    store._clock = lambda: now[0]
    await store.put("one", b"1", 10)
    await store.add_once("two", 10)
    await store.add_record("three", "3", 1010.0)
    now[0] = 1009.9
    assert await store.get("one") == b"1"
    assert await store.add_once("two", 10) is False
    now[0] = 1010.0
    assert await store.get("one") is None
    assert await store.take("one") is None
    assert await store.get_record("three") is None
    assert await store.add_once("two", 10) is True
    now[0] = 1030.0
    await store.get("none")  # any operation sweeps
    db = store._open()
    assert db.execute("SELECT count(*) FROM entries").fetchone() == (0,)
    assert db.execute("SELECT count(*) FROM records").fetchone() == (0,)
    store.close()


async def test_what_was_put_is_there_after_a_restart(tmp_path: Path) -> None:
    first = SQLiteStore(tmp_path / "store.db")
    await first.put("key", b"value", LONG)
    first.close()
    second = SQLiteStore(str(tmp_path / "store.db"))
    assert await second.get("key") == b"value"
    second.close()
    assert await second.get("key") == b"value"  # it opens the file again
    second.close()


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
async def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    await store.add_once("key", LONG)
    store.close()
    assert stat.S_IMODE((tmp_path / "store.db").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["a folder", "no database"])
async def test_a_file_that_will_not_do_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "store.db"
    if kind == "a folder":
        path.mkdir()
    else:
        path.write_text("something else " * 100)
    store = SQLiteStore(path)
    with pytest.raises(StoreError, match=r"^the file .*store\.db cannot be used as a store \(.*\)$"):
        await store.add_once("key", LONG)
    store.close()


def add_all(path: str, count: int) -> list[int]:
    store = SQLiteStore(path, timeout=30)

    async def main() -> list[int]:
        return [number for number in range(count) if await store.add_once(str(number), LONG)]

    added = anyio.run(main)
    store.close()
    return added


def test_of_several_processes_one_adds_each_key(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        added = pool.starmap(add_all, [(str(tmp_path / "store.db"), 100)] * 3)
    assert sorted(number for numbers in added for number in numbers) == list(range(100))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
def test_a_store_that_was_used_before_a_fork_works_in_both_processes(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    assert anyio.run(store.add_once, "before", LONG) is True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the process of the tests may have threads
        process = os.fork()
    if process == 0:  # the child
        try:
            os._exit(0 if anyio.run(store.add_once, "child", LONG) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert anyio.run(store.add_once, "child", LONG) is False
    store.close()
