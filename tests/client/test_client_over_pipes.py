"""`Client` over transports that are pipes: the ladder down to the handshake, and the transport's life."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp.client.client import Client
from mcp.client.transports import InMemoryTransport, TransportStreams
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from tests.client.raw_pipe import RawServer, Wire
from tests.client.scripted import DISCOVERY

Context = ServerRequestContext[Any, Any]
Serve = Callable[[RawServer], Coroutine[Any, Any, object]]


@asynccontextmanager
async def connected(serve: Serve, **options: Any) -> AsyncGenerator[tuple[Client, RawServer]]:
    """A client, while the server's end does what it is told."""
    wire = Wire()

    async def run() -> None:
        await wire.connected.wait()
        await serve(wire.server)

    failures: list[Exception] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        try:
            async with Client(wire.connect(), **options) as client:
                yield client, wire.server
        except Exception as error:
            failures.append(error)
        tasks.cancel_scope.cancel()
    assert wire.log == ["entered", "left"]
    if failures:
        raise failures[0]


def refusing(code: int, data: Any = None, *, for_good: bool = False) -> Serve:
    """Refuse the probe, then shake hands."""

    async def serve(server: RawServer) -> None:
        await server.refuse(await server.request("server/discover"), code, "no", data)
        if not for_good:
            await server.shake_hands()

    return serve


def discovering(result: dict[str, Any]) -> Serve:
    async def serve(server: RawServer) -> None:
        await server.answer(await server.request("server/discover"), result)
        if "2026-07-28" not in result.get("supportedVersions", ()):
            await server.shake_hands()

    return serve


@pytest.mark.rule("CLIENT-23", "CLIENT-25", "CLIENT-18", "CASE-23", "CLIENT-34", "VER-E-05", "VER-E-08", "VER-M-05")
@pytest.mark.parametrize(
    "serve",
    [
        refusing(-32601),
        refusing(-32600),
        refusing(-32602),
        refusing(-32603),
        refusing(-32000),
        refusing(-32022, {"supported": ["2025-06-18"]}),
        discovering({"not": "a discovery"}),
        discovering({**DISCOVERY, "supportedVersions": ["2025-11-25"]}),
        discovering({**DISCOVERY, "supportedVersions": ["2099-01-01"]}),
    ],
)
async def test_a_server_that_is_not_modern_is_shaken_hands_with(serve: Serve) -> None:
    async with connected(serve) as (client, server):
        assert client.protocol_version == "2025-11-25"
        assert client.session.initialize_result is not None
        assert client.session.discover_result is None
        assert client.server_info is not None
        assert (client.server_info.name, client.instructions) == ("raw", "Be kind.")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.list_tools)
            listing = await server.request("tools/list")
            assert (listing.request_id, listing.params) == (3, None)
            await server.answer(listing, {"tools": []})


@pytest.mark.rule("CLIENT-25", "VER-E-07", "STDIO-B-03")
@pytest.mark.parametrize(
    ("code", "data"),
    [
        (-32022, {"supported": ["2099-01-01"]}),
        (-32022, None),
        (-32020, None),
        (-32021, {"requiredCapabilities": {}}),
    ],
)
async def test_a_refusal_that_proves_a_modern_server_is_raised(code: int, data: Any) -> None:
    with pytest.raises(MCPError) as raised:
        async with connected(refusing(code, data, for_good=True)):
            raise AssertionError("connected")
    assert raised.value.code == code


@pytest.mark.rule("CLIENT-24", "TR-09", "STDIO-B-03", "VER-M-01")
async def test_a_refusal_that_names_a_shared_version_is_probed_once_more() -> None:
    async def serve(server: RawServer) -> None:
        await server.refuse(await server.request("server/discover"), -32022, "no", {"supported": ["2026-07-28"]})
        await server.answer(await server.request("server/discover"), DISCOVERY)

    async with connected(serve) as (client, _):
        assert client.protocol_version == "2026-07-28"
        assert client.session.initialize_result is None


@pytest.mark.rule("CLIENT-23", "CLIENT-28", "VER-M-05")
async def test_a_server_that_does_not_answer_the_probe_is_shaken_hands_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.client._opening.DISCOVER_TIMEOUT_SECONDS", 0.01)

    async def serve(server: RawServer) -> None:
        probe = await server.request("server/discover")
        await server.shake_hands()
        await server.answer(probe, DISCOVERY)

    async with connected(serve) as (client, _):
        assert client.protocol_version == "2025-11-25"


@pytest.mark.rule("CLIENT-26")
async def test_a_slow_modern_server_is_probed_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.client._opening.DISCOVER_TIMEOUT_SECONDS", 0.01)

    async def serve(server: RawServer) -> None:
        await server.request("server/discover")
        hello = await server.request("initialize")
        monkeypatch.undo()  # before the answer that makes the client probe again
        await server.refuse(hello, -32022, "no", {"supported": ["2026-07-28"]})
        await server.answer(await server.request("server/discover"), DISCOVERY)

    async with connected(serve) as (client, _):
        assert client.protocol_version == "2026-07-28"


@pytest.mark.rule("CLIENT-26")
async def test_a_second_refusal_of_a_slow_server_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.client._opening.DISCOVER_TIMEOUT_SECONDS", 0.01)

    async def serve(server: RawServer) -> None:
        await server.request("server/discover")
        hello = await server.request("initialize")
        monkeypatch.undo()  # before the answer that makes the client probe again
        await server.refuse(hello, -32022, "first", {"supported": ["2026-07-28"]})
        await server.refuse(await server.request("server/discover"), -32022, "second", {"supported": ["2026-07-28"]})

    with pytest.raises(MCPError, match=r"^second$"):
        async with connected(serve):
            raise AssertionError("connected")


@pytest.mark.rule("CLIENT-27", "TROUBLE-6", "DISC-07")
async def test_a_server_that_ends_on_the_probe_is_a_closed_connection() -> None:
    async def serve(server: RawServer) -> None:
        await server.request("server/discover")
        await server.close()

    with anyio.fail_after(5):
        with pytest.raises(MCPError) as raised:
            async with connected(serve):
                raise AssertionError("connected")
    assert (raised.value.code, raised.value.message) == (-32000, "Connection closed")


@pytest.mark.rule("CLIENT-19")
async def test_the_legacy_mode_never_probes() -> None:
    async def serve(server: RawServer) -> None:
        hello = await server.shake_hands()
        assert hello.request_id == 1

    async with connected(serve, mode="legacy") as (client, server):
        assert client.protocol_version == "2025-11-25"
        assert server.silent()


@pytest.mark.rule("CLIENT-20")
async def test_a_pin_sends_nothing_over_a_pipe() -> None:
    async def serve(server: RawServer) -> None: ...

    async with connected(serve, mode="2026-07-28") as (client, server):
        assert client.protocol_version == "2026-07-28"
        assert server.silent()


@pytest.mark.rule("TRANSPORT-2")
async def test_faults_reach_the_message_handler() -> None:
    heard: list[Any] = []
    told = anyio.Event()

    async def handle(message: Any) -> None:
        heard.append(message)
        told.set()

    async with connected(RawServer.shake_hands, mode="legacy", message_handler=handle) as (_, server):
        fault = ValueError("no JSON")
        await server.fault(fault)
        with anyio.fail_after(5):
            await told.wait()
        assert heard == [fault]


# --- the transport's life ---------------------------------------------------------------------------------------------


class Broken:
    """A transport whose entering, running or leaving fails."""

    def __init__(self, when: str) -> None:
        self.when = when
        self.wire = Wire()
        self._inner = self.wire.connect()

    async def __aenter__(self) -> TransportStreams:
        if self.when == "enter":
            raise FileNotFoundError("no such program")
        return await self._inner.__aenter__()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        await self._inner.__aexit__(exc_type, exc, traceback)
        async with anyio.create_task_group():
            raise OSError("cannot leave")


@pytest.mark.rule("CLIENT-D4", "CLIENT-16", "TRANSPORT-1")
@pytest.mark.parametrize(("when", "error"), [("enter", FileNotFoundError), ("leave", OSError)])
async def test_what_a_transport_raises_is_raised_bare(when: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        async with Client(Broken(when), mode="2026-07-28"):
            assert when == "leave"


@pytest.mark.rule("CLIENT-D4")
async def test_an_exception_of_the_block_is_not_hidden_by_one_of_the_transport(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(KeyError):
        async with Client(Broken("leave"), mode="2026-07-28"):
            raise KeyError("mine")
    assert "cannot leave" in caplog.text


async def test_a_transport_that_breaks_down_fails_what_waits() -> None:
    broken = anyio.Event()

    @asynccontextmanager
    async def transport() -> AsyncGenerator[TransportStreams]:
        async def break_down() -> None:
            await broken.wait()
            raise OSError("broke down")

        async with wire.connect() as streams, anyio.create_task_group() as tasks:
            tasks.start_soon(break_down)
            yield streams

    wire = Wire()
    client = Client(transport(), mode="2026-07-28")
    with anyio.fail_after(5):
        await client.__aenter__()
        async with anyio.create_task_group() as tasks:

            async def break_down_later() -> None:
                await wire.server.request("tools/list")
                broken.set()

            tasks.start_soon(break_down_later)
            with pytest.raises(MCPError) as raised:
                await client.list_tools()
            assert raised.value.code == -32000
        with pytest.raises(OSError, match="broke down"):
            await client.__aexit__(None, None, None)


async def test_something_that_yields_no_pair_of_streams_is_named() -> None:
    @asynccontextmanager
    async def lonely() -> AsyncGenerator[Any]:
        yield 3

    with pytest.raises(TypeError, match="read_stream, write_stream"):
        async with Client(lonely()):
            raise AssertionError("connected")


@pytest.mark.rule("CASE-21", "CLIENT-14", "CLIENT-15")
async def test_clients_are_left_in_any_order_and_from_any_task() -> None:
    with anyio.fail_after(5):
        first, second = [Client(InMemoryTransport(server()), mode=mode) for mode in ("auto", "legacy")]
        third = Client(server(), mode="legacy")
        async with anyio.create_task_group() as tasks:
            for client in (first, second, third):
                tasks.start_soon(client.__aenter__)
        await second.list_tools()
        await first.__aexit__(None, None, None)
        await third.list_tools()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(third.__aexit__, None, None, None)
        await second.list_tools()
        await second.__aexit__(None, None, None)
        with pytest.raises(RuntimeError, match="within an async context"):
            await first.list_tools()


@pytest.mark.rule("CASE-21")
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_clients_that_are_never_left_end_with_their_event_loop(backend: str) -> None:
    async def forget() -> None:
        for client in (Client(InMemoryTransport(server())), Client(server(), mode="legacy")):
            await client.__aenter__()
            await client.list_tools()

    anyio.run(forget, backend=backend)


@pytest.mark.rule("TRANSPORT-18", "CASE-4")
async def test_a_cancelled_client_still_closes_its_transport() -> None:
    wire = Wire()
    with anyio.fail_after(5):
        with anyio.CancelScope() as scope:
            async with Client(wire.connect(), mode="2026-07-28"):
                scope.cancel()
                await anyio.sleep_forever()
        assert wire.log == ["entered", "left"]
        wire = Wire()
        with anyio.move_on_after(0.02):
            async with Client(wire.connect()):
                raise AssertionError("connected")
    assert wire.log == ["entered", "left"]


# --- a server object behind a pipe ------------------------------------------------------------------------------------


def server() -> Server[Any]:
    async def list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="ask", input_schema={"type": "object"})])

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if ctx.session.can_send_request:
            answer = await ctx.session.elicit_form("where?", {"type": "object", "properties": {}})
            text = answer.action
        else:
            text = "not asked"
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return Server("piped", on_list_tools=list_tools, on_call_tool=call_tool)


@pytest.mark.rule("TRANSPORT-1", "VER-2", "VER-5")
@pytest.mark.parametrize(
    ("mode", "version", "text"),
    [
        ("auto", "2026-07-28", "not asked"),
        ("2026-07-28", "2026-07-28", "not asked"),
        ("legacy", "2025-11-25", "decline"),
    ],
)
async def test_both_eras_are_spoken_over_a_transport(mode: str, version: str, text: str) -> None:
    async def decline(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    with anyio.fail_after(5):
        async with Client(InMemoryTransport(server()), mode=mode, elicitation_callback=decline) as client:
            assert client.protocol_version == version
            assert [tool.name for tool in (await client.list_tools()).tools] == ["ask"]
            result = await client.call_tool("ask")
    assert result.content == [types.TextContent(type="text", text=text)]
