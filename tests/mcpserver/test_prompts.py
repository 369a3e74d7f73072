"""Prompts: listing, arguments, messages, failures."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import InvalidSignature, PromptError, ResourceError, ToolError
from mcp.server.mcpserver.prompts import Prompt, PromptManager
from mcp.server.mcpserver.prompts.base import AssistantMessage, Message, UserMessage
from mcp.server.mcpserver.server import MCPServer
from mcp.server.mcpserver.utilities.types import Audio, File, Image
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    EmbeddedResource,
    GetPromptResult,
    Icon,
    ImageContent,
    PromptMessage,
    TextContent,
    TextResourceContents,
)
from tests.mcpserver.wire import Peer, connect


class Point(BaseModel):
    x: int


def text(value: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": {"type": "text", "text": value}}


async def render(fn: Any, **arguments: Any) -> list[dict[str, Any]]:
    mcp = MCPServer("Lab")
    mcp.prompt("p")(fn)
    async with connect(mcp) as peer:
        return (await get(peer, "p", **arguments))["messages"]


async def get(peer: Peer, name: str, /, **arguments: Any) -> dict[str, Any]:
    return await peer.request("prompts/get", {"name": name, "arguments": arguments})


async def failure(peer: Peer, name: str, /, **arguments: Any) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await get(peer, name, **arguments)
    return caught.value


@pytest.mark.rule("PROMPT-2", "PROMPT-3", "MEDIA-10")
async def test_a_listed_prompt_shows_its_arguments() -> None:
    mcp = MCPServer("Lab")

    @mcp.prompt("translate", title="Translate", icons=[Icon(src="https://i")])
    def f(source: Annotated[str, Field(description="Source text", alias="text")], target: str = "en") -> str:
        """Translate a text."""
        return f"{source} to {target}"

    @mcp.prompt()
    def bare() -> str:
        return ""

    async with connect(mcp) as peer:
        assert await peer.request("prompts/list") == {
            "prompts": [
                {
                    "name": "translate",
                    "title": "Translate",
                    "description": "Translate a text.",
                    "arguments": [
                        {"name": "text", "description": "Source text", "required": True},
                        {"name": "target", "required": False},
                    ],
                    "icons": [{"src": "https://i"}],
                },
                {"name": "bare", "description": "", "arguments": []},
            ]
        }
        assert (await get(peer, "translate", text="x"))["messages"] == [text("x to en")]


@pytest.mark.rule("PROMPT-2")
def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ValueError, match="You must provide a name for lambda functions"):
        MCPServer("Lab").prompt()(lambda: "x")


@pytest.mark.rule("PROMPT-4", "CTX-1")
async def test_a_context_is_injected_and_not_listed() -> None:
    mcp = MCPServer("Lab")

    @mcp.prompt()
    def f(ctx: Context[dict[str, Any]], name: str) -> str:
        return f"{name} {ctx.request_context.method}"

    (listed,) = await mcp.list_prompts()
    assert [argument.name for argument in listed.arguments or ()] == ["name"]
    async with connect(mcp) as peer:
        assert (await get(peer, "f", name="n"))["messages"] == [text("n prompts/get")]


@pytest.mark.rule("PROMPT-4")
async def test_collectors_are_listed_and_underscores_are_refused() -> None:
    mcp = MCPServer("Lab")

    @mcp.prompt()
    def f(*a: str, **k: str) -> str:
        return ""

    (listed,) = await mcp.list_prompts()
    assert [(argument.name, argument.required) for argument in listed.arguments or ()] == [("a", True), ("k", True)]

    def hidden(_x: str) -> str:
        return _x

    with pytest.raises(InvalidSignature):
        mcp.prompt()(hidden)


@pytest.mark.rule("PROMPT-5")
def test_the_return_annotation_does_not_matter() -> None:
    def f() -> type[int]: ...  # pyright: ignore[reportReturnType]

    assert Prompt.from_function(f).name == "f"  # pyright: ignore[reportArgumentType]


@pytest.mark.rule("PROMPT-6", "PROMPT-7", "TROUBLE-26")
async def test_of_two_prompts_with_one_name_the_first_stays_until_it_is_removed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mcp = MCPServer("Lab")

    @mcp.prompt("p")
    def first() -> str:
        return "first"

    def second() -> str:
        return "second"

    mcp.add_prompt(Prompt.from_function(second, "p"))
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("mcp.server.mcpserver.prompts.manager", logging.WARNING)
    assert record.getMessage() == "Prompt already exists: p"
    async with connect(mcp) as peer:
        assert (await get(peer, "p"))["messages"] == [text("first")]
        mcp.remove_prompt("p")
        mcp.add_prompt(Prompt.from_function(second, "p"))
        assert (await get(peer, "p"))["messages"] == [text("second")]
    with pytest.raises(ValueError, match=r"^Unknown prompt: nosuch$"):
        mcp.remove_prompt("nosuch")


@pytest.mark.rule("PROMPT-9")
async def test_arguments_on_the_wire_are_texts() -> None:
    mcp = MCPServer("Lab")

    @mcp.prompt()
    def f(a: str = "x") -> str:
        return a

    async with connect(mcp) as peer:
        for wrong in ({"a": 1}, {"a": None}, [1]):
            with pytest.raises(MCPError) as caught:
                await peer.request("prompts/get", {"name": "f", "arguments": wrong})
            assert (caught.value.code, caught.value.message) == (INVALID_PARAMS, "Invalid request parameters")


@pytest.mark.rule("PROMPT-10", "PROMPT-11", "PROMPT-12", "PROMPT-D2", "PROMPT-D3")
async def test_arguments_are_converted_to_their_annotations_and_unknown_ones_ignored() -> None:
    def f(
        a: int, b: bool, c: Literal["x", "y"], d: list[int], e: Point, g: str, h: Annotated[int, Field(ge=1)] = 1
    ) -> str:
        return repr((a, b, c, d, e.x, g, h))

    messages = await render(f, a="5", b="true", c="x", d="[1]", e='{"x": 2}', g="[1]", unknown="u")
    assert messages == [text("(5, True, 'x', [1], 2, '[1]', 1)")]


@pytest.mark.rule("PROMPT-13")
async def test_sync_functions_run_in_a_thread() -> None:
    here = threading.get_ident()

    def f() -> str:
        return str(threading.get_ident() != here)

    assert await render(f) == [text("True")]


PNG = ImageContent(type="image", data="aW1n", mime_type="image/png")
IMAGE = {"role": "user", "content": {"type": "image", "data": "aW1n", "mimeType": "image/png"}}
DOCUMENT = EmbeddedResource(
    type="resource", resource=TextResourceContents(uri="a://b", mime_type="text/markdown", text="t")
)


@pytest.mark.rule("PROMPT-14", "PROMPT-15", "PROMPT-16", "PROMPT-17", "PROMPT-18", "PROMPT-D4", "PROMPT-D6", "MEDIA-7")
@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("hi", [text("hi")]),
        (PNG, [IMAGE]),
        (Image(data=b"img"), [IMAGE]),
        (Audio(data=b"b"), [{"role": "user", "content": {"type": "audio", "data": "Yg==", "mimeType": "audio/wav"}}]),
        (
            DOCUMENT,
            [
                {
                    "role": "user",
                    "content": {
                        "type": "resource",
                        "resource": {"uri": "a://b", "mimeType": "text/markdown", "text": "t"},
                    },
                }
            ],
        ),
        (UserMessage("u"), [text("u")]),
        (AssistantMessage("a"), [text("a", "assistant")]),
        (Message(PNG, role="user"), [IMAGE]),
        (UserMessage(Image(data=b"img")), [IMAGE]),
        ({"role": "assistant", "content": "c"}, [text("c", "assistant")]),
        ({"role": "user", "content": {"type": "text", "text": "block"}}, [text("block")]),
        ({"role": "user", "content": Image(data=b"img")}, [IMAGE]),
        (["a", AssistantMessage("b"), PNG], [text("a"), text("b", "assistant"), IMAGE]),
        (("a",), [text("a")]),
        ([], []),
        ([["a"]], [text('[\n  "a"\n]')]),
        (5, [text("5")]),
        (Point(x=1), [text('{\n  "x": 1\n}')]),
        (PromptMessage(role="assistant", content=TextContent(type="text", text="m")), [text("m", "assistant")]),
        (None, []),
    ],
)
async def test_values_become_messages(value: Any, messages: list[dict[str, Any]]) -> None:
    async def f() -> Any:
        return value

    assert await render(f) == messages


async def test_a_file_becomes_an_embedded_resource() -> None:
    async def f() -> Any:
        return File(data=b"t", uri="a://b.txt")

    (message,) = await render(f)
    assert message["content"]["resource"] == {"uri": "a://b.txt", "mimeType": "text/plain", "text": "t"}


@pytest.mark.rule("PROMPT-18", "PROMPT-20", "PROMPT-D4")
async def test_a_whole_result_is_passed_on_with_the_prompts_description() -> None:
    mcp = MCPServer("Lab")

    @mcp.prompt(description="D")
    async def short() -> GetPromptResult:
        return GetPromptResult(messages=[])

    @mcp.prompt(description="D")
    async def own() -> GetPromptResult:
        return GetPromptResult(description="own", messages=[])

    async with connect(mcp) as peer:
        assert await get(peer, "short") == {"description": "D", "messages": []}
        assert await get(peer, "own") == {"description": "own", "messages": []}


@pytest.mark.rule("TROUBLE-D4", "TROUBLE-18")
@pytest.mark.rule("PROMPT-21", "PROMPT-22", "PROMPT-D1", "PROMPT-D5", "ERR-7", "ERR-9", "ERR-20", "CASE-77", "SERR-21")
async def test_failures_are_protocol_errors(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("Lab")
    errors: dict[str, Exception] = {
        "boom": RuntimeError("dsn=secret"),
        "tool": ToolError("secret"),
        "resource": ResourceError("secret"),
        "prompt": PromptError("No template for this language."),
        "mcp": MCPError(-32050, "quota used up", {"retryAfter": 30}),
    }

    @mcp.prompt()
    async def fail(kind: str) -> str:
        raise errors[kind]

    @mcp.prompt()
    async def media() -> Image:
        return Image(tmp_path / "none.png")

    @mcp.prompt()
    async def odd() -> dict[str, Any]:
        return {"no": "message"}

    @mcp.prompt()
    async def number(n: int, m: str) -> str:
        return m

    async with connect(mcp) as peer:
        unknown = await failure(peer, "nosuch")
        assert (unknown.code, unknown.message) == (INVALID_PARAMS, "Unknown prompt: nosuch")
        missing = await failure(peer, "number")
        assert (missing.code, missing.message) == (
            INVALID_PARAMS,
            "Missing required arguments for prompt number: 'n', 'm'",
        )
        bad = await failure(peer, "number", n="secret", m="")
        assert bad.code == INVALID_PARAMS
        assert bad.message.startswith(
            "Invalid arguments for prompt number: 1 validation error for numberArguments\nn\n"
        )
        for name, arguments in (
            ("fail", {"kind": "boom"}),
            ("fail", {"kind": "tool"}),
            ("fail", {"kind": "resource"}),
            ("media", {}),
            ("odd", {}),
        ):
            error = await failure(peer, name, **arguments)
            assert (error.code, error.message, error.data) == (INTERNAL_ERROR, "Internal server error", None)
        meant = await failure(peer, "fail", kind="prompt")
        assert (meant.code, meant.message) == (INTERNAL_ERROR, "No template for this language.")
        own = await failure(peer, "fail", kind="mcp")
        assert (own.code, own.message, own.data) == (-32050, "quota used up", {"retryAfter": 30})
    assert "dsn=secret" in caplog.text  # the log is for the operator


async def test_errors_can_be_shown_for_development() -> None:
    mcp = MCPServer("Lab", mask_errors=False)

    @mcp.prompt()
    async def fail() -> str:
        raise RuntimeError("the reason")

    async with connect(mcp) as peer:
        error = await failure(peer, "fail")
    assert error.message == "Error rendering prompt fail: the reason"


@pytest.mark.rule("PROMPT-23")
async def test_direct_calls_raise_value_errors() -> None:
    mcp = MCPServer("Lab")

    @mcp.prompt()
    async def fail() -> str:
        raise RuntimeError("secret")

    @mcp.prompt()
    async def refuse() -> str:
        raise MCPError(-32050, "no")

    @mcp.prompt()
    async def fine() -> str:
        return "ok"

    with pytest.raises(ValueError, match=r"^Unknown prompt: nosuch$"):
        await mcp.get_prompt("nosuch")
    with pytest.raises(ValueError, match=r"^Error rendering prompt fail$"):
        await mcp.get_prompt("fail")
    with pytest.raises(MCPError):
        await mcp.get_prompt("refuse")
    result = await mcp.get_prompt("fine")
    assert isinstance(result, GetPromptResult)
    assert result.messages == [PromptMessage(role="user", content=TextContent(type="text", text="ok"))]


async def test_a_prompt_manager_keeps_and_renders_prompts() -> None:
    manager = PromptManager()

    async def f(x: str) -> str:
        return x

    prompt = manager.add_prompt(Prompt.from_function(f))
    assert manager.list_prompts() == [prompt]
    assert manager.get_prompt("nosuch") is None
    assert await manager.render_prompt("f", {"x": "y"}, Context()) == [Message("y", role="user")]
    with pytest.raises(ValueError, match="Missing required arguments"):
        await prompt.render(None, Context())
    manager.remove_prompt("f")
    with pytest.raises(PromptError, match=r"^Unknown prompt: f$"):
        await manager.render_prompt("f", {}, Context())
