"""The automatic client: a callback answers, `call_tool` returns the finished result.

Run a server first, for example `.venv/bin/python examples/lowlevel_asks.py`.
"""

import asyncio
import sys

from mcp import Client
from mcp.client import ClientRequestContext
from mcp.types import ElicitRequestParams, ElicitResult, TextContent


async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    print(f"The server asks: {params.message}")
    return ElicitResult(action="accept", content={"day": "Friday"})


async def main(url: str = "http://127.0.0.1:8000/mcp") -> None:
    async with Client(url, elicitation_callback=answer) as client:
        result = await client.call_tool("move_meeting", {"title": "Retrospective"})
        print(*(block.text for block in result.content if isinstance(block, TextContent)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
