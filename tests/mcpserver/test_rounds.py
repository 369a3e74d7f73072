"""Tools, prompts and templates that need answers before they can finish."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.resolve.markers import Elicit, Resolve
from mcp.server.mcpserver.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from tests.mcpserver.wire import Peer, connect

FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
FORM = {"type": "object", "properties": {"region": {"type": "string"}}, "required": ["region"]}
ASK = ElicitRequest(params=ElicitRequestFormParams(message="Which region?", requested_schema=FORM))
ANSWER = {"action": "accept", "content": {"region": "eu"}}


def region_of(ctx: Context) -> str | None:
    answer = (ctx.input_responses or {}).get("region")
    if not isinstance(answer, ElicitResult) or answer.content is None:
        return None
    return str(answer.content["region"])


def asking_server() -> MCPServer:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def provision(name: str, ctx: Context) -> str | InputRequiredResult:
        region = region_of(ctx)
        if region is None:
            return InputRequiredResult(input_requests={"region": ASK}, request_state="asked", _meta={"k": 1})
        return f"{name} in {region} ({ctx.request_state})"

    @mcp.prompt()
    async def brief(ctx: Context) -> str | InputRequiredResult:
        region = region_of(ctx)
        return InputRequiredResult(input_requests={"region": ASK}) if region is None else region

    @mcp.resource("x://{a}")
    async def report(a: str, ctx: Context) -> str | InputRequiredResult:
        region = region_of(ctx)
        return InputRequiredResult(input_requests={"region": ASK}) if region is None else f"{a} {region}"

    @mcp.resource("static://s")
    async def static() -> InputRequiredResult:
        return InputRequiredResult(request_state="s")

    return mcp


@pytest.mark.rule("MRTR-1", "MRTR-5", "MRTR-6", "MRTR-14", "MRTR-16", "MRTR-17", "MRTR-24", "PROMPT-19", "RES-17")
async def test_a_call_is_finished_with_the_answers() -> None:
    async with connect(asking_server(), capabilities=FORMS) as peer:
        listed = {tool["name"]: tool for tool in (await peer.request("tools/list"))["tools"]}
        assert listed["provision"]["outputSchema"]["properties"] == {"result": {"title": "Result", "type": "string"}}
        for method, params in (
            ("tools/call", {"name": "provision", "arguments": {"name": "orders"}}),
            ("prompts/get", {"name": "brief"}),
            ("resources/read", {"uri": "x://a"}),
        ):
            first = await peer.request(method, params)
            assert first["resultType"] == "input_required"
            assert first["inputRequests"]["region"]["params"] == {
                "mode": "form",
                "message": "Which region?",
                "requestedSchema": FORM,
            }
            retry: dict[str, Any] = {**params, "inputResponses": {"region": ANSWER}}
            if "requestState" in first:
                assert "asked" not in first["requestState"]
                retry["requestState"] = first["requestState"]
            second = await peer.request(method, retry)
            assert "resultType" not in second
            if method == "tools/call":
                assert second["content"][0]["text"] == "orders in eu (asked)"
            elif method == "prompts/get":
                assert second["messages"][0]["content"]["text"] == "eu"
            else:
                assert second["contents"][0]["text"] == "a eu"


@pytest.mark.rule("MRTR-25", "MRTR-40", "MRTR-41", "MRTR-42")
async def test_state_of_another_server_object_is_refused() -> None:
    async with connect(asking_server(), capabilities=FORMS) as peer:
        params = {"name": "provision", "arguments": {"name": "orders"}}
        state = (await peer.request("tools/call", params))["requestState"]
    async with connect(asking_server(), capabilities=FORMS) as other:
        retry: dict[str, Any] = {**params, "inputResponses": {"region": ANSWER}, "requestState": state}
        with pytest.raises(MCPError) as caught:
            await other.request("tools/call", retry)
    assert (caught.value.code, caught.value.message, caught.value.data) == (
        -32602,
        "Invalid or expired requestState",
        None,
    )


@pytest.mark.rule("MRTR-23", "MRTR-D1")
async def test_a_client_that_cannot_be_asked_is_not_asked() -> None:
    async with connect(asking_server()) as peer:
        with pytest.raises(MCPError) as caught:
            await peer.call("provision", name="orders")
    assert caught.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY


@pytest.mark.rule("MRTR-15")
async def test_a_static_resource_takes_no_part(caplog: pytest.LogCaptureFixture) -> None:
    async with connect(asking_server(), capabilities=FORMS) as peer:
        with pytest.raises(MCPError) as caught:
            await peer.request("resources/read", {"uri": "static://s"})
    assert (caught.value.code, caught.value.message) == (INTERNAL_ERROR, "Error reading resource static://s")
    assert (
        "static resources cannot return InputRequiredResult; "
        "only resource template functions participate in the multi-round-trip flow"
    ) in caplog.text


@pytest.mark.rule("MRTR-19")
async def test_direct_callers_receive_the_questions() -> None:
    mcp = asking_server()
    for result in (
        await mcp.call_tool("provision", {"name": "orders"}),
        await mcp.get_prompt("brief"),
        await mcp.read_resource("x://a"),
    ):
        assert isinstance(result, InputRequiredResult)
        assert result.input_requests == {"region": ASK}


class Login(BaseModel):
    username: str


async def ask_login(ctx: Context) -> Elicit[Login]:
    return Elicit("Who are you?", Login)


async def resolved_name() -> str:
    return "resolved"


def resolving_server(**options: Any) -> MCPServer:
    mcp = MCPServer("Lab", **options)

    @mcp.tool()
    async def act(a: int, login: Annotated[Login, Resolve(ask_login)], ctx: Context) -> str:
        return f"{a} {login.username} {ctx.request_context.method}"

    @mcp.prompt()
    async def brief(topic: str, login: Annotated[Login, Resolve(ask_login)]) -> str:
        return f"{topic} {login.username}"

    @mcp.resource("x://{a}")
    async def report(a: str, login: Annotated[Login, Resolve(ask_login)]) -> str:
        return f"{a} {login.username}"

    @mcp.tool()
    async def silent(name: Annotated[str, Resolve(resolved_name)]) -> str:
        return name

    @mcp.tool()
    async def both(name: Annotated[str, Resolve(resolved_name)]) -> Any:
        return InputRequiredResult(request_state="s")

    return mcp


METHODS: list[tuple[str, dict[str, Any]]] = [
    ("tools/call", {"name": "act", "arguments": {"a": 1, "login": {"username": "mallory"}}}),
    ("prompts/get", {"name": "brief", "arguments": {"topic": "t", "login": "mallory"}}),
    ("resources/read", {"uri": "x://a"}),
]


async def second_round(peer: Peer, method: str, params: dict[str, Any], answer: Any) -> dict[str, Any]:
    first = await peer.request(method, params)
    (key,) = first["inputRequests"]
    retry = {**params, "inputResponses": {key: answer}, "requestState": first["requestState"]}
    return await peer.request(method, retry)


@pytest.mark.rule("DEP-1", "DEP-10", "DEP-21", "DEP-D1", "PROMPT-8", "DEP-9")
async def test_resolvers_work_in_tools_prompts_and_templates() -> None:
    async with connect(resolving_server(), capabilities=FORMS) as peer:
        listed = {tool["name"]: tool for tool in (await peer.request("tools/list"))["tools"]}
        assert list(listed["act"]["inputSchema"]["properties"]) == ["a"]
        (prompt,) = (await peer.request("prompts/list"))["prompts"]
        assert [argument["name"] for argument in prompt["arguments"]] == ["topic"]
        accept = {"action": "accept", "content": {"username": "bob"}}
        results = [await second_round(peer, method, params, accept) for method, params in METHODS]
        assert results[0]["content"][0]["text"] == "1 bob tools/call"
        assert results[1]["messages"][0]["content"]["text"] == "t bob"
        assert results[2]["contents"][0]["text"] == "a bob"
        assert await peer.text("silent", name="mallory") == "resolved"


@pytest.mark.rule("DEP-10")
async def test_bad_arguments_come_before_any_question() -> None:
    async with connect(resolving_server(), capabilities=FORMS) as peer:
        assert (await peer.call("act", a="x"))["isError"] is True


@pytest.mark.rule("DEP-17", "DEP-D1")
async def test_a_refusal_fails_the_call_with_its_reason() -> None:
    reason = "Resolver for parameter 'login' could not resolve: elicitation was decline"
    async with connect(resolving_server(), capabilities=FORMS) as peer:
        tool = await second_round(peer, *METHODS[0], {"action": "decline"})
        assert tool["content"][0]["text"] == f"Error executing tool act: {reason}"
        for (method, params), prefix in zip(
            METHODS[1:], ("Error rendering prompt brief", "Error creating resource from template x://a"), strict=True
        ):
            with pytest.raises(MCPError) as caught:
                await second_round(peer, method, params, {"action": "decline"})
            assert (caught.value.code, caught.value.message) == (INTERNAL_ERROR, f"{prefix}: {reason}")


async def test_an_answer_that_cannot_be_used_can_be_asked_for_again() -> None:
    bad: dict[str, Any] = {"action": "accept", "content": {}}
    async with connect(resolving_server(max_answer_retries=1), capabilities=FORMS) as peer:
        again = await second_round(peer, *METHODS[0], bad)
        assert again["resultType"] == "input_required"


@pytest.mark.rule("DEP-19")
async def test_resolvers_that_do_not_ask_work_in_direct_calls() -> None:
    result = await resolving_server().call_tool("silent", {})
    assert isinstance(result, CallToolResult)
    assert result.structured_content == {"result": "resolved"}


@pytest.mark.rule("MRTR-18")
async def test_a_function_has_one_way_to_ask() -> None:
    mcp = resolving_server()

    async def declared(name: Annotated[str, Resolve(resolved_name)]) -> str | InputRequiredResult:
        return name

    for register, kind in (
        (mcp.tool("x"), "Tool"),
        (mcp.prompt("x"), "Prompt"),
        (mcp.resource("y://{topic}", name="x"), "Resource"),
    ):

        async def templated(topic: str, name: Annotated[str, Resolve(resolved_name)]) -> str | InputRequiredResult:
            return name

        with pytest.raises(InvalidSignature, match=rf"^{kind} 'x' combines Resolve\(\.\.\.\) parameters"):
            register(templated if kind == "Resource" else declared)
    async with connect(mcp) as peer:
        result = await peer.call("both")
    assert result["isError"] is True
    assert "combines Resolve(...) parameters with an InputRequiredResult return" in result["content"][0]["text"]
