"""How many sync functions of a server run at a time."""

import threading
from collections.abc import Callable
from typing import Annotated, Any

import anyio
import pytest
from anyio import from_thread

from mcp.server.mcpserver import Resolve
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.server import MCPServer
from tests.mcpserver.wire import connect


class Crowd:
    """Counts who is inside. Whoever comes in stays until the door opens.

    Attributes:
        most: How many were inside at a time.
    """

    def __init__(self) -> None:
        self.inside = self.most = 0
        self.door = threading.Event()
        self._lock = threading.Lock()

    def visit(self) -> None:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        assert self.door.wait(5)
        with self._lock:
            self.inside -= 1


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        while not condition():
            await anyio.lowlevel.checkpoint()


def crowded_server(crowd: Crowd, **settings: Any) -> MCPServer[Any]:
    mcp = MCPServer("Lab", **settings)

    def resolver() -> int:
        crowd.visit()
        return 1

    @mcp.tool
    def tool() -> None:
        crowd.visit()

    @mcp.tool
    async def resolved(value: Annotated[int, Resolve(resolver)]) -> int:
        return value

    @mcp.prompt
    def prompt() -> str:
        crowd.visit()
        return ""

    @mcp.resource("x://static")
    def static() -> str:
        crowd.visit()
        return ""

    @mcp.resource("x://t/{name}")
    def template(name: str) -> str:
        crowd.visit()
        return name

    @mcp.completion()
    def complete(ref: Any, argument: Any, context: Any) -> None:
        crowd.visit()

    @mcp.tool
    async def free() -> int:
        return 1

    return mcp


REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("tools/call", {"name": "tool"}),
    ("tools/call", {"name": "resolved"}),
    ("prompts/get", {"name": "prompt"}),
    ("resources/read", {"uri": "x://static"}),
    ("resources/read", {"uri": "x://t/a"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "prompt"}, "argument": {"name": "a", "value": ""}}),
]


@pytest.mark.rule("CASE-14", "TOOLS-33")
@pytest.mark.parametrize("limit", [1, 2, 50])
async def test_all_sync_functions_of_a_server_share_its_threads(limit: int) -> None:
    crowd = Crowd()
    requests = REQUESTS * (1 if limit < 50 else 8)
    async with connect(crowded_server(crowd, max_sync_threads=limit)) as peer, anyio.create_task_group() as group:
        for method, params in requests:
            group.start_soon(peer.request, method, params)
        await until(lambda: crowd.inside == min(limit, len(requests)))
        assert await peer.text("free") == "1"  # the event loop and async functions go on
        crowd.door.set()
    assert (crowd.most, crowd.inside) == (min(limit, len(requests)), 0)


async def test_a_call_that_was_given_up_counts_until_its_thread_ends() -> None:
    crowd = Crowd()
    mcp = MCPServer("Lab", max_sync_threads=1)
    mcp.add_tool(crowd.visit, "given_up", timeout=0.05)
    mcp.add_tool(crowd.visit, "next")
    async with connect(mcp) as peer:
        assert "did not finish within" in await peer.text("given_up")
        async with anyio.create_task_group() as group:
            group.start_soon(peer.text, "given_up")  # times out while it waits for the thread
            await until(lambda: crowd.inside == 1)
        assert crowd.most == 1
        async with anyio.create_task_group() as group:
            group.start_soon(peer.call, "next")
            crowd.door.set()
    assert (crowd.most, crowd.inside) == (1, 0)


async def test_a_function_that_calls_the_server_again_does_not_wait_for_itself() -> None:
    mcp = MCPServer("Lab", max_sync_threads=1)

    @mcp.tool
    def inner() -> int:
        return 1

    @mcp.tool
    def outer(ctx: Context) -> str:
        return str(from_thread.run(ctx.mcp_server.call_tool, "inner", dict[str, Any]()))

    async with connect(mcp) as peer:
        assert "structured_content={'result': 1}" in await peer.text("outer")


async def test_the_bound_holds_in_each_event_loop_the_server_runs_in() -> None:
    mcp = crowded_server(crowd := Crowd(), max_sync_threads=1)
    crowd.door.set()

    async def call() -> None:
        async with connect(mcp) as peer:
            await peer.call("tool")

    await call()
    await anyio.to_thread.run_sync(anyio.run, call)
    await call()
    assert crowd.most == 1


@pytest.mark.parametrize("limit", [0, -1])
def test_the_bound_must_allow_something(limit: int) -> None:
    with pytest.raises(ValueError, match=f"^max_sync_threads must be a positive number or None, got {limit}$"):
        MCPServer("Lab", max_sync_threads=limit)
