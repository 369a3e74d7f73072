"""What every store promises, whatever it is made of."""

from __future__ import annotations

import time
from typing import Any

import anyio
import anyio.lowlevel

from mcp.stores import Record, RecordStore, Store

LONG = 3600.0


async def returns_what_was_put(store: Store) -> None:
    for value in (b"", b"one", bytes(range(256)) * 300):
        await store.put("key", value, LONG)
        assert await store.get("key") == value
        assert await store.get("key") == value
    assert await store.get("other") is None


async def hands_an_entry_to_one_taker(store: Store) -> None:
    await store.put("key", b"value", LONG)
    assert await store.take("key") == b"value"
    assert await store.take("key") is None
    assert await store.get("key") is None
    await store.put("key", b"again", LONG)
    assert await store.take("key") == b"again"


async def adds_a_key_once(store: Store) -> None:
    assert await store.add_once("key", LONG) is True
    assert await store.add_once("key", LONG) is False
    assert await store.add_once("other", LONG) is True


async def takes_what_was_put_for_being_there(store: Store) -> None:
    await store.put("key", b"value", LONG)
    assert await store.add_once("key", LONG) is False
    assert await store.get("key") == b"value"
    await store.take("key")
    assert await store.add_once("key", LONG) is True


async def keeps_strange_keys_apart(store: Store) -> None:
    keys = ["a", "a ", "a:b", "a\nb", "é", "e\u0301", "*", "k" * 500]
    for number, key in enumerate(keys):
        await store.put(key, str(number).encode(), LONG)
    assert [await store.get(key) for key in keys] == [str(number).encode() for number in range(len(keys))]


async def lets_one_of_many_win(store: Store) -> None:
    await store.put("prize", b"prize", LONG)
    added: list[bool] = []
    taken: list[Any] = []

    async def contend() -> None:
        await anyio.lowlevel.checkpoint()
        added.append(await store.add_once("race", LONG))
        taken.append(await store.take("prize"))

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(contend)
    assert sorted(added) == [False] * 49 + [True]
    assert sorted(taken, key=str) == [None] * 49 + [b"prize"] or sorted(taken, key=str) == [b"prize"] + [None] * 49


PROMISES = [
    returns_what_was_put,
    hands_an_entry_to_one_taker,
    adds_a_key_once,
    takes_what_was_put_for_being_there,
    keeps_strange_keys_apart,
    lets_one_of_many_win,
]


# Records


async def changes_what_was_seen(store: RecordStore) -> None:
    assert await store.add_record("r", "one", None) is True
    assert await store.add_record("r", "other", None) is False
    first = Record("r", 0, "one")
    assert await store.get_record("r") == first
    assert await store.change_record(first, "two", None) is True
    assert await store.change_record(first, "three", None) is False
    second = Record("r", 1, "two")
    assert await store.get_record("r") == second
    assert await store.change_record(second, "é\n\0", time.time() + LONG) is True
    assert await store.get_record("r") == Record("r", 2, "é\n\0")
    assert await store.change_record(Record("none", 0, ""), "x", None) is False
    assert await store.get_record("none") is None


async def lists_by_the_beginning_of_names(store: RecordStore) -> None:
    for name in ("b:2", "a:1", "b:1", "b*:[x]", "b"):
        await store.add_record(name, name.upper(), None)
    assert await store.list_records("b:") == [Record("b:1", 0, "B:1"), Record("b:2", 0, "B:2")]
    assert [record.name for record in await store.list_records("b*")] == ["b*:[x]"]
    assert await store.list_records("c") == []
    await store.remove_record("b:1")
    await store.remove_record("b:1")
    assert [record.name for record in await store.list_records("b:")] == ["b:2"]
    assert await store.add_record("b:1", "again", None) is True


async def forgets_records_whose_time_is_over(store: RecordStore) -> None:
    past, future = time.time() - 1, time.time() + LONG
    await store.add_record("past", "x", past)
    await store.add_record("becomes past", "x", future)
    seen = await store.get_record("becomes past")
    assert seen is not None
    assert await store.change_record(seen, "x", past) is True
    await store.add_record("future", "x", future)
    assert [record.name for record in await store.list_records("")] == ["future"]
    assert await store.get_record("past") is None
    assert await store.add_record("past", "again", None) is True
    assert await store.change_record(Record("becomes past", 1, ""), "x", None) is False


async def lets_one_of_many_change_a_record(store: RecordStore) -> None:
    await store.add_record("r", "start", None)
    seen = await store.get_record("r")
    assert seen is not None
    outcomes: list[bool] = []

    async def change(number: int) -> None:
        await anyio.lowlevel.checkpoint()
        outcomes.append(await store.change_record(seen, str(number), None))

    async with anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(change, number)
    assert sorted(outcomes) == [False] * 29 + [True]


RECORD_PROMISES = [
    changes_what_was_seen,
    lists_by_the_beginning_of_names,
    forgets_records_whose_time_is_over,
    lets_one_of_many_change_a_record,
]
