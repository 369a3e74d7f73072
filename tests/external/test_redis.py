"""What instances share on Redis: used tokens, large states, changes, and the events of legacy streams."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp import Client
from mcp.server.mcpserver import MCPServer, RequestStateSecurity
from mcp.server.redis import RedisEventStore, RedisSubscriptionBus
from mcp.server.streamable_http import EventMessage
from mcp.server.subscriptions import ResourceUpdated, ServerEvent, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.stores import RecordStore, RedisStore, Store, StoreError
from mcp.types import JSONRPCNotification
from tests.external.redis_server import RedisServer, client_of
from tests.server.test_single_use import REPLAYED, Provisioner, refused, tallied_log
from tests.stores.promises import LONG, PROMISES, RECORD_PROMISES

KEY = "k" * 32
CHANGE = ResourceUpdated("note://1")
SHORT = 0.3


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The library speaks asyncio only."""
    return request.param


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[RedisServer]:
    started = RedisServer(tmp_path_factory.mktemp("redis"))
    yield started
    started.close()


@pytest.fixture
def own_server(tmp_path: Path) -> Generator[RedisServer]:
    """A server to be mistreated."""
    started = RedisServer(tmp_path)
    yield started
    started.close()


@asynccontextmanager
async def store_at(server: RedisServer, **options: Any) -> AsyncGenerator[RedisStore]:
    store = RedisStore(server.url, **_patient(options))
    try:
        with anyio.fail_after(60):
            yield store
    finally:
        await store.aclose()


def _patient(options: dict[str, Any]) -> dict[str, Any]:
    return {"timeout": 5.0, **options}


# The store


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_it_keeps_the_promises_of_every_store(
    server: RedisServer, promise: Callable[[Store], Awaitable[None]]
) -> None:
    async with store_at(server, prefix=f"{promise.__name__}:") as store:
        await promise(store)


@pytest.mark.parametrize("promise", RECORD_PROMISES, ids=lambda promise: promise.__name__)
async def test_it_keeps_the_promises_about_records(
    server: RedisServer, promise: Callable[[RecordStore], Awaitable[None]]
) -> None:
    async with store_at(server, prefix=f"{promise.__name__}:") as store:
        await promise(store)


async def test_a_client_of_the_application_does_as_well(server: RedisServer) -> None:
    client = client_of(server.url)
    store = RedisStore(client, prefix="own:")
    await store.put("key", b"value", LONG)
    assert await store.get("key") == b"value"
    await client.aclose()


async def test_a_client_that_decodes_is_told_what_is_wrong(server: RedisServer) -> None:
    client = client_of(server.url, decode_responses=True)
    store = RedisStore(client, prefix="decoding:")
    await store.put("key", b"value", LONG)
    with pytest.raises(StoreError, match="make it without decode_responses=True"):
        await store.get("key")
    await client.aclose()


async def test_entries_end_with_their_time(server: RedisServer) -> None:
    async with store_at(server, prefix="time:") as store:
        await store.put("one", b"value", 50.25)
        await store.add_once("other", 50.25)
        await store.put("none", b"value", 0)
        while await store.get("none") is not None:
            pass
        for key in ("one", "other"):
            assert 40_000 < await store._connections.run("PTTL", f"time:{key}") <= 50_250


async def test_prefixes_keep_applications_apart(server: RedisServer) -> None:
    async with store_at(server, prefix="a:") as one, store_at(server, prefix="b:") as other:
        await one.put("key", b"value", LONG)
        assert await other.get("key") is None


class Twice:
    """A client that sends what was answered already once more, as one does whose connection broke in between."""

    def __init__(self, url: str) -> None:
        self._client = client_of(url)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        if args[0] in ("SET", "EVAL"):
            await self._client.execute_command(*args, **options)
        return await self._client.execute_command(*args, **options)

    async def aclose(self) -> None:
        await self._client.aclose()


async def test_a_client_that_tries_again_by_itself_is_still_first(server: RedisServer) -> None:
    client = Twice(server.url)
    store = RedisStore(client, prefix="twice:")
    assert await store.add_once("key", LONG) is True
    assert await store.add_once("key", LONG) is False
    assert await store.add_record("record", "one", None) is True
    seen = await store.get_record("record")
    assert seen is not None
    assert await store.change_record(seen, "two", None) is True
    assert await store.get_record("record") == (seen.name, 1, "two")
    await client.aclose()


async def test_a_server_that_does_not_answer_is_an_error_in_time_and_forgotten_when_it_does(
    own_server: RedisServer,
) -> None:
    async with store_at(own_server, timeout=SHORT) as store:
        await store.put("key", b"value", LONG)
        own_server.freeze()
        for _ in range(3):
            with pytest.raises(StoreError, match="Redis failed"):
                await store.get("key")
        own_server.thaw()
        while True:
            try:
                assert await store.get("key") == b"value"
                return
            except StoreError:
                pass


async def test_a_server_that_is_started_anew_is_found_again(own_server: RedisServer) -> None:
    async with store_at(own_server) as store:
        await store.put("key", b"value", LONG)
        own_server.kill()
        with pytest.raises(StoreError, match=r"^Redis failed \(ConnectionError: .*see whether the server is up"):
            await store.get("key")
        own_server.start()
        assert await store.get("key") == b"value"


# Request state


async def test_of_racing_pairs_on_two_instances_exactly_one_each_is_accepted(server: RedisServer) -> None:
    outcomes: list[tuple[int, int]] = []

    async def use(call: Any, number: int, token: str) -> None:
        try:
            await call(token)
        except MCPError as error:
            outcomes.append((number, error.code))
        else:
            outcomes.append((number, 0))

    async with store_at(server, prefix="race:") as here_store, store_at(server, prefix="race:") as there_store:
        async with Provisioner(here_store).connected() as here, Provisioner(there_store).connected() as there:
            tokens = [await here.ask() for _ in range(200)]
            with tallied_log() as lines:
                async with anyio.create_task_group() as group:
                    for number, token in enumerate(tokens):
                        group.start_soon(use, here, number, token)
                        group.start_soon(use, there, number, token)
    assert sorted(number for number, code in outcomes if code == 0) == list(range(200))
    assert sorted(number for number, code in outcomes if code == -32602) == list(range(200))
    assert dict(lines) == {REPLAYED: 200}


async def test_while_the_store_is_away_calls_that_need_it_fail_clearly_and_others_go_on(
    own_server: RedisServer,
) -> None:
    async with store_at(own_server, timeout=SHORT) as store:
        provisioner = Provisioner(None, security=RequestStateSecurity(keys=[KEY], single_use=store))
        async with provisioner.connected() as call:
            token = await call.ask()
            own_server.kill()
            other = await call.ask()  # a first round needs no store
            with refused((-32603, "The store for requestState does not answer; try again later", None)):
                await call(token)
            own_server.start()
            assert (await call(token))["resultType"] == "complete"
            assert (await call(other))["resultType"] == "complete"
            with refused():
                await call(token)
    assert provisioner.states == [None, None, "S", "S"]


async def test_a_large_state_that_one_instance_parked_is_found_by_another(server: RedisServer) -> None:
    async with store_at(server, prefix="park:") as one_store, store_at(server, prefix="park:") as other_store:
        sides = [
            Provisioner(None, security=RequestStateSecurity(keys=[KEY], park=store, max_token_bytes=512))
            for store in (one_store, other_store)
        ]
        async with sides[0].connected() as here, sides[1].connected() as there:
            token = await here.ask()
            assert (await there(token))["resultType"] == "complete"
    assert sides[1].states == ["S"]


# Changes


@asynccontextmanager
async def bus_at(server: RedisServer, **options: Any) -> AsyncGenerator[RedisSubscriptionBus]:
    bus = RedisSubscriptionBus(server.url, **_patient(options))
    try:
        with anyio.fail_after(60):
            yield bus
    finally:
        await bus.aclose()


class Ear:
    """A listener of a bus."""

    def __init__(self, bus: RedisSubscriptionBus) -> None:
        self._events: asyncio.Queue[ServerEvent] = asyncio.Queue()
        self.losses = 0
        self.lost = anyio.Event()
        bus.subscribe(self._events.put_nowait)
        bus.on_loss(self._lose)

    def _lose(self) -> None:
        self.losses += 1
        self.lost.set()

    async def hear(self) -> ServerEvent:
        return await self._events.get()

    @property
    def has_more(self) -> bool:
        return not self._events.empty()


async def test_a_change_on_one_instance_reaches_the_listeners_of_all_once(server: RedisServer) -> None:
    async with bus_at(server, channel="all") as one, bus_at(server, channel="all") as other:
        ears = [Ear(one), Ear(other), Ear(other)]
        await one.ready()
        await other.ready()
        for event in (CHANGE, ToolsListChanged(), ResourceUpdated("é://\n")):
            await one.publish(event)
            assert [await ear.hear() for ear in ears] == [event] * 3
        assert not any(ear.has_more or ear.losses for ear in ears)


async def test_channels_keep_servers_apart(server: RedisServer) -> None:
    async with bus_at(server, channel="mine") as one, bus_at(server, channel="yours") as other:
        ear = Ear(other)
        await other.ready()
        await one.publish(CHANGE)
        await other.publish(ToolsListChanged())
        assert await ear.hear() == ToolsListChanged()
        assert not ear.has_more


@pytest.mark.parametrize("damage", ["kill", "freeze"])
async def test_listeners_learn_of_a_gap_and_hear_again_afterwards(own_server: RedisServer, damage: str) -> None:
    async with bus_at(own_server, timeout=SHORT) as one, bus_at(own_server, timeout=SHORT) as other:
        ear = Ear(other)
        await other.ready()
        getattr(own_server, damage)()
        await ear.lost.wait()
        with pytest.raises(StoreError, match=r"^changes do not arrive: no connection to Redis within 0\.3 s$"):
            await other.ready()
        own_server.start() if damage == "kill" else own_server.thaw()
        while True:
            try:
                await other.ready()
                break
            except StoreError:
                pass
        await one.publish(CHANGE)
        assert await ear.hear() == CHANGE
        assert ear.losses >= 1


async def test_a_change_that_cannot_be_published_is_heard_here_and_others_learn_that_they_missed_one(
    server: RedisServer,
) -> None:
    client = Unreachable(server.url)
    async with bus_at(server, channel="missed") as other:
        bus = RedisSubscriptionBus(client, channel="missed")
        here, there = Ear(bus), Ear(other)
        await other.ready()
        client.is_away = True
        await bus.publish(CHANGE)
        assert await here.hear() == CHANGE
        assert there.losses == 0
        client.is_away = False
        await there.lost.wait()
        await bus.publish(ToolsListChanged())
        assert await there.hear() == ToolsListChanged()
        await bus.aclose()
        await client.aclose()


class Unreachable(Twice):
    """A client that cannot publish for a while."""

    is_away = False

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        if self.is_away:
            raise ConnectionError("away")
        return await self._client.execute_command(*args, **options)

    def pubsub(self) -> Any:
        return self._client.pubsub()


async def test_noise_on_the_channel_is_no_change(server: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    client = client_of(server.url)
    async with bus_at(server, channel="noise") as bus:
        ear = Ear(bus)
        await bus.ready()
        for noise in (b"\xff", "[]", "{}", '{"from": "x", "method": "tools/call"}', '{"from": 1, "method": []}'):
            await client.publish("noise", noise)
        await client.publish("noise", '{"from": "x", "method": "notifications/resources/updated", "uri": "note://1"}')
        assert await ear.hear() == CHANGE
        assert not ear.has_more
    assert caplog.text.count("Something that is no change arrived on the channel noise") == 4
    await client.aclose()


async def test_clients_of_two_instances_hear_of_a_change_and_end_with_a_gap(own_server: RedisServer) -> None:
    async with bus_at(own_server) as one, bus_at(own_server) as other:
        here, there = MCPServer("fleet", subscriptions=one), MCPServer("fleet", subscriptions=other)

        @here.tool()
        async def change() -> str:
            await one.publish(CHANGE)
            return "changed"

        async with Client(there) as watching, Client(here) as changing:
            async with watching.watch(resource_subscriptions=["note://1"]) as changes:
                await changing.call_tool("change", {})
                assert await anext(changes) == CHANGE
                own_server.kill()
                own_server.start()
                assert type(await anext(changes)).__name__ == "Reconnected"
                await changing.call_tool("change", {})
                assert await anext(changes) == CHANGE


async def test_a_stream_cannot_be_opened_while_no_change_would_arrive(
    own_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    own_server.kill()
    async with bus_at(own_server, timeout=SHORT) as bus:
        async with Client(MCPServer("fleet", subscriptions=bus)) as client:
            with pytest.raises(MCPError, match="Changes cannot be watched at the moment; try again later"):
                async with client.listen(tools_list_changed=True):
                    raise AssertionError("it was opened")
    assert "A subscriptions/listen stream cannot be opened: changes do not arrive" in caplog.text


# Events of legacy streams


def note(number: int) -> JSONRPCNotification:
    return JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params={"number": number})


async def replay(store: RedisEventStore, event_id: str) -> tuple[str | None, list[Any]]:
    events: list[EventMessage] = []

    async def collect(event: EventMessage) -> None:
        events.append(event)

    stream = await store.replay_events_after(event_id, collect)
    return stream, [(event.event_id, event.message) for event in events]


@asynccontextmanager
async def events_at(server: RedisServer, **options: Any) -> AsyncGenerator[RedisEventStore]:
    store = RedisEventStore(server.url, **_patient(options))
    try:
        with anyio.fail_after(60):
            yield store
    finally:
        await store.aclose()


@pytest.mark.rule("RUN-65")
async def test_what_one_instance_stored_another_replays_in_order_without_marks(server: RedisServer) -> None:
    async with events_at(server) as one, events_at(server) as other:
        first = await one.store_event("session/1", None)
        ids = [await one.store_event("session/1", note(number)) for number in range(5)]
        await one.store_event("session/2", note(99))
        assert await replay(other, first) == ("session/1", [(ids[n], note(n)) for n in range(5)])
        assert await replay(other, ids[2]) == ("session/1", [(ids[n], note(n)) for n in (3, 4)])
        assert await replay(other, ids[4]) == ("session/1", [])


@pytest.mark.parametrize(
    "event_id", ["", "nonsense", "1-1@unknown", "@", "-@x", "(1-0@session", "+@session", "1@session"]
)
async def test_an_event_that_is_not_known_replays_nothing(server: RedisServer, event_id: str) -> None:
    async with events_at(server) as store:
        await store.store_event("session", note(1))
        assert await replay(store, event_id) == (None, [])


async def test_events_end_with_their_time_and_old_ones_make_room(server: RedisServer) -> None:
    async with events_at(server, prefix="few:", ttl=50.25, max_events=1) as store:
        first = await store.store_event("s", note(0))
        for number in range(300):
            await store.store_event("s", note(number))
        assert await replay(store, first) == (None, [])
        assert 40_000 < await store._connections.run("PTTL", "few:s") <= 50_250


# Construction


@pytest.mark.parametrize("make", [RedisStore, RedisSubscriptionBus, RedisEventStore])
def test_what_is_no_client_is_refused(make: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match=r"^expected a Redis URL or an asyncio client such as .*, got int$"):
        make(5)
    with pytest.raises(ValueError, match=r"^timeout must be a positive number of seconds, got 0$"):
        make("redis://localhost", timeout=0)


def test_numbers_that_make_no_sense_are_refused() -> None:
    for options in ({"ttl": 0.0}, {"max_events": 0}):
        with pytest.raises(ValueError, match=r"^ttl and max_events must be positive, got .* and .*$"):
            RedisEventStore("redis://localhost", **options)  # type: ignore[arg-type]


def test_another_event_loop_than_asyncios_is_named(server: RedisServer) -> None:
    async def main() -> None:
        with pytest.raises(StoreError, match=r"^stores on Redis work in asyncio's event loop only$"):
            await RedisStore(server.url).get("key")

    anyio.run(main, backend="trio")


def test_the_log_says_once_that_the_connection_is_gone(
    own_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        own_server.kill()
        async with bus_at(own_server, timeout=0.1) as bus:
            Ear(bus)
            for _ in range(5):
                with pytest.raises(StoreError):
                    await bus.ready()

    with caplog.at_level(logging.WARNING):
        anyio.run(main)
    assert caplog.text.count("Connecting to Redis for changes again") == 1
