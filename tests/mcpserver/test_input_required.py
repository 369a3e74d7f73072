"""Functions that return `InputRequiredResult` themselves: tools, prompts, templates, low-level handlers."""

import logging
from typing import Any

import pytest

from mcp._engine.link import OutgoingRequest
from mcp._engine.scope import RequestScope
from mcp._protocol.era import LEGACY
from mcp._protocol.metadata import ClientFacts
from mcp.client.client import Client
from mcp.client.context import ClientRequestContext
from mcp.server._handle import handle_request
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.server.mcpserver.server import MCPServer
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    TextResourceContents,
    Tool,
)

ASK_REGION = ElicitRequest(
    params=ElicitRequestFormParams(
        message="Which region?",
        requested_schema={
            "type": "object",
            "title": "Region",
            "description": "Where it runs",
            "additionalProperties": False,
            "properties": {"region": {"type": "string", "title": "Region"}},
            "required": ["region"],
        },
    )
)


class User:
    def __init__(self, action: str = "accept") -> None:
        self.action = action
        self.asked: list[ElicitRequestParams] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params)
        content = {"region": "eu"} if isinstance(params, ElicitRequestFormParams) else None
        return ElicitResult.model_validate({"action": self.action, "content": content})


def region_of(responses: dict[str, Any] | None) -> str | None:
    answer = (responses or {}).get("region")
    return str(answer.content["region"]) if isinstance(answer, ElicitResult) and answer.content else None


def text_of(result: Any) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def make_server() -> MCPServer[Any]:
    server = MCPServer("cloud")

    @server.tool()
    async def provision(name: str, ctx: Context) -> str | InputRequiredResult:
        region = region_of(ctx.input_responses)
        if region is None:
            return InputRequiredResult(input_requests={"region": ASK_REGION}, request_state=f"for {name}")
        return f"{name} in {region}, {ctx.request_state}"

    @server.prompt()
    async def briefing(ctx: Context) -> list[UserMessage] | InputRequiredResult:
        region = region_of(ctx.input_responses)
        return (
            [UserMessage(f"About {region}")] if region else InputRequiredResult(input_requests={"region": ASK_REGION})
        )

    @server.resource("report://{name}")
    async def report(name: str, ctx: Context) -> str | InputRequiredResult:
        region = region_of(ctx.input_responses)
        return f"{name}: {region}" if region else InputRequiredResult(input_requests={"region": ASK_REGION})

    return server


@pytest.mark.rule("MRTR-1", "MRTR-2", "MRTR-5", "MRTR-6", "MRTR-11", "MRTR-12", "MRTR-14", "MRTR-24")
async def test_tools_prompts_and_templates_ask_by_returning_the_question() -> None:
    user = User()
    async with Client(make_server(), elicitation_callback=user) as client:
        assert client.protocol_version == "2026-07-28"
        called = await client.call_tool("provision", {"name": "orders"})
        prompted = await client.get_prompt("briefing")
        read = await client.read_resource("report://orders")

    assert text_of(called) == "orders in eu, for orders"
    assert prompted.messages[0].content == TextContent(type="text", text="About eu")
    assert isinstance(read.contents[0], TextResourceContents)
    assert read.contents[0].text == "orders: eu"
    assert len(user.asked) == 3


@pytest.mark.rule("MRTR-22")
async def test_the_modern_wire_shows_only_four_members_of_a_forms_schema() -> None:
    user = User()
    async with Client(make_server(), elicitation_callback=user) as client:
        await client.call_tool("provision", {"name": "orders"})

    (asked,) = user.asked
    assert isinstance(asked, ElicitRequestFormParams)
    assert asked.requested_schema == {
        "type": "object",
        "properties": {"region": {"type": "string", "title": "Region"}},
        "required": ["region"],
    }


@pytest.mark.rule("MRTR-16")
async def test_the_questions_arm_is_no_part_of_the_output_schema() -> None:
    server = make_server()

    @server.tool()
    async def only_asks(ctx: Context) -> InputRequiredResult:
        return InputRequiredResult(request_state="s")

    async with Client(server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

    assert tools["only_asks"].output_schema is None
    schema = tools["provision"].output_schema
    assert schema is not None
    assert schema["properties"]["result"]["type"] == "string"


@pytest.mark.rule("MRTR-17", "MRTR-19")
async def test_a_hand_built_result_is_passed_on_untouched() -> None:
    server = MCPServer("cloud")
    built = InputRequiredResult.model_validate({"requestState": "mine", "_meta": {"k": "v"}})

    @server.tool()
    async def asks() -> dict[str, int] | InputRequiredResult:
        return built

    direct = await server.call_tool("asks", {})
    async with Client(server) as client:
        result = await client.session.call_tool("asks", {}, allow_input_required=True)

    assert direct is built
    assert isinstance(result, InputRequiredResult)
    assert (result.meta or {})["k"] == "v"
    assert result.request_state != "mine"


@pytest.mark.rule("MRTR-20")
async def test_a_nested_read_takes_no_part() -> None:
    server = make_server()
    seen: list[Any] = []

    @server.resource("inner://{name}")
    async def inner(name: str, ctx: Context) -> str | InputRequiredResult:
        seen.append((ctx.input_responses, ctx.request_state))
        return InputRequiredResult(request_state="inner") if name == "asks" else name

    @server.tool()
    async def reads(name: str, ctx: Context) -> str | InputRequiredResult:
        if region_of(ctx.input_responses) is None:
            return InputRequiredResult(input_requests={"region": ASK_REGION}, request_state="outer")
        try:
            (content,) = await ctx.read_resource(f"inner://{name}")
            return str(content.content)
        except RuntimeError as error:
            return str(error)

    async with Client(server, elicitation_callback=User()) as client:
        fine = await client.call_tool("reads", {"name": "fine"})
        refused = await client.call_tool("reads", {"name": "asks"})

    assert text_of(fine) == "fine"
    assert text_of(refused).startswith(
        "Resource returned InputRequiredResult; ctx.read_resource() only returns content"
    )
    assert seen == [(None, None), (None, None)]


@pytest.mark.rule("MRTR-15")
async def test_static_resources_cannot_ask(caplog: pytest.LogCaptureFixture) -> None:
    server = MCPServer("cloud")

    @server.resource("report://static")
    def static() -> Any:
        return InputRequiredResult(request_state="s")

    async with Client(server) as client:
        with caplog.at_level(logging.INFO, "mcp"), pytest.raises(MCPError) as caught:
            await client.read_resource("report://static")

    assert (caught.value.code, caught.value.message) == (-32603, "Error reading resource report://static")
    assert "static resources cannot return InputRequiredResult" in caplog.text


@pytest.mark.rule("MRTR-23", "MRTR-D1")
async def test_a_hand_built_question_needs_the_declared_capability() -> None:
    server = make_server()

    async with Client(server) as client:
        for call in (
            client.call_tool("provision", {"name": "orders"}),
            client.get_prompt("briefing"),
            client.read_resource("report://orders"),
        ):
            with pytest.raises(MCPError) as caught:
                await call
            assert caught.value.code == -32021
            assert caught.value.message == (
                "Client did not declare the form elicitation capability required by input request 'region'"
            )
            assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


@pytest.mark.rule("MRTR-D1")
async def test_a_call_answered_by_hand_declares_that_everything_can_be_answered() -> None:
    async with Client(make_server()) as client:
        result = await client.session.call_tool("provision", {"name": "orders"}, allow_input_required=True)
        assert isinstance(result, InputRequiredResult)
        done = await client.session.call_tool(
            "provision",
            {"name": "orders"},
            input_responses={"region": ElicitResult(action="accept", content={"region": "us"})},
            request_state=result.request_state,
            allow_input_required=True,
        )

    assert text_of(done) == "orders in us, for orders"


async def list_tools(ctx: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[Tool(name="visit", input_schema={"type": "object"})])


async def visit(
    ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams
) -> CallToolResult | InputRequiredResult:
    answer = (params.input_responses or {}).get("go")
    if not isinstance(answer, ElicitResult):
        question = ElicitRequestURLParams(message="Sign in", url="https://a/b", elicitation_id="only for the author")
        return InputRequiredResult(input_requests={"go": ElicitRequest(params=question)})
    return CallToolResult(content=[TextContent(type="text", text=answer.action)])


@pytest.mark.rule("MRTR-13", "MRTR-21", "ELICIT-4", "ELICIT-17")
async def test_a_low_level_handler_may_send_the_user_to_a_url() -> None:
    server = Server("low", on_list_tools=list_tools, on_call_tool=visit)
    user = User()

    async with Client(server, elicitation_callback=user) as client:
        result = await client.call_tool("visit", {})

    assert text_of(result) == "accept"
    (asked,) = user.asked
    assert isinstance(asked, ElicitRequestURLParams)
    assert asked.elicitation_id is None


@pytest.mark.rule("MRTR-D1")
async def test_low_level_questions_need_the_declared_mode() -> None:
    server = Server("low", on_list_tools=list_tools, on_call_tool=visit)

    async with Client(server) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("visit", {})

    assert caught.value.message == (
        "Client did not declare the url elicitation capability required by input request 'go'"
    )


def request(input_responses: Any) -> OutgoingRequest:
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    params: dict[str, Any] = {
        "name": "provision",
        "arguments": {"name": "orders"},
        "inputResponses": input_responses,
        "_meta": meta,
    }
    return OutgoingRequest(1, "tools/call", params, "2026-07-28")


async def no_notification(method: str, params: dict[str, Any] | None) -> None:
    raise AssertionError(method)


@pytest.mark.rule("MRTR-8", "DEP-D9")
@pytest.mark.parametrize(
    ("responses", "loc"),
    [
        ([], ["inputResponses"]),
        ({"region": {"odd": 1}}, ["inputResponses", "region"]),
        ({"region": {"roots": [{"uri": "https://no/file"}]}}, ["inputResponses", "region"]),
    ],
)
async def test_malformed_answers_are_refused_by_name(responses: Any, loc: list[str]) -> None:
    async with make_server().connect_in_process("auto") as link:
        with pytest.raises(MCPError) as caught:
            await link.exchange(request(responses), no_notification)

    assert (caught.value.code, caught.value.message) == (-32602, "Invalid request parameters")
    assert caught.value.data[0]["loc"][: len(loc)] == loc
    assert "https://no/file" not in str(caught.value.data)


@pytest.mark.rule("MRTR-7", "MRTR-9")
async def test_null_is_absence_and_unknown_answers_are_ignored() -> None:
    async with make_server().connect_in_process("auto") as link:
        first = await link.exchange(request(None), no_notification)
        again = await link.exchange(request({"unknown": {"action": "accept"}}), no_notification)

    for result in (first, again):
        assert result["resultType"] == "input_required"
        assert list(result["inputRequests"]) == ["region"]


@pytest.mark.rule("MRTR-48")
async def test_state_grows_with_what_it_holds() -> None:
    server = MCPServer("cloud")

    @server.tool()
    async def keeps(size: int) -> str | InputRequiredResult:
        return InputRequiredResult(request_state="x" * size)

    async with Client(server) as client:
        sizes: list[int] = []
        for size in (0, 3000):
            result = await client.session.call_tool("keeps", {"size": size}, allow_input_required=True)
            assert isinstance(result, InputRequiredResult)
            assert result.request_state is not None
            sizes.append(len(result.request_state))

    assert sizes[0] < 400
    assert 3900 < sizes[1] - sizes[0] < 4100


def legacy_scope(method: str, params: dict[str, Any]) -> RequestScope:
    return RequestScope(
        method=method,
        params=params,
        request_id=1,
        version="2025-11-25",
        era=LEGACY,
        client=ClientFacts("2025-11-25", ClientCapabilities.model_validate({"elicitation": {}})),
        notify=no_notification,
    )


@pytest.mark.rule("MRTR-10")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "provision", "arguments": {"name": "orders"}}),
        ("prompts/get", {"name": "briefing"}),
        ("resources/read", {"uri": "report://orders"}),
    ],
)
async def test_a_legacy_request_cannot_be_answered_with_questions(method: str, params: dict[str, Any]) -> None:
    server = make_server()

    with pytest.raises(MCPError) as caught:
        await handle_request(server._lowlevel_server, legacy_scope(method, params))

    assert (caught.value.code, caught.value.message) == (-32603, "Handler returned an invalid result")


@pytest.mark.rule("ELICIT-18")
async def test_a_needed_url_visit_is_an_error_of_its_own_on_legacy_sessions() -> None:
    server = MCPServer("cloud")

    @server.tool()
    def needs_url() -> str:
        raise UrlElicitationRequiredError([ElicitRequestURLParams(message="m", url="https://u", elicitation_id="1")])

    with pytest.raises(MCPError) as caught:
        await handle_request(server._lowlevel_server, legacy_scope("tools/call", {"name": "needs_url"}))

    assert (caught.value.code, caught.value.message) == (-32042, "URL elicitation required")
    assert caught.value.data == {
        "elicitations": [{"mode": "url", "message": "m", "url": "https://u", "elicitationId": "1"}]
    }
