"""The decorators, with and without parentheses, for people and for type checkers."""

from __future__ import annotations

import pytest
from typing_extensions import assert_type

from mcp.server.mcpserver.server import MCPServer
from tests.mcpserver.wire import connect


@pytest.mark.rule("TOOLS-1", "CASE-90")
async def test_a_tool_needs_no_parentheses() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool
    def bare(a: int) -> int:
        """Bare."""
        return a

    @mcp.tool()
    def called(a: int) -> int:
        return a

    @mcp.tool("named", title="T")
    async def with_arguments(a: int) -> str:
        return str(a)

    def function(a: int, b: str = "") -> list[str]:
        return [b] * a

    assert mcp.tool(function) is function
    # What type checkers see is the function as it was written: pyright reads this file.
    assert_type(bare(1), int)
    assert_type(called(1), int)
    assert_type(await with_arguments(a=1), str)
    assert_type(mcp.tool(function)(a=0, b=""), list[str])

    async with connect(mcp) as peer:
        listed = (await peer.request("tools/list"))["tools"]
        assert [tool["name"] for tool in listed] == ["bare", "called", "named", "function"]
        assert (listed[0]["description"], listed[2]["title"]) == ("Bare.", "T")
        assert await peer.text("bare", a=5) == "5"


@pytest.mark.rule("PROMPT-1", "CASE-90")
async def test_a_prompt_needs_no_parentheses() -> None:
    mcp = MCPServer("Lab")

    @mcp.prompt
    def bare(topic: str) -> str:
        return topic

    @mcp.prompt()
    async def called() -> list[str]:
        return []

    @mcp.prompt("named")
    def with_arguments(topic: str) -> str:
        return topic

    assert mcp.prompt(bare) is bare
    assert_type(bare("x"), str)
    assert_type(await called(), list[str])
    assert_type(with_arguments("x"), str)
    assert [prompt.name for prompt in await mcp.list_prompts()] == ["bare", "called", "named"]


@pytest.mark.rule("CASE-90")
async def test_a_resource_keeps_its_type() -> None:
    mcp = MCPServer("Lab")

    @mcp.resource("x://one")
    def one() -> bytes:
        return b"1"

    @mcp.resource("x://{name}")
    async def many(name: str) -> str:
        return name

    assert_type(one(), bytes)
    assert_type(await many(name="x"), str)


@pytest.mark.rule("CASE-90")
async def test_methods_and_lambdas_follow_the_same_rules() -> None:
    mcp = MCPServer("Lab")

    class Counter:
        def next(self, step: int = 1) -> int:
            return step + 1

    assert_type(mcp.tool(Counter().next)(2), int)
    with pytest.raises(ValueError, match=r"^You must provide a name for lambda functions$"):
        mcp.tool(lambda: 1)
    assert await mcp.call_tool("next", {}) is not None
