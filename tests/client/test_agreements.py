"""What a client keeps to for as long as it lives: the era of its server, its time limits, what it declares."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketStream

import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types.jsonrpc import REQUEST_TIMEOUT
from tests.client.legacy_http import legacy, method_of
from tests.client.raw_http import Seen, modern, raw_server, response
from tests.client.raw_pipe import AGREED, RawServer
from tests.client.scripted import DISCOVERY
from tests.client.test_client_over_pipes import connected
from tests.client.test_handshake import piped
from tests.mcpserver.test_extensions import Stamps

both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])
NOT_FOUND = {"code": -32601, "message": "Method not found"}


@pytest.mark.rule("VER-E-09")
@both_eras
async def test_the_era_of_an_http_server_is_found_out_once_whatever_it_answers_later(mode: str) -> None:
    async def refuse(seen: Seen, stream: SocketStream) -> None:
        statuses = ["404 Not Found", "400 Bad Request", "200 OK", "500 Internal Server Error"]
        body = json.dumps({"jsonrpc": "2.0", "id": seen.message["id"], "error": NOT_FOUND})
        await stream.send(response(body, status=statuses[len(server.seen) % 4]))

    answers = legacy(refuse) if mode == "legacy" else modern(refuse)
    async with raw_server(answers) as server, Client(server.url, mode=mode) as client:
        version = client.protocol_version
        for _ in range(8):
            with pytest.raises(MCPError):
                await client.call_tool("add")
        assert client.protocol_version == version
    methods = [method_of(seen) for seen in server.seen]
    assert methods.count("server/discover") == (mode == "auto")
    assert ("initialize" in methods) == (mode == "legacy")


@pytest.mark.rule("VER-E-09")
@both_eras
async def test_the_era_of_a_pipe_is_found_out_once_whatever_is_answered_later(mode: str) -> None:
    async def serve(server: RawServer) -> None:
        if mode == "legacy":
            await server.shake_hands()
        else:
            await server.answer(await server.request("server/discover"), DISCOVERY)
        for code in (-32601, -32602, -32022, -32000):
            await server.refuse(await server.request("tools/call"), code)

    async with connected(serve, mode=mode) as (client, _):
        version = client.protocol_version
        for _ in range(4):
            with pytest.raises(MCPError, match="no"):
                await client.call_tool("add")
        assert client.protocol_version == version


Verb: TypeAlias = Callable[[ClientSession], Awaitable[object]]

VERBS: list[Verb] = [
    lambda session: session.list_tools(),
    lambda session: session.list_prompts(),
    lambda session: session.list_resources(),
    lambda session: session.list_resource_templates(),
    lambda session: session.call_tool("x"),
    lambda session: session.get_prompt("x"),
    lambda session: session.read_resource("x://y"),
    lambda session: session.complete(types.PromptReference(name="x"), {"name": "a", "value": ""}),
    lambda session: session.send_ping(),
    lambda session: session.set_logging_level("info"),  # pyright: ignore[reportDeprecated]
    lambda session: session.subscribe_resource("x://y"),  # pyright: ignore[reportDeprecated]
    lambda session: session.unsubscribe_resource("x://y"),  # pyright: ignore[reportDeprecated]
    lambda session: session.send_request(types.ListToolsRequest(), types.ListToolsResult),
]


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.rule("CANC-19")
@pytest.mark.parametrize("verb", VERBS)
async def test_one_setting_limits_the_time_of_every_request(verb: Verb) -> None:
    with anyio.fail_after(5):
        async with piped(read_timeout_seconds=0.02) as (session, _):
            session.adopt(types.InitializeResult.model_validate(AGREED))
            with pytest.raises(MCPError, match="timed out") as caught:
                await verb(session)
    assert (caught.value.code, caught.value.is_local) == (REQUEST_TIMEOUT, True)


@pytest.mark.rule("CANC-19")
@pytest.mark.parametrize("opening", ["initialize", "discover"])
async def test_the_setting_limits_the_opening_of_a_session_too(opening: str) -> None:
    with anyio.fail_after(5):
        async with piped(read_timeout_seconds=0.02) as (session, _):
            with pytest.raises(MCPError, match="timed out"):
                await (session.initialize() if opening == "initialize" else session.discover())


@pytest.mark.rule("LEG-G-05")
@pytest.mark.parametrize("own", [True, False])
async def test_a_flood_of_notifications_is_cut_and_named_once(own: bool, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[float] = []
    begun, go_on, all_sent = anyio.Event(), anyio.Event(), anyio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        begun.set()
        await go_on.wait()
        heard.append(progress)

    async def handle(message: Any) -> None:
        if not own:
            await on_progress(message.params.progress, None, None)

    async def serve(server: RawServer) -> None:
        await server.shake_hands()
        call = await server.request("tools/call")
        for progress in range(3000):
            params = {"progressToken": call.request_id if own else "nobody's", "progress": progress}
            await server.send({"method": "notifications/progress", "params": params})
            if not progress:
                await begun.wait()
        await server.answer(call, {"content": [], "isError": True})
        all_sent.set()

    async def call(client: Client) -> None:
        await client.call_tool("add", progress_callback=on_progress)

    with anyio.fail_after(20):
        async with connected(serve, mode="legacy", message_handler=handle) as (client, _):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call, client)
                await all_sent.wait()
                await anyio.wait_all_tasks_blocked()
                go_on.set()
            while len(heard) < 1025:
                await anyio.lowlevel.checkpoint()
    assert heard == [0, *range(3000 - 1024, 3000)]
    assert caplog.text.count("wait to be heard; dropping") == 1


@pytest.mark.rule("VER-C-11")
async def test_extensions_are_declared_by_both_sides_where_the_revision_has_them() -> None:
    seen: list[types.ClientCapabilities | None] = []
    mcp = MCPServer("s", extensions=[Stamps()])

    @mcp.tool()
    async def look(ctx: Context) -> None:
        seen.append(ctx.session.client_capabilities)

    mine: dict[str, dict[str, Any]] = {"acme.example/x": {"y": 1}}
    async with mcp.connect_in_process("auto", raise_exceptions=False) as link:
        async with ClientSession(link=link, extensions=mine) as session:
            assert (await session.discover()).capabilities.extensions == {Stamps.identifier: Stamps().settings()}
            await session.call_tool("look")
    [declared] = seen
    assert declared is not None
    assert declared.extensions == mine


@pytest.mark.rule("BASE-M-01")
@both_eras
@pytest.mark.parametrize("value", [None, 3, [], {}, "x", True])
async def test_odd_values_under_reserved_names_are_nobodys_problem(mode: str, value: Any) -> None:
    reserved = ["serverInfo", "subscriptionId", "logLevel", "clientInfo", "related-task", "unheard-of"]
    meta = {f"io.modelcontextprotocol/{name}": value for name in reserved} | {"traceparent": value, "baggage": value}
    result: dict[str, Any] = {"content": [], "_meta": meta}

    async def serve(server: RawServer) -> None:
        if mode == "legacy":
            await server.shake_hands({**AGREED, "_meta": meta})
        else:
            await server.answer(await server.request("server/discover"), {**DISCOVERY, "_meta": meta})
        call = await server.request("tools/call")
        await server.send({"method": "notifications/message", "params": {"level": "info", "data": 1, "_meta": meta}})
        await server.answer(call, result)
        await server.answer(await server.request("tools/list"), {"tools": []})

    heard: list[Any] = []

    async def handle(message: Any) -> None:
        heard.append(message)

    with anyio.fail_after(5):
        async with connected(serve, mode=mode, message_handler=handle, log_level="debug") as (client, _):
            answer = await client.call_tool("add")
    assert answer.meta == meta
    assert [type(message).__name__ for message in heard] == ["LoggingMessageNotification"]


@pytest.mark.rule("BASE-M-01")
@both_eras
@pytest.mark.parametrize("value", [None, 3, [], {}, "x", True])
async def test_a_server_serves_requests_with_odd_values_under_reserved_names(mode: str, value: Any) -> None:
    mcp = MCPServer("s")

    @mcp.tool()
    async def look(ctx: Context) -> str:
        await ctx.report_progress(1)
        return json.dumps(dict(ctx.request_context.meta or {})["traceparent"])

    meta: Any = {"traceparent": value, "tracestate": value, "io.modelcontextprotocol/unheard-of": value}
    async with Client(mcp, mode=mode) as client:
        answer = await client.call_tool("look", meta=meta)
    assert isinstance(answer.content[0], types.TextContent)
    assert json.loads(answer.content[0].text) == value


@pytest.mark.rule("VER-D-03")
async def test_what_the_protocol_will_remove_warns_and_works() -> None:
    mcp = MCPServer("s")
    warned: list[str] = []

    @mcp.tool()
    async def use(ctx: Context) -> list[str]:
        message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="hi"))
        session = ctx.request_context.session
        with pytest.warns(MCPDeprecationWarning) as caught:  # noqa: PT031
            answer = await session.create_message([message], max_tokens=5, include_context="thisServer")  # pyright: ignore[reportDeprecated]
            roots = await session.list_roots()  # pyright: ignore[reportDeprecated]
            await session.send_log_message("info", "hi", related_request_id=ctx.request_context.request_id)  # pyright: ignore[reportDeprecated]
        warned.extend(str(warning.message).split(" capability")[0] for warning in caught)
        return [answer.model, *[str(root.uri) for root in roots.roots]]

    async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        assert params.include_context == "thisServer"
        return {"role": "assistant", "content": {"type": "text", "text": "ok"}, "model": "m"}

    async def roots(context: ClientRequestContext) -> Any:
        return {"roots": [{"uri": "file:///work"}]}

    logged: list[Any] = []

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        logged.append(params.data)

    options: dict[str, Any] = {
        "sampling_callback": sample,
        "sampling_capabilities": types.SamplingCapability(context=types.SamplingContextCapability()),
        "list_roots_callback": roots,
        "logging_callback": log,
    }
    async with Client(mcp, mode="legacy", **options) as client:
        answer = await client.call_tool("use")
    assert answer.structured_content == {"result": ["m", "file:///work"]}
    assert (warned, logged) == (["The sampling", "The roots", "The logging"], ["hi"])
