"""Registering tools, listing them, and calling them."""

from __future__ import annotations

import functools
import logging
import threading
from typing import Annotated, Any

import pytest

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import InvalidSignature, ToolError, UnexpectedToolError
from mcp.server.mcpserver.resolve.markers import Resolve
from mcp.server.mcpserver.server import MCPServer
from mcp.server.mcpserver.tools import Tool, ToolManager
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, Icon, TextContent, ToolAnnotations
from tests.mcpserver.wire import connect


def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


@pytest.mark.rule("TOOLS-11", "TOOLS-12", "OUT-4", "TOOLS-4")
async def test_a_listed_tool_shows_its_schemas() -> None:
    mcp = MCPServer("Lab")
    mcp.tool()(add)
    async with connect(mcp) as peer:
        listed = await peer.request("tools/list")
    assert listed == {
        "tools": [
            {
                "name": "add",
                "description": "Add.",
                "inputSchema": {
                    "type": "object",
                    "title": "addArguments",
                    "properties": {
                        "a": {"title": "A", "type": "integer"},
                        "b": {"default": 2, "title": "B", "type": "integer"},
                    },
                    "required": ["a"],
                },
                "outputSchema": {
                    "type": "object",
                    "title": "addOutput",
                    "properties": {"result": {"title": "Result", "type": "integer"}},
                    "required": ["result"],
                },
            }
        ]
    }


@pytest.mark.rule("TOOLS-4", "MEDIA-10")
async def test_a_listed_tool_shows_all_that_was_said_about_it() -> None:
    mcp = MCPServer("Lab")
    hints = ToolAnnotations(
        title="AT", read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    icons = [Icon(src="https://a/i.png", mime_type="image/png", sizes=["1x1"], theme="dark")]

    @mcp.tool("renamed", title="T", description="D", annotations=hints, icons=icons, meta={"k": 1})
    def f() -> None: ...

    async with connect(mcp) as peer:
        ((tool),) = (await peer.request("tools/list"))["tools"]
    assert tool["name"] == "renamed"
    assert tool["title"] == "T"
    assert tool["description"] == "D"
    assert tool["inputSchema"] == {"type": "object", "properties": {}, "title": "fArguments"}
    assert tool["annotations"] == {
        "title": "AT",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert tool["icons"] == [
        {"src": "https://a/i.png", "mimeType": "image/png", "sizes": ["1x1"], "theme": "dark"},
    ]
    assert tool["_meta"] == {"k": 1}


@pytest.mark.rule("TOOLS-4")
async def test_an_empty_meta_is_kept() -> None:
    mcp = MCPServer("Lab")
    mcp.add_tool(add, meta={})
    async with connect(mcp) as peer:
        assert (await peer.request("tools/list"))["tools"][0]["_meta"] == {}


@pytest.mark.rule("TOOLS-1", "TEST-15")
def test_the_decorator_returns_the_function() -> None:
    assert MCPServer("Lab").tool()(add) is add


@pytest.mark.rule("TOOLS-2")
def test_a_lambda_needs_a_name() -> None:
    mcp = MCPServer("Lab")
    with pytest.raises(ValueError, match=r"^You must provide a name for lambda functions$"):
        mcp.add_tool(lambda: 1)


@pytest.mark.rule("TOOLS-3", "TOOLS-D2")
async def test_descriptions_are_docstrings_without_their_indentation() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    def documented() -> None:
        """First line.

        Second
            indented.
        """

    @mcp.tool()
    def bare() -> None: ...

    first, second = await mcp.list_tools()
    assert first.description == "First line.\n\nSecond\n    indented."
    assert second.description == ""


@pytest.mark.rule("TOOLS-5", "TOOL-D-19")
def test_an_unusual_name_is_registered_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("Lab")
    mcp.add_tool(add, name="add numbers")
    record = caplog.records[0]
    assert record.name == "mcp.shared.tool_name_validation"
    assert record.getMessage() == 'Tool name validation warning for "add numbers":'


@pytest.mark.rule("TOOLS-6", "CASE-54", "TROUBLE-26", "TOOL-D-15")
async def test_of_two_tools_with_one_name_the_first_stays(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("Lab")
    mcp.add_tool(add, description="first")
    mcp.add_tool(add, description="second")
    (tool,) = await mcp.list_tools()
    assert tool.description == "first"
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("mcp.server.mcpserver.tools.tool_manager", logging.WARNING)
    assert record.getMessage() == "Tool already exists: add"


@pytest.mark.rule("TOOLS-6")
def test_the_warning_about_duplicates_can_be_silenced(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("Lab", warn_on_duplicate_tools=False, tools=[add, add])
    assert mcp.name == "Lab"
    assert not caplog.records


async def test_duplicates_can_be_errors_or_replace_what_was_there() -> None:
    strict = MCPServer("Lab", on_duplicate="error", tools=[add])
    with pytest.raises(ValueError, match=r"^Tool already exists: add$"):
        strict.add_tool(add)
    lenient = MCPServer("Lab", on_duplicate="replace", tools=[add])
    lenient.add_tool(add, description="second")
    assert [tool.description for tool in await lenient.list_tools()] == ["second"]


@pytest.mark.rule("TOOLS-7", "TOOLS-D4")
async def test_any_callable_with_a_name_can_be_a_tool() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        def method(self, by: int) -> int:
            self.count += by
            return self.count

        @staticmethod
        def static(x: int) -> int:
            return x

        @classmethod
        def of_class(cls, x: int) -> str:
            return f"{cls.__name__}{x}"

        async def __call__(self, x: int) -> int:
            """Call it."""
            return x * 2

    mcp = MCPServer("Lab")
    counter = Counter()
    mcp.add_tool(counter.method)
    mcp.add_tool(Counter.static)
    mcp.add_tool(Counter.of_class)
    mcp.add_tool(counter, name="object")
    mcp.add_tool(functools.partial(add, b=10), name="partial")
    async with connect(mcp) as peer:
        assert await peer.text("method", by=3) == "3"
        assert await peer.text("static", x=1) == "1"
        assert await peer.text("of_class", x=1) == "Counter1"
        assert await peer.text("object", x=4) == "8"
        assert await peer.text("partial", a=1) == "11"
        listed = {tool["name"]: tool["description"] for tool in (await peer.request("tools/list"))["tools"]}
    assert listed["object"] == "Call it."
    assert listed["partial"] == "Add."


@pytest.mark.rule("TOOLS-D4")
def test_a_callable_without_a_name_has_to_be_given_one() -> None:
    with pytest.raises(TypeError, match=r"^only functions can be registered, and other callables; got int$"):
        MCPServer("Lab").add_tool(5, name="five")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"^You must provide a name for partial objects$"):
        MCPServer("Lab").add_tool(functools.partial(add, b=1))


@pytest.mark.rule("TOOLS-8", "TOOLS-10", "CASE-72")
async def test_tools_come_and_go_while_clients_are_connected() -> None:
    mcp = MCPServer("Lab", tools=[add])

    async with connect(mcp) as peer:

        async def names() -> list[str]:
            return [tool["name"] for tool in (await peer.request("tools/list"))["tools"]]

        assert await names() == ["add"]
        mcp.add_tool(add, name="later")
        mcp.add_tool(add, name="another")
        assert await names() == ["add", "later", "another"]
        mcp.remove_tool("add")
        assert await names() == ["later", "another"]


async def test_changing_a_listing_does_not_change_the_next() -> None:
    mcp = MCPServer("Lab", tools=[add])
    async with connect(mcp) as peer:
        first = await peer.request("tools/list")
        first["tools"][0]["inputSchema"]["properties"].clear()
        assert (await peer.request("tools/list"))["tools"][0]["inputSchema"]["properties"]


@pytest.mark.rule("TOOLS-9")
def test_removing_an_unknown_tool_is_an_error() -> None:
    with pytest.raises(ToolError, match=r"^Unknown tool: nosuch$"):
        MCPServer("Lab").remove_tool("nosuch")


async def test_ready_made_tools_can_be_passed_in() -> None:
    mcp = MCPServer("Lab", tools=[Tool.from_function(add, name="plus"), add])
    assert [tool.name for tool in await mcp.list_tools()] == ["plus", "add"]


@pytest.mark.rule("TOOLS-24")
async def test_absent_arguments_are_no_arguments() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def f(x: int = 1) -> int:
        return x

    async with connect(mcp) as peer:
        assert (await peer.request("tools/call", {"name": "f"}))["structuredContent"] == {"result": 1}
        assert (await peer.request("tools/call", {"name": "f", "arguments": None}))["isError"] is False
        with pytest.raises(MCPError) as caught:
            await peer.request("tools/call", {"name": "f", "arguments": [1]})
    assert (caught.value.code, caught.value.message) == (INVALID_PARAMS, "Invalid request parameters")


@pytest.mark.rule("TOOLS-33", "CASE-14")
async def test_sync_functions_run_in_a_thread_and_async_ones_do_not() -> None:
    mcp = MCPServer("Lab")
    here = threading.get_ident()

    @mcp.tool()
    def in_thread() -> bool:
        return threading.get_ident() != here

    @mcp.tool()
    async def on_loop() -> bool:
        return threading.get_ident() == here

    async with connect(mcp) as peer:
        assert await peer.text("in_thread") == "true"
        assert await peer.text("on_loop") == "true"


@pytest.mark.rule("TOOLS-34")
async def test_the_items_of_a_sync_generator_become_one_array() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    def numbers():  # pyright: ignore[reportUnknownParameterType]
        yield 1
        yield 2

    async with connect(mcp) as peer:
        assert await peer.text("numbers") == "[\n  1,\n  2\n]"


async def test_a_lambda_around_an_async_function_is_awaited() -> None:
    async def inner() -> str:
        return "done"

    mcp = MCPServer("Lab")
    mcp.add_tool(lambda: inner(), name="outer")
    async with connect(mcp) as peer:
        assert await peer.text("outer") == "done"


@pytest.mark.rule("TOOLS-38", "ERR-1")
async def test_direct_calls_return_models_and_raise_failures() -> None:
    mcp = MCPServer("Lab", tools=[add])

    @mcp.tool()
    def boom() -> None:
        raise RuntimeError("dsn=secret")

    @mcp.tool()
    def refuse() -> None:
        raise MCPError(-32050, "quota used up", {"retryAfter": 30})

    result = await mcp.call_tool("add", {"a": 1})
    assert result == CallToolResult(content=[TextContent(type="text", text="3")], structured_content={"result": 3})
    with pytest.raises(ToolError, match=r"^Unknown tool: nosuch$"):
        await mcp.call_tool("nosuch", {})
    with pytest.raises(ToolError, match=r"^Error executing tool add: 1 validation error"):
        await mcp.call_tool("add", {})
    with pytest.raises(UnexpectedToolError, match=r"^Error executing tool boom$") as caught:
        await mcp.call_tool("boom", {})
    assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(MCPError, match=r"^quota used up$"):
        await mcp.call_tool("refuse", {})


async def test_a_tool_manager_keeps_and_calls_tools() -> None:
    manager = ToolManager(tools=[Tool.from_function(add)])
    assert manager.add_tool(add, name="plus").name == "plus"
    assert [tool.name for tool in manager.list_tools()] == ["add", "plus"]
    assert manager.get_tool("nosuch") is None
    assert await manager.call_tool("add", {"a": 1}, Context()) == 3
    assert isinstance(await manager.call_tool("plus", {"a": 1}, Context(), convert_result=True), CallToolResult)
    manager.remove_tool("plus")
    with pytest.raises(ToolError, match=r"^Unknown tool: plus$"):
        await manager.call_tool("plus", {}, Context())


def test_a_tool_tells_what_it_found_out() -> None:
    def f(x: int, context: Context[Any, Any]) -> None: ...

    tool = Tool.from_function(f)
    assert (tool.name, tool.is_async, tool.context_kwarg) == ("f", False, "context")
    assert list(tool.parameters["properties"]) == ["x"]
    assert tool.output_schema is not None
    assert (tool.resolved_params, tool.resolver_plans) == ({}, {})


def find_user() -> str:
    return "Ann"


def find_cart(user: Annotated[str, Resolve(find_user)]) -> str:
    return f"cart of {user}"


def pay(amount: int, cart: Annotated[str, Resolve(find_cart)]) -> None: ...


def test_a_tool_tells_who_fills_the_parameters_that_clients_do_not() -> None:
    tool = Tool.from_function(pay)
    assert list(tool.resolver_plans.values()) == [find_user, find_cart]
    assert {name: tool.resolver_plans[key] for name, key in tool.resolved_params.items()} == {"cart": find_cart}
    assert not {"resolved_params", "resolver_plans"} & tool.model_dump().keys()


@pytest.mark.rule("TOOLS-18", "TOOLS-19", "TOOLS-D3")
def test_functions_that_cannot_be_called_by_name_are_refused() -> None:
    mcp = MCPServer("Lab")

    def two(a: Context, b: Context) -> None: ...
    def collecting(*args: int) -> None: ...
    def positional(x: int, /) -> None: ...

    with pytest.raises(InvalidSignature, match="'two' has more than one Context parameter: 'a' and 'b'"):
        mcp.add_tool(two)
    with pytest.raises(InvalidSignature, match="'args' of 'collecting' collects positional arguments"):
        mcp.add_tool(collecting)
    with pytest.raises(InvalidSignature, match="'x' of 'positional' is positional-only"):
        mcp.add_tool(positional)
