"""What the specification asks of a server's features, as it stands on the wire (revision 2026-07-28)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp._engine.link import OutgoingRequest
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import Audio, Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from tests.server.lowlevel.wire import Caller, caller, meta

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
CACHEABLE = [
    ("server/discover", None),
    *((method, None) for method in LISTS),
    ("resources/read", {"uri": "note://text"}),
]
# Everything that JSON Schema 2020-12 lets stand beside `type`.
RICH_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://example.com/move",
    "type": "object",
    "$defs": {"point": {"$anchor": "point", "type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}]}},
    "properties": {"to": {"$ref": "#point"}, "by": {"type": "string", "x-mcp-header": "By"}},
    "allOf": [{"required": ["to"]}],
    "anyOf": [{"required": ["by"]}, {"not": {"required": ["by"]}}],
    "if": {"properties": {"by": {"const": "car"}}},
    "then": {"required": ["plate"]},
    "else": {"dependentRequired": {"plate": ["by"]}},
    "unevaluatedProperties": False,
}


def library(**options: Any) -> MCPServer[Any]:
    """A server with something of every kind."""
    mcp: MCPServer[Any] = MCPServer("Library", version="1", instructions="Ask for one book at a time.", **options)

    @mcp.tool()
    def lend(book: str, days: int = 14) -> dict[str, Any]:
        """Lend a book."""
        if days > 30:
            raise ToolError("At most 30 days.")
        return {"book": book, "days": days}

    @mcp.tool()
    def Lend() -> str:
        return "another tool"

    @mcp.resource("note://text", mime_type="text/markdown")
    def text() -> str:
        return "# Hours"

    @mcp.resource("note://bytes", mime_type="image/png")
    def data() -> bytes:
        return b"\x89PNG"

    @mcp.resource("note://broken")
    def broken() -> str:
        raise RuntimeError("the disk is gone")

    @mcp.resource("book://{isbn}")
    def book(isbn: str) -> str:
        return f"book {isbn}"

    @mcp.prompt(title="Advice")
    def advise(topic: str, tone: str = "warm") -> str:
        """Ask for a book."""
        return f"A {tone} book on {topic}?"

    @mcp.prompt()
    def fail() -> str:
        raise RuntimeError("the disk is gone")

    return mcp


async def refusal(peer: Caller, method: str, params: Mapping[str, Any]) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await peer.call(method, dict(params))
    return caught.value


@pytest.mark.rule("DISC-01", "DISC-03", "DISC-04")
@pytest.mark.rule("TOOL-L-01", "SRES-01", "SPROMPT-01", "SLOG-02")
async def test_discovery_says_what_there_is_and_who_says_so() -> None:
    async with caller(library()._lowlevel_server) as peer:
        found = await peer.call("server/discover")
    assert found == {
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        "capabilities": {
            "logging": {},
            "prompts": {"listChanged": True},
            "resources": {"subscribe": True, "listChanged": True},
            "tools": {"listChanged": True},
        },
        "instructions": "Ask for one book at a time.",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "Library", "version": "1"}},
    }


@pytest.mark.rule("TOOL-L-02", "TOOL-L-03", "SRES-02", "SRES-03", "SPROMPT-02", "SPROMPT-03")
@pytest.mark.parametrize("method", LISTS)
async def test_a_declared_capability_is_served_even_if_there_is_nothing(method: str) -> None:
    async with caller(MCPServer("Empty")._lowlevel_server) as peer:
        assert (await peer.call(method))[LISTS[method]] == []


@pytest.mark.rule("TOOL-L-08", "SRES-06", "SPAGE-01", "SPAGE-07", "CACHE-S-05", "CACHE-S-06")
@pytest.mark.parametrize("method", LISTS)
async def test_every_list_is_paged_with_cursors_that_stay_and_one_scope(method: str) -> None:
    mcp = library(page_size=1)

    @mcp.resource("page://{number}")
    def page_of_a_book(number: str) -> str:
        return number

    async with caller(mcp._lowlevel_server) as peer:
        pages = [await peer.call(method)]
        while (cursor := pages[-1].get("nextCursor")) is not None:
            page = await peer.call(method, {"cursor": cursor})
            assert page == await peer.call(method, {"cursor": cursor})
            pages.append(page)
    assert len(pages) > 1
    assert [len(page[LISTS[method]]) for page in pages] == [1] * len(pages)
    assert {page["cacheScope"] for page in pages} == {"private"}


@pytest.mark.rule("SPAGE-08", "SPAGE-09")
@pytest.mark.parametrize("cursor", ["junk", "", "dG9vbHM6MQ"])
@pytest.mark.parametrize("method", LISTS)
async def test_a_cursor_of_no_list_is_refused(method: str, cursor: str) -> None:
    async with caller(library(page_size=1)._lowlevel_server) as peer:
        assert (await refusal(peer, method, {"cursor": cursor})).code == INVALID_PARAMS


@pytest.mark.rule("CACHE-S-01", "CACHE-S-03", "CACHE-S-04", "CACHE-S-12")
@pytest.mark.parametrize(("method", "params"), CACHEABLE)
async def test_cacheable_results_say_for_how_long_and_for_whom(method: str, params: dict[str, Any] | None) -> None:
    async with caller(library()._lowlevel_server) as peer:
        result = await peer.call(method, params)
        assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
    hints: Any = {method: CacheHint(60_000, "public")}
    async with caller(library(cache_hints=hints)._lowlevel_server) as peer:
        result = await peer.call(method, params)
        assert (result["ttlMs"], result["cacheScope"]) == (60_000, "public")


@pytest.mark.rule("CACHE-S-03", "CACHE-S-04")
@pytest.mark.parametrize(("ttl", "scope"), [(-1, "private"), (0.5, "private"), (1, "everybody")])
def test_a_hint_that_says_nothing_is_refused(ttl: Any, scope: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        library(cache_hints={"tools/list": CacheHint(ttl, scope)})


@pytest.mark.rule("CACHE-S-01", "SCOMP-03", "SPROMPT-08")
async def test_other_results_are_not_cacheable() -> None:
    mcp = library()

    @mcp.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> types.Completion:
        return types.Completion(values=["a"])

    async with caller(mcp._lowlevel_server) as peer:
        ref = {"type": "ref/prompt", "name": "advise"}
        for method, params in (
            ("tools/call", {"name": "Lend"}),
            ("prompts/get", {"name": "advise", "arguments": {"topic": "tea"}}),
            ("completion/complete", {"ref": ref, "argument": {"name": "topic", "value": "t"}}),
        ):
            result = await peer.call(method, params)
            assert result["resultType"] == "complete"
            assert not {"ttlMs", "cacheScope"} & result.keys()


@pytest.mark.rule("TOOL-L-05", "SRES-04", "SPROMPT-04", "TOOL-L-07")
@pytest.mark.parametrize("method", LISTS)
async def test_a_list_is_the_same_on_every_connection_whatever_else_was_asked(method: str) -> None:
    server = library()._lowlevel_server
    async with caller(server) as one, caller(server) as other:
        before = await one.call(method)
        await one.call("tools/call", {"name": "lend", "arguments": {"book": "Emma"}})
        await one.call("resources/read", {"uri": "book://1"})
        await one.call("prompts/get", {"name": "advise", "arguments": {"topic": "tea"}})
        assert await one.call(method) == before
        assert await other.call(method) == before


@pytest.mark.rule("SRES-07")
async def test_one_read_may_give_several_contents() -> None:
    mcp = MCPServer("Lab")

    @mcp.resource("folder://all")
    def everything() -> list[types.TextResourceContents]:
        return [types.TextResourceContents(uri=f"folder://{name}", text=name) for name in "ab"]

    async with caller(mcp._lowlevel_server) as peer:
        contents = (await peer.call("resources/read", {"uri": "folder://all"}))["contents"]
    assert [(content["uri"], content["text"]) for content in contents] == [("folder://a", "a"), ("folder://b", "b")]


@pytest.mark.rule("TOOL-C-02", "SRES-08", "SPROMPT-06")
async def test_tools_resources_and_prompts_may_answer_with_questions() -> None:
    mcp = MCPServer("Lab")
    asked = types.InputRequiredResult(input_requests={"r": types.ListRootsRequest()}, request_state="s")

    @mcp.tool()
    def act() -> types.CallToolResult | types.InputRequiredResult:
        return asked

    @mcp.resource("ask://{name}")
    def read(name: str) -> str | types.InputRequiredResult:
        return asked

    @mcp.prompt()
    def say() -> str | types.InputRequiredResult:
        return asked

    requests = [
        ("tools/call", {"name": "act"}),
        ("resources/read", {"uri": "ask://a"}),
        ("prompts/get", {"name": "say"}),
    ]
    async with caller(mcp._lowlevel_server) as peer:
        for method, params in requests:
            result = await peer.call(method, {**params, "_meta": meta({"roots": {}})})
            assert (result["resultType"], result["inputRequests"]["r"]["method"]) == ("input_required", "roots/list")
            assert not {"ttlMs", "cacheScope"} & result.keys()


@pytest.mark.rule("TOOL-D-01", "TOOL-D-02", "TOOL-D-12")
async def test_a_listed_tool_has_an_object_schema_and_a_name_of_its_own_case() -> None:
    async with caller(library()._lowlevel_server) as peer:
        lend, other = (await peer.call("tools/list"))["tools"]
        assert (lend["name"], other["name"]) == ("lend", "Lend")
        for tool in (lend, other):
            assert tool["inputSchema"]["type"] == "object"
            known = {"name", "title", "description", "icons", "inputSchema", "outputSchema", "annotations", "_meta"}
            assert tool.keys() <= known
        called = await peer.call("tools/call", {"name": "Lend"})
        assert called["content"] == [{"type": "text", "text": "another tool"}]


@pytest.mark.rule("TOOL-D-04")
async def test_a_tool_without_parameters_takes_any_object_or_when_strict_an_empty_one() -> None:
    async with caller(library()._lowlevel_server) as peer:
        schema = (await peer.call("tools/list"))["tools"][1]["inputSchema"]
        assert {key: value for key, value in schema.items() if key != "title"} == {"type": "object", "properties": {}}
    async with caller(library(strict_arguments=True)._lowlevel_server) as peer:
        schema = (await peer.call("tools/list"))["tools"][1]["inputSchema"]
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)


@pytest.mark.rule("TOOL-D-03", "TOOL-D-05", "TOOL-D-07")
@pytest.mark.parametrize("output", [{"type": "array", "items": {"type": "string"}}, {"type": "string"}, RICH_SCHEMA])
async def test_schemas_are_listed_as_they_were_written(output: dict[str, Any]) -> None:
    tool = types.Tool(name="move", input_schema=RICH_SCHEMA, output_schema=output)

    async def list_tools(ctx: ServerRequestContext[Any, Any], params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool])

    async with caller(Server("s", on_list_tools=list_tools)) as peer:
        (listed,) = (await peer.call("tools/list"))["tools"]
    assert (listed["inputSchema"], listed["outputSchema"]) == (RICH_SCHEMA, output)
    assert types.Tool.model_validate(listed).input_schema == RICH_SCHEMA


@pytest.mark.rule("TOOL-C-04")
@pytest.mark.parametrize("value", [{"a": 1}, [1, "b"], "text", 0, False])
async def test_structured_content_is_any_json_value(value: Any) -> None:
    async def call_tool(ctx: ServerRequestContext[Any, Any], params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[], structured_content=value)

    async with caller(Server("s", on_call_tool=call_tool)) as peer:
        result = await peer.call("tools/call", {"name": "t"})
    assert (result["content"], result["structuredContent"], result["isError"]) == ([], value, False)


@pytest.mark.rule("TOOL-C-08", "TOOL-C-09")
async def test_structured_content_comes_with_its_text_and_keeps_the_schema() -> None:
    mcp = library()

    @mcp.tool()
    def odd() -> int:
        return "no number"  # pyright: ignore[reportReturnType]

    async with caller(mcp._lowlevel_server) as peer:
        result = await peer.call("tools/call", {"name": "lend", "arguments": {"book": "Emma"}})
        assert result["structuredContent"] == {"book": "Emma", "days": 14}
        (block,) = result["content"]
        assert block["type"] == "text"
        assert '"Emma"' in block["text"]
        wrong = await peer.call("tools/call", {"name": "odd"})
        assert wrong["isError"] is True
        assert "structuredContent" not in wrong


@pytest.mark.rule("TOOL-C-11", "TOOL-C-12", "TOOL-C-13", "TOOL-S-01")
async def test_a_wrong_call_is_a_protocol_error_and_a_failing_tool_a_result_that_the_model_reads() -> None:
    async with caller(library()._lowlevel_server) as peer:
        unknown = await refusal(peer, "tools/call", {"name": "burn"})
        assert (unknown.code, unknown.message) == (INVALID_PARAMS, "Unknown tool: burn")
        assert (await refusal(peer, "tools/call", {"arguments": {}})).code == INVALID_PARAMS
        for arguments in ({"book": "Emma", "days": 31}, {"book": "Emma", "days": "soon"}, {}):
            failed = await peer.call("tools/call", {"name": "lend", "arguments": arguments})
            assert failed["isError"] is True
            assert failed["content"][0]["text"].startswith("Error executing tool lend: ")


@pytest.mark.rule("TOOL-C-16", "SCOMP-06")
@pytest.mark.parametrize("method", ["tools/call", "completion/complete", "prompts/get", "resources/read", *LISTS])
async def test_what_a_server_does_not_offer_is_no_method(method: str) -> None:
    async with caller(Server("s")) as peer:
        assert (await refusal(peer, method, {"name": "x"})).code == METHOD_NOT_FOUND


@pytest.mark.rule("SRES-17", "SRES-18", "SRES-19", "SRES-21", "SRES-22")
async def test_a_resource_that_is_not_there_is_an_error_that_names_it() -> None:
    async with caller(library()._lowlevel_server) as peer:
        for uri in ("note://none", "no uri", "", "book://a/b", "note://text\n"):
            unknown = await refusal(peer, "resources/read", {"uri": uri})
            assert (unknown.code, unknown.message, unknown.data) == (
                INVALID_PARAMS,
                f"Unknown resource: {uri}",
                {"uri": uri},
            )
        assert (await refusal(peer, "resources/read", {"uri": 5})).code == INVALID_PARAMS
        assert (await refusal(peer, "resources/read", {"uri": "note://broken"})).code == INTERNAL_ERROR


@pytest.mark.rule("SRES-24", "SRES-27")
async def test_contents_are_text_or_base64_and_repeat_uri_and_type() -> None:
    async with caller(library()._lowlevel_server) as peer:
        (text,) = (await peer.call("resources/read", {"uri": "note://text"}))["contents"]
        assert text == {"uri": "note://text", "mimeType": "text/markdown", "text": "# Hours"}
        (blob,) = (await peer.call("resources/read", {"uri": "note://bytes"}))["contents"]
        assert blob == {"uri": "note://bytes", "mimeType": "image/png", "blob": base64.b64encode(b"\x89PNG").decode()}


@pytest.mark.rule("SRES-10", "SRES-16")
async def test_templates_are_rfc_6570_and_match_what_they_list() -> None:
    async with caller(library()._lowlevel_server) as peer:
        (listed,) = (await peer.call("resources/templates/list"))["resourceTemplates"]
        assert listed["uriTemplate"] == "book://{isbn}"
        (read,) = (await peer.call("resources/read", {"uri": "book://978%203"}))["contents"]
        assert (read["uri"], read["text"]) == ("book://978%203", "book 978 3")
    with pytest.raises(ValueError):
        library().resource("book://{isbn")


@pytest.mark.rule("SPROMPT-08", "SPROMPT-09", "SPROMPT-17")
async def test_prompts_list_their_arguments_and_take_texts() -> None:
    async with caller(library()._lowlevel_server) as peer:
        listed = (await peer.call("prompts/list"))["prompts"][0]
        assert listed == {
            "name": "advise",
            "title": "Advice",
            "description": "Ask for a book.",
            "arguments": [{"name": "topic", "required": True}, {"name": "tone", "required": False}],
        }
        got = await peer.call("prompts/get", {"name": "advise", "arguments": {"topic": "tea"}})
        assert got["messages"] == [{"role": "user", "content": {"type": "text", "text": "A warm book on tea?"}}]
        assert (
            await refusal(peer, "prompts/get", {"name": "advise", "arguments": {"topic": 5}})
        ).code == INVALID_PARAMS


@pytest.mark.rule("SPROMPT-14", "SPROMPT-15", "SPROMPT-16")
@pytest.mark.parametrize(
    ("params", "code"),
    [({"name": "none"}, INVALID_PARAMS), ({"name": "advise"}, INVALID_PARAMS), ({"name": "fail"}, INTERNAL_ERROR)],
)
async def test_failing_prompts_have_the_code_of_whose_fault_it_was(params: dict[str, Any], code: int) -> None:
    async with caller(library()._lowlevel_server) as peer:
        assert (await refusal(peer, "prompts/get", params)).code == code


@pytest.mark.rule("SPROMPT-10", "SPROMPT-11", "SPROMPT-13", "TOOL-C-05", "TOOL-C-06", "SPROMPT-12")
async def test_media_and_resources_are_base64_with_their_types_in_messages_and_results() -> None:
    mcp = library()

    @mcp.tool(structured_output=False)
    @mcp.prompt()
    def show() -> list[Any]:
        text = types.TextResourceContents(uri="note://text", mime_type="text/markdown", text="# Hours")
        return [
            Image(data=b"\x89PNG", format="png"),
            Audio(data=b"RIFF", format="wav"),
            types.EmbeddedResource(type="resource", resource=text),
            types.ResourceLink(type="resource_link", name="text", uri="note://text"),
        ]

    async with caller(mcp._lowlevel_server) as peer:
        got = await peer.call("prompts/get", {"name": "show"})
        blocks = (await peer.call("tools/call", {"name": "show"}))["content"]
    assert [message["content"] for message in got["messages"]] == blocks
    image, audio, embedded, link = blocks
    assert (image["mimeType"], base64.b64decode(image["data"])) == ("image/png", b"\x89PNG")
    assert (audio["mimeType"], base64.b64decode(audio["data"])) == ("audio/wav", b"RIFF")
    assert embedded["resource"] == {"uri": "note://text", "mimeType": "text/markdown", "text": "# Hours"}
    assert (link["type"], link["uri"]) == ("resource_link", "note://text")


@pytest.mark.rule("SCOMP-01", "SCOMP-03", "SCOMP-04", "SCOMP-09", "SCOMP-13")
async def test_completion_is_declared_bounded_and_checked() -> None:
    mcp = library()

    @mcp.completion()
    async def complete(ref: Any, argument: types.CompletionArgument, context: Any) -> types.Completion:
        if argument.value == "fail":
            raise RuntimeError("the disk is gone")
        return types.Completion(values=[str(number) for number in range(150)])

    ref = {"type": "ref/prompt", "name": "advise"}
    async with caller(mcp._lowlevel_server) as peer:
        assert (await peer.call("server/discover"))["capabilities"]["completions"] == {}
        found = await peer.call("completion/complete", {"ref": ref, "argument": {"name": "topic", "value": "t"}})
        completion = found["completion"]
        assert completion["values"] == [str(number) for number in range(100)]
        assert (completion["total"], completion["hasMore"]) == (150, True)
        wrong: list[dict[str, Any]] = [
            {"ref": ref},
            {"ref": {"type": "ref/tool"}, "argument": {"name": "a", "value": ""}},
        ]
        for params in wrong:
            assert (await refusal(peer, "completion/complete", params)).code == INVALID_PARAMS
        failing = {"ref": ref, "argument": {"name": "topic", "value": "fail"}}
        assert (await refusal(peer, "completion/complete", failing)).code == INTERNAL_ERROR


@pytest.mark.rule("SLOG-03", "SLOG-04", "SLOG-05", "SLOG-07", "SLOG-08")
async def test_log_messages_go_to_the_request_that_asked_for_them_before_its_answer() -> None:
    mcp = library()
    levels = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

    @mcp.tool()
    async def log(ctx: Context) -> str:
        for level in levels:
            await ctx.session.log(level, {"level": level}, "library")
        return "logged"

    async with caller(mcp._lowlevel_server) as peer:
        await peer.call("tools/call", {"name": "log"})
        assert peer.notifications == []
        for number, level in enumerate(levels):
            peer.notifications.clear()
            await peer.call("tools/call", {"name": "log"}, request_meta=meta(logLevel=level))
            assert peer.notifications == [
                ("notifications/message", {"level": worse, "data": {"level": worse}, "logger": "library"})
                for worse in levels[number:]
            ]
        with pytest.raises(MCPError) as caught:
            await peer.call("tools/call", {"name": "log"}, request_meta=meta(logLevel="loud"))
        assert caught.value.code == INVALID_PARAMS


@pytest.mark.rule("TOOL-L-09", "SRES-11", "SRES-12", "SPROMPT-07", "CACHE-S-10", "SLOG-06")
async def test_news_go_to_the_streams_that_asked_for_them_and_log_messages_never() -> None:
    mcp = library()

    @mcp.tool()
    async def change(ctx: Context) -> str:
        await ctx.session.log("error", "told to whoever calls")
        await ctx.notify_tools_changed()
        await ctx.notify_prompts_changed()
        await ctx.notify_resources_changed()
        await ctx.notify_resource_updated("note://text")
        await ctx.notify_resource_updated("note://bytes")
        return "changed"

    news = "notifications/"
    wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
    heard: list[tuple[str, str | None]] = []
    acknowledged, complete = anyio.Event(), anyio.Event()

    async def hear(method: str, params: dict[str, Any] | None) -> None:
        heard.append((method.removeprefix(news), (params or {}).get("uri")))
        if len(heard) == 1:
            acknowledged.set()
        elif len(heard) == 5:
            complete.set()

    with anyio.fail_after(5):
        async with caller(mcp._lowlevel_server) as peer, anyio.create_task_group() as tasks:
            params = {
                "_meta": meta(logLevel="debug"),
                "notifications": {**wanted, "resourceSubscriptions": ["note://text"]},
            }
            listen = OutgoingRequest("listen", "subscriptions/listen", params)
            tasks.start_soon(peer.link.exchange, listen, hear)
            await acknowledged.wait()
            await peer.call("tools/call", {"name": "change"}, request_meta=meta(logLevel="debug"))
            await complete.wait()
            tasks.cancel_scope.cancel()
    assert [method for method, _ in peer.notifications] == ["notifications/message"]
    assert sorted(heard[1:], key=str) == [
        ("prompts/list_changed", None),
        ("resources/list_changed", None),
        ("resources/updated", "note://text"),
        ("tools/list_changed", None),
    ]
