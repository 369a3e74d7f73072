"""The decorators, with and without parentheses, for people and for type checkers."""

from __future__ import annotations

import math
from typing import Any

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


def echo(a: str) -> str:
    return a


@pytest.mark.parametrize(
    ("member", "value", "expected"),
    [
        ("title", 3, "a string, got int"),
        ("description", ["a"], "a string, got list"),
        ("icons", "a.png", "a list of icons, got str"),
        ("icons", ["a.png"], "Icon, got str"),
        ("annotations", 3, "(Tool)?Annotations, got int"),
        ("meta", [1], "a dict, got list"),
    ],
)
def test_what_a_listing_could_not_show_is_refused_at_registration(member: str, value: Any, expected: str) -> None:
    mcp = MCPServer("Lab")
    said: Any = {member: value}
    with pytest.raises(TypeError, match=f"^{member} of tool 'say' must be {expected}$"):
        mcp.tool("say", **said)(lambda: "")
    with pytest.raises(TypeError, match=f"^{member} of resource template 'x://{{a}}' must be {expected}$"):
        mcp.resource("x://{a}", name="say", **said)(echo)
    with pytest.raises((TypeError, ValueError), match=member):
        mcp.resource("x://y", name="say", **said)(lambda: "")
    if member not in ("annotations", "meta"):
        with pytest.raises(TypeError, match=f"^{member} of prompt 'say' must be {expected}$"):
            mcp.prompt("say", **said)(lambda: "")


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"name": "caf\udce9"}, "name of {} is no Unicode text"),
        ({"title": "caf\udce9"}, "title of {} is no Unicode text"),
        ({"description": "caf\udce9"}, "description of {} is no Unicode text"),
        ({"meta": {"a": "\ud800"}}, "meta of {} cannot be expressed as JSON"),
        ({"meta": {"a": object()}}, "meta of {} cannot be expressed as JSON"),
        ({"meta": {"a": [math.nan]}}, "meta of {} cannot be expressed as JSON: NaN is not a finite number"),
        ({"meta": {1: 2}}, "a key in meta of {} must be a string, got int"),
    ],
)
async def test_what_would_break_a_list_is_refused_when_it_is_registered(said: dict[str, Any], problem: str) -> None:
    mcp = MCPServer("Lab")
    named: dict[str, Any] = {"name": "say", **said}
    refused = (TypeError, ValueError)
    with pytest.raises(refused, match=f"^{problem.format('tool .*')}"):
        mcp.tool(**named)(echo)
    with pytest.raises(refused, match=f"^{problem.format('resource template .*')}"):
        mcp.resource("x://{a}", **named)(echo)
    if "meta" in said:
        with pytest.raises(refused, match=f"^{problem.format('resource .*')}"):
            mcp.resource("x://y", **named)(lambda: "")
    else:
        with pytest.raises(refused, match=f"^{problem.format('prompt .*')}"):
            mcp.prompt(**named)(lambda: "")
    assert await mcp.list_tools() == []


def test_a_name_that_is_no_text_is_refused() -> None:
    name: Any = 3
    for decorate in (MCPServer("Lab").tool, MCPServer("Lab").prompt):
        with pytest.raises(TypeError, match=r"^a name must be a string, got int$"):
            decorate(name=name)(lambda: "")
    with pytest.raises(TypeError, match=r"^visible must be a function of \(ctx, item\), got int$"):
        MCPServer("Lab", visible=name)


async def test_icons_and_annotations_may_be_written_as_dicts() -> None:
    mcp = MCPServer("Lab")
    hints: Any = {"readOnlyHint": True}
    priority: Any = {"priority": 1}
    icons: Any = [{"src": "a.png"}]
    mcp.tool("say", annotations=hints, icons=icons)(lambda: "")
    mcp.resource("x://{a}", name="say", annotations=priority, icons=icons)(echo)
    (tool,) = await mcp.list_tools()
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is True
    assert tool.icons is not None
    assert tool.icons[0].src == "a.png"
    (template,) = await mcp.list_resource_templates()
    assert template.annotations is not None
    assert template.annotations.priority == 1
