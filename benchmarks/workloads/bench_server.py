"""The server that is measured: one tool that answers at once, one that asks first.

``python bench_server.py http 8000`` serves until it is ended, ``python bench_server.py stdio`` its standard streams.
"""

import sys
from typing import Annotated

from pydantic import BaseModel

from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, MCPServer, Resolve

server = MCPServer("Benchmark", log_level="ERROR")


class Amount(BaseModel):
    amount: int


async def ask_amount(item: str) -> Elicit[Amount]:
    return Elicit(f"How many of {item}?", Amount)


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def order(item: str, answer: Annotated[ElicitationResult[Amount], Resolve(ask_amount)]) -> str:
    """Order as many as the user wants."""
    if not isinstance(answer, AcceptedElicitation):
        return f"no {item}"
    return f"{answer.data.amount} of {item}"


def main(transport: str, port: int = 0) -> None:
    if transport == "http":
        server.run("streamable-http", host="127.0.0.1", port=port)
    else:
        server.run("stdio")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
