"""Streamable HTTP as it is deployed: hosts, mounts, gateways, sessions without end, idle streams."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from http import HTTPStatus
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
import pytest
from anyio.abc import SocketStream
from starlette.applications import Starlette
from starlette.routing import Mount

from mcp.client.client import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.cases import program
from tests.cases.ways import both_eras, eventually, plain_client, until
from tests.client.legacy_http import legacy
from tests.client.raw_http import Seen, modern, raw_server, response, tool_result
from tests.programs import free_port
from tests.programs import serving as running
from tests.server.http.legacy_client import headers_of, opening
from tests.server.http.serving import serving

GATEWAYS = [401, 403, 404, 413, 429, 500, 502]


@pytest.mark.rule("CASE-6")
@pytest.mark.parametrize("path", ["refused", "allowed"])
async def test_a_host_that_is_not_expected_is_named_together_with_the_cure(path: str) -> None:
    host = "127.0.0.1" if path == "refused" else "0.0.0.0"
    with serving(program.build().streamable_http_app(host=host)) as port:
        async with plain_client(port, headers={"host": "mcp.example.com"}) as http_client:
            answer = await http_client.post("/mcp", json=opening(), headers={"accept": "application/json"})
            if path == "allowed":
                assert answer.status_code == 200
                return
            assert answer.status_code in (403, 421)
            assert "mcp.example.com" in answer.text
            assert "allowed_hosts" in answer.text


def listing_app(servers: list[MCPServer[None]], *, with_lifespan: bool) -> Starlette:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for server in servers:
                await stack.enter_async_context(server.session_manager.run())
            yield

    routes = [Mount(f"/{number}", server.streamable_http_app()) for number, server in enumerate(servers)]
    return Starlette(routes=routes, lifespan=lifespan if with_lifespan else None)


@pytest.mark.rule("CASE-7")
@both_eras
async def test_mounted_servers_share_a_host_and_start_again(mode: str) -> None:
    servers = [program.build(), program.build()]
    for _ in range(2):
        with serving(listing_app(servers, with_lifespan=True)) as port:
            for number in range(2):
                async with Client(f"http://127.0.0.1:{port}/{number}/mcp", mode=mode) as client:
                    assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}


@pytest.mark.rule("CASE-7")
async def test_a_mounted_server_whose_manager_does_not_run_says_what_to_enter() -> None:
    app = listing_app([program.build()], with_lifespan=False)
    async with plain_client(8000, transport=httpx2.ASGITransport(app)) as client:
        with pytest.raises(RuntimeError, match=r"Make sure to use run\(\)"):
            await client.post("/0/mcp", json=opening(), headers={"accept": "application/json"})


@pytest.mark.rule("CASE-30")
@both_eras
@pytest.mark.parametrize("status", GATEWAYS)
@pytest.mark.parametrize("kind", ["text/html", "text/plain", None])
async def test_what_a_gateway_says_is_an_error_at_once(mode: str, status: int, kind: str | None) -> None:
    body = {"text/html": "<h1>ask the gatekeeper</h1>", "text/plain": "ask the gatekeeper", None: ""}[kind]

    async def refuse(seen: Seen, stream: SocketStream) -> None:
        await stream.send(response(body, kind, f"{status} Whatever"))

    serve = modern(refuse) if mode == "auto" else legacy(refuse)
    with anyio.fail_after(5):
        async with raw_server(serve) as server, Client(server.url, mode=mode) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("add")
    assert caught.value.data == {"httpStatus": status}
    if (status, mode) == (404, "legacy"):  # what a session hears that has been lost, twice
        assert caught.value.message == "Session terminated"
        return
    assert HTTPStatus(status).phrase in caught.value.message
    assert status == 404 or f"HTTP {status}" in caught.value.message
    assert ("ask the gatekeeper" in caught.value.message) is (body != "")


@pytest.mark.rule("CASE-67")
@both_eras
@pytest.mark.parametrize("tool", ["add", "count"])
async def test_calls_one_after_the_other_share_one_connection(mode: str, tool: str) -> None:
    app = program.build().streamable_http_app()

    async def counting(scope: dict[str, object], receive: object, send: object) -> None:
        if scope["type"] == "http":
            peers.add(str(scope["client"]))
        await app(scope, receive, send)  # pyright: ignore[reportArgumentType]

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    peers: set[str] = set()
    heard: list[float] = []
    arguments = {"a": 1, "b": 2} if tool == "add" else {"steps": 1, "pause": 0}
    with serving(counting) as port, anyio.fail_after(30):
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client:
            await client.call_tool(tool, arguments, progress_callback=hear)
            await client.list_tools()
            before = set(peers)
            begun = anyio.current_time()
            for _ in range(50):
                await client.call_tool(tool, arguments, progress_callback=hear)
            assert anyio.current_time() - begun < 5
            assert peers == before
    assert len(heard) == (51 if tool == "count" else 0)


@pytest.mark.rule("CASE-8")
async def test_a_client_with_a_session_outlives_a_redeploy() -> None:
    port = free_port()
    arguments = [program.__file__, str(port)]
    with ExitStack() as servers, anyio.fail_after(60):
        url = servers.enter_context(running(arguments, port))
        async with Client(url, mode="legacy") as client:
            pids = [(await client.call_tool("pid")).structured_content]
            await anyio.to_thread.run_sync(servers.close)
            await anyio.to_thread.run_sync(servers.enter_context, running(arguments, port))
            pids += [(await client.call_tool("pid")).structured_content for _ in range(2)]
    first, second, third = pids
    assert first != second == third


@pytest.mark.rule("CASE-9")
async def test_sessions_that_nobody_ends_end_by_themselves(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    server = program.build()
    with serving(server.streamable_http_app(session_idle_timeout=0.2, max_sessions=5)) as port, anyio.fail_after(20):
        async with plain_client(port) as client:
            answers = [await client.post("/mcp", json=opening(), headers=plain_headers()) for _ in range(6)]
            assert [answer.status_code for answer in answers[:5]] == [200] * 5
            await eventually(lambda: server.session_manager.open_sessions == 0)
            again = await client.post("/mcp", json=opening(), headers=plain_headers())
            assert again.status_code == 200
            late = {**plain_headers(), "mcp-session-id": answers[0].headers["mcp-session-id"]}
            gone = await client.post("/mcp", json={"jsonrpc": "2.0", "id": 2, "method": "ping"}, headers=late)
            assert gone.status_code == 404


def plain_headers() -> dict[str, str]:
    return {name: value for name, value in headers_of({}).items() if name != "host"}


@pytest.mark.rule("CASE-33")
async def test_a_stream_that_is_not_read_holds_up_no_other_call() -> None:
    with serving(program.build().streamable_http_app()) as port, anyio.fail_after(20):
        async with plain_client(port) as client:
            session = (await client.post("/mcp", json=opening(), headers=plain_headers())).headers["mcp-session-id"]
            headers = {**plain_headers(), "mcp-session-id": session}
            params = {"name": "count", "arguments": {"steps": 20_000, "pause": 0}, "_meta": {"progressToken": 1}}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            async with client.stream("POST", "/mcp", json=body, headers=headers):
                params = {"name": "add", "arguments": {"a": 1, "b": 2}}
                body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
                answer = await client.post("/mcp", json=body, headers=headers)
                assert '"result":3' in answer.text.replace(" ", "")


@pytest.mark.rule("CASE-67")
async def test_the_end_of_a_raw_stream_is_not_waited_for_longer_than_its_answer() -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream.send(response(json.dumps(tool_result(seen))))

    with anyio.fail_after(10):
        async with raw_server(modern(answer)) as server, Client(server.url) as client:
            begun = anyio.current_time()
            for _ in range(20):
                await client.call_tool("add")
            assert anyio.current_time() - begun < 2


@pytest.mark.rule("CASE-8")
async def test_a_client_goes_on_where_a_server_has_forgotten_its_session(tmp_path: Path) -> None:
    server = program.build()
    note = tmp_path / "note"
    failures: list[MCPError] = []
    with serving(server.streamable_http_app()) as port, anyio.fail_after(30):
        sessions = server.session_manager._legacy._sessions

        async with Client(f"http://127.0.0.1:{port}/mcp", mode="legacy") as client:

            async def be_under_way() -> None:
                with pytest.raises(MCPError) as caught:
                    await client.call_tool("wait", {"path": str(note)})
                failures.append(caught.value)

            async def add() -> None:
                assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}

            await add()
            [first] = sessions
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(be_under_way)
                await until(note, "begun")
                async with plain_client(port) as http_client:
                    ended = await http_client.delete("/mcp", headers={"mcp-session-id": first})
                    assert ended.status_code == 200
                await add()
            await add()
            assert len(sessions) == 1
            assert first not in sessions
    assert [failure.is_local for failure in failures] == [True]
