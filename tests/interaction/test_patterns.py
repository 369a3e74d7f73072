"""The patterns of the protocol, as they look on the wire and to those who use them."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

import mcp_types as types
from mcp.client import Client
from mcp.server import Server, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, ElicitResult, InputRequiredResult
from tests.interaction.test_rounds import ASK, User, region_in
from tests.interaction.test_verbs import text_of
from tests.interaction.transports import Connector
from tests.server.http.fakes import request_body
from tests.server.http.serving import post, serving

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


@pytest.mark.modern
@pytest.mark.rule("MRTR-S-18", "MRTR-43")
async def test_an_author_who_must_not_see_a_state_twice_remembers_it(connect: Connector) -> None:
    mcp = MCPServer("once")
    used: set[str] = set()
    paid: list[str] = []

    @mcp.tool()
    async def pay(ctx: Context) -> str | InputRequiredResult:
        region = region_in(ctx.input_responses)
        if region is None or ctx.request_state is None:
            return InputRequiredResult(input_requests={"region": ASK}, request_state=f"payment {len(used)}")
        if ctx.request_state in used:
            raise ToolError("this payment was made already")
        used.add(ctx.request_state)
        paid.append(region)
        return "paid"

    with anyio.fail_after(10):
        async with connect(mcp) as client:
            first = await client.session.call_tool("pay", allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
            responses: types.InputResponses = {"region": ElicitResult(action="accept", content={"region": "eu"})}
            texts = [
                text_of(await client.call_tool("pay", input_responses=responses, request_state=first.request_state))
                for _ in range(2)
            ]
    assert texts == ["paid", "Error executing tool pay: this payment was made already"]
    assert paid == ["eu"]


@pytest.mark.rule("MRTR-S-27", "PROG-14")
def test_a_question_is_plain_json_and_after_progress_the_last_event_of_the_stream() -> None:
    mcp = MCPServer("asking")

    @mcp.tool()
    async def ask(steps: int, ctx: Context) -> InputRequiredResult:
        for step in range(steps):
            await ctx.report_progress(step + 1)
        return InputRequiredResult(input_requests={"region": ASK})

    def body(steps: int, **meta: Any) -> dict[str, Any]:
        meta[CAPABILITIES] = {"elicitation": {"form": {}}}
        return request_body("tools/call", {"name": "ask", "arguments": {"steps": steps}}, **meta)

    with serving(mcp.streamable_http_app()) as port:
        plain = post(port, body(0))
        streamed = post(port, body(2, progressToken="p"))
    assert plain.json["result"]["resultType"] == "input_required"
    *progress, last = streamed.events
    assert [event["params"] for event in progress] == [
        {"progressToken": "p", "progress": 1},
        {"progressToken": "p", "progress": 2},
    ]
    assert last["result"]["resultType"] == "input_required"


class Region(BaseModel):
    region: str


@pytest.mark.modern
@pytest.mark.rule("MRTR-S-30", "MRTR-S-01")
async def test_asking_in_the_middle_of_a_call_is_for_older_revisions_and_says_what_to_do(connect: Connector) -> None:
    mcp = MCPServer("asking")
    refusals: list[str] = []

    @mcp.tool()
    async def ask(ctx: Context) -> str:
        try:
            await ctx.elicit("Which region?", Region)
        except MCPError as error:
            refusals.append(str(error))
        return "went on"

    user = User(region="eu")
    with anyio.fail_after(10):
        async with connect(mcp, elicitation_callback=user) as client:
            assert text_of(await client.call_tool("ask")) == "went on"
    assert user.asked == []
    assert len(refusals) == 1
    assert "elicitation/create" in refusals[0]


@pytest.mark.modern
@pytest.mark.rule("PROG-04", "PROG-07", "PROG-08", "PROG-10")
async def test_progress_has_a_token_of_its_own_call_and_keeps_fractions_and_texts(connect: Connector) -> None:
    mcp = MCPServer("work")

    @mcp.tool()
    async def work(name: str, ctx: Context) -> str:
        for step in (0.25, 0.5, 1.5):
            await ctx.report_progress(step, 2.5, f"{name} é {step}")
            await anyio.lowlevel.checkpoint()
        return name

    heard: dict[str, list[tuple[float, float | None, str | None]]] = {"a": [], "b": []}
    with anyio.fail_after(10):
        async with connect(mcp) as client:

            async def call(name: str) -> None:
                async def listen(progress: float, total: float | None, message: str | None) -> None:
                    heard[name].append((progress, total, message))

                await client.call_tool("work", {"name": name}, progress_callback=listen)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call, "a")
                tasks.start_soon(call, "b")
    assert heard == {name: [(step, 2.5, f"{name} é {step}") for step in (0.25, 0.5, 1.5)] for name in ("a", "b")}
    calls = connect.record.of("tools/call")
    tokens = [call.params["_meta"]["progressToken"] for call in calls]
    assert len(set(tokens)) == 2
    for exchange, token in zip(calls, tokens, strict=True):
        assert [params["progressToken"] for _, params in exchange.told] == [token] * 3


@pytest.mark.rule("ERR-14", "ERR-2")
async def test_wrong_requests_say_what_is_wrong_and_only_chosen_texts_are_told(connect: Connector) -> None:
    mcp = MCPServer("errors")

    @mcp.tool()
    async def chosen() -> str:
        raise ToolError("the shop is closed")

    @mcp.tool()
    async def foreign() -> str:
        raise ValueError("dsn=secret")

    class Unknown(types.Request[dict[str, Any], str]):
        pass

    with anyio.fail_after(10):
        async with connect(mcp) as client:
            assert text_of(await client.call_tool("chosen")) == "Error executing tool chosen: the shop is closed"
            assert text_of(await client.call_tool("foreign")) == "Error executing tool foreign"
            with pytest.raises(MCPError) as unknown:
                await client.session.send_request(Unknown(method="acme/search", params={}), types.EmptyResult)
            bad = Unknown(method="prompts/list", params={"cursor": ["sécret"]})
            with pytest.raises(MCPError) as malformed:
                await client.session.send_request(bad, types.EmptyResult)
    error = unknown.value
    assert (error.code, error.message, error.data) == (METHOD_NOT_FOUND, "Method not found", "acme/search")
    error = malformed.value
    assert (error.code, error.message) == (INVALID_PARAMS, "Invalid request parameters")
    assert "cursor" in str(error.data)
    assert "sécret" not in str(error.data)


@pytest.mark.modern
@pytest.mark.rule("ERR-20", "MRTR-41")
async def test_failed_prompts_and_refused_states_are_in_the_servers_log(
    connect: Connector, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = MCPServer("errors")

    @mcp.prompt()
    async def broken() -> str:
        raise ValueError("dsn=secret")

    with anyio.fail_after(10), caplog.at_level(logging.WARNING, "mcp"):
        async with connect(mcp) as client:
            with pytest.raises(MCPError) as failed:
                await client.get_prompt("broken")
            with pytest.raises(MCPError):
                await client.get_prompt("broken", request_state="forged")
    assert failed.value.code == INTERNAL_ERROR
    assert "secret" not in failed.value.message
    failure, refusal = caplog.records
    assert failure.levelno == logging.ERROR
    assert failure.exc_info is not None
    assert "dsn=secret" in caplog.text
    assert refusal.levelno == logging.WARNING
    assert refusal.getMessage().startswith("requestState rejected on prompts/get: malformed")


@pytest.mark.rule("CLIENT-D4")
async def test_an_exception_leaves_the_clients_block_as_it_is(connect: Connector) -> None:
    with anyio.fail_after(10), pytest.raises(LookupError, match=r"^mine$"):
        async with connect(MCPServer("empty")):
            raise LookupError("mine")
    with anyio.fail_after(10), pytest.raises(MCPError):
        async with connect(MCPServer("empty")) as client:
            await client.call_tool("nothing")


@pytest.mark.modern
@pytest.mark.rule("SUB-10", "SUB-19")
async def test_subscriptions_stand_side_by_side_and_carry_nothing_of_calls(connect: Connector) -> None:
    mcp = MCPServer("changing")

    @mcp.tool()
    async def change(ctx: Context) -> str:
        await ctx.report_progress(1)
        await ctx.request_context.session.log("error", "busy")
        await ctx.notify_tools_changed()
        await ctx.notify_resource_updated("x://a")
        return "changed"

    async def ignore(*args: Any, **kwargs: Any) -> None:
        await anyio.lowlevel.checkpoint()

    with anyio.fail_after(10):
        async with connect(mcp, log_level="debug", logging_callback=ignore) as client:
            async with client.listen(tools_list_changed=True) as tools:
                async with client.listen(resource_subscriptions=["x://a"]) as resources:
                    await client.call_tool("change", progress_callback=ignore)
                    assert await anext(tools) == ToolsListChanged()
                    assert await anext(resources) == ResourceUpdated(uri="x://a")
    [call] = connect.record.of("tools/call")
    assert [method for method, _ in call.told] == ["notifications/progress", "notifications/message"]
    told = [[method for method, _ in listen.told] for listen in connect.record.of("subscriptions/listen")]
    assert told == [
        ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"],
        ["notifications/subscriptions/acknowledged", "notifications/resources/updated"],
    ]


@pytest.mark.modern
@pytest.mark.rule("SUB-20")
async def test_a_server_without_subscriptions_refuses_and_declares_none(connect: Connector) -> None:
    async def list_tools(ctx: ServerRequestContext, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[])

    with anyio.fail_after(10):
        async with connect(Server("still", on_list_tools=list_tools)) as client:
            assert client.server_capabilities.tools is not None
            assert not client.server_capabilities.tools.list_changed
            with pytest.raises(MCPError) as caught:
                async with client.listen(tools_list_changed=True):
                    raise AssertionError
    assert caught.value.code == METHOD_NOT_FOUND


async def test_what_was_never_connected_is_no_use() -> None:
    with pytest.raises(RuntimeError, match="async context manager"):
        await Client(MCPServer("empty")).call_tool("t")
