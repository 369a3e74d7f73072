"""What resolvers are called with, when, how often, and what their consumers get."""

import asyncio
import contextvars
import functools
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import anyio
import pytest
from pydantic import BaseModel

from mcp.server.elicitation import (
    AcceptedElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    ElicitationResult,
)
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import (
    Elicit,
    Resolve,
    build_resolver_plans,
    find_resolved_parameters,
    resolve_arguments,
)
from mcp.shared.exceptions import MCPError
from mcp_types import InputRequiredResult
from tests.mcpserver.resolve.rounds import Call, Login, make_context, plan_of


class Counter:
    """Counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def next(self) -> int:
        self.calls += 1
        return self.calls

    async def __call__(self) -> int:
        return self.next()


async def run(fn: Any, arguments: dict[str, Any] | None = None) -> Any:
    return await plan_of(fn).run(arguments or {}, make_context())


@pytest.mark.rule("DEP-2")
async def test_any_callable_can_be_a_resolver_and_sync_ones_run_in_a_worker_thread() -> None:
    here = threading.get_ident()

    def sync() -> int:
        return threading.get_ident()

    async def asynchronous() -> int:
        return threading.get_ident()

    class Made:
        def __init__(self) -> None:
            self.thread = threading.get_ident()

    def tool(
        a: Annotated[int, Resolve(sync)],
        b: Annotated[int, Resolve(asynchronous)],
        c: Annotated[int, Resolve(Counter().next)],
        d: Annotated[str, Resolve(lambda: "lambda")],
        e: Annotated[int, Resolve(Counter())],
        f: Annotated[Made, Resolve(Made)],
        g: Annotated[int, Resolve(functools.partial(asynchronous))],
        h: Annotated[int, Resolve(lambda: asynchronous())],
    ) -> None: ...

    values = await run(tool)

    assert values["a"] != here
    assert values["b"] == values["g"] == values["h"] == here
    assert (values["c"], values["d"], values["e"]) == (1, "lambda", 1)
    assert isinstance(values["f"], Made)
    assert values["f"].thread != here


@pytest.mark.rule("DEP-2")
async def test_generators_are_injected_and_not_driven() -> None:
    def sync() -> Iterator[int]:
        yield 1

    async def asynchronous() -> AsyncIterator[int]:
        yield 2

    def tool(a: Annotated[Any, Resolve(sync)], b: Annotated[Any, Resolve(asynchronous)]) -> None: ...

    values = await run(tool)

    assert next(values["a"]) == 1
    assert await anext(values["b"]) == 2
    await values["b"].aclose()


@pytest.mark.rule("DEP-3", "DEP-4", "DEP-5", "DEP-D3")
async def test_resolver_parameters_are_filled_by_kind() -> None:
    def base(item: str) -> str:
        return item.upper()

    def resolver(
        count,  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]
        context: Context,
        name: Annotated[str, Resolve(base)],
        maybe: Context | None,
        retries: int = 3,
    ) -> tuple[Any, ...]:
        return count, context, name, maybe, retries  # pyright: ignore[reportUnknownVariableType]

    def tool(
        item: str,
        count: int,
        value: Annotated[Any, Resolve(resolver)],  # pyright: ignore[reportUnknownArgumentType]
    ) -> None: ...

    context = make_context()
    values = await plan_of(tool).run({"item": "tea", "count": 2}, context)

    assert values == {"value": (2, context, "TEA", context, 3)}


async def test_positional_only_parameters_are_filled_in_order() -> None:
    def resolver(item: str, spare: int = 7, /, *, context: Context) -> tuple[Any, ...]:
        return item, spare, context

    def tool(item: str, value: Annotated[Any, Resolve(resolver)]) -> None: ...

    context = make_context()

    assert await plan_of(tool).run({"item": "tea"}, context) == {"value": ("tea", 7, context)}


@pytest.mark.rule("DEP-7")
async def test_the_default_of_a_resolved_parameter_is_never_used() -> None:
    def tool(value: Annotated[int | None, Resolve(lambda: None)] = 5) -> None: ...

    assert await run(tool) == {"value": None}


@pytest.mark.rule("DEP-10")
async def test_dependencies_run_before_dependents() -> None:
    order: list[str] = []

    async def first() -> str:
        order.append("first")
        return "first"

    async def second(value: Annotated[str, Resolve(first)]) -> str:
        order.append("second")
        return value + " second"

    async def third(a: Annotated[str, Resolve(second)], b: Annotated[str, Resolve(first)]) -> str:
        order.append("third")
        return a + b

    def tool(c: Annotated[str, Resolve(third)], b: Annotated[str, Resolve(second)]) -> None: ...

    assert await run(tool) == {"c": "first secondfirst", "b": "first second"}
    assert order == ["first", "second", "third"]


@pytest.mark.rule("DEP-11")
async def test_each_resolver_runs_once_in_a_round_and_again_in_the_next_call() -> None:
    shared, one, two = Counter(), Counter(), Counter()

    async def nested(n: Annotated[int, Resolve(shared)]) -> int:
        return n

    def tool(
        a: Annotated[int, Resolve(shared)],
        b: Annotated[int, Resolve(nested)],
        c: Annotated[int, Resolve(one.next)],
        d: Annotated[int, Resolve(one.next)],
        e: Annotated[int, Resolve(two.next)],
    ) -> None: ...

    assert await run(tool) == dict.fromkeys("abcde", 1)
    assert (shared.calls, one.calls, two.calls) == (1, 1, 1)
    assert await run(tool) == {"a": 2, "b": 2, "c": 2, "d": 2, "e": 2}


async def test_independent_resolvers_run_concurrently_and_dependents_wait_for_their_own_only() -> None:
    started, slow_may_end, dependent_ran = anyio.Event(), anyio.Event(), anyio.Event()

    async def slow() -> str:
        started.set()
        await slow_may_end.wait()
        return "slow"

    async def quick() -> str:
        await started.wait()
        return "quick"

    async def dependent(value: Annotated[str, Resolve(quick)]) -> str:
        dependent_ran.set()
        return value

    async def ender() -> None:
        await dependent_ran.wait()
        slow_may_end.set()

    async def joined(a: Annotated[str, Resolve(slow)], b: Annotated[str, Resolve(dependent)]) -> str:
        return a + b

    def tool(
        a: Annotated[str, Resolve(joined)], b: Annotated[str, Resolve(dependent)], c: Annotated[None, Resolve(ender)]
    ) -> None: ...

    with anyio.fail_after(5):
        assert await run(tool) == {"a": "slowquick", "b": "quick", "c": None}


class Stop(BaseException):
    """Nothing that is to be handled."""


async def test_what_is_not_to_be_handled_leaves_concurrent_resolvers_as_it_is() -> None:
    async def fail() -> str:
        await anyio.lowlevel.checkpoint()
        raise Stop

    async def wait() -> str:
        await anyio.sleep_forever()
        raise AssertionError

    def tool(a: Annotated[str, Resolve(fail)], b: Annotated[str, Resolve(wait)]) -> None: ...

    with anyio.fail_after(5), pytest.raises(Stop):
        await run(tool)


def test_a_cancellation_of_what_a_resolver_awaits_reaches_the_caller() -> None:
    async def cancelled() -> str:
        raise asyncio.CancelledError

    async def other() -> str:
        await anyio.lowlevel.checkpoint()
        return "b"

    def tool(a: Annotated[str, Resolve(cancelled)], b: Annotated[str, Resolve(other)]) -> None: ...

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run(tool))


@pytest.mark.rule("DEP-13", "DEP-14", "DEP-20")
async def test_a_value_is_injected_as_it_is() -> None:
    result = InputRequiredResult(request_state="mine")
    odd = object()

    def text() -> int:
        return "no int"  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    def tool(
        a: Annotated[int, Resolve(text)],
        b: Annotated[Any, Resolve(lambda: result)],
        c: Annotated[Any, Resolve(lambda: odd)],
    ) -> None: ...

    values = await run(tool)

    assert values["a"] == "no int"
    assert values["b"] is result
    assert values["c"] is odd


@pytest.mark.rule("DEP-16")
async def test_a_value_that_was_not_asked_for_is_wrapped_for_who_wants_an_outcome() -> None:
    login = Login(username="known")

    def tool(
        a: Annotated[ElicitationResult[Login], Resolve(lambda: login)],
        b: Annotated[ElicitationResult, Resolve(lambda: 5)],
        c: Annotated[AcceptedElicitation[Login], Resolve(lambda: login)],
        d: Annotated[Login, Resolve(lambda: login)],
    ) -> None: ...

    values = await run(tool)

    assert values == {
        "a": AcceptedElicitation(data=login),
        "b": AcceptedElicitation[Any](data=5),
        "c": AcceptedElicitation(data=login),
        "d": login,
    }
    assert values["a"].data is login


async def ask() -> Elicit[Login]:
    return Elicit("Who?", Login)


async def pass_on(outcome: Annotated[ElicitationResult[Login], Resolve(ask)]) -> ElicitationResult[Login]:
    return outcome


@pytest.mark.rule("DEP-15", "DEP-16")
async def test_consumers_get_the_model_or_the_outcome_by_their_annotation() -> None:
    def tool(
        a: Annotated[ElicitationResult[Login], Resolve(ask)],
        b: Annotated[Login, Resolve(ask)],
        c: Annotated[AcceptedElicitation[Login] | DeclinedElicitation | CancelledElicitation, Resolve(pass_on)],
    ) -> None: ...

    call = Call(tool)
    (key,) = await call.questions()

    values = await call.values({key: {"action": "accept", "content": {"username": "bob"}}})

    assert values["a"] == values["c"] == AcceptedElicitation(data=Login(username="bob"))
    assert values["b"] == Login(username="bob")


@pytest.mark.rule("DEP-16", "DEP-27")
@pytest.mark.parametrize(("action", "kind"), [("decline", DeclinedElicitation), ("cancel", CancelledElicitation)])
async def test_a_refusal_reaches_consumers_that_want_the_outcome(action: str, kind: type[BaseModel]) -> None:
    def tool(a: Annotated[ElicitationResult[Login], Resolve(pass_on)]) -> None: ...

    call = Call(tool)
    (key,) = await call.questions()

    assert await call.values({key: {"action": action}}) == {"a": kind()}


async def nested(inner: Annotated[Login, Resolve(ask)]) -> str:
    raise AssertionError("must not run")


@pytest.mark.rule("DEP-17")
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_refusal_fails_consumers_that_want_the_value(action: str) -> None:
    def direct(
        outcome: Annotated[ElicitationResult[Login], Resolve(ask)], login: Annotated[Login, Resolve(ask)]
    ) -> None: ...
    def indirect(value: Annotated[str, Resolve(nested)]) -> None: ...
    def accepted_only(login: Annotated[AcceptedElicitation[Login], Resolve(ask)]) -> None: ...

    for tool, parameter in ((direct, "login"), (indirect, "inner"), (accepted_only, "login")):
        call = Call(tool)
        (key,) = await call.questions()
        with pytest.raises(ToolError) as caught:
            await call.round({key: {"action": action}})
        assert str(caught.value) == f"Resolver for parameter '{parameter}' could not resolve: elicitation was {action}"


@pytest.mark.rule("DEP-19")
async def test_without_a_request_resolvers_work_as_long_as_none_asks() -> None:
    def quiet(value: Annotated[int, Resolve(lambda: 5)]) -> None: ...
    def asking(value: Annotated[Login, Resolve(ask)]) -> None: ...

    assert await plan_of(quiet).run({}, Context()) == {"value": 5}
    with pytest.raises(ToolError, match=r"test_run:ask' asks the client a question, which takes a request"):
        await plan_of(asking).run({}, Context())


class OddError(Exception): ...


@pytest.mark.parametrize("error", [OddError("odd"), ToolError("told"), MCPError(-32000, "said")])
async def test_what_a_resolver_raises_is_raised_as_it_is_also_beside_others(error: Exception) -> None:
    cancelled = anyio.Event()

    async def waits() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    async def fails() -> None:
        await anyio.lowlevel.checkpoint()
        raise error

    def alone(a: Annotated[None, Resolve(fails)]) -> None: ...
    def together(a: Annotated[None, Resolve(waits)], b: Annotated[None, Resolve(fails)]) -> None: ...

    with pytest.raises(type(error)) as caught:
        await run(alone)
    assert caught.value is error
    with anyio.fail_after(5), pytest.raises(type(error)) as caught:
        await run(together)
    assert caught.value is error
    assert cancelled.is_set()


async def test_of_several_failures_the_first_is_raised() -> None:
    async def fails() -> None:
        raise OddError("first")

    async def fails_while_it_is_cancelled() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise OddError("second")

    def tool(a: Annotated[None, Resolve(fails_while_it_is_cancelled)], b: Annotated[None, Resolve(fails)]) -> None: ...

    with anyio.fail_after(5), pytest.raises(OddError, match="first"):
        await run(tool)


async def test_context_variables_of_the_caller_are_visible_in_every_resolver() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    variable.set("set")

    async def asynchronous() -> str:
        return variable.get()

    def tool(a: Annotated[str, Resolve(variable.get)], b: Annotated[str, Resolve(asynchronous)]) -> None: ...

    assert await run(tool) == {"a": "set", "b": "set"}


async def test_marked_parameters_can_be_filled_without_a_tool() -> None:
    def tool(
        item: str,
        upper: Annotated[str, Resolve(upper_case)],
        outcome: Annotated[ElicitationResult, Resolve(upper_case)],
    ) -> None: ...

    found = find_resolved_parameters(tool)
    plans = build_resolver_plans(found, {"item"})

    assert await resolve_arguments(found, plans, {"item": "tea"}, make_context()) == {
        "upper": "TEA",
        "outcome": AcceptedElicitation[Any](data="TEA"),
    }


async def upper_case(item: str) -> str:
    return item.upper()
