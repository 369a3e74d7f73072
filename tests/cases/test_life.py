"""Clients that are entered here and closed there, and lifespans."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import TaskStatus
from starlette.applications import Starlette
from starlette.routing import Mount

from mcp.client.client import Client
from mcp.server.mcpserver import MCPServer
from tests.cases.program import build
from tests.cases.ways import MODES, WAYS, both_eras, child, every_way
from tests.server.http.serving import serving


@asynccontextmanager
async def target(way: str) -> AsyncGenerator[object]:
    """What clients connect to; several may."""
    with anyio.fail_after(30):
        if way == "http":
            with serving(build().streamable_http_app()) as port:
                yield f"http://127.0.0.1:{port}/mcp"
        else:
            yield build() if way == "memory" else child()


async def use(client: Client) -> None:
    assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}


@pytest.mark.rule("CASE-21")
@every_way
@both_eras
async def test_clients_may_be_closed_in_any_order(way: str, mode: str) -> None:
    async with target(way) as server:
        first, second, third = (Client(server, mode=mode) for _ in range(3))  # pyright: ignore[reportArgumentType]
        for client in (first, second, third):
            await client.__aenter__()
        await first.__aexit__(None, None, None)
        await use(second)
        await third.__aexit__(None, None, None)
        await use(second)
        await second.__aexit__(None, None, None)


@pytest.mark.rule("CASE-21")
@pytest.mark.parametrize(("way", "mode"), [(way, mode) for way in WAYS for mode in MODES])
async def test_a_client_may_be_entered_used_and_closed_in_different_tasks(way: str, mode: str) -> None:
    async def enter(*, task_status: TaskStatus[Client] = anyio.TASK_STATUS_IGNORED) -> None:
        client = Client(server, mode=mode)  # pyright: ignore[reportArgumentType]
        task_status.started(await client.__aenter__())

    async def leave(client: Client) -> None:
        await client.__aexit__(None, None, None)

    async with target(way) as server:
        clients: list[Client] = []
        for _ in range(2):
            async with anyio.create_task_group() as tasks:
                clients.append(await tasks.start(enter))
        for client in clients:
            await use(client)
        for client in clients:  # the one that came first leaves first, in a task of its own
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(leave, client)


@pytest.mark.rule("CASE-21")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio itself complains about what is forgotten
async def test_a_client_that_is_forgotten_makes_no_noise(caplog: pytest.LogCaptureFixture) -> None:
    async with target("memory") as server:
        client = await Client(server).__aenter__()  # pyright: ignore[reportArgumentType]
        await use(client)
        del client
        gc.collect()
    assert [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")] == []


def counting() -> tuple[MCPServer[None], list[str]]:
    events: list[str] = []

    @asynccontextmanager
    async def lifespan(_: MCPServer[None]) -> AsyncGenerator[None]:
        events.append("opened")
        try:
            yield
        finally:
            events.append("closed")

    async def add(a: int, b: int) -> int:
        assert events == ["opened"]
        return a + b

    return MCPServer("counted", lifespan=lifespan, tools=[add]), events


@pytest.mark.rule("CASE-22")
@both_eras
@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("mounted", [False, True])
async def test_a_lifespan_belongs_to_the_server_not_to_its_clients(mode: str, stateless: bool, mounted: bool) -> None:
    server, events = counting()
    app = server.streamable_http_app(stateless_http=stateless)
    if mounted:

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncGenerator[None]:
            async with server.session_manager.run():
                yield

        app = Starlette(routes=[Mount("/", app)], lifespan=lifespan)
    with serving(app) as port, anyio.fail_after(20):
        assert events == ["opened"]
        for _ in range(3):
            async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client:
                await use(client)
                await use(client)
        assert events == ["opened"]
    assert events == ["opened", "closed"]


@pytest.mark.rule("CASE-22")
@both_eras
async def test_a_lifespan_is_closed_when_its_client_is_cancelled(mode: str) -> None:
    server, events = counting()
    with anyio.fail_after(5), contextlib.suppress(TimeoutError):
        with anyio.move_on_after(5) as scope:
            async with Client(server, mode=mode) as client:
                await use(client)
                scope.cancel()
                await anyio.sleep_forever()
    assert events == ["opened", "closed"]


@pytest.mark.rule("CASE-22")
@both_eras
async def test_a_lifespan_that_fails_stops_the_start(mode: str) -> None:
    @asynccontextmanager
    async def lifespan(_: MCPServer[None]) -> AsyncGenerator[None]:
        raise ConnectionError("no database")
        yield

    with pytest.raises(ConnectionError, match="no database"):
        async with Client(MCPServer("broken", lifespan=lifespan), mode=mode):
            raise AssertionError("connected")


@pytest.mark.rule("CASE-22", "CASE-23")
async def test_a_lifespan_is_shared_by_clients_that_find_a_server_of_http_and_sse() -> None:
    server, events = counting()
    with serving(server.sse_app()) as port, anyio.fail_after(20):
        assert events == ["opened"]
        for _ in range(2):
            async with Client(f"http://127.0.0.1:{port}/sse") as client:
                assert client.protocol_version == "2025-11-25"
                await use(client)
        assert events == ["opened"]
    assert events == ["opened", "closed"]
