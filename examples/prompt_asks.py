"""A prompt that asks: the text depends on something that only the user knows."""

import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

server = MCPServer("Letters")

WHICH_TONE = ElicitRequest(
    params=ElicitRequestFormParams(
        message="In what tone should the letter be?",
        requested_schema={
            "type": "object",
            "properties": {"tone": {"type": "string", "description": "warm, formal, brief, ..."}},
            "required": ["tone"],
        },
    )
)


@server.prompt()
async def letter(recipient: str, ctx: Context) -> list[UserMessage] | InputRequiredResult:
    """Write a letter in the tone that the user likes."""
    answer = (ctx.input_responses or {}).get("tone")
    if not isinstance(answer, ElicitResult):
        return InputRequiredResult(input_requests={"tone": WHICH_TONE})
    tone = answer.content["tone"] if answer.content else "neutral"
    return [UserMessage(f"Write a {tone} letter to {recipient}.")]


if __name__ == "__main__":
    server.run("streamable-http", port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
