"""Whole calls: a client that answers, a server with resolvers."""

import logging
from copy import deepcopy
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from mcp.client.client import Client
from mcp.client.context import ClientRequestContext
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import InvalidSignature, ToolError
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp.server.mcpserver.server import MCPServer
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    GetPromptResult,
    InputRequiredResult,
    InputResponses,
    ListRootsResult,
    Root,
    SamplingMessage,
    TextContent,
)
from tests.mcpserver.resolve.rounds import Amount, Login, key


async def ask_login() -> Elicit[Login]:
    return Elicit("Who?", Login)


async def ask_amount(login: Annotated[Login, Resolve(ask_login)]) -> Elicit[Amount]:
    return Elicit(f"How much, {login.username}?", Amount)


class User:
    """Fills in forms with what it knows, and remembers what it was asked."""

    def __init__(self, *answers: ElicitResult, **knows: Any) -> None:
        self.answers = list(answers)
        self.knows = knows
        self.asked: list[str] = []
        self.keys: list[str] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        self.keys.append(str(context.request_id))
        if self.answers:
            return self.answers.pop(0)
        if isinstance(params, ElicitRequestURLParams):
            return ElicitResult(action="accept")
        return ElicitResult(
            action="accept",
            content={name: self.knows[name] for name in params.requested_schema["properties"] if name in self.knows},
        )


class Model:
    async def __call__(self, context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="four"), model="m")


async def roots(context: ClientRequestContext) -> ListRootsResult:
    return ListRootsResult(roots=[Root.model_validate({"uri": "file:///work"})])


def connect(server: MCPServer[Any], user: User | None = None, **kwargs: Any) -> Client:
    return Client(server, elicitation_callback=user, **kwargs)


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.rule("DEP-1", "DEP-3", "DEP-10", "DEP-22", "MRTR-6", "MRTR-52")
async def test_a_call_with_questions_looks_to_the_caller_like_any_other() -> None:
    server = MCPServer("shop")
    runs: list[str] = []

    @server.tool()
    async def pay(
        item: str, login: Annotated[Login, Resolve(ask_login)], amount: Annotated[Amount, Resolve(ask_amount)]
    ) -> str:
        runs.append(item)
        return f"{login.username} pays {amount.amount} for {item}"

    user = User(username="bob", amount=3)
    async with connect(server, user) as client:
        (tool,) = (await client.list_tools()).tools
        result = await client.call_tool("pay", {"item": "tea", "login": {"username": "mallory"}})

    assert list(tool.input_schema["properties"]) == ["item"]
    assert tool.input_schema["required"] == ["item"]
    assert text_of(result) == "bob pays 3 for tea"
    assert user.asked == ["Who?", "How much, bob?"]
    assert user.keys == [key(ask_login), key(ask_amount)]
    assert runs == ["tea"]


@pytest.mark.rule("DEP-10", "DEP-12")
async def test_arguments_are_checked_before_any_resolver_runs_and_default_factories_run_once() -> None:
    server = MCPServer("shop")
    made: list[int] = []
    seen: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    def look(number: int) -> int:
        seen.append(number)
        return number

    @server.tool()
    def tool(number: Annotated[int, Field(default_factory=make)], looked: Annotated[int, Resolve(look)]) -> str:
        return f"{number} {looked}"

    async with connect(server) as client:
        refused = await client.call_tool("tool", {"number": "no number"})
        assert refused.is_error
        assert seen == []
        assert text_of(await client.call_tool("tool", {})) == "0 0"
        assert text_of(await client.call_tool("tool", {"number": "5"})) == "5 5"


@pytest.mark.rule("DEP-17", "DEP-27", "MRTR-18", "ELICIT-D3")
async def test_a_refusal_is_a_tool_error_that_the_model_reads() -> None:
    server = MCPServer("shop")

    @server.tool()
    def strict(login: Annotated[Login, Resolve(ask_login)]) -> str:
        raise AssertionError

    @server.tool()
    def relaxed(login: Annotated[ElicitationResult[Login], Resolve(ask_login)]) -> str:
        return login.action

    async with connect(server, User(ElicitResult(action="decline"), ElicitResult(action="cancel"))) as client:
        failed = await client.call_tool("strict", {})
        fine = await client.call_tool("relaxed", {})

    assert failed.is_error
    assert text_of(failed) == (
        "Error executing tool strict: Resolver for parameter 'login' could not resolve: elicitation was decline"
    )
    assert text_of(fine) == "cancel"


@pytest.mark.rule("DEP-14", "DEP-15", "DEP-18", "DEP-21")
async def test_sampling_and_roots_are_answered_by_the_clients_callbacks() -> None:
    server = MCPServer("shop")

    async def sample(number: int) -> Sample:
        text = TextContent(type="text", text=f"{number}?")
        return Sample([SamplingMessage(role="user", content=text)], max_tokens=5)

    @server.tool()
    def tool(
        number: int,
        completion: Annotated[CreateMessageResult, Resolve(sample)],
        found: Annotated[ListRootsResult, Resolve(ListRoots)],
    ) -> str:
        assert isinstance(completion.content, TextContent)
        return f"{completion.content.text} in {found.roots[0].uri}"

    async with connect(server, sampling_callback=Model(), list_roots_callback=roots) as client:
        assert text_of(await client.call_tool("tool", {"number": 4})) == "four in file:///work"


@pytest.mark.rule("DEP-32", "DEP-33", "TROUBLE-20")
async def test_an_undeclared_capability_is_a_protocol_error_and_the_body_does_not_run() -> None:
    server = MCPServer("shop")

    @server.tool()
    def tool(login: Annotated[Login, Resolve(ask_login)]) -> str:
        raise AssertionError

    async with connect(server) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("tool", {})

    assert caught.value.code == -32021
    assert caught.value.message == (
        f"Client did not declare the form elicitation capability required by resolver '{key(ask_login)}'"
    )
    assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


@pytest.mark.rule("DEP-29", "DEP-D4", "ELICIT-D3")
async def test_a_bad_answer_is_a_tool_error_with_a_fixed_sentence() -> None:
    server = MCPServer("shop")

    @server.tool()
    def tool(login: Annotated[Login, Resolve(ask_login)]) -> str:
        raise AssertionError

    async with connect(server, User(username=["not", "text"])) as client:
        result = await client.call_tool("tool", {})

    assert result.is_error
    assert text_of(result) == (
        f"Error executing tool tool: Resolver '{key(ask_login)}' received an accepted elicitation whose content "
        "does not match the requested schema"
    )


async def test_a_server_may_give_the_user_further_tries() -> None:
    server = MCPServer("shop", max_answer_retries=1)

    @server.tool()
    def tool(login: Annotated[Login, Resolve(ask_login)]) -> str:
        return login.username

    user = User(ElicitResult(action="accept", content={}), username="bob")
    async with connect(server, user) as client:
        assert text_of(await client.call_tool("tool", {})) == "bob"

    assert user.asked == ["Who?", "The last answer does not fit the form (see: username). Who?"]


@pytest.mark.rule("MRTR-18")
async def test_a_tool_with_resolvers_cannot_ask_by_itself_as_well() -> None:
    server = MCPServer("shop")

    @server.tool()
    def sly(login: Annotated[Login, Resolve(ask_login)]) -> Any:
        return InputRequiredResult(request_state="mine")

    async with connect(server, User(username="bob")) as client:
        result = await client.call_tool("sly", {})

    assert result.is_error

    def declared(login: Annotated[Login, Resolve(ask_login)]) -> str | InputRequiredResult: ...

    with pytest.raises(InvalidSignature, match="Tool 'declared' combines"):
        server.tool()(declared)


@pytest.mark.rule("DEP-19", "MRTR-19")
async def test_a_direct_call_works_as_long_as_nothing_is_asked() -> None:
    server = MCPServer("shop")

    @server.tool()
    def quiet(value: Annotated[int, Resolve(lambda: 5)]) -> str:
        return str(value)

    @server.tool()
    def asking(login: Annotated[Login, Resolve(ask_login)]) -> str:
        raise AssertionError

    assert "5" in str(await server.call_tool("quiet", {}))
    with pytest.raises(ToolError, match="asks the client a question, which takes a request"):
        await server.call_tool("asking", {})


@pytest.mark.rule("DEP-9", "DEP-D1")
async def test_prompts_and_templates_have_resolvers_too() -> None:
    server = MCPServer("shop")

    @server.prompt()
    def greet(tone: str, login: Annotated[Login, Resolve(ask_login)]) -> str:
        return f"{tone} {login.username}"

    @server.resource("user://{part}")
    def profile(part: str, login: Annotated[Login, Resolve(ask_login)]) -> str:
        return f"{part} of {login.username}"

    async with connect(server, User(username="bob")) as client:
        (prompt,) = (await client.list_prompts()).prompts
        rendered = await client.get_prompt("greet", {"tone": "kind"})
        read = await client.read_resource("user://name")
    async with connect(server, User(ElicitResult(action="decline"), ElicitResult(action="cancel"))) as client:
        with pytest.raises(MCPError) as prompt_failure:
            await client.get_prompt("greet", {"tone": "kind"})
        with pytest.raises(MCPError) as resource_failure:
            await client.read_resource("user://name")

    assert [argument.name for argument in prompt.arguments or []] == ["tone"]
    assert isinstance(rendered, GetPromptResult)
    assert rendered.messages[0].content == TextContent(type="text", text="kind bob")
    assert getattr(read.contents[0], "text", None) == "name of bob"
    refused = "Resolver for parameter 'login' could not resolve: elicitation was"
    assert (prompt_failure.value.code, prompt_failure.value.message) == (
        -32603,
        f"Error rendering prompt greet: {refused} decline",
    )
    assert (resource_failure.value.code, resource_failure.value.message) == (
        -32603,
        f"Error creating resource from template user://name: {refused} cancel",
    )


@pytest.mark.rule("DEP-9", "DEP-D1", "MRTR-15")
def test_static_resources_cannot_have_resolvers() -> None:
    server = MCPServer("shop")

    def static(login: Annotated[Login, Resolve(ask_login)]) -> str: ...

    with pytest.raises(InvalidSignature, match="Resolve"):
        server.resource("user://static")(static)


@pytest.mark.rule("DEP-8", "DEP-D2", "DEP-31", "DEP-D5")
def test_misplaced_markers_and_bad_forms_are_refused_when_the_tool_is_registered() -> None:
    server = MCPServer("shop")

    class Nested(BaseModel):
        login: Login

    async def ask_nested() -> Elicit[Nested]: ...
    def bare(login: Annotated[Login, Resolve]) -> str: ...
    def nested(value: Annotated[Nested, Resolve(ask_nested)]) -> str: ...

    with pytest.raises(InvalidSignature, match="without a resolver"):
        server.tool()(bare)
    with pytest.raises(InvalidSignature, match="not a valid PrimitiveSchemaDefinition"):
        server.tool()(nested)


@pytest.mark.rule("DEP-26", "MRTR-38", "MRTR-55")
async def test_a_volatile_question_ends_at_the_clients_cap(caplog: pytest.LogCaptureFixture) -> None:
    server = MCPServer("shop")
    count = 0

    async def volatile() -> Elicit[Login]:
        nonlocal count
        count += 1
        return Elicit(f"At {count}?", Login)

    @server.tool()
    def tool(login: Annotated[Login, Resolve(volatile)]) -> str:
        raise AssertionError

    async with connect(server, User(username="bob"), input_required_max_rounds=3) as client:
        with caplog.at_level(logging.INFO, "mcp.server._asking"), pytest.raises(RuntimeError, match="3 rounds"):
            await client.call_tool("tool", {})

    levels = [record.levelname for record in caplog.records if record.name == "mcp.server._asking"]
    assert levels == ["INFO", "WARNING", "INFO"]


@pytest.mark.rule("MRTR-24", "MRTR-40", "MRTR-42", "DEP-26")
async def test_the_state_is_opaque_and_a_forged_one_runs_nothing() -> None:
    server = MCPServer("shop")
    runs: list[int] = []

    async def counting() -> Elicit[Login]:
        runs.append(1)
        return Elicit("Who?", Login)

    @server.tool()
    def tool(login: Annotated[Login, Resolve(counting)], ctx: Context) -> str:
        return login.username

    async with connect(server) as client:
        first = await client.session.call_tool("tool", {}, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        assert first.request_state is not None
        assert "resolvers" not in first.request_state
        answers: InputResponses = {key(counting): ElicitResult(action="accept", content={"username": "bob"})}
        with pytest.raises(MCPError, match="Invalid or expired requestState"):
            await client.session.call_tool(
                "tool",
                {},
                input_responses=answers,
                request_state='{"mcp:resolvers":1,"asked":{}}',
                allow_input_required=True,
            )
        assert len(runs) == 1
        result = await client.session.call_tool(
            "tool", {}, input_responses=answers, request_state=first.request_state, allow_input_required=True
        )

    assert isinstance(result, CallToolResult)
    assert text_of(result) == "bob"


@pytest.mark.rule("MRTR-24")
async def test_a_state_that_an_author_wrote_like_a_record_answers_no_question() -> None:
    server = MCPServer("shop")
    forged = f'{{"mcp:resolvers":1,"answers":{{"{key(ask_login)}":["any",{{"action":"accept","content":{{}}}}]}}}}'
    reflected = True

    @server.tool()
    def tool(login: Annotated[Login, Resolve(ask_login)]) -> str:
        return login.username

    class Reflect:
        """An author who puts what the client sent into the state."""

        async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
            if not reflected or ctx.method != "tools/call":
                return await call_next(ctx)
            return InputRequiredResult(request_state=(ctx.params or {})["arguments"]["note"])

    server.middleware.append(Reflect())

    async with connect(server, User(username="bob")) as client:
        first = await client.session.call_tool("tool", {"note": forged}, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        reflected = False
        second = await client.session.call_tool(
            "tool", {"note": forged}, request_state=first.request_state, allow_input_required=True
        )

    assert isinstance(second, InputRequiredResult)
    assert list(second.input_requests or {}) == [key(ask_login)]


WANTED = ElicitRequestURLParams(message="Sign in", url="https://a/b", elicitation_id="e1")


async def test_a_needed_url_visit_is_asked_for_and_recorded_answers_are_not_asked_again() -> None:
    server = MCPServer("shop")
    signed_in = False

    @server.tool()
    def tool(login: Annotated[Login, Resolve(ask_login)]) -> str:
        nonlocal signed_in
        if not signed_in:
            signed_in = True
            raise UrlElicitationRequiredError([WANTED])
        return login.username

    user = User(username="bob")
    async with connect(server, user) as client:
        assert text_of(await client.call_tool("tool", {})) == "bob"

    assert user.asked == ["Who?", "Sign in"]
    assert user.keys == [key(ask_login), "url:e1"]


async def test_a_refused_url_visit_is_a_tool_error_and_elsewhere_a_protocol_error() -> None:
    server = MCPServer("shop")

    @server.tool()
    def tool() -> str:
        raise UrlElicitationRequiredError([WANTED])

    @server.prompt()
    def prompt() -> str:
        raise UrlElicitationRequiredError([WANTED])

    async with connect(server, User(ElicitResult(action="decline"), ElicitResult(action="cancel"))) as client:
        result = await client.call_tool("tool", {})
        with pytest.raises(MCPError, match="URL elicitation was cancel") as caught:
            await client.get_prompt("prompt")

    assert result.is_error
    assert text_of(result) == "Error executing tool tool: URL elicitation was decline"
    assert caught.value.code == -32603


class Share(BaseModel):
    share: float


class Choice(BaseModel):
    some: list[Literal["a", "b"]]


async def ask_share() -> Elicit[Share]:
    return Elicit("What share?", Share)


async def ask_choice(share: Annotated[Share, Resolve(ask_share)]) -> Elicit[Choice]:
    return Elicit("Which?", Choice)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
async def test_an_answer_that_json_cannot_carry_fails_at_the_client(value: float) -> None:
    mcp = MCPServer("s")

    @mcp.tool()
    def once(share: Annotated[Share, Resolve(ask_share)]) -> None: ...

    @mcp.tool()
    def twice(choice: Annotated[Choice, Resolve(ask_choice)]) -> None: ...

    async with Client(mcp, elicitation_callback=User(share=value)) as client:
        for tool in ("once", "twice"):
            with pytest.raises(ValueError, match=r"no form for NaN or infinity, found at .*:ask_share\.content\.share"):
                await client.call_tool(tool)


async def test_a_server_cannot_change_an_answer_under_the_clients_hands() -> None:
    mcp = MCPServer("s")

    @mcp.tool()
    def choose(choice: Annotated[Choice, Resolve(ask_choice)]) -> str:
        choice.some.append("b")
        return ",".join(choice.some)

    async def meddle(ctx: ServerRequestContext, call_next: CallNext) -> HandlerResult:
        answers: dict[str, Any] = (ctx.params or {}).get("inputResponses", {})
        for answer in answers.values():
            answer["content"].get("some", []).append("b")
            answer["content"]["more"] = 1
        return await call_next(ctx)

    mcp.middleware.append(meddle)
    share = ElicitResult(action="accept", content={"share": 1})
    choice = ElicitResult(action="accept", content={"some": ["a"]})
    async with Client(mcp, elicitation_callback=User(share, choice)) as client:
        result = await client.call_tool("choose")
    assert result.structured_content == {"result": "a,b,b"}
    assert (share.content, choice.content) == ({"share": 1}, {"some": ["a"]})


async def test_a_direct_caller_cannot_change_what_clients_are_asked() -> None:
    mcp = MCPServer("s")

    @mcp.tool()
    def tool(login: Annotated[Login, Resolve(ask_login)]) -> None: ...

    @mcp.prompt()
    def prompt(login: Annotated[Login, Resolve(ask_login)]) -> str:
        return login.username

    @mcp.resource("x://{name}")
    def resource(name: str, login: Annotated[Login, Resolve(ask_login)]) -> str:
        return login.username

    found: list[Any] = []

    @mcp.tool()
    async def direct(context: Context) -> None:
        for result in (
            await mcp.call_tool("tool", {}, context=context),
            await mcp.get_prompt("prompt", {}, context=context),
            await mcp.read_resource("x://y", context=context),
        ):
            assert isinstance(result, InputRequiredResult)
            [request] = (result.input_requests or {}).values()
            assert isinstance(request.params, ElicitRequestFormParams)
            found.append(deepcopy(request.params.requested_schema))
            request.params.requested_schema["properties"]["username"]["title"] = "changed"

    user = User(username="bob")
    async with Client(mcp, elicitation_callback=user) as client:
        for _ in range(2):
            assert not (await client.call_tool("direct")).is_error
    assert len(found) == 6
    assert all(schema == found[0] for schema in found)
