"""A server written against `mcp` 2.x, which is the API of another implementation and of this project.

``v2_server.py http PORT`` or ``v2_server.py stdio``. It runs in both, so it uses what both promise and nothing else.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Annotated

import anyio
from pydantic import BaseModel

from mcp.server.mcpserver import (
    AcceptedElicitation,
    Context,
    Elicit,
    ElicitationResult,
    ListRoots,
    MCPServer,
    Resolve,
    Sample,
)
from mcp.types import CreateMessageResult, ListRootsResult, SamplingMessage, TextContent

server = MCPServer("peer", instructions="Ask for tea.", version="1.2.3", log_level="ERROR")
cancelled: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)
note = 0


class Amount(BaseModel):
    amount: int


async def ask_amount(item: str) -> Elicit[Amount]:
    return Elicit(f"How many of {item}?", Amount)


async def ask_model(topic: str) -> Sample:
    question = SamplingMessage(role="user", content=TextContent(type="text", text=f"A joke about {topic}"))
    return Sample(messages=[question], max_tokens=20)


async def ask_roots() -> ListRoots:
    return ListRoots()


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
        # A TypeScript client of line 1 forgets who follows a call as soon as it reads the answer: before it hands
        # over the progress that it read together with it.
        await anyio.sleep(0.05)
    return f"counted {steps}"


@server.tool()
async def slow(key: str, ctx: Context) -> str:
    """Report progress once, then wait to be cancelled."""
    await ctx.report_progress(1, 2)
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        cancelled[key].set()
        raise
    return "never"


@server.tool()
async def was_cancelled(key: str) -> str:
    """Wait a little for the cancellation of the call of `slow` with this key."""
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
async def order(item: str, answer: Annotated[ElicitationResult[Amount], Resolve(ask_amount)]) -> str:
    """Order as many as the user wants."""
    if not isinstance(answer, AcceptedElicitation):
        return f"no {item}"
    return f"{answer.data.amount} of {item}"


@server.tool()
async def joke(topic: str, answer: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    assert isinstance(answer.content, TextContent)
    return answer.content.text


@server.tool()
async def where(answer: Annotated[ListRootsResult, Resolve(ask_roots)]) -> str:
    return " ".join(str(root.uri) for root in answer.roots)


@server.resource("note://today", mime_type="text/plain")
async def today() -> str:
    return f"note {note}"


@server.resource("note://{day}/of/{month}")
async def day_of_month(day: str, month: str) -> str:
    return f"{day} {month}"


@server.tool()
async def write(ctx: Context) -> str:
    """Change the note, and tell who watches it."""
    global note
    note += 1
    await ctx.notify_resource_updated("note://today")
    await ctx.session.send_resource_updated("note://today")
    return f"note {note}"


@server.prompt()
async def greet(name: str) -> str:
    return f"Greet {name}."


if __name__ == "__main__":
    if sys.argv[1] == "http":
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    elif sys.argv[1] == "sse":
        server.run("sse", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")
