"""`@mcp.tool(resumable=True)`: a tool asks in the middle of its body, and runs again when the answers come."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Annotated, Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

from mcp import Client
from mcp.client import ClientRequestContext
from mcp.server.elicitation import AcceptedElicitation, AcceptedUrlElicitation, DeclinedElicitation
from mcp.server.mcpserver import Context, Elicit, MCPServer, RequestStateSecurity, Resolve
from mcp.server.mcpserver.exceptions import InvalidSignature, ToolError
from mcp.shared.exceptions import MCPError
from mcp.stores import MemoryStore
from mcp.types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsResult,
    Root,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)

KEY = "k" * 32
MODES = pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])


class Text(BaseModel):
    text: str


class Number(BaseModel):
    number: int


class User:
    """Answers forms with what is prepared for their message, or with the message itself; notes what was asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        if isinstance(params, ElicitRequestURLParams):
            return ElicitResult(action="accept")
        assert isinstance(params, ElicitRequestFormParams)
        answer = self.answers.get(params.message, params.message)
        if answer in ("decline", "cancel"):
            return ElicitResult(action=answer)
        [name] = params.requested_schema["properties"]
        return ElicitResult(action="accept", content={name: answer})

    async def sample(self, context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
        content = params.messages[0].content
        assert isinstance(content, TextContent)
        self.asked.append(content.text)
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text=content.text.upper()), model="m"
        )

    async def roots(self, context: ClientRequestContext) -> ListRootsResult:
        self.asked.append("roots")
        return ListRootsResult(roots=[Root(uri="file:///home")])  # pyright: ignore[reportArgumentType]


@asynccontextmanager
async def connected(mcp: MCPServer, mode: str, user: User) -> AsyncGenerator[Client]:
    with anyio.fail_after(20):
        async with Client(
            mcp,
            mode=mode,
            elicitation_callback=user.elicit,
            sampling_callback=user.sample,
            list_roots_callback=user.roots,
        ) as client:
            yield client


def text_of(result: CallToolResult | InputRequiredResult) -> str:
    assert isinstance(result, CallToolResult)
    content = result.content[0]
    assert isinstance(content, TextContent)
    return content.text


async def call(
    mcp: MCPServer, mode: str = "2026-07-28", user: User | None = None, arguments: dict[str, Any] | None = None
) -> str:
    async with connected(mcp, mode, user or User()) as client:
        result = await client.call_tool("tool", arguments or {})
        text = text_of(result)
        return f"failed: {text}" if result.is_error else text


def server_of(fn: Callable[..., Coroutine[Any, Any, Any]], **options: Any) -> MCPServer:
    mcp = MCPServer("server", **options)
    mcp.add_tool(fn, "tool", resumable=True)
    return mcp


async def ask(ctx: Context, message: str) -> str:
    outcome = await ctx.elicit(message, Text)
    return outcome.data.text if isinstance(outcome, AcceptedElicitation) else outcome.action


async def rounds(mcp: MCPServer, user: User, arguments: dict[str, Any] | None = None) -> tuple[str, list[list[str]]]:
    """Call the tool by hand; returns its text and the messages of each round."""
    asked: list[list[str]] = []
    async with connected(mcp, "2026-07-28", user) as client:
        responses: dict[str, Any] | None = None
        state: str | None = None
        while True:
            result = await client.session.call_tool(
                "tool", arguments or {}, input_responses=responses, request_state=state, allow_input_required=True
            )
            if not isinstance(result, InputRequiredResult):
                return text_of(result), asked
            requests = result.input_requests or {}
            asked.append(
                sorted(request.params.message for request in requests.values() if isinstance(request, ElicitRequest))
            )
            responses = {
                key: ElicitResult(action="accept", content={"text": request.params.message})
                for key, request in requests.items()
                if isinstance(request, ElicitRequest)
            }
            state = result.request_state


# Asking


@MODES
async def test_a_question_in_the_middle_returns_its_answer(mode: str) -> None:
    async def tool(city: str, ctx: Context) -> str:
        return f"{city}: {await ask(ctx, 'Which region?')}"

    user = User(**{"Which region?": "eu"})
    assert await call(server_of(tool), mode, user, {"city": "Bonn"}) == "Bonn: eu"
    assert user.asked == ["Which region?"]


@MODES
async def test_earlier_questions_are_not_asked_again(mode: str) -> None:
    async def tool(ctx: Context) -> str:
        first = await ask(ctx, "one")
        second = await ask(ctx, f"two after {first}")
        return f"{first}, {second}, {await ask(ctx, 'three')}"

    user = User()
    assert await call(server_of(tool), mode, user) == "one, two after one, three"
    assert user.asked == ["one", "two after one", "three"]


@MODES
async def test_a_refusal_is_an_outcome_like_any_other(mode: str) -> None:
    async def tool(ctx: Context) -> str:
        first, second = await ctx.elicit("one", Text), await ctx.elicit("two", Text)
        assert isinstance(first, DeclinedElicitation)
        return f"{first.action}, {second.action}"

    assert await call(server_of(tool), mode, User(one="decline", two="cancel")) == "decline, cancel"


@MODES
async def test_samples_roots_and_urls_are_asked_for_like_forms(mode: str) -> None:
    async def tool(ctx: Context) -> str:
        message = SamplingMessage(role="user", content=TextContent(type="text", text="hello"))
        sample = await ctx.sample([message], max_tokens=5)
        roots = await ctx.list_roots()
        url = await ctx.elicit_url("Sign", "https://sign.example", "id-1")
        assert isinstance(sample.content, TextContent)
        assert isinstance(url, AcceptedUrlElicitation)
        return f"{sample.content.text} {roots.roots[0].uri} {url.action}"

    user = User()
    assert await call(server_of(tool), mode, user) == "HELLO file:///home accept"
    assert user.asked == ["hello", "roots", "Sign"]


@MODES
async def test_the_same_question_asked_twice_is_two_questions(mode: str) -> None:
    async def tool(ctx: Context) -> str:
        total = 0
        for _ in range(3):
            outcome = await ctx.elicit("number", Number)
            assert isinstance(outcome, AcceptedElicitation)
            total += outcome.data.number
        return str(total)

    user = User(number=4)
    assert await call(server_of(tool), mode, user) == "12"
    assert user.asked == ["number"] * 3


async def test_the_body_runs_again_from_its_start_in_each_round_and_only_then() -> None:
    runs: list[str] = []

    async def tool(ctx: Context) -> str:
        runs.append("start")
        await ask(ctx, "one")
        runs.append("middle")
        await ask(ctx, "two")
        runs.append("end")
        return "done"

    assert await call(server_of(tool)) == "done"
    assert runs == ["start", "start", "middle", "start", "middle", "end"]
    runs.clear()
    assert await call(server_of(tool), "legacy") == "done"
    assert runs == ["start", "middle", "end"]


async def test_another_instance_with_the_same_key_goes_on() -> None:
    async def tool(ctx: Context) -> str:
        return f"{await ask(ctx, 'one')} {await ctx.once('k', int, '7')} {await ask(ctx, 'two')}"

    responses: dict[str, Any] | None = None
    state: str | None = None
    for _ in range(3):
        mcp = server_of(tool, request_state_security=RequestStateSecurity(keys=[KEY]))
        async with connected(mcp, "2026-07-28", User()) as client:
            result = await client.session.call_tool(
                "tool", {}, input_responses=responses, request_state=state, allow_input_required=True
            )
        if isinstance(result, InputRequiredResult):
            [(key, request)] = (result.input_requests or {}).items()
            assert isinstance(request, ElicitRequest)
            responses = {key: ElicitResult(action="accept", content={"text": request.params.message})}
            state = result.request_state
        else:
            assert text_of(result) == "one 7 two"


@MODES
async def test_an_answer_that_does_not_fit_reaches_the_model_as_an_error(mode: str) -> None:
    async def tool(ctx: Context) -> str:
        return str(await ctx.elicit("number", Number))

    text = await call(server_of(tool), mode, User(number="many"))
    assert text.startswith("failed: Error executing tool tool: Received an accepted elicitation whose content")


@MODES
async def test_an_answer_that_does_not_fit_is_asked_for_again_where_the_server_says_so(mode: str) -> None:
    async def tool(ctx: Context) -> str:
        outcome = await ctx.elicit("number", Number)
        assert isinstance(outcome, AcceptedElicitation)
        return str(outcome.data.number)

    user = User(number="many", **{"The last answer does not fit the form (see: number). number": 3})
    assert await call(server_of(tool, max_answer_retries=1), mode, user) == "3"


@MODES
async def test_a_client_that_cannot_be_asked_is_refused_by_name(mode: str) -> None:
    async def tool(ctx: Context) -> str:
        return await ask(ctx, "one")

    with anyio.fail_after(20):
        async with Client(server_of(tool), mode=mode) as client:
            with pytest.raises(MCPError, match=r"^Client did not declare the .*required by .*") as caught:
                await client.call_tool("tool", {})
    assert caught.value.code == -32021
    assert "ctx.elicit" in str(caught.value)


# Several tasks


async def gather(ctx: Context, *messages: str) -> list[str]:
    answers: dict[str, str] = {}

    async def one(message: str) -> None:
        answers[message] = await ask(ctx, message)

    async with anyio.create_task_group() as group:
        for message in messages:
            group.start_soon(one, message)
    return [answers[message] for message in messages]


@MODES
async def test_tasks_get_their_own_answers(mode: str) -> None:
    async def tool(ctx: Context) -> str:
        return " ".join([*await gather(ctx, "a", "b", "c"), *await gather(ctx, "a", "d")])

    user = User()
    assert await call(server_of(tool), mode, user) == "a b c a d"
    assert sorted(user.asked) == ["a", "a", "b", "c", "d"]


async def test_what_is_asked_at_the_same_time_travels_in_one_round() -> None:
    async def tool(ctx: Context) -> str:
        return " ".join(await gather(ctx, "a", "b", "c"))

    assert await rounds(server_of(tool), User()) == ("a b c", [["a", "b", "c"]])


async def test_a_task_that_comes_to_its_question_later_is_waited_for_a_moment() -> None:
    async def tool(ctx: Context) -> str:
        async def late() -> None:
            for _ in range(50):
                await anyio.lowlevel.checkpoint()
            await ask(ctx, "late")

        async with anyio.create_task_group() as group:
            group.start_soon(late)
            await ask(ctx, "early")
        return "done"

    assert await rounds(server_of(tool), User()) == ("done", [["early", "late"]])


async def test_a_task_that_waits_for_something_else_does_not_hold_the_round_up_for_long() -> None:
    async def tool(ctx: Context) -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            await ask(ctx, "one")
            group.cancel_scope.cancel()
        return "done"

    assert await rounds(server_of(tool), User()) == ("done", [["one"]])


def test_tasks_of_asyncios_own_are_suspended_too() -> None:
    async def tool(ctx: Context) -> str:
        stray = asyncio.create_task(ask(ctx, "stray"))
        texts = await asyncio.gather(ask(ctx, "a"), ask(ctx, "b"))
        return " ".join([*texts, await stray])

    async def main() -> None:
        assert await rounds(server_of(tool), User()) == ("a b stray", [["a", "b", "stray"]])
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


# Suspending


@MODES
async def test_except_exception_does_not_swallow_a_question_and_finally_runs(mode: str) -> None:
    seen: list[str] = []

    async def tool(ctx: Context) -> str:
        try:
            try:
                answer = await ask(ctx, "one")
            except Exception as error:
                seen.append(f"caught {error!r}")
                raise
            return answer
        finally:
            seen.append("finally")

    assert await call(server_of(tool), mode) == "one"
    assert seen == ["finally"] * (1 if mode == "legacy" else 2)


async def test_a_body_that_swallows_everything_is_suspended_all_the_same() -> None:
    async def tool(ctx: Context) -> str:
        answer = "swallowed"
        with contextlib.suppress(BaseException):
            answer = await ask(ctx, "one")
        return answer

    assert await rounds(server_of(tool), User()) == ("one", [["one"]])


async def test_what_a_finally_block_raises_while_suspending_is_logged_and_the_question_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def tool(ctx: Context) -> str:
        answer = None
        try:
            answer = await ask(ctx, "one")
        finally:
            if answer is None:
                raise LookupError("no answer yet")
        return answer

    assert await call(server_of(tool)) == "one"
    [record] = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert record.getMessage() == "tool 'tool' raised while it was suspended; it will run again"


async def test_a_question_in_a_shielded_scope_is_suspended_too() -> None:
    async def tool(ctx: Context) -> str:
        answer = "none"
        with anyio.CancelScope(shield=True):
            answer = await ask(ctx, "one")
        return answer

    assert await rounds(server_of(tool), User()) == ("one", [["one"]])


async def test_a_time_limit_of_the_bodys_own_gives_a_question_up_and_the_body_goes_on() -> None:
    async def tool(ctx: Context) -> str:
        async with anyio.create_task_group() as group:

            async def question() -> None:
                await ask(ctx, "never mind")

            group.start_soon(question)
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        return await ask(ctx, "one")

    assert await rounds(server_of(tool), User()) == ("one", [["one"]])


async def test_a_client_that_leaves_cancels_the_body() -> None:
    seen: list[str] = []

    async def tool(ctx: Context) -> str:
        try:
            await anyio.sleep_forever()
        finally:
            seen.append("cancelled")
        return ""

    async with connected(server_of(tool), "2026-07-28", User()) as client:
        with anyio.move_on_after(0.05):
            await client.call_tool("tool", {})
    assert seen == ["cancelled"]


async def test_a_failure_is_a_failure_whatever_was_asked_before() -> None:
    async def tool(ctx: Context) -> str:
        raise ToolError(await ask(ctx, "one"))

    assert await call(server_of(tool)) == "failed: Error executing tool tool: one"


async def test_a_time_limit_for_the_tool_holds_for_each_round() -> None:
    mcp = MCPServer("server")

    async def tool(ctx: Context) -> str:
        await ask(ctx, "one")
        await anyio.sleep_forever()
        return ""

    mcp.add_tool(tool, "tool", resumable=True, timeout=0.2)
    assert await call(mcp) == "failed: Error executing tool tool: it did not finish within 0.2 seconds"


# Side effects


@MODES
async def test_an_effect_happens_once_however_often_the_body_runs(mode: str) -> None:
    charged: list[int] = []

    async def charge(amount: int, *, currency: str) -> dict[str, Any]:
        charged.append(amount)
        return {"receipt": len(charged), "currency": currency}

    def count() -> int:
        charged.append(0)
        return len(charged)

    async def tool(ctx: Context) -> str:
        receipt = await ctx.once("charge", charge, 5, currency="EUR")
        await ask(ctx, "one")
        counted = await ctx.once("count", count)
        await ask(ctx, "two")
        return (
            f"{receipt['receipt']} {receipt['currency']} {counted} {await ctx.once('charge', charge, 6, currency='')}"
        )

    assert await call(server_of(tool), mode) == "1 EUR 2 {'receipt': 1, 'currency': 'EUR'}"
    assert charged == [5, 0]


@MODES
async def test_a_result_is_its_json_form_from_the_first_time_on(mode: str) -> None:
    async def tool(ctx: Context) -> str:
        model = await ctx.once("model", lambda: Number(number=1))
        items = await ctx.once("tuple", lambda: (1, None))
        items.append("mine alone")
        return f"{model} {items} {await ctx.once('tuple', int)} {await ask(ctx, 'one')}"

    assert await call(server_of(tool), mode) == "{'number': 1} [1, None, 'mine alone'] [1, None] one"


@MODES
async def test_what_raises_has_not_happened(mode: str) -> None:
    tries: list[int] = []

    def flaky() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("not yet")
        return "ok"

    async def tool(ctx: Context) -> str:
        while True:
            try:
                return str(await ctx.once("flaky", flaky))
            except OSError:
                pass

    assert await call(server_of(tool), mode) == "ok"
    assert len(tries) == 3


@pytest.mark.parametrize("value", [object(), float("nan"), {1, object()}])
async def test_a_result_that_is_no_json_is_an_error_that_names_the_key(
    value: object, caplog: pytest.LogCaptureFixture
) -> None:
    async def tool(ctx: Context) -> str:
        return str(await ctx.once("thing", lambda: value))

    assert await call(server_of(tool)) == "failed: Error executing tool tool"
    assert f"ctx.once('thing', ...) has to record a result that is JSON, got {type(value).__name__}" in caplog.text


async def test_two_tasks_with_one_key_share_one_effect() -> None:
    calls: list[int] = []

    async def effect() -> int:
        calls.append(1)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        return len(calls)

    async def tool(ctx: Context) -> str:
        results: list[int] = []

        async def one() -> None:
            results.append(await ctx.once("key", effect))

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            group.start_soon(one)
        return str(results)

    assert await call(server_of(tool)) == "[1, 1]"


async def test_an_effect_that_runs_beside_a_question_is_waited_for_and_recorded() -> None:
    finished: list[int] = []

    async def slow() -> str:
        await anyio.sleep(0.15)  # longer than a body is given to settle
        finished.append(1)
        return "slow"

    async def tool(ctx: Context) -> str:
        results: list[str] = []

        async def effect() -> None:
            results.append(await ctx.once("slow", slow))

        async with anyio.create_task_group() as group:
            group.start_soon(effect)
            results.append(await ask(ctx, "one"))
        return " ".join(sorted(results))

    assert await rounds(server_of(tool), User()) == ("one slow", [["one"]])
    assert finished == [1]


async def test_with_single_use_a_lost_response_does_not_repeat_an_effect() -> None:
    charged: list[int] = []

    async def tool(ctx: Context) -> str:
        await ask(ctx, "one")
        await ctx.once("charge", charged.append, 1)
        return await ask(ctx, "two")

    mcp = server_of(tool, request_state_security=RequestStateSecurity(keys=[KEY], single_use=MemoryStore()))
    async with connected(mcp, "2026-07-28", User()) as client:
        first = await client.session.call_tool("tool", {}, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        [key] = first.input_requests or {}
        answers: dict[str, Any] = {key: ElicitResult(action="accept", content={"text": "x"})}
        retry: dict[str, Any] = {"input_responses": answers, "request_state": first.request_state}
        await client.session.call_tool("tool", {}, **retry, allow_input_required=True)  # its response is lost
        with pytest.raises(MCPError, match="Invalid or expired requestState"):
            await client.session.call_tool("tool", {}, **retry, allow_input_required=True)
    assert charged == [1]


# Bodies that ask differently


async def test_a_question_that_changes_from_run_to_run_is_an_error_that_names_its_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs: list[int] = []

    async def tool(ctx: Context) -> str:
        runs.append(1)
        outcome = await ctx.elicit(f"Run {len(runs)}?", Text)
        return str(outcome)

    user = User()
    assert await call(server_of(tool), user=user) == "failed: Error executing tool tool"
    assert user.asked == ["Run 1?"]
    line = tool.__code__.co_firstlineno + 2
    assert f"{__file__}:{line} asks something else than when it ran before with the same answers" in caplog.text


async def test_questions_in_a_loop_and_in_branches_are_no_change() -> None:
    async def tool(ctx: Context) -> str:
        answers: list[str] = []
        for number in range(3):
            answers.append(await ask(ctx, f"question {number}"))
            if answers[-1] == "question 1":
                answers.append(await ask(ctx, "branch"))
        return ", ".join(answers)

    assert await call(server_of(tool)) == "question 0, question 1, branch, question 2"


async def test_an_answer_that_is_not_asked_for_any_more_does_no_harm() -> None:
    runs: list[int] = []

    async def tool(ctx: Context) -> str:
        runs.append(1)
        return await ask(ctx, "one") if len(runs) == 1 else "done"

    assert await call(server_of(tool)) == "done"


# With resolvers, and without


async def ask_name() -> Elicit[Text]:
    return Elicit("name?", Text)


@MODES
async def test_resolvers_and_questions_in_the_body_share_one_call(mode: str) -> None:
    async def tool(name: Annotated[Text, Resolve(ask_name)], ctx: Context) -> str:
        done = await ctx.once("greet", lambda: f"hello {name.text}")
        return f"{done}, {await ask(ctx, 'one')}, {await ask(ctx, 'two')}"

    user = User()
    assert await call(server_of(tool), mode, user) == "hello name?, one, two"
    assert user.asked == ["name?", "one", "two"]


async def test_without_it_the_error_names_the_three_cures() -> None:
    mcp = MCPServer("server")

    @mcp.tool()
    async def tool(ctx: Context, kind: str) -> str:
        asks: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {
            "elicit": lambda: ctx.elicit("one", Text),
            "elicit_url": lambda: ctx.elicit_url("one", "https://x.example", "id"),
            "sample": lambda: ctx.sample([], max_tokens=1),
            "list_roots": ctx.list_roots,
        }
        return str(await asks[kind]())

    async with connected(mcp, "2026-07-28", User()) as client:
        for kind in ("elicit", "elicit_url", "sample", "list_roots"):
            with pytest.raises(MCPError, match="no back-channel") as caught:
                await client.call_tool("tool", {"kind": kind})
            for cure in ("resumable=True", "Resolve", "InputRequiredResult"):
                assert cure in str(caught.value)


async def test_once_is_for_functions_that_run_again(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("server")

    @mcp.tool()
    async def tool(ctx: Context) -> str:
        return str(await ctx.once("key", int))

    assert await call(mcp) == "failed: Error executing tool tool"
    assert "register this one with resumable=True" in caplog.text


async def test_outside_of_a_request_effects_happen_and_questions_are_errors() -> None:
    async def tool(ctx: Context, asks: bool) -> str:
        return await ask(ctx, "one") if asks else str(await ctx.once("key", int, "7"))

    mcp = server_of(tool)
    result = await mcp.call_tool("tool", {"asks": False})
    assert text_of(result) == "7"
    with pytest.raises(ToolError) as caught:
        await mcp.call_tool("tool", {"asks": True})
    assert "outside of a request" in str(caught.value.__cause__)


def in_a_thread(ctx: Context) -> str:
    return ""


UNSUITABLE: list[tuple[Callable[..., Any], str]] = [
    (in_a_thread, "and a function that runs in a thread cannot be suspended: write `async def`"),
    (ask_name, "and asks with a Context that it does not take: add a parameter `ctx: Context`"),
]


@pytest.mark.parametrize(("fn", "message"), UNSUITABLE)
def test_a_function_that_cannot_be_suspended_is_refused(fn: Callable[..., Any], message: str) -> None:
    with pytest.raises(InvalidSignature) as caught:
        MCPServer("server").add_tool(fn, "tool", resumable=True)
    assert str(caught.value) == f"Tool 'tool' is registered with resumable=True, {message}"


def test_questions_are_asked_in_one_way() -> None:
    async def both(ctx: Context) -> str | InputRequiredResult:
        return ""

    with pytest.raises(InvalidSignature, match=r"are either asked with `await ctx\.elicit"):
        MCPServer("server").add_tool(both, "tool", resumable=True)


async def test_a_result_that_carries_questions_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    async def tool(ctx: Context) -> Any:
        return InputRequiredResult(request_state="S")

    assert "input_required channel" in await call(server_of(tool))


# Prompts and templates


@MODES
async def test_prompts_and_templates_ask_in_the_middle_too(mode: str) -> None:
    mcp = MCPServer("server")
    drafts: list[str] = []

    @mcp.prompt(resumable=True)
    async def letter(to: str, ctx: Context) -> str:
        await ctx.once("draft", drafts.append, to)
        return f"Dear {to}, {await ask(ctx, 'one')} {await ask(ctx, 'two')}"

    @mcp.resource("note://{name}", resumable=True)
    async def note(name: str, ctx: Context) -> str:
        return f"{name}: {await ask(ctx, 'three')} {await ask(ctx, 'four')}"

    user = User()
    async with connected(mcp, mode, user) as client:
        prompt = await client.get_prompt("letter", {"to": "Bob"})
        contents = (await client.read_resource("note://a")).contents[0]
    content = prompt.messages[0].content
    assert isinstance(content, TextContent)
    assert isinstance(contents, TextResourceContents)
    assert (content.text, contents.text) == ("Dear Bob, one two", "a: three four")
    assert user.asked == ["one", "two", "three", "four"]
    assert drafts == ["Bob"]


def test_a_static_resource_has_nothing_to_ask_with() -> None:
    with pytest.raises(InvalidSignature, match=r"^Resource 'note://a' has no URI .*only templates can"):

        @MCPServer("server").resource("note://a", resumable=True)
        async def note() -> str:
            return ""
