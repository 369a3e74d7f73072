"""Progress, log messages, and news of changes."""

from __future__ import annotations

import warnings
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import mcp_types as types
from mcp.client.client import Client
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent, ToolsListChanged
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.subscriptions import InMemorySubscriptionBus
from tests.cases.program import build
from tests.cases.ways import both_eras, connected, eventually, every_way
from tests.server.http.serving import serving

LEVELS: tuple[types.LoggingLevel, ...] = (
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
)  # fmt: skip


@pytest.mark.rule("CASE-49")
@every_way
@both_eras
async def test_all_progress_comes_in_order_before_the_call_returns(way: str, mode: str) -> None:
    async def slow(progress: float, total: float | None, message: str | None) -> None:
        await anyio.sleep(0.001)
        heard.append(progress)

    heard: list[float] = []
    async with connected(way, mode) as client:
        await client.call_tool("count", {"steps": 100, "pause": 0}, progress_callback=slow)
        assert heard == list(range(100))
        assert not (await client.call_tool("count", {"steps": 3, "pause": 0})).is_error  # nobody listens
        await client.list_tools()
        assert len(heard) == 100


@pytest.mark.rule("CASE-49")
@both_eras
@pytest.mark.parametrize("options", [{"stateless_http": True}, {"json_response": True}])
async def test_progress_over_http_is_in_order_or_left_out(mode: str, options: dict[str, bool]) -> None:
    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    heard: list[float] = []
    with serving(build().streamable_http_app(**options)) as port, anyio.fail_after(10):  # pyright: ignore[reportArgumentType]
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client:
            assert not (await client.call_tool("count", {"steps": 20, "pause": 0}, progress_callback=hear)).is_error
            assert heard == ([] if "json_response" in options else list(range(20)))


@pytest.mark.rule("CASE-89")
@pytest.mark.parametrize("way", ["memory", "http"])
async def test_a_session_hears_what_is_as_severe_as_it_asked_for(way: str) -> None:
    async def call(ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        for level in LEVELS:
            await ctx.session.log(level, level)
        return types.CallToolResult(content=[])

    async def set_level(ctx: ServerRequestContext[Any, Any], params: types.SetLevelRequestParams) -> types.EmptyResult:
        return types.EmptyResult()

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(params.level)

    heard: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = Server("logs", on_call_tool=call, on_set_logging_level=set_level)  # pyright: ignore[reportDeprecated]
    with serving(server.streamable_http_app()) as port, anyio.fail_after(10):
        target = server if way == "memory" else f"http://127.0.0.1:{port}/mcp"
        async with (
            Client(target, mode="legacy", logging_callback=hear) as client,
            Client(target, mode="legacy") as other,
        ):
            assert client.server_capabilities.logging is not None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                await client.set_logging_level("error")  # pyright: ignore[reportDeprecated]
                await other.set_logging_level("debug")  # pyright: ignore[reportDeprecated]
            await client.call_tool("log")
    assert heard == ["error", "critical", "alert", "emergency"]


LIST_CHANGES = [
    "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
]  # fmt: skip


@pytest.mark.rule("CASE-48")
@every_way
async def test_a_burst_of_registrations_is_one_event_of_each_kind(way: str) -> None:
    async with connected(way, "auto") as client:
        assert announced_by(client) == [True] * 3
        wanted = client.listen(tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True)
        async with wanted as changes:
            for tool in ("grow", "shrink"):
                await client.call_tool(tool)
                heard = [await anext(changes) for _ in LIST_CHANGES]
                assert heard == [ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()]


@pytest.mark.rule("CASE-48")
@every_way
async def test_a_burst_of_registrations_is_one_notification_of_each_kind_for_a_legacy_session(way: str) -> None:
    async def hear(message: object) -> None:
        assert not isinstance(message, Exception)
        heard.append(getattr(message, "method"))  # noqa: B009

    def told() -> list[str]:
        return [method for method in heard if method in LIST_CHANGES]

    heard: list[str] = []
    async with connected(way, "legacy", message_handler=hear) as client:
        assert announced_by(client) == [True] * 3
        while not heard:  # over HTTP, what is told before the stand-alone stream is there is lost
            await client.call_tool("announce")
            await anyio.lowlevel.checkpoint()
        for tool in ("grow", "shrink"):
            await client.call_tool(tool)
        await eventually(lambda: len(told()) >= 2 * len(LIST_CHANGES))
        assert told() == LIST_CHANGES * 2


def announced_by(client: Client) -> list[bool | None]:
    """Whether the server says that it announces changes of its lists."""
    capabilities = client.server_capabilities
    families = (capabilities.tools, capabilities.prompts, capabilities.resources)
    return [None if family is None else family.list_changed for family in families]


class Recorder:
    """Keeps what a subscription says."""

    def __init__(self) -> None:
        self.heard: list[ServerEvent] = []
        self.ready = anyio.Event()
        self.changed = anyio.Event()

    async def listen(self, client: Client) -> None:
        async with client.listen(tools_list_changed=True) as subscription:
            self.ready.set()
            async for event in subscription:
                self.heard.append(event)
                self.changed.set()


@pytest.mark.rule("CASE-81")
async def test_two_servers_on_one_bus_tell_each_others_listeners() -> None:
    bus = InMemorySubscriptionBus()
    servers = [MCPServer(f"worker {number}", subscriptions=bus) for number in range(2)]

    async def change(ctx: Context) -> str:
        await ctx.notify_tools_changed()
        return "told"

    for server in servers:
        server.add_tool(change)
    recorder = Recorder()
    with anyio.fail_after(5):
        async with Client(servers[0]) as listening, Client(servers[1]) as calling:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(recorder.listen, listening)
                await recorder.ready.wait()
                await calling.call_tool("change")
                await recorder.changed.wait()
                tasks.cancel_scope.cancel()
    assert recorder.heard == [ToolsListChanged()]


@pytest.mark.rule("CASE-81")
async def test_a_bus_that_is_lost_is_logged_and_fails_no_call(caplog: pytest.LogCaptureFixture) -> None:
    class Lost(InMemorySubscriptionBus):
        async def publish(self, event: ServerEvent) -> None:
            raise ConnectionError("broker gone")

    async def change(ctx: Context) -> str:
        await ctx.notify_tools_changed()
        return "told"

    server = MCPServer("lonely", subscriptions=Lost())
    server.add_tool(change)
    async with Client(server) as client:
        result = await client.call_tool("change")
    assert "broker gone" in caplog.text
    assert "broker gone" not in str(result.content)
