"""`Server.run()` on a pair of message streams."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.message import SessionMessage
from tests.server.lowlevel.wire import PREFIX, Pipe, meta, pipe

SERVED = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
Context = ServerRequestContext[Any, Any]
HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
    "clientInfo": {"name": "c", "version": "1"},
}


class Gate:
    """A server whose tool waits until it is let through."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.open = anyio.Event()
        self.cancelled = anyio.Event()
        self.server = Server("s", on_call_tool=self._call_tool)

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == "fast":
            return types.CallToolResult(content=[types.TextContent(type="text", text="fast")])
        self.started.set()
        try:
            await self.open.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise
        return types.CallToolResult(content=[types.TextContent(type="text", text="slow")])


async def test_a_modern_request_is_served() -> None:
    async with pipe(Gate().server) as client:
        await client.request(1, "tools/call", {"name": "fast"})
        answer = await client.result()
    assert answer.request_id == 1
    assert answer.result["content"] == [{"type": "text", "text": "fast"}]


@pytest.mark.rule("LOW-27", "LOW-D6", "VER-N-05", "TROUBLE-10")
async def test_only_an_accepted_request_decides_the_era() -> None:
    async with pipe(Gate().server) as client:
        refused = {**meta(), PREFIX + "protocolVersion": "2099-01-01"}
        await client.request(1, "tools/list", {"_meta": refused})
        error = await client.error()
        assert (error.code, error.message) == (-32022, "Unsupported protocol version")
        assert error.data == {"supported": SERVED, "requested": "2099-01-01"}
        await client.request(2, "initialize", HELLO, modern=False)
        assert (await client.result()).result["protocolVersion"] == "2025-11-25"


@pytest.mark.rule("LOW-28", "LEG-L-01")
async def test_before_the_era_is_known_nothing_is_served_without_metadata() -> None:
    async with pipe(Gate().server) as client:
        await client.request(1, "server/discover", modern=False)
        error = await client.error()
        assert (error.code, error.message, error.data) == (-32601, "Method not found", "server/discover")
        await client.request(2, "tools/list", modern=False)
        error = await client.error()
        assert error.code == -32602
        assert error.message == "Invalid request parameters: the connection is not initialized"


@pytest.mark.rule("LOW-29", "BASE-M-12", "SERR-09", "VER-N-01")
async def test_on_a_modern_connection_each_request_needs_its_metadata() -> None:
    async with pipe(Gate().server) as client:
        await client.request(1, "server/discover")
        await client.result()
        await client.request(2, "tools/call", {"name": "fast"}, modern=False)
        error = await client.error()
        assert (error.code, error.message) == (
            -32602,
            "params._meta must be an object carrying the required 'io.modelcontextprotocol/protocolVersion' "
            "and 'io.modelcontextprotocol/clientCapabilities' envelope keys",
        )
        await client.request(3, "tools/call", {"name": "fast", "_meta": {PREFIX + "protocolVersion": "2026-07-28"}})
        error = await client.error()
        assert error.message == (
            "params._meta is missing the required envelope key(s): io.modelcontextprotocol/clientCapabilities"
        )


@pytest.mark.rule("LOW-30", "VER-E-11", "SERR-16")
async def test_on_a_modern_connection_a_handshake_is_refused_naming_the_versions() -> None:
    async with pipe(Gate().server) as client:
        await client.request(1, "server/discover")
        await client.result()
        await client.request(2, "initialize", {"protocolVersion": "2025-06-18"}, modern=False)
        error = await client.error()
    assert (error.code, error.message) == (
        -32022,
        "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted",
    )
    assert error.data == {"supported": SERVED, "requested": "2025-06-18"}


@pytest.mark.rule("LOW-37", "BASE-S-02")
async def test_requests_run_concurrently_and_are_answered_in_order_of_completion() -> None:
    gate = Gate()
    async with pipe(gate.server) as client:
        await client.request("slow", "tools/call", {"name": "slow"})
        await gate.started.wait()
        await client.request("fast", "tools/call", {"name": "fast"})
        assert (await client.result()).request_id == "fast"
        gate.open.set()
        assert (await client.result()).request_id == "slow"


@pytest.mark.rule("LOW-D8")
async def test_an_id_that_is_in_flight_is_refused_and_the_first_request_is_unharmed() -> None:
    gate = Gate()
    async with pipe(gate.server) as client:
        await client.request(7, "tools/call", {"name": "slow"})
        await gate.started.wait()
        await client.request(7, "tools/call", {"name": "fast"})
        error = await client.error()
        assert (error.request_id, error.code, error.message) == (7, -32600, "request id already in flight")
        gate.open.set()
        assert (await client.result()).request_id == 7
        # An id may be used again once its request has been answered.
        await client.request(7, "tools/call", {"name": "fast"})
        assert (await client.result()).request_id == 7


@pytest.mark.rule("LOW-20", "CANC-10", "CANC-12", "MW-15", "STDIO-C-02", "STDIO-C-03")
async def test_a_cancelled_request_is_stopped_and_gets_no_answer() -> None:
    gate = Gate()
    async with pipe(gate.server) as client:
        await client.request(1, "tools/call", {"name": "slow"})
        await gate.started.wait()
        await client.send({"method": "notifications/cancelled", "params": {"requestId": 1, "reason": "enough"}})
        with anyio.fail_after(5):
            await gate.cancelled.wait()
        await client.request(2, "tools/call", {"name": "fast"})
        assert (await client.result()).request_id == 2


@pytest.mark.rule("CANC-13", "CANC-18")
@pytest.mark.parametrize("params", [None, {}, {"requestId": 99}, {"requestId": None}, {"requestId": [1]}])
async def test_a_cancellation_of_nothing_is_ignored(params: dict[str, Any] | None) -> None:
    async with pipe(Gate().server) as client:
        await client.send({"method": "notifications/cancelled", **({} if params is None else {"params": params})})
        await client.request(1, "tools/call", {"name": "fast"})
        assert (await client.result()).request_id == 1


@pytest.mark.rule("LOW-39")
async def test_at_end_of_input_running_calls_may_still_answer() -> None:
    gate = Gate()
    async with pipe(gate.server) as client:
        await client.request(1, "tools/call", {"name": "slow"})
        await gate.started.wait()
        await client.close()
        gate.open.set()
        assert (await client.result()).request_id == 1
        with pytest.raises(anyio.EndOfStream):
            await client.receive()


@pytest.mark.rule("LOW-39")
async def test_at_end_of_input_calls_that_do_not_end_are_cancelled_and_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.server._serve.SHUTDOWN_GRACE", 0.05)
    gate = Gate()
    async with pipe(gate.server) as client:
        await client.request(1, "tools/call", {"name": "slow"})
        await gate.started.wait()
        await client.close()
        error = await client.error()
        assert (error.request_id, error.code, error.message) == (1, -32000, "Connection closed")
        with anyio.fail_after(5):
            await gate.cancelled.wait()


@pytest.mark.rule("LOW-40")
async def test_what_a_transport_could_not_read_is_dropped() -> None:
    async with pipe(Gate().server) as client:
        await client.to_server.send(ValueError("not a message"))
        await client.request(1, "tools/call", {"name": "fast"})
        assert (await client.result()).request_id == 1


@pytest.mark.rule("LOW-41", "LOW-43", "LOW-58")
async def test_cancelling_run_cancels_the_handlers_and_ends_the_one_lifespan() -> None:
    events: list[str] = []
    running = anyio.Event()

    @asynccontextmanager
    async def lifespan(server: Server[dict[str, int]]) -> AsyncGenerator[dict[str, int]]:
        events.append("start")
        try:
            yield {"n": 1}
        finally:
            events.append("stop")

    async def call_tool(ctx: ServerRequestContext[dict[str, int]], params: Any) -> types.CallToolResult:
        if params.name == "look":
            return types.CallToolResult(content=[], structured_content=ctx.lifespan_context)
        running.set()
        try:
            await anyio.sleep_forever()
        finally:
            events.append("handler")
        raise AssertionError

    async with pipe(Server("s", lifespan=lifespan, on_call_tool=call_tool)) as client:
        for number in range(2):
            await client.request(number, "tools/call", {"name": "look"})
            assert (await client.result()).result["structuredContent"] == {"n": 1}
        await client.request(2, "tools/call", {"name": "wait"})
        await running.wait()
    assert events == ["start", "handler", "stop"]


@pytest.mark.rule("LOW-D9")
async def test_raise_exceptions_answers_as_usual_and_then_raises_the_exception_itself() -> None:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        raise LookupError("boom")

    server = Server("s", on_call_tool=call_tool)
    to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception](10)
    server_writes, from_server = anyio.create_memory_object_stream[SessionMessage](10)
    request = types.JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call", params={"name": "x", "_meta": meta()})
    async with to_server, from_server:
        await to_server.send(SessionMessage(request))
        with anyio.fail_after(5), pytest.raises(LookupError, match="boom"):
            await server.run(server_reads, server_writes, server.create_initialization_options(), raise_exceptions=True)
        answer = (await from_server.receive()).message
    assert isinstance(answer, types.JSONRPCError)
    assert (answer.error.code, answer.error.message) == (-32603, "Internal server error")


@pytest.mark.rule("LOW-6", "BASE-J-15")
async def test_notifications_reach_their_handler_and_failures_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Note(types.NotificationParams):
        n: int

    seen: list[int] = []
    told = anyio.Event()

    async def note(ctx: Context, params: Note) -> None:
        if params.n == 2:
            raise RuntimeError("noted wrongly")
        seen.append(params.n)
        if params.n == 3:
            told.set()

    server = Gate().server
    server.add_notification_handler("com.example/note", Note, note)
    async with pipe(server) as client:
        await client.send({"method": "notifications/unknown"})
        for params in ({"n": 1}, {"n": "x"}, {"n": 2}):
            await client.send({"method": "com.example/note", "params": params})
        await client.request(1, "tools/call", {"name": "fast"})
        await client.result()
        await client.send({"method": "com.example/note", "params": {"n": 3}})
        with anyio.fail_after(5):
            await told.wait()
    assert seen == [1, 3]
    assert "Dropping the notification 'com.example/note': invalid params ['n']" in caplog.text
    assert "noted wrongly" in caplog.text


@pytest.mark.rule("TR-08", "BASE-M-22")
async def test_messages_of_a_request_go_to_its_pipe_before_the_answer() -> None:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        await ctx.session.report_progress(1, 2)
        return types.CallToolResult(content=[])

    async with pipe(Server("s", on_call_tool=call_tool)) as client:
        await client.request(1, "tools/call", {"name": "x", "_meta": meta(progressToken="t")})
        note = await client.notification()
        assert (note.method, note.params) == (
            "notifications/progress",
            {"progressToken": "t", "progress": 1, "total": 2},
        )
        await client.result()


@pytest.mark.rule("TR-02")
async def test_an_answer_that_nobody_waits_for_is_ignored() -> None:
    async with pipe(Gate().server) as client:
        await client.send({"id": 5, "result": {}})
        await client.request(1, "tools/call", {"name": "fast"})
        assert (await client.result()).request_id == 1


@pytest.mark.rule("SUB-14", "SUB-11", "CANC-05", "CANC-06", "CANC-07")
async def test_the_end_of_a_subscription_is_told_after_its_result_and_no_other_requests() -> None:
    handler = ListenHandler(InMemorySubscriptionBus())
    gate = Gate()
    gate.server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, handler)
    subscription = "io.modelcontextprotocol/subscriptionId"
    async with pipe(gate.server) as client:
        for number in (1, 2):
            await client.request(number, "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            note = await client.notification()
            assert (note.method, (note.params or {})["_meta"]) == (
                "notifications/subscriptions/acknowledged",
                {subscription: number},
            )
        await client.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        await client.request(3, "tools/call", {"name": "fast"})
        assert (await client.result()).request_id == 3
        handler.close()
        end = await client.result()
        assert (end.request_id, end.result["_meta"][subscription]) == (2, 2)
        farewell = await client.notification()
        assert farewell.method == "notifications/cancelled"
        assert (farewell.params or {})["requestId"] == 2
        await client.request(4, "tools/call", {"name": "fast"})
        assert (await client.result()).request_id == 4
        await anyio.wait_all_tasks_blocked()
        assert client.from_server.statistics().current_buffer_used == 0


@pytest.mark.rule("CANC-16", "LEG-C-09")
async def test_the_reason_of_a_cancellation_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    with caplog.at_level(logging.DEBUG, "mcp"):
        async with pipe(gate.server) as client:
            await client.request(1, "tools/call", {"name": "slow"})
            await gate.started.wait()
            await client.send({"method": "notifications/cancelled", "params": {"requestId": 1, "reason": "had enough"}})
            with anyio.fail_after(5):
                await gate.cancelled.wait()
    assert "had enough" in caplog.text


FLOODS: dict[str, dict[str, Any]] = {
    "an id in flight": {"id": "same", "method": "tools/call", "params": {"name": "x"}},
    "another era": {"id": None, "method": "ping", "params": {"_meta": meta()}},
    "an unknown method": {"id": None, "method": "no/such"},
    "notifications": {"method": "acme/slow"},
}


@pytest.mark.parametrize("flood", FLOODS)
async def test_a_client_that_floods_and_does_not_read_is_read_no_further(flood: str) -> None:
    async def wait(ctx: Context, params: Any) -> Any:
        await anyio.sleep_forever()

    server = Server("s", on_call_tool=wait)
    server.add_notification_handler("acme/slow", types.NotificationParams, wait)
    to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception](5000)
    server_writes, from_server = anyio.create_memory_object_stream[SessionMessage](1)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks, to_server, from_server:
            tasks.start_soon(server.run, server_reads, server_writes, server.create_initialization_options())
            client = Pipe(to_server, from_server)
            await client.request("hello", "initialize", HELLO, modern=False)
            await client.result()
            for number in range(3000):
                message = FLOODS[flood]
                await client.send({**message, "id": number} if message.get("id", 0) is None else message)
            await anyio.wait_all_tasks_blocked()
            assert 1900 < to_server.statistics().current_buffer_used < 2000
            tasks.cancel_scope.cancel()
