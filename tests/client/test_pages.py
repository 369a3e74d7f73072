"""Lists that come in pages, one page at a time and all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp._engine.link import OutgoingRequest
from mcp.client.client import Client
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.methods import CacheableMethod
from tests.client.scripted import Scripted, listing, said

Context = ServerRequestContext[Any, Any]

LISTS: list[tuple[CacheableMethod, str, str, dict[str, Any]]] = [
    ("tools/list", "tools", "iter_tools", {"name": "a", "inputSchema": {"type": "object"}}),
    ("prompts/list", "prompts", "iter_prompts", {"name": "a"}),
    ("resources/list", "resources", "iter_resources", {"name": "a", "uri": "x://a"}),
    (
        "resources/templates/list",
        "resourceTemplates",
        "iter_resource_templates",
        {"name": "a", "uriTemplate": "x://{a}"},
    ),
]
ANY_LIST = pytest.mark.parametrize(("method", "member", "iterate", "item"), LISTS)
CURSORS = ["2", "", " \u00e9\ud800 ", "x" * 5000]


class Paged(Scripted):
    """A server with one list, whose pages begin at cursors."""

    def __init__(self, method: str, member: str, item: dict[str, Any], cursors: list[str]) -> None:
        async def answer(request: OutgoingRequest, on_notification: Any) -> dict[str, Any]:
            cursor: str | None = (request.params or {}).get("cursor")
            place = 0 if cursor is None else cursors.index(cursor) + 1
            page = [{**item, "name": f"{place}.{number}"} for number in range(2 if place != 1 else 0)]
            after = {"nextCursor": cursors[place]} if place < len(cursors) else {}
            return {"resultType": "complete", member: page, "ttlMs": 0, "cacheScope": "private", **after}

        super().__init__(**{method.replace("/", "__"): answer})


def iterator(client: Client, name: str, **options: Any) -> AsyncIterator[Any]:
    make: Callable[..., AsyncIterator[Any]] = getattr(client, name)
    return make(**options)


@pytest.mark.rule("PAGE-D3", "PAGE-2", "PAGE-5", "LEG-F-12")
@ANY_LIST
async def test_all_items_come_from_pages_whose_cursors_go_back_as_they_came(
    method: str, member: str, iterate: str, item: dict[str, Any]
) -> None:
    server = Paged(method, member, item, CURSORS)
    async with Client(server) as client:
        names = [found.name async for found in iterator(client, iterate, meta={"k": 1})]
        assert names == ["0.0", "0.1", "2.0", "2.1", "3.0", "3.1", "4.0", "4.1"]
        sent = server.sent(method)
        assert [params.get("cursor") for params in sent] == [None, *CURSORS]
        assert [params["_meta"]["k"] for params in sent] == [1] * 5
        again = iterator(client, iterate)
        assert (await anext(again)).name == "0.0"
        assert len(server.sent(method)) == 6  # the other pages wait until they are wanted


@pytest.mark.rule("PAGE-2")
async def test_no_cursor_outlives_its_connection() -> None:
    server = Paged(*LISTS[0][:2], LISTS[0][3], ["2"])
    for _ in range(2):
        async with Client(server) as client:
            await client.list_tools()
    assert [params.get("cursor") for params in server.sent("tools/list")] == [None, None]


@pytest.mark.rule("PAGE-4")
@ANY_LIST
async def test_a_verb_returns_one_page(method: str, member: str, iterate: str, item: dict[str, Any]) -> None:
    server = Paged(method, member, item, ["2"])
    async with Client(server) as client:
        list_page = getattr(client, iterate.replace("iter", "list"))
        first = await list_page()
        assert first.next_cursor == "2"
        assert len(server.sent(method)) == 1
        assert (await list_page(cursor=first.next_cursor)).next_cursor is None


async def read(tools: AsyncIterator[types.Tool], names: list[str]) -> None:
    async for tool in tools:
        names += [tool.name]


@pytest.mark.rule("PAGE-D3", "CASE-83")
@pytest.mark.parametrize("cursors", [["again"], ["", ""], ["1", "2", "1"]])
async def test_a_list_without_an_end_is_an_error(cursors: list[str]) -> None:
    pages = [listing({"name": str(number)}, nextCursor=cursor) for number, cursor in enumerate(cursors)]
    server = Scripted(tools__list=pages)
    names: list[str] = []
    with anyio.fail_after(5):
        async with Client(server) as client:
            tools = client.iter_tools()
            with pytest.raises(RuntimeError, match=f"gave the cursor {cursors[-1]!r} a second time"):
                await read(tools, names)
            with pytest.raises(RuntimeError):
                await anext(tools)
    assert names[: len(cursors)] == [str(number) for number in range(len(cursors))]
    assert len(server.sent("tools/list")) <= len(cursors) + 1


@pytest.mark.rule("CASE-83")
@ANY_LIST
async def test_all_pages_are_drained_up_to_a_bound(
    method: str, member: str, iterate: str, item: dict[str, Any]
) -> None:
    server = Paged(method, member, item, CURSORS)
    async with Client(server) as client:
        list_all = getattr(client, iterate.replace("iter", "list_all"))
        names = ["0.0", "0.1", "2.0", "2.1", "3.0", "3.1", "4.0", "4.1"]
        assert [found.name for found in await list_all(meta={"k": 1}, max_pages=5)] == names
        assert [params["_meta"]["k"] for params in server.sent(method)] == [1] * 5
        assert len(await list_all(max_pages=None)) == len(names)
        with pytest.raises(RuntimeError, match=r"^The list has more than 4 pages; `max_pages` allows for more$"):
            await list_all(max_pages=4)
        assert len(server.sent(method)) == 14


@pytest.mark.rule("CASE-83")
async def test_a_list_whose_cursors_never_repeat_ends_at_the_bound() -> None:
    server = Paged("tools/list", "tools", LISTS[0][3], [str(number) for number in range(2_000)])
    async with Client(server) as client:
        with pytest.raises(RuntimeError, match="more than 1000 pages"):
            await client.list_all_tools()
        assert len(server.sent("tools/list")) == 1_000


async def test_a_page_that_was_not_answered_is_asked_for_again() -> None:
    server = Scripted(
        tools__list=[listing({"name": "a"}, nextCursor="2"), MCPError(-32000, "gone"), listing({"name": "add"})]
    )
    async with Client(server) as client:
        tools = client.iter_tools()
        assert (await anext(tools)).name == "a"
        with pytest.raises(MCPError, match=r"^gone$"):
            await anext(tools)
        assert (await anext(tools)).name == "add"
        with pytest.raises(StopAsyncIteration):
            await anext(tools)
        with pytest.raises(StopAsyncIteration):
            await anext(tools)


@pytest.mark.rule("PAGE-11", "CASE-83")
@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
async def test_what_is_learnt_of_tools_adds_up_over_the_pages(order: tuple[str, str]) -> None:
    def tool(name: str) -> dict[str, Any]:
        return {
            "name": name,
            "inputSchema": {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": name}}},
            "outputSchema": {"type": "object", "required": [name]},
        }

    pages = [listing(tool("first"), nextCursor="2"), listing(tool("second"))]
    server = Scripted(tools__list=pages, tools__call=said(structuredContent={}))
    async with Client(server) as client:
        first = await client.list_tools()
        await client.list_tools(cursor=first.next_cursor)
        for name in order:
            with pytest.raises(RuntimeError, match=f"Invalid structured content returned by tool {name}"):
                await client.call_tool(name, {"city": "Oslo"})
    assert server.methods.count("tools/list") == 2
    calls = [request for request in server.requests if request.method == "tools/call"]
    assert [dict(call.headers) for call in calls] == [{f"Mcp-Param-{name}": "Oslo"} for name in order]


@pytest.mark.rule("PAGE-7")
async def test_what_an_unknown_cursor_means_is_for_the_handler_to_say(caplog: pytest.LogCaptureFixture) -> None:
    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        cursor = params.cursor if params is not None else None
        if cursor == "old":
            raise MCPError(INVALID_PARAMS, "Cursor expired", {"cursor": cursor})
        return types.ListToolsResult(tools=[], next_cursor=str(int(cursor or "0") + 50))

    async with Client(Server("s", on_list_tools=list_tools)) as client:
        assert (await client.list_tools(cursor="50")).next_cursor == "100"
        with pytest.raises(MCPError) as caught:
            await client.list_tools(cursor="old")
        assert (caught.value.code, caught.value.message) == (INVALID_PARAMS, "Cursor expired")
        assert caught.value.data == {"cursor": "old"}
        with pytest.raises(MCPError) as caught:
            await client.list_tools(cursor="x")
        assert (caught.value.code, caught.value.message) == (INTERNAL_ERROR, "Internal server error")
    assert "invalid literal for int()" in caplog.text


@pytest.mark.rule("PAGE-8")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("cursor", [3, ["a"], {"a": 1}, True])
@pytest.mark.parametrize("method", [method for method, *_ in LISTS])
async def test_a_cursor_that_is_no_text_never_reaches_the_handler(mode: str, cursor: Any, method: str) -> None:
    called: list[str] = []

    async def handle(ctx: Context, params: Any) -> Any:
        called.append(ctx.method)
        raise AssertionError("not to be called")

    lowlevel = Server(
        "s",
        on_list_tools=handle,
        on_list_prompts=handle,
        on_list_resources=handle,
        on_list_resource_templates=handle,
    )
    request = types.Request[dict[str, Any], str](method=method, params={"cursor": cursor})
    for server in (lowlevel, MCPServer("s")):
        async with Client(server, mode=mode) as client:
            with pytest.raises(MCPError) as caught:
                await client.session.send_request(request, types.EmptyResult)
        assert (caught.value.code, caught.value.message) == (INVALID_PARAMS, "Invalid request parameters")
    assert called == []


def nothing() -> str:
    return ""


def something(value: str) -> str:
    return value


@pytest.mark.rule("PAGE-9")
@ANY_LIST
async def test_hints_say_the_same_on_every_page(
    method: CacheableMethod, member: str, iterate: str, item: dict[str, Any]
) -> None:
    mcp = MCPServer("Lab", page_size=1, cache_hints={method: CacheHint(60_000, "public")})
    for name in "abc":
        mcp.tool(name)(nothing)
        mcp.prompt(name)(nothing)
        mcp.resource(f"x://{name}")(nothing)
        mcp.resource(f"{name}://{{value}}")(something)
    async with Client(mcp) as client:
        list_page = getattr(client, iterate.replace("iter", "list"))
        pages = [await list_page()]
        while pages[-1].next_cursor is not None:
            pages.append(await list_page(cursor=pages[-1].next_cursor))
    assert [(page.cache_scope, page.ttl_ms) for page in pages] == [("public", 60_000)] * 3
