from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp._engine.scope import RequestScope
from mcp._protocol.era import MODERN
from mcp._protocol.metadata import ClientFacts
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

VERSION = "2026-07-28"


class Stream:
    """A listen request and what it was sent.

    Attributes:
        frames: The notifications, as (method, params).
        result: The result, once the stream has ended.
        gate: If set, a notification is only taken while it is open, as by a client that does not read.
    """

    def __init__(self, handler: ListenHandler, *, request_id: types.RequestId | None = 7, **wanted: Any) -> None:
        self.frames: list[tuple[str, dict[str, Any]]] = []
        self.result: types.SubscriptionsListenResult | None = None
        self.gate: anyio.Event | None = None
        self._news = anyio.Event()
        self._handler = handler
        self._params = types.SubscriptionsListenRequestParams.model_validate({"notifications": wanted})
        scope = RequestScope(
            method="subscriptions/listen",
            params={},
            request_id=request_id,
            version=VERSION,
            era=MODERN,
            client=ClientFacts(VERSION, types.ClientCapabilities()),
            notify=self._notify,
        )
        self.ctx: ServerRequestContext[Any, Any] = ServerRequestContext(
            session=ServerSession(scope, None),
            lifespan_context=None,
            protocol_version=VERSION,
            method="subscriptions/listen",
            request_id=request_id,
        )

    async def _notify(self, method: str, params: dict[str, Any] | None) -> None:
        if self.gate is not None:
            await self.gate.wait()
        self.frames.append((method, params or {}))
        news, self._news = self._news, anyio.Event()
        news.set()

    async def run(self) -> None:
        self.result = await self._handler(self.ctx, self._params)

    async def until(self, count: int) -> None:
        while len(self.frames) < count:
            await self._news.wait()

    @property
    def methods(self) -> list[str]:
        return [method.removeprefix("notifications/") for method, _ in self.frames]


@pytest.mark.rule("TOOL-L-09", "SRES-12")
@pytest.mark.rule(
    "SUBS-1", "SUBS-11", "SUBS-13", "SUBS-14", "SUBS-15", "SUB-02", "SUB-03", "SUB-06", "SUB-08", "SUB-12"
)
@pytest.mark.parametrize("request_id", [7, "seven"])
async def test_a_stream_is_acknowledged_and_carries_what_was_asked_for(request_id: Any) -> None:
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    stream = Stream(
        handler,
        request_id=request_id,
        toolsListChanged=True,
        promptsListChanged=False,
        resourceSubscriptions=["a://1"],
        unknownMember=True,
    )
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(stream.run)
            await stream.until(1)
            for event in (
                PromptsListChanged(),
                ResourcesListChanged(),
                ResourceUpdated(uri="a://10"),
                ResourceUpdated(uri="a://1/part"),
                ToolsListChanged(),
                ToolsListChanged(),
                ResourceUpdated(uri="a://1"),
            ):
                await bus.publish(event)
            await stream.until(4)
            handler.close()
    meta = {"_meta": {SUBSCRIPTION_ID_META_KEY: request_id}}
    assert stream.frames == [
        (
            "notifications/subscriptions/acknowledged",
            {**meta, "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["a://1"]}},
        ),
        ("notifications/tools/list_changed", meta),
        ("notifications/tools/list_changed", meta),
        ("notifications/resources/updated", {**meta, "uri": "a://1"}),
    ]
    assert stream.result is not None
    assert stream.result.model_dump(by_alias=True, exclude_none=True) == {"resultType": "complete", **meta}


@pytest.mark.rule("SUBS-11")
async def test_an_empty_filter_is_acknowledged_and_then_silent() -> None:
    handler = ListenHandler(InMemorySubscriptionBus())
    stream = Stream(handler, resourceSubscriptions=[])
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(stream.run)
            await stream.until(1)
            handler.close()
    assert stream.frames[0][1]["notifications"] == {}


@pytest.mark.rule("SUBS-12", "SUB-04")
async def test_what_happens_while_the_acknowledgement_goes_out_comes_after_it() -> None:
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    stream = Stream(handler, toolsListChanged=True)
    stream.gate = anyio.Event()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(stream.run)
            await anyio.wait_all_tasks_blocked()
            await bus.publish(ToolsListChanged())
            stream.gate.set()
            await stream.until(2)
            handler.close()
    assert stream.methods == ["subscriptions/acknowledged", "tools/list_changed"]


@pytest.mark.rule("SUBS-4")
async def test_events_from_before_are_not_replayed() -> None:
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    await bus.publish(ToolsListChanged())
    stream = Stream(handler, toolsListChanged=True)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(stream.run)
            await stream.until(1)
            handler.close()
    assert stream.methods == ["subscriptions/acknowledged"]


@pytest.mark.rule("SUBS-16")
async def test_closing_ends_every_stream_and_the_handler_can_be_used_again() -> None:
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    handler.close()
    streams = [Stream(handler, request_id=number, toolsListChanged=True) for number in range(3)]
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for stream in streams:
                group.start_soon(stream.run)
                await stream.until(1)
            await bus.publish(ToolsListChanged())
            handler.close()
            await bus.publish(ToolsListChanged())
        again = Stream(handler, toolsListChanged=True)
        async with anyio.create_task_group() as group:
            group.start_soon(again.run)
            await again.until(1)
            handler.close()
    assert all(stream.methods == ["subscriptions/acknowledged", "tools/list_changed"] for stream in streams)
    assert all(stream.result is not None for stream in [*streams, again])


@pytest.mark.rule("SUBS-17", "LOW-67")
async def test_more_streams_than_allowed_are_refused_before_an_acknowledgement() -> None:
    handler = ListenHandler(InMemorySubscriptionBus(), max_subscriptions=1)
    first, second = Stream(handler, toolsListChanged=True), Stream(handler, toolsListChanged=True)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(first.run)
            await first.until(1)
            with pytest.raises(MCPError, match=r"^Subscription limit reached$") as caught:
                await second.run()
            assert caught.value.code == -32603
            handler.close()
    assert second.frames == []


@pytest.mark.rule("SUBS-18")
async def test_a_client_that_does_not_read_loses_its_place_and_still_gets_its_backlog() -> None:
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus, max_subscriptions=1, max_buffered_events=2)
    slow, next_one = Stream(handler, toolsListChanged=True), Stream(handler, toolsListChanged=True)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(slow.run)
            await slow.until(1)
            await anyio.wait_all_tasks_blocked()
            slow.gate = anyio.Event()
            for _ in range(5):  # one is being written, two wait, the fourth is one too many
                await bus.publish(ToolsListChanged())
                await anyio.wait_all_tasks_blocked()
            group.start_soon(next_one.run)
            await next_one.until(1)
            assert slow.result is None
            slow.gate.set()
            await slow.until(4)
            handler.close()
    assert slow.result is not None
    assert len(slow.frames) == 4


@pytest.mark.rule("SUBS-10", "SUBS-15")
async def test_a_burst_from_one_task_does_not_overflow_a_client_that_reads() -> None:
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus, max_buffered_events=2)
    stream = Stream(handler, toolsListChanged=True)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(stream.run)
            await stream.until(1)
            await anyio.wait_all_tasks_blocked()
            for _ in range(50):
                await bus.publish(ToolsListChanged())
            await stream.until(51)
            assert stream.result is None
            handler.close()


@pytest.mark.rule("SUBS-19", "SUB-15")
async def test_a_cancelled_stream_unsubscribes_and_frees_its_place() -> None:
    bus = CountingBus()
    handler = ListenHandler(bus, max_subscriptions=1)
    with anyio.fail_after(5):
        for _ in range(2):
            stream = Stream(handler, toolsListChanged=True)
            async with anyio.create_task_group() as group:
                group.start_soon(stream.run)
                await stream.until(1)
                assert bus.listeners == 1
                group.cancel_scope.cancel()
            assert bus.listeners == 0
            assert stream.result is None


class CountingBus(InMemorySubscriptionBus):
    """Counts its listeners, and may fail to remove them."""

    def __init__(self, *, broken: bool = False) -> None:
        super().__init__()
        self.listeners = 0
        self.broken = broken

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        unsubscribe = super().subscribe(listener)
        self.listeners += 1

        def remove() -> None:
            if self.broken:
                raise ConnectionError
            self.listeners -= 1
            unsubscribe()

        return remove


@pytest.mark.rule("SUBS-9")
async def test_an_unsubscribe_that_raises_does_not_keep_the_place(caplog: pytest.LogCaptureFixture) -> None:
    handler = ListenHandler(CountingBus(broken=True), max_subscriptions=1)
    with anyio.fail_after(5):
        for _ in range(2):
            stream = Stream(handler, toolsListChanged=True)
            async with anyio.create_task_group() as group:
                group.start_soon(stream.run)
                await stream.until(1)
                handler.close()
            assert stream.result is not None
    assert "failed to remove a listener" in caplog.text


@pytest.mark.rule("SUBS-20")
async def test_a_context_without_request_id_is_refused() -> None:
    stream = Stream(ListenHandler(InMemorySubscriptionBus()), request_id=None)
    with pytest.raises(MCPError) as caught:
        await stream.run()
    assert caught.value.code == -32600


@pytest.mark.rule("SUBS-D2", "LOW-D15")
@pytest.mark.parametrize("limit", ["max_subscriptions", "max_buffered_events", "max_resource_subscriptions"])
@pytest.mark.parametrize("value", [0, -1])
def test_limits_have_to_be_positive(limit: str, value: int) -> None:
    bad: dict[str, Any] = {limit: value}
    with pytest.raises(ValueError, match=limit):
        ListenHandler(InMemorySubscriptionBus(), **bad)


@pytest.mark.rule("SUBS-D3")
async def test_resources_are_named_once_and_not_without_bound() -> None:
    handler = ListenHandler(InMemorySubscriptionBus(), max_resource_subscriptions=2)
    stream = Stream(handler, resourceSubscriptions=["a://1", "a://2", "a://1"])
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(stream.run)
            await stream.until(1)
            handler.close()
    assert stream.frames[0][1]["notifications"] == {"resourceSubscriptions": ["a://1", "a://2"]}
    with pytest.raises(MCPError, match="at most 2 resources") as caught:
        await Stream(handler, resourceSubscriptions=["a://1", "a://2", "a://3"]).run()
    assert caught.value.code == -32602


@pytest.mark.rule("SUBS-D4")
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_server_may_decide_who_watches_what(asynchronous: bool) -> None:
    asked: list[tuple[types.RequestId | None, str]] = []

    def authorize(ctx: ServerRequestContext[Any, Any], uri: str) -> bool:
        asked.append((ctx.request_id, uri))
        return uri.startswith("public://")

    async def authorize_later(ctx: ServerRequestContext[Any, Any], uri: str) -> bool:
        return authorize(ctx, uri)

    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus, authorize_resource=authorize_later if asynchronous else authorize)
    stream = Stream(handler, resourceSubscriptions=["public://1", "secret://1"], toolsListChanged=True)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(stream.run)
            await stream.until(1)
            await bus.publish(ResourceUpdated(uri="secret://1"))
            await bus.publish(ResourceUpdated(uri="public://1"))
            await stream.until(2)
            handler.close()
    assert asked == [(7, "public://1"), (7, "secret://1")]
    assert stream.frames[0][1]["notifications"] == {
        "toolsListChanged": True,
        "resourceSubscriptions": ["public://1"],
    }
    assert stream.frames[1][1]["uri"] == "public://1"
    assert len(stream.frames) == 2


@pytest.mark.rule("SUBS-8", "SUBS-9")
async def test_the_bus_calls_every_registration_and_survives_one_that_raises(caplog: pytest.LogCaptureFixture) -> None:
    bus = InMemorySubscriptionBus()
    heard: list[ServerEvent] = []

    def broken(event: ServerEvent) -> None:
        raise RuntimeError

    bus.subscribe(broken)
    first = bus.subscribe(heard.append)
    bus.subscribe(heard.append)
    await bus.publish(ToolsListChanged())
    first()
    first()
    await bus.publish(PromptsListChanged())
    assert heard == [ToolsListChanged(), ToolsListChanged(), PromptsListChanged()]
    assert caplog.text.count("A listener of the subscription bus raised") == 2


@pytest.mark.rule("SUBS-1", "SUBS-7")
async def test_publishing_without_listeners_does_nothing() -> None:
    await InMemorySubscriptionBus().publish(ToolsListChanged())
