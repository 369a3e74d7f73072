"""One tool that returns its question, for clients of both eras.

    .venv/bin/python examples/legacy_bridge.py

Newer clients drive the rounds themselves. Older ones do not know them: `legacy_input="bridge"` lets the server ask them
while their call waits, and call the tool again with the answer.
"""

import anyio

from mcp import Client
from mcp.client import ClientRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
)

server = MCPServer("Cloud", legacy_input="bridge")

WHICH_REGION = ElicitRequest(
    params=ElicitRequestFormParams(
        message="Which region?",
        requested_schema={"type": "object", "properties": {"region": {"type": "string"}}, "required": ["region"]},
    )
)


@server.tool()
async def provision(name: str, ctx: Context) -> str | InputRequiredResult:
    """Provision a database."""
    answer = (ctx.input_responses or {}).get("region")
    if not isinstance(answer, ElicitResult):
        return InputRequiredResult(input_requests={"region": WHICH_REGION}, request_state=name)
    if answer.action != "accept" or answer.content is None:
        return f"Nothing was provisioned for {name}."
    return f"{name} is provisioned in {answer.content['region']}."


async def fill_in(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"region": "eu-west"})


async def main() -> None:
    for mode in ("auto", "legacy"):
        async with Client(server, mode=mode, elicitation_callback=fill_in) as client:
            result = await client.call_tool("provision", {"name": "orders"})
            (block,) = result.content
            assert isinstance(block, TextContent)
            print(f"{client.protocol_version}: {block.text}")


if __name__ == "__main__":
    anyio.run(main)
