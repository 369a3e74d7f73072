"""Short tasks and short waits, on either event loop."""

from __future__ import annotations

import anyio
import pytest

from mcp._engine.tasks import Signal, Tasks, asyncio_loop

pytestmark = pytest.mark.anyio


async def test_cancelling_one_scope_ends_that_task_alone() -> None:
    ended: list[str] = []
    release = anyio.Event()

    async def work(name: str) -> None:
        try:
            await release.wait()
            ended.append(f"{name} done")
        except anyio.get_cancelled_exc_class():
            ended.append(f"{name} cancelled")
            raise

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            tasks = Tasks(group, asyncio_loop())
            first, second = anyio.CancelScope(), anyio.CancelScope()
            tasks.start(first, work, "first")
            tasks.start(second, work, "second")
            await anyio.lowlevel.checkpoint()
            first.cancel()
            await anyio.wait_all_tasks_blocked()
            release.set()
            await anyio.wait_all_tasks_blocked()
            await tasks.end()
    assert ended == ["first cancelled", "second done"]


async def test_the_end_cancels_what_runs_and_waits_for_it_also_when_it_resists_at_first() -> None:
    cleaned: list[bool] = []

    async def stubborn() -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():  # a handler that swallows its cancellation
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
        try:
            await anyio.sleep_forever()
        finally:
            cleaned.append(True)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            tasks = Tasks(group, asyncio_loop())
            tasks.start(anyio.CancelScope(), stubborn)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
            await tasks.end()
    assert cleaned == [True]


async def test_what_a_task_raises_ends_the_group() -> None:
    async def work() -> None:
        raise ValueError("a fault of the engine's own")

    async def run() -> None:
        async with anyio.create_task_group() as group:
            Tasks(group, asyncio_loop()).start(anyio.CancelScope(), work)
            await anyio.sleep_forever()

    with anyio.fail_after(5), pytest.raises(BaseException) as caught:
        await run()
    assert [type(error) for error in getattr(caught.value, "exceptions", ())] == [ValueError]


async def test_a_signal_given_before_the_wait_is_heard_once() -> None:
    signal = Signal(asyncio_loop())
    with anyio.fail_after(5):
        signal.set()
        signal.set()
        await signal.wait()
    with anyio.move_on_after(0) as waiting:
        await signal.wait()
    assert waiting.cancelled_caught


async def test_a_signal_wakes_who_waits_after_a_wait_that_was_cancelled() -> None:
    signal = Signal(asyncio_loop())
    with anyio.move_on_after(0):
        await signal.wait()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(signal.wait)
            await anyio.wait_all_tasks_blocked()
            signal.set()
