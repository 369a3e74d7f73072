"""A server whose functions return their questions, for this process or as a program on pipes."""

from __future__ import annotations

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)

ASK_REGION = ElicitRequest(
    params=ElicitRequestFormParams(
        message="Which region?",
        requested_schema={"type": "object", "title": "Region", "properties": {"region": {"type": "string"}}},
    )
)
ASK_MODEL = CreateMessageRequest(
    params=CreateMessageRequestParams(
        messages=[SamplingMessage(role="user", content=TextContent(type="text", text="A name?"))], max_tokens=9
    )
)


def region_of(ctx: Context) -> str | None:
    answer = (ctx.input_responses or {}).get("region")
    return str(answer.content["region"]) if isinstance(answer, ElicitResult) and answer.content else None


def build(legacy_input: str = "bridge") -> MCPServer[None]:
    """Make the server."""
    server: MCPServer[None] = MCPServer("Bridge", log_level="ERROR", legacy_input=legacy_input)  # pyright: ignore[reportArgumentType]
    server.add_tool(provision)
    server.add_tool(ask_all)
    server.add_tool(count_down)
    server.prompt()(briefing)
    server.resource("report://{name}")(report)
    return server


async def provision(name: str, ctx: Context) -> str | InputRequiredResult:
    region = region_of(ctx)
    if region is None:
        return InputRequiredResult(input_requests={"region": ASK_REGION}, request_state=f"for {name}")
    return f"{name} in {region}, {ctx.request_state}"


async def ask_all(ctx: Context) -> str | InputRequiredResult:
    """Ask a question of each kind."""
    answers = ctx.input_responses
    if answers is None:
        questions: dict[str, InputRequest] = {"region": ASK_REGION, "name": ASK_MODEL, "roots": ListRootsRequest()}
        return InputRequiredResult(input_requests=questions)
    name, roots = answers["name"], answers["roots"]
    assert isinstance(name, CreateMessageResult)
    assert isinstance(name.content, TextContent)
    assert isinstance(roots, ListRootsResult)
    return f"{region_of(ctx)} {name.content.text} {[str(root.uri) for root in roots.roots]} {ctx.request_state}"


async def count_down(start: int, ctx: Context) -> str | InputRequiredResult:
    """Ask for nothing but to be called again."""
    left = start if ctx.request_state is None else int(ctx.request_state)
    return InputRequiredResult(request_state=str(left - 1)) if left else f"done, {ctx.input_responses}"


async def briefing(ctx: Context) -> list[UserMessage] | InputRequiredResult:
    region = region_of(ctx)
    return [UserMessage(f"About {region}")] if region else InputRequiredResult(input_requests={"region": ASK_REGION})


async def report(name: str, ctx: Context) -> str | InputRequiredResult:
    region = region_of(ctx)
    return f"{name}: {region}" if region else InputRequiredResult(input_requests={"region": ASK_REGION})


if __name__ == "__main__":
    build().run()
