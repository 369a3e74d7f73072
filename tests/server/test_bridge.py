"""Questions that a handler returns, put to clients of the handshake era (`legacy_input="bridge"`)."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from pydantic import FileUrl

import mcp_types as types
from mcp.client.client import Client
from mcp.client.context import ClientRequestContext
from mcp.client.sse import sse_client
from mcp.client.transports import InMemoryTransport
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from tests.cases.ways import child
from tests.server import bridge_program
from tests.server.bridge_program import ASK_MODEL, ASK_REGION, build
from tests.server.http.serving import serving
from tests.server.lowlevel.test_pipe import HELLO
from tests.server.lowlevel.wire import pipe

WAYS = ("memory", "streams", "stdio", "http", "sse")
every_way = pytest.mark.parametrize("way", WAYS)


class User:
    """Answers every question; keeps what was asked."""

    def __init__(self, answer: types.ElicitResult | types.ErrorData | None = None) -> None:
        self.answer = answer or types.ElicitResult(action="accept", content={"region": "eu"})
        self.asked: list[types.ElicitRequestParams] = []

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        self.asked.append(params)
        return self.answer

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        content = types.TextContent(type="text", text="Ann")
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async def list_roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///work"))])


@asynccontextmanager
async def legacy(way: str, user: User, **options: Any) -> AsyncGenerator[Client]:
    """A legacy client of the program, with every callback."""
    options |= {
        "mode": "legacy",
        "elicitation_callback": user.elicit,
        "sampling_callback": user.sample,
        "list_roots_callback": user.list_roots,
    }
    with anyio.fail_after(30):
        if way == "memory":
            async with Client(build(), **options) as client:
                yield client
        elif way == "streams":
            async with Client(InMemoryTransport(build()), **options) as client:
                yield client
        elif way == "stdio":
            async with Client(child(bridge_program.__file__), **options) as client:
                yield client
        elif way == "http":
            with serving(build().streamable_http_app()) as port:
                async with Client(f"http://127.0.0.1:{port}/mcp", **options) as client:
                    yield client
        else:
            with serving(build().sse_app()) as port:
                async with Client(sse_client(f"http://127.0.0.1:{port}/sse"), **options) as client:
                    yield client


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.rule("CASE-27")
@every_way
async def test_tools_prompts_and_templates_get_their_answers(way: str) -> None:
    user = User()
    async with legacy(way, user) as client:
        assert client.protocol_version == "2025-11-25"
        called = await client.call_tool("provision", {"name": "orders"})
        prompted = await client.get_prompt("briefing")
        read = await client.read_resource("report://orders")
    assert text_of(called) == "orders in eu, for orders"
    assert called.structured_content == {"result": "orders in eu, for orders"}
    assert prompted.messages[0].content == types.TextContent(type="text", text="About eu")
    assert isinstance(read.contents[0], types.TextResourceContents)
    assert read.contents[0].text == "orders: eu"
    assert len(user.asked) == 3
    (asked, *_) = user.asked
    assert isinstance(asked, types.ElicitRequestFormParams)
    assert (asked.message, asked.requested_schema["title"]) == ("Which region?", "Region")


@every_way
async def test_every_kind_of_question_is_asked_in_one_round(way: str) -> None:
    async with legacy(way, User()) as client:
        result = await client.call_tool("ask_all")
    assert text_of(result) == "eu Ann ['file:///work'] None"


async def test_a_result_with_state_alone_means_to_be_called_again() -> None:
    async with legacy("memory", User()) as client:
        assert text_of(await client.call_tool("count_down", {"start": 3})) == "done, None"


@pytest.mark.rule("MRTR-10")
async def test_without_the_bridge_a_returned_question_is_an_error() -> None:
    for server in (build("error"), MCPServer("default", tools=[bridge_program.provision])):
        async with Client(server, mode="legacy", elicitation_callback=User().elicit) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("provision", {"name": "orders"})
            assert (caught.value.code, caught.value.message) == (-32603, "Handler returned an invalid result")


async def test_modern_clients_drive_the_rounds_themselves() -> None:
    user = User()
    async with Client(build(), elicitation_callback=user.elicit) as client:
        first = await client.session.call_tool("provision", {"name": "orders"}, allow_input_required=True)
        assert isinstance(first, types.InputRequiredResult)
        assert text_of(await client.call_tool("provision", {"name": "orders"})) == "orders in eu, for orders"
    assert len(user.asked) == 1


@pytest.mark.rule("CASE-27")
async def test_a_question_that_the_client_did_not_declare_fails_the_call_before_any_is_sent() -> None:
    user = User()
    async with Client(build(), mode="legacy", elicitation_callback=user.elicit) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("ask_all")
    assert caught.value.code == -32021
    assert caught.value.message == "Client did not declare the sampling capability required by input request 'name'"
    assert caught.value.data == {"requiredCapabilities": {"sampling": {}}}
    assert user.asked == []


@pytest.mark.parametrize("options", [{"stateless_http": True}, {"json_response": True}])
async def test_a_client_that_cannot_be_asked_is_told_so(options: dict[str, bool]) -> None:
    with serving(build().streamable_http_app(**options)) as port, anyio.fail_after(10):  # pyright: ignore[reportArgumentType]
        url = f"http://127.0.0.1:{port}/mcp"
        async with Client(url, mode="legacy", elicitation_callback=User().elicit) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("provision", {"name": "orders"})
            assert text_of(await client.call_tool("count_down", {"start": 1})) == "done, None"
    assert caught.value.code == -32600
    assert caught.value.message.startswith("Cannot send 'elicitation/create'")


async def test_an_error_of_the_client_ends_the_call_and_is_shown() -> None:
    user = User(types.ErrorData(code=-32000, message="not today"))
    async with legacy("memory", user) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("provision", {"name": "orders"})
    assert caught.value.code == -32603
    assert caught.value.message == "The client answered the question of input request 'region' with an error"
    assert caught.value.data == {"code": -32000, "message": "not today"}


async def test_a_refusal_is_an_answer_like_any_other(caplog: pytest.LogCaptureFixture) -> None:
    user = User(types.ElicitResult(action="decline"))
    async with legacy("memory", user) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("provision", {"name": "orders"})  # which asks again and again
    assert (caught.value.code, caught.value.message) == (-32603, "Handler still asked for input after 10 rounds")
    assert len(user.asked) == 10
    assert "The handler for 'tools/call' still asks for input after 10 rounds" in caplog.text


@every_way
async def test_cancelling_the_call_cancels_the_question(way: str) -> None:
    asked, given_up = anyio.Event(), anyio.Event()

    class Thinking(User):
        async def elicit(
            self, context: ClientRequestContext, params: types.ElicitRequestParams
        ) -> types.ElicitResult | types.ErrorData:
            asked.set()
            try:
                await anyio.sleep_forever()
            finally:
                given_up.set()
            raise AssertionError

    async with legacy(way, Thinking()) as client:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "provision", {"name": "orders"})
                await asked.wait()
                tasks.cancel_scope.cancel()
            await given_up.wait()
        assert text_of(await client.call_tool("count_down", {"start": 0})) == "done, None"


class Wire:
    """What a low-level server's handlers and middleware see of a call."""

    def __init__(self, *results: Any) -> None:
        self.results = list(results)
        self.params: list[Any] = []
        self.raw: list[Any] = []
        self.passed = 0

    async def call(self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> Any:
        self.params.append(params)
        self.raw.append(dict(ctx.params or {}))
        return self.results.pop(0)

    async def middleware(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        self.passed += ctx.method == "tools/call"
        return await call_next(ctx)


async def test_handlers_of_the_low_level_server_are_called_with_what_a_modern_client_would_send() -> None:
    question = {"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "https://a/b"}}
    wire = Wire(
        {"resultType": "input_required", "inputRequests": {"visit": question}, "requestState": "one"},
        types.InputRequiredResult(input_requests={"region": ASK_REGION}),
        types.CallToolResult(content=[types.TextContent(type="text", text="done")]),
    )
    server = Server("s", on_call_tool=wire.call, legacy_input="bridge")
    server.middleware.append(wire.middleware)
    user = User()
    async with Client(server, mode="legacy", elicitation_callback=user.elicit) as client:
        assert text_of(await client.call_tool("t", {"a": 1}, meta={"x": 1})) == "done"
    assert wire.passed == 1
    (url, _) = user.asked
    assert isinstance(url, types.ElicitRequestURLParams)
    assert url.elicitation_id
    first, second, third = wire.raw
    accepted = {"action": "accept", "content": {"region": "eu"}}
    assert first == {"name": "t", "arguments": {"a": 1}, "_meta": {"x": 1}}
    assert second == {**first, "inputResponses": {"visit": {"action": "accept"}}, "requestState": "one"}
    assert third == {**first, "inputResponses": {"region": accepted}}
    assert [params.request_state for params in wire.params] == [None, "one", None]
    assert wire.params[2].input_responses == {"region": user.answer}
    assert wire.params[2].meta == {"x": 1}


@pytest.mark.parametrize(
    ("question", "answer", "problem"),
    [
        (types.ListRootsRequest(), {"roots": [{"uri": "https://elsewhere"}]}, "received a response of the wrong kind"),
        (ASK_MODEL, {"roots": []}, "received a response of the wrong kind"),
        (ASK_REGION, {"action": "shrug"}, "received a non-elicitation response"),
    ],
)
async def test_an_answer_of_another_kind_is_no_answer(
    question: types.InputRequest, answer: dict[str, Any], problem: str
) -> None:
    wire = Wire(types.InputRequiredResult(input_requests={"q": question}))
    capabilities: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
    async with pipe(Server("s", on_call_tool=wire.call, legacy_input="bridge")) as client:
        await client.request(1, "initialize", {**HELLO, "capabilities": capabilities}, modern=False)
        await client.result()
        await client.request(2, "tools/call", {"name": "t"}, modern=False)
        asked = await client.question()
        await client.send({"id": asked.request_id, "result": answer})
        error = await client.error()
    assert (error.code, error.message) == (-32603, f"Input request 'q' {problem}")
    assert len(wire.params) == 1


async def test_only_the_three_methods_that_may_ask_are_bridged(caplog: pytest.LogCaptureFixture) -> None:
    async def list_tools(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        return types.InputRequiredResult(input_requests={"region": ASK_REGION})

    user = User()
    server = Server("s", on_list_tools=list_tools, legacy_input="bridge")
    async with Client(server, mode="legacy", elicitation_callback=user.elicit) as client:
        with caplog.at_level(logging.ERROR), pytest.raises(MCPError, match="Handler returned an invalid result"):
            await client.list_tools()
    assert user.asked == []


async def test_tools_that_fail_after_their_answers_fail_as_always() -> None:
    async def fragile(ctx: Context) -> str | types.InputRequiredResult:
        if ctx.input_responses is None:
            return types.InputRequiredResult(input_requests={"region": ASK_REGION})
        raise ValueError("secret")

    server = MCPServer("s", tools=[fragile], legacy_input="bridge")
    async with Client(server, mode="legacy", elicitation_callback=User().elicit) as client:
        result = await client.call_tool("fragile")
    assert result.is_error
    assert "secret" not in text_of(result)


@pytest.mark.parametrize("make", [MCPServer, Server])
def test_any_other_setting_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="legacy_input must be 'error' or 'bridge', got 'ask'"):
        make("s", legacy_input="ask")
