"""A server written against `mcp` 1.x, with the tools of `v2_server.py`: `v1_server.py http PORT | stdio`."""

from __future__ import annotations

import sys
from collections import defaultdict

import anyio
from pydantic import AnyUrl, BaseModel

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import SamplingMessage, TextContent

server = FastMCP("peer", instructions="Ask for tea.", log_level="ERROR", host="127.0.0.1", port=int((*sys.argv, 0)[2]))
cancelled: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)


class Amount(BaseModel):
    amount: int


@server.tool()
async def add(a: int, b: int) -> int:
    return a + b


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
    return f"counted {steps}"


@server.tool()
async def slow(key: str, ctx: Context) -> str:
    await ctx.report_progress(1, 2)
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        cancelled[key].set()
        raise
    return "never"


@server.tool()
async def was_cancelled(key: str) -> str:
    with anyio.move_on_after(5):
        await cancelled[key].wait()
    return "cancelled" if cancelled[key].is_set() else "not cancelled"


@server.tool()
async def echo(text: str) -> str:
    return text


@server.tool()
async def fail() -> str:
    raise ValueError("no tea today")


@server.tool()
async def order(item: str, ctx: Context) -> str:
    answer = await ctx.elicit(f"How many of {item}?", Amount)
    return f"{answer.data.amount} of {item}" if answer.action == "accept" else f"no {item}"


@server.tool()
async def joke(topic: str, ctx: Context) -> str:
    question = SamplingMessage(role="user", content=TextContent(type="text", text=f"A joke about {topic}"))
    answer = await ctx.session.create_message([question], max_tokens=20, related_request_id=ctx.request_id)
    return answer.content.text


@server.tool()
async def where(ctx: Context) -> str:
    return " ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)


@server.resource("note://today", mime_type="text/plain")
async def today() -> str:
    return "note"


@server.resource("note://{day}/of/{month}")
async def day_of_month(day: str, month: str) -> str:
    return f"{day} {month}"


@server.tool()
async def write(ctx: Context) -> str:
    await ctx.session.send_resource_updated(AnyUrl("note://today"))
    return "written"


@server.prompt()
async def greet(name: str) -> str:
    return f"Greet {name}."


if __name__ == "__main__":
    server.run({"http": "streamable-http", "sse": "sse", "stdio": "stdio"}[sys.argv[1]])
