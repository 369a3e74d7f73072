"""Calls that need answers before they can finish, over every way between client and server."""

from __future__ import annotations

import json
import logging
import threading
from typing import Annotated, Any

import anyio
import anyio.to_thread
import pytest
from pydantic import BaseModel

import mcp_types as types
from mcp.client import Client, ClientRequestContext, InputRequiredRoundsExceededError
from mcp.server import Server, ServerRequestContext
from mcp.server.elicitation import AcceptedUrlElicitation, ElicitationResult
from mcp.server.mcpserver import (
    Context,
    Elicit,
    ElicitUrl,
    ListRoots,
    MCPServer,
    RequestStateBoundary,
    RequestStateSecurity,
    Resolve,
    Sample,
)
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import INVALID_PARAMS, SERVER_INFO_META_KEY, ElicitResult, InputRequiredResult
from tests.interaction.test_verbs import text_of
from tests.interaction.transports import Connector

pytestmark = pytest.mark.modern

KEY = "k" * 32
FORM = {"type": "object", "properties": {"region": {"type": "string"}}, "required": ["region"]}
ASK = types.ElicitRequest(params=types.ElicitRequestFormParams(message="Which region?", requested_schema=FORM))
ASK_URL = types.ElicitRequest(params=types.ElicitRequestURLParams(message="Sign in", url="https://example.com/in"))
ASK_ROOTS = types.ListRootsRequest()
ASK_MODEL = types.CreateMessageRequest(
    params=types.CreateMessageRequestParams(
        messages=[types.SamplingMessage(role="user", content=types.TextContent(type="text", text="2+2?"))], max_tokens=5
    )
)


class User:
    """Fills in forms with what it knows, and remembers what it was asked."""

    def __init__(self, action: str = "accept", **knows: Any) -> None:
        self.action = action
        self.knows = knows
        self.asked: list[str] = []

    async def __call__(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        if self.action != "accept" or isinstance(params, types.ElicitRequestURLParams):
            return ElicitResult.model_validate({"action": self.action})
        fields = params.requested_schema["properties"]
        return ElicitResult(action="accept", content={name: self.knows[name] for name in fields})


async def model(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="four"), model="m")


async def roots(context: ClientRequestContext) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///a", "name": "A"}]})


def region_in(responses: types.InputResponses | None) -> str | None:
    answer = (responses or {}).get("region")
    if not isinstance(answer, ElicitResult) or answer.content is None:
        return None
    return str(answer.content["region"])


def asking_server(security: RequestStateSecurity | None = None, seen: list[Any] | None = None) -> MCPServer:
    mcp = MCPServer("asking", request_state_security=security)

    def region(ctx: Context) -> str | None:
        if seen is not None:
            seen.append((ctx.request_state, ctx.input_responses))
        return region_in(ctx.input_responses)

    @mcp.tool()
    async def provision(name: str, ctx: Context) -> str | InputRequiredResult:
        found = region(ctx)
        if found is None:
            return InputRequiredResult(input_requests={"region": ASK}, request_state=f"for {name}")
        return f"{name} in {found}, {ctx.request_state}"

    @mcp.prompt()
    async def brief(topic: str, ctx: Context) -> str | InputRequiredResult:
        found = region(ctx)
        if found is None:
            return InputRequiredResult(input_requests={"region": ASK}, request_state=f"about {topic}")
        return f"{topic} in {found}, {ctx.request_state}"

    @mcp.resource("report://{name}")
    async def report(name: str, ctx: Context) -> str | InputRequiredResult:
        found = region(ctx)
        if found is None:
            return InputRequiredResult(input_requests={"region": ASK}, request_state=f"of {name}")
        return f"{name} in {found}, {ctx.request_state}"

    return mcp


async def ask_all(client: Client) -> list[str]:
    """Ask for the tool, the prompt and the resource; each asks a question first."""
    prompt = await client.get_prompt("brief", {"topic": "tea"})
    resource = await client.read_resource("report://q3")
    [message] = prompt.messages
    [contents] = resource.contents
    assert isinstance(message.content, types.TextContent)
    assert isinstance(contents, types.TextResourceContents)
    return [text_of(await client.call_tool("provision", {"name": "db"})), message.content.text, contents.text]


@pytest.mark.rule("BASE-R-01")
@pytest.mark.rule("MRTR-1", "MRTR-14", "MRTR-24", "MRTR-52", "MRTR-S-01", "MRTR-S-02", "MRTR-S-04", "MRTR-S-21")
@pytest.mark.rule("MRTR-S-06", "MRTR-S-07", "MRTR-S-10")
async def test_tools_prompts_and_templates_ask_and_finish_with_the_answer(connect: Connector) -> None:
    user = User(region="eu")
    with anyio.fail_after(10):
        async with connect(asking_server(), elicitation_callback=user) as client:
            answers = await ask_all(client)
    assert answers == ["db in eu, for db", "tea in eu, about tea", "q3 in eu, of q3"]
    assert user.asked == ["Which region?"] * 3
    for method in ("tools/call", "prompts/get", "resources/read"):
        first, retry = connect.record.of(method)
        assert first.result["resultType"] == "input_required"
        assert first.result["inputRequests"] == {
            "region": {
                "method": "elicitation/create",
                "params": {"mode": "form", "message": "Which region?", "requestedSchema": FORM},
            }
        }
        assert "for" not in first.result["requestState"].split()
        assert retry.result["resultType"] == "complete"


@pytest.mark.rule("MRTR-5", "MRTR-C-01", "MRTR-C-02", "MRTR-C-04", "MRTR-C-05", "MRTR-C-07", "MRTR-C-09")
async def test_the_retry_is_the_same_request_with_the_answers_and_the_state_under_a_new_id(connect: Connector) -> None:
    with anyio.fail_after(10):
        async with connect(asking_server(), elicitation_callback=User(region="eu")) as client:
            await ask_all(client)
    for method in ("tools/call", "prompts/get", "resources/read"):
        first, retry = connect.record.of(method)
        assert retry.params == {
            **first.params,
            "inputResponses": {"region": {"action": "accept", "content": {"region": "eu"}}},
            "requestState": first.result["requestState"],
        }
        assert {
            "io.modelcontextprotocol/protocolVersion",
            "io.modelcontextprotocol/clientCapabilities",
        } <= retry.params["_meta"].keys()
        assert retry.request_id != first.request_id


@pytest.mark.rule("MRTR-13", "MRTR-S-20", "LOW-69", "MRTR-S-14")
async def test_a_low_level_server_returns_questions_and_sees_the_state_as_it_came(connect: Connector) -> None:
    seen: list[str | None] = []

    async def call_tool(
        ctx: ServerRequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | InputRequiredResult:
        seen.append(params.request_state)
        region = region_in(params.input_responses)
        if region is None:
            return InputRequiredResult(input_requests={"region": ASK}, request_state="step é 1")
        return types.CallToolResult(content=[types.TextContent(type="text", text=region)])

    async def get_prompt(ctx: ServerRequestContext, params: types.GetPromptRequestParams) -> InputRequiredResult:
        seen.append(params.request_state)
        return InputRequiredResult(request_state="more")

    async def read(ctx: ServerRequestContext, params: types.ReadResourceRequestParams) -> InputRequiredResult:
        seen.append(params.request_state)
        return InputRequiredResult(input_requests={"region": ASK})

    server = Server("low", on_call_tool=call_tool, on_get_prompt=get_prompt, on_read_resource=read)
    with anyio.fail_after(10):
        async with connect(server, elicitation_callback=User(region="us")) as client:
            assert text_of(await client.call_tool("t")) == "us"
            assert text_of(await client.call_tool("t", request_state="invented", input_responses={})) == "us"
            prompt = await client.session.get_prompt("p", allow_input_required=True)
            resource = await client.session.read_resource("x://y", allow_input_required=True)
    assert seen == [None, "step é 1", "invented", "step é 1", None, None]
    assert isinstance(prompt, InputRequiredResult)
    assert (prompt.request_state, prompt.input_requests) == ("more", None)
    assert isinstance(resource, InputRequiredResult)
    assert resource.request_state is None
    assert list(resource.input_requests or {}) == ["region"]


@pytest.mark.rule("LOW-68", "MRTR-50", "MRTR-S-11", "MRTR-S-12", "MRTR-S-13")
async def test_a_low_level_server_seals_the_state_once_it_has_the_boundary(connect: Connector) -> None:
    seen: list[str | None] = []

    async def call_tool(ctx: ServerRequestContext, params: types.CallToolRequestParams) -> InputRequiredResult:
        seen.append(params.request_state)
        return InputRequiredResult(request_state="plain text")

    server = Server("low", on_call_tool=call_tool)
    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity(keys=[KEY]), default_audience=server.name),
    )
    with anyio.fail_after(10):
        async with connect(server) as client:
            first = await client.session.call_tool("t", allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
            assert first.request_state is not None
            assert "plain" not in first.request_state
            await client.session.call_tool("t", request_state=first.request_state, allow_input_required=True)
            for forged in ("plain text", first.request_state + "A", ""):
                with pytest.raises(MCPError) as caught:
                    await client.session.call_tool("t", request_state=forged, allow_input_required=True)
                assert caught.value.error == types.ErrorData(
                    code=INVALID_PARAMS, message="Invalid or expired requestState"
                )
    assert seen == [None, "plain text"]


@pytest.mark.rule("MRTR-39")
async def test_an_author_ties_answers_to_questions_by_an_identifier_in_the_state(connect: Connector) -> None:
    """The client holds the answer to the first question back and gives it to the second one, under the same key."""
    mcp = MCPServer("wizard")

    def ask(message: str) -> types.ElicitRequest:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))

    @mcp.tool()
    async def delete(ctx: Context) -> str | InputRequiredResult:
        answer = (ctx.input_responses or {}).get("answer")
        asked = ctx.request_state
        if not isinstance(answer, ElicitResult) or answer.content is None or asked is None:
            return InputRequiredResult(input_requests={"answer": ask("Which one?")}, request_state="which")
        name = answer.content["name"]
        if asked == "which":
            return InputRequiredResult(input_requests={"answer": ask(f"Type {name}")}, request_state=f"sure:{name}")
        return f"deleted {name}" if asked == f"sure:{name}" else "that is not what I asked"

    def accept(name: str) -> types.InputResponses:
        return {"answer": ElicitResult(action="accept", content={"name": name})}

    with anyio.fail_after(10):
        async with connect(mcp, elicitation_callback=User(name="db")) as client:
            assert text_of(await client.call_tool("delete")) == "deleted db"
            first = await client.session.call_tool("delete", allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
            second = await client.session.call_tool(
                "delete",
                input_responses=accept("db"),
                request_state=first.request_state,
                allow_input_required=True,
            )
            assert isinstance(second, InputRequiredResult)
            stale = await client.call_tool(
                "delete", input_responses=accept("other"), request_state=second.request_state
            )
    assert text_of(stale) == "that is not what I asked"


class Login(BaseModel):
    username: str


class Amount(BaseModel):
    amount: int


class Confirm(BaseModel):
    sure: bool


async def ask_login() -> Elicit[Login]:
    return Elicit("Who?", Login)


async def ask_amount(item: str) -> Elicit[Amount]:
    return Elicit(f"How many {item}?", Amount)


async def ask_confirm(
    login: Annotated[Login, Resolve(ask_login)], amount: Annotated[Amount, Resolve(ask_amount)]
) -> Elicit[Confirm]:
    return Elicit(f"{login.username}: really {amount.amount}?", Confirm)


async def ask_model(login: Annotated[Login, Resolve(ask_login)]) -> Sample:
    text = types.TextContent(type="text", text=f"A greeting for {login.username}?")
    return Sample([types.SamplingMessage(role="user", content=text)], max_tokens=5)


async def ask_visit() -> ElicitUrl:
    return ElicitUrl("Pay there", "https://example.com/pay")


def resolving_server(security: RequestStateSecurity | None = None, runs: list[str] | None = None) -> MCPServer:
    mcp = MCPServer("resolving", request_state_security=security)

    @mcp.tool()
    async def order(
        item: str,
        login: Annotated[Login, Resolve(ask_login)],
        amount: Annotated[Amount, Resolve(ask_amount)],
        confirm: Annotated[Confirm, Resolve(ask_confirm)],
    ) -> str:
        if runs is not None:
            runs.append(item)
        return f"{login.username}: {amount.amount} {item}, {confirm.sure}"

    @mcp.tool()
    async def tolerant(login: Annotated[ElicitationResult[Login], Resolve(ask_login)]) -> str:
        return login.action

    @mcp.tool()
    async def greet(
        completion: Annotated[types.CreateMessageResult, Resolve(ask_model)],
        found: Annotated[types.ListRootsResult, Resolve(ListRoots)],
    ) -> str:
        assert isinstance(completion.content, types.TextContent)
        return f"{completion.content.text} {found.roots[0].uri}"

    @mcp.tool()
    async def pay(visit: Annotated[AcceptedUrlElicitation, Resolve(ask_visit)]) -> str:
        return visit.action

    return mcp


@pytest.mark.rule("DEP-22", "MRTR-53", "MRTR-S-22")
async def test_independent_questions_share_a_round_and_the_dependent_one_comes_in_the_next(connect: Connector) -> None:
    runs: list[str] = []
    user = User(username="bob", amount=3, sure=True)
    with anyio.fail_after(10):
        async with connect(resolving_server(runs=runs), elicitation_callback=user) as client:
            result = await client.call_tool("order", {"item": "tea"})
    assert text_of(result) == "bob: 3 tea, True"
    assert sorted(user.asked[:2]) == ["How many tea?", "Who?"]
    assert user.asked[2:] == ["bob: really 3?"]
    assert runs == ["tea"]
    first, second, last = connect.record.of("tools/call")
    asked = [
        sorted(request["params"]["message"] for request in exchange.result["inputRequests"].values())
        for exchange in (first, second)
    ]
    assert asked == [["How many tea?", "Who?"], ["bob: really 3?"]]
    assert last.params["inputResponses"].keys() == second.result["inputRequests"].keys()
    assert last.params["requestState"] == second.result["requestState"]


@pytest.mark.rule("MRTR-56", "MRTR-C-03", "MRTR-S-05")
async def test_a_server_that_is_not_ready_is_polled_with_its_state(connect: Connector) -> None:
    mcp = MCPServer("slow")

    @mcp.tool()
    async def build(ctx: Context) -> str | InputRequiredResult:
        done = int(ctx.request_state or 0)
        return "built" if done == 3 else InputRequiredResult(request_state=str(done + 1))

    with anyio.fail_after(10):
        async with connect(mcp) as client:
            assert text_of(await client.call_tool("build")) == "built"
    calls = connect.record.of("tools/call")
    assert len(calls) == 4
    assert all("inputResponses" not in call.params for call in calls)


@pytest.mark.rule("MRTR-C-06", "MRTR-62")
async def test_a_state_is_not_carried_on_once_the_server_sends_none(connect: Connector) -> None:
    seen: list[str | None] = []

    async def call_tool(
        ctx: ServerRequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | InputRequiredResult:
        seen.append(params.request_state)
        if len(seen) == 3:
            return types.CallToolResult(content=[])
        return InputRequiredResult(input_requests={"r": ASK_ROOTS}, request_state="one" if len(seen) == 1 else None)

    with anyio.fail_after(10):
        async with connect(Server("low", on_call_tool=call_tool), list_roots_callback=roots) as client:
            await client.call_tool("t")
    assert seen == [None, "one", None]
    assert ["requestState" in call.params for call in connect.record.of("tools/call")] == [False, True, False]


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_who_says_no_is_understood(connect: Connector, action: str) -> None:
    mcp = resolving_server()
    seen: list[Any] = []

    @mcp.tool()
    async def by_hand(ctx: Context) -> str | InputRequiredResult:
        answer = (ctx.input_responses or {}).get("region")
        seen.append(answer)
        return (
            answer.action if isinstance(answer, ElicitResult) else InputRequiredResult(input_requests={"region": ASK})
        )

    with anyio.fail_after(10):
        async with connect(mcp, elicitation_callback=User(action)) as client:
            strict = await client.call_tool("order", {"item": "tea"})
            tolerant = await client.call_tool("tolerant")
            hand_built = await client.call_tool("by_hand")
    assert strict.is_error
    assert f"elicitation was {action}" in text_of(strict)
    assert (tolerant.is_error, text_of(tolerant)) == (False, action)
    assert text_of(hand_built) == action
    assert seen == [None, ElicitResult.model_validate({"action": action})]


@pytest.mark.rule("MRTR-21", "ELICIT-D5")
async def test_a_user_is_sent_to_a_url(connect: Connector) -> None:
    mcp = resolving_server()

    @mcp.tool()
    async def by_hand(ctx: Context) -> str | InputRequiredResult:
        answer = (ctx.input_responses or {}).get("u")
        return answer.action if isinstance(answer, ElicitResult) else InputRequiredResult(input_requests={"u": ASK_URL})

    @mcp.tool()
    async def by_exception(ctx: Context) -> str:
        if ctx.input_responses is None:
            params = types.ElicitRequestURLParams(message="Go", url="https://example.com/go", elicitation_id="e1")
            raise UrlElicitationRequiredError([params])
        return "went"

    user = User()
    with anyio.fail_after(10):
        async with connect(mcp, elicitation_callback=user) as client:
            answers = [text_of(await client.call_tool(name)) for name in ("pay", "by_hand", "by_exception")]
    assert answers == ["accept", "accept", "went"]
    assert user.asked == ["Pay there", "Sign in", "Go"]
    for call in connect.record.of("tools/call")[::2]:
        [request] = call.result["inputRequests"].values()
        assert request["params"].keys() == {"mode", "message", "url"}
    for call in connect.record.of("tools/call")[1::2]:
        [answer] = call.params["inputResponses"].values()
        assert answer == {"action": "accept"}


async def test_the_model_and_the_roots_are_asked(connect: Connector) -> None:
    mcp = resolving_server()

    @mcp.tool()
    async def by_hand(ctx: Context) -> str | InputRequiredResult:
        if ctx.input_responses is None:
            return InputRequiredResult(input_requests={"m": ASK_MODEL, "r": ASK_ROOTS})
        completion, found = ctx.input_responses["m"], ctx.input_responses["r"]
        assert isinstance(completion, types.CreateMessageResult)
        assert isinstance(completion.content, types.TextContent)
        assert isinstance(found, types.ListRootsResult)
        return f"{completion.content.text} {completion.model} {found.roots[0].name}"

    user = User(username="bob")
    with anyio.fail_after(10):
        async with connect(
            mcp, elicitation_callback=user, sampling_callback=model, list_roots_callback=roots
        ) as client:
            assert text_of(await client.call_tool("greet")) == "four file:///a"
            assert text_of(await client.call_tool("by_hand")) == "four m A"


@pytest.mark.rule("MRTR-D1", "MRTR-S-08")
@pytest.mark.parametrize("ask", [ASK, ASK_URL, ASK_MODEL, ASK_ROOTS])
async def test_what_the_client_did_not_declare_is_not_asked(connect: Connector, ask: types.InputRequest) -> None:
    mcp = MCPServer("asking")

    @mcp.tool()
    async def by_hand() -> InputRequiredResult:
        return InputRequiredResult(input_requests={"q": ask})

    with anyio.fail_after(10):
        async with connect(mcp) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("by_hand")
    assert caught.value.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert "'q'" in caught.value.message


async def answer_by_hand(client: Client, state: str | None, question: dict[str, Any]) -> Any:
    """Answer in another place and time: everything comes from what was stored."""
    assert question["region"]["params"]["message"] == "Which region?"
    responses: types.InputResponses = {"region": ElicitResult(action="accept", content={"region": "eu"})}
    return await client.session.call_tool(
        "provision", {"name": "db"}, input_responses=responses, request_state=state, allow_input_required=True
    )


@pytest.mark.rule("MRTR-65", "MRTR-67", "MRTR-C-12")
async def test_a_round_is_stored_as_json_and_finished_by_another_client(connect: Connector) -> None:
    with anyio.fail_after(10), connect.serve(asking_server()) as target:
        async with Client(target) as client:
            first = await client.session.call_tool("provision", {"name": "db"}, allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
            stored = json.dumps(first.model_dump(mode="json", by_alias=True))
        restored = InputRequiredResult.model_validate(json.loads(stored))
        assert restored == first
        async with Client(target) as client:
            last = await answer_by_hand(client, restored.request_state, json.loads(stored)["inputRequests"])
    assert text_of(last) == "db in eu, for db"


@pytest.mark.rule("MRTR-26", "MRTR-S-22")
@pytest.mark.parametrize("kind", ["by hand", "resolvers"])
async def test_servers_with_the_same_keys_finish_each_others_rounds(connect: Connector, kind: str) -> None:
    def make() -> MCPServer:
        make_one = asking_server if kind == "by hand" else resolving_server
        return make_one(RequestStateSecurity(keys=[KEY]))

    name, arguments = ("provision", {"name": "db"}) if kind == "by hand" else ("order", {"item": "tea"})
    user = User(region="eu", username="bob", amount=3, sure=True)
    with anyio.fail_after(10), connect.serve(make()) as one, connect.serve(make()) as other:
        async with Client(one, elicitation_callback=user) as a, Client(other, elicitation_callback=user) as b:
            clients = [a, b, a]
            result = await a.session.call_tool(name, arguments, allow_input_required=True)
            for client in clients[1:]:
                if not isinstance(result, InputRequiredResult):
                    break
                context = ClientRequestContext(session=client.session, request_id="q")
                answers: types.InputResponses = {}
                for key, request in (result.input_requests or {}).items():
                    answer = await client.session.dispatch_input_request(context, request)
                    assert not isinstance(answer, types.ErrorData)
                    answers[key] = answer
                result = await client.session.call_tool(
                    name,
                    arguments,
                    input_responses=answers,
                    request_state=result.request_state,
                    allow_input_required=True,
                )
    assert isinstance(result, types.CallToolResult)
    assert text_of(result) == ("db in eu, for db" if kind == "by hand" else "bob: 3 tea, True")


@pytest.mark.rule("MRTR-25", "MRTR-41", "MRTR-42", "MRTR-S-13", "TROUBLE-23")
async def test_a_round_does_not_survive_a_restart_without_keys(
    connect: Connector, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []
    with anyio.fail_after(10):
        async with connect(asking_server()) as client:
            first = await client.session.call_tool("provision", {"name": "db"}, allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
        async with connect(asking_server(seen=seen)) as client:
            with caplog.at_level(logging.WARNING, "mcp"), pytest.raises(MCPError) as caught:
                await answer_by_hand(
                    client, first.request_state, first.model_dump(mode="json", by_alias=True)["inputRequests"]
                )
    assert caught.value.error == types.ErrorData(code=INVALID_PARAMS, message="Invalid or expired requestState")
    assert seen == []
    [line] = [record.getMessage() for record in caplog.records if record.name == "mcp.server.request_state"]
    assert line.startswith("requestState rejected on tools/call: unknown key")
    assert "RequestStateSecurity(keys=[...])" in line


@pytest.mark.rule("MRTR-9", "MRTR-S-25", "MRTR-S-26")
async def test_missing_answers_are_asked_for_again_and_superfluous_ones_ignored(connect: Connector) -> None:
    with anyio.fail_after(10):
        async with connect(resolving_server()) as client:
            first = await client.session.call_tool("order", {"item": "tea"}, allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
            requests = dict(first.input_requests or {})
            [login] = [
                key
                for key, request in requests.items()
                if isinstance(request, types.ElicitRequest) and request.params.message == "Who?"
            ]
            partly: types.InputResponses = {
                login: ElicitResult(action="accept", content={"username": "bob"}),
                "nobody asked": ElicitResult(action="accept", content={"x": 1}),
            }
            second = await client.session.call_tool(
                "order",
                {"item": "tea"},
                input_responses=partly,
                request_state=first.request_state,
                allow_input_required=True,
            )
    assert isinstance(second, InputRequiredResult)
    assert (second.input_requests or {}).keys() == requests.keys() - {login}


@pytest.mark.rule("MRTR-63", "PROGRESS-10")
async def test_progress_and_metadata_belong_to_every_leg(connect: Connector) -> None:
    mcp = MCPServer("asking")
    legs: list[Any] = []

    @mcp.tool()
    async def work(ctx: Context) -> str | InputRequiredResult:
        legs.append((ctx.request_context.meta or {}).get("com.example/trace"))
        await ctx.report_progress(len(legs), message=f"leg {len(legs)}")
        return "done" if len(legs) == 3 else InputRequiredResult(input_requests={"r": ASK_ROOTS})

    heard: list[str | None] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    with anyio.fail_after(10):
        async with connect(mcp, list_roots_callback=roots) as client:
            meta: Any = {"com.example/trace": "t1"}
            assert text_of(await client.call_tool("work", progress_callback=listen, meta=meta)) == "done"
    assert heard == ["leg 1", "leg 2", "leg 3"]
    assert legs == ["t1", "t1", "t1"]


@pytest.mark.rule("MRTR-C-08")
async def test_concurrent_calls_keep_their_rounds_apart(connect: Connector) -> None:
    both = threading.Barrier(10)

    mcp = MCPServer("asking")

    @mcp.tool()
    async def pick(number: int, ctx: Context) -> str | InputRequiredResult:
        await anyio.to_thread.run_sync(both.wait, 5)  # all first legs are answered before any second one begins
        answer = (ctx.input_responses or {}).get("region")
        if not isinstance(answer, ElicitResult) or answer.content is None:
            schema = {"type": "object", "properties": {"number": {"type": "integer"}}}
            ask = types.ElicitRequestFormParams(message=f"{number}?", requested_schema=schema)
            request = types.ElicitRequest(params=ask)
            return InputRequiredResult(input_requests={"region": request}, request_state=f"s{number}")
        return f"{number} {answer.content['number']} {ctx.request_state}"

    async def echo(context: ClientRequestContext, params: types.ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"number": int(params.message[:-1])})

    answers: dict[int, str] = {}
    with anyio.fail_after(20):
        async with connect(mcp, elicitation_callback=echo) as client:

            async def call(number: int) -> None:
                answers[number] = text_of(await client.call_tool("pick", {"number": number}))

            async with anyio.create_task_group() as tasks:
                for number in range(10):
                    tasks.start_soon(call, number)
    assert answers == {number: f"{number} {number} s{number}" for number in range(10)}


@pytest.mark.rule("MRTR-55", "MRTR-C-12")
async def test_a_server_that_never_stops_asking_is_given_up(connect: Connector) -> None:
    mcp = MCPServer("asking")

    @mcp.tool()
    async def more() -> InputRequiredResult:
        return InputRequiredResult(input_requests={"r": ASK_ROOTS})

    with anyio.fail_after(10):
        async with connect(mcp, list_roots_callback=roots, input_required_max_rounds=3) as client:
            with pytest.raises(InputRequiredRoundsExceededError):
                await client.call_tool("more")
    assert len(connect.record.of("tools/call")) == 4


@pytest.mark.rule("MRTR-59", "MRTR-C-11", "SERR-29")
async def test_a_question_of_a_kind_that_was_not_declared_fails_the_call_at_the_client(connect: Connector) -> None:
    """A middleware slips the question past the server's own check, with a stamp as if it had been checked."""

    async def slip(ctx: ServerRequestContext, call_next: Any) -> Any:
        if ctx.method != "tools/call":
            return await call_next(ctx)
        stamp = {SERVER_INFO_META_KEY: {"name": "rude", "version": "0"}}
        return {"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}, "_meta": stamp}

    server = Server("rude")
    server.middleware.append(slip)
    with anyio.fail_after(10):
        async with connect(server) as client:
            with pytest.raises(MCPError, match="List roots not supported"):
                await client.call_tool("t")
    assert len(connect.record.of("tools/call")) == 1


@pytest.mark.rule("MRTR-S-03", "MRTR-S-24")
async def test_other_requests_cannot_ask(connect: Connector) -> None:
    async def list_tools(ctx: ServerRequestContext, params: Any) -> Any:
        return InputRequiredResult(request_state="s")

    with anyio.fail_after(10):
        async with connect(Server("low", on_list_tools=list_tools)) as client:
            with pytest.raises(MCPError) as caught:
                await client.list_tools()
    assert (caught.value.code, caught.value.message) == (-32603, "Handler returned an invalid result")
