"""Change the key of a running fleet without failing one call, in three steps.

Every step is a deployment; between two steps, some instances run the old list of keys and some the new one. A call that
is waiting for its user's answer goes through in each of these mixtures.
"""

import asyncio
import itertools
import secrets

from shared_keys import make_server

from mcp import Client
from mcp.server.mcpserver import MCPServer, RequestStateSecurity
from mcp.types import ElicitResult, InputRequiredResult, TextContent

OLD, NEW = secrets.token_bytes(32), secrets.token_bytes(32)

STEPS = [
    RequestStateSecurity(keys=[OLD]),
    RequestStateSecurity(keys=[OLD, NEW]),  # 1: every instance can read what NEW will seal; OLD still seals
    RequestStateSecurity(keys=[NEW, OLD]),  # 2: NEW seals; what OLD sealed is still readable
    RequestStateSecurity(keys=[NEW]),  # 3: one ttl after step 2 is everywhere: forget OLD
]


async def book(first: MCPServer, second: MCPServer) -> str:
    """Begin a call on one instance and finish it on another one."""
    async with Client(first) as client:
        asked = await client.session.call_tool("book", {"show": "Hamlet"}, allow_input_required=True)
    assert isinstance(asked, InputRequiredResult)
    async with Client(second) as client:
        result = await client.session.call_tool(
            "book",
            {"show": "Hamlet"},
            input_responses={"seat": ElicitResult(action="accept", content={"seat": "7B"})},
            request_state=asked.request_state,
        )
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


async def main() -> None:
    fleet = [make_server(security) for security in STEPS]
    for step, (before, after) in enumerate(itertools.pairwise(fleet), start=1):
        print(f"step {step}, begun before it: {await book(before, after)}")
        print(f"step {step}, begun after it: {await book(after, before)}")


if __name__ == "__main__":
    asyncio.run(main())
