"""What the specification asks of a client that uses a server's features (revision 2026-07-28)."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_types as types
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from tests.client.scripted import DISCOVERY, Scripted, listing, said

META = {"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"}
EMPTY = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


@pytest.mark.rule("DISC-02", "DISC-05")
async def test_a_discovery_has_nothing_but_metadata_and_decides_the_version_of_what_follows() -> None:
    server = Scripted(server__discover={**DISCOVERY, "supportedVersions": ["2099-01-01", "2026-07-28"]})
    async with Client(server) as client:
        await client.list_tools()
    (params,) = server.sent("server/discover")
    assert params.keys() == {"_meta"}
    assert params["_meta"].keys() >= META
    assert server.requests[-1].version == "2026-07-28"


@pytest.mark.rule("TOOL-C-01")
@pytest.mark.parametrize(
    ("arguments", "sent"), [(None, {"name": "add"}), ({"a": 1}, {"name": "add", "arguments": {"a": 1}})]
)
async def test_a_first_call_has_a_name_arguments_and_metadata(
    arguments: dict[str, Any] | None, sent: dict[str, Any]
) -> None:
    server = Scripted(tools__call=said())
    async with Client(server) as client:
        await client.call_tool("add", arguments)
    (params,) = server.sent("tools/call")
    assert {key: value for key, value in params.items() if key != "_meta"} == sent


@pytest.mark.rule("TOOL-C-01", "TOOL-C-03")
async def test_a_retry_has_a_new_id_and_carries_answers_and_state() -> None:
    question = {"method": "roots/list"}
    asked: dict[str, Any] = {"resultType": "input_required", "inputRequests": {"a": question}, "requestState": "s"}
    server = Scripted(tools__call=[asked, said()])

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[])

    async with Client(server, list_roots_callback=roots) as client:
        await client.call_tool("add", {"a": 1})
    first, second = (request for request in server.requests if request.method == "tools/call")
    assert first.request_id != second.request_id
    assert second.params is not None
    assert (second.params["name"], second.params["arguments"]) == ("add", {"a": 1})
    assert (second.params["requestState"], second.params["inputResponses"]) == ("s", {"a": {"roots": []}})


@pytest.mark.rule("SPAGE-02", "SPAGE-03", "SPAGE-04", "SPAGE-05", "SPAGE-06", "SPROMPT-18")
@pytest.mark.parametrize("cursor", ["", " ?&=/\u2028é", "e30="])
async def test_a_cursor_goes_back_as_it_came_and_only_its_absence_is_the_end(cursor: str) -> None:
    pages: list[dict[str, Any]] = [
        {**EMPTY, "prompts": [{"name": "a"}, {"name": "b"}], "nextCursor": cursor},
        {**EMPTY, "prompts": [], "nextCursor": "2"},
        {**EMPTY, "prompts": [{"name": "c"}], "nextCursor": None},
    ]
    server = Scripted(prompts__list=pages)
    names: list[str] = []
    async with Client(server) as client:
        page = await client.list_prompts()
        names += [prompt.name for prompt in page.prompts]
        while page.next_cursor is not None:
            page = await client.list_prompts(cursor=page.next_cursor)
            names += [prompt.name for prompt in page.prompts]
    assert names == ["a", "b", "c"]
    assert [params.get("cursor") for params in server.sent("prompts/list")] == [None, cursor, "2"]


@pytest.mark.rule("TOOL-C-10", "TOOL-S-07", "TOOL-D-06")
@pytest.mark.parametrize(("value", "fits"), [(["a"], True), ([], False), (None, False)])
async def test_structured_content_is_checked_by_the_newest_dialect(value: Any, fits: bool) -> None:
    # `prefixItems` means nothing before 2020-12, and `null` is a value like any other.
    schema = {"type": "array", "prefixItems": [{"const": "a"}], "minItems": 1}
    page = listing({"name": "add", "outputSchema": schema})
    server = Scripted(tools__list=page, tools__call=said(structuredContent=value))
    async with Client(server) as client:
        if fits:
            assert (await client.call_tool("add")).structured_content == value
        else:
            with pytest.raises(RuntimeError, match="structured content"):
                await client.call_tool("add")
    server = Scripted(tools__list=page, tools__call=said(structuredContent=["b"]))
    async with Client(server) as client:
        with pytest.raises(RuntimeError, match=r"^Invalid structured content returned by tool add"):
            await client.call_tool("add")


@pytest.mark.rule("TOOL-S-08")
async def test_no_reference_of_a_schema_is_fetched() -> None:
    schema = {"$ref": "http://127.0.0.1:1/schema"}
    page = listing({"name": "add", "outputSchema": schema})
    async with Client(Scripted(tools__list=page, tools__call=said(structuredContent={}))) as client:
        with pytest.raises(RuntimeError, match=r"^Invalid schema for tool add"):
            await client.call_tool("add")


@pytest.mark.rule("SCOMP-16")
@pytest.mark.parametrize(
    "found", [{"values": []}, {"values": ["a"], "hasMore": True}, {"values": ["a"], "total": 7}], ids=str
)
async def test_completions_may_be_missing_or_partial(found: dict[str, Any]) -> None:
    server = Scripted(completion__complete={"resultType": "complete", "completion": found})
    async with Client(server) as client:
        result = await client.complete(types.PromptReference(name="p"), {"name": "a", "value": ""})
    assert result.completion.model_dump(by_alias=True, exclude_none=True) == found


@pytest.mark.rule("SPROMPT-19")
async def test_a_missing_capability_is_an_error_that_names_the_method() -> None:
    async with Client(Scripted()) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_prompts()
    assert (caught.value.message, caught.value.data) == ("Method not found", "prompts/list")
