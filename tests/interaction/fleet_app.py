"""A server for several processes: `uvicorn tests.interaction.fleet_app:app`. `STATE_KEYS` holds what they share."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import BaseModel

from mcp.server.mcpserver import Context, Elicit, MCPServer, RequestStateSecurity, Resolve
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

keys = os.environ.get("STATE_KEYS")
mcp = MCPServer("fleet", request_state_security=RequestStateSecurity(keys=keys.split(",")) if keys else None)
form = ElicitRequestFormParams(
    message="Which region?", requested_schema={"type": "object", "properties": {"region": {"type": "string"}}}
)


class Login(BaseModel):
    username: str


class Amount(BaseModel):
    amount: int


async def ask_login() -> Elicit[Login]:
    return Elicit("Who?", Login)


async def ask_amount(login: Annotated[Login, Resolve(ask_login)]) -> Elicit[Amount]:
    return Elicit(f"How much, {login.username}?", Amount)


@mcp.tool()
async def process() -> int:
    return os.getpid()


@mcp.tool()
async def provision(name: str, ctx: Context) -> str | InputRequiredResult:
    answer = (ctx.input_responses or {}).get("region")
    if not isinstance(answer, ElicitResult) or answer.content is None:
        return InputRequiredResult(
            input_requests={"region": ElicitRequest(params=form)}, request_state=f"{os.getpid()}"
        )
    return f"{name} in {answer.content['region']}, asked by {ctx.request_state}, done by {os.getpid()}"


@mcp.tool()
async def pay(login: Annotated[Login, Resolve(ask_login)], amount: Annotated[Amount, Resolve(ask_amount)]) -> str:
    return f"{login.username} pays {amount.amount}"


app = mcp.streamable_http_app()
