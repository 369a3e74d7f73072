"""Each verb of the client against a server, over every way between them."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND
from tests.interaction.transports import Connector


class Weather(BaseModel):
    city: str
    degrees: float
    tags: list[str] = []


def text_of(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def make_server() -> MCPServer:
    mcp = MCPServer("verbs", title="Verbs", instructions="Use them.", version="3")

    @mcp.tool()
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    @mcp.tool()
    async def weather(city: str) -> Weather:
        return Weather(city=city, degrees=21.5, tags=["dry"])

    @mcp.tool()
    async def several() -> list[types.ContentBlock]:
        link = types.ResourceLink(type="resource_link", uri="x://1", name="one")
        return [types.TextContent(type="text", text="a"), link]

    @mcp.tool()
    async def refuse(reason: str) -> str:
        raise ToolError(reason)

    @mcp.tool()
    async def protest() -> str:
        raise MCPError(-32050, "not today", {"until": ["tomorrow", None, 1.5]})

    @mcp.tool()
    async def crash() -> str:
        raise RuntimeError("password=hunter2")

    @mcp.prompt()
    def brief(topic: str, tone: str = "dry") -> list[Any]:
        """Brief somebody."""
        return [f"About {topic}, {tone}."]

    @mcp.resource("config://main", mime_type="application/json")
    def config() -> dict[str, int]:
        return {"size": 3}

    @mcp.resource("blob://{name}", mime_type="application/octet-stream")
    def blob(name: str) -> bytes:
        return name.encode() + b"\x00\xff"

    return mcp


@pytest.mark.modern
@pytest.mark.rule("MRTR-12")
async def test_the_newest_version_is_spoken_and_the_server_known(connect: Connector) -> None:
    with anyio.fail_after(10):
        async with connect(make_server()) as client:
            assert client.protocol_version == "2026-07-28"
            assert client.instructions == "Use them."
            assert client.server_info == types.Implementation(name="verbs", title="Verbs", version="3")
            capabilities = client.server_capabilities
            assert (capabilities.tools, capabilities.prompts, capabilities.resources) != (None, None, None)


async def test_listings(connect: Connector) -> None:
    with anyio.fail_after(10):
        async with connect(make_server()) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            [prompt] = (await client.list_prompts()).prompts
            [resource] = (await client.list_resources()).resources
            [template] = (await client.list_resource_templates()).resource_templates
    assert list(tools) == ["add", "weather", "several", "refuse", "protest", "crash"]
    assert tools["add"].description == "Add two numbers."
    assert tools["add"].input_schema["required"] == ["a"]
    assert tools["weather"].output_schema is not None
    assert [(argument.name, argument.required) for argument in prompt.arguments or []] == [
        ("topic", True),
        ("tone", False),
    ]
    assert (resource.uri, resource.mime_type) == ("config://main", "application/json")
    assert template.uri_template == "blob://{name}"


@pytest.mark.rule("TR-03")
async def test_calls_and_structured_output(connect: Connector) -> None:
    with anyio.fail_after(10):
        async with connect(make_server()) as client:
            added = await client.call_tool("add", {"a": 2, "b": 40})
            defaulted = await client.call_tool("add", {"a": 2})
            weather = await client.call_tool("weather", {"city": "Oslo"})
            several = await client.call_tool("several")
    assert (text_of(added), added.structured_content) == ("42", {"result": 42})
    assert defaulted.structured_content == {"result": 3}
    assert weather.structured_content == {"city": "Oslo", "degrees": 21.5, "tags": ["dry"]}
    assert [block.type for block in several.content] == ["text", "resource_link"]
    assert not any(result.is_error for result in (added, defaulted, weather, several))


async def test_prompts_and_resources(connect: Connector) -> None:
    with anyio.fail_after(10):
        async with connect(make_server()) as client:
            prompt = await client.get_prompt("brief", {"topic": "tea"})
            config = await client.read_resource("config://main")
            blob = await client.read_resource("blob://a")
    [message] = prompt.messages
    assert message == types.PromptMessage(role="user", content=types.TextContent(type="text", text="About tea, dry."))
    [text] = config.contents
    assert isinstance(text, types.TextResourceContents)
    assert (text.uri, text.mime_type, text.text.replace(" ", "").replace("\n", "")) == (
        "config://main",
        "application/json",
        '{"size":3}',
    )
    [data] = blob.contents
    assert isinstance(data, types.BlobResourceContents)
    assert (data.uri, data.blob) == ("blob://a", "YQD/")


async def test_completion(connect: Connector) -> None:
    async def complete(ctx: ServerRequestContext, params: types.CompleteRequestParams) -> types.CompleteResult:
        assert isinstance(params.ref, types.PromptReference)
        known = [] if params.context is None else list((params.context.arguments or {}).values())
        values = [params.ref.name, params.argument.name, params.argument.value, *known]
        return types.CompleteResult(completion=types.Completion(values=values, total=10, has_more=True))

    with anyio.fail_after(10):
        async with connect(Server("low", on_completion=complete)) as client:
            assert client.server_capabilities.completions is not None
            ref = types.PromptReference(type="ref/prompt", name="p")
            result = await client.complete(ref, {"name": "a", "value": "é"}, {"b": "2"})
    assert result.completion == types.Completion(values=["p", "a", "é", "2"], total=10, has_more=True)


async def test_tool_errors_are_results(connect: Connector) -> None:
    with anyio.fail_after(10):
        async with connect(make_server()) as client:
            refused = await client.call_tool("refuse", {"reason": "no milk"})
            crashed = await client.call_tool("crash")
            unfit = await client.call_tool("add", {"a": "one"})
    assert (refused.is_error, text_of(refused)) == (True, "Error executing tool refuse: no milk")
    assert crashed.is_error
    assert "hunter2" not in text_of(crashed)
    assert unfit.is_error
    assert "a" in text_of(unfit)


async def test_protocol_errors_keep_code_message_and_data(connect: Connector) -> None:
    with anyio.fail_after(10):
        async with connect(make_server()) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("protest")
    assert (caught.value.code, caught.value.message, caught.value.data) == (
        -32050,
        "not today",
        {"until": ["tomorrow", None, 1.5]},
    )


@pytest.mark.rule("SERR-22")
@pytest.mark.rule(
    "LEG-F-02", "VER-C-15", "SERR-04", "SERR-05", "SERR-18", "SERR-20", "SERR-21", "BASE-E-07", "BASE-E-08"
)
async def test_unknown_names_are_named(connect: Connector) -> None:
    errors: list[MCPError] = []
    with anyio.fail_after(10):
        async with connect(make_server()) as client:
            for ask in (
                lambda: client.call_tool("nothing"),
                lambda: client.get_prompt("nothing"),
                lambda: client.read_resource("nothing://here"),
                lambda: client.complete(types.PromptReference(type="ref/prompt", name="x"), {"name": "a", "value": ""}),
            ):
                with pytest.raises(MCPError) as caught:
                    await ask()
                errors.append(caught.value)
    not_found = -32002 if connect.way == "legacy" else INVALID_PARAMS
    assert [error.code for error in errors] == [INVALID_PARAMS, INVALID_PARAMS, not_found, METHOD_NOT_FOUND]
    assert all("nothing" in error.message for error in errors[:3])
    assert errors[3].data == "completion/complete"


@pytest.mark.rule("PROGRESS-8", "PROG-01", "PROG-02", "PROG-03")
async def test_progress_comes_in_order_and_before_the_result(connect: Connector) -> None:
    mcp = MCPServer("p")
    heard: list[tuple[float, float | None, str | None]] = []

    @mcp.tool()
    async def work(ctx: Context) -> str:
        for step in range(1, 21):
            await ctx.report_progress(step, 20, f"step {step}")
        return "done"

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        await anyio.lowlevel.checkpoint()
        heard.append((progress, total, message))

    with anyio.fail_after(10):
        async with connect(mcp) as client:
            assert text_of(await client.call_tool("work", progress_callback=listen)) == "done"
            assert heard == [(step, 20, f"step {step}") for step in range(1, 21)]
            heard.clear()
            await client.call_tool("work")
            assert heard == []


@pytest.mark.modern
@pytest.mark.parametrize("level", ["debug", "warning", None])
async def test_log_messages_come_from_the_level_that_was_asked_for(
    connect: Connector, level: types.LoggingLevel | None
) -> None:
    async def call_tool(ctx: ServerRequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        for said in ("debug", "info", "warning", "critical"):
            await ctx.session.log(said, {"said": [said, None]}, logger="kitchen")
        return types.CallToolResult(content=[])

    heard: list[tuple[str, Any, str | None]] = []

    async def listen(params: types.LoggingMessageNotificationParams) -> None:
        heard.append((params.level, params.data, params.logger))

    server = Server("logs", on_call_tool=call_tool)
    with anyio.fail_after(10):
        if level is None:
            async with connect(server, logging_callback=listen) as client:
                await client.call_tool("t")
        else:
            async with connect(server, logging_callback=listen, log_level=level) as client:
                await client.call_tool("t")
    expected = {"debug": ["debug", "info", "warning", "critical"], "warning": ["warning", "critical"], None: []}[level]
    assert heard == [(said, {"said": [said, None]}, "kitchen") for said in expected]


async def test_metadata_travels_both_ways(connect: Connector) -> None:
    seen: list[dict[str, Any]] = []

    async def call_tool(ctx: ServerRequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        seen.append({key: value for key, value in dict(ctx.meta or {}).items() if not key.startswith("io.model")})
        return types.CallToolResult(content=[], _meta={"com.example/trace": {"spans": [1, None, "ü"]}})

    with anyio.fail_after(10):
        async with connect(Server("meta", on_call_tool=call_tool)) as client:
            result = await client.call_tool("t", meta={"com.example/a": {"b": [True, "ß"]}})  # pyright: ignore[reportArgumentType]
    assert seen == [{"com.example/a": {"b": [True, "ß"]}}]
    assert result.meta is not None
    assert result.meta["com.example/trace"] == {"spans": [1, None, "ü"]}
