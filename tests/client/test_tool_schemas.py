from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp.client._tool_schemas import InvalidToolResultError, ToolSchemas
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import HEADER_MISMATCH, METHOD_NOT_FOUND
from tests.client.scripted import Scripted, listing, said
from tests.protocol.test_schema_cost import ROOT, doubling, nested

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ADD = {"name": "add", "outputSchema": SCHEMA}


ERRORS_PAGE = Path(__file__).parents[2] / "docs" / "errors.md"


def with_header(name: Any = "Region") -> dict[str, Any]:
    return {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": name}}}


@pytest.mark.rule("CLIENT-54", "SESSION-21")
async def test_an_unknown_tool_is_looked_up_once_after_its_first_call() -> None:
    server = Scripted(tools__list=listing(ADD), tools__call=said(structuredContent={"n": 1}))
    async with Client(server, mode="2026-07-28") as client:
        await client.call_tool("add")
        await client.call_tool("add")
    assert server.methods == ["tools/call", "tools/list", "tools/call"]


@pytest.mark.rule("CLIENT-54")
async def test_a_listed_tool_is_not_looked_up() -> None:
    server = Scripted(tools__list=listing(ADD), tools__call=said(structuredContent={"n": 1}))
    async with Client(server, mode="2026-07-28") as client:
        await client.list_tools()
        await client.call_tool("add")
    assert server.methods == ["tools/list", "tools/call"]


@pytest.mark.rule("CLIENT-54")
async def test_first_calls_at_the_same_time_share_one_lookup() -> None:
    server = Scripted(tools__list=listing(ADD), tools__call=said(structuredContent={"n": 1}))
    async with Client(server, mode="2026-07-28") as client, anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(client.call_tool, "add")
    assert server.methods.count("tools/list") == 1


@pytest.mark.rule("CLIENT-52", "TROUBLE-11")
@pytest.mark.parametrize("value", [{"n": "x"}, {}, 3, None])
async def test_a_result_that_does_not_fit_the_schema_raises(value: Any) -> None:
    server = Scripted(tools__list=listing(ADD), tools__call=said(structuredContent=value))
    async with Client(server) as client:
        with pytest.raises(RuntimeError, match=r"^Invalid structured content returned by tool add: ") as caught:
            await client.call_tool("add")
    assert caught.value.__cause__ is not None


@pytest.mark.rule("CASE-74")
@pytest.mark.parametrize("tool", [ADD, {"name": "add", "outputSchema": {"type": "nothing"}}])
async def test_a_result_that_breaks_its_schema_is_in_the_error_and_can_be_let_through(tool: dict[str, Any]) -> None:
    server = Scripted(tools__list=listing(tool), tools__call=said(structuredContent={"n": "x"}))
    async with Client(server) as client:
        with pytest.raises(InvalidToolResultError) as caught:
            await client.call_tool("add")
    assert caught.value.result.structured_content == {"n": "x"}
    server = Scripted(tools__list=listing(tool), tools__call=said(structuredContent={"n": "x"}))
    async with Client(server, validate_results=False) as client:
        assert (await client.call_tool("add")).structured_content == {"n": "x"}
    assert "tools/list" not in server.methods  # nothing is looked up for a check that is not made


@pytest.mark.rule("CLIENT-53", "TROUBLE-11")
async def test_a_result_without_the_promised_structure_raises() -> None:
    async with Client(Scripted(tools__list=listing(ADD), tools__call=said())) as client:
        with pytest.raises(RuntimeError) as caught:
            await client.call_tool("add")
    assert str(caught.value) == "Tool add has an output schema but did not return structured content"


@pytest.mark.rule("CLIENT-53", "CLIENT-51")
async def test_an_error_result_is_not_checked_and_looks_nothing_up() -> None:
    server = Scripted(tools__list=listing(ADD), tools__call=said(isError=True))
    async with Client(server) as client:
        assert (await client.call_tool("add")).is_error
    assert "tools/list" not in server.methods


@pytest.mark.rule("CLIENT-53", "BASE-X-09", "BASE-X-13")
@pytest.mark.parametrize("schema", [{"type": "objekt"}, {"$ref": "http://127.0.0.1:1/schema"}, {"pattern": "("}])
async def test_a_schema_that_cannot_be_used_raises(schema: dict[str, Any]) -> None:
    tool = {"name": "add", "outputSchema": schema}
    async with Client(Scripted(tools__list=listing(tool), tools__call=said(structuredContent={}))) as client:
        with pytest.raises(RuntimeError, match=r"^Invalid schema for tool add"):
            await client.call_tool("add")


@pytest.mark.rule("BASE-X-14")
@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (doubling(30), "^Invalid schema for tool add: it has more than 1000000 subschemas"),
        ({"properties": {"a": {"anyOf": [ROOT, ROOT]}}, "required": ["a"]}, "^Invalid structured content .*too many"),
        ({"properties": {"a": ROOT}, "required": ["a"]}, '^Invalid structured content .*"a" is a required'),
        ({"patternProperties": {"^(a+)+\\1$": {}}, "additionalProperties": False}, "^Invalid structured content"),
    ],
)
async def test_a_schema_cannot_keep_the_client_busy(schema: dict[str, Any], problem: str) -> None:
    tool = {"name": "add", "outputSchema": schema}
    content = nested(40, {"a" * 40 + "!": 1})
    server = Scripted(tools__list=listing(tool), tools__call=said(structuredContent=content))
    async with Client(server) as client:
        with anyio.fail_after(5), pytest.raises(InvalidToolResultError, match=problem):
            await client.call_tool("add")


@pytest.mark.rule("BASE-X-04")
@pytest.mark.parametrize("dialect", ["draft-04", "draft-06", "draft-07", "2019-09", "2020-12", "draft-03", "next"])
async def test_the_documentation_says_which_dialects_are_known(dialect: str) -> None:
    known = dialect in ERRORS_PAGE.read_text()
    host = "http://json-schema.org/" if dialect.startswith("draft-") else "https://json-schema.org/draft/"
    schema = {"$schema": f"{host}{dialect}/schema{'#' if dialect.startswith('draft-') else ''}", "required": ["n"]}
    tool = {"name": "add", "outputSchema": schema}
    async with Client(Scripted(tools__list=listing(tool), tools__call=said(structuredContent={}))) as client:
        problem = "^Invalid structured content" if known else f"^Invalid schema for tool add: .*{dialect}"
        with pytest.raises(RuntimeError, match=problem):
            await client.call_tool("add")


@pytest.mark.rule("CLIENT-52", "BASE-X-06", "CASE-74")
async def test_the_schema_names_its_dialect() -> None:
    # In draft 4 a boolean makes a bound exclusive; in 2020-12 that is no schema at all.
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {"n": {"maximum": 3, "exclusiveMaximum": True}},
    }
    tool = {"name": "add", "outputSchema": schema}
    async with Client(Scripted(tools__list=listing(tool), tools__call=said(structuredContent={"n": 3}))) as client:
        with pytest.raises(RuntimeError, match=r"^Invalid structured content"):
            await client.call_tool("add")


@pytest.mark.rule("CLIENT-D12", "CLIENT-55")
async def test_the_lookup_follows_the_pages() -> None:
    pages = [listing({"name": "other"}, nextCursor="2"), listing(ADD)]
    server = Scripted(tools__list=pages, tools__call=said(structuredContent={"n": "x"}))
    async with Client(server) as client:
        with pytest.raises(RuntimeError, match="Invalid structured content"):
            await client.call_tool("add")
    assert [params.get("cursor") for params in server.sent("tools/list")] == [None, "2"]


@pytest.mark.rule("CLIENT-D12", "CLIENT-55")
async def test_a_tool_that_is_not_listed_is_looked_up_again_only_after_a_change(
    caplog: pytest.LogCaptureFixture,
) -> None:
    changed = False

    async def call(request: Any, on_notification: Any) -> dict[str, Any]:
        if changed:
            await on_notification("notifications/tools/list_changed", None)
        return said()

    server = Scripted(tools__list=listing(), tools__call=call)
    async with Client(server) as client:
        await client.call_tool("ghost")
        await client.call_tool("ghost")
        assert server.methods.count("tools/list") == 1
        changed = True
        await client.call_tool("ghost")
        assert server.methods.count("tools/list") == 2
    [record, _] = caplog.records
    assert record.getMessage() == "Tool ghost not listed by server, cannot validate any structured content"
    assert record.name.startswith("mcp.client")


@pytest.mark.rule("CLIENT-D12")
async def test_a_server_that_pages_without_end_does_not_keep_the_caller() -> None:
    server = Scripted(tools__list=listing(nextCursor="again"), tools__call=said())
    with anyio.fail_after(5):
        async with Client(server) as client:
            await client.call_tool("ghost")
    assert server.methods.count("tools/list") == 2


@pytest.mark.rule("CLIENT-D13", "CLIENT-56", "CASE-74")
@pytest.mark.parametrize(("code", "lookups"), [(METHOD_NOT_FOUND, 1), (-32603, 2)])
async def test_a_listing_that_fails_does_not_fail_the_call(
    code: int, lookups: int, caplog: pytest.LogCaptureFixture
) -> None:
    server = Scripted(tools__list=MCPError(code, "no"), tools__call=said())
    async with Client(server) as client:
        await client.call_tool("add")
        await client.call_tool("add")
    assert server.methods.count("tools/list") == lookups
    assert "tools/list failed: no" in caplog.text


@pytest.mark.rule("CLIENT-57")
async def test_only_a_whole_listing_forgets_tools() -> None:
    pages = [listing(ADD), listing({"name": "b"}, nextCursor="2"), listing({"name": "b"})]
    server = Scripted(tools__list=pages, tools__call=said(structuredContent={"n": "x"}))
    async with Client(server) as client:
        await client.list_tools()
        await client.list_tools()
        with pytest.raises(RuntimeError):
            await client.call_tool("add")
        await client.list_tools()
        await client.call_tool("add")


@pytest.mark.rule("SESSION-21")
def test_a_validator_is_kept_while_its_schema_stays_the_same() -> None:
    from mcp_types import CallToolResult, ListToolsResult

    schemas = ToolSchemas()
    result = CallToolResult(content=[], structured_content={"n": 1})
    page = ListToolsResult.model_validate(listing(ADD))
    schemas.learn(page, whole=True, modern=True)
    schemas.check("add", result)
    first = schemas._known["add"]
    schemas.learn(page.model_copy(deep=True), whole=True, modern=True)
    assert schemas._known["add"] is first
    schemas.learn(ListToolsResult.model_validate(listing({"name": "add"})), whole=True, modern=True)
    assert schemas._known["add"] is not first


@pytest.mark.rule("CLIENT-58", "HTTP-X-13", "HTTP-X-14", "HTTP-X-15")
async def test_a_tool_with_an_invalid_header_annotation_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    tools = listing({"name": "good"}, {"name": "bad", "inputSchema": with_header("no token")})
    async with Client(Scripted(tools__list=tools)) as client:
        outcome = await client.list_tools()
    assert [tool.name for tool in outcome.tools] == ["good"]
    assert "dropping tool 'bad': invalid x-mcp-header (" in caplog.text


@pytest.mark.rule("HTTP-X-02")
@pytest.mark.rule("CLIENT-58", "HTTP-X-03", "HTTP-X-17", "HTTP-X-20", "HTTP-T-05", "HTTP-T-07", "HTTP-T-08")
async def test_marked_arguments_of_a_listed_tool_become_headers() -> None:
    server = Scripted(tools__list=listing({"name": "q", "inputSchema": with_header()}), tools__call=said())
    async with Client(server) as client:
        await client.call_tool("q", {"region": "eu", "other": 1})
        await client.call_tool("q", {"region": "eu", "other": 1})
        await client.call_tool("q", {"region": None})
        await client.call_tool("q", {})
    unknown, known, null, absent = (request.headers for request in server.requests if request.method == "tools/call")
    assert {name.lower(): value for name, value in known.items()} == {"mcp-param-region": "eu"}
    assert (unknown, null, absent) == ({}, {}, {})


@pytest.mark.rule("CLIENT-59", "HTTP-X-19", "HTTP-X-22")
async def test_a_header_mismatch_lists_anew_and_tries_once_more() -> None:
    mismatch = MCPError(HEADER_MISMATCH, "mismatch")
    server = Scripted(
        tools__list=[listing({"name": "q"}), listing({"name": "q", "inputSchema": with_header()})],
        tools__call=[mismatch, said()],
    )
    async with Client(server) as client:
        await client.list_tools()
        await client.call_tool("q", {"region": "eu"})
    assert server.methods[1:] == ["tools/list", "tools/call", "tools/list", "tools/call"]
    assert list(server.requests[-1].headers.values()) == ["eu"]


@pytest.mark.rule("CLIENT-59")
async def test_a_second_header_mismatch_is_raised() -> None:
    server = Scripted(tools__call=MCPError(HEADER_MISMATCH, "mismatch"))
    async with Client(server) as client:
        with pytest.raises(MCPError, match="mismatch"):
            await client.call_tool("q")
    assert server.methods.count("tools/call") == 2
