"""What the client answers from memory."""

from __future__ import annotations

import dataclasses
import logging
import time
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp._engine.link import OnNotification, OutgoingRequest
from mcp.client import CacheConfig, CacheEntry, CacheKey, CacheMode, CacheStats, InMemoryResponseCacheStore
from mcp.client._notifications import IncomingMessage
from mcp.client.caching import MAX_TTL_MS, ClientResponseCache, ResponseCacheStore
from mcp.client.client import Client
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from tests.client.changes import TOOLS, UPDATED, Stream
from tests.client.scripted import DISCOVERY, Scripted, listing, said

MINUTE = 60_000
MODERN = "2026-07-28"
ADD: dict[str, Any] = {"name": "add"}


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Shelf:
    """A store that shows what it is asked, and fails where the test wants it."""

    def __init__(self) -> None:
        self.entries: dict[CacheKey, CacheEntry] = {}
        self.asked: list[tuple[str, str]] = []
        self.failing: set[str] = set()

    def _note(self, operation: str, key: CacheKey) -> None:
        self.asked.append((operation, key.partition.split('"')[1]))
        if operation in self.failing:
            raise OSError("the shelf fell down")

    async def get(self, key: CacheKey) -> CacheEntry | None:
        self._note("get", key)
        return self.entries.get(key)

    async def set(self, key: CacheKey, entry: CacheEntry) -> None:
        self._note("set", key)
        self.entries[key] = entry

    async def delete(self, key: CacheKey) -> None:
        self._note("delete", key)
        self.entries.pop(key, None)

    async def clear(self) -> None:
        raise AssertionError("nobody may clear a store that others share")


def page(member: str, items: list[Any], **members: Any) -> dict[str, Any]:
    return {"resultType": "complete", member: items, "ttlMs": MINUTE, "cacheScope": "private", **members}


def tools(*names: str, **members: Any) -> dict[str, Any]:
    return listing(*({"name": name} for name in names), **{"ttlMs": MINUTE, **members})


def text(uri: str, **members: Any) -> dict[str, Any]:
    return page("contents", [{"uri": uri, "text": "hi"}], **members)


def kept_in(store: Shelf, **config: Any) -> CacheConfig:
    settings: dict[str, Any] = {"store": store, "partition": "ann", "target_id": "lab", **config}
    return CacheConfig(**settings)


def cache_in(store: ResponseCacheStore, **limits: Any) -> ClientResponseCache:
    return ClientResponseCache(
        store=store,
        partition="ann",
        arm_id="lab",
        default_ttl_ms=0,
        clock=time.time,
        share_public=False,
        negotiated_version=lambda: MODERN,
        **limits,
    )


def names(result: types.ListToolsResult) -> list[str]:
    return [tool.name for tool in result.tools]


@pytest.mark.rule("CACHE-1", "CACHE-3", "CACHE-5", "CACHE-18", "CACHE-C-01", "CACHE-C-05", "CACHE-D4")
async def test_every_list_and_every_resource_is_kept_for_as_long_as_the_server_says() -> None:
    server = Scripted(
        tools__list=tools("add"),
        prompts__list=page("prompts", [{"name": "p"}]),
        resources__list=page("resources", [{"uri": "x://a", "name": "a"}]),
        resources__templates__list=page("resourceTemplates", [{"uriTemplate": "x://{a}", "name": "a"}]),
        resources__read=[text("x://a"), text("x://b")],
    )
    async with Client(server, mode=MODERN) as client:
        for _ in range(3):
            assert names(await client.list_tools()) == ["add"]
            assert (await client.list_prompts()).prompts[0].name == "p"
            assert (await client.list_resources()).resources[0].uri == "x://a"
            assert (await client.list_resource_templates()).resource_templates[0].name == "a"
            assert (await client.read_resource("x://a")).contents[0].uri == "x://a"
            assert (await client.read_resource("x://b")).contents[0].uri == "x://b"
        assert client.cache_stats == CacheStats(hits=12, misses=6)
        await client.session.list_tools()  # the session asks each time
    assert len(server.methods) == 7


@pytest.mark.rule("CACHE-1")
async def test_each_client_has_answers_of_its_own() -> None:
    server = Scripted(tools__list=tools("add"))
    for _ in range(2):
        async with Client(server, mode=MODERN) as client:
            await client.list_tools()
    assert server.methods == ["tools/list"] * 2


@pytest.mark.rule("CACHE-2", "CACHE-22", "CACHE-D1")
async def test_without_a_cache_every_verb_asks() -> None:
    server = Scripted(tools__list=tools("add"))
    async with Client(server, mode=MODERN, cache=None) as client:
        for mode in ("use", "refresh", "bypass"):
            await client.list_tools(cache_mode=mode)
        assert client.cache_stats == CacheStats()
    assert server.methods == ["tools/list"] * 3


@pytest.mark.rule("CACHE-D1", "CACHE-22")
@pytest.mark.parametrize("cache", [None, CacheConfig()])
@pytest.mark.parametrize("more", [{}, {"cursor": "2"}])
async def test_an_unknown_mode_is_refused(cache: CacheConfig | None, more: Any) -> None:
    async with Client(Scripted(), mode=MODERN, cache=cache) as client:
        with pytest.raises(ValueError, match=r"cache_mode must be one of \['use', 'refresh', 'bypass'\], got 'never'"):
            await client.list_tools(cache_mode="never", **more)  # pyright: ignore[reportArgumentType]
        with pytest.raises(ValueError, match="cache_mode"):
            await client.read_resource("x://a", request_state="s", cache_mode="never")  # pyright: ignore[reportArgumentType]


@pytest.mark.rule("CACHE-4", "CACHE-26", "PAGE-10", "CACHE-C-17", "CACHE-C-18", "CACHE-C-20")
async def test_only_the_first_page_is_kept_and_a_cursor_that_is_not_valid_any_more_drops_it() -> None:
    first, second = tools("a", nextCursor="2"), tools("b")
    gone = MCPError(INVALID_PARAMS, "Invalid cursor")
    server = Scripted(tools__list=[first, second, second, gone, first, MCPError(INTERNAL_ERROR, "no"), gone])
    async with Client(server, mode=MODERN) as client:
        await client.list_tools()
        for _ in range(2):
            assert names(await client.list_tools(cursor="2")) == ["b"]
            assert names(await client.list_tools()) == ["a"]
        with pytest.raises(MCPError, match="Invalid cursor"):
            await client.list_tools(cursor="2")
        await client.list_tools()
        assert client.cache_stats == CacheStats(hits=2, misses=2, evictions=1)
        with pytest.raises(MCPError, match="no"):
            await client.list_tools(cursor="2")
        with pytest.raises(MCPError, match="Invalid cursor"):
            await client.list_tools(cursor="2", cache_mode="bypass")
        await client.list_tools()
    assert len(server.methods) == 7


@pytest.mark.rule("CACHE-6", "CACHE-C-02")
async def test_a_read_that_took_questions_is_not_kept() -> None:
    asks = {"resultType": "input_required", "requestState": "s", "inputRequests": {"r": {"method": "roots/list"}}}
    server = Scripted(resources__read=[asks, text("x://a"), asks, text("x://a"), text("x://a"), text("x://a")])

    async def roots(context: object) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[])

    async with Client(server, mode=MODERN, list_roots_callback=roots) as client:
        await client.read_resource("x://a")
        await client.read_resource("x://a")
        await client.read_resource("x://a", request_state="s")
        await client.read_resource("x://a")
        await client.read_resource("x://a")
    assert len(server.methods) == 6


@pytest.mark.rule("CACHE-7")
async def test_errors_are_not_kept() -> None:
    server = Scripted(tools__list=[MCPError(INTERNAL_ERROR, "no"), tools("add")])
    async with Client(server, mode=MODERN) as client:
        with pytest.raises(MCPError, match="no"):
            await client.list_tools()
        assert names(await client.list_tools()) == ["add"]


@pytest.mark.rule("CACHE-8")
async def test_what_a_caller_does_to_an_answer_stays_with_the_caller() -> None:
    async with Client(Scripted(tools__list=tools("add")), mode=MODERN) as client:
        for _ in range(3):
            answer = await client.list_tools()
            assert names(answer) == ["add"]
            answer.tools[0].input_schema["type"] = "nothing"
            answer.tools.clear()


@pytest.mark.rule("CACHE-9")
async def test_an_answer_from_memory_lets_others_run() -> None:
    async with Client(Scripted(tools__list=tools("add")), mode=MODERN) as client:
        await client.list_tools()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await client.list_tools()
        assert scope.cancelled_caught


@pytest.mark.rule("CACHE-10")
async def test_a_list_from_memory_teaches_the_session_about_its_tools() -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    store = Shelf()
    first = Scripted(tools__list=tools(ttlMs=MINUTE) | {"tools": [{"name": "add", "inputSchema": schema}]})
    async with Client(first, mode=MODERN, cache=kept_in(store)) as client:
        await client.list_tools()
    server = Scripted(tools__call=said())
    async with Client(server, mode=MODERN, cache=kept_in(store)) as client:
        await client.list_tools()
        await client.call_tool("add", {"region": "eu"})
    assert server.methods == ["tools/call"]
    assert server.requests[0].headers["Mcp-Param-Region"] == "eu"


@pytest.mark.rule("CACHE-11", "CACHE-16", "CACHE-C-03", "CACHE-C-08", "CACHE-C-09", "CACHE-C-10")
async def test_what_is_stale_is_asked_for_when_it_is_wanted_and_not_before() -> None:
    clock = Clock()
    server = Scripted(tools__list=[tools("a"), tools("b"), MCPError(INTERNAL_ERROR, "no"), tools("c", ttlMs=0)])
    async with Client(server, mode=MODERN, cache=CacheConfig(clock=clock)) as client:
        assert names(await client.list_tools()) == ["a"]
        clock.now += 59.999
        assert names(await client.list_tools()) == ["a"]
        clock.now += 0.001
        await anyio.wait_all_tasks_blocked()
        assert len(server.methods) == 1
        assert names(await client.list_tools()) == ["b"]
        clock.now += 60
        with pytest.raises(MCPError):  # no stale answer takes the place of an error
            await client.list_tools()
        assert names(await client.list_tools()) == ["c"]
        assert names(await client.list_tools()) == ["c"]
    assert len(server.methods) == 5


@pytest.mark.rule("CACHE-12", "CACHE-13", "CACHE-15", "CACHE-17", "CACHE-C-06", "CACHE-C-07", "CACHE-C-21")
async def test_without_a_hint_the_default_counts_and_the_answer_is_private() -> None:
    silent = listing(ADD)
    del silent["ttlMs"], silent["cacheScope"]
    store, clock = Shelf(), Clock()
    for ttl, reply in ((0, silent), (MINUTE, tools("add", ttlMs=0)), (MINUTE, tools("add", ttlMs=-5))):
        async with Client(Scripted(tools__list=reply), mode=MODERN, cache=kept_in(store, default_ttl_ms=ttl)) as client:
            await client.list_tools()
        assert store.entries == {}
    config = kept_in(store, default_ttl_ms=MINUTE, clock=clock)
    async with Client(Scripted(tools__list=silent), mode=MODERN, cache=config) as client:
        await client.list_tools()
    [entry] = store.entries.values()
    assert (entry.scope, entry.expires_at) == ("private", 1060)
    async with Client(Scripted(tools__list=tools("a", ttlMs=10**15)), mode=MODERN, cache=config) as client:
        await client.list_tools(cache_mode="refresh")
    [entry] = store.entries.values()
    assert entry.expires_at == 1000 + MAX_TTL_MS / 1000


@pytest.mark.rule("CACHE-14")
async def test_on_a_handshake_connection_only_the_default_counts() -> None:
    calls = 0

    mcp = MCPServer("Lab")

    @mcp.resource("x://a")
    def read() -> str:
        nonlocal calls
        calls += 1
        return "hi"

    for ttl, wanted in ((0, 2), (MINUTE, 1)):
        calls = 0
        async with Client(mcp, mode="legacy", cache=CacheConfig(default_ttl_ms=ttl)) as client:
            for _ in range(2):
                await client.read_resource("x://a")
        assert calls == wanted


@pytest.mark.rule("CACHE-19", "CACHE-20", "CACHE-21")
async def test_refreshing_asks_and_keeps_and_bypassing_does_neither() -> None:
    server = Scripted(tools__list=[tools("a"), tools("b"), tools("c"), tools("d"), tools("e", ttlMs=0), tools("f")])
    async with Client(server, mode=MODERN) as client:
        assert names(await client.list_tools()) == ["a"]
        assert names(await client.list_tools(cache_mode="bypass")) == ["b"]
        assert names(await client.list_tools()) == ["a"]
        assert names(await client.list_tools(cache_mode="refresh")) == ["c"]
        assert names(await client.list_tools()) == ["c"]
        assert names(await client.list_tools(meta={"vendor/x": 1})) == ["d"]
        assert names(await client.list_tools()) == ["d"]
        assert names(await client.list_tools(cache_mode="refresh")) == ["e"]
        assert names(await client.list_tools()) == ["f"]


@pytest.mark.rule("CACHE-19")
async def test_a_refresh_that_took_questions_removes_what_was_kept() -> None:
    asks = {"resultType": "input_required", "requestState": "s"}
    server = Scripted(resources__read=[text("x://a"), asks, text("x://a"), text("x://a")])
    async with Client(server, mode=MODERN) as client:
        await client.read_resource("x://a")
        await client.read_resource("x://a", cache_mode="refresh")
        await client.read_resource("x://a")
    assert len(server.methods) == 4


@pytest.mark.rule("CACHE-23", "CACHE-24", "CACHE-28", "CACHE-29", "CACHE-D2", "CALLBACK-28", "CACHE-C-16", "CASE-80")
async def test_a_change_that_the_server_announces_makes_answers_stale_before_anybody_hears_of_it() -> None:
    stream = Stream()
    heard: list[tuple[str, list[str]]] = []
    server = Scripted(tools__list=[tools("a"), tools("b")], resources__read=text("x://a"), subscriptions__listen=stream)

    async def handle(message: IncomingMessage) -> None:
        assert not isinstance(message, Exception)
        heard.append((message.method, names(await client.list_tools())))

    async with Client(server, mode=MODERN, message_handler=handle) as client:
        await client.list_tools()
        await client.read_resource("x://a")
        with anyio.fail_after(5):
            async with client.listen(tools_list_changed=True, resource_subscriptions=["x://a"]) as changes:
                stream.tell(TOOLS)
                await anext(changes)
                assert names(await client.list_tools()) == ["b"]
                stream.tell(UPDATED, uri="x://a/b")
                await anext(changes)
                await client.read_resource("x://a")
                assert server.methods.count("resources/read") == 1
                stream.tell(UPDATED, uri="x://a")
                await anext(changes)
                await client.read_resource("x://a")
                assert server.methods.count("resources/read") == 2
        assert client.cache_stats.evictions == 3
    stream.close()
    stream._receive.close()
    assert heard[0] == (TOOLS, ["b"])


@pytest.mark.rule("CACHE-23", "CASE-80")
async def test_on_a_handshake_connection_notifications_make_answers_stale() -> None:
    mcp = MCPServer("Lab", notify_list_changes=True)
    mcp.tool("first")(handle_nothing)
    changed = anyio.Event()

    async def handle(message: IncomingMessage) -> None:
        changed.set()

    config = CacheConfig(default_ttl_ms=MINUTE)
    async with Client(mcp, mode="legacy", message_handler=handle, cache=config) as client:
        assert names(await client.list_tools()) == ["first"]
        mcp.tool("second")(handle_nothing)
        with anyio.fail_after(5):
            await changed.wait()
        assert names(await client.list_tools()) == ["first", "second"]


def handle_nothing() -> None:
    """Do nothing."""


@pytest.mark.rule("CACHE-25")
async def test_an_answer_that_was_under_way_during_a_change_is_not_kept() -> None:
    async def reply(request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        await on_notification(TOOLS, {})
        return tools("a")

    server = Scripted(tools__list=[reply, tools("b")])
    async with Client(server, mode=MODERN) as client:
        assert names(await client.list_tools()) == ["a"]
        assert names(await client.list_tools()) == ["b"]


@pytest.mark.rule("CACHE-25")
async def test_a_change_during_the_keeping_wins() -> None:
    class Slow(Shelf):
        async def set(self, key: CacheKey, entry: CacheEntry) -> None:
            await super().set(key, entry)
            await client._cached.evict(TOOLS, {})
            await super().set(key, entry)  # the store is slower than the change

    store = Slow()
    async with Client(Scripted(tools__list=tools("a")), mode=MODERN, cache=kept_in(store)) as client:
        await client.list_tools()
    assert store.entries == {}


@pytest.mark.rule("CACHE-27")
async def test_an_eviction_that_fails_does_not_keep_the_notification_back(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[IncomingMessage] = []

    async def handle(message: IncomingMessage) -> None:
        heard.append(message)

    async def fail(method: str, params: object) -> None:
        raise OSError

    async with Client(Scripted(), mode=MODERN, message_handler=handle) as client:
        client.session._notifications.on_change = fail
        await client.session._notifications.deliver(TOOLS, {})
    assert [type(message).__name__ for message in heard] == ["ToolListChangedNotification"]
    assert [record.message for record in caplog.records] == [
        "Response cache eviction failed; the notification is still delivered"
    ]


@pytest.mark.rule("CACHE-30", "CACHE-31", "CACHE-34", "CACHE-35", "CACHE-37", "CACHE-42", "CACHE-C-14", "CACHE-C-15")
@pytest.mark.parametrize(
    ("scope", "shared", "asked"), [("private", True, 2), ("public", False, 2), ("public", True, 1)]
)
async def test_users_of_one_store_share_only_what_is_public_and_only_if_they_want(
    scope: str, shared: bool, asked: int
) -> None:
    server = Scripted(tools__list=tools("a", cacheScope=scope))
    store = Shelf()
    for user in ("ann", "bob"):
        config = kept_in(store, partition=user, share_public=shared)
        async with Client(server, mode=MODERN, cache=config) as client:
            await client.list_tools()
            await client.list_tools()
    assert len(server.methods) == asked
    assert store.asked[:2] == [("get", "private"), ("get", "public")]
    assert {key.partition.split('", "')[1].strip('"') for key in store.entries} == {MODERN}


@pytest.mark.rule("CACHE-32", "CACHE-33")
async def test_servers_are_kept_apart() -> None:
    store = Shelf()
    for target in ("lab", "field"):
        server = Scripted(tools__list=tools(target))
        async with Client(server, mode=MODERN, cache=kept_in(store, target_id=target)) as client:
            assert names(await client.list_tools()) == [target]


@pytest.mark.rule("CACHE-35")
async def test_what_is_private_does_not_count_under_a_public_key() -> None:
    store = Shelf()
    server = Scripted(tools__list=[tools("a", cacheScope="public"), tools("b")])
    async with Client(server, mode=MODERN, cache=kept_in(store)) as client:
        await client.list_tools()
        [(key, entry)] = store.entries.items()
        store.entries[key] = dataclasses.replace(entry, scope="private")
        assert names(await client.list_tools()) == ["b"]


@pytest.mark.rule("CACHE-36")
async def test_a_result_that_changes_its_scope_leaves_nothing_in_the_other() -> None:
    store = Shelf()
    server = Scripted(tools__list=[tools("a", cacheScope="public"), tools("b"), tools("c", cacheScope="public")])
    async with Client(server, mode=MODERN, cache=kept_in(store)) as client:
        for scope in ("public", "private", "public"):
            await client.list_tools(cache_mode="refresh")
            assert store.asked[-2:] == [("delete", "private" if scope == "public" else "public"), ("set", scope)]
            assert [entry.scope for entry in store.entries.values()] == [scope]


@pytest.mark.rule("CACHE-38")
async def test_the_store_in_memory_forgets_what_was_used_least_recently() -> None:
    store = InMemoryResponseCacheStore(max_entries=2)
    keys = [CacheKey("tools/list", str(number)) for number in range(3)]
    entry = CacheEntry(None, "private", 0)
    await store.set(keys[0], entry)
    await store.set(keys[1], entry)
    await store.get(keys[0])
    await store.set(keys[2], entry)
    assert [await store.get(key) for key in keys] == [entry, None, entry]
    await store.clear()
    assert await store.get(keys[0]) is None
    endless = InMemoryResponseCacheStore(max_entries=0)
    for number in range(2000):
        await endless.set(CacheKey("resources/read", str(number)), entry)
    assert await endless.get(CacheKey("resources/read", "0")) == entry
    with pytest.raises(ValueError, match=r"^max_entries must be >= 0, got -1$"):
        InMemoryResponseCacheStore(max_entries=-1)


@pytest.mark.rule("CACHE-39")
@pytest.mark.parametrize("operation", ["get", "set", "delete"])
async def test_a_store_that_fails_costs_no_call_and_one_warning(
    operation: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = Shelf()
    store.failing.add(operation)
    async with Client(Scripted(tools__list=tools("a")), mode=MODERN, cache=kept_in(store)) as client:
        for _ in range(3):
            assert names(await client.list_tools()) == ["a"]
        warning = "Response cache store operation failed; continuing without the cache"
        assert [record.message for record in caplog.records] == [warning]
        store.failing.clear()
        mode: CacheMode = "use" if operation == "get" else "refresh"
        await client.list_tools(cache_mode=mode)
        store.failing.add(operation)
        await client.list_tools(cache_mode=mode)
        assert [record.message for record in caplog.records] == [warning] * 2


@pytest.mark.rule("CACHE-40")
@pytest.mark.parametrize(
    ("operation", "warning"),
    [
        ("delete", "Response cache store delete timed out; the entry will age out by TTL"),
        ("get", "Response cache store get timed out; continuing without the cache"),
    ],
)
async def test_a_store_that_does_not_answer_is_not_waited_for(
    operation: str, warning: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = Shelf()

    async def hang(key: CacheKey) -> None:
        await anyio.sleep_forever()

    setattr(store, operation, hang)
    cache = cache_in(store, store_cleanup_timeout=0.01)
    with anyio.fail_after(5):
        await (cache.read("tools/list", "") if operation == "get" else cache.evict_method("tools/list"))
    assert [record.message for record in caplog.records] == [warning]


@pytest.mark.rule("CACHE-41", "CACHE-16")
@pytest.mark.parametrize(
    "spoiled",
    [
        {"value": "junk"},
        {"value": {"prompts": []}},
        {"value": types.ListPromptsResult(prompts=[])},
        {"expires_at": None},
        None,
    ],
)
async def test_an_entry_that_is_no_such_answer_is_a_miss(spoiled: dict[str, Any] | None) -> None:
    store = Shelf()
    server = Scripted(tools__list=[tools("a"), tools("b")])
    async with Client(server, mode=MODERN, cache=kept_in(store)) as client:
        await client.list_tools()
        [(key, entry)] = store.entries.items()
        junk: Any = "no entry at all"
        store.entries[key] = junk if spoiled is None else dataclasses.replace(entry, **spoiled)
        assert names(await client.list_tools()) == ["b"]


async def test_a_store_may_keep_the_wire_form() -> None:
    store = Shelf()
    server = Scripted(tools__list=tools("a"))
    async with Client(server, mode=MODERN, cache=kept_in(store)) as client:
        await client.list_tools()
        [(key, entry)] = store.entries.items()
        wire = entry.value.model_dump(mode="json", by_alias=True)
        store.entries[key] = dataclasses.replace(entry, value=wire)
        assert names(await client.list_tools()) == ["a"]
    assert len(server.methods) == 1


@pytest.mark.rule("CACHE-D5", "CACHE-11")
async def test_who_asks_the_same_at_the_same_time_shares_one_answer() -> None:
    go = anyio.Event()

    async def reply(request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        await go.wait()
        return tools("a")

    server = Scripted(tools__list=reply)
    found: list[list[str]] = []

    async def ask(client: Client, meta: Any = None) -> None:
        found.append(names(await client.list_tools(meta=meta)))

    with anyio.fail_after(5):
        async with Client(server, mode=MODERN) as client, anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(ask, client)
            tasks.start_soon(ask, client, {"vendor/x": 1})
            await anyio.wait_all_tasks_blocked()
            go.set()
    assert found == [["a"]] * 6
    assert len(server.methods) == 2


@pytest.mark.rule("CACHE-D5")
async def test_nobody_is_given_an_answer_that_may_not_be_kept_or_did_not_come() -> None:
    held: list[anyio.Event] = []

    async def reply(request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        held.append(anyio.Event())
        await held[-1].wait()
        return tools("a", ttlMs=0)

    server = Scripted(tools__list=reply)
    with anyio.fail_after(5):
        async with Client(server, mode=MODERN) as client, anyio.create_task_group() as tasks:
            leader = anyio.CancelScope()

            async def lead() -> None:
                with leader:
                    await client.list_tools()

            tasks.start_soon(lead)
            await anyio.wait_all_tasks_blocked()
            for _ in range(3):
                tasks.start_soon(client.list_tools)
            await anyio.wait_all_tasks_blocked()
            assert len(held) == 1
            leader.cancel()
            await anyio.wait_all_tasks_blocked()
            assert len(held) == 4
            for event in held:
                event.set()
            await anyio.wait_all_tasks_blocked()
            for _ in range(2):  # the server is known to allow no keeping: nobody waits for anybody
                tasks.start_soon(client.list_tools)
            await anyio.wait_all_tasks_blocked()
            assert len(held) == 6
            for event in held:
                event.set()


async def test_many_evictions_take_no_memory() -> None:
    cache = cache_in(InMemoryResponseCacheStore(), generation_map_cap=10)
    before = cache.capture("tools/list", "")
    for number in range(100):
        await cache.evict_stale(UPDATED, {"uri": f"x://{number}"})
    assert len(cache._generations) <= 10
    result = types.ListToolsResult(tools=[], ttl_ms=MINUTE)
    assert not await cache.write("tools/list", "", result, before, "use")
    assert await cache.write("tools/list", "", result, cache.capture("tools/list", ""), "use")
    await cache.evict_for_notification(types.ToolListChangedNotification())
    assert await cache.read("tools/list", "") is None


@pytest.mark.rule("CLIENT-8", "CACHE-37", "CACHE-33")
@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ({"store": Shelf()}, ValueError, "a custom store requires an explicit partition"),
        ({"target_id": ""}, ValueError, "target_id must be a non-empty string or omitted"),
        ({"default_ttl_ms": -1}, ValueError, "default_ttl_ms must be >= 0, got -1"),
        ({"default_ttl_ms": 1.5}, TypeError, "default_ttl_ms must be an int, got float"),
        ({"default_ttl_ms": True}, TypeError, "default_ttl_ms must be an int, got bool"),
        ({"partition": 3}, TypeError, "partition must be a string, got int"),
        ({"clock": 3}, TypeError, "clock must be callable, got int"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(
    config: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        CacheConfig(**config)
    assert str(caught.value) == message


@pytest.mark.rule("CLIENT-8", "CACHE-33")
def test_a_store_of_ones_own_needs_a_name_for_a_server_without_a_url() -> None:
    config = CacheConfig(store=Shelf(), partition="ann")
    with pytest.raises(ValueError, match=r"^a custom cache store requires CacheConfig\.target_id when the server is"):
        Client(Scripted(), cache=config)
    Client("http://127.0.0.1:9/mcp", cache=config)


@pytest.mark.rule("CLIENT-D2", "CLIENT-7")
def test_something_that_is_no_configuration_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^cache must be a CacheConfig or None, not int$"):
        Client(Scripted(), cache=3)  # pyright: ignore[reportArgumentType]


@pytest.mark.rule("CACHE-3")
async def test_discovery_is_not_kept() -> None:
    server = Scripted(server__discover=DISCOVERY | {"ttlMs": MINUTE})
    config = kept_in(Shelf())
    for _ in range(2):
        async with Client(server, cache=config):
            pass
    assert server.methods == ["server/discover"] * 2


async def test_a_failing_store_writes_no_more_than_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    store = Shelf()
    store.failing.add("set")
    with caplog.at_level(logging.DEBUG):
        async with Client(Scripted(tools__list=tools("a")), mode=MODERN, cache=kept_in(store)) as client:
            await client.list_tools()
    [record] = [record for record in caplog.records if record.name == "mcp.client.caching"]
    assert record.levelno == logging.WARNING


@pytest.mark.rule("CACHE-D3", "CACHE-47")
@pytest.mark.parametrize(("ttl", "kind"), [(1.5, "float"), (True, "bool"), ("5", "str")])
def test_a_hint_is_in_whole_milliseconds(ttl: Any, kind: str) -> None:
    with pytest.raises(TypeError, match=f"^ttl_ms must be an int, got {kind}$"):
        CacheHint(ttl_ms=ttl)


@pytest.mark.rule("CACHE-C-19")
async def test_a_whole_list_begins_at_the_beginning() -> None:
    server = Scripted(tools__list=[tools("a", nextCursor="2"), tools("b"), tools("c", nextCursor="2"), tools("d")])
    async with Client(server, mode=MODERN) as client:
        assert [tool.name for tool in await client.list_all_tools()] == ["a", "b"]
        assert [tool.name for tool in await client.list_all_tools(cache_mode="refresh")] == ["c", "d"]
    assert [params.get("cursor") for params in server.sent("tools/list")] == [None, "2", None, "2"]
