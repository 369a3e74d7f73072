"""A server of several workers: `python -m tests.cases.workers_program COUNT [stateless] [FILE of used tokens]`."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

from pydantic import BaseModel

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context, Elicit, MCPServer, RequestStateSecurity, Resolve
from mcp.stores import SQLiteStore


class Amount(BaseModel):
    amount: int


async def ask_amount() -> Elicit[Amount]:
    return Elicit("How much?", Amount)


Asked = Annotated[Amount, Resolve(ask_amount)]


def user(ctx: ServerRequestContext[Any, Any]) -> str | None:
    return None if ctx.request is None else ctx.request.headers.get("x-user")


def build(used: str | None, *, stateless: bool) -> MCPServer:
    store = None if used is None else SQLiteStore(used)
    security = RequestStateSecurity(keys=["k" * 32], single_use=store, bind_principal=user)
    mcp = MCPServer("bank", request_state_security=security, subscriptions=False if stateless else None)

    @mcp.tool
    async def process() -> int:
        return os.getpid()

    @mcp.tool
    async def pay(to: str, asked: Asked) -> str:
        print(f"paid {asked.amount} to {to}", file=sys.stderr, flush=True)
        return f"paid by {os.getpid()}"

    @mcp.tool
    async def lend(to: str, asked: Asked) -> str:
        return f"lent {asked.amount} to {to}"

    @mcp.tool
    async def count(ctx: Context) -> int:
        for number in range(1, 4):
            await ctx.report_progress(number, 3)
        return os.getpid()

    return mcp


if __name__ == "__main__":
    number, *options = sys.argv[1:]
    is_stateless = "stateless" in options
    file = next((option for option in options if option != "stateless"), None)
    build(file, stateless=is_stateless).run(
        "streamable-http", port=0, workers=int(number), stateless_http=is_stateless, shutdown_timeout=0.2
    )
