"""Questions in the middle of a call: what users of such packages suffered from."""

from __future__ import annotations

import enum
import logging
import time
from typing import Annotated, Any, Literal

import anyio
import pytest
from pydantic import BaseModel

from mcp import Client, MCPError
from mcp.server.mcpserver import Context, Elicit, MCPServer, RequestStateSecurity, Resolve
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
    TextResourceContents,
)
from tests.cases.ways import both_eras
from tests.server.http.serving import serving


class Name(BaseModel):
    name: str


ASK = ElicitRequest(
    params=ElicitRequestFormParams(
        message="Who?", requested_schema={"type": "object", "properties": {"name": {"type": "string"}}}
    )
)


def question(ctx: Context) -> str | InputRequiredResult:
    """The answer, if there is one already."""
    if not ctx.input_responses:
        return InputRequiredResult(input_requests={"who": ASK}, request_state="kept")
    answer = ctx.input_responses["who"]
    assert isinstance(answer, ElicitResult)
    assert ctx.request_state == "kept"
    return f"Hello {(answer.content or {})['name']}"


async def ann(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ann"})


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.rule("CASE-1")
@both_eras
async def test_asking_in_the_middle_works_or_says_what_to_do_instead(
    mode: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = MCPServer("Lab")

    @mcp.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", Name)
        return f"Hello {answer.data.name}" if answer.action == "accept" else "Hello"

    with anyio.fail_after(5):
        async with Client(mcp, mode=mode, elicitation_callback=ann) as client:
            if mode == "legacy":
                assert text(await client.call_tool("greet")) == "Hello Ann"
                return
            with pytest.raises(MCPError, match="no back-channel"):
                await client.call_tool("greet")
    assert "ask with a resolver (Resolve, Elicit) or return an InputRequiredResult" in caplog.text


async def asked(server: MCPServer[Any]) -> InputRequiredResult:
    async with Client(server) as client:
        result = await client.session.call_tool("greet", {}, allow_input_required=True)
    assert isinstance(result, InputRequiredResult)
    return result


async def answered(server: MCPServer[Any], state: str | None) -> str:
    answers: Any = {"who": ElicitResult(action="accept", content={"name": "Ann"})}
    async with Client(server) as client:
        result = await client.session.call_tool("greet", {}, input_responses=answers, request_state=state)
    return text(result)


def server(keys: list[str] | None = None) -> MCPServer[Any]:
    security = None if keys is None else RequestStateSecurity(keys=keys)
    mcp = MCPServer("same", request_state_security=security)

    @mcp.tool
    async def greet(ctx: Context) -> str | InputRequiredResult:
        return question(ctx)

    return mcp


@pytest.mark.rule("CASE-2")
async def test_another_worker_accepts_state_under_a_shared_key_alone(caplog: pytest.LogCaptureFixture) -> None:
    old, new = "o" * 32, "n" * 32
    state = (await asked(server())).request_state
    with caplog.at_level(logging.WARNING), pytest.raises(MCPError) as caught:
        await answered(server(), state)
    assert caught.value.code == INVALID_PARAMS
    assert "unknown key" in caplog.text  # which check failed,
    assert "RequestStateSecurity(keys=[...])" in caplog.text  # and the cure
    state = (await asked(server([old]))).request_state
    assert await answered(server([old]), state) == "Hello Ann"
    assert await answered(server([new, old]), state) == "Hello Ann"
    with pytest.raises(MCPError):
        await answered(server([new]), state)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(str, enum.Enum):
    S = "small"
    L = "large"


class Choices(BaseModel):
    color: Color
    size: Size = Size.S
    finish: Literal["matt", "gloss"]
    extras: list[Literal["bag", "box"]] = []


class Free(BaseModel):
    words: list[str]


async def ask_choices() -> Elicit[Choices]:
    return Elicit("Which?", Choices)


async def ask_free() -> Elicit[Free]:
    return Elicit("Which?", Free)


@pytest.mark.rule("CASE-26")
@both_eras
async def test_choices_are_flat_fields_and_come_back_as_their_members(mode: Any) -> None:
    mcp = MCPServer("Lab")
    seen: list[dict[str, Any]] = []

    @mcp.tool
    def choose(choices: Annotated[Choices, Resolve(ask_choices)]) -> str:
        return f"{choices.color} {choices.size.value} {choices.finish} {choices.extras}"

    async def callback(context: Any, params: Any) -> ElicitResult:
        seen.append(params.requested_schema["properties"])
        content = {"color": "blue", "size": "large", "finish": "matt", "extras": ["bag"]}
        return ElicitResult(action="accept", content=content)  # pyright: ignore[reportArgumentType]

    async with Client(mcp, mode=mode, elicitation_callback=callback) as client:
        assert text(await client.call_tool("choose")) == "Color.BLUE large matt ['bag']"
    (fields,) = seen
    assert "$ref" not in str(fields)
    assert (fields["color"]["type"], fields["color"]["enum"]) == ("string", ["red", "blue"])
    assert (fields["size"]["enum"], fields["size"]["default"]) == (["small", "large"], "small")
    assert fields["finish"]["enum"] == ["matt", "gloss"]
    assert fields["extras"]["items"]["enum"] == ["bag", "box"]


@pytest.mark.rule("CASE-26")
def test_a_field_that_no_form_has_is_refused_when_the_tool_is_registered() -> None:
    def tool(words: Annotated[Free, Resolve(ask_free)]) -> str: ...

    with pytest.raises(InvalidSignature, match="words"):
        MCPServer("Lab").add_tool(tool)


@pytest.mark.rule("CASE-61")
async def test_a_recorded_answer_never_stands_in_for_what_the_server_computes() -> None:
    stock = {"left": 0, "price": 5}

    async def confirm() -> Name | Elicit[Name]:
        if stock["left"]:
            return Name(name="computed")
        return Elicit(f"Wait for it, at {stock['price']}?", Name)

    asked_for: list[str] = []

    async def other(ctx: Context) -> Elicit[Name]:
        return Elicit("Anything else?", Name)

    mcp = MCPServer("Lab")

    def buy(name: Any, more: Any) -> str:
        return f"{name.name}, {more.name}"

    buy.__annotations__.update(name=Annotated[Name, Resolve(confirm)], more=Annotated[Name, Resolve(other)])
    mcp.add_tool(buy)

    async with Client(mcp) as client:
        first = await client.session.call_tool("buy", {}, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        questions = first.input_requests or {}
        asked_for += [str(request.params) for request in questions.values()]
        answers: Any = {key: ElicitResult(action="accept", content={"name": "client"}) for key in questions}
        stock["left"] = 1
        done = await client.session.call_tool("buy", {}, input_responses=answers, request_state=first.request_state)
        assert text(done) == "computed, client"
        stock.update(left=0, price=9)  # another question now: the old answer is void
        again = await client.session.call_tool(
            "buy", {}, input_responses=answers, request_state=first.request_state, allow_input_required=True
        )
        assert isinstance(again, InputRequiredResult)
        assert ["at 9" in str(request.params) for request in (again.input_requests or {}).values()] == [True]
    assert any("at 5" in one for one in asked_for)


@pytest.mark.rule("CASE-62")
async def test_prompts_and_templates_ask_and_static_resources_say_that_they_cannot() -> None:
    mcp = MCPServer("Lab")

    @mcp.prompt
    async def letter(ctx: Context) -> Any:
        return question(ctx)

    @mcp.resource("x://{place}")
    async def place(place: str, ctx: Context) -> Any:
        return question(ctx)

    async with Client(mcp, elicitation_callback=ann) as client:
        (message,) = (await client.get_prompt("letter")).messages
        assert message.content == TextContent(type="text", text="Hello Ann")
        (contents,) = (await client.read_resource("x://here")).contents
        assert isinstance(contents, TextResourceContents)
        assert contents.text == "Hello Ann"
    with pytest.raises(ValueError, match="Context injection for static resources is not supported"):
        mcp.resource("x://static")(question)


@pytest.mark.rule("CASE-63")
@both_eras
async def test_a_callback_that_raises_ends_the_call_with_that_error_alone(mode: Any) -> None:
    async def fail(context: Any, params: Any) -> ElicitResult:
        raise ValueError("x")

    mcp = MCPServer("Lab")

    @mcp.tool
    def choose(choices: Annotated[Choices, Resolve(ask_choices)]) -> str: ...

    async with Client(mcp, mode=mode, elicitation_callback=fail) as client:
        # on an older connection the error crosses to the server and comes back
        with anyio.fail_after(5), pytest.raises(ValueError if mode == "auto" else MCPError) as caught:
            await client.call_tool("choose")
        assert type(caught.value) is (ValueError if mode == "auto" else MCPError)
        assert (await client.list_tools()).tools[0].name == "choose"


@pytest.mark.rule("CASE-28")
@pytest.mark.parametrize("options", [{"stateless_http": True}, {"json_response": True}])
async def test_a_question_that_no_channel_carries_fails_at_once(options: Any) -> None:
    mcp = MCPServer("Lab")

    @mcp.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", Name)
        return answer.action

    @mcp.tool
    def choose(choices: Annotated[Choices, Resolve(ask_choices)]) -> str: ...

    with serving(mcp.streamable_http_app(**options)) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        async with Client(url, mode="legacy", elicitation_callback=ann) as client:
            for name in ("greet", "choose"):
                begun = time.monotonic()
                with anyio.fail_after(5), pytest.raises(MCPError, match="no back-channel"):
                    await client.call_tool(name)
                assert time.monotonic() - begun < 1
