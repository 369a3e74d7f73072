"""Large and odd values reach the other side as they are."""

from __future__ import annotations

from datetime import date
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp.client.client import Client
from mcp.server import Server, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.interaction.transports import Connector
from tests.server.http.serving import serving


def nested(depth: int) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = [{"in": value}]
    return value


PAYLOADS: dict[str, Any] = {
    "unicode": {"é": "日本語 🎼 \u2028\u2029 \ufeff", "\U0001f600": "e\u0301 ≠ é"},
    "controls": "\x00\x01\b\f\n\r\t\x1f\x7f\x85",
    "quotes": '"\\/</script>',
    "lone surrogates": {"high": "a\ud800b", "low": "\udc00", "swapped": "\udc00\ud800"},
    "lone surrogates in keys": {"\udfff": {"\ud800\ud800": ["\udc00"]}},
    "empty": {"": "", "list": [], "object": {}, "null": None},
    "deep": nested(80),
    "integers": [0, -1, 2**31, 2**53 + 1, -(2**63), 2**64, 10**40],
    "floats": [0.1, -0.0, 1e308, 5e-324, 1.0, 123456789.123456789],
    "booleans": [True, False, 1, 0],
    "looks like something": ["NaN", "-Infinity", "$ref", "data: x\n\n", "event: message\r\n"],
    "names of python": {"self": 1, "class": 2, "__proto__": {"__class__": 3}},
    "a megabyte": "ü💡x" * 150_000,
    "many": [{"n": n, "text": str(n)} for n in range(5_000)],
}


async def echo(ctx: ServerRequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
    assert params.arguments is not None
    value = params.arguments["value"]
    text = value if isinstance(value, str) else "no text"
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content={"value": value, "kind": type(value).__name__},
    )


async def list_tools(ctx: ServerRequestContext, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema={"type": "object"})])


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_a_value_comes_back_as_it_went(connect: Connector, payload: str) -> None:
    value = PAYLOADS[payload]
    with anyio.fail_after(20):
        async with connect(Server("echo", on_call_tool=echo, on_list_tools=list_tools)) as client:
            result = await client.call_tool("echo", {"value": value})
    assert result.structured_content == {"value": value, "kind": type(value).__name__}
    assert repr(result.structured_content["value"]) == repr(value)
    if isinstance(value, str):
        assert result.content == [types.TextContent(type="text", text=value)]


@pytest.mark.parametrize("payload", sorted(PAYLOADS.keys() - {"lone surrogates in keys"}))
async def test_a_function_gets_and_returns_any_value(connect: Connector, payload: str) -> None:
    value = PAYLOADS[payload]
    mcp = MCPServer("echo")

    @mcp.tool(name="echo")
    async def echo_value(value: Any) -> dict[str, Any]:
        return {"value": value, "kind": type(value).__name__}

    with anyio.fail_after(20):
        async with connect(mcp) as client:
            result = await client.call_tool("echo", {"value": value})
    assert not result.is_error, result.content
    assert repr(result.structured_content) == repr({"value": value, "kind": type(value).__name__})


async def test_names_and_uris_of_any_text_reach_their_handlers(connect: Connector) -> None:
    seen: list[str] = []

    async def call_tool(ctx: ServerRequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        seen.append(params.name)
        return types.CallToolResult(content=[], is_error=True)

    async def read(ctx: ServerRequestContext, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        seen.append(params.uri)
        return types.ReadResourceResult(contents=[])

    names = ["plain", "ünï", " around ", "=?base64?eA==?=", "a/b:c", "日本"]
    uris = ["x://a?b=c#d", "urn:isbn:0", "x://é/ü", "file:///a%20b"]
    with anyio.fail_after(10):
        async with connect(Server("names", on_call_tool=call_tool, on_read_resource=read)) as client:
            for name in names:
                await client.call_tool(name)
            for uri in uris:
                await client.read_resource(uri)
    assert seen == [*names, *uris]


async def test_errors_carry_odd_text_and_data(connect: Connector) -> None:
    mcp = MCPServer("errors")

    @mcp.tool()
    async def fail() -> None:
        raise MCPError(-32099, "é\ud800\n\x00", PAYLOADS["lone surrogates"])

    with anyio.fail_after(10):
        async with connect(mcp) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("fail")
    assert (caught.value.message, caught.value.data) == ("é\ud800\n\x00", PAYLOADS["lone surrogates"])


@pytest.mark.rule("ERR-D4")
@pytest.mark.parametrize(
    ("data", "received"),
    [({1: (2, {3})}, {"1": [2, [3]]}), (date(2026, 7, 28), "2026-07-28"), (object(), None), (float("nan"), None)],
    ids=["containers", "date", "object", "NaN"],
)
async def test_the_data_of_an_error_crosses_as_json_and_never_as_the_servers_object(
    connect: Connector, data: object, received: object
) -> None:
    mcp = MCPServer("errors")

    @mcp.tool()
    async def fail() -> None:
        raise MCPError(-32099, "failed", data)

    with anyio.fail_after(10):
        async with connect(mcp) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("fail")
    expected = (-32603, "Internal server error") if received is None else (-32099, "failed")
    assert (caught.value.code, caught.value.message, caught.value.data) == (*expected, received)


async def test_what_is_no_json_is_refused_before_it_is_sent(connect: Connector) -> None:
    with anyio.fail_after(10):
        async with connect(Server("echo", on_call_tool=echo, on_list_tools=list_tools)) as client:
            for value in (float("nan"), float("inf"), object()):
                with pytest.raises(Exception) as caught:
                    await client.call_tool("echo", {"value": value})
                assert not isinstance(caught.value, MCPError), caught.value
            assert not (await client.call_tool("echo", {"value": 1})).is_error


async def test_arguments_that_are_nested_too_deeply_are_refused_and_the_connection_goes_on(connect: Connector) -> None:
    with anyio.fail_after(10):
        async with connect(Server("echo", on_call_tool=echo, on_list_tools=list_tools)) as client:
            with pytest.raises(ValueError, match=r"nested too deeply: more than 200 levels at .*value"):
                await client.call_tool("echo", {"value": nested(150)})
            assert not (await client.call_tool("echo", {"value": 1})).is_error


@pytest.mark.parametrize("depth", [300, 3000])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_is_nested_too_deeply_fails_at_once_and_alone(mode: str, depth: int) -> None:
    mcp = MCPServer("Lab", log_level="CRITICAL")

    @mcp.tool
    def take(tree: Any) -> str:
        return "taken"

    @mcp.tool
    def grow(depth: int) -> dict[str, Any]:
        return {"tree": nested(depth // 2)}

    with anyio.fail_after(30), serving(mcp.streamable_http_app()) as port:
        for server in (mcp, f"http://127.0.0.1:{port}/mcp"):
            async with Client(server, mode=mode) as client:
                with pytest.raises(ValueError, match=r"nested too deeply: more than 200 levels at .*tree"):
                    await client.call_tool("take", {"tree": nested(depth // 2)})
                if server is not mcp or mode == "legacy":
                    try:
                        failed = await client.call_tool("grow", {"depth": depth})
                    except MCPError as error:
                        failed = error.code
                    assert failed == types.INTERNAL_ERROR or getattr(failed, "is_error", False)
                assert (await client.call_tool("take", {"tree": []})).structured_content == {"result": "taken"}
