from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import pytest

from mcp.server._http.response_stream import ResponseStream
from mcp.server._http.watch import Newcomers, StopCause, Watch
from tests.server.http.fakes import FakeConnection

RESULT = b"{}"


def watched(connection: FakeConnection, interval: float = 15.0) -> tuple[Watch, ResponseStream]:
    stream = ResponseStream(connection.send)
    return Watch(connection.receive, stream, Newcomers(), interval), stream


async def run_with(watch: Watch, work: Callable[[], Awaitable[None]], then: Callable[[], Awaitable[None]]) -> None:
    """Run the work in a task of its own, as an ASGI server does, and something beside it."""
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(watch.run, work)
            await then()


async def test_work_that_ends_by_itself_has_no_cause() -> None:
    connection = FakeConnection([])
    watch, stream = watched(connection)
    with anyio.fail_after(5):
        await watch.run(lambda: stream.finish(RESULT))
    assert watch.cause is None
    assert connection.ended


@pytest.mark.rule("RUN-43", "HTTP-C-01", "HTTP-C-02")
async def test_a_client_that_leaves_cancels_the_work() -> None:
    connection = FakeConnection([])
    watch, stream = watched(connection)
    seen: list[str] = []

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            seen.append("cancelled")
            raise

    async def leave() -> None:
        await anyio.wait_all_tasks_blocked()
        connection.gone.set()

    await run_with(watch, work, leave)
    assert seen == ["cancelled"]
    assert watch.cause is StopCause.CLIENT_LEFT
    await stream.finish(RESULT)
    assert connection.sent == []


async def test_a_receive_that_fails_counts_as_leaving() -> None:
    connection = FakeConnection([])

    async def receive() -> dict[str, str]:
        raise ConnectionResetError

    watch = Watch(receive, ResponseStream(connection.send), Newcomers())
    with anyio.fail_after(5):
        await watch.run(anyio.sleep_forever)
    assert watch.cause is StopCause.CLIENT_LEFT


async def test_the_work_may_be_stopped_by_the_server_and_still_answer() -> None:
    connection = FakeConnection([])
    watch, stream = watched(connection)

    async def stop() -> None:
        await anyio.wait_all_tasks_blocked()
        watch.stop(StopCause.SERVER_STOPPING)
        watch.stop(StopCause.CLIENT_LEFT)

    await run_with(watch, anyio.sleep_forever, stop)
    assert watch.cause is StopCause.SERVER_STOPPING
    await stream.finish(RESULT)
    assert connection.body == RESULT


async def test_work_that_keeps_a_cancellation_to_itself_leaves_its_task_intact() -> None:
    connection = FakeConnection([])
    watch, _ = watched(connection)
    after: list[str] = []

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            pass

    async def serve() -> None:
        await watch.run(work)
        await anyio.lowlevel.checkpoint()
        after.append("still runs")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(serve)
            await anyio.wait_all_tasks_blocked()
            connection.gone.set()
    assert after == ["still runs"]


async def test_a_cancellation_from_outside_is_passed_on() -> None:
    connection = FakeConnection([])
    watch, _ = watched(connection)
    with anyio.move_on_after(5) as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(watch.run, anyio.sleep_forever)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    assert not scope.cancelled_caught
    assert watch.cause is None


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_from_outside_and_one_by_the_client_end_the_work_and_the_former_is_passed_on() -> None:
    import asyncio

    connection = FakeConnection([])
    watch, _ = watched(connection)
    task = asyncio.ensure_future(watch.run(anyio.sleep_forever))
    with anyio.fail_after(5):
        await anyio.wait_all_tasks_blocked()
        watch.stop(StopCause.CLIENT_LEFT)
        task.cancel()
        if sys.version_info >= (3, 11):
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            await task  # a task does not count its cancellations, and so both are one, which was ours
    assert watch.cause is StopCause.CLIENT_LEFT
    assert task.done()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_awaits_in_a_finally_block_are_finished_on_asyncio() -> None:
    connection = FakeConnection([])
    watch, _ = watched(connection)
    seen: list[str] = []

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            await anyio.lowlevel.checkpoint()
            seen.append("cleaned up")

    async def leave() -> None:
        await anyio.wait_all_tasks_blocked()
        connection.gone.set()

    await run_with(watch, work, leave)
    assert seen == ["cleaned up"]


@pytest.mark.rule("HTTP-R-09")
async def test_silence_is_broken_by_comments_until_the_work_ends() -> None:
    connection = FakeConnection([])
    watch, stream = watched(connection, interval=0.01)

    async def work() -> None:
        await connection.until(lambda c: c.body.count(b":\r\n\r\n") >= 3)
        await stream.finish(RESULT)

    with anyio.fail_after(5):
        await watch.run(work)
    assert connection.ended
    assert connection.headers["content-type"] == "text/event-stream"


async def test_a_stream_that_is_written_to_needs_no_comments() -> None:
    connection = FakeConnection([])
    watch, stream = watched(connection, interval=60)

    async def work() -> None:
        await stream.notify("n", None)
        with anyio.move_on_after(0.05):  # longer than it takes until the exchange is listened for
            await anyio.sleep_forever()
        await stream.finish(RESULT)

    with anyio.fail_after(5):
        await watch.run(work)
    assert b":\r\n\r\n" not in connection.body


async def test_what_happens_to_one_exchange_does_not_concern_another() -> None:
    newcomers = Newcomers()
    one, two = FakeConnection([]), FakeConnection([])
    first = Watch(one.receive, ResponseStream(one.send), newcomers)
    second = Watch(two.receive, ResponseStream(two.send), newcomers)
    finish = anyio.Event()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(first.run, anyio.sleep_forever)
            group.start_soon(second.run, finish.wait)
            await anyio.wait_all_tasks_blocked()
            one.gone.set()
            while first.cause is None:
                await anyio.wait_all_tasks_blocked()
            finish.set()
    assert first.cause is StopCause.CLIENT_LEFT
    assert second.cause is None
