"""`RequestStateSecurity(single_use=store)`: a token that was used is refused afterwards."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

from mcp import Client
from mcp._engine.link import Link, OutgoingRequest
from mcp.client import ClientRequestContext
from mcp.server._state_stores import spend
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import Elicit, MCPServer, RequestStateSecurity, Resolve
from mcp.server.request_state import RequestStateBoundary
from mcp.shared.exceptions import MCPError
from mcp.stores import MemoryStore, Store, StoreError
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from tests.server.boundaries import Context, Handler, call_context, mint, run, tallied_log
from tests.server.test_request_state import KEY, META, META_VERSION, NOW, PlainCodec, claims_of

REJECTED = (-32602, "Invalid or expired requestState", None)
UNKNOWN = (-32603, "The store for requestState does not answer; try again later", None)
REPLAYED = "WARNING requestState rejected on tools/call: replay"


class Provisioner:
    """A server whose handler notes the states that it was called with."""

    def __init__(self, store: Store | None, *, security: RequestStateSecurity | None = None) -> None:
        self.states: list[str | None] = []
        self.now = NOW
        self.failure: Exception | None = None
        self.server = Server("Provisioner", on_call_tool=self.call_tool, on_read_resource=self.read_resource)
        self.boundary = RequestStateBoundary(
            security or RequestStateSecurity(keys=[KEY], single_use=store), default_audience="server"
        )
        self.boundary._clock = lambda: self.now
        self.server.middleware.append(self.boundary)

    async def call_tool(
        self, ctx: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        self.states.append(params.request_state)
        if self.failure is not None:
            raise self.failure
        if params.request_state is None or params.input_responses is None:
            return InputRequiredResult(request_state="S")
        return CallToolResult(content=[])

    async def read_resource(
        self, ctx: ServerRequestContext[Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult | InputRequiredResult:
        return InputRequiredResult(request_state="S")

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator[Caller]:
        with anyio.fail_after(20):
            async with self.server.connect_in_process("auto") as link:
                yield Caller(link)


class Caller:
    """Sends calls as they are written here."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, state: str | None = None, method: str = "tools/call", **changes: Any) -> dict[str, Any]:
        params: dict[str, Any] = {"name": "t", "arguments": {}, "inputResponses": {}, "_meta": META}
        if method == "resources/read":
            params = {"uri": "x://y", "_meta": META}
        if state is not None:
            params["requestState"] = state
        return await self._link.exchange(
            OutgoingRequest(1, method, {**params, **changes}, version=META_VERSION), ignore
        )

    async def ask(self, state: str | None = None) -> str:
        return (await self(state, inputResponses=None))["requestState"]


async def ignore(method: str, params: dict[str, Any] | None) -> None:
    raise AssertionError("nothing here notifies")


@contextmanager
def refused(answer: tuple[int, str, object] = REJECTED) -> Generator[None]:
    with pytest.raises(MCPError) as caught:
        yield
    assert (caught.value.code, caught.value.message, caught.value.data) == answer


async def test_a_used_token_is_refused_with_the_one_answer_and_its_own_word_in_the_log() -> None:
    provisioner = Provisioner(MemoryStore())
    async with provisioner.connected() as call:
        token = await call.ask()
        assert (await call(token))["resultType"] == "complete"
        with tallied_log() as lines:
            with refused():
                await call(token)
            with refused():
                await call(token)
    assert dict(lines) == {REPLAYED: 2}
    assert provisioner.states == [None, "S"]


async def test_each_round_has_a_token_of_its_own_to_use() -> None:
    provisioner = Provisioner(MemoryStore())
    async with provisioner.connected() as call:
        first = await call.ask()
        second = await call.ask(first)
        third = await call.ask(second)
        assert (await call(third))["resultType"] == "complete"
        for used in (first, second, third):
            with refused():
                await call(used)
    assert provisioner.states == [None, "S", "S", "S"]


async def test_a_token_is_not_given_back_when_the_handler_fails_or_its_state_cannot_be_sealed() -> None:
    provisioner = Provisioner(MemoryStore())
    async with provisioner.connected() as call:
        one, other = await call.ask(), await call.ask()
        provisioner.failure = MCPError(-32603, "no capacity")
        with pytest.raises(MCPError, match="no capacity"):
            await call(one)
        provisioner.failure = None
        with refused():
            await call(one)
        provisioner.boundary._security.bind_principal = broken_when_sealing()
        with pytest.raises(MCPError, match="Internal error"):
            await call.ask(other)
        provisioner.boundary._security.bind_principal = None
        with refused():
            await call(other)


def broken_when_sealing() -> Any:
    calls: list[None] = []

    def principal(ctx: Context) -> str | None:
        calls.append(None)
        if len(calls) > 1:
            raise OSError
        return None

    return principal


async def test_a_request_that_is_refused_for_another_reason_leaves_its_token_unused() -> None:
    provisioner = Provisioner(MemoryStore())
    async with provisioner.connected() as call:
        token = await call.ask()
        with refused():
            await call(token, arguments={"other": 1})
        with refused():
            await call(token, name="u")
        with pytest.raises(MCPError, match="Invalid request parameters"):
            await call(token, inputResponses={"a": {"is": "no answer"}})
        assert (await call(token))["resultType"] == "complete"


async def test_a_middleware_that_answers_by_itself_uses_no_token() -> None:
    provisioner = Provisioner(MemoryStore())
    closed = [True]

    async def door(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if closed and ctx.params is not None and "requestState" in ctx.params:
            raise MCPError(-32603, "closed")
        return await call_next(ctx)

    provisioner.server.middleware.append(door)
    async with provisioner.connected() as call:
        token = await call.ask()
        with pytest.raises(MCPError, match="closed"):
            await call(token)
        closed.clear()
        assert (await call(token))["resultType"] == "complete"


async def test_a_middleware_that_runs_the_handler_twice_uses_the_token_once() -> None:
    provisioner = Provisioner(MemoryStore())

    async def again(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        await call_next(ctx)
        return await call_next(ctx)

    provisioner.server.middleware.append(again)
    async with provisioner.connected() as call:
        token = await call.ask()
        assert (await call(token))["resultType"] == "complete"
        with refused():
            await call(token)
    assert provisioner.states == [None, None, "S", "S"]


async def test_resources_count_their_tokens_too() -> None:
    provisioner = Provisioner(MemoryStore())
    async with provisioner.connected() as call:
        token = (await call(method="resources/read"))["requestState"]
        await call(token, method="resources/read")
        with refused():
            await call(token, method="resources/read")


async def test_without_it_a_token_may_be_used_again() -> None:
    provisioner = Provisioner(None)
    async with provisioner.connected() as call:
        token = await call.ask()
        for _ in range(3):
            assert (await call(token))["resultType"] == "complete"


# Racing


class Hesitant:
    """A store behind a network: others run while it thinks."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self.ttls: list[float] = []
        self.keys: list[str] = []

    async def put(self, key: str, value: bytes, ttl: float) -> None:
        raise AssertionError("not needed here")

    async def get(self, key: str) -> bytes | None:
        raise AssertionError("not needed here")

    async def take(self, key: str) -> bytes | None:
        raise AssertionError("not needed here")

    async def add_once(self, key: str, ttl: float) -> bool:
        await anyio.lowlevel.checkpoint()
        is_first = await self._store.add_once(key, ttl)
        await anyio.lowlevel.checkpoint()
        self.ttls.append(ttl)
        self.keys.append(key)
        return is_first


async def test_of_a_thousand_racing_pairs_exactly_one_each_is_accepted() -> None:
    store = Hesitant()
    # Two instances that share keys and the store.
    one, other = Provisioner(store), Provisioner(store)
    outcomes: list[tuple[int, object]] = []

    async def spend(call: Caller, number: int, token: str) -> None:
        try:
            await call(token)
        except MCPError as error:
            outcomes.append((number, (error.code, error.message, error.data)))
        else:
            outcomes.append((number, None))

    async with one.connected() as here, other.connected() as there:
        tokens = [await here.ask() for _ in range(1000)]
        with tallied_log() as lines:
            async with anyio.create_task_group() as group:
                for number, token in enumerate(tokens):
                    group.start_soon(spend, here, number, token)
                    group.start_soon(spend, there, number, token)
    assert sorted(number for number, refusal in outcomes if refusal is None) == list(range(1000))
    assert sorted(number for number, refusal in outcomes if refusal == REJECTED) == list(range(1000))
    assert dict(lines) == {REPLAYED: 1000}
    assert len(one.states) + len(other.states) == 1000 + 1000


# Time


async def test_a_use_is_remembered_until_no_instance_takes_the_token_any_more() -> None:
    store = Hesitant()
    provisioner = Provisioner(store)
    async with provisioner.connected() as call:
        token = await call.ask()
        provisioner.now = NOW + 100
        await call(token)
        # 500 seconds are left, and a clock may be 60 seconds behind.
        assert store.ttls == [560]


async def test_a_token_whose_time_ends_while_its_request_waits_is_not_used() -> None:
    provisioner = Provisioner(MemoryStore())

    async def slow(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.params is not None and "requestState" in ctx.params:
            provisioner.now = NOW + 600
        return await call_next(ctx)

    provisioner.server.middleware.append(slow)
    async with provisioner.connected() as call:
        token = await call.ask()
        with tallied_log() as lines, refused():
            await call(token)
    assert dict(lines) == {"WARNING requestState rejected on tools/call: expired": 1}
    assert provisioner.states == [None]


# What is remembered


def claims_with(single_use: Store | None) -> dict[str, Any]:
    security = RequestStateSecurity(codec=PlainCodec(), single_use=single_use)
    return claims_of(mint(RequestStateBoundary(security, default_audience=None), call_context(), "S"))


@pytest.mark.rule("MRTR-46")
def test_a_token_has_a_name_of_its_own_if_uses_are_counted() -> None:
    assert "n" not in claims_with(None)
    names = [claims_with(MemoryStore())["n"] for _ in range(50)]
    assert len(set(names)) == 50
    assert all(len(name) == 22 for name in names)


async def test_the_store_learns_nothing_but_the_name() -> None:
    store = Hesitant()
    security = RequestStateSecurity(codec=PlainCodec(), single_use=store)
    provisioner = Provisioner(None, security=security)
    async with provisioner.connected() as call:
        token = await call.ask()
        await call(token)
    assert store.keys == [f"used:{claims_of(token)['n']}"]


async def test_tokens_from_before_uses_were_counted_are_used_once_as_well() -> None:
    before, after = Provisioner(None), Provisioner(MemoryStore())
    async with before.connected() as old, after.connected() as new:
        token, other = await old.ask(), await old.ask()
        before.now += 1
        third = await old.ask()
        assert (await new(token))["resultType"] == "complete"
        with refused():
            await new(token)
        # The same call at the same moment is the same token in other words.
        with refused():
            await new(other)
        assert (await new(third))["resultType"] == "complete"


@pytest.mark.parametrize("name", [5, None, ["a"], {"a": 1}])
def test_a_name_that_is_no_text_is_malformed(name: object) -> None:
    side = RequestStateBoundary(
        RequestStateSecurity(codec=PlainCodec(), single_use=MemoryStore()), default_audience=None
    )
    claims = {**claims_of(mint(side, call_context(), "S")), "n": name}
    with tallied_log() as lines, refused():
        token = PlainCodec().seal(json.dumps(claims).encode())
        run(side(call_context(requestState=token), Handler()))
    assert dict(lines) == {"WARNING requestState rejected on tools/call: malformed": 1}


# A store that fails


class Broken(Hesitant):
    def __init__(self, problem: object) -> None:
        super().__init__()
        self.problem: object = problem

    async def add_once(self, key: str, ttl: float) -> bool:
        if isinstance(self.problem, Exception):
            raise self.problem
        return await super().add_once(key, ttl) if self.problem is None else self.problem  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize(
    ("problem", "logged"),
    [
        (StoreError("redis://db:6379 refuses connections"), "StoreError (redis://db:6379 refuses connections)"),
        (OSError("secret words"), "OSError"),
    ],
)
async def test_while_the_store_fails_calls_that_need_it_fail_clearly_and_go_on_afterwards(
    problem: Exception, logged: str
) -> None:
    store = Broken(problem)
    provisioner = Provisioner(store)
    async with provisioner.connected() as call:
        token = await call.ask()  # needs no store
        with tallied_log() as lines, refused(UNKNOWN):
            await call(token)
        [line] = lines
        assert line.startswith(f"ERROR single_use.add_once on tools/call raised {logged} at ")
        assert "secret" not in line
        store.problem = None
        assert (await call(token))["resultType"] == "complete"
    assert provisioner.states == [None, "S"]


def test_no_failure_of_the_store_is_attached_to_the_answer() -> None:
    for problem, answer in ((OSError("secret words"), UNKNOWN), (False, REJECTED)):
        with pytest.raises(MCPError) as caught:
            run(spend(Broken(problem), {"exp": NOW + 1, "n": "name"}, "tools/call", lambda: NOW))
        assert (caught.value.code, caught.value.message, caught.value.data) == answer
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)


# The policy


@pytest.mark.parametrize(
    ("store", "shown"),
    [(True, "bool"), ("memory", "str"), (object(), "object"), (MemoryStore, "the class MemoryStore")],
)
def test_what_is_no_store_is_refused(store: Any, shown: str) -> None:
    with pytest.raises(TypeError) as caught:
        RequestStateSecurity(keys=[KEY], single_use=store)
    assert str(caught.value) == f"single_use must be a store, for example mcp.stores.MemoryStore(), got {shown}"


def test_a_policy_shows_its_store() -> None:
    store = MemoryStore()
    assert RequestStateSecurity(keys=[KEY], single_use=store).single_use is store
    assert RequestStateSecurity.ephemeral(single_use=store).single_use is store
    assert RequestStateSecurity(keys=[KEY]).single_use is None


# With resolvers


class Login(BaseModel):
    username: str


class Amount(BaseModel):
    amount: int


async def ask_login() -> Elicit[Login]:
    return Elicit("Who?", Login)


async def ask_amount(login: Annotated[Login, Resolve(ask_login)]) -> Elicit[Amount]:
    return Elicit(f"How much, {login.username}?", Amount)


async def test_a_call_of_several_rounds_ends_as_without_it() -> None:
    server = MCPServer("Shop", request_state_security=RequestStateSecurity.ephemeral(single_use=MemoryStore()))
    paid: list[str] = []

    @server.tool()
    async def pay(login: Annotated[Login, Resolve(ask_login)], amount: Annotated[Amount, Resolve(ask_amount)]) -> str:
        paid.append(f"{login.username} {amount.amount}")
        return paid[-1]

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"username": "bob"} if "Who" in params.message else {"amount": 3})

    with anyio.fail_after(5):
        async with Client(server, elicitation_callback=answer) as client:
            for _ in range(2):
                assert (await client.call_tool("pay")).structured_content == {"result": "bob 3"}
    assert paid == ["bob 3"] * 2
