"""Registering handlers on `Server`, and what is derived from them."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator
from typing import Any

import pytest

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from tests.server.lowlevel.wire import caller

Context = ServerRequestContext[Any, Any]
VERSION = "2026-07-28"


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[])


async def list_prompts(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[])


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=params.name)])


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[])


async def listen(ctx: Context, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
    return types.SubscriptionsListenResult()


class Params(types.RequestParams):
    n: int = 0


@pytest.mark.rule("LOW-1")
async def test_a_handler_serves_every_request_of_its_method() -> None:
    async with caller(Server("s", on_call_tool=call_tool)) as client:
        for name in ("a", "b"):
            result = await client.call("tools/call", {"name": name})
            assert result["content"] == [{"type": "text", "text": name}]


@pytest.mark.rule("LOW-2", "LOW-8")
async def test_registering_again_replaces_the_handler_for_the_next_request() -> None:
    async def other(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[], is_error=True)

    async def discover(ctx: Context, params: types.RequestParams) -> dict[str, Any]:
        return {"supportedVersions": ["x"], "capabilities": {}}

    server = Server("s", on_call_tool=call_tool)
    async with caller(server) as client:
        assert (await client.call("tools/call", {"name": "a"}))["isError"] is False
        server.add_request_handler("tools/call", types.CallToolRequestParams, other)
        assert (await client.call("tools/call", {"name": "a"}))["isError"] is True
        server.add_request_handler("server/discover", types.RequestParams, discover)
        assert (await client.call("server/discover"))["supportedVersions"] == ["x"]


@pytest.mark.rule("LOW-D1")
def test_a_registration_that_could_never_serve_is_refused_with_the_reason() -> None:
    server = Server("s")
    with pytest.raises(ValueError, match="a method must not be empty"):
        server.add_request_handler("", Params, call_tool)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="a method must be a string, got int"):
        server.add_request_handler(5, Params, call_tool)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="the handler of 'x/y' must be callable, got str"):
        server.add_notification_handler("x/y", Params, "no")  # pyright: ignore[reportArgumentType]


@pytest.mark.rule("LOW-3", "TROUBLE-31")
def test_initialize_is_reserved() -> None:
    with pytest.raises(ValueError) as raised:
        Server("s").add_request_handler("initialize", Params, call_tool)  # pyright: ignore[reportArgumentType]
    assert str(raised.value) == (
        "'initialize' is handled by the server runner and cannot be overridden; "
        "use Server.middleware to observe or wrap initialization"
    )


@pytest.mark.rule("LOW-4", "ERR-14", "VER-3", "HTTP-H-05", "BASE-E-01")
@pytest.mark.parametrize("method", ["tools/list", "ping", "logging/setLevel", "resources/subscribe", "com.x/none"])
async def test_a_method_that_is_not_served_is_named_in_the_error(method: str) -> None:
    async def level(ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        return types.EmptyResult()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        server = Server("s", on_set_logging_level=level)  # pyright: ignore[reportDeprecated]
    async with caller(server) as client:
        with pytest.raises(MCPError) as raised:
            await client.call(method)
    assert (raised.value.code, raised.value.message, raised.value.data) == (-32601, "Method not found", method)


@pytest.mark.rule("LOW-5", "LOW-15", "BASE-J-07")
async def test_a_vendor_method_is_served_unchecked_and_is_not_advertised() -> None:
    seen: list[Params] = []

    async def handle(ctx: Context, params: Params) -> dict[str, Any]:
        seen.append(params)
        return {"anything": [1, None], "nested": {"a": None}}

    server = Server("s")
    server.add_request_handler("com.example/do", Params, handle)
    async with caller(server) as client:
        result = await client.call("com.example/do", {"n": 3})
        assert result["anything"] == [1, None]
        assert result["nested"] == {"a": None}
        assert (await client.call("server/discover"))["capabilities"] == {}
    assert seen[0].n == 3
    assert seen[0].meta is not None


@pytest.mark.rule("LOW-7")
def test_deprecated_keywords_warn_once_at_the_callers_line() -> None:
    async def handle(ctx: Context, params: Any) -> Any:
        return None

    for keyword, text in {
        "on_set_logging_level": "The logging capability is deprecated as of 2026-07-28 (SEP-2577).",
        "on_roots_list_changed": "The roots capability is deprecated as of 2026-07-28 (SEP-2577).",
        "on_progress": "Client-to-server progress is deprecated as of 2026-07-28.",
    }.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            keywords: dict[str, Any] = {keyword: handle}
            Server("s", **keywords)
        assert [(w.category, str(w.message)) for w in caught] == [(MCPDeprecationWarning, text)]
        assert caught[0].filename == __file__


@pytest.mark.rule("LOW-21", "LOW-D5")
def test_capabilities_follow_from_the_handlers() -> None:
    def families(server: Server[Any]) -> set[str]:
        return set(server.get_capabilities(protocol_version=VERSION).model_dump(exclude_none=True))

    assert families(Server("s")) == set()
    assert families(Server("s", on_list_tools=list_tools)) == {"tools"}
    assert families(Server("s", on_call_tool=call_tool)) == {"tools"}
    assert families(Server("s", on_read_resource=read_resource)) == {"resources"}
    assert families(Server("s", on_list_prompts=list_prompts)) == {"prompts"}

    async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        return types.CompleteResult(completion=types.Completion(values=[]))

    assert families(Server("s", on_completion=complete)) == {"completions"}


@pytest.mark.rule("LOW-22", "LOW-25")
def test_legacy_capabilities_are_the_default_and_take_the_notification_options() -> None:
    server = Server("s", on_list_tools=list_tools, on_list_prompts=list_prompts)
    capabilities = server.get_capabilities(NotificationOptions(tools_changed=True))
    assert capabilities.tools == types.ToolsCapability(list_changed=True)
    assert capabilities.prompts == types.PromptsCapability(list_changed=False)


@pytest.mark.rule("LOW-23")
def test_modern_capabilities_announce_changes_exactly_when_there_is_a_listen_handler() -> None:
    plain = Server("s", on_list_tools=list_tools, on_list_prompts=list_prompts, on_read_resource=read_resource)
    capabilities = plain.get_capabilities(NotificationOptions(True, True, True), protocol_version=VERSION)
    assert capabilities.model_dump(by_alias=True, exclude_none=True) == {
        "tools": {"listChanged": False},
        "prompts": {"listChanged": False},
        "resources": {"listChanged": False, "subscribe": False},
    }
    listening = Server(
        "s",
        on_list_tools=list_tools,
        on_list_prompts=list_prompts,
        on_read_resource=read_resource,
        on_subscriptions_listen=listen,
    )
    capabilities = listening.get_capabilities(protocol_version=VERSION)
    assert capabilities.model_dump(by_alias=True, exclude_none=True) == {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
    }


@pytest.mark.rule("LOW-24", "BASE-C-05", "VER-X-06")
def test_experimental_and_extensions_appear_only_where_there_is_something_to_say() -> None:
    server = Server("s")
    modern = server.get_capabilities(experimental_capabilities={}, protocol_version=VERSION)
    assert modern.model_dump(exclude_none=True) == {}
    server.extensions["com.example/x"] = {}
    modern = server.get_capabilities(experimental_capabilities={"e": {}}, protocol_version=VERSION)
    assert modern.model_dump(exclude_none=True) == {"experimental": {"e": {}}, "extensions": {"com.example/x": {}}}
    assert server.get_capabilities().extensions is None


@pytest.mark.rule("LOW-26", "VER-11", "VER-N-07", "BASE-M-18", "VER-N-05", "VER-C-03")
async def test_discover_answers_from_what_is_registered_now() -> None:
    server = Server("s", version="1", title="T", instructions="how", icons=[types.Icon(src="https://x/i.png")])
    async with caller(server) as client:
        first = await client.call("server/discover")
        server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
        second = await client.call("server/discover")
    assert first["capabilities"] == {}
    assert second["capabilities"] == {"tools": {"listChanged": False}}
    assert first["supportedVersions"] == [VERSION, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    assert first["instructions"] == "how"
    assert first["_meta"]["io.modelcontextprotocol/serverInfo"] == {
        "name": "s",
        "version": "1",
        "title": "T",
        "icons": [{"src": "https://x/i.png"}],
    }


@pytest.mark.rule("LOW-D16")
def test_a_name_that_is_no_string_is_refused() -> None:
    with pytest.raises(TypeError, match="a server's name must be a string, got int"):
        Server(5)  # pyright: ignore[reportArgumentType, reportCallIssue]


@pytest.mark.rule("LIFE-D2", "LIFE-9")
def test_a_lifespan_that_is_no_context_manager_factory_is_refused_with_the_cure() -> None:
    async def coroutine(server: Any) -> None: ...

    async def generator(server: Any) -> AsyncIterator[int]:
        yield 1

    for wrong in (coroutine, generator):
        with pytest.raises(TypeError, match=r"contextlib\.asynccontextmanager"):
            Server("s", lifespan=wrong)  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(TypeError, match="lifespan must be callable, got int"):
        Server("s", lifespan=3)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_registered_handlers_can_be_looked_up() -> None:
    server = Server("s", on_call_tool=call_tool)
    entry = server.get_request_handler("tools/call")
    assert entry is not None
    assert (entry.params_type, entry.handler) == (types.CallToolRequestParams, call_tool)
    assert server.get_request_handler("tools/list") is None
    assert server.get_notification_handler("notifications/progress") is None


def test_the_session_manager_exists_only_after_an_app_was_made() -> None:
    with pytest.raises(RuntimeError) as raised:
        _ = Server("s").session_manager
    assert str(raised.value) == (
        "Session manager can only be accessed after calling streamable_http_app(). "
        "The session manager is created lazily to avoid unnecessary initialization."
    )
