"""One instance of a fleet: `python -m tests.external.fleet_program PORT KEYS REDIS_URL`."""

from __future__ import annotations

import os
import sys

from pydantic import BaseModel
from redis.asyncio import Redis

from mcp.server.elicitation import AcceptedElicitation
from mcp.server.mcpserver import Context, MCPServer, RequestStateSecurity
from mcp.stores import RedisStore
from mcp.types import SamplingMessage, TextContent


class Name(BaseModel):
    name: str


def build(keys: str, url: str) -> MCPServer:
    store = RedisStore(url)
    security = RequestStateSecurity.from_file(keys, single_use=store, park=store, max_token_bytes=1024)
    mcp = MCPServer("fleet", request_state_security=security)
    counter = Redis.from_url(url)  # pyright: ignore[reportUnknownMemberType]

    async def count(call: str) -> int:
        return int(await counter.incr(f"effect:{call}"))

    @mcp.tool(resumable=True)
    async def order(call: str, ctx: Context) -> str:
        name = await ctx.elicit(f"Name for {call}?", Name)
        assert isinstance(name, AcceptedElicitation)
        message = SamplingMessage(role="user", content=TextContent(type="text", text=f"Greet {name.data.name}"))
        greeting = await ctx.sample([message], max_tokens=10)
        assert isinstance(greeting.content, TextContent)
        roots = await ctx.list_roots()
        effect = await ctx.once("count", count, call)
        return f"{call}: {name.data.name}, {greeting.content.text}, {roots.roots[0].uri}, effect {effect}"

    @mcp.tool()
    async def process() -> int:
        return os.getpid()

    return mcp


if __name__ == "__main__":
    port, keys, url = sys.argv[1:]
    build(keys, url).run("streamable-http", port=int(port), shutdown_timeout=0.5)
