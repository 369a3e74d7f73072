"""The manual client: every round is in your hands, so that a question may wait for a person, a queue, another day.

Run a server first, for example `.venv/bin/python examples/lowlevel_asks.py`.
"""

import asyncio
import sys

from mcp import Client
from mcp.types import (
    CallToolResult,
    ElicitRequest,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    InputResponse,
    TextContent,
)


def reply(request: InputRequest) -> InputResponse:
    """Answer one question; a real client would show it to somebody."""
    if not isinstance(request, ElicitRequest):
        return ElicitResult(action="cancel")
    print(f"The server asks: {request.params.message}")
    return ElicitResult(action="accept", content={"day": "Monday"})


async def move_meeting(client: Client, title: str) -> CallToolResult:
    arguments = {"title": title}
    result = await client.session.call_tool("move_meeting", arguments, allow_input_required=True)
    while isinstance(result, InputRequiredResult):
        # The same call again, with the answers under the keys of the questions and the state exactly as it came.
        result = await client.session.call_tool(
            "move_meeting",
            arguments,
            input_responses={key: reply(request) for key, request in (result.input_requests or {}).items()},
            request_state=result.request_state,
            allow_input_required=True,
        )
    return result


async def main(url: str = "http://127.0.0.1:8000/mcp") -> None:
    async with Client(url) as client:
        result = await move_meeting(client, "Retrospective")
        print(*(block.text for block in result.content if isinstance(block, TextContent)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
