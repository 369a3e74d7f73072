from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from mcp.server._http.response_stream import ResponseStream, StreamState
from tests.server.http.fakes import FakeConnection, Message

RESULT = b'{"jsonrpc":"2.0","id":1,"result":{}}'
NOTE = ("notifications/progress", {"progress": 1})


@pytest.mark.rule("RUN-36", "VER-20", "HTTP-P-10")
async def test_a_result_alone_is_a_json_document_in_two_asgi_messages() -> None:
    connection = FakeConnection()
    stream = ResponseStream(connection.send)
    await stream.finish(RESULT)
    assert len(connection.sent) == 2
    assert connection.status == 200
    assert connection.body == RESULT
    assert connection.headers["content-type"] == "application/json"
    assert stream.state is StreamState.DONE


@pytest.mark.rule("RUN-36", "HTTP-R-01", "HTTP-R-04", "HTTP-R-05", "HTTP-R-08")
async def test_a_notification_commits_to_events() -> None:
    connection = FakeConnection()
    stream = ResponseStream(connection.send)
    await stream.notify(*NOTE)
    await stream.finish(RESULT, 404)
    assert connection.status == 200
    assert connection.headers == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
    }
    assert connection.body.startswith(b"event: message\r\ndata: {")
    assert b"id:" not in connection.body
    assert [event.get("method") for event in connection.events] == ["notifications/progress", None]
    assert connection.ended


@pytest.mark.rule("VER-19")
async def test_an_error_before_anything_was_sent_has_its_status() -> None:
    connection = FakeConnection()
    await ResponseStream(connection.send).finish(RESULT, 404)
    assert connection.status == 404
    assert connection.headers["content-type"] == "application/json"


async def test_a_client_that_takes_events_only_gets_events() -> None:
    connection = FakeConnection()
    await ResponseStream(connection.send, accepts_json=False).finish(RESULT)
    assert connection.events == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


async def test_a_client_that_takes_json_only_gets_no_notifications_and_no_keep_alive() -> None:
    connection = FakeConnection()
    stream = ResponseStream(connection.send, accepts_sse=False)
    await stream.notify(*NOTE)
    await stream.keep_alive()
    assert connection.sent == []
    await stream.finish(RESULT)
    assert connection.body == RESULT


@pytest.mark.rule("HTTP-R-07")
async def test_a_stream_that_prefers_events_still_sends_an_early_error_as_json() -> None:
    result, error = FakeConnection(), FakeConnection()
    await ResponseStream(result.send, prefers_sse=True).finish(RESULT)
    await ResponseStream(error.send, prefers_sse=True).finish(RESULT, 404)
    assert result.headers["content-type"] == "text/event-stream"
    assert error.headers["content-type"] == "application/json"


@pytest.mark.rule("HTTP-R-09")
async def test_a_keep_alive_is_a_comment_and_commits_to_events() -> None:
    connection = FakeConnection()
    stream = ResponseStream(connection.send)
    await stream.keep_alive()
    assert connection.body == b":\r\n\r\n"
    await stream.finish(RESULT)
    assert connection.events == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


@pytest.mark.rule("HTTP-C-03")
async def test_nothing_is_sent_once_the_client_is_gone() -> None:
    connection = FakeConnection()
    stream = ResponseStream(connection.send)
    stream.abandon()
    await stream.notify(*NOTE)
    await stream.keep_alive()
    await stream.finish(RESULT)
    assert connection.sent == []


async def test_nothing_follows_the_final_message() -> None:
    connection = FakeConnection()
    stream = ResponseStream(connection.send)
    await stream.finish(RESULT)
    await stream.finish(RESULT)
    await stream.notify(*NOTE)
    await stream.keep_alive()
    assert len(connection.sent) == 2


@pytest.mark.parametrize("before", [False, True])
async def test_a_server_that_reports_a_lost_connection_does_not_disturb_the_handler(before: bool) -> None:
    connection = FakeConnection()
    stream = ResponseStream(connection.send)
    if before:
        await stream.notify(*NOTE)

    def lose(message: Message) -> None:
        raise BrokenPipeError

    connection.on_send = lose
    await stream.notify(*NOTE)
    await stream.finish(RESULT)
    assert stream.state is StreamState.DONE
    assert not connection.ended


async def test_a_lost_connection_at_the_json_answer_is_no_error() -> None:
    connection = FakeConnection()

    def lose(message: Message) -> None:
        raise BrokenPipeError

    connection.on_send = lose
    await ResponseStream(connection.send).finish(RESULT)
    assert connection.sent == []


class SlowConnection(FakeConnection):
    """A client that reads one message whenever it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.turnstile = anyio.Semaphore(0)
        self.waiting = 0

    async def send(self, message: Message) -> None:
        self.waiting += 1
        try:
            await self.turnstile.acquire()
        finally:
            self.waiting -= 1
        await super().send(message)


async def test_events_of_several_tasks_are_sent_one_after_the_other() -> None:
    connection = SlowConnection()
    stream = ResponseStream(connection.send)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(stream.notify, "n", {"number": number})
            for _ in range(6):
                await anyio.wait_all_tasks_blocked()
                assert connection.waiting == 1
                connection.turnstile.release()
    connection.turnstile.release()
    await stream.finish(RESULT)
    assert sorted(event["params"]["number"] for event in connection.events[:-1]) == list(range(5))
    assert [message["type"] for message in connection.sent].count("http.response.start") == 1


async def test_a_keep_alive_is_left_out_while_the_client_does_not_read() -> None:
    connection = SlowConnection()
    stream = ResponseStream(connection.send)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(stream.notify, *NOTE)
            await anyio.wait_all_tasks_blocked()
            await stream.keep_alive()
            connection.turnstile.release()
            connection.turnstile.release()
    assert b":\r\n" not in connection.body.replace(b"data: ", b"")


async def test_a_final_message_waits_for_the_event_in_front_of_it() -> None:
    connection = SlowConnection()
    stream = ResponseStream(connection.send)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(stream.notify, *NOTE)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(stream.finish, RESULT)
            await anyio.wait_all_tasks_blocked()
            for _ in range(3):
                connection.turnstile.release()
    assert [event.get("method") for event in connection.events] == ["notifications/progress", None]


async def test_a_sender_that_is_cancelled_while_it_waits_leaves_the_stream_usable() -> None:
    connection = SlowConnection()
    stream = ResponseStream(connection.send)
    scopes: list[anyio.CancelScope] = []

    async def notify(number: int) -> None:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await stream.notify("n", {"number": number})

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(notify, number)
                await anyio.wait_all_tasks_blocked()
            scopes[1].cancel()  # waits for its turn
            scopes[0].cancel()  # waits for the socket, so that the turn passes on
            await anyio.wait_all_tasks_blocked()
            for _ in range(3):
                connection.turnstile.release()
    connection.turnstile.release()
    await stream.finish(RESULT)
    assert [event["params"]["number"] for event in connection.events[:-1]] == [2, 3]
    assert connection.sent[0]["type"] == "http.response.start"


async def test_a_sender_that_is_cancelled_as_its_turn_comes_passes_the_turn_on() -> None:
    connection = SlowConnection()
    stream = ResponseStream(connection.send)
    scopes: list[anyio.CancelScope] = []

    async def notify(number: int) -> None:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await stream.notify("n", {"number": number})

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(notify, number)
                await anyio.wait_all_tasks_blocked()
            connection.turnstile.release()
            connection.turnstile.release()
            while len(connection.sent) < 2:
                await anyio.lowlevel.checkpoint()
            scopes[1].cancel()
            connection.turnstile.release()
            connection.turnstile.release()
    connection.turnstile.release()
    await stream.finish(RESULT)
    numbers: list[Any] = [event["params"]["number"] for event in connection.events[:-1]]
    assert numbers in ([0, 2], [0, 1, 2])
