"""Who sees which tools, prompts and resources: alike in lists, calls, completions, subscriptions and caches."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mcp.client import Client
from mcp.server.auth.middleware.auth_context import VerifiedUser, auth_context_var, get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.caching import CacheHint
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resources import Resource, ResourceTemplate
from mcp.server.mcpserver.server import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from tests.mcpserver.wire import Peer, connect

Item = Tool | Prompt | Resource | ResourceTemplate


class User:
    def __init__(self, *scopes: str) -> None:
        self.access_token = AccessToken(token="t", client_id="c", scopes=list(scopes))


def may_see(ctx: Context, item: Item) -> bool:
    token = get_access_token()
    return not item.name or not item.name.startswith("admin") or (token is not None and "admin" in token.scopes)


async def may_see_later(ctx: Context, item: Item) -> bool:
    return may_see(ctx, item)


def make_server(**settings: Any) -> MCPServer[Any]:
    settings.setdefault("visible", may_see)
    mcp = MCPServer("Lab", **settings)

    def text(name: str) -> Any:
        def fn() -> str:
            return name

        fn.__name__ = name
        return fn

    def templated(name: str) -> Any:
        def fn(value: str) -> str:
            return f"{name} {value}"

        fn.__name__ = name
        return fn

    for name in ("admin_first", "open", "admin", "last"):
        mcp.tool(text(name))
        mcp.prompt(text(name))
        mcp.resource(f"x://{name}")(text(name))
        mcp.resource(f"{name.replace('_', '-')}://{{value}}")(templated(name))

    @mcp.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> dict[str, Any]:
        return {"values": ["value"]}

    return mcp


@pytest.fixture(params=[may_see, may_see_later])
def server(request: pytest.FixtureRequest) -> MCPServer[Any]:
    return make_server(visible=request.param)


LISTS = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
]
USES: list[tuple[str, dict[str, Any], str]] = [
    ("tools/call", {"name": "admin"}, "Unknown tool: admin"),
    ("prompts/get", {"name": "admin"}, "Unknown prompt: admin"),
    ("resources/read", {"uri": "x://admin"}, "Unknown resource: x://admin"),
    ("resources/read", {"uri": "admin://1"}, "Unknown resource: admin://1"),
    ("resources/read", {"uri": "admin://..%2F"}, "Unknown resource: admin://..%2F"),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "admin"}, "argument": {"name": "value", "value": ""}},
        "Unknown prompt: admin",
    ),
    (
        "completion/complete",
        {"ref": {"type": "ref/resource", "uri": "admin://{value}"}, "argument": {"name": "value", "value": ""}},
        "Unknown resource: admin://{value}",
    ),
]


async def names(peer: Peer, method: str, member: str) -> list[str]:
    return [item["name"] for item in (await peer.request(method))[member]]


async def refusal(peer: Peer, method: str, params: dict[str, Any]) -> tuple[int, str, Any]:
    with pytest.raises(MCPError) as caught:
        await peer.request(method, params)
    return caught.value.code, caught.value.message, caught.value.data


@pytest.mark.rule("CASE-85")
async def test_what_the_caller_does_not_see_is_in_no_list(server: MCPServer[Any]) -> None:
    async with connect(server) as peer:
        for method, member in LISTS:
            assert await names(peer, method, member) == ["open", "last"]
            with as_user("admin"):
                assert await names(peer, method, member) == ["admin_first", "open", "admin", "last"]
            with as_user("other"):
                assert await names(peer, method, member) == ["open", "last"]


@pytest.mark.rule("CASE-85")
async def test_what_the_caller_does_not_see_is_refused_as_if_it_did_not_exist(server: MCPServer[Any]) -> None:
    async with connect(server) as peer:
        for method, params, text in USES:
            hidden = await refusal(peer, method, params)
            assert hidden[:2] == (INVALID_PARAMS, text)
            # to the letter what is said of things that are not there
            absent = eval(repr(params).replace("admin", "nothing"))
            assert await refusal(peer, method, absent) == eval(repr(hidden).replace("admin", "nothing"))
        with as_user("admin"):
            for method, params, _ in USES:
                if "%2F" not in str(params):
                    await peer.request(method, params)
        await peer.request("tools/call", {"name": "open"})
        await peer.request("prompts/get", {"name": "open"})
        await peer.request("resources/read", {"uri": "x://open"})
        await peer.request("resources/read", {"uri": "open://1"})
        for ref in ({"type": "ref/prompt", "name": "open"}, {"type": "ref/resource", "uri": "open://{value}"}):
            params = {"ref": ref, "argument": {"name": "value", "value": ""}}
            assert (await peer.request("completion/complete", params))["completion"]["values"] == ["value"]


class as_user:
    """Run as a user with these scopes, as behind a verified token."""

    def __init__(self, *scopes: str) -> None:
        self._user: VerifiedUser = User(*scopes)

    def __enter__(self) -> None:
        self._token = auth_context_var.set(self._user)

    def __exit__(self, *error: object) -> None:
        auth_context_var.reset(self._token)


@pytest.mark.rule("CASE-85")
async def test_pages_are_full_of_what_the_caller_sees() -> None:
    asked: list[str | None] = []

    def visible(ctx: Context, item: Item) -> bool:
        asked.append(item.name)
        return may_see(ctx, item)

    mcp = make_server(visible=visible, page_size=1)
    async with connect(mcp) as peer:
        first = await peer.request("tools/list")
        assert [tool["name"] for tool in first["tools"]] == ["open"]
        second = await peer.request("tools/list", {"cursor": first["nextCursor"]})
        assert [tool["name"] for tool in second["tools"]] == ["last"]
        assert "nextCursor" not in second
        asked.clear()
        with as_user("admin"):
            await peer.request("tools/list")
        assert asked == ["admin_first", "open"]  # no further than it takes


@pytest.mark.rule("CASE-85")
async def test_no_cache_may_hand_one_callers_results_to_another() -> None:
    hints: Any = {method: CacheHint(60_000, "public") for method, _ in LISTS}
    hints["resources/read"] = CacheHint(5, "public")
    raw: list[Any] = []

    async def keep(ctx: Any, call_next: Any) -> Any:
        raw.append(await call_next(ctx))
        return raw[-1]

    for visible, scope in ((None, "public"), (may_see, "private")):
        raw.clear()
        mcp = make_server(visible=visible, cache_hints=hints, middleware=[keep])
        async with Client(mcp, cache=None) as client:
            await client.list_tools()
            await client.list_prompts()
            await client.list_resources()
            await client.list_resource_templates()
            await client.read_resource("x://open")
        kept = [result for result in raw if "ttlMs" in result and "cacheScope" in result][-5:]
        assert {result["cacheScope"] for result in kept} == {scope}
        assert [result["ttlMs"] for result in kept] == [60_000] * 4 + [5]


@pytest.mark.rule("CASE-85")
async def test_changes_to_hidden_resources_cannot_be_watched() -> None:
    mcp = make_server()
    uris = ["x://open", "x://admin", "admin://1", "admin://..%2F", "open://1", "open://..%2F", "nothing://1"]
    async with Client(mcp) as client:
        async with client.listen(resource_subscriptions=uris) as subscription:
            assert subscription.honored.resource_subscriptions == ["x://open", "open://1"]
        with as_user("admin"):
            async with client.listen(resource_subscriptions=uris) as subscription:
                assert subscription.honored.resource_subscriptions == ["x://open", "x://admin", "admin://1", "open://1"]


async def test_a_hidden_resource_does_not_stand_before_a_template() -> None:
    mcp = MCPServer("Lab", visible=may_see)

    @mcp.resource("x://a", name="admin")
    def secret() -> str:
        return "secret"

    @mcp.resource("x://{value}", name="admins")
    def hidden(value: str) -> str:
        return "hidden"

    @mcp.resource("x://{+value}", name="open")
    def shown(value: str) -> str:
        return f"shown {value}"

    async with connect(mcp) as peer:
        assert (await peer.request("resources/read", {"uri": "x://a"}))["contents"][0]["text"] == "shown a"
        with as_user("admin"):
            assert (await peer.request("resources/read", {"uri": "x://a"}))["contents"][0]["text"] == "secret"
            assert (await peer.request("resources/read", {"uri": "x://b"}))["contents"][0]["text"] == "hidden"


async def test_the_filter_sees_the_request() -> None:
    seen: list[Any] = []

    def visible(ctx: Context, item: Item) -> bool:
        seen.append((ctx.request_context.method, ctx.client_capabilities is not None, type(item).__name__))
        return True

    mcp = make_server(visible=visible)
    async with connect(mcp) as peer:
        await peer.call("open")
        await peer.request("resources/read", {"uri": "open://1"})
    assert seen == [("tools/call", True, "Tool"), ("resources/read", True, "ResourceTemplate")]


async def test_what_a_function_asks_of_its_server_is_filtered_for_its_caller() -> None:
    mcp = make_server()

    @mcp.tool
    async def relay(what: str, ctx: Context) -> str:
        if what == "tool":
            return str(await mcp.call_tool("admin", {}, ctx))
        if what == "prompt":
            return str(await mcp.get_prompt("admin", {}, ctx))
        return str(await ctx.read_resource("x://admin"))

    async with connect(mcp) as peer:
        assert await peer.text("relay", what="tool") == "Error executing tool relay: Unknown tool: admin"
        assert await peer.text("relay", what="resource") == "Error executing tool relay: Unknown resource: x://admin"
        assert (await peer.call("relay", what="prompt"))["isError"] is True
        with as_user("admin"):
            for what in ("tool", "prompt", "resource"):
                assert "admin" in await peer.text("relay", what=what)
    # Outside of a request there is no caller, and everything can be seen.
    assert len(await mcp.list_tools()) == 5
    assert await mcp.call_tool("admin", {}) is not None
    assert await mcp.get_prompt("admin") is not None
    assert await mcp.read_resource("x://admin") is not None
    with pytest.raises(ToolError, match=r"^Unknown tool: nothing$"):
        await mcp.call_tool("nothing", {})
    with pytest.raises(ResourceNotFoundError):
        await mcp.read_resource("x://nothing")


async def test_a_filter_that_fails_shows_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)

    def visible(ctx: Context, item: Item) -> bool:
        raise RuntimeError("secret")

    async with connect(make_server(visible=visible)) as peer:
        for method, member in LISTS:
            assert await names(peer, method, member) == []
        for name in ("open", "nothing"):
            code, message, _ = await refusal(peer, "tools/call", {"name": name})
            assert (code, message) == (INVALID_PARAMS, f"Unknown tool: {name}")
    assert "secret" in caplog.text
    assert "The server's filter `visible` failed on Tool 'open', which is hidden" in caplog.text
