"""A low-level server whose tool asks before it acts.

Run it, then a client: `.venv/bin/python examples/client_callbacks.py`.
"""

import sys

import uvicorn

from mcp.server import Server, ServerRequestContext
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

MOVE = Tool(
    name="move_meeting",
    description="Move a meeting to a day that the user picks.",
    input_schema={
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
    },
)

WHICH_DAY = ElicitRequest(
    params=ElicitRequestFormParams(
        message="Which day suits you?",
        requested_schema={
            "type": "object",
            "properties": {"day": {"type": "string", "enum": ["Monday", "Tuesday", "Friday"]}},
            "required": ["day"],
        },
    )
)


async def list_tools(ctx: ServerRequestContext, params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[MOVE])


async def call_tool(ctx: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
    title = (params.arguments or {})["title"]
    answer = (params.input_responses or {}).get("day")
    if not isinstance(answer, ElicitResult):
        # The first round: say what is missing. The client asks its user and makes the same call again.
        return InputRequiredResult(input_requests={"day": WHICH_DAY})
    if answer.action != "accept" or answer.content is None:
        return CallToolResult(content=[TextContent(type="text", text=f"{title} stays where it is.")])
    return CallToolResult(content=[TextContent(type="text", text=f"{title} is on {answer.content['day']} now.")])


server = Server("Calendar", on_list_tools=list_tools, on_call_tool=call_tool)

if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")
