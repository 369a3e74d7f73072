"""What every store promises, whatever it is made of."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel

from mcp.stores import Store

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
