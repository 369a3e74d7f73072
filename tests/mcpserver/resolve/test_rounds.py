"""Questions on modern connections: what is asked when, what is kept, and which answers count."""

import json
import logging
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from mcp.server._claims import RECORD_MARKER
from mcp.server.elicitation import AcceptedUrlElicitation, DeclinedElicitation, ElicitationResult, UrlElicitationResult
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, ElicitUrl, ListRoots, Resolve, ResolveError, Sample
from mcp.server.mcpserver.resolve.run import ResolvedArguments
from mcp.server.mcpserver.resolve.state import load_record
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import (
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequestURLParams,
    InputRequiredResult,
    ListRootsResult,
    SamplingMessage,
    TextContent,
    Tool,
)
from tests.mcpserver.resolve.rounds import (
    CANCEL,
    DECLINE,
    Amount,
    Call,
    Login,
    accept,
    key,
    make_context,
    plan_of,
)

LOG = "mcp.server._asking"
CHANGED = "Discarding the answer for resolver {!r}: the question changed since it was asked"


async def ask_login() -> Elicit[Login]:
    return Elicit("Who?", Login)


async def ask_amount() -> Elicit[Amount]:
    return Elicit("How much?", Amount)


async def ask_amount_of(login: Annotated[Login, Resolve(ask_login)]) -> Elicit[Amount]:
    return Elicit(f"How much, {login.username}?", Amount)


def both(login: Annotated[Login, Resolve(ask_login)], amount: Annotated[Amount, Resolve(ask_amount)]) -> None: ...


def chain(amount: Annotated[Amount, Resolve(ask_amount_of)]) -> None: ...


class Script:
    """A resolver that answers differently in each round, given the return values."""

    def __init__(self, *returns: Any) -> None:
        self.returns = list(returns)

    async def __call__(self) -> Any:
        return self.returns.pop(0) if len(self.returns) > 1 else self.returns[0]


SCRIPT = f"{__name__}:Script"


@pytest.mark.rule("DEP-22", "DEP-30", "MRTR-1", "MRTR-2")
async def test_a_question_is_returned_and_its_answer_fills_the_parameter() -> None:
    def tool(login: Annotated[Login, Resolve(ask_login)]) -> None: ...

    call = Call(tool)
    result = await call.round()

    assert isinstance(result, InputRequiredResult)
    assert result.request_state is not None
    assert result.model_dump(mode="json", by_alias=True, exclude_none=True)["inputRequests"] == {
        key(ask_login): {
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": "Who?",
                "requestedSchema": {
                    "type": "object",
                    "title": "Login",
                    "properties": {"username": {"type": "string", "title": "Username"}},
                    "required": ["username"],
                },
            },
        }
    }
    assert await call.values({key(ask_login): accept(username="bob")}) == {"login": Login(username="bob")}


@pytest.mark.rule("DEP-23")
async def test_questions_that_do_not_depend_on_one_another_travel_in_one_round() -> None:
    async def nested_login(login: Annotated[Login, Resolve(ask_login)]) -> str:
        return login.username

    def tool(
        name: Annotated[str, Resolve(nested_login)],
        amount: Annotated[Amount, Resolve(ask_amount)],
        later: Annotated[Amount, Resolve(ask_amount_of)],
    ) -> None: ...

    call = Call(tool)

    assert await call.questions() == {key(ask_login): "Who?", key(ask_amount): "How much?"}
    assert await call.questions({key(ask_login): accept(username="bob"), key(ask_amount): accept(amount=1)}) == {
        key(ask_amount_of): "How much, bob?"
    }
    assert await call.values({key(ask_amount_of): accept(amount=2)}) == {
        "name": "bob",
        "amount": Amount(amount=1),
        "later": Amount(amount=2),
    }


@pytest.mark.rule("DEP-24", "MRTR-9")
async def test_a_partial_answer_is_kept_and_only_the_rest_is_asked_again() -> None:
    call = Call(both)
    await call.questions()

    assert await call.questions({key(ask_login): accept(username="bob"), "unknown": DECLINE}) == {
        key(ask_amount): "How much?"
    }
    assert await call.questions({}) == {key(ask_amount): "How much?"}
    values = await call.values({key(ask_amount): accept(amount=1)})

    assert values == {"login": Login(username="bob"), "amount": Amount(amount=1)}


@pytest.mark.rule("DEP-22")
async def test_a_resolver_body_runs_in_every_round() -> None:
    rounds: list[int] = []

    async def counting() -> Elicit[Login]:
        rounds.append(len(rounds))
        return Elicit("Who?", Login)

    def tool(login: Annotated[Login, Resolve(counting)], amount: Annotated[Amount, Resolve(ask_amount)]) -> None: ...

    call = Call(tool)
    await call.questions()
    await call.questions({key(counting): accept(username="bob")})
    await call.values({key(ask_amount): accept(amount=1)})

    assert rounds == [0, 1, 2]


@pytest.mark.rule("DEP-25")
async def test_a_computed_value_wins_over_a_recorded_answer_which_is_still_there_when_it_asks_again() -> None:
    ask = Elicit("Who?", Login)
    script = Script(ask, ask, Login(username="computed"), ask)

    def tool(login: Annotated[Login, Resolve(script)], amount: Annotated[Amount, Resolve(ask_amount)]) -> None: ...

    call = Call(tool)
    await call.questions()
    await call.questions({SCRIPT: accept(username="asked")})
    assert await call.questions({}) == {key(ask_amount): "How much?"}
    values = await call.values({key(ask_amount): accept(amount=1)})

    assert values["login"] == Login(username="asked")


@pytest.mark.rule("DEP-25")
async def test_an_answer_to_a_resolver_that_does_not_ask_is_ignored() -> None:
    script = Script(Elicit("Who?", Login), Login(username="computed"))

    def tool(login: Annotated[Login, Resolve(script)]) -> None: ...

    call = Call(tool)
    await call.questions()

    assert await call.values({SCRIPT: DECLINE}) == {"login": Login(username="computed")}


@pytest.mark.rule("DEP-27")
@pytest.mark.parametrize("refusal", [DECLINE, CANCEL])
async def test_a_refusal_is_recorded_and_not_asked_again(refusal: dict[str, Any]) -> None:
    def tool(
        login: Annotated[ElicitationResult[Login], Resolve(ask_login)], amount: Annotated[Amount, Resolve(ask_amount)]
    ) -> None: ...

    call = Call(tool)
    await call.questions()
    assert list(await call.questions({key(ask_login): refusal})) == [key(ask_amount)]
    values = await call.values({key(ask_amount): accept(amount=1)})

    assert values["login"].action == refusal["action"]


@pytest.mark.rule("DEP-26", "MRTR-37", "MRTR-38")
async def test_a_reworded_question_is_asked_again_and_the_old_answer_is_never_consumed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script = Script(Elicit("Delete 1 file?", Login), Elicit("Delete all files?", Login))

    def tool(login: Annotated[Login, Resolve(script)]) -> None: ...

    call = Call(tool)
    await call.questions()
    with caplog.at_level(logging.INFO, LOG):
        assert await call.questions({SCRIPT: accept(username="yes to one")}) == {SCRIPT: "Delete all files?"}

    assert [(record.levelname, record.message) for record in caplog.records] == [("INFO", CHANGED.format(SCRIPT))]
    assert await call.values({SCRIPT: accept(username="yes")}) == {"login": Login(username="yes")}


@pytest.mark.rule("DEP-26", "MRTR-37")
async def test_a_changed_schema_is_another_question() -> None:
    class Wider(BaseModel):
        username: str
        password: str = ""

    script = Script(Elicit("Who?", Login), Elicit("Who?", Wider))

    def tool(login: Annotated[Any, Resolve(script)]) -> None: ...

    call = Call(tool)
    await call.questions()

    assert await call.questions({SCRIPT: accept(username="bob")}) == {SCRIPT: "Who?"}
    assert await call.values({SCRIPT: accept(username="bob")}) == {"login": Wider(username="bob")}


@pytest.mark.rule("DEP-26")
async def test_a_recorded_decline_does_not_suppress_a_reworded_question() -> None:
    first, second = Elicit("Old?", Login), Elicit("New?", Login)
    script = Script(first, first, second)

    def tool(
        login: Annotated[ElicitationResult[Login], Resolve(script)], amount: Annotated[Amount, Resolve(ask_amount)]
    ) -> None: ...

    call = Call(tool)
    await call.questions()
    await call.questions({SCRIPT: DECLINE})

    assert await call.questions({key(ask_amount): accept(amount=1)}) == {SCRIPT: "New?"}
    assert (await call.values({SCRIPT: accept(username="x")}))["amount"] == Amount(amount=1)


@pytest.mark.rule("DEP-26", "DEP-24")
async def test_answers_behind_a_question_that_changed_are_kept_for_later() -> None:
    first, second = Elicit("First?", Login), Elicit("Second?", Login)
    script = Script(first, first, second)

    async def after(login: Annotated[Login, Resolve(script)]) -> Elicit[Amount]:
        return Elicit("How much?", Amount)

    def tool(amount: Annotated[Amount, Resolve(after)]) -> None: ...

    call = Call(tool)
    await call.questions()
    assert await call.questions({SCRIPT: accept(username="a")}) == {key(after): "How much?"}
    assert await call.questions({key(after): accept(amount=7)}) == {SCRIPT: "Second?"}

    assert await call.values({SCRIPT: accept(username="b")}) == {"amount": Amount(amount=7)}


@pytest.mark.rule("MRTR-37")
async def test_an_answer_without_the_state_that_asked_is_not_consumed(caplog: pytest.LogCaptureFixture) -> None:
    def tool(login: Annotated[Login, Resolve(ask_login)]) -> None: ...

    call = Call(tool)

    with caplog.at_level(logging.INFO, LOG):
        assert await call.questions({key(ask_login): accept(username="bob")}, state=None) == {key(ask_login): "Who?"}
    assert "it came without the state that asked for it" in caplog.text
    await call.questions()
    assert await call.questions({key(ask_login): accept(username="bob")}, state="written by hand") == {
        key(ask_login): "Who?"
    }


async def test_an_answer_cannot_replace_one_that_is_recorded() -> None:
    call = Call(both)
    await call.questions()
    await call.questions({key(ask_login): accept(username="first")})

    values = await call.values({key(ask_amount): accept(amount=1), key(ask_login): accept(username="second")})

    assert values["login"] == Login(username="first")


@pytest.mark.rule("MRTR-38")
async def test_a_volatile_question_is_asked_each_round_with_one_warning_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script = Script(*(Elicit(f"At {second} o'clock?", Login) for second in range(6)))

    def tool(login: Annotated[Login, Resolve(script)]) -> None: ...

    call = Call(tool)
    await call.questions()
    with caplog.at_level(logging.INFO, LOG):
        for second in range(1, 5):
            assert await call.questions({SCRIPT: accept(username="x")}) == {SCRIPT: f"At {second} o'clock?"}

    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING", "INFO", "INFO"]
    assert all(record.message.startswith(CHANGED.format(SCRIPT)) for record in caplog.records)


class Aliased(BaseModel):
    city: str = Field(validation_alias="in", serialization_alias="out")
    nick: str | None = Field(alias="nickName")


@pytest.mark.rule("DEP-28", "DEP-29", "ELICIT-D2")
async def test_answers_are_kept_as_the_client_sent_them() -> None:
    async def ask() -> Elicit[Aliased]:
        return Elicit("Where?", Aliased)

    def tool(place: Annotated[Aliased, Resolve(ask)], amount: Annotated[Amount, Resolve(ask_amount)]) -> None: ...

    call = Call(tool)
    await call.questions()
    await call.questions({key(ask): accept(**{"in": "Łódź \ud800", "extra": ["x"], "nothing": None})})

    assert call.state is not None
    assert json.loads(call.state)["answers"][key(ask)][1] == {
        "action": "accept",
        "content": {"in": "Łódź \ud800", "extra": ["x"], "nothing": None},
    }
    await call.questions({})
    values = await call.values({key(ask_amount): accept(amount=1)})
    assert values["place"].model_dump() == {"city": "Łódź \ud800", "nick": None}


@pytest.mark.rule("DEP-26")
async def test_a_recorded_answer_that_no_longer_fits_is_asked_again_without_an_error() -> None:
    strict = False

    class Picky(BaseModel):
        username: str

        def model_post_init(self, context: Any, /) -> None:
            if strict:
                raise ValueError("no more")

    async def ask() -> Elicit[Picky]:
        return Elicit("Who?", Picky)

    def tool(login: Annotated[Picky, Resolve(ask)], amount: Annotated[Amount, Resolve(ask_amount)]) -> None: ...

    call = Call(tool)
    await call.questions()
    await call.questions({key(ask): accept(username="bob")})
    strict = True

    assert await call.questions({key(ask_amount): accept(amount=1)}) == {key(ask): "Who?"}


@pytest.mark.parametrize(
    "spoilt",
    [
        {"answers": {"k": ["digest"]}},
        {"answers": [1]},
        {"asked": {"k": 5}},
        {"changed": {"k": "x"}, "refused": 3},
        {RECORD_MARKER: 2, "asked": {"k": "d"}},
    ],
)
def test_a_record_with_odd_members_is_read_without_them(spoilt: dict[str, Any]) -> None:
    record = load_record(json.dumps({RECORD_MARKER: 1, **spoilt}, separators=(",", ":")))

    assert (record.asked, record.answers, record.changed, record.refused) == ({}, {}, {}, {})
    assert load_record(f'{{"{RECORD_MARKER}":1,').answers == {}


BAD_ANSWERS: list[tuple[dict[str, Any], str]] = [
    ({"action": "accept"}, "received an accepted elicitation with no content"),
    (
        accept(username=["pydantic", "must", "not", "show"]),
        "received an accepted elicitation whose content does not match the requested schema",
    ),
    ({"roots": []}, "received a non-elicitation response"),
]


@pytest.mark.rule("DEP-29", "DEP-D4")
@pytest.mark.parametrize(("answer", "problem"), BAD_ANSWERS)
async def test_a_bad_answer_fails_the_call_with_a_fixed_sentence(answer: dict[str, Any], problem: str) -> None:
    def tool(login: Annotated[Login, Resolve(ask_login)]) -> None: ...

    call = Call(tool)
    await call.questions()

    with pytest.raises(ResolveError) as caught:
        await call.round({key(ask_login): answer})
    assert str(caught.value) == f"Resolver '{key(ask_login)}' {problem}"
    assert isinstance(caught.value, ToolError)


async def test_a_bad_answer_is_asked_again_with_advice_while_retries_are_left() -> None:
    def tool(login: Annotated[Login, Resolve(ask_login)], amount: Annotated[Amount, Resolve(ask_amount)]) -> None: ...

    call = Call(tool, max_answer_retries=2)
    await call.questions()

    assert await call.questions({key(ask_login): {"action": "accept"}, key(ask_amount): accept(amount=1)}) == {
        key(ask_login): "The last answer was empty. Who?"
    }
    assert await call.questions({key(ask_login): accept(username=True)}) == {
        key(ask_login): "The last answer does not fit the form (see: username). Who?"
    }
    with pytest.raises(ResolveError, match="with no content"):
        await call.round({key(ask_login): {"action": "accept"}})
    # The digest is that of the author's question: the answer to the repeated one counts.
    assert (await call.values({key(ask_login): accept(username="bob")}))["login"] == Login(username="bob")


HELLO = SamplingMessage(role="user", content=TextContent(type="text", text="hello"))
COMPLETION: dict[str, Any] = {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}
TOOL_USE: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {}}],
    "model": "m",
}


@pytest.mark.rule("DEP-14", "DEP-15", "DEP-16")
async def test_sampling_and_roots_inject_the_raw_result() -> None:
    async def sample() -> Sample:
        return Sample([HELLO], max_tokens=5, system_prompt="Be brief", temperature=0.5)

    async def roots() -> ListRoots:
        return ListRoots()

    def tool(
        completion: Annotated[CreateMessageResult, Resolve(sample)],
        outcome: Annotated[ElicitationResult, Resolve(sample)],
        found: Annotated[ListRootsResult, Resolve(roots)],
        amount: Annotated[Amount, Resolve(ask_amount)],
    ) -> None: ...

    call = Call(tool)
    result = await call.round()
    assert isinstance(result, InputRequiredResult)
    assert result.model_dump(mode="json", by_alias=True, exclude_none=True)["inputRequests"][key(sample)] == {
        "method": "sampling/createMessage",
        "params": {
            "messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}],
            "maxTokens": 5,
            "systemPrompt": "Be brief",
            "temperature": 0.5,
        },
    }
    await call.questions({key(sample): COMPLETION, key(roots): {"roots": [{"uri": "file:///a"}]}})
    values = await call.values({key(ask_amount): accept(amount=1)})

    assert isinstance(values["completion"], CreateMessageResult)
    assert values["completion"] == CreateMessageResult.model_validate(COMPLETION)
    assert values["outcome"].data == values["completion"]
    assert [str(root.uri) for root in values["found"].roots] == ["file:///a"]


@pytest.mark.rule("DEP-18")
@pytest.mark.parametrize("tools", [[], [Tool(name="t", input_schema={"type": "object"})]])
async def test_sampling_with_tools_injects_the_result_with_tools(tools: list[Tool]) -> None:
    async def sample() -> Sample:
        return Sample([HELLO], max_tokens=5, tools=tools)

    def tool(
        completion: Annotated[CreateMessageResultWithTools, Resolve(sample)],
        amount: Annotated[Amount, Resolve(ask_amount)],
    ) -> None: ...

    for answer in (COMPLETION, TOOL_USE):
        call = Call(tool)
        await call.questions()
        await call.questions({key(sample): answer})
        values = await call.values({key(ask_amount): accept(amount=1)})
        assert isinstance(values["completion"], CreateMessageResultWithTools)
        assert values["completion"] == CreateMessageResultWithTools.model_validate(answer)


@pytest.mark.rule("DEP-18", "DEP-D4")
@pytest.mark.parametrize("answer", [TOOL_USE, {"roots": []}, DECLINE])
async def test_an_answer_of_the_wrong_kind_is_named(answer: dict[str, Any]) -> None:
    async def sample() -> Sample:
        return Sample([HELLO], max_tokens=5)

    def tool(completion: Annotated[CreateMessageResult, Resolve(sample)]) -> None: ...

    call = Call(tool)
    await call.questions()

    with pytest.raises(ToolError, match=f"^Resolver '{key(sample)}' received a response of the wrong kind$"):
        await call.round({key(sample): answer})


async def test_roots_answered_by_something_else_are_the_wrong_kind() -> None:
    async def roots() -> ListRoots:
        return ListRoots()

    def tool(found: Annotated[ListRootsResult, Resolve(roots)]) -> None: ...

    call = Call(tool, max_answer_retries=1)
    await call.questions()
    assert await call.questions({key(roots): DECLINE}) == {key(roots): "roots/list"}

    with pytest.raises(ToolError, match="wrong kind"):
        await call.round({key(roots): DECLINE})


@pytest.mark.rule("ELICIT-17", "ELICIT-D5", "MRTR-21")
async def test_a_resolver_can_send_the_user_to_a_url() -> None:
    async def sign_in(item: str) -> ElicitUrl:
        return ElicitUrl(f"Sign in to see {item}", "https://a/b")

    def tool(
        item: str,
        agreed: Annotated[AcceptedUrlElicitation, Resolve(sign_in)],
        outcome: Annotated[UrlElicitationResult, Resolve(sign_in)],
        amount: Annotated[Amount, Resolve(ask_amount)],
    ) -> None: ...
    def relaxed(item: str, outcome: Annotated[UrlElicitationResult, Resolve(sign_in)]) -> None: ...

    call = Call(tool, {"item": "x"})
    assert (await call.questions())[key(sign_in)] == "Sign in to see x"
    await call.questions({key(sign_in): {"action": "accept"}})
    values = await call.values({key(ask_amount): accept(amount=1)})
    assert values["agreed"] == values["outcome"] == AcceptedUrlElicitation()

    refused = Call(relaxed, {"item": "x"})
    await refused.questions()
    assert await refused.values({key(sign_in): DECLINE}) == {"outcome": DeclinedElicitation()}
    await call.questions(state=None)
    with pytest.raises(ToolError, match="'agreed' could not resolve: elicitation was cancel"):
        await call.round({key(sign_in): CANCEL})
    with pytest.raises(ToolError, match="non-elicitation"):
        await call.round({key(sign_in): {"roots": []}})


@pytest.mark.rule("DEP-32", "DEP-33", "DEP-34", "DEP-D8")
@pytest.mark.parametrize(
    ("question", "declared", "name", "required"),
    [
        (Elicit("m", Login), {}, "form elicitation", {"elicitation": {"form": {}}}),
        (Elicit("m", Login), {"elicitation": None}, "form elicitation", {"elicitation": {"form": {}}}),
        (Elicit("m", Login), {"elicitation": {"url": {}}}, "form elicitation", {"elicitation": {"form": {}}}),
        (ElicitUrl("m", "https://a"), {"elicitation": {}}, "url elicitation", {"elicitation": {"url": {}}}),
        (Sample([HELLO], max_tokens=1), {}, "sampling", {"sampling": {}}),
        (Sample([HELLO], max_tokens=1, tools=[]), {"sampling": {}}, "sampling.tools", {"sampling": {"tools": {}}}),
        (
            Sample([HELLO], max_tokens=1, include_context="allServers"),
            {"sampling": {}},
            "sampling.context",
            {"sampling": {"context": {}}},
        ),
        (ListRoots(), {}, "roots", {"roots": {}}),
    ],
)
async def test_nothing_is_asked_that_the_client_did_not_declare(
    question: Any, declared: dict[str, Any], name: str, required: dict[str, Any]
) -> None:
    def tool(value: Annotated[Any, Resolve(Script(question))]) -> None: ...

    with pytest.raises(MCPError) as caught:
        await Call(tool, capabilities=declared).round()

    assert caught.value.code == -32021
    assert caught.value.message == f"Client did not declare the {name} capability required by resolver '{SCRIPT}'"
    assert caught.value.data == {"requiredCapabilities": required}


@pytest.mark.rule("DEP-33", "DEP-34")
@pytest.mark.parametrize(
    ("question", "declared"),
    [
        (Elicit("m", Login), {"elicitation": {}}),
        (Elicit("m", Login), {"elicitation": {"form": {}, "url": {}}}),
        (Sample([HELLO], max_tokens=1), {"sampling": {}}),
        (Sample([HELLO], max_tokens=1, include_context="none"), {"sampling": {}}),
        (Sample([HELLO], max_tokens=1, tools=[]), {"sampling": {"tools": {}}}),
        (ListRoots(), {"roots": {}}),
    ],
)
async def test_what_the_client_declared_is_asked(question: Any, declared: dict[str, Any]) -> None:
    def tool(value: Annotated[Any, Resolve(Script(question))]) -> None: ...

    assert list(await Call(tool, capabilities=declared).questions()) == [SCRIPT]


@pytest.mark.rule("DEP-35")
async def test_a_retry_that_brings_every_answer_needs_no_capability() -> None:
    call = Call(both)
    await call.questions()
    call.capabilities = {}

    values = await call.values({key(ask_login): accept(username="a"), key(ask_amount): accept(amount=1)})

    assert values["amount"] == Amount(amount=1)


def test_a_large_record_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    from mcp.server._asking import Answer, Record
    from mcp.server.mcpserver.resolve.state import dump_record

    record = Record()
    record.answers["k"] = Answer("d", wire={"action": "accept", "content": {"x": "y" * 70_000}})
    with caplog.at_level(logging.WARNING, "mcp.server.mcpserver.resolve.state"):
        dump_record(record)

    assert "characters of requestState" in caplog.text


WANTED = ElicitRequestURLParams(message="Sign in", url="https://a/b", elicitation_id="e1")


async def test_answers_that_were_used_ride_along_when_the_body_needs_a_url() -> None:
    def tool(login: Annotated[Login, Resolve(ask_login)]) -> None: ...

    call = Call(tool)
    await call.questions()
    values = await call.values({key(ask_login): accept(username="bob")})
    assert isinstance(values, ResolvedArguments)
    error = UrlElicitationRequiredError([WANTED])
    values.attach_answers(error)

    assert await call.values({"url:e1": {"action": "accept"}}, state=error.__dict__["request_state"]) == {
        "login": Login(username="bob")
    }


async def test_answers_ride_along_when_a_resolver_needs_a_url() -> None:
    async def needs_url(login: Annotated[Login, Resolve(ask_login)]) -> str:
        raise UrlElicitationRequiredError([WANTED])

    def tool(value: Annotated[str, Resolve(needs_url)]) -> None: ...

    call = Call(tool)
    await call.questions()
    with pytest.raises(UrlElicitationRequiredError) as caught:
        await call.round({key(ask_login): accept(username="bob")})

    assert load_record(caught.value.__dict__["request_state"]).answers.keys() == {key(ask_login)}


async def test_without_answers_there_is_nothing_to_carry() -> None:
    def tool(value: Annotated[int, Resolve(lambda: 1)]) -> None: ...

    values = await plan_of(tool).run({}, make_context())
    assert isinstance(values, ResolvedArguments)
    error = UrlElicitationRequiredError([WANTED])
    values.attach_answers(error)

    assert "request_state" not in error.__dict__


def test_markers_show_what_they_ask() -> None:
    question = Elicit("m", Login)
    sample = Sample([HELLO], max_tokens=3)

    assert (question.message, question.schema) == ("m", Login)
    assert (ElicitUrl("m", "u").message, ElicitUrl("m", "u").url) == ("m", "u")
    assert sample.params.max_tokens == 3
    assert Elicit("m", Login) != question
    assert ListRoots() != ListRoots()


async def test_a_nested_schema_of_an_undeclared_question_fails_when_it_is_asked() -> None:
    class Nested(BaseModel):
        login: Login

    def tool(value: Annotated[Any, Resolve(Script(Elicit("m", Nested)))]) -> None: ...

    with pytest.raises(TypeError, match="field 'login' rendered as"):
        await Call(tool).round()


async def test_chained_questions_take_a_round_each() -> None:
    call = Call(chain)

    assert await call.questions() == {key(ask_login): "Who?"}
    assert await call.questions({key(ask_login): accept(username="bob")}) == {key(ask_amount_of): "How much, bob?"}
    assert await call.values({key(ask_amount_of): accept(amount=3)}) == {"amount": Amount(amount=3)}
