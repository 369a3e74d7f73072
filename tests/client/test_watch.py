from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import Any

import anyio
import anyio.to_thread
import pytest

import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientSession
from mcp.client.subscriptions import (
    ListenNotSupportedError,
    Reconnected,
    ResourceUpdated,
    SubscriptionLost,
    ToolsListChanged,
)
from mcp.client.watch import Watch, WatchEvent, delay_before, watch
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import CONNECTION_CLOSED, METHOD_NOT_FOUND
from tests.cases.ways import child
from tests.client import changing
from tests.client.changes import TOOLS, UPDATED, Stream
from tests.client.scripted import Scripted, listing, said
from tests.programs import free_port
from tests.programs import serving as running

GONE = MCPError(CONNECTION_CLOSED, "gone")
AT_ONCE: dict[str, Any] = {"retry_delay": 0}


@pytest.fixture
def streams() -> Generator[list[Stream]]:
    made = [Stream() for _ in range(4)]
    yield made
    for stream in made:
        stream.close()
        stream._receive.close()


async def read(changes: Watch, count: int) -> list[WatchEvent]:
    return [await anext(changes) for _ in range(count)]


async def until(condition: Callable[[], bool]) -> None:
    """Let everything run until this is so, and until all wait for something again."""
    with anyio.fail_after(5):
        while True:
            await anyio.wait_all_tasks_blocked()
            if condition():
                return
            await anyio.lowlevel.checkpoint()


@pytest.mark.rule("LISTEN-D5", "LISTEN-22")
@pytest.mark.parametrize("end", ["lost", "in good order", "cancelled by the server"])
async def test_listening_goes_on_after_each_end_and_the_gap_is_told(streams: list[Stream], end: str) -> None:
    def finish(stream: Stream) -> None:
        if end == "cancelled by the server":
            assert stream.request is not None
            stream.tell("notifications/cancelled", requestId=stream.request.request_id)
        else:
            stream.end(GONE if end == "lost" else None)

    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=list(streams))) as client:
            wanted: dict[str, Any] = {"tools_list_changed": True, "resource_subscriptions": ["note://1"]}
            async with client.watch(**wanted, **AT_ONCE) as changes:
                first = changes.subscription_id
                assert changes.honored.resource_subscriptions == ["note://1"]
                for stream in streams[:3]:
                    stream.tell(TOOLS)
                    stream.tell(UPDATED, uri="note://1")
                    finish(stream)
                    told = await read(changes, 3)
                    assert told == [ToolsListChanged(), ResourceUpdated("note://1"), Reconnected()]
                assert changes.subscription_id != first
    sent = [stream.request.params for stream in streams if stream.request is not None and stream.request.params]
    assert len(sent) == 4
    assert all(params["notifications"] == sent[0]["notifications"] for params in sent)


@pytest.mark.rule("LISTEN-D5")
async def test_what_waited_is_told_before_the_gap_and_gaps_that_nobody_has_read_are_one(streams: list[Stream]) -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=list(streams))) as client:
            async with client.watch(tools_list_changed=True, resource_subscriptions=["a:"], **AT_ONCE) as changes:
                for number, stream in enumerate(streams[:3]):
                    stream.tell(UPDATED, uri=f"a:{number}")
                    stream.end(GONE)
                await until(lambda: streams[3].request is not None)
                streams[3].tell(TOOLS)
                told = await read(changes, 5)
    assert told == [
        ResourceUpdated("a:0"),
        Reconnected(),
        ResourceUpdated("a:1"),
        ResourceUpdated("a:2"),
        ToolsListChanged(),
    ]


@pytest.mark.rule("LISTEN-D5", "LISTEN-7")
async def test_a_refusal_at_the_beginning_is_raised_and_not_tried_again() -> None:
    server = Scripted()
    with anyio.fail_after(5):
        async with Client(server) as client:
            with pytest.raises(MCPError) as caught:
                async with client.watch(tools_list_changed=True, **AT_ONCE):
                    raise AssertionError("never entered")
    assert caught.value.code == METHOD_NOT_FOUND
    assert server.methods.count("subscriptions/listen") == 1


@pytest.mark.rule("LISTEN-D5", "LISTEN-10")
async def test_an_older_session_cannot_be_watched() -> None:
    with anyio.fail_after(5):
        async with Client(MCPServer("s"), mode="legacy") as client:
            with pytest.raises(ListenNotSupportedError):
                await client.watch(tools_list_changed=True).__aenter__()


@pytest.mark.rule("LISTEN-D5")
@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_a_watch_is_lost_after_so_many_retries_in_vain(streams: list[Stream], retries: int) -> None:
    server = Scripted(subscriptions__listen=[streams[0], GONE])
    with anyio.fail_after(5):
        async with Client(server) as client:
            async with client.watch(tools_list_changed=True, max_retries=retries, **AT_ONCE) as changes:
                streams[0].tell(TOOLS)
                streams[0].end(MCPError(CONNECTION_CLOSED, "broken"))
                assert await anext(changes) == ToolsListChanged()
                with pytest.raises(SubscriptionLost) as caught:
                    await anext(changes)
                with pytest.raises(SubscriptionLost):
                    await anext(changes)
    assert server.methods.count("subscriptions/listen") == 1 + retries
    last = "gone" if retries else "broken"
    reason = f"listening again was of no use {retries} times in a row ({last})"
    assert str(caught.value) == f"the watch is over: {reason}; watch again and refetch"
    assert caught.value.__cause__ is not None


@pytest.mark.rule("LISTEN-D5")
async def test_a_server_that_opens_streams_and_ends_them_at_once_is_given_up(streams: list[Stream]) -> None:
    for stream in streams:
        stream.end()
    server = Scripted(subscriptions__listen=list(streams))
    with anyio.fail_after(5):
        async with Client(server) as client:
            async with client.watch(tools_list_changed=True, max_retries=3, **AT_ONCE) as changes:
                await until(lambda: server.methods.count("subscriptions/listen") == 4)
                assert await anext(changes) == Reconnected()
                with pytest.raises(SubscriptionLost, match=r"3 times in a row \(the server ended the stream\)"):
                    await anext(changes)
    assert server.methods.count("subscriptions/listen") == 4


@pytest.mark.rule("LISTEN-D5", "LISTEN-8")
async def test_an_answer_without_acknowledgement_is_no_reconnection(streams: list[Stream]) -> None:
    answer = {"resultType": "complete"}
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=[streams[0], answer, streams[1]])) as client:
            async with client.watch(tools_list_changed=True, **AT_ONCE) as changes:
                streams[0].end()
                streams[1].tell(TOOLS)
                assert await read(changes, 2) == [Reconnected(), ToolsListChanged()]


@pytest.mark.rule("LISTEN-D5")
async def test_a_stream_that_told_something_makes_retries_count_anew(streams: list[Stream]) -> None:
    replies: list[object] = []
    for stream in streams:
        stream.tell(TOOLS)
        stream.end(GONE)
        replies += [stream, GONE, GONE]
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=replies)) as client:
            async with client.watch(tools_list_changed=True, max_retries=3, **AT_ONCE) as changes:
                assert await anext(changes) == ToolsListChanged()
                for _ in streams[1:]:
                    assert await read(changes, 2) == [Reconnected(), ToolsListChanged()]
                with pytest.raises(SubscriptionLost):
                    await anext(changes)


@pytest.mark.rule("LISTEN-D5")
async def test_a_watch_without_a_limit_outlasts_any_number_of_failures(
    streams: list[Stream], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=[streams[0], *[GONE] * 50, streams[1]])) as client:
            async with client.watch(tools_list_changed=True, max_retries=None, **AT_ONCE) as changes:
                streams[0].end(GONE)
                assert await anext(changes) == Reconnected()
    assert "listening again in 0.0 s" in caplog.text


@pytest.mark.rule("LISTEN-D5")
async def test_the_wait_for_each_acknowledgement_is_bounded(streams: list[Stream]) -> None:
    silent = [Stream(acknowledge=False), Stream(acknowledge=False)]
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=[streams[0], *silent])) as client:
            async with client.watch(tools_list_changed=True, timeout=0.02, max_retries=2, **AT_ONCE) as changes:
                streams[0].end(GONE)
                with pytest.raises(SubscriptionLost, match="did not acknowledge in time"):
                    await anext(changes)
    for stream in silent:
        assert stream.cancelled.is_set()
        stream.close()


@pytest.mark.rule("LISTEN-D5")
@pytest.mark.parametrize("retry", range(1, 15))
def test_the_wait_before_a_retry_doubles_up_to_a_bound_and_varies_by_chance(retry: int) -> None:
    longest = min(30.0, 0.5 * 2 ** (retry - 1))
    waits = [delay_before(retry, 0.5, 30.0) for _ in range(200)]
    assert all(longest / 2 <= wait <= longest for wait in waits)
    assert max(waits) - min(waits) > longest / 8


def test_the_wait_before_a_retry_is_bounded_however_many_there_were() -> None:
    assert 15 <= delay_before(10**9, 0.5, 30.0) <= 30
    assert delay_before(10**9, 0, 30.0) == 0


@pytest.mark.rule("LISTEN-D5", "LISTEN-17")
async def test_a_reader_that_falls_too_far_behind_is_told_of_a_gap(streams: list[Stream]) -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=list(streams))) as client:
            async with client.watch(resource_subscriptions=["a:"], **AT_ONCE) as changes:
                for number in range(1025):
                    streams[0].tell(UPDATED, uri=f"a:{number}")
                    if number % 100 == 0:  # the stream keeps up, the reader of the watch does not
                        await anyio.wait_all_tasks_blocked()
                await anyio.wait_all_tasks_blocked()
                streams[0].tell(UPDATED, uri="a:last")
                await anyio.wait_all_tasks_blocked()
                assert await read(changes, 2) == [Reconnected(), ResourceUpdated("a:last")]
    assert streams[1].request is None


@pytest.mark.rule("LISTEN-D5")
@pytest.mark.parametrize("moment", ["while it listens", "while it waits to listen again"])
async def test_leaving_the_client_loses_the_watch_at_once(streams: list[Stream], moment: str) -> None:
    client = Client(Scripted(subscriptions__listen=list(streams)))
    with anyio.fail_after(5):
        await client.__aenter__()
        async with client.watch(tools_list_changed=True, retry_delay=1000, max_retry_delay=1000) as changes:
            if moment == "while it waits to listen again":
                streams[0].end(GONE)
                await anyio.wait_all_tasks_blocked()
            await client.__aexit__(None, None, None)
            with pytest.raises(SubscriptionLost, match="the session is closed"):
                await anext(changes)


@pytest.mark.rule("LISTEN-D5", "LISTEN-28", "LISTEN-29", "LISTEN-30")
@pytest.mark.parametrize("moment", ["while it listens", "while it waits to listen again"])
async def test_leaving_the_block_ends_the_watch_at_once(streams: list[Stream], moment: str) -> None:
    server = Scripted(subscriptions__listen=list(streams))
    with anyio.fail_after(5):
        async with Client(server) as client:
            async with client.watch(tools_list_changed=True, retry_delay=1000, max_retry_delay=1000) as changes:
                if moment == "while it waits to listen again":
                    streams[0].end(GONE)
                    await anyio.wait_all_tasks_blocked()
            if moment == "while it listens":
                assert streams[0].cancelled.is_set()
            with pytest.raises(StopAsyncIteration):
                await anext(changes)
            await client.list_tools()
    assert server.methods.count("subscriptions/listen") == 1


@pytest.mark.rule("LISTEN-31")
async def test_an_exception_leaves_the_block_of_a_watch_as_it_is(streams: list[Stream]) -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=list(streams))) as client:
            with pytest.raises(ZeroDivisionError):
                async with client.watch(tools_list_changed=True):
                    raise ZeroDivisionError


async def test_a_reader_that_stops_waiting_misses_nothing(streams: list[Stream]) -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=list(streams))) as client:
            async with client.watch(tools_list_changed=True, **AT_ONCE) as changes:
                with anyio.move_on_after(0.01):
                    await anext(changes)
                streams[0].tell(TOOLS)
                streams[0].end(GONE)
                assert await read(changes, 2) == [ToolsListChanged(), Reconnected()]


async def test_a_watch_is_entered_once(streams: list[Stream]) -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=list(streams))) as client:
            watching = client.watch(tools_list_changed=True)
            async with watching:
                with pytest.raises(RuntimeError, match="call watch\\(\\) again"):
                    await watching.__aenter__()


@pytest.mark.rule("LISTEN-D5")
async def test_what_the_client_has_learned_of_the_tools_is_asked_anew_after_a_gap(streams: list[Stream]) -> None:
    server = Scripted(tools__list=listing({"name": "add"}), tools__call=said(), subscriptions__listen=list(streams))
    with anyio.fail_after(5):
        async with Client(server) as client:
            async with client.watch(prompts_list_changed=True, **AT_ONCE) as changes:
                for _ in range(2):
                    await client.call_tool("new")
                assert server.methods.count("tools/list") == 1
                streams[0].end(GONE)
                assert await anext(changes) == Reconnected()
                await client.call_tool("new")
    assert server.methods.count("tools/list") == 2


@pytest.mark.rule("LISTEN-D2", "LISTEN-D3", "LISTEN-D5", "LISTEN-13")
async def test_what_to_watch_for_is_checked_before_sending() -> None:
    server = Scripted()
    async with Client(server, mode="2026-07-28") as client:
        with pytest.raises(ValueError, match=r"^watch\(\) needs at least one kind of change to watch for$"):
            client.watch()
        with pytest.raises(TypeError, match="not a bare string"):
            client.watch(resource_subscriptions="note://1")
        for name in ("max_retries", "retry_delay", "max_retry_delay"):
            for value in (-1, float("nan")):
                wrong: dict[str, Any] = {name: value}
                with pytest.raises(ValueError, match=f"^{name} must be 0 or more, got"):
                    client.watch(tools_list_changed=True, **wrong)
    with pytest.raises(RuntimeError, match=r"watch\(\) needs an entered session"):
        watch(ClientSession(link=server), tools_list_changed=True)
    assert server.requests == []


async def change(client: Client) -> int:
    result = await client.call_tool("change")
    assert result.structured_content is not None
    pid: int = result.structured_content["result"]
    return pid


async def test_a_watch_in_memory_hears_what_a_server_tells() -> None:
    with anyio.fail_after(10):
        async with Client(changing.build()) as client:
            async with client.watch(resource_subscriptions=["note://1"]) as changes:
                assert changes.honored == types.SubscriptionFilter(resource_subscriptions=["note://1"])
                await change(client)
                assert await anext(changes) == ResourceUpdated("note://1")


@pytest.mark.rule("LISTEN-D5", "HTTP-R-07")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
async def test_a_web_server_that_ends_and_comes_back_is_watched_on(end: signal.Signals) -> None:
    port = free_port()
    program = [changing.__file__, str(port)]
    with anyio.fail_after(30), ExitStack() as servers:
        url = servers.enter_context(running(program, port))
        async with Client(url) as client:
            quick: dict[str, Any] = {"retry_delay": 0.05, "max_retry_delay": 0.05, "max_retries": None}
            async with client.watch(resource_subscriptions=["note://1"], **quick) as changes:
                first = await change(client)
                assert await anext(changes) == ResourceUpdated("note://1")
                os.kill(first, end)
                await anyio.to_thread.run_sync(servers.close)
                await anyio.to_thread.run_sync(servers.enter_context, running(program, port))
                assert await anext(changes) == Reconnected()
                second = await change(client)
                assert await anext(changes) == ResourceUpdated("note://1")
    assert first != second


@pytest.mark.rule("LISTEN-D5", "TRANSPORT-16")
async def test_a_watch_over_pipes_that_are_gone_for_good_is_lost_at_once() -> None:
    with anyio.fail_after(30):
        async with Client(child(changing.__file__)) as client:
            async with client.watch(resource_subscriptions=["note://1"], retry_delay=1000) as changes:
                pid = await change(client)
                assert await anext(changes) == ResourceUpdated("note://1")
                os.kill(pid, signal.SIGKILL)
                with pytest.raises(SubscriptionLost, match="the connection has ended for good") as caught:
                    await anext(changes)
    assert "Connection closed" in str(caught.value)
