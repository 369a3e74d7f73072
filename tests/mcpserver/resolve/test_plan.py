"""What is accepted and refused when a function with resolvers is registered."""

import functools
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Annotated, Any, Optional

import anyio
import pytest
from pydantic import BaseModel

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.resolve import (
    Elicit,
    ListRoots,
    Resolve,
    Sample,
    find_resolved_parameters,
    returns_input_required,
)
from mcp.server.mcpserver.resolve.plan import analyse, never_waits
from mcp.server.mcpserver.resolve.run import build_plan
from mcp_types import CallToolResult, InputRequiredResult
from tests.mcpserver.resolve.rounds import Amount, Login, arguments_of, plan_of


async def ask_login() -> Elicit[Login]:
    return Elicit("Who?", Login)


def plain_login() -> Login:
    return Login(username="x")


class Nested(BaseModel):
    inner: Login


def keys_of(fn: Any) -> list[str]:
    graph = analyse(fn, arguments_of(fn))
    assert graph is not None
    return [node.key for node in graph.nodes]


@pytest.mark.rule("DEP-1", "DEP-6", "DEP-7")
def test_marked_parameters_are_found_also_with_string_annotations_and_defaults() -> None:
    def tool(
        item: str,
        ctx: Context,
        login: "Annotated[Login, Resolve(ask_login)]",
        late: Annotated[Login | None, Resolve(plain_login)] = None,
    ) -> str: ...

    found = find_resolved_parameters(tool)

    assert {name: marker.fn for name, (marker, _) in found.items()} == {"login": ask_login, "late": plain_login}
    assert plan_of(tool).names == {"login", "late"}


@pytest.mark.rule("DEP-16")
def test_a_parameter_says_whether_it_wants_the_outcome() -> None:
    def tool(
        value: Annotated[Login, Resolve(ask_login)],
        outcome: Annotated[ElicitationResult[Login], Resolve(ask_login)],
        bare: Annotated[ElicitationResult, Resolve(ask_login)],
        accepted: Annotated[AcceptedElicitation[Login], Resolve(ask_login)],
    ) -> str: ...

    assert {name: wants for name, (_, wants) in find_resolved_parameters(tool).items()} == {
        "value": False,
        "outcome": True,
        "bare": True,
        "accepted": True,
    }


def test_a_function_without_markers_has_no_plan() -> None:
    def tool(item: str) -> str: ...

    assert build_plan(tool, owner_kind="tool", owner_name="tool", argument_names={"item"}) is None


@pytest.mark.rule("DEP-8")
def test_a_marker_in_the_return_annotation_is_ignored() -> None:
    def tool(item: str) -> Annotated[str, Resolve(ask_login)]: ...

    assert find_resolved_parameters(tool) == {}


@pytest.mark.rule("DEP-8", "DEP-D2")
def test_a_marker_as_default_or_without_resolver_is_refused() -> None:
    def as_default(login: Login = Resolve(ask_login)) -> str: ...  # pyright: ignore[reportArgumentType]  # noqa: B008
    def class_as_default(login: Login = Resolve) -> str: ...  # pyright: ignore[reportArgumentType]
    def bare(login: Annotated[Login, Resolve]) -> str: ...
    def twice(login: Annotated[Login, Resolve(ask_login), Resolve(plain_login)]) -> str: ...

    with pytest.raises(InvalidSignature, match=r"'login' of 'as_default' has `Resolve\(...\)` as its default"):
        find_resolved_parameters(as_default)
    with pytest.raises(InvalidSignature, match="as its default"):
        find_resolved_parameters(class_as_default)
    with pytest.raises(InvalidSignature, match="'login' of 'bare' names `Resolve` without a resolver"):
        find_resolved_parameters(bare)
    with pytest.raises(InvalidSignature, match="more than one"):
        find_resolved_parameters(twice)


@pytest.mark.rule("DEP-8", "DEP-D2")
def test_a_misplaced_marker_of_a_resolver_is_refused_too() -> None:
    def resolver(login: Login = Resolve(ask_login)) -> str: ...  # pyright: ignore[reportArgumentType]  # noqa: B008
    def tool(value: Annotated[str, Resolve(resolver)]) -> str: ...

    with pytest.raises(InvalidSignature, match="'login' of 'resolver'"):
        plan_of(tool)


def test_a_marker_inside_a_union_or_list_is_refused() -> None:
    def optional(v: Annotated[Login, Resolve(ask_login)] | None) -> str: ...
    def old_style(v: Optional[Annotated[Login, Resolve(ask_login)]]) -> str: ...  # noqa: UP045
    def in_list(v: list[Annotated[Login, Resolve(ask_login)]]) -> str: ...

    for tool in (optional, old_style, in_list):
        with pytest.raises(InvalidSignature) as caught:
            find_resolved_parameters(tool)
        assert str(caught.value) == (
            f"Parameter 'v' of '{tool.__name__}' wraps `Resolve(...)` in a union; "
            "annotate the parameter directly as `Annotated[T, Resolve(...)]`"
        )


@pytest.mark.rule("DEP-3", "DEP-4", "DEP-5", "DEP-D3")
def test_a_resolver_parameter_must_be_a_context_a_resolved_one_an_argument_or_have_a_default() -> None:
    def fits(
        item: str,
        ctx: Context,
        maybe: Context | None,
        login: Annotated[Login, Resolve(ask_login)],
        retries: int = 3,
    ) -> str: ...
    def unknown(x: int) -> str: ...
    def collects(*args: int) -> str: ...
    def collects_names(**kwargs: int) -> str: ...
    def by_resolved_name(login: Login) -> str: ...
    def unresolvable(x: "Missing" = 1) -> str: ...  # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType]  # noqa: F821

    def good(item: str, v: Annotated[str, Resolve(fits)]) -> str: ...

    plan_of(good)

    cases: dict[str, Any] = {"x": unknown, "args": collects, "kwargs": collects_names, "login": by_resolved_name}
    for parameter, resolver in cases.items():

        def bad(
            item: str, login: Annotated[Login, Resolve(ask_login)], v: Annotated[str, Resolve(resolver)]
        ) -> str: ...

        with pytest.raises(InvalidSignature) as caught:
            plan_of(bad)
        assert str(caught.value) == (
            f"Resolver '{resolver.__name__}' parameter '{parameter}' cannot be resolved: expected a Context, "
            "an Annotated[_, Resolve(...)], or a tool argument by name"
        )

    def with_unresolvable(v: Annotated[str, Resolve(unresolvable)]) -> str: ...  # pyright: ignore[reportUnknownArgumentType]

    with pytest.raises(InvalidSignature, match="'unresolvable' parameter 'x' cannot be resolved"):
        plan_of(with_unresolvable)


@pytest.mark.rule("DEP-3")
def test_an_argument_is_taken_by_name_even_if_its_hint_cannot_be_evaluated() -> None:
    def resolver(item: "Missing") -> str: ...  # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType]  # noqa: F821
    def tool(item: str, v: Annotated[str, Resolve(resolver)]) -> str: ...  # pyright: ignore[reportUnknownArgumentType]

    plan_of(tool)


def test_a_marker_that_cannot_be_evaluated_is_never_read_as_an_argument() -> None:
    def resolver(item: "Annotated[str, Resolve(missing)]") -> str: ...  # pyright: ignore[reportUndefinedVariable, reportUnknownArgumentType, reportUnknownParameterType]  # noqa: F821
    def tool(item: str, v: Annotated[str, Resolve(resolver)]) -> str: ...

    with pytest.raises(InvalidSignature, match="'resolver' parameter 'item' cannot be resolved"):
        plan_of(tool)


def cyclic(v: "Annotated[int, Resolve(cyclic)]") -> int: ...  # pyright: ignore[reportUnknownArgumentType, reportUndefinedVariable]


def first(v: "Annotated[int, Resolve(second)]") -> int: ...  # pyright: ignore[reportUnknownArgumentType, reportUndefinedVariable]


def second(v: Annotated[int, Resolve(first)]) -> int: ...


@pytest.mark.rule("DEP-6")
def test_a_cycle_is_refused() -> None:
    def on_itself(v: Annotated[int, Resolve(cyclic)]) -> str: ...
    def through_another(v: Annotated[int, Resolve(first)]) -> str: ...

    with pytest.raises(InvalidSignature, match=r"^Resolver 'cyclic' has a cyclic dependency$"):
        plan_of(on_itself)
    with pytest.raises(InvalidSignature, match=r"^Resolver 'first' has a cyclic dependency$"):
        plan_of(through_another)


@pytest.mark.rule("DEP-14")
def test_a_resolver_may_declare_one_question_only() -> None:
    def two_forms() -> Elicit[Login] | Elicit[Amount]: ...
    def mixed() -> str | Sample | Annotated[ListRoots, "x"]: ...
    def one() -> Elicit[Login] | Login | None: ...

    for resolver in (two_forms, mixed):

        def tool(v: Annotated[Any, Resolve(resolver)]) -> str: ...

        with pytest.raises(InvalidSignature) as caught:
            plan_of(tool)
        assert str(caught.value) == (
            f"Resolver '{resolver.__name__}' return annotation has multiple Elicit/Sample/ListRoots arms; "
            "a resolver asks one question - split it into separate resolvers"
        )

    def fine(v: Annotated[Any, Resolve(one)]) -> str: ...

    plan_of(fine)


@pytest.mark.rule("DEP-31", "DEP-D5", "ELICIT-8")
def test_a_declared_form_is_checked_at_registration() -> None:
    def nested() -> Elicit[Nested] | None: ...
    def no_model() -> Elicit[int]: ...  # pyright: ignore[reportInvalidTypeArguments]
    def tool(v: Annotated[Any, Resolve(nested)]) -> str: ...
    def other(v: Annotated[Any, Resolve(no_model)]) -> str: ...

    with pytest.raises(InvalidSignature) as caught:
        plan_of(tool)
    assert str(caught.value) == (
        "Resolver 'nested': Elicitation schema field 'inner' rendered as {'$ref': '#/$defs/Login'}, "
        "which is not a valid PrimitiveSchemaDefinition"
    )
    with pytest.raises(InvalidSignature, match="must be a pydantic model class"):
        plan_of(other)


def test_callables_without_a_name_are_named_by_their_type() -> None:
    class Needy:
        def __call__(self, x: int) -> str: ...

    def tool(v: Annotated[str, Resolve(Needy())]) -> str: ...

    with pytest.raises(InvalidSignature, match=r"^Resolver 'Needy' parameter 'x' cannot be resolved"):
        plan_of(tool)


def test_a_resolver_that_cannot_be_called_is_a_type_error() -> None:
    def tool(v: Annotated[str, Resolve(5)]) -> str: ...  # pyright: ignore[reportArgumentType]

    with pytest.raises(TypeError, match=r"^5 is not a callable object$"):
        plan_of(tool)


@pytest.mark.rule("MRTR-18", "DEP-D1")
@pytest.mark.parametrize(("kind", "title"), [("tool", "Tool"), ("prompt", "Prompt"), ("resource", "Resource")])
def test_resolvers_and_a_declared_input_required_result_do_not_mix(kind: Any, title: str) -> None:
    def tool(v: Annotated[Login, Resolve(ask_login)]) -> CallToolResult | Annotated[InputRequiredResult, "x"]: ...

    with pytest.raises(InvalidSignature) as caught:
        plan_of(tool, kind=kind, name="x")
    assert str(caught.value) == (
        f"{title} 'x' combines Resolve(...) parameters with an InputRequiredResult return; a call has one "
        f"input_required channel, so the multi-round flow is driven either by resolvers or by the {kind} body, not both"
    )


def test_an_input_required_return_is_found_in_any_spelling() -> None:
    def plain() -> InputRequiredResult: ...
    def union() -> str | InputRequiredResult: ...
    def other() -> str: ...

    assert returns_input_required(plain)
    assert returns_input_required(union)
    assert not returns_input_required(other)


class Asker:
    def ask(self) -> Elicit[Login]: ...
    def __call__(self) -> Elicit[Login]: ...


def maker(name: str) -> Any:
    def ask() -> Elicit[Login]: ...

    return ask


@pytest.mark.rule("DEP-11", "DEP-30")
def test_keys_name_the_place_in_the_code_and_then_the_place_in_the_graph() -> None:
    one, two = Asker(), Asker()

    def tool(
        a: Annotated[Any, Resolve(one.ask)],
        again: Annotated[Any, Resolve(one.ask)],
        b: Annotated[Any, Resolve(two.ask)],
        c: Annotated[Any, Resolve(functools.partial(ask_login))],
        d: Annotated[Any, Resolve(one)],
        e: Annotated[Any, Resolve(maker("a"))],
        f: Annotated[Any, Resolve(maker("b"))],
        g: Annotated[Any, Resolve(lambda: 1)],
        h: Annotated[Any, Resolve(Asker)],
        i: Annotated[Any, Resolve("text".upper)],
    ) -> str: ...

    this = __name__
    where = "test_keys_name_the_place_in_the_code_and_then_the_place_in_the_graph.<locals>"
    assert keys_of(tool) == [
        f"{this}:Asker.ask",
        f"{this}:Asker.ask#1",
        f"{this}:ask_login",
        f"{this}:Asker",
        f"{this}:maker.<locals>.ask",
        f"{this}:maker.<locals>.ask#1",
        f"{this}:{where}.<lambda>",
        f"{this}:Asker#1",
        "builtins:str.upper",
    ]


@pytest.mark.rule("DEP-30")
def test_keys_are_the_same_in_another_process() -> None:
    program = (
        "import functools\nfrom typing import Annotated, Any\n"
        "from mcp.server.mcpserver.resolve import Resolve\nfrom mcp.server.mcpserver.resolve.plan import analyse\n"
        "class C:\n  def __call__(self): ...\n  def m(self): ...\n"
        "def f(): ...\n"
        "def tool(a: Annotated[Any, Resolve(lambda: 1)], b: Annotated[Any, Resolve(lambda: 2)], "
        "c: Annotated[Any, Resolve(functools.partial(f))], d: Annotated[Any, Resolve(C())], "
        "e: Annotated[Any, Resolve(C().m)]): ...\n"
        "print([node.key for node in analyse(tool, ()).nodes])\n"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": "src", "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }

    assert len(runs) == 1
    assert "0x" not in next(iter(runs))


async def _waits() -> None: ...


class Async:
    async def quick(self) -> None: ...
    async def slow(self) -> None:
        await _waits()

    async def __call__(self) -> None: ...


def test_only_code_without_await_is_said_never_to_wait() -> None:
    async def quick() -> Elicit[Login]:
        values = [2 * n for n in range(3)]
        return Elicit(f"{values}", Login)

    async def with_group() -> None:
        async with anyio.create_task_group():
            pass

    async def with_loop(items: AsyncIterator[int]) -> None:
        async for _ in items:
            pass

    async def comprehends(items: AsyncIterator[int]) -> list[int]:
        return [n async for n in items]

    async def lazily() -> object:
        return (await _waits() for _ in range(3))

    @functools.wraps(quick)
    async def decorated() -> None:
        await quick()

    assert all(never_waits(fn) for fn in (quick, functools.partial(quick), Async().quick, ask_login, lazily))
    assert not any(
        never_waits(fn)
        for fn in (with_group, with_loop, comprehends, decorated, Async().slow, Async(), Async, plain_login, len)
    )
