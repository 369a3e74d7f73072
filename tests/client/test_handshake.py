"""Sessions of the handshake era over a pair of streams: opening, requests, what the server asks and tells, the end."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp._protocol.codec import InvalidServerResult
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared.exceptions import MCPError
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import ClientMessageMetadata
from mcp_types.jsonrpc import CONNECTION_CLOSED, ErrorData
from tests.client.raw_pipe import AGREED, RawServer
from tests.client.scripted import DISCOVERY

FORM: dict[str, Any] = {"message": "where?", "requestedSchema": {"type": "object", "properties": {}}}
PROMPT: dict[str, Any] = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5}


@asynccontextmanager
async def piped(**options: Any) -> AsyncGenerator[tuple[ClientSession, RawServer]]:
    """A session over streams, entered, and the server's end."""
    async with create_client_server_memory_streams() as (mine, theirs):
        async with ClientSession(*mine, **options) as session:
            yield session, RawServer(theirs)


@asynccontextmanager
async def opened(result: dict[str, Any] = AGREED, **options: Any) -> AsyncGenerator[tuple[ClientSession, RawServer]]:
    """The same after a handshake."""
    async with piped(**options) as (session, server), anyio.create_task_group() as tasks:
        tasks.start_soon(server.shake_hands, result)
        await session.initialize()
        yield session, server


async def while_answering(call: Coroutine[Any, Any, Any], answer: Callable[[], Coroutine[Any, Any, object]]) -> Any:
    """Wait for a call while the server's end answers it."""
    failures: list[Exception] = []
    result: Any = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(answer)
        try:
            result = await call
        except Exception as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return result


async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"a": "b"})


async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    return types.CreateMessageResult(
        role="assistant", content=types.TextContent(type="text", text="ok"), model="m", stop_reason="endTurn"
    )


async def roots(context: ClientRequestContext) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[])


# --- opening ----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("SESSION-9", "CLIENT-19", "LEG-L-02", "LEG-L-04", "LEG-L-07", "LEG-L-08", "CLIENT-34", "VER-9")
async def test_a_handshake_offers_the_newest_legacy_version_and_is_confirmed_once() -> None:
    hellos: list[Any] = []
    async with piped() as (session, server), anyio.create_task_group() as tasks:

        async def serve() -> None:
            hellos.append(await server.shake_hands())

        tasks.start_soon(serve)
        result = await session.initialize()
        assert await session.initialize() is result
        assert session.initialize_result is result
        assert session.discover_result is None
        assert session.protocol_version == "2025-11-25"
        assert session.server_info is not None
        assert session.server_info.name == "raw"
        assert session.server_capabilities == types.ServerCapabilities(tools=types.ToolsCapability())
        assert session.instructions == "Be kind."
        assert server.silent()
    [hello] = hellos
    assert (hello.request_id, hello.params) == (
        1,
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "mcp", "version": "0.1.0"}},
    )


@pytest.mark.rule("CALLBACK-1", "CALLBACK-3", "SESSION-14", "CALLBACK-5", "CEXT-7")
@pytest.mark.rule("LEG-Q-01", "LEG-Q-05", "LEG-Q-08", "SAMP-7")
async def test_the_handshake_declares_what_the_callbacks_can_answer() -> None:
    declared: list[Any] = []
    options: dict[str, Any] = {
        "elicitation_callback": elicit,
        "sampling_callback": sample,
        "list_roots_callback": roots,
        "extensions": {"acme/x": {"y": 1}},
    }
    async with piped(**options) as (session, server), anyio.create_task_group() as tasks:

        async def serve() -> None:
            declared.append((await server.shake_hands()).params)

        tasks.start_soon(serve)
        await session.initialize()
    assert declared[0]["capabilities"] == {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {},
        "roots": {"listChanged": True},
        "extensions": {"acme/x": {"y": 1}},
    }


@pytest.mark.rule("CLIENT-30", "LEG-L-12", "VER-10", "LEG-L-16")
@pytest.mark.parametrize("version", ["2026-07-28", "1999-01-01"])
async def test_a_server_that_wants_an_unknown_version_is_not_spoken_to(version: str) -> None:
    async with piped() as (session, server), anyio.create_task_group() as tasks:

        async def serve() -> None:
            await server.answer(await server.request("initialize"), {**AGREED, "protocolVersion": version})

        tasks.start_soon(serve)
        with pytest.raises(RuntimeError, match=f"^Unsupported protocol version from the server: {version}$"):
            await session.initialize()
        assert session.protocol_version is None
    assert server.silent()


@pytest.mark.rule("CLIENT-30")
async def test_an_older_version_is_accepted_and_used() -> None:
    async with opened({**AGREED, "protocolVersion": "2024-11-05"}) as (session, _):
        assert session.protocol_version == "2024-11-05"


@pytest.mark.rule("CLIENT-26")
async def test_an_error_in_answer_to_the_handshake_is_raised() -> None:
    async with piped() as (session, server):

        async def refuse() -> None:
            await server.refuse(await server.request("initialize"), -32602, "no")

        with pytest.raises(MCPError, match=r"^no$"):
            await while_answering(session.initialize(), refuse)
        assert session.protocol_version is None


@pytest.mark.rule("SESSION-12", "CLIENT-33", "VER-E-10")
async def test_an_earlier_handshake_can_be_adopted() -> None:
    async with piped() as (session, _):
        session.adopt(types.DiscoverResult.model_validate(DISCOVERY))
        session.adopt(types.InitializeResult.model_validate(AGREED))
        assert (session.protocol_version, session.discover_result) == ("2025-11-25", None)
        with pytest.raises(RuntimeError, match=r"^Unsupported protocol version"):
            session.adopt(types.InitializeResult.model_validate({**AGREED, "protocolVersion": "2026-07-28"}))
        assert session.protocol_version == "2025-11-25"
        session.adopt(types.DiscoverResult.model_validate(DISCOVERY))
        assert (session.protocol_version, session.initialize_result) == ("2026-07-28", None)


@pytest.mark.rule("CLIENT-29", "LEG-C-03", "CANC-11")
async def test_giving_up_a_handshake_is_not_announced() -> None:
    async with piped(read_timeout_seconds=0.01) as (session, server):
        with pytest.raises(MCPError) as raised:
            await session.initialize()
        assert (raised.value.code, raised.value.message) == (-32001, "Request 'initialize' timed out")
        with pytest.raises(MCPError):
            await session.send_discover("2026-07-28")
        await server.request("initialize")
        await server.request("server/discover")
        assert server.silent()


async def test_a_subclass_sees_the_handshake_as_a_typed_request() -> None:
    class Watching(ClientSession):
        async def send_request(self, request: Any, *args: Any, **keywords: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            seen.append(type(request).__name__)
            return await super().send_request(request, *args, **keywords)

        async def send_notification(self, notification: Any) -> None:
            seen.append(type(notification).__name__)
            await super().send_notification(notification)

    seen: list[str] = []
    async with create_client_server_memory_streams() as (mine, theirs), Watching(*mine) as session:
        await while_answering(session.initialize(), RawServer(theirs).shake_hands)
    assert seen == ["InitializeRequest", "InitializedNotification"]


# --- requests ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("CLIENT-36", "CLIENT-37", "CLIENT-38", "LEG-J-08", "MRTR-64")
async def test_requests_carry_nothing_of_the_modern_era() -> None:
    async with opened(log_level="debug") as (session, server):
        page = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}
        sent: list[Any] = []

        async def answer(result: dict[str, Any]) -> None:
            request = await server.request()
            sent.append((request.method, request.params))
            await server.answer(request, result)

        await while_answering(session.list_tools(), lambda: answer(page))
        meta: Any = {"acme/x": 1}
        await while_answering(session.send_ping(meta=meta), lambda: answer({}))
        call = session.call_tool(
            "add", {}, input_responses={"a": types.ElicitResult(action="decline")}, request_state="s"
        )
        await while_answering(call, lambda: answer({"content": []}))
    assert sent == [
        ("tools/list", None),
        ("ping", {"_meta": {"acme/x": 1}}),
        ("tools/call", {"name": "add", "arguments": {}}),
    ]


@pytest.mark.rule("CLIENT-47", "CLIENT-66", "LEG-D-07")
async def test_modern_members_of_results_are_ignored() -> None:
    modern = {"resultType": "input_required", "ttlMs": 5, "cacheScope": "public", "requestState": "s"}
    async with opened() as (session, server):

        async def answer(result: dict[str, Any]) -> None:
            await server.answer(await server.request(), {**result, **modern})

        listed = await while_answering(session.list_tools(), lambda: answer({"tools": []}))
        assert (listed.result_type, listed.ttl_ms, listed.cache_scope) == ("complete", 0, "private")
        prompt = await while_answering(
            session.get_prompt("p", allow_input_required=True), lambda: answer({"messages": []})
        )
        assert isinstance(prompt, types.GetPromptResult)
        pong = await while_answering(session.send_ping(), lambda: answer({}))
        assert pong.result_type is None


@pytest.mark.rule("CLIENT-50")
async def test_structured_content_is_an_object() -> None:
    async with opened() as (session, server):

        async def answer() -> None:
            await server.answer(await server.request(), {"content": [], "structuredContent": [1]})

        with pytest.raises(InvalidServerResult, match="structuredContent"):
            await while_answering(session.call_tool("add"), answer)


@pytest.mark.rule("CLIENT-58", "TRANSPORT-3")
async def test_headers_for_the_transport_are_those_of_the_era() -> None:
    tool = {
        "name": "add",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "integer", "x-mcp-header": "not a token"}}},
    }
    async with piped() as (session, server):
        heads: list[Any] = []

        async def shake_hands() -> None:
            hello = await server.request("initialize")
            heads.append(server.metadata)
            await server.answer(hello, AGREED)
            await server.notification("notifications/initialized")
            heads.append(server.metadata)

        await while_answering(session.initialize(), shake_hands)

        async def answer() -> None:
            await server.answer(await server.request(), {"tools": [tool]})
            heads.append(server.metadata)

        listed = await while_answering(session.list_tools(), answer)
        assert [found.name for found in listed.tools] == ["add"]
    legacy = ClientMessageMetadata(headers={"mcp-protocol-version": "2025-11-25"})
    assert heads == [None, legacy, legacy]

    async with piped() as (session, server):
        session.adopt(types.DiscoverResult.model_validate(DISCOVERY))

        async def answer_modern() -> None:
            await server.answer(await server.request(), {"messages": []})

        await while_answering(session.get_prompt("p"), answer_modern)
        assert server.metadata == ClientMessageMetadata(
            headers={"mcp-protocol-version": "2026-07-28", "mcp-method": "prompts/get", "mcp-name": "p"}
        )


@pytest.mark.rule("LEG-L-16", "LEG-C-08")
@pytest.mark.rule("CLIENT-D14", "CLIENT-69", "CLIENT-70", "CLIENT-71", "LEG-L-22", "LEG-L-23", "LEG-L-24", "LEG-C-07")
async def test_a_timeout_tells_the_server_and_leaves_the_session_usable() -> None:
    async with opened() as (session, server):
        with pytest.raises(MCPError) as raised:
            await session.call_tool("slow", None, 0.01)
        assert (raised.value.code, raised.value.message) == (-32001, "Request 'tools/call' timed out")
        call = await server.request("tools/call")
        farewell = await server.notification("notifications/cancelled")
        assert farewell.params == {"requestId": call.request_id, "reason": "timed out after 0.01s"}
        await server.answer(call, {"content": []})

        async def answer() -> None:
            await server.answer(await server.request("ping"), {})

        await while_answering(session.send_ping(), answer)


@pytest.mark.rule("CLIENT-70", "LEG-C-01", "LEG-C-11")
async def test_a_caller_that_is_cancelled_tells_the_server() -> None:
    async with opened(read_timeout_seconds=60) as (session, server):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.call_tool, "slow")
            await server.request("tools/call")
            tasks.cancel_scope.cancel()
        farewell = await server.notification("notifications/cancelled")
        assert farewell.params == {"requestId": 2, "reason": "caller cancelled"}


@pytest.mark.rule("SESSION-29")
async def test_an_answer_may_write_the_number_of_its_request_as_text() -> None:
    async with opened() as (session, server):

        async def answer() -> None:
            ping = await server.request("ping")
            await server.send({"id": str(ping.request_id), "result": {}})

        await while_answering(session.send_ping(), answer)


@pytest.mark.rule("CLIENT-73", "CLIENT-74", "CLIENT-75", "LEG-G-01", "LEG-G-05")
async def test_progress_comes_in_order_and_before_the_call_returns() -> None:
    heard: list[float] = []
    handled: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        await anyio.lowlevel.checkpoint()
        heard.append(progress)

    late = anyio.Event()

    async def handle(message: Any) -> None:
        handled.append(message)
        if len(handled) == 4:
            late.set()

    async with opened(message_handler=handle) as (session, server):

        async def tell(token: Any, progress: float) -> None:
            params = {"progressToken": token, "progress": progress}
            await server.send({"method": "notifications/progress", "params": params})

        async def answer() -> None:
            call = await server.request("tools/call")
            assert call.params == {"name": "x", "_meta": {"progressToken": call.request_id}}
            for progress in (1, 2, 3):
                await tell(call.request_id, progress)
            await server.answer(call, {"content": [], "isError": True})
            await tell(call.request_id, 4)

        await while_answering(session.call_tool("x", progress_callback=on_progress), answer)
        assert heard == [1, 2, 3]
        with anyio.fail_after(5):
            await late.wait()
    assert heard == [1, 2, 3]


@pytest.mark.rule("CLIENT-41", "CLIENT-81", "CLIENT-D19")
async def test_what_has_no_json_form_is_refused_and_nothing_is_sent() -> None:
    async with opened() as (session, server):
        for value in (float("nan"), object()):
            with pytest.raises(ValueError, match=r"NaN|serialize"):
                await session.call_tool("x", {"a": value})
        assert server.silent()

        async def answer() -> None:
            await server.answer(await server.request("ping"), {})

        await while_answering(session.send_ping(), answer)


# --- what the server asks ---------------------------------------------------------------------------------------------


@pytest.mark.rule("CALLBACK-7", "LEG-P-01", "LEG-Q-24")
async def test_a_ping_is_answered() -> None:
    async with opened() as (_, server):
        await server.send({"id": 7, "method": "ping"})
        assert await server.result() == {}


@pytest.mark.rule("LEG-Q-01", "LEG-Q-05", "LEG-Q-08")
@pytest.mark.rule("CALLBACK-8", "CALLBACK-14", "CALLBACK-15", "CALLBACK-19", "VER-5")
async def test_callbacks_answer_the_servers_questions() -> None:
    seen: list[Any] = []

    async def ask_user(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        seen.append((context.session, context.request_id, context.meta, params))
        return types.ElicitResult(action="decline")

    options: dict[str, Any] = {
        "elicitation_callback": ask_user, "sampling_callback": sample, "list_roots_callback": roots
    }  # fmt: skip
    schema = {"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    async with opened(**options) as (session, server):
        params = {"message": "m", "requestedSchema": schema, "_meta": {"acme/x": 1}}
        await server.send({"id": "q", "method": "elicitation/create", "params": params})
        assert await server.result() == {"action": "decline"}
        [(asked, request_id, meta, question)] = seen
        assert (asked, request_id, meta) == (session, "q", {"acme/x": 1})
        assert (question.mode, question.requested_schema) == ("form", schema)
        await server.send({"id": 8, "method": "sampling/createMessage", "params": PROMPT})
        assert await server.result() == {
            "role": "assistant",
            "content": {"type": "text", "text": "ok"},
            "model": "m",
            "stopReason": "endTurn",
        }
        await server.send({"id": 9, "method": "roots/list"})
        assert await server.result() == {"roots": []}


@pytest.mark.rule("LEG-L-15", "LEG-L-16", "BASE-A-07")
@pytest.mark.rule("CALLBACK-6", "CALLBACK-D2", "LEG-Q-03", "LEG-Q-10", "SSAMP-05", "ELICIT-20", "SAMP-8")
@pytest.mark.parametrize(
    ("method", "params", "options", "answer"),
    [
        ("roots/list", {}, {}, (-32601, "List roots not supported", None)),
        ("sampling/createMessage", PROMPT, {}, (-32600, "Sampling not supported", None)),
        ("elicitation/create", FORM, {}, (-32602, "Elicitation not supported", None)),
        (
            "elicitation/create",
            {"mode": "url", "message": "go", "url": "https://x", "elicitationId": "1"},
            {
                "elicitation_callback": elicit,
                "elicitation_capabilities": types.ElicitationCapability(form=types.FormElicitationCapability()),
            },
            (-32602, "Elicitation mode 'url' not supported", None),
        ),
        (
            "sampling/createMessage",
            {**PROMPT, "tools": []},
            {"sampling_callback": sample},
            (-32602, "Sampling with tools not supported", None),
        ),
    ],
)
async def test_what_was_not_declared_is_refused(
    method: str, params: dict[str, Any], options: dict[str, Any], answer: Any
) -> None:
    async with opened(**options) as (_, server):
        await server.send({"id": 7, "method": method, "params": params})
        assert await server.error() == answer


USES: dict[str, Any] = {"role": "assistant", "content": [{"type": "tool_use", "name": "t", "id": "1", "input": {}}]}
USED: dict[str, Any] = {"type": "tool_result", "toolUseId": "1", "content": []}
SAID: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "hi"}]}


@pytest.mark.rule("LEG-Q-06", "SERR-28")
@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([USES, SAID], "do not match"),
        ([USES, {"role": "user", "content": [USED, {"type": "text", "text": "hi"}]}], "only tool_result"),
        ([USES, {"role": "user", "content": [{**USED, "toolUseId": "2"}]}, SAID], "do not match"),
        ([{"role": "user", "content": [USED]}], "requires a previous message"),
        ([SAID, {"role": "user", "content": [USED]}], "do not match any tool_use"),
    ],
)
async def test_results_of_tools_that_answer_no_call_are_refused_before_a_model_sees_them(
    messages: list[Any], problem: str
) -> None:
    options: dict[str, Any] = {
        "sampling_callback": sample,
        "sampling_capabilities": types.SamplingCapability(tools=types.SamplingToolsCapability()),
    }
    async with opened(**options) as (_, server):
        await server.send(
            {"id": 7, "method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 5}}
        )
        code, message, _ = await server.error()
        assert (code, problem in message) == (-32602, True)
        good = [SAID, USES, {"role": "user", "content": [USED]}, USES]
        await server.send({"id": 8, "method": "sampling/createMessage", "params": {"messages": good, "maxTokens": 5}})
        assert (await server.result())["model"] == "m"


@pytest.mark.rule("LEG-Q-06")
async def test_a_user_who_refuses_a_question_to_the_model_is_an_error_of_its_own() -> None:
    refused = ErrorData(code=-1, message="User rejected sampling request")
    async with opened(sampling_callback=returning(refused)) as (_, server):
        await server.send({"id": 7, "method": "sampling/createMessage", "params": PROMPT})
        assert await server.error() == (-1, "User rejected sampling request", None)


@pytest.mark.rule("LEG-Q-07")
async def test_an_answer_that_the_servers_revision_cannot_hold_is_an_error() -> None:
    pieces = [{"type": "text", "text": text} for text in ("one", "two")]
    result = {"role": "assistant", "content": pieces, "model": "m"}
    for version in ("2025-06-18", "2025-11-25"):
        async with opened({**AGREED, "protocolVersion": version}, sampling_callback=returning(result)) as (_, server):
            await server.send({"id": 7, "method": "sampling/createMessage", "params": PROMPT})
            if version == "2025-11-25":
                assert await server.result() == result
            else:
                code, message, _ = await server.error()
                assert (code, "in 2 pieces" in message) == (-32603, True)


def returning(value: Any) -> Any:
    async def callback(context: Any, params: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    return callback


async def broken(context: Any, params: Any) -> Any:
    return types.ElicitResult.model_validate({"action": "secret"})


@pytest.mark.rule(
    "CALLBACK-9", "CALLBACK-10", "CALLBACK-D3", "CALLBACK-11", "CALLBACK-D4", "CALLBACK-12", "CALLBACK-13"
)
@pytest.mark.parametrize(
    ("callback", "answer"),
    [
        (returning(ErrorData(code=5, message="no", data=[1])), (5, "no", [1])),
        (returning(MCPError(6, "never", {"a": 1})), (6, "never", {"a": 1})),
        (returning(ValueError("secret")), (-32603, "The client's callback failed", None)),
        (broken, (-32603, "The client's callback failed", None)),
        (returning(None), (-32603, "Client callback returned an invalid result", None)),
        (returning(types.ListRootsResult(roots=[])), (-32603, "Client callback returned an invalid result", None)),
        (returning({"action": "secret"}), (-32603, "Client callback returned an invalid result", None)),
    ],
)
async def test_a_callback_that_gives_no_answer_is_an_error_that_tells_nothing_internal(
    callback: Any, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "mcp.client"):
        async with opened(elicitation_callback=callback) as (_, server):
            await server.send({"id": 7, "method": "elicitation/create", "params": FORM})
            assert await server.error() == answer
    assert bool(caplog.records) == (answer[0] == -32603)


async def test_an_answer_that_has_no_json_form_is_an_error_and_the_session_goes_on() -> None:
    async with opened(elicitation_callback=returning({"action": "accept", "content": {"a": float("nan")}})) as (
        _,
        server,
    ):
        await server.send({"id": 7, "method": "elicitation/create", "params": FORM})
        assert await server.error() == (-32603, "Internal server error", None)
        await server.send({"id": 8, "method": "ping"})
        assert await server.result() == {}


@pytest.mark.rule("CALLBACK-8")
async def test_a_callback_may_answer_in_wire_form() -> None:
    async with opened(elicitation_callback=returning({"action": "accept", "content": {"a": 1}})) as (_, server):
        await server.send({"id": 7, "method": "elicitation/create", "params": FORM})
        assert await server.result() == {"action": "accept", "content": {"a": 1}}


@pytest.mark.rule("CALLBACK-D5", "CALLBACK-16")
@pytest.mark.parametrize("answer", [types.ElicitResult(action="accept", content={"a": "b"}), None])
async def test_the_answer_to_a_url_carries_no_content(answer: Any) -> None:
    answer = answer or {"action": "accept", "content": {"a": "b"}}
    async with opened(elicitation_callback=returning(answer)) as (_, server):
        params = {"mode": "url", "message": "go", "url": "https://x", "elicitationId": "1"}
        await server.send({"id": 7, "method": "elicitation/create", "params": params})
        assert await server.result() == {"action": "accept"}


@pytest.mark.rule("SESSION-30", "CALLBACK-D4", "LEG-L-14")
async def test_params_that_cannot_be_read_and_unknown_methods_are_refused() -> None:
    async with opened(elicitation_callback=elicit) as (_, server):
        await server.send({"id": 7, "method": "elicitation/create", "params": {"message": 3}})
        code, message, _ = await server.error()
        assert (code, message) == (-32602, "Invalid request parameters")
        await server.send({"id": 8, "method": "acme/ask"})
        assert await server.error() == (-32601, "Method not found", "acme/ask")
    async with opened({**AGREED, "protocolVersion": "2025-03-26"}, elicitation_callback=elicit) as (_, server):
        await server.send({"id": 7, "method": "elicitation/create", "params": FORM})
        assert await server.error() == (-32601, "Method not found", "elicitation/create")


@pytest.mark.rule("CALLBACK-20", "SESSION-30", "VER-3", "TR-02")
@pytest.mark.parametrize("method", ["ping", "elicitation/create", "roots/list"])
async def test_a_modern_server_may_ask_nothing(method: str) -> None:
    async with piped(elicitation_callback=elicit) as (session, server):
        session.adopt(types.DiscoverResult.model_validate(DISCOVERY))
        await server.send({"id": 7, "method": method, "params": FORM})
        assert await server.error() == (-32601, "Method not found", method)


@pytest.mark.rule("CALLBACK-17", "SESSION-32", "LEG-C-05", "SESSION-27")
async def test_the_server_can_withdraw_a_question() -> None:
    started, stopped = anyio.Event(), anyio.Event()

    async def wait(context: ClientRequestContext, params: Any) -> Any:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            stopped.set()

    handled: list[Any] = []

    async def handle(message: Any) -> None:
        handled.append(message)

    async with opened(elicitation_callback=wait, message_handler=handle) as (_, server):
        await server.send({"id": 7, "method": "elicitation/create", "params": FORM})
        with anyio.fail_after(5):
            await started.wait()
            await server.send({"id": 8, "method": "ping"})
            assert await server.result() == {}
            await server.send({"method": "notifications/cancelled", "params": {"requestId": 7}})
            await stopped.wait()
        await server.send({"id": 9, "method": "ping"})
        assert await server.result() == {}
    assert handled == []


@pytest.mark.rule("SESSION-27")
async def test_a_callback_may_call_the_server() -> None:
    async def ask_back(context: ClientRequestContext, params: Any) -> types.ElicitResult:
        await context.session.send_ping()
        return types.ElicitResult(action="cancel")

    async with opened(elicitation_callback=ask_back) as (_, server):
        await server.send({"id": 7, "method": "elicitation/create", "params": FORM})
        await server.answer(await server.request("ping"), {})
        assert await server.result() == {"action": "cancel"}


# --- what the server tells --------------------------------------------------------------------------------------------


@pytest.mark.rule("CALLBACK-23", "CALLBACK-24", "CALLBACK-25", "TRANSPORT-2", "SESSION-D3", "SESSION-28", "SESSION-31")
async def test_the_message_handler_hears_everything_in_order() -> None:
    heard: list[Any] = []
    done = anyio.Event()

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(params.data)

    async def handle(message: Any) -> None:
        heard.append(message)
        if isinstance(message, types.ToolListChangedNotification):
            done.set()

    async with opened(logging_callback=log, message_handler=handle) as (_, server):
        fault = ValueError("no JSON")
        await server.send({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
        await server.fault(fault)
        await server.send({"id": None, "error": {"code": -32700, "message": "Parse error"}})
        await server.send({"method": "notifications/acme"})
        await server.send({"id": 99, "result": {}})
        await server.send({"method": "notifications/tools/list_changed"})
        with anyio.fail_after(5):
            await done.wait()
    assert heard[0] == "x"
    assert isinstance(heard[1], types.LoggingMessageNotification)
    assert heard[2] is fault
    assert isinstance(heard[3], MCPError)
    assert (heard[3].code, heard[3].message) == (-32700, "Parse error")
    assert isinstance(heard[4], types.ToolListChangedNotification)
    assert len(heard) == 5


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("SESSION-7", "TRANSPORT-2", "CASE-3")
async def test_a_server_that_is_gone_fails_what_waits_and_what_comes() -> None:
    async with opened() as (session, server):

        async def leave() -> None:
            await server.request("tools/call")
            await server.close()

        with pytest.raises(MCPError) as raised:
            await while_answering(session.call_tool("x"), leave)
        assert (raised.value.code, raised.value.message) == (CONNECTION_CLOSED, "Connection closed")
        with pytest.raises(MCPError) as raised:
            await session.call_tool("x")
        assert (raised.value.code, raised.value.message) == (CONNECTION_CLOSED, "Connection closed")


@pytest.mark.rule("SESSION-2")
async def test_leaving_fails_what_waits() -> None:
    outcomes: list[MCPError] = []

    async def call(session: ClientSession) -> None:
        with pytest.raises(MCPError) as raised:
            await session.call_tool("x")
        outcomes.append(raised.value)

    async with create_client_server_memory_streams() as (mine, theirs), anyio.create_task_group() as tasks:
        server = RawServer(theirs)
        async with ClientSession(*mine) as session:
            tasks.start_soon(call, session)
            await server.request("tools/call")
        with pytest.raises(anyio.EndOfStream):
            await server.receive()
    assert [(error.code, error.message) for error in outcomes] == [(CONNECTION_CLOSED, "Connection closed")]


@pytest.mark.rule("SESSION-4", "SESSION-5", "SESSION-D1")
async def test_before_entering_notifications_are_written_and_requests_refused() -> None:
    async with create_client_server_memory_streams() as (mine, theirs):
        session = ClientSession(*mine)
        with pytest.raises(RuntimeError, match="entered"):
            await session.send_ping()
        await session.send_notification(types.InitializedNotification())
        await RawServer(theirs).notification("notifications/initialized")
        async with session:
            with pytest.raises(RuntimeError, match="cannot reenter"):
                await session.__aenter__()
        await session.send_notification(types.InitializedNotification())


@pytest.mark.rule("SESSION-6")
async def test_cancelling_the_entering_unwinds_cleanly() -> None:
    async with create_client_server_memory_streams() as (mine, _):
        with anyio.CancelScope() as scope:
            scope.cancel()
            async with ClientSession(*mine):
                raise AssertionError("entered")
        assert scope.cancelled_caught


@pytest.mark.rule("CASE-21")
async def test_sessions_are_left_in_any_order_and_from_any_task() -> None:
    async with create_client_server_memory_streams() as (mine, _), create_client_server_memory_streams() as (other, _):
        first, second = ClientSession(*mine), ClientSession(*other)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first.__aenter__)
        await second.__aenter__()
        await first.__aexit__(None, None, None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(second.__aexit__, None, None, None)


@pytest.mark.rule("CASE-74")
async def test_an_older_server_may_leave_the_content_of_a_result_out() -> None:
    async with opened() as (session, server):

        async def answer() -> None:
            await server.answer(await server.request("tools/call"), {"structuredContent": {"n": 1}})
            await server.answer(await server.request("tools/list"), {"tools": []})

        result = await while_answering(session.call_tool("add"), answer)
    assert (result.content, result.structured_content) == ([], {"n": 1})
