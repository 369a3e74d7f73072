"""The whole way, from a client in memory to the function and back."""

from __future__ import annotations

from typing import Annotated, Any

import anyio
import jsonschema_rs
import pytest
from pydantic import BaseModel

from mcp.client.client import Client
from mcp.client.context import ClientRequestContext
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.server.mcpserver.resolve.markers import Elicit, Resolve
from mcp.server.mcpserver.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    GetPromptResult,
    InputRequiredResult,
    PromptMessage,
    TextContent,
    TextResourceContents,
)


class Point(BaseModel):
    x: int
    y: int = 0


class Login(BaseModel):
    username: str


async def ask_login(ctx: Context) -> Elicit[Login]:
    return Elicit("Who are you?", Login)


ASK_AUDIENCE = ElicitRequest(
    params=ElicitRequestFormParams(
        message="Who is the briefing for?",
        requested_schema={
            "type": "object",
            "properties": {"audience": {"type": "string"}},
            "required": ["audience"],
        },
    )
)


def lab() -> MCPServer:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    @mcp.tool()
    def mirror(point: Point) -> Point:
        return Point(x=point.y, y=point.x)

    @mcp.tool()
    async def act(login: Annotated[Login, Resolve(ask_login)]) -> str:
        return f"hello {login.username}"

    @mcp.tool()
    async def count(to: int, ctx: Context) -> str:
        for number in range(to):
            await ctx.report_progress(number + 1, to)
        return "done"

    @mcp.prompt()
    async def briefing(ctx: Context) -> list[UserMessage] | InputRequiredResult:
        answer = (ctx.input_responses or {}).get("audience")
        if not isinstance(answer, ElicitResult) or answer.content is None:
            return InputRequiredResult(input_requests={"audience": ASK_AUDIENCE})
        return [UserMessage(f"Write a briefing for {answer.content['audience']}.")]

    @mcp.resource("user://{user_id}")
    async def user(user_id: int) -> dict[str, int]:
        return {"id": user_id}

    return mcp


async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    assert isinstance(params, ElicitRequestFormParams)
    (name,) = params.requested_schema["properties"]
    return ElicitResult(action="accept", content={name: "bob"})


@pytest.mark.rule("TOOLS-38", "OUT-27", "TEST-1", "TEST-5", "MRTR-12", "MRTR-52")
async def test_a_client_uses_everything_a_server_offers() -> None:
    async with Client(lab(), elicitation_callback=answer) as client:
        assert client.protocol_version == "2026-07-28"
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add", "mirror", "act", "count"]
        result = await client.call_tool("add", {"a": 1})
        result.meta = None
        assert result == CallToolResult(content=[TextContent(type="text", text="3")], structured_content={"result": 3})
        mirrored = await client.call_tool("mirror", {"point": {"x": 1, "y": 2}})
        assert mirrored.structured_content == {"x": 2, "y": 1}
        acted = await client.call_tool("act", {})
        assert acted.structured_content == {"result": "hello bob"}
        prompt = await client.get_prompt("briefing")
        assert isinstance(prompt, GetPromptResult)
        text = TextContent(type="text", text="Write a briefing for bob.")
        assert prompt.messages == [PromptMessage(role="user", content=text)]
        (contents,) = (await client.read_resource("user://5")).contents
        assert isinstance(contents, TextResourceContents)
        assert contents.text == '{\n  "id": 5\n}'


async def test_progress_reaches_the_callback_before_the_result() -> None:
    seen: list[Any] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with Client(lab()) as client:
        await client.call_tool("count", {"to": 2}, progress_callback=note)
    assert seen == [(1, 2, None), (2, 2, None)]


@pytest.mark.rule("LEG-F-09", "SERR-19")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_failures_reach_the_client_as_what_they_are(mode: str) -> None:
    async with Client(lab(), mode=mode) as client:
        assert (await client.call_tool("add", {"a": "x"})).is_error
        with pytest.raises(MCPError, match=r"^Unknown tool: nosuch$"):
            await client.call_tool("nosuch")
        with pytest.raises(MCPError, match=r"^Unknown prompt: nosuch$"):
            await client.get_prompt("nosuch")
        with pytest.raises(MCPError, match=r"^Unknown resource: x://nosuch$"):
            await client.read_resource("x://nosuch")


async def test_a_call_can_be_given_up() -> None:
    mcp = lab()
    started = anyio.Event()
    stopped: list[bool] = []

    @mcp.tool()
    async def slow() -> None:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append(True)

    async with Client(mcp) as client:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "slow")
                await started.wait()
                group.cancel_scope.cancel()
        assert stopped == [True]
        assert not (await client.call_tool("add", {"a": 1})).is_error


@pytest.mark.rule("VER-C-12", "BASE-S-08", "TOOL-L-05", "TOOL-L-07")
async def test_every_connection_lists_the_same_in_the_order_of_registration() -> None:
    mcp = lab()
    for mode in ("auto", "legacy", "auto"):
        async with Client(mcp, mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names[:4] == ["add", "mirror", "act", "count"]
            assert names == [tool.name for tool in await mcp.list_tools()]


@pytest.mark.rule("BASE-X-08")
async def test_the_schemas_of_tools_are_valid_schemas() -> None:
    async with Client(lab()) as client:
        tools = (await client.list_tools()).tools
    schemas = [schema for tool in tools for schema in (tool.input_schema, tool.output_schema) if schema is not None]
    assert len(schemas) > len(tools)
    for schema in schemas:
        assert jsonschema_rs.meta.is_valid(schema)
