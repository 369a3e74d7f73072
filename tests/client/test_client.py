from __future__ import annotations

import contextvars
import logging
import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import pytest
from pydantic import AnyUrl, ValidationError

import mcp_types as types
from mcp._engine.link import OnNotification, OutgoingRequest
from mcp._protocol.codec import InvalidServerResult
from mcp.client.client import Client
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError, UrlElicitationRequiredError
from mcp_types.jsonrpc import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from tests.client.scripted import DISCOVERY, Scripted, listing, said

VARIABLE = contextvars.ContextVar("VARIABLE", default="unset")


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema={"type": "object"})])


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=repr(params.arguments))])


# --- construction -----------------------------------------------------------------------------------------------------


@pytest.mark.rule("CLIENT-2")
@pytest.mark.parametrize("mode", ["foo", "AUTO", "", "2099-01-01"])
def test_an_unknown_mode_is_refused_at_construction(mode: str) -> None:
    with pytest.raises(ValueError) as caught:
        Client(Scripted(), mode=mode)
    assert str(caught.value) == f"mode must be 'legacy', 'auto', or one of ['2026-07-28']; got {mode!r}"


@pytest.mark.rule("CLIENT-3")
def test_a_handshake_version_as_mode_gets_a_hint() -> None:
    with pytest.raises(ValueError) as caught:
        Client(Scripted(), mode="2025-06-18")
    assert str(caught.value).endswith("('2025-06-18' is a handshake-era version; use mode='legacy')")


@pytest.mark.rule("CLIENT-4")
def test_a_mapping_of_extensions_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^extensions= takes a sequence of ClientExtension instances\. The mapping"):
        Client(Scripted(), extensions={"x": {}})  # pyright: ignore[reportArgumentType]


@pytest.mark.rule("CLIENT-5")
def test_settings_are_keywords_alone() -> None:
    with pytest.raises(TypeError):
        Client(Scripted(), True)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError):
        Client(Scripted(), nonsense=1)  # pyright: ignore[reportCallIssue]


@pytest.mark.rule("CLIENT-D1", "CLIENT-6", "MRTR-D6")
@pytest.mark.parametrize(
    "setting", ["read_timeout_seconds", "input_required_max_rounds", "input_required_timeout", "total_timeout_seconds"]
)
@pytest.mark.parametrize("value", [-1, float("nan")])
def test_a_limit_that_is_none_is_refused_by_name(setting: str, value: float) -> None:
    with pytest.raises(ValueError, match=setting):
        Client(Scripted(), **{setting: value})  # pyright: ignore[reportArgumentType]


@pytest.mark.rule("CLIENT-D1", "CLIENT-6")
def test_an_unknown_log_level_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="log_level"):
        Client(Scripted(), log_level="loud")  # pyright: ignore[reportArgumentType]


@pytest.mark.rule("CLIENT-D3", "CLIENT-10")
@pytest.mark.parametrize("server", [3, None, {}, b"http://x", Scripted])
def test_something_that_is_no_server_is_refused_at_construction(server: Any) -> None:
    with pytest.raises(TypeError, match=type(server).__name__):
        Client(server)


@pytest.mark.rule("CLIENT-1")
def test_a_client_is_a_dataclass_that_does_nothing_until_entered() -> None:
    server = Scripted()
    client = Client(server, read_timeout_seconds=3)
    assert server.open == 0
    assert client.read_timeout_seconds == 3
    assert repr(client).startswith("Client(server=")


# --- lifecycle --------------------------------------------------------------------------------------------------------


@pytest.mark.rule("CLIENT-12", "CLIENT-22", "CLIENT-33", "CLIENT-18")
async def test_entering_negotiates_and_shows_what_the_server_said() -> None:
    client = Client(Scripted())
    async with client as entered:
        assert entered is client
        assert client.protocol_version == "2026-07-28"
        assert client.server_info == types.Implementation(name="scripted", version="1")
        assert client.server_capabilities == types.ServerCapabilities(tools=types.ToolsCapability())
        assert client.instructions == "Be kind."
        discovered = client.session.discover_result
        assert discovered is not None
        assert client.session.initialize_result is None
        assert types.DiscoverResult.model_validate_json(discovered.model_dump_json(by_alias=True)) == discovered


@pytest.mark.rule("CLIENT-13", "TROUBLE-1")
@pytest.mark.parametrize("when", ["before", "after"])
async def test_nothing_works_outside_the_block(when: str) -> None:
    client = Client(Scripted())
    if when == "after":
        async with client:
            pass
    for name in ("session", "protocol_version", "server_info", "server_capabilities", "instructions"):
        with pytest.raises(RuntimeError, match=r"^Client must be used within an async context manager$"):
            getattr(client, name)
    for name in ("list_tools", "list_prompts", "list_resources", "list_resource_templates"):
        with pytest.raises(RuntimeError, match="must be used within"):
            await getattr(client, name)()
    with pytest.raises(RuntimeError, match="must be used within"):
        await client.read_resource("x://1")
    with pytest.raises(RuntimeError, match="must be used within"):
        await client.call_tool("add")


@pytest.mark.rule("CLIENT-14")
async def test_a_client_is_entered_once() -> None:
    client = Client(Scripted())
    async with client:
        with pytest.raises(RuntimeError, match=r"^Client is already entered; cannot reenter$"):
            await client.__aenter__()
        await client.list_tools()
    with pytest.raises(RuntimeError, match="cannot reenter"):
        await client.__aenter__()


@pytest.mark.rule("CLIENT-D4", "CLIENT-16", "TEST-D4", "TEST-14", "TROUBLE-D1")
async def test_an_exception_leaves_the_block_as_it_is() -> None:
    server = Scripted()
    with pytest.raises(ZeroDivisionError):
        async with Client(server):
            raise ZeroDivisionError
    assert server.open == 0


@pytest.mark.rule("CLIENT-17", "CLIENT-D5", "TEST-13", "TEST-D3")
async def test_a_lifespan_that_fails_is_the_bare_exception() -> None:
    @asynccontextmanager
    async def lifespan(server: Any) -> AsyncGenerator[None]:
        raise ConnectionResetError
        yield

    with pytest.raises(ConnectionResetError):
        async with Client(Server("s", lifespan=lifespan)):
            raise AssertionError("never entered")


@pytest.mark.rule("TRANSPORT-5")
async def test_the_lifespan_lasts_as_long_as_the_block() -> None:
    log: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Any) -> AsyncGenerator[None]:
        log.append("start")
        yield
        log.append("end")

    async with Client(Server("s", lifespan=lifespan, on_list_tools=list_tools)) as client:
        await client.list_tools()
        log.append("body")
    assert log == ["start", "body", "end"]


async def test_a_client_may_be_entered_and_left_in_different_tasks() -> None:
    client = Client(Scripted())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.__aenter__)
    await client.list_tools()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.__aexit__, None, None, None)
    with pytest.raises(RuntimeError):
        await client.list_tools()


# --- negotiation ------------------------------------------------------------------------------------------------------


@pytest.mark.rule("CLIENT-20", "DISC-06")
async def test_a_pin_sends_nothing_and_assumes_nothing() -> None:
    server = Scripted()
    async with Client(server, mode="2026-07-28") as client:
        assert server.requests == []
        assert (client.server_info, client.instructions) == (None, None)
        assert client.server_capabilities == types.ServerCapabilities()
        await client.list_tools()
    assert server.methods == ["tools/list"]
    assert server.requests[0].version == "2026-07-28"


@pytest.mark.rule("CLIENT-21")
async def test_an_earlier_discovery_counts_with_a_pin_alone() -> None:
    prior = types.DiscoverResult.model_validate({**DISCOVERY, "instructions": "From before."})
    server = Scripted()
    async with Client(server, mode="2026-07-28", prior_discover=prior) as client:
        assert server.requests == []
        assert client.instructions == "From before."
        assert client.server_info == types.Implementation(name="scripted", version="1")
    async with Client(server, prior_discover=prior) as client:
        assert client.instructions == "Be kind."


@pytest.mark.rule("CLIENT-32")
@pytest.mark.parametrize("stamp", [None, {}, {"io.modelcontextprotocol/serverInfo": 7}])
async def test_a_server_without_a_readable_name_is_fine(stamp: Any) -> None:
    async with Client(Scripted(server__discover={**DISCOVERY, "_meta": stamp})) as client:
        assert client.server_info is None


@pytest.mark.rule("CLIENT-22")
async def test_a_discovery_without_result_type_and_cache_members_is_adopted() -> None:
    bare: dict[str, Any] = {"supportedVersions": ["2099-01-01", "2026-07-28"], "capabilities": {}}
    async with Client(Scripted(server__discover=bare)) as client:
        assert client.protocol_version == "2026-07-28"


@pytest.mark.rule("CLIENT-24")
async def test_a_refusal_that_names_a_shared_version_is_probed_once_more() -> None:
    refusal = MCPError(UNSUPPORTED_PROTOCOL_VERSION, "no", {"supported": ["2026-07-28"], "requested": "x"})
    server = Scripted(server__discover=[refusal, DISCOVERY])
    async with Client(server) as client:
        assert client.protocol_version == "2026-07-28"
    assert server.methods == ["server/discover", "server/discover"]


@pytest.mark.rule("CLIENT-25")
async def test_a_refusal_without_a_common_version_is_raised() -> None:
    refusal = MCPError(UNSUPPORTED_PROTOCOL_VERSION, "no", {"supported": ["2099-01-01"]})
    with pytest.raises(MCPError) as caught:
        await Client(Scripted(server__discover=refusal)).__aenter__()
    assert caught.value.data == {"supported": ["2099-01-01"]}


async def test_a_server_of_older_versions_alone_is_a_clear_error() -> None:
    with pytest.raises(MCPError, match=r"Method not found .*handshake"):
        await Client(Scripted(server__discover=MCPError(METHOD_NOT_FOUND, "Method not found"))).__aenter__()
    with pytest.raises(RuntimeError, match="2025-06-18"):
        await Client(Scripted(server__discover={**DISCOVERY, "supportedVersions": ["2025-06-18"]})).__aenter__()


@pytest.mark.rule("CLIENT-28")
async def test_the_probe_takes_no_longer_than_the_read_timeout() -> None:
    async def never(request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        await anyio.sleep_forever()
        raise AssertionError

    with anyio.fail_after(5), pytest.raises(MCPError) as caught:
        await Client(Scripted(server__discover=never), read_timeout_seconds=0.01).__aenter__()
    assert caught.value.code == REQUEST_TIMEOUT


# --- requests ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("CLIENT-35", "CLIENT-38", "CALLBACK-3")
async def test_metadata_keeps_the_callers_keys_and_protects_the_reserved_ones() -> None:
    server = Scripted()
    info = types.Implementation(name="me", version="2")
    async with Client(server, client_info=info, log_level="warning") as client:
        meta: Any = {"acme/x": [1], "io.modelcontextprotocol/protocolVersion": "1", "progress_token": 7}
        await client.list_tools(meta=meta)
        await client.list_tools(meta={"io.modelcontextprotocol/logLevel": "debug"})  # pyright: ignore[reportArgumentType]
    first, second = (params["_meta"] for params in server.sent("tools/list"))
    assert first == {
        "acme/x": [1],
        "progressToken": 7,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "me", "version": "2"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "warning",
    }
    assert second["io.modelcontextprotocol/logLevel"] == "debug"


@pytest.mark.rule("CLIENT-40")
async def test_absent_members_are_left_out_and_null_arguments_are_kept() -> None:
    server = Scripted(tools__call=said())
    async with Client(server) as client:
        await client.call_tool("add")
        await client.call_tool("add", {"a": None})
        await client.list_tools(cursor="p2")
    bare, with_null = server.sent("tools/call")
    assert bare.keys() == {"name", "_meta"}
    assert with_null["arguments"] == {"a": None}
    assert server.sent("tools/list")[-1]["cursor"] == "p2"


@pytest.mark.rule("CLIENT-41", "CLIENT-D7", "CLIENT-40")
async def test_arguments_of_the_wrong_type_are_refused_before_anything_is_sent() -> None:
    server = Scripted(resources__read={"contents": [], "ttlMs": 0, "cacheScope": "private", "resultType": "complete"})
    async with Client(server) as client:
        before = len(server.requests)
        with pytest.raises(ValidationError):
            await client.get_prompt("p", {"n": 1})  # pyright: ignore[reportArgumentType]
        with pytest.raises(ValidationError):
            await client.call_tool("add", [1])  # pyright: ignore[reportArgumentType]
        with pytest.raises(ValidationError):
            await client.call_tool(3)  # pyright: ignore[reportArgumentType]
        with pytest.raises(ValidationError):
            await client.call_tool("add", request_state=3)  # pyright: ignore[reportArgumentType]
        with pytest.raises(ValidationError):
            await client.list_tools(cursor=3)  # pyright: ignore[reportArgumentType]
        assert len(server.requests) == before
        await client.read_resource(AnyUrl("x://h/a b"))  # pyright: ignore[reportArgumentType]
        await client.read_resource("x://h/%41 b")
    assert [params["uri"] for params in server.sent("resources/read")] == ["x://h/a%20b", "x://h/%41 b"]


@pytest.mark.rule("CLIENT-D19", "CLIENT-81", "CLIENT-41", "TEST-12")
async def test_values_that_json_cannot_carry_fail_the_verb_and_nothing_else() -> None:
    async with Client(Server("s", on_list_tools=list_tools, on_call_tool=call_tool)) as client:
        with pytest.raises(ValueError, match="b"):
            await client.call_tool("echo", {"a": {"b": float("nan")}})
        with pytest.raises(ValueError):
            await client.call_tool("echo", {"a": object()})
        await client.call_tool("echo", {"a": 1})


@pytest.mark.rule("CLIENT-42")
async def test_a_verb_is_sent_whatever_the_server_advertised() -> None:
    server = Scripted(server__discover={**DISCOVERY, "capabilities": {}})
    async with Client(server) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_prompts()
    assert (caught.value.code, caught.value.data) == (METHOD_NOT_FOUND, "prompts/list")


@pytest.mark.rule("SCOMP-02", "SCOMP-05")
async def test_completion_sends_reference_argument_and_context() -> None:
    done = {"resultType": "complete", "completion": {"values": ["v1"]}}
    server = Scripted(completion__complete=done)
    async with Client(server) as client:
        ref = types.ResourceTemplateReference(uri="x://{a}")
        outcome = await client.complete(ref, {"name": "a", "value": "v"}, {"z": "1"})
    assert outcome.completion.values == ["v1"]
    [params] = server.sent("completion/complete")
    del params["_meta"]
    assert params == {
        "ref": {"type": "ref/resource", "uri": "x://{a}"},
        "argument": {"name": "a", "value": "v"},
        "context": {"arguments": {"z": "1"}},
    }


@pytest.mark.rule("CLIENT-D17", "CLIENT-D6")
@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("send_ping", ()),
        ("set_logging_level", ("debug",)),
        ("subscribe_resource", ("x://1",)),
        ("unsubscribe_resource", ("x://1",)),
        ("send_progress_notification", (1, 0.5)),
        ("send_roots_list_changed", ()),
    ],
)
async def test_a_deprecated_verb_warns_once_at_the_callers_line(verb: str, arguments: tuple[Any, ...]) -> None:
    server = Scripted()
    async with Client(server) as client:
        with pytest.warns(MCPDeprecationWarning) as warned, suppress(MCPError):
            await getattr(client, verb)(*arguments)
    [warning] = warned.list
    assert warning.filename == __file__
    assert server.notified == []


# --- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("CLIENT-D9", "CLIENT-45")
async def test_an_absent_result_type_means_complete() -> None:
    async with Client(Scripted(tools__call={"content": []})) as client:
        assert (await client.call_tool("add")).result_type == "complete"


@pytest.mark.rule("CLIENT-D10", "CLIENT-46")
async def test_an_unknown_result_type_is_refused() -> None:
    async with Client(Scripted(tools__call={"content": [], "resultType": "task"})) as client:
        with pytest.raises(ValueError, match="task"):
            await client.call_tool("add")


@pytest.mark.rule("CLIENT-D8", "CLIENT-44")
async def test_a_result_that_does_not_fit_names_the_method() -> None:
    async with Client(Scripted(tools__call={"content": "no"})) as client:
        with pytest.raises(InvalidServerResult, match="tools/call"):
            await client.call_tool("add")


@pytest.mark.rule("CLIENT-48", "CLIENT-44")
async def test_a_negative_ttl_reads_as_zero_and_unknown_members_are_dropped() -> None:
    async with Client(Scripted(tools__list=listing(ttlMs=-5, extra=1))) as client:
        outcome = await client.list_tools()
    assert outcome.ttl_ms == 0
    assert "extra" not in outcome.model_dump()


@pytest.mark.rule("CLIENT-50", "VER-C-19")
@pytest.mark.parametrize("value", [1, "x", [1], None, {"a": 1}])
async def test_structured_content_may_be_any_json_value(value: Any) -> None:
    async with Client(Scripted(tools__call=said(structuredContent=value))) as client:
        assert (await client.call_tool("add")).structured_content == value


@pytest.mark.rule("CLIENT-49", "CLIENT-D11", "ERR-16")
async def test_an_error_answer_raises_with_code_text_and_data() -> None:
    async with Client(Scripted(tools__call=MCPError(-3, "no", {"why": 1}))) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("add")
    assert type(caught.value) is MCPError
    assert (caught.value.code, caught.value.message, caught.value.data) == (-3, "no", {"why": 1})


@pytest.mark.rule("CLIENT-60", "ERR-D4", "ERR-17")
async def test_urls_to_visit_are_a_typed_error_on_every_transport() -> None:
    visit = {"elicitations": [{"mode": "url", "message": "go", "url": "https://e.test/x", "elicitationId": "1"}]}
    async with Client(Scripted(tools__call=MCPError(-32042, "go there", visit))) as client:
        with pytest.raises(UrlElicitationRequiredError) as caught:
            await client.call_tool("add")
    assert caught.value.message == "go there"
    assert caught.value.elicitations[0].url == "https://e.test/x"
    async with Client(Scripted(tools__call=MCPError(-32042, "go there", {"elicitations": 3}))) as client:
        with pytest.raises(MCPError, match="go there"):
            await client.call_tool("add")


# --- in memory --------------------------------------------------------------------------------------------------------


@pytest.mark.rule("TRANSPORT-4", "TEST-1", "TEST-4", "TEST-5")
async def test_a_server_object_answers_in_process() -> None:
    async with Client(Server("s", on_list_tools=list_tools, on_call_tool=call_tool)) as client:
        outcome = await client.call_tool("echo", {"a": 1})
        outcome.meta = None
        assert outcome == types.CallToolResult(content=[types.TextContent(type="text", text="{'a': 1}")])


@pytest.mark.rule("CLIENT-77", "TEST-6", "TEST-7", "ERR-15")
@pytest.mark.parametrize("shown", [True, False])
async def test_an_unexpected_exception_shows_itself_only_where_that_is_wanted(shown: bool) -> None:
    fault = ZeroDivisionError("by zero")

    async def fail(ctx: Any, params: Any) -> types.ListPromptsResult:
        raise fault

    server = Server("s", on_list_tools=list_tools, on_list_prompts=fail)
    async with Client(server, raise_exceptions=shown) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_prompts()
        assert caught.value.code == INTERNAL_ERROR
        assert caught.value.message == ("by zero" if shown else "Internal server error")
        assert caught.value.__cause__ is (fault if shown else None)
        await client.list_tools()


@pytest.mark.rule("TRANSPORT-6", "TRANSPORT-4")
async def test_a_handler_in_process_sees_the_callers_context_and_no_http() -> None:
    seen: list[Any] = []

    async def look(ctx: Any, params: Any) -> types.ListToolsResult:
        seen.extend([VARIABLE.get(), ctx.request])
        return types.ListToolsResult(tools=[])

    async with Client(Server("s", on_list_tools=look)) as client:
        VARIABLE.set("mine")
        await client.list_tools()
    assert seen == ["mine", None]


@pytest.mark.rule("CALLBACK-29", "TRANSPORT-7", "CLIENT-38", "BASE-M-11")
@pytest.mark.parametrize(("level", "heard"), [(None, []), ("warning", ["loud"]), ("info", ["quiet", "loud"])])
async def test_log_messages_arrive_only_where_they_were_asked_for(level: Any, heard: list[str]) -> None:
    got: list[Any] = []

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        got.append(params.data)

    async def log(ctx: Any, params: Any) -> types.ListToolsResult:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            await ctx.session.send_log_message("info", "quiet")
            await ctx.session.send_log_message("error", "loud")
        return types.ListToolsResult(tools=[])

    async with Client(Server("s", on_list_tools=log), log_level=level, logging_callback=on_log) as client:
        await client.list_tools()
    assert got == heard


# --- time -------------------------------------------------------------------------------------------------------------


async def never(request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
    await anyio.sleep_forever()
    raise AssertionError


@pytest.mark.rule("CLIENT-68", "CLIENT-69", "CLIENT-D14", "CLIENT-71", "SESSION-17", "TROUBLE-7", "TOOL-S-09")
@pytest.mark.parametrize(("of_client", "of_call"), [(None, 0.01), (60.0, 0.01), (0.01, None), (60.0, 0.0)])
async def test_a_call_times_out_by_its_own_limit_or_the_clients(of_client: float | None, of_call: float | None) -> None:
    server = Scripted(tools__call=never)
    with anyio.fail_after(5):
        async with Client(server, read_timeout_seconds=of_client) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("add", read_timeout_seconds=of_call)
            assert (caught.value.code, caught.value.message) == (REQUEST_TIMEOUT, "Request 'tools/call' timed out")
            await client.list_tools()


# --- notifications ----------------------------------------------------------------------------------------------------


def telling(*told: tuple[str, dict[str, Any] | None]) -> Any:
    async def answer(request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        for method, params in told:
            await on_notification(method, params)
        return said()

    return answer


LOG = ("notifications/message", {"level": "info", "data": "hello"})


@pytest.mark.rule("CALLBACK-23", "CALLBACK-24", "CLIENT-75", "TEST-10")
async def test_the_typed_callback_hears_a_notification_before_the_message_handler() -> None:
    heard: list[Any] = []

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(params.data)

    async def on_message(message: Any) -> None:
        heard.append(type(message).__name__)

    server = Scripted(tools__call=telling(LOG))
    async with Client(server, logging_callback=on_log, message_handler=on_message) as client:
        await client.call_tool("add")
    assert heard == ["hello", "LoggingMessageNotification"]


@pytest.mark.rule("CALLBACK-23", "CALLBACK-26")
async def test_a_callback_that_raises_costs_its_own_delivery(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Any] = []

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        raise ZeroDivisionError

    async def on_message(message: Any) -> None:
        heard.append(message)

    server = Scripted(tools__call=telling(LOG))
    async with Client(server, logging_callback=on_log, message_handler=on_message) as client:
        await client.call_tool("add")
    assert heard == []
    assert "notification callback for 'notifications/message' raised" in caplog.text


@pytest.mark.rule("CLIENT-76")
async def test_a_progress_callback_that_raises_costs_its_own_delivery(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)
        raise ZeroDivisionError

    async def ticks(request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        for tick in (2, 1):
            await on_notification("notifications/progress", {"progressToken": request.request_id, "progress": tick})
        return said()

    async with Client(Scripted(tools__call=ticks)) as client:
        await client.call_tool("add", progress_callback=on_progress)
    assert heard == [2, 1]
    assert "progress callback raised" in caplog.text


@pytest.mark.rule("CLIENT-73", "CLIENT-74", "PROG-11")
async def test_progress_for_another_token_reaches_the_message_handler_alone() -> None:
    heard: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        raise AssertionError("not for this request")

    async def on_message(message: Any) -> None:
        heard.append(message.params.progress_token)

    server = Scripted(tools__call=telling(("notifications/progress", {"progressToken": "other", "progress": 1})))
    async with Client(server, message_handler=on_message) as client:
        await client.call_tool("add", progress_callback=on_progress)
        await client.call_tool("add")
    assert heard == ["other", "other"]
    with_token, without = (params["_meta"] for params in server.sent("tools/call"))
    assert with_token["progressToken"] == 2
    assert "progressToken" not in without


@pytest.mark.rule("SESSION-31", "CALLBACK-25")
async def test_what_is_no_notification_of_the_version_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp")
    heard: list[Any] = []

    async def on_message(message: Any) -> None:
        heard.append(message)

    told = telling(
        ("notifications/elicitation/complete", {"elicitationId": "1"}),
        ("acme/tick", {}),
        ("notifications/message", {"level": "loud"}),
        ("notifications/cancelled", {"requestId": 1}),
    )
    async with Client(Scripted(tools__call=told), message_handler=on_message) as client:
        await client.call_tool("add")
    assert heard == []
    assert "dropped 'acme/tick': not defined at 2026-07-28" in caplog.text
    assert "Failed to validate notification: notifications/message" in caplog.text
