from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import mcp_types as types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from tests.server.http.fakes import FakeConnection, request_body, request_headers
from tests.server.http.servers import Context, Workshop, ask, running

REGION = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "where": {"type": "object", "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}}},
        "free": {"type": "string"},
    },
}
BROKEN = {"type": "object", "properties": {"region": {"type": "object", "x-mcp-header": "Region"}}}


class Listed:
    """A tool list that counts how often it is read."""

    def __init__(self, schemas: dict[str, dict[str, Any]], *, page_size: int = 100) -> None:
        self.schemas = schemas
        self.page_size = page_size
        self.pages = 0

    async def __call__(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        self.pages += 1
        assert ctx.method == "tools/list"
        start = int(params.cursor) if params is not None and params.cursor else 0
        names = list(self.schemas)[start : start + self.page_size]
        tools = [types.Tool(name=name, input_schema=self.schemas[name]) for name in names]
        end = start + self.page_size
        return types.ListToolsResult(tools=tools, next_cursor=str(end) if end < len(self.schemas) else None)


async def call(
    manager: StreamableHTTPSessionManager, name: str, arguments: Any, *headers: tuple[str, str]
) -> str | None:
    """Call a tool; returns the text of a header mismatch, or `None` if the tool ran."""
    params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
    body = request_body("tools/call", params)
    answer = await ask(manager, FakeConnection(json.dumps(body).encode(), [*request_headers(body).items(), *headers]))
    if answer.status == 200:
        assert answer.json["result"]
        return None
    assert answer.status == 400
    assert answer.json["error"]["code"] == -32020
    assert answer.json["id"] == 1
    return answer.json["error"]["message"]


def by_lookup(name: str) -> Mapping[str, Any] | None:
    return {"region": REGION, "broken": BROKEN}.get(name)


@pytest.fixture(params=["lookup", "listing"])
def workshop(request: pytest.FixtureRequest) -> Workshop:
    if request.param == "lookup":
        return Workshop(get_tool_input_schema=by_lookup)
    return Workshop(on_list_tools=Listed({"region": REGION, "broken": BROKEN}))


@pytest.mark.rule(
    "LOW-60", "LOW-61", "LOW-62", "LOW-63", "LOW-64", "HTTP-S-01", "HTTP-S-02", "HTTP-S-07", "HTTP-S-08", "HTTP-S-09",
    "HTTP-H-12",
)  # fmt: skip
@pytest.mark.parametrize(
    ("arguments", "headers", "problem"),
    [
        ({"region": "eu"}, [("Mcp-Param-Region", "eu")], None),
        ({"region": "eu"}, [("mcp-param-REGION", "eu")], None),
        ({"region": "größe"}, [("Mcp-Param-Region", "=?base64?Z3LDtsOfZQ==?=")], None),
        ({"region": None}, [], None),
        ({}, [], None),
        (None, [], None),
        ({"count": 5}, [("Mcp-Param-Count", "05")], None),
        ({"count": 5}, [("Mcp-Param-Count", "5.0")], None),
        ({"dry": True}, [("Mcp-Param-Dry", "true")], None),
        ({"where": {"zone": "a"}}, [("Mcp-Param-Zone", "a")], None),
        ({"free": "x"}, [("Mcp-Param-Free", "y")], None),
        (
            {"region": "eu"},
            [],
            "Mcp-Param-Region header is missing but the request body's 'region' argument is present",
        ),
        (
            {"region": "eu"},
            [("Mcp-Param-Region", "us")],
            "Mcp-Param-Region header does not match the request body's 'region' argument",
        ),
        (
            {"region": "eu"},
            [("Mcp-Param-Region", "EU")],
            "Mcp-Param-Region header does not match the request body's 'region' argument",
        ),
        (
            {},
            [("Mcp-Param-Region", "eu")],
            "Mcp-Param-Region header is present but the request body's 'region' argument is absent",
        ),
        (
            None,
            [("Mcp-Param-Region", "eu")],
            "Mcp-Param-Region header is present but the request body's 'region' argument is absent",
        ),
        (
            {"region": "eu"},
            [("Mcp-Param-Region", "eu"), ("Mcp-Param-Region", "eu")],
            "Mcp-Param-Region header appears more than once",
        ),
        (
            {"dry": True},
            [("Mcp-Param-Dry", "1")],
            "Mcp-Param-Dry header does not match the request body's 'dry' argument",
        ),
        (
            {"where": {"zone": "a"}},
            [],
            "Mcp-Param-Zone header is missing but the request body's 'where.zone' argument is present",
        ),
    ],
)
async def test_parameter_headers_have_to_agree_with_the_arguments(
    workshop: Workshop, arguments: Any, headers: list[tuple[str, str]], problem: str | None
) -> None:
    async with running(workshop) as manager:
        assert await call(manager, "region", arguments, *headers) == problem
    assert len(workshop.contexts) == (0 if problem else 1)


@pytest.mark.rule("LOW-65", "LOW-D14")
async def test_an_invalid_annotation_turns_the_check_off_and_is_reported_once(
    workshop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(workshop) as manager:
        caplog.clear()
        for _ in range(3):
            assert await call(manager, "broken", {"region": {"a": 1}}, ("Mcp-Param-Region", "x")) is None
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 1
    assert "'broken'" in warnings[0]
    assert "only permitted on integer/string/boolean" in warnings[0]


async def test_unknown_tools_are_not_checked(workshop: Workshop) -> None:
    async with running(workshop) as manager:
        assert await call(manager, "unknown", {"region": "eu"}) is None


async def test_a_server_without_a_listing_is_not_checked() -> None:
    async with running(Workshop()) as manager:
        assert await call(manager, "region", {"region": "eu"}) is None


@pytest.mark.rule("LOW-61")
async def test_one_listing_serves_many_calls() -> None:
    listed = Listed({"other": {"type": "object"}, "region": REGION, "last": {"type": "object"}}, page_size=1)
    async with running(Workshop(on_list_tools=listed)) as manager:
        for _ in range(5):
            assert await call(manager, "region", {"region": "eu"}, ("Mcp-Param-Region", "eu")) is None
            assert await call(manager, "unlisted", {"a": 1}) is None
        assert await call(manager, "region", None) is None
    assert listed.pages == 3


async def test_a_call_without_arguments_and_parameter_headers_lists_nothing() -> None:
    listed = Listed({"region": REGION})
    async with running(Workshop(on_list_tools=listed)) as manager:
        assert await call(manager, "region", None) is None
        assert await call(manager, "region", {}) is None
    assert listed.pages == 0


async def test_a_call_is_not_refused_by_an_outdated_listing() -> None:
    listed = Listed({"region": REGION})
    async with running(Workshop(on_list_tools=listed)) as manager:
        assert await call(manager, "region", {"region": "eu"}, ("Mcp-Param-Region", "eu")) is None
        listed.schemas["region"] = {"type": "object"}
        assert await call(manager, "region", {"region": "eu"}) is None
        listed.schemas["region"] = REGION
        # What the client mirrors shows that the listing has changed again.
        assert await call(manager, "region", {"region": "eu"}, ("Mcp-Param-Region", "us")) is not None
    assert listed.pages == 3


async def test_a_client_that_lists_the_tools_ends_the_old_listing() -> None:
    listed = Listed({"region": {"type": "object"}})
    async with running(Workshop(on_list_tools=listed)) as manager:
        assert await call(manager, "region", {"region": "eu"}) is None
        listed.schemas["region"] = REGION
        await ask(manager, FakeConnection(request_body("tools/list")))
        assert await call(manager, "region", {"region": "eu"}) is not None


async def test_a_new_list_handler_ends_the_old_listing() -> None:
    workshop = Workshop(on_list_tools=Listed({"region": {"type": "object"}}))
    async with running(workshop) as manager:
        assert await call(manager, "region", {"region": "eu"}) is None
        workshop.server.add_request_handler("tools/list", types.PaginatedRequestParams, Listed({"region": REGION}))
        assert await call(manager, "region", {"region": "eu"}) is not None


async def test_a_schema_lookup_may_build_its_schemas_anew() -> None:
    def build(name: str) -> Any:
        return json.loads(json.dumps(REGION))

    workshop = Workshop(get_tool_input_schema=build)
    async with running(workshop) as manager:
        for _ in range(3):
            assert await call(manager, "region", {"region": "eu"}) is not None


@pytest.mark.rule("CASE-85")
async def test_a_tool_that_the_caller_does_not_see_is_not_betrayed_by_its_headers() -> None:
    def look_up(name: str) -> Any:
        return REGION

    workshop = Workshop(get_tool_input_schema=look_up, on_list_tools=Listed({"region": REGION}))
    async with running(workshop) as manager:
        assert await call(manager, "region", {"region": "eu"}) is not None
        assert await call(manager, "hidden", {"region": "eu"}) is None  # whether it exists is for its handler to say
