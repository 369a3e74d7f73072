from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest

import mcp_types as types
from mcp.client import Client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import Prompt
from mcp.server.mcpserver.resources.types import TextResource
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)
from tests.server.http.fakes import FakeConnection
from tests.server.http.legacy_client import events_of, headers_of, opening, session

Change = Callable[[MCPServer[Any]], object]
TOLD_FLAGS = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": False, "listChanged": True},
}


async def probe() -> str:
    return "probe"


def ask() -> str:
    return "ask"


def read_note(name: str) -> str:
    return name


class Listening(InMemorySubscriptionBus):
    """A bus that remembers what was published.

    Attributes:
        heard: The events, in order.
        gate: What publishing waits for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[ServerEvent] = []
        self.gate: anyio.Event | None = None
        self.subscribe(self.heard.append)

    async def publish(self, event: ServerEvent) -> None:
        if self.gate is not None:
            await self.gate.wait()
        await super().publish(event)

    async def until(self, count: int) -> list[ServerEvent]:
        """Wait for so many events, and return all there are."""
        with anyio.fail_after(5):
            while len(self.heard) < count:
                await anyio.lowlevel.checkpoint()
        return self.heard


@asynccontextmanager
async def served(**options: Any) -> AsyncGenerator[tuple[MCPServer[Any], Listening]]:
    """A server with a bus, while it serves a client."""
    bus = Listening()
    server: MCPServer[Any] = MCPServer("lists", subscriptions=bus, **options)
    async with server.connect_in_process("auto"):
        yield server, bus


def add_resource(server: MCPServer[Any], uri: str = "note://1") -> None:
    server.add_resource(TextResource(uri=uri, name="note", text="hello"))


CHANGES: list[tuple[Change, Change, ServerEvent]] = [
    (lambda server: server.add_tool(probe), lambda server: server.remove_tool("probe"), ToolsListChanged()),
    (
        lambda server: server.add_prompt(Prompt.from_function(ask)),
        lambda server: server.remove_prompt("ask"),
        PromptsListChanged(),
    ),
    (add_resource, lambda server: server.remove_resource("note://1"), ResourcesListChanged()),
    (
        lambda server: server.resource("note://{name}")(read_note),
        lambda server: server.remove_template("note://{name}"),
        ResourcesListChanged(),
    ),
]


@pytest.mark.rule("SUBS-D1")
@pytest.mark.parametrize(("add", "remove", "event"), CHANGES, ids=["tool", "prompt", "resource", "template"])
async def test_what_is_registered_or_removed_while_serving_is_published(
    add: Change, remove: Change, event: ServerEvent
) -> None:
    async with served() as (server, bus):
        add(server)
        assert await bus.until(1) == [event]
        remove(server)
        assert await bus.until(2) == [event, event]


@pytest.mark.rule("SUBS-D1")
async def test_what_nobody_can_have_missed_is_not_published() -> None:
    @asynccontextmanager
    async def lifespan(server: MCPServer[None]) -> AsyncGenerator[None]:
        server.add_tool(probe)
        yield
        server.remove_tool("probe")

    bus = Listening()
    server = MCPServer("lists", subscriptions=bus, lifespan=lifespan)
    server.add_prompt(Prompt.from_function(ask))
    async with server.connect_in_process("auto"):
        add_resource(server)
        await bus.until(1)
    server.remove_prompt("ask")
    async with server.connect_in_process("auto"):
        add_resource(server, "note://2")
        assert await bus.until(2) == [ResourcesListChanged()] * 2


@pytest.mark.rule("SUBS-D1")
@pytest.mark.parametrize(
    ("on_duplicate", "expected"),
    [
        ("warn", [ToolsListChanged(), PromptsListChanged()]),
        ("replace", [ToolsListChanged(), ToolsListChanged(), PromptsListChanged()]),
    ],
)
async def test_a_second_registration_is_a_change_only_if_it_takes_the_place_of_the_first(
    on_duplicate: Literal["warn", "replace"], expected: list[ServerEvent]
) -> None:
    async with served(on_duplicate=on_duplicate) as (server, bus):
        server.add_tool(probe)
        await bus.until(1)
        server.add_tool(probe)
        server.add_prompt(Prompt.from_function(ask))
        assert await bus.until(len(expected)) == expected


@pytest.mark.rule("CASE-48", "SUBS-15")
async def test_what_changes_in_one_turn_of_the_event_loop_is_one_event_of_each_kind() -> None:
    async with served() as (server, bus):
        for number in range(50):
            server.add_tool(probe, name=f"probe_{number}")
            add_resource(server, f"note://{number}")
        server.remove_tool("probe_7")
        server.add_prompt(Prompt.from_function(ask))
        assert await bus.until(3) == [ToolsListChanged(), ResourcesListChanged(), PromptsListChanged()]


async def test_what_changes_while_a_slow_bus_publishes_is_published_once_afterwards() -> None:
    async with served() as (server, bus):
        bus.gate = anyio.Event()
        server.add_tool(probe)
        for number in range(5):
            await anyio.lowlevel.checkpoint()
            server.add_tool(probe, name=f"probe_{number}")
        bus.gate.set()
        await bus.until(2)
        server.add_prompt(Prompt.from_function(ask))
        assert await bus.until(3) == [ToolsListChanged(), ToolsListChanged(), PromptsListChanged()]


@pytest.mark.rule("SUBS-15")
async def test_an_explicit_event_is_merged_with_nothing() -> None:
    async def change(ctx: Context) -> None:
        await ctx.notify_prompts_changed()
        await ctx.notify_prompts_changed()

    async with served(tools=[change]) as (server, bus):
        await server.call_tool("change", {})
        assert bus.heard == [PromptsListChanged(), PromptsListChanged()]


async def test_what_a_thread_registers_is_published_in_the_event_loop() -> None:
    threads: list[int] = []

    def grow() -> None:
        server.add_prompt(Prompt.from_function(ask))

    async with served(tools=[grow]) as (server, bus):
        bus.subscribe(lambda event: threads.append(threading.get_ident()))
        await server.call_tool("grow", {})
        await bus.until(1)
        other = threading.Thread(target=server.remove_prompt, args=("ask",))
        other.start()
        await anyio.to_thread.run_sync(other.join)
        assert await bus.until(2) == [PromptsListChanged()] * 2
    assert threads == [threading.get_ident()] * 2


async def test_a_server_that_serves_many_publishes_a_change_once() -> None:
    async with served() as (server, bus):
        async with server.connect_in_process("auto"):
            server.add_tool(probe)
            await bus.until(1)
        server.remove_tool("probe")  # the others are still served
        await bus.until(2)
        server.add_prompt(Prompt.from_function(ask))
        assert await bus.until(3) == [ToolsListChanged(), ToolsListChanged(), PromptsListChanged()]


async def test_a_bus_that_fails_is_logged_and_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    class Lost(Listening):
        async def publish(self, event: ServerEvent) -> None:
            if event == ToolsListChanged():
                raise ConnectionError("broker gone")
            await super().publish(event)

    bus = Lost()
    server = MCPServer("lists", subscriptions=bus)
    async with server.connect_in_process("auto"):
        server.add_tool(probe)
        server.add_prompt(Prompt.from_function(ask))
        assert await bus.until(1) == [PromptsListChanged()]
    assert "broker gone" in caplog.text


def test_a_server_whose_event_loop_has_stopped_can_still_be_changed() -> None:
    server = MCPServer("lists", notify_list_changes=True)

    async def main() -> None:
        # As a program does that is killed in the middle: nothing is left in good order.
        await server.connect_in_process("auto").__aenter__()

    with anyio.from_thread.start_blocking_portal() as portal:
        portal.call(main)
    server.add_tool(probe)
    assert [tool.name for tool in server._tool_manager.list_tools()] == ["probe"]


# Legacy sessions


class Ear:
    """A legacy client's message handler.

    Attributes:
        heard: The methods of the notifications, without their common part.
    """

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def __call__(self, message: object) -> None:
        assert not isinstance(message, Exception)
        method: str = getattr(message, "method")  # noqa: B009
        self.heard.append(method.removeprefix("notifications/").removesuffix("/list_changed"))

    async def until(self, count: int) -> list[str]:
        with anyio.fail_after(5):
            while len(self.heard) < count:
                await anyio.lowlevel.checkpoint()
        return self.heard


@pytest.mark.rule("SUBS-D1", "CASE-48", "LEG-F-03")
@pytest.mark.parametrize("subscriptions", [None, False])
async def test_legacy_sessions_are_told_and_told_so_if_the_server_wants_it(
    subscriptions: Literal[False] | None,
) -> None:
    server = MCPServer("lists", subscriptions=subscriptions, notify_list_changes=True)
    first, second = Ear(), Ear()
    async with (
        Client(server, mode="legacy", message_handler=first) as client,
        Client(server, mode="legacy", message_handler=second),
    ):
        flags = client.server_capabilities.model_dump(by_alias=True, include=set(TOLD_FLAGS))
        assert flags == TOLD_FLAGS
        for number in range(50):
            server.add_tool(probe, name=f"probe_{number}")
        server.add_prompt(Prompt.from_function(ask))
        add_resource(server)
        for ear in (first, second):
            assert await ear.until(3) == ["tools", "prompts", "resources"]
        assert len((await client.list_tools()).tools) == 50
        server.remove_tool("probe_0")
        assert await first.until(4) == ["tools", "prompts", "resources", "tools"]


@pytest.mark.rule("SUBS-D1", "SUBS-24", "CASE-48")
async def test_without_the_wish_legacy_sessions_are_neither_told_nor_told_so() -> None:
    async def send(ctx: Context) -> None:
        await ctx.session.send_resource_list_changed()

    server = MCPServer("lists", tools=[send])
    ear = Ear()
    async with Client(server, mode="legacy", message_handler=ear) as client:
        capabilities = client.server_capabilities
        assert capabilities.tools is not None
        assert capabilities.tools.list_changed is False
        server.add_tool(probe)
        await client.call_tool("send")
        assert await ear.until(1) == ["resources"]


async def test_a_client_that_left_is_not_told_and_keeps_nobody_from_being_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = MCPServer("lists", notify_list_changes=True)
    left, stays = Ear(), Ear()
    async with Client(server, mode="legacy", message_handler=stays):
        async with Client(server, mode="legacy", message_handler=left):
            pass
        server.add_tool(probe)
        assert await stays.until(1) == ["tools"]
    assert left.heard == []
    assert caplog.records == []


@pytest.mark.rule("SUBS-5", "LEG-D-05")
async def test_news_for_the_listeners_of_one_era_do_not_reach_those_of_the_other() -> None:
    async def publish(ctx: Context) -> None:
        await ctx.notify_tools_changed()

    async def send(ctx: Context) -> None:
        await ctx.session.send_prompt_list_changed()

    bus = Listening()
    server = MCPServer("lists", tools=[publish, send], subscriptions=bus)
    ear = Ear()
    async with Client(server) as modern, Client(server, mode="legacy", message_handler=ear) as legacy:
        with anyio.fail_after(5):
            async with modern.listen(tools_list_changed=True, prompts_list_changed=True) as news:
                for client in (modern, legacy):
                    await client.call_tool("send")
                    await client.call_tool("publish")
                    assert await anext(news) == ToolsListChanged()
    assert bus.heard == [ToolsListChanged()] * 2
    assert ear.heard == ["prompts"]


@asynccontextmanager
async def managed(server: MCPServer[Any], *, stateless: bool = False) -> AsyncGenerator[StreamableHTTPSessionManager]:
    manager = StreamableHTTPSessionManager(server._lowlevel_server, stateless=stateless)
    async with manager.run():
        yield manager


@pytest.mark.rule("SUBS-D1", "CASE-48", "LEG-D-05")
async def test_over_http_a_session_hears_of_changes_on_its_stand_alone_stream() -> None:
    server = MCPServer("lists", notify_list_changes=True)
    async with managed(server) as manager, session(manager) as client:
        stream = await client.listen()
        server.add_tool(probe)
        await stream.until(lambda stream: bool(events_of(stream)))
        [event] = events_of(stream)
        assert json.loads(event.data) == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        assert (await client.send(method="DELETE")).status == 200
        server.remove_tool("probe")  # nobody is left to hear of it


@pytest.mark.rule("SUBS-D1")
@pytest.mark.parametrize("stateless", [False, True])
async def test_changes_are_promised_only_where_there_is_a_session_to_tell_them_in(stateless: bool) -> None:
    server = MCPServer("lists", notify_list_changes=True)
    connection = FakeConnection(json.dumps(opening()).encode(), headers_of({"accept": "application/json"}))
    async with managed(server, stateless=stateless) as manager:
        with anyio.fail_after(5):
            await manager.handle_request(connection.scope, connection.receive, connection.send)
    capabilities = connection.json["result"]["capabilities"]
    promised = {family: capabilities[family]["listChanged"] for family in TOLD_FLAGS}
    assert promised == dict.fromkeys(TOLD_FLAGS, not stateless)


def test_a_low_level_server_says_what_its_notification_options_say() -> None:
    async def list_tools(
        ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[])

    def flag(options: NotificationOptions | None = None) -> bool | None:
        tools = server.create_initialization_options(options).capabilities.tools
        assert tools is not None
        return tools.list_changed

    server = Server("lists", on_list_tools=list_tools)
    assert flag() is False
    server.notification_options = NotificationOptions(tools_changed=True)
    assert flag() is True
    assert flag(NotificationOptions()) is False
