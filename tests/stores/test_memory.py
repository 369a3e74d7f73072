"""The store in memory: the promises of every store, its limits, and its clock."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mcp.stores import MemoryStore, RecordStore, Store, StoreError
from tests.server.boundaries import run
from tests.stores.promises import LONG, PROMISES, RECORD_PROMISES


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_it_keeps_the_promises_of_every_store(promise: Callable[[Store], Awaitable[None]]) -> None:
    with anyio.fail_after(5):
        await promise(MemoryStore())


@pytest.mark.parametrize("promise", RECORD_PROMISES, ids=lambda promise: promise.__name__)
async def test_it_keeps_the_promises_about_records(promise: Callable[[RecordStore], Awaitable[None]]) -> None:
    with anyio.fail_after(5):
        await promise(MemoryStore())


async def test_it_holds_so_many_records_and_no_more() -> None:
    store = MemoryStore(max_entries=1)
    await store.add_record("one", "x", None)
    with pytest.raises(StoreError, match=r"^a MemoryStore already has 1 records: raise max_entries$"):
        await store.add_record("two", "x", None)


def at(store: MemoryStore, now: float) -> MemoryStore:
    store._clock = lambda: now
    return store


def test_an_entry_ends_with_its_time() -> None:
    store = at(MemoryStore(), 0)
    run(store.put("key", b"value", 10))
    assert run(at(store, 9.9).get("key")) == b"value"
    assert run(at(store, 10).get("key")) is None
    assert run(store.take("key")) is None
    assert len(store) == 0


def test_a_key_may_be_added_again_after_its_time() -> None:
    store = at(MemoryStore(), 0)
    assert run(store.add_once("key", 10)) is True
    assert run(at(store, 9.9).add_once("key", 10)) is False
    assert run(at(store, 10).add_once("key", 10)) is True


def test_a_value_that_is_replaced_lives_as_long_as_the_new_one() -> None:
    store = at(MemoryStore(), 0)
    run(store.put("key", b"short", 10))
    run(store.put("key", b"long", 20))
    assert run(at(store, 15).get("key")) == b"long"
    run(store.put("key", b"short again", 1))
    assert run(at(store, 16).get("key")) is None


def test_a_full_store_refuses_more_instead_of_forgetting() -> None:
    store = at(MemoryStore(max_entries=2), 0)
    run(store.add_once("a", 10))
    run(store.put("b", b"", 20))
    with pytest.raises(StoreError, match=r"^a MemoryStore already has 2 entries: raise max_entries$"):
        run(store.add_once("c", 10))
    with pytest.raises(StoreError, match="max_entries"):
        run(store.put("c", b"", 10))
    run(store.put("b", b"other", 20))
    assert run(store.add_once("a", 10)) is False
    assert run(at(store, 10).add_once("c", 10)) is True


def test_the_size_of_the_values_is_bounded() -> None:
    store = at(MemoryStore(max_bytes=10), 0)
    run(store.put("a", b"123456", 10))
    with pytest.raises(StoreError, match=r"would have 11 bytes, and may have 10: raise max_bytes$"):
        run(store.put("b", b"12345", 10))
    assert run(store.get("b")) is None
    run(store.put("a", b"1234567890", 10))
    run(store.take("a"))
    run(store.put("b", b"1234567890", 10))
    run(at(store, 10).put("c", b"1234567890", 10))


@pytest.mark.parametrize("limit", ["max_entries", "max_bytes"])
def test_a_limit_that_leaves_no_room_is_refused(limit: str) -> None:
    with pytest.raises(ValueError, match=f"^{limit} must be a positive number, got 0$"):
        MemoryStore(**{limit: 0})


def test_what_is_replaced_and_taken_leaves_nothing_behind() -> None:
    store = MemoryStore()
    for number in range(10_000):
        run(store.put("same", b"value", LONG))
        run(store.put(f"key {number}", b"value", LONG))
        run(store.take(f"key {number}"))
    assert len(store) == 1
    assert len(store._ends) < 2_000


def test_threads_share_it() -> None:
    store = MemoryStore()
    won: list[str] = []
    barrier = threading.Barrier(4)

    def contend() -> None:
        for number in range(1000):
            if number % 100 == 0:
                barrier.wait(5)
            if run(store.add_once(str(number), LONG)):
                won.append(str(number))

    threads = [threading.Thread(target=contend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(won) == sorted(map(str, range(1000)))


KEYS = st.sampled_from("abc")
TTLS = st.integers(1, 30)


class Compared(RuleBasedStateMachine):
    """The store beside the plainest model of one: everything is looked through each time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.store = MemoryStore(max_entries=2, max_bytes=20)
        self.store._clock = lambda: self.now
        self.model: dict[str, tuple[bytes, float]] = {}

    def forget(self) -> None:
        self.model = {key: entry for key, entry in self.model.items() if entry[1] > self.now}

    def has_room(self, key: str, value: bytes) -> bool:
        others = {other: entry for other, entry in self.model.items() if other != key}
        return len(others) < 2 and sum(len(entry[0]) for entry in others.values()) + len(value) <= 20

    @rule(seconds=st.integers(0, 20))
    def wait(self, seconds: int) -> None:
        self.now += seconds
        self.forget()

    @rule(key=KEYS, value=st.binary(max_size=15), ttl=TTLS)
    def put(self, key: str, value: bytes, ttl: int) -> None:
        if self.has_room(key, value):
            run(self.store.put(key, value, ttl))
            self.model[key] = value, self.now + ttl
        else:
            with pytest.raises(StoreError):
                run(self.store.put(key, value, ttl))

    @rule(key=KEYS)
    def take(self, key: str) -> None:
        expected = self.model.pop(key, None)
        assert run(self.store.take(key)) == (None if expected is None else expected[0])

    @rule(key=KEYS, ttl=TTLS)
    def add_once(self, key: str, ttl: int) -> None:
        if key in self.model:
            assert run(self.store.add_once(key, ttl)) is False
        elif self.has_room(key, b""):
            assert run(self.store.add_once(key, ttl)) is True
            self.model[key] = b"", self.now + ttl
        else:
            with pytest.raises(StoreError):
                run(self.store.add_once(key, ttl))

    @invariant()
    def agrees(self) -> None:
        for key in "abc":
            expected = self.model.get(key)
            assert run(self.store.get(key)) == (None if expected is None else expected[0])
        assert len(self.store) == len(self.model)


TestComparedWithAModel = Compared.TestCase
TestComparedWithAModel.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


@given(st.lists(st.tuples(KEYS, TTLS), max_size=20), st.integers(0, 40))
def test_a_key_is_added_exactly_when_no_earlier_one_still_lives(adds: list[tuple[str, int]], step: int) -> None:
    store = MemoryStore()
    ends: dict[str, float] = {}
    for number, (key, ttl) in enumerate(adds):
        now = float(number * step)
        is_new = ends.get(key, -1.0) <= now
        assert run(at(store, now).add_once(key, ttl)) is is_new
        if is_new:
            ends[key] = now + ttl
