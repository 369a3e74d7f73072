"""What servers ask of clients: the user, a model, the roots. Authors write the same for both eras."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import anyio
import pytest
from pydantic import BaseModel

import mcp_types as types
from mcp.client import Client, ClientRequestContext
from mcp.server import ServerRequestContext
from mcp.server.mcpserver import Context, Elicit, ElicitUrl, ListRoots, MCPServer, Resolve, Sample
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError, NoBackChannelError
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitResult,
    ErrorData,
    ListRootsResult,
)
from tests.interaction.test_rounds import model, roots
from tests.interaction.test_verbs import text_of
from tests.interaction.transports import Connector
from tests.mcpserver import wire
from tests.server.http.serving import serving
from tests.server.lowlevel.test_pipe import HELLO
from tests.server.lowlevel.wire import pipe


class Region(BaseModel):
    region: str


def prompt_of(text: str) -> list[types.SamplingMessage]:
    return [types.SamplingMessage(role="user", content=types.TextContent(type="text", text=text))]


async def ask_region() -> Elicit[Region]:
    return Elicit("Which region?", Region)


async def ask_to_sign_in(region: Annotated[Region, Resolve(ask_region)]) -> ElicitUrl:
    return ElicitUrl("Sign in", f"https://example.com/{region.region}")


async def ask_model() -> Sample:
    return Sample(prompt_of("2+2?"), max_tokens=5)


async def ask_roots() -> ListRoots:
    return ListRoots()


async def ask_about(topic: str) -> Sample:
    return Sample(prompt_of(f"About {topic}?"), max_tokens=5)


async def ask_where(draft: Annotated[CreateMessageResult, Resolve(ask_about)]) -> Elicit[Region]:
    assert isinstance(draft.content, types.TextContent)
    return Elicit(f"Where does {draft.content.text!r} go?", Region)


async def ask_again(region: Annotated[Region, Resolve(ask_where)]) -> Sample:
    return Sample(prompt_of(f"In {region.region}?"), max_tokens=5)


def asking_server() -> MCPServer:
    mcp = MCPServer("asking")

    @mcp.tool()
    async def region(region: Annotated[Region, Resolve(ask_region)]) -> str:
        return region.region

    @mcp.tool()
    async def sign_in(
        region: Annotated[Region, Resolve(ask_region)], agreed: Annotated[BaseModel, Resolve(ask_to_sign_in)]
    ) -> str:
        return region.region

    @mcp.tool()
    async def complete(
        completion: Annotated[CreateMessageResult, Resolve(ask_model)],
        found: Annotated[ListRootsResult, Resolve(ask_roots)],
    ) -> str:
        assert isinstance(completion, CreateMessageResult)
        assert isinstance(completion.content, types.TextContent)
        assert isinstance(found, ListRootsResult)
        return f"{completion.content.text} by {completion.model} in {[str(root.uri) for root in found.roots]}"

    @mcp.tool(name="model")
    async def only_model(completion: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
        return completion.model

    @mcp.tool(name="roots")
    async def only_roots(found: Annotated[ListRootsResult, Resolve(ask_roots)]) -> int:
        return len(found.roots)

    @mcp.tool()
    async def write(
        draft: Annotated[CreateMessageResult, Resolve(ask_about)],
        final: Annotated[CreateMessageResult, Resolve(ask_again)],
        topic: str,
    ) -> str:
        assert isinstance(draft.content, types.TextContent)
        assert isinstance(final.content, types.TextContent)
        return f"{draft.content.text}, {final.content.text}"

    return mcp


# --- the user ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("ELICIT-19")
async def test_one_callback_answers_forms_and_urls_and_registering_it_declares_both(connect: Connector) -> None:
    declared: list[Any] = []
    asked: list[tuple[str, type[Any]]] = []

    async def note(ctx: ServerRequestContext, call_next: Any) -> Any:
        if ctx.method == "tools/call":
            declared.append(ctx.session.client_capabilities)
        return await call_next(ctx)

    async def answer(context: ClientRequestContext, params: types.ElicitRequestParams) -> ElicitResult:
        asked.append((params.mode, type(params)))
        return ElicitResult(action="accept", content={"region": "eu"} if params.mode == "form" else None)

    mcp = asking_server()
    mcp.middleware.append(note)
    with anyio.fail_after(10):
        async with connect(mcp, elicitation_callback=answer) as client:
            assert text_of(await client.call_tool("sign_in")) == "eu"
    assert asked == [("form", types.ElicitRequestFormParams), ("url", types.ElicitRequestURLParams)]
    assert declared[0].model_dump(by_alias=True, exclude_none=True) == {"elicitation": {"form": {}, "url": {}}}


@pytest.mark.rule("ELICIT-21")
async def test_a_client_that_refuses_to_ask_its_user_fails_the_whole_call(connect: Connector) -> None:
    ran: list[str] = []
    mcp = MCPServer("asking")

    @mcp.tool()
    async def region(region: Annotated[Region, Resolve(ask_region)]) -> None:
        ran.append(region.region)

    async def refuse(context: ClientRequestContext, params: types.ElicitRequestParams) -> ErrorData:
        return ErrorData(code=-32050, message="not now", data={"until": "noon"})

    with anyio.fail_after(10):
        async with connect(mcp, elicitation_callback=refuse) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("region")
    error, refusal = caught.value, {"code": -32050, "message": "not now", "data": {"until": "noon"}}
    if connect.way == "legacy":  # an answer to the server, which names the question that it was for
        assert (error.code, error.data) == (types.INTERNAL_ERROR, refusal)
        assert f"resolver '{__name__}:ask_region'" in error.message
    else:
        assert error.error.model_dump() == refusal
    assert ran == []


@pytest.mark.rule("ELICIT-16", "ELICIT-22")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_older_client_is_told_that_the_user_is_done_at_the_url(mode: str) -> None:
    heard: list[Any] = []
    told = anyio.Event()
    mcp = MCPServer("asking")

    @mcp.tool()
    async def sign_in(ctx: Context) -> str:
        if mode == "legacy":
            answer = await ctx.elicit_url("Sign in", "https://example.com/in", "visit-1")
            assert answer.action == "accept"
        await ctx.session.send_elicit_complete("visit-1")
        await ctx.session.log("info", "after it", related=False)
        return "done"

    async def consent(context: ClientRequestContext, params: types.ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, types.ElicitRequestURLParams)
        heard.append(params.elicitation_id)
        return ElicitResult(action="accept")

    async def handle(message: Any) -> None:
        heard.append(message)
        if isinstance(message, types.LoggingMessageNotification):
            told.set()

    options: dict[str, Any] = {"elicitation_callback": consent, "message_handler": handle, "log_level": "info"}
    with anyio.fail_after(10):
        async with Client(mcp, mode=mode, **options) as client:
            assert text_of(await client.call_tool("sign_in")) == "done"
            await told.wait()
    assert isinstance(heard.pop(), types.LoggingMessageNotification)
    if mode == "legacy":
        params = types.ElicitCompleteNotificationParams(elicitation_id="visit-1")
        assert heard == ["visit-1", types.ElicitCompleteNotification(params=params)]
    else:
        assert heard == []


# --- a model, and the roots -------------------------------------------------------------------------------------------


@pytest.mark.rule("SAMP-1", "SAMP-8")
async def test_a_resolver_gives_what_the_model_and_the_client_said_without_a_warning(connect: Connector) -> None:
    with anyio.fail_after(10), warnings.catch_warnings():
        warnings.simplefilter("error")
        async with connect(asking_server(), sampling_callback=model, list_roots_callback=roots) as client:
            assert text_of(await client.call_tool("complete")) == "four by m in ['file:///a']"


@pytest.mark.rule("SAMP-2")
async def test_a_model_is_asked_once_in_a_call_of_several_rounds(connect: Connector) -> None:
    asked: list[Any] = []

    async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> CreateMessageResult:
        asked.append(params.messages)
        return CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text=f"answer {len(asked)}"), model="m"
        )

    async def answer(context: ClientRequestContext, params: types.ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"region": "eu"})

    with anyio.fail_after(10):
        async with connect(asking_server(), sampling_callback=sample, elicitation_callback=answer) as client:
            assert text_of(await client.call_tool("write", {"topic": "tea"})) == "answer 1, answer 2"
    assert [messages[0].content.text for messages in asked] == ["About tea?", "In eu?"]
    if connect.way != "legacy":
        assert len(connect.record.of("tools/call")) == 4  # once for each of three questions, and with all answers


TOOL = types.Tool(name="look", input_schema={"type": "object"})
LOOK = types.ToolUseContent(type="tool_use", id="1", name="look", input={})


async def ask_with_tools(given: bool) -> Sample:
    return Sample(prompt_of("2+2?"), max_tokens=5, tools=[TOOL] if given else [])


async def ask_with_choice() -> Sample:
    return Sample(prompt_of("2+2?"), max_tokens=5, tool_choice=types.ToolChoice(mode="none"))


def tools_server() -> MCPServer:
    mcp = MCPServer("tools")

    @mcp.tool()
    async def tools(given: bool, completion: Annotated[Any, Resolve(ask_with_tools)]) -> str:
        return described(completion)

    @mcp.tool()
    async def choice(completion: Annotated[Any, Resolve(ask_with_choice)]) -> str:
        return described(completion)

    @mcp.tool()
    async def plain(completion: Annotated[Any, Resolve(ask_model)]) -> str:
        return described(completion)

    return mcp


def described(completion: CreateMessageResult | CreateMessageResultWithTools) -> str:
    blocks = completion.content if isinstance(completion.content, list) else [completion.content]
    return f"{type(completion).__name__} {[block.type for block in blocks]}"


@pytest.mark.rule("SAMP-3")
async def test_tools_for_the_model_need_a_client_that_can_use_them_and_bring_the_result_with_tools(
    connect: Connector,
) -> None:
    several = [False]

    async def sample(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> CreateMessageResult | CreateMessageResultWithTools:
        if several[0]:
            return CreateMessageResultWithTools(role="assistant", content=[LOOK, LOOK], model="m")
        return await model(context, params)

    mcp = tools_server()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("tools", {"given": True}),
        ("tools", {"given": False}),  # an empty list is tools as well
        ("choice", {}),
    ]
    with anyio.fail_after(10):
        async with connect(mcp, sampling_callback=sample) as client:
            for name, arguments in calls:
                with pytest.raises(MCPError, match=r"did not declare the sampling\.tools capability") as caught:
                    await client.call_tool(name, arguments)
                required: Any = {"requiredCapabilities": {"sampling": {"tools": {}}}}
                assert (caught.value.code, caught.value.data) == (MISSING_REQUIRED_CLIENT_CAPABILITY, required)
            assert text_of(await client.call_tool("plain")) == "CreateMessageResult ['text']"
        with_tools = types.SamplingCapability(tools=types.SamplingToolsCapability())
        async with connect(mcp, sampling_callback=sample, sampling_capabilities=with_tools) as client:
            for name, arguments in calls:
                found = text_of(await client.call_tool(name, arguments))
                assert found == "CreateMessageResultWithTools ['text']"
            several[0] = True
            for name, arguments in calls:
                found = text_of(await client.call_tool(name, arguments))
                assert found == "CreateMessageResultWithTools ['tool_use', 'tool_use']"
            failed = await client.call_tool("plain")
    assert failed.is_error
    key = f"{__name__}:ask_model"
    assert text_of(failed) == f"Error executing tool plain: Resolver '{key}' received a response of the wrong kind"


@pytest.mark.rule("SAMP-4")
@pytest.mark.parametrize(("tool", "missing"), [("model", "sampling"), ("roots", "roots")])
async def test_a_client_that_did_not_declare_it_is_asked_nothing(connect: Connector, tool: str, missing: str) -> None:
    with anyio.fail_after(10):
        async with connect(asking_server()) as client:
            with pytest.raises(MCPError, match=f"did not declare the {missing} capability") as caught:
                await client.call_tool(tool)
    assert (caught.value.code, caught.value.data) == (
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        {"requiredCapabilities": {missing: {}}},
    )


@pytest.mark.rule("SAMP-4")
@pytest.mark.parametrize(("tool", "method"), [("model", "sampling/createMessage"), ("roots", "roots/list")])
async def test_an_older_client_without_a_channel_cannot_be_asked(tool: str, method: str) -> None:
    app = asking_server().streamable_http_app(stateless_http=True)
    options: dict[str, Any] = {"sampling_callback": model, "list_roots_callback": roots, "mode": "legacy"}
    with anyio.fail_after(10), serving(app) as port:
        async with Client(f"http://127.0.0.1:{port}/mcp", **options) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool(tool)
    assert (caught.value.code, caught.value.message) == (
        INVALID_REQUEST,
        f"Cannot send {method!r}: this transport context has no back-channel for server-initiated requests.",
    )


async def outcome(question: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await question()
    except NoBackChannelError as error:
        return error


@pytest.mark.rule("SAMP-5")
async def test_asking_in_the_middle_of_a_call_warns_first_and_works_with_older_clients(connect: Connector) -> None:
    found: list[Any] = []
    mcp = MCPServer("asking")

    @mcp.tool()
    async def ask(ctx: Context) -> str:
        questions: list[tuple[str, Callable[[], Awaitable[Any]]]] = [
            ("sampling", lambda: ctx.session.create_message(prompt_of("2+2?"), max_tokens=5)),  # pyright: ignore[reportDeprecated]
            ("roots", ctx.session.list_roots),  # pyright: ignore[reportDeprecated]
        ]
        for capability, question in questions:
            text = rf"^The {capability} capability is deprecated as of 2026-07-28 \(SEP-2577\)\.$"
            with pytest.warns(MCPDeprecationWarning, match=text) as caught:
                found.append(await outcome(question))
            assert len(caught) == 1
        return "done"

    with anyio.fail_after(10):
        async with connect(mcp, sampling_callback=model, list_roots_callback=roots) as client:
            assert text_of(await client.call_tool("ask")) == "done"
    if connect.way == "legacy":
        assert [type(each) for each in found] == [CreateMessageResult, ListRootsResult]
    else:
        assert [error.method for error in found] == ["sampling/createMessage", "roots/list"]


@pytest.mark.rule("SAMP-6")
async def test_a_root_that_is_no_file_is_no_root() -> None:
    mcp = asking_server()
    wrong = {"roots": [{"uri": "https://example.com/a"}]}
    async with wire.connect(mcp, capabilities={"roots": {}}) as peer:
        asked = await peer.call("roots")
        [key] = asked["inputRequests"]
        retry = {"name": "roots", "requestState": asked["requestState"], "inputResponses": {key: wrong}}
        with pytest.raises(MCPError) as caught:
            await peer.request("tools/call", retry)
        assert caught.value.code == INVALID_PARAMS
        assert key in str(caught.value.data)
    async with pipe(mcp._lowlevel_server) as client:
        await client.request("hello", "initialize", {**HELLO, "capabilities": {"roots": {}}}, modern=False)
        await client.result()
        await client.request(2, "tools/call", {"name": "roots"}, modern=False)
        question = await client.question()
        await client.send({"id": question.request_id, "result": wrong})
        result = (await client.result()).result
    assert result["isError"] is True
    assert result["content"][0]["text"] == (
        f"Error executing tool roots: Resolver '{key}' received a response of the wrong kind"
    )
