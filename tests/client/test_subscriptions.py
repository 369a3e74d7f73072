from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp._engine.link import OnNotification, OutgoingRequest
from mcp.client.client import Client
from mcp.client.session import ClientSession
from mcp.client.subscriptions import (
    ListenNotSupportedError,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    Subscription,
    SubscriptionLost,
    ToolsListChanged,
    listen,
)
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import CONNECTION_CLOSED, METHOD_NOT_FOUND
from tests.client.changes import ID, TOOLS, UPDATED, Stream
from tests.client.live import live_server
from tests.client.scripted import Scripted


@pytest.fixture
def stream() -> Any:
    made = Stream()
    yield made
    made.close()
    made._receive.close()


async def read_all(changes: Subscription) -> list[ServerEvent]:
    return [event async for event in changes]


@pytest.mark.rule("LISTEN-1", "LISTEN-2", "LISTEN-3", "LISTEN-6", "LISTEN-14", "LISTEN-18", "LISTEN-21")
async def test_events_arrive_in_order_until_the_server_ends_the_stream(stream: Stream) -> None:
    uris = ["note://2", "note://1", "note://2"]
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=stream)) as client:
            async with client.listen(tools_list_changed=True, resource_subscriptions=uris) as changes:
                assert changes.honored.tools_list_changed is True
                stream.tell(UPDATED, uri="note://1")
                stream.tell(TOOLS)
                stream.tell("notifications/prompts/list_changed")
                stream.end()
                assert await read_all(changes) == [ResourceUpdated("note://1"), ToolsListChanged()]
    request = stream.request
    assert request is not None
    assert request.params is not None
    assert request.params["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": uris}
    assert str(request.request_id).startswith("listen-")
    assert changes.subscription_id == request.request_id


@pytest.mark.rule("LISTEN-15", "LISTEN-16", "LISTEN-23")
async def test_parts_of_a_resource_count_and_equal_events_are_merged(stream: Stream) -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=stream)) as client:
            async with client.listen(resource_subscriptions=["note://a"]) as changes:
                for uri in ("note://a/b", "note://a", "note://a/b", "note://ab"):
                    stream.tell(UPDATED, uri=uri)
                stream.end()
                await anyio.wait_all_tasks_blocked()
                assert await read_all(changes) == [ResourceUpdated("note://a/b"), ResourceUpdated("note://a")]


@pytest.mark.rule("LISTEN-17")
async def test_a_reader_that_falls_too_far_behind_loses_the_stream(stream: Stream) -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=stream)) as client:
            async with client.listen(resource_subscriptions=["note://"]) as changes:
                for n in range(1025):
                    stream.tell(UPDATED, uri=f"note://{n}")
                await anyio.wait_all_tasks_blocked()
                with pytest.raises(SubscriptionLost, match="backlog"):
                    await read_all(changes)


@pytest.mark.rule("LISTEN-19", "LISTEN-21", "LISTEN-22")
async def test_any_other_end_is_a_loss_with_its_cause_after_what_waited(stream: Stream) -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=stream)) as client:
            async with client.listen(tools_list_changed=True) as changes:
                stream.tell(TOOLS)
                stream.end(MCPError(CONNECTION_CLOSED, "gone"))
                assert await anext(changes) == ToolsListChanged()
                with pytest.raises(SubscriptionLost) as caught:
                    await anext(changes)
    assert str(caught.value) == (
        f"subscription '{changes.subscription_id}' ended without the server's graceful close; re-listen and refetch"
    )
    assert isinstance(caught.value.__cause__, MCPError)


@pytest.mark.rule("LISTEN-19", "LISTEN-D4", "LISTEN-20")
async def test_a_cancellation_by_the_server_is_a_loss_and_is_not_answered(stream: Stream) -> None:
    server = Scripted(subscriptions__listen=stream)
    with anyio.fail_after(5):
        async with Client(server) as client:
            async with client.listen(tools_list_changed=True) as changes:
                stream.tell("notifications/cancelled", requestId=changes.subscription_id)
                with pytest.raises(SubscriptionLost):
                    await anext(changes)
                await client.list_tools()
    assert server.notified == []


@pytest.mark.rule("LISTEN-9")
async def test_a_cancellation_before_the_acknowledgement_is_a_loss_on_entering() -> None:
    async def cancel(request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        await on_notification("notifications/cancelled", {"requestId": request.request_id})
        await anyio.sleep_forever()
        raise AssertionError

    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=cancel)) as client:
            with pytest.raises(SubscriptionLost, match="ended before it was acknowledged"):
                await client.listen(tools_list_changed=True).__aenter__()


@pytest.mark.rule("LISTEN-7")
async def test_an_error_answer_is_raised_on_entering() -> None:
    with anyio.fail_after(5):
        async with Client(Scripted()) as client:
            with pytest.raises(MCPError) as caught:
                async with client.listen(tools_list_changed=True):
                    raise AssertionError("never entered")
            assert caught.value.code == METHOD_NOT_FOUND
            await client.list_tools()


@pytest.mark.rule("LISTEN-8")
async def test_a_result_without_acknowledgement_is_an_empty_subscription() -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen={"resultType": "complete"})) as client:
            async with client.listen(tools_list_changed=True) as changes:
                assert changes.honored == types.SubscriptionFilter()
                assert await read_all(changes) == []


@pytest.mark.rule("LISTEN-4", "LISTEN-D1")
@pytest.mark.parametrize(("of_client", "of_call"), [(0.02, None), (None, 0.02), (60.0, 0.02)])
async def test_the_wait_for_the_acknowledgement_is_bounded(of_client: float | None, of_call: float | None) -> None:
    silent = Stream(acknowledge=False)
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=silent), read_timeout_seconds=of_client) as client:
            with pytest.raises(TimeoutError):
                await client.listen(tools_list_changed=True, timeout=of_call).__aenter__()
            await silent.cancelled.wait()
            await client.list_tools()
    silent.close()


@pytest.mark.rule("LISTEN-5")
async def test_an_open_stream_outlives_the_read_timeout(stream: Stream) -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=stream), read_timeout_seconds=0.05) as client:
            async with client.listen(tools_list_changed=True) as changes:
                with anyio.move_on_after(0.1):
                    await anext(changes)
                stream.tell(TOOLS)
                assert await anext(changes) == ToolsListChanged()


@pytest.mark.rule("LISTEN-10", "TROUBLE-12")
async def test_a_session_without_a_modern_version_cannot_listen() -> None:
    server = Scripted()
    async with ClientSession(link=server) as session:
        with pytest.raises(ListenNotSupportedError) as caught:
            await listen(session, tools_list_changed=True).__aenter__()
    assert caught.value.negotiated_version is None
    assert server.requests == []
    assert str(ListenNotSupportedError("2025-11-25")) == (
        "subscriptions/listen is not available at protocol version '2025-11-25'; it requires 2026-07-28. On earlier "
        "versions use subscribe_resource() and the change notifications delivered through message_handler."
    )


@pytest.mark.rule("LISTEN-13")
def test_a_session_that_is_not_entered_cannot_listen() -> None:
    with pytest.raises(RuntimeError, match="entered session"):
        listen(ClientSession(link=Scripted()), tools_list_changed=True)


@pytest.mark.rule("LISTEN-D2", "LISTEN-D3", "LISTEN-11", "LISTEN-12")
async def test_what_to_listen_for_is_checked_before_sending() -> None:
    server = Scripted()
    async with Client(server, mode="2026-07-28") as client:
        with pytest.raises(ValueError, match=r"^listen\(\) needs at least one kind of change to listen for$"):
            client.listen()
        for bare in ("note://1", b"note://1"):
            with pytest.raises(
                TypeError, match=r"^resource_subscriptions takes a sequence of URIs, not a bare string$"
            ):
                client.listen(resource_subscriptions=bare)  # pyright: ignore[reportArgumentType]
        with pytest.raises(TypeError, match=r"resource_subscriptions\[1\]"):
            client.listen(resource_subscriptions=["note://1", 2])  # pyright: ignore[reportArgumentType]
    assert server.requests == []


@pytest.mark.rule("LISTEN-6")
async def test_what_the_server_does_not_tell_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    less = Stream(honored={"toolsListChanged": True})
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=less)) as client:
            async with client.listen(tools_list_changed=True, prompts_list_changed=True) as changes:
                assert changes.honored == types.SubscriptionFilter(tools_list_changed=True)
    assert "prompts_list_changed" in caplog.text
    less.close()


@pytest.mark.rule("LISTEN-24", "LISTEN-25")
async def test_the_message_handler_hears_events_but_no_acknowledgement(stream: Stream) -> None:
    heard: list[str] = []

    async def handle(message: Any) -> None:
        heard.append(message.method)

    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=stream), message_handler=handle) as client:
            async with client.listen(tools_list_changed=True) as changes:
                stream.tell(TOOLS)
                await anext(changes)
                assert heard == [TOOLS]


@pytest.mark.rule("LISTEN-26")
async def test_an_event_whose_announcement_is_cancelled_stays(stream: Stream) -> None:
    announced: list[ServerEvent] = []
    blocked = True

    async def on_event(event: ServerEvent) -> None:
        announced.append(event)
        if blocked:
            await anyio.sleep_forever()

    with anyio.fail_after(5):
        async with ClientSession(link=Scripted(subscriptions__listen=stream)) as session:
            await session.discover()
            async with listen(session, tools_list_changed=True, on_event=on_event) as changes:
                stream.tell(TOOLS)
                with anyio.move_on_after(0.02):
                    await anext(changes)
                blocked = False
                assert await anext(changes) == ToolsListChanged()
    assert len(announced) == 2


@pytest.mark.rule("LISTEN-27", "LISTEN-D6")
async def test_a_frame_of_another_subscription_is_ignored(stream: Stream) -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=stream)) as client:
            async with client.listen(tools_list_changed=True) as changes:
                stream.tell(TOOLS, _meta={ID: "listen-0"})
                stream.end()
                assert await read_all(changes) == []


@pytest.mark.rule("LISTEN-28", "LISTEN-29", "LISTEN-30")
async def test_leaving_the_block_ends_the_exchange_at_once(stream: Stream) -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=stream)) as client:
            async with client.listen(tools_list_changed=True) as changes:
                stream.tell(TOOLS)
            assert stream.cancelled.is_set()
            with pytest.raises(StopAsyncIteration):
                await anext(changes)


@pytest.mark.rule("LISTEN-31")
async def test_an_exception_leaves_the_block_as_it_is(stream: Stream) -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=stream)) as client:
            with pytest.raises(ZeroDivisionError):
                async with client.listen(tools_list_changed=True):
                    raise ZeroDivisionError


@pytest.mark.rule("LISTEN-19", "CLIENT-15", "SESSION-2")
async def test_leaving_the_client_loses_its_subscriptions(stream: Stream) -> None:
    client = Client(Scripted(subscriptions__listen=stream))
    with anyio.fail_after(5):
        await client.__aenter__()
        async with client.listen(tools_list_changed=True) as changes:
            await client.__aexit__(None, None, None)
            with pytest.raises(SubscriptionLost) as caught:
                await anext(changes)
    assert isinstance(caught.value.__cause__, MCPError)
    assert caught.value.__cause__.message == "Connection closed"


async def test_cancelling_a_reader_ends_its_block(stream: Stream) -> None:
    with anyio.fail_after(5):
        async with Client(Scripted(subscriptions__listen=stream)) as client:

            async def read() -> None:
                async with client.listen(tools_list_changed=True) as changes:
                    await anext(changes)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                await anyio.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()
            await client.list_tools()
    assert stream.cancelled.is_set()


@pytest.mark.rule("LISTEN-14", "LISTEN-28", "HTTP-R-07", "VER-C-04", "BASE-A-08")
@pytest.mark.parametrize("way", ["memory", "http"])
async def test_a_real_server_tells_its_changes(way: str) -> None:
    bus = InMemorySubscriptionBus()

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        for event in (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged(), ResourceUpdated("note://1")):
            await bus.publish(event)
        return types.ListToolsResult(tools=[])

    handler = ListenHandler(bus)
    server = Server("s", on_list_tools=list_tools, on_subscriptions_listen=handler)

    async def run(target: Any) -> None:
        async with Client(target) as client:
            async with client.listen(tools_list_changed=True, resource_subscriptions=["note://1"]) as changes:
                await client.list_tools()
                assert await anext(changes) == ToolsListChanged()
                assert await anext(changes) == ResourceUpdated("note://1")
            await client.list_tools()

    with anyio.fail_after(10):
        if way == "memory":
            await run(server)
        else:
            async with live_server(server) as url:
                await run(url)
