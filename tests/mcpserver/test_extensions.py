"""Extensions: what they advertise, bring and intercept."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from mcp.client.client import Client
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import (
    SPEC_CLIENT_METHODS,
    Extension,
    MethodBinding,
    PromptBinding,
    ResourceBinding,
    ResourceTemplateBinding,
    ToolBinding,
)
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver.resources import TextResource
from mcp.server.mcpserver.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolRequestParams, CallToolResult, RequestParams, TextContent
from tests.mcpserver.wire import connect


class StampParams(RequestParams):
    text: str


async def serve_stamp(ctx: ServerRequestContext[Any, Any], params: StampParams) -> dict[str, Any]:
    return {"stamped": params.text}


async def stamp(text: str) -> str:
    """Stamp a text."""
    return f"*{text}*"


async def shout(text: str) -> str:
    return text.upper()


class Stamps(Extension):
    identifier = "com.example/stamps"

    def settings(self) -> dict[str, Any]:
        return {"format": "v2"}

    def tools(self) -> Sequence[ToolBinding]:
        return [ToolBinding(stamp, meta={"k": 1}, kwargs={"title": "Stamp"})]

    def resources(self) -> Sequence[ResourceBinding]:
        return [ResourceBinding(TextResource(uri="x://s", text="s"))]

    def resource_templates(self) -> Sequence[ResourceTemplateBinding]:
        return [ResourceTemplateBinding("x://t/{text}", shout)]

    def prompts(self) -> Sequence[PromptBinding]:
        return [PromptBinding(shout, kwargs={"name": "shouted"})]

    def methods(self) -> Sequence[MethodBinding]:
        return [
            MethodBinding("com.example/stamp", StampParams, serve_stamp),
            MethodBinding("com.example/old", StampParams, serve_stamp, frozenset({"2025-11-25"})),
        ]


@pytest.mark.rule("EXT-1", "EXT-3", "EXT-5", "EXT-6", "EXT-7", "EXT-10", "EXT-D5", "TROUBLE-8")
async def test_an_extension_brings_what_could_be_registered_by_hand() -> None:
    mcp = MCPServer("Lab", extensions=[Stamps()], tools=[stamp])
    async with connect(mcp) as peer:
        discovered = await peer.request("server/discover")
        assert discovered["capabilities"]["extensions"] == {"com.example/stamps": {"format": "v2"}}
        (tool,) = (await peer.request("tools/list"))["tools"]
        assert (tool["name"], tool["title"], tool["_meta"]) == ("stamp", "Stamp", {"k": 1})
        assert await peer.text("stamp", text="a") == "*a*"
        assert (await peer.request("resources/read", {"uri": "x://s"}))["contents"][0]["text"] == "s"
        assert (await peer.request("resources/read", {"uri": "x://t/a"}))["contents"][0]["text"] == "A"
        prompt = await peer.request("prompts/get", {"name": "shouted", "arguments": {"text": "a"}})
        assert prompt["messages"][0]["content"]["text"] == "A"
        assert await peer.request("com.example/stamp", {"text": "a"}) == {"stamped": "a"}
        with pytest.raises(MCPError) as caught:
            await peer.request("com.example/stamp", {})
        assert caught.value.code == INVALID_PARAMS
        with pytest.raises(MCPError) as caught:
            await peer.request("com.example/old", {"text": "a"})
        assert (caught.value.code, caught.value.message, caught.value.data) == (
            -32601,
            "Method not found",
            "com.example/old",
        )


@pytest.mark.rule("EXT-2", "EXT-D1")
def test_extensions_need_a_proper_identifier() -> None:
    class NoId(Extension):
        pass

    with pytest.raises(TypeError) as caught:
        MCPServer("Lab", extensions=[NoId()])
    assert str(caught.value) == (
        "NoId.identifier must be a `vendor-prefix/name` string (reverse-DNS prefix required), got None"
    )
    with pytest.raises(TypeError, match=r"Bad\.identifier must be"):
        type("Bad", (Extension,), {"identifier": "bad"})
    with pytest.raises(TypeError, match=r"^extensions must be Extension instances, got str$"):
        MCPServer("Lab", extensions=["com.x/a"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"^Extension 'com\.example/stamps' is already registered$"):
        MCPServer("Lab", extensions=[Stamps(), Stamps()])


@pytest.mark.rule("EXT-4", "EXT-D2")
async def test_settings_are_a_dict_or_nothing() -> None:
    class Silent(Extension):
        identifier = "com.x/silent"

        def settings(self) -> Any:
            return None

    class Wrong(Extension):
        identifier = "com.x/wrong"

        def settings(self) -> Any:
            return ["a"]

    async with connect(MCPServer("Lab", extensions=[Silent()])) as peer:
        assert (await peer.request("server/discover"))["capabilities"]["extensions"] == {"com.x/silent": {}}
    with pytest.raises(TypeError, match=r"^Wrong\.settings\(\) must return a dict, got list$"):
        MCPServer("Lab", extensions=[Wrong()])


@pytest.mark.rule("EXT-8", "EXT-9", "EXT-D3")
def test_methods_that_cannot_be_bound_are_refused() -> None:
    for method in SPEC_CLIENT_METHODS:
        with pytest.raises(ValueError) as caught:
            MethodBinding(method, StampParams, serve_stamp)
        assert str(caught.value) == (
            f"MethodBinding cannot bind spec method {method!r}; extension methods are additive — use "
            "Extension.intercept_tool_call or Server.middleware to wrap core behaviour"
        )
    for method in ("", "notifications/x"):
        with pytest.raises(ValueError, match="needs the name of a request method"):
            MethodBinding(method, StampParams, serve_stamp)
    with pytest.raises(TypeError, match="needs a pydantic model as params_type"):
        MethodBinding("a/b", dict, serve_stamp)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError) as caught:
        MethodBinding("a/b", StampParams, serve_stamp, frozenset())
    assert str(caught.value) == (
        "MethodBinding for 'a/b' has an empty protocol_versions set, so it could never be served; "
        "use None to admit every version"
    )
    with pytest.raises(ValueError, match=r"names unknown protocol versions: \['1999-01-01'\]"):
        MethodBinding("a/b", StampParams, serve_stamp, frozenset({"1999-01-01"}))


def test_a_method_has_one_owner() -> None:
    class Second(Extension):
        identifier = "com.x/second"

        def methods(self) -> Sequence[MethodBinding]:
            return [MethodBinding("com.example/stamp", StampParams, serve_stamp)]

    with pytest.raises(ValueError) as caught:
        MCPServer("Lab", extensions=[Stamps(), Second()])
    assert str(caught.value) == (
        "Extension 'com.x/second' binds method 'com.example/stamp', which is already registered; extension methods "
        "are additive and cannot replace another handler"
    )


def test_a_bound_resource_must_be_one() -> None:
    class Odd(Extension):
        identifier = "com.x/odd"

        def resources(self) -> Any:
            return [ResourceBinding("no resource")]  # pyright: ignore[reportArgumentType]

    with pytest.raises(TypeError, match=r"^Extension 'com\.x/odd' binds a str, which is no Resource$"):
        MCPServer("Lab", extensions=[Odd()])


class Recording(Extension):
    identifier = "com.x/recording"

    def __init__(self, name: str, calls: list[str]) -> None:
        self.identifier = f"com.x/{name}"
        self.name = name
        self.calls = calls

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        self.calls.append(f"{self.name} {params.name}")
        if params.name == "short":
            return CallToolResult(content=[TextContent(type="text", text="cut")])
        if params.name == "renamed":
            return await call_next(dataclasses.replace(ctx, params={**(ctx.params or {}), "name": "stamp"}))
        if params.name == "refused":
            raise MCPError(-32050, "no")
        return await call_next(ctx)


@pytest.mark.rule("EXT-11", "EXT-12", "EXT-14", "EXT-15", "EXT-D4", "EXT-D6")
async def test_extensions_wrap_every_tool_call(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[str] = []
    extensions = [Recording("first", calls), Stamps(), Recording("second", calls)]
    caplog.set_level(logging.INFO, "mcp.server.extension")
    async with connect(MCPServer("Lab", extensions=extensions)) as peer:
        assert await peer.text("stamp", text="a") == "*a*"
        assert calls == ["first stamp", "second stamp"]
        assert await peer.text("short") == "cut"
        assert await peer.text("renamed", text="b") == "*b*"
        assert calls[-2:] == ["first renamed", "second stamp"]
        with pytest.raises(MCPError, match="Unknown tool: nosuch"):
            await peer.call("nosuch")
        assert calls[-2:] == ["first nosuch", "second nosuch"]
        assert "refused" not in caplog.text
        with pytest.raises(MCPError, match=r"^no$"):
            await peer.call("refused")
    assert "Extension 'com.x/first' refused the call of tool 'refused': no" in caplog.text


@pytest.mark.rule("MW-18")
async def test_interceptors_run_inside_all_middleware_and_for_tool_calls_only() -> None:
    order: list[str] = []

    class Guard(Extension):
        identifier = "com.example/guard"

        async def intercept_tool_call(
            self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
        ) -> HandlerResult:
            order.append("interceptor")
            return await call_next(ctx)

    async def watch(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        order.append(ctx.method)
        return await call_next(ctx)

    mcp = MCPServer("Lab", extensions=[Guard()], middleware=[watch], tools=[stamp])
    async with connect(mcp) as peer:
        await peer.request("tools/list")
        await peer.text("stamp", text="a")
    assert order == ["tools/list", "tools/call", "interceptor"]


class Receipts(Extension):
    """Answers calls with a result of its own type, whoever asks."""

    identifier = "com.example/receipts"

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        return {"resultType": "com.example/receipt", "receiptId": params.name}


@pytest.mark.rule("EXT-13")
async def test_results_of_a_type_of_its_own_are_for_modern_clients_alone() -> None:
    mcp = MCPServer("Lab", extensions=[Receipts()])
    async with connect(mcp) as peer:
        result = await peer.request("tools/call", {"name": "7"})
        assert result == {"resultType": "com.example/receipt", "receiptId": "7"}
    async with Client(mcp, mode="legacy") as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("7")
    assert (caught.value.code, caught.value.message) == (INTERNAL_ERROR, "Handler returned an invalid result")


@pytest.mark.rule("EXT-17")
async def test_on_a_low_level_server_an_extension_is_settings_a_handler_and_a_middleware() -> None:
    server: Server[Any] = Server("Lab")
    server.extensions["com.example/stamps"] = {"format": "v2"}
    server.add_request_handler("com.example/stamp", StampParams, serve_stamp)

    async def refuse_shouting(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if (ctx.params or {}).get("text") == "A":
            raise MCPError(INVALID_PARAMS, "not so loud")
        return await call_next(ctx)

    server.middleware.append(refuse_shouting)
    async with connect(server) as peer:
        discovered = await peer.request("server/discover")
        assert discovered["capabilities"] == {"extensions": {"com.example/stamps": {"format": "v2"}}}
        assert await peer.request("com.example/stamp", {"text": "a"}) == {"stamped": "a"}
        with pytest.raises(MCPError, match=r"^not so loud$"):
            await peer.request("com.example/stamp", {"text": "A"})
