"""What can be said about a tool besides its function: strict arguments, no text copy, a timeout."""

from __future__ import annotations

import dataclasses
import logging
import threading
from typing import Annotated, Any

import anyio
import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeAliasType, TypedDict

from mcp.client import Client
from mcp.server.mcpserver import Elicit, Resolve
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import InvalidSignature, ToolError, ToolTimeoutError
from mcp.server.mcpserver.server import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent
from tests.mcpserver.wire import connect


class Point(BaseModel):
    x: int
    y: float = 0


@dataclasses.dataclass
class Row:
    name: str


Nested = TypeAliasType("Nested", "list[Nested]")


class Large(BaseModel):
    text: str


class Amount(BaseModel):
    amount: int


async def ask() -> Elicit[Amount]:
    return Elicit("How many?", Amount)


def read(topic: str = "") -> str:
    return f"read {topic!r}"


def write(topic: Annotated[str, Field(alias="about", max_length=5)], point: Point) -> str:
    return f"{topic} at {point.x}"


def nothing() -> str:
    return ""


# Strict arguments


@pytest.mark.rule("CASE-16", "TOOLS-26")
async def test_unknown_arguments_are_ignored_by_default() -> None:
    mcp = MCPServer("Lab", tools=[read])
    async with connect(mcp) as peer:
        (tool,) = (await peer.request("tools/list"))["tools"]
        assert "additionalProperties" not in tool["inputSchema"]
        assert await peer.text("read", path="x") == "read ''"


@pytest.mark.rule("CASE-16")
async def test_a_strict_server_refuses_unknown_arguments_and_says_so_in_its_schemas() -> None:
    mcp = MCPServer("Lab", tools=[read, write, nothing], strict_arguments=True)
    async with connect(mcp) as peer:
        for tool in (await peer.request("tools/list"))["tools"]:
            assert tool["inputSchema"]["additionalProperties"] is False
        for name, arguments, text in [
            (
                "read",
                {"path": "x"},
                "1 validation error for readArguments\npath\n  Unknown argument; known are 'topic'",
            ),
            (
                "write",
                {"about": "a", "topic": "b", "point": {"x": 1}},
                "1 validation error for writeArguments\ntopic\n  Unknown argument; known are 'about', 'point'",
            ),
            ("nothing", {"a": 1}, "1 validation error for nothingArguments\na\n  Unknown argument; there are none"),
        ]:
            result = await peer.call(name, **arguments)
            assert result["isError"] is True
            assert result["content"][0]["text"] == f"Error executing tool {name}: {text}"
        assert await peer.text("read", topic="x") == "read 'x'"
        assert await peer.text("write", about="a", point='{"x": 1}') == "a at 1"
        assert await peer.text("nothing") == ""


@pytest.mark.rule("CASE-16")
async def test_a_tools_own_strictness_wins() -> None:
    strict = MCPServer("Lab", strict_arguments=True)
    strict.add_tool(read, strict_arguments=False)
    lenient = MCPServer("Lab", tools=[Tool.from_function(read, name="ready", strict_arguments=True)])
    lenient.tool(strict_arguments=True)(read)
    async with connect(strict) as peer:
        assert await peer.text("read", path="x") == "read ''"
    async with connect(lenient) as peer:
        for name in ("ready", "read"):
            assert "Unknown argument" in await peer.text(name, path="x")


class Options(TypedDict):
    loud: bool


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


def mix(point: Point, row: Row, options: Options, closed: Closed | None = None) -> str:
    return repr((point.x, row, options))


@pytest.mark.rule("CASE-16")
async def test_only_the_tools_own_arguments_are_strict() -> None:
    mcp = MCPServer("Lab", tools=[mix], strict_arguments=True)
    members = {"point": {"x": 1, "z": 2}, "row": {"name": "a", "z": 2}, "options": {"loud": True, "z": 2}}
    async with connect(mcp) as peer:
        (tool,) = (await peer.request("tools/list"))["tools"]
        assert {name for name, it in tool["inputSchema"]["$defs"].items() if "additionalProperties" in it} == {"Closed"}
        assert await peer.text("mix", **members) == "(1, Row(name='a'), {'loud': True})"
        assert "z\n  Unknown argument; known are 'point'" in await peer.text("mix", **members, z=2)
        assert "closed.z\n  Extra inputs are not permitted" in await peer.text("mix", **members, closed={"z": 2})


async def test_a_type_that_contains_itself_can_be_a_strict_tools_argument() -> None:
    def count(tree: Nested) -> int:
        return len(tree)

    async with connect(MCPServer("Lab", tools=[count], strict_arguments=True)) as peer:
        assert await peer.text("count", tree=[[], [[]]]) == "2"
        assert "Unknown argument" in await peer.text("count", tree=[], z=1)


# Structured output without its copy


@pytest.mark.rule("CASE-71")
@pytest.mark.parametrize(
    ("annotation", "value", "structured"),
    [
        (int, 5, {"result": 5}),
        (Point, Point(x=1), {"x": 1, "y": 0.0}),
        (Row, Row("a"), {"name": "a"}),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (list[str], ["a"], {"result": ["a"]}),
        (str | None, None, {"result": None}),
    ],
)
async def test_the_text_copy_can_be_left_out(annotation: Any, value: Any, structured: Any) -> None:
    def f() -> Any:
        return value

    f.__annotations__["return"] = annotation
    mcp = MCPServer("Lab")
    mcp.tool(text_copy=False)(f)
    async with connect(mcp) as peer:
        assert await peer.call("f") == {"content": [], "structuredContent": structured, "isError": False}
        (tool,) = (await peer.request("tools/list"))["tools"]
        assert tool["outputSchema"]["type"] == "object"


@pytest.mark.rule("CASE-71")
async def test_a_large_result_crosses_once() -> None:
    def f() -> Large:
        return Large(text="x" * 1_000_000)

    mcp = MCPServer("Lab")
    mcp.add_tool(f, "twice")
    mcp.add_tool(f, "once", text_copy=False)
    async with connect(mcp) as peer:
        assert len(str(await peer.call("twice"))) > 2_000_000
        assert len(str(await peer.call("once"))) < 1_001_000


async def test_errors_and_hand_built_results_keep_their_text() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool(text_copy=False)
    def f(kind: str) -> int:
        if kind == "error":
            raise ToolError("no")
        return CallToolResult(content=[TextContent(type="text", text="5")], structured_content={"result": 5})  # pyright: ignore[reportReturnType]

    async with connect(mcp) as peer:
        assert await peer.text("f", kind="error") == "Error executing tool f: no"
        assert await peer.text("f", kind="built") == "5"


async def test_a_coroutine_in_place_of_data_is_called_by_its_name() -> None:
    mcp = MCPServer("Lab")

    async def later() -> int:
        return 1

    @mcp.tool(text_copy=False)
    async def forgotten() -> int:
        return later()  # pyright: ignore[reportReturnType]

    async with connect(mcp) as peer:
        assert "an 'await' is missing" in await peer.text("forgotten")


@pytest.mark.parametrize("structured_output", [None, False])
def test_a_tool_without_structured_output_cannot_leave_the_text_out(structured_output: bool | None) -> None:
    def f() -> Any: ...

    with pytest.raises(InvalidSignature, match=r"^Function f: text_copy=False leaves nothing to send"):
        MCPServer("Lab").add_tool(f, structured_output=structured_output, text_copy=False)


# Timeouts


async def test_an_async_tool_is_cancelled_when_its_time_is_up(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("Lab")
    cancelled: list[str] = []

    @mcp.tool(timeout=0.05)
    async def slow() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append("slow")

    caplog.set_level(logging.INFO)
    async with connect(mcp) as peer:
        result = await peer.call("slow")
    assert result["isError"] is True
    assert result["content"][0]["text"] == "Error executing tool slow: it did not finish within 0.05 seconds"
    assert cancelled == ["slow"]
    (record,) = [record for record in caplog.records if record.name == "mcp.server.mcpserver.server"]
    assert (record.levelno, record.exc_info) == (logging.WARNING, None)


async def test_a_sync_tool_is_answered_for_on_time_and_goes_on_in_its_thread() -> None:
    mcp = MCPServer("Lab")
    go_on, ended = threading.Event(), threading.Event()

    @mcp.tool(timeout=0.05)
    def slow(ctx: Context) -> str:
        go_on.wait(5)
        ended.set()
        return ctx.request_id

    async with connect(mcp) as peer:
        assert "did not finish within 0.05 seconds" in await peer.text("slow")
        assert not ended.is_set()
        go_on.set()
        assert await anyio.to_thread.run_sync(ended.wait, 5)


async def test_a_tool_that_is_in_time_notices_nothing() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool(timeout=30)
    async def quick(a: int, ctx: Context) -> int:
        return a

    @mcp.tool(timeout=30)
    async def fails() -> int:
        raise TimeoutError("another one")

    async with connect(mcp) as peer:
        assert await peer.text("quick", a=1) == "1"
        assert await peer.text("fails") == "Error executing tool fails"  # its own, and no business of the client's
    with pytest.raises(ToolTimeoutError):
        await slow_server().call_tool("slow", {})


def slow_server() -> MCPServer[Any]:
    mcp = MCPServer("Lab")

    @mcp.tool(timeout=0.01)
    async def slow() -> None:
        await anyio.sleep_forever()

    return mcp


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_time_in_which_the_user_answers_does_not_count(mode: Any) -> None:
    mcp = MCPServer("Lab")

    @mcp.tool(timeout=0.2)
    async def order(amount: Annotated[Amount, Resolve(ask)]) -> int:
        return amount.amount

    async def think(context: Any, params: ElicitRequestParams) -> ElicitResult:
        with anyio.move_on_after(0.3):
            await anyio.Event().wait()
        return ElicitResult(action="accept", content={"amount": 3})

    async with Client(mcp, mode=mode, elicitation_callback=think) as client:
        result = await client.call_tool("order", {})
    assert result.structured_content == {"result": 3}


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
def test_a_timeout_must_be_a_time(timeout: float) -> None:
    with pytest.raises(ValueError, match=r"^timeout of tool 'read' must be a positive number of seconds"):
        MCPServer("Lab").add_tool(read, timeout=timeout)
