"""`client.begin` and `client.resume`: a call is put away while its questions wait, and any process goes on with it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
from pydantic import BaseModel

from mcp import Client
from mcp._engine.link import Link, OnNotification, OutgoingRequest
from mcp.client import ClientRequestContext, PendingCall, PendingCalls
from mcp.client.pending import PendingCallBusy, PendingCallError, PendingCallGone, PendingCallUncertain
from mcp.server.mcpserver import Context, Elicit, MCPServer, RequestStateSecurity, Resolve
from mcp.shared.exceptions import MCPError
from mcp.stores import MemoryStore, Record, SQLiteStore
from mcp.types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestParams,
    ElicitResult,
    GetPromptResult,
    InputRequiredResult,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
)

KEY = "k" * 32


class Name(BaseModel):
    name: str


async def who() -> Elicit[Name]:
    return Elicit("Who?", Name)


async def whom(name: Annotated[Name, Resolve(who)]) -> Elicit[Name]:
    return Elicit(f"Whom does {name.name} greet?", Name)


class Shop:
    """A server that notes how often its tool ran."""

    def __init__(self) -> None:
        self.greetings: list[str] = []
        self.used = MemoryStore()

    def server(self) -> MCPServer:
        """A new instance each time: nothing but keys and used tokens is shared."""
        mcp = MCPServer("shop", request_state_security=RequestStateSecurity(keys=[KEY], single_use=self.used))

        @mcp.tool()
        async def greet(a: Annotated[Name, Resolve(who)], b: Annotated[Name, Resolve(whom)]) -> str:
            self.greetings.append(a.name)
            return f"{a.name} greets {b.name}"

        @mcp.tool()
        async def add(a: int, b: int) -> int:
            return a + b

        @mcp.tool()
        async def refuse() -> str:
            raise MCPError(-32050, "no", {"why": "because"})

        @mcp.tool()
        async def wait(ctx: Context) -> str | InputRequiredResult:
            rounds = int(ctx.request_state or "0")
            return "done" if rounds == 3 else InputRequiredResult(request_state=str(rounds + 1))

        @mcp.tool()
        async def wait_for_ever() -> InputRequiredResult:
            return InputRequiredResult(request_state="again")

        @mcp.prompt()
        async def letter(name: Annotated[Name, Resolve(who)]) -> str:
            return f"Dear {name.name}"

        @mcp.resource("note://{number}")
        async def note(number: int, name: Annotated[Name, Resolve(who)]) -> str:
            return f"{number} by {name.name}"

        return mcp


@asynccontextmanager
async def connected(server: Any, **options: Any) -> AsyncGenerator[Client]:
    with anyio.fail_after(20):
        async with Client(server, **options) as client:
            yield client


def accept(name: str, call: PendingCall) -> dict[str, Any]:
    return {key: ElicitResult(action="accept", content={"name": name}) for key in call.questions}


def pending(outcome: object) -> PendingCall:
    assert isinstance(outcome, PendingCall)
    return outcome


def text_of(outcome: object) -> str:
    assert isinstance(outcome, CallToolResult)
    content = outcome.content[0]
    assert isinstance(content, TextContent)
    return content.text


def messages(call: PendingCall) -> list[str]:
    return [request.params.message for request in call.requests.values() if isinstance(request, ElicitRequest)]


# Without a store


async def test_a_call_is_put_away_as_json_and_resumed_elsewhere() -> None:
    shop = Shop()
    async with connected(shop.server()) as client:
        first = pending(await client.begin("call_tool", "greet"))
    assert (first.status, first.round, messages(first)) == ("waiting", 1, ["Who?"])
    assert (first.server, first.protocol_version, first.method) == ("shop", "2026-07-28", "tools/call")
    loaded = PendingCall.from_json(first.to_json())
    assert loaded == first
    async with connected(shop.server()) as client:
        second = pending(await client.resume(loaded, accept("Ann", loaded)))
        assert messages(second) == ["Whom does Ann greet?"]
        assert (second.id, second.flow, second.created) == (first.id, first.flow, first.created)
    async with connected(shop.server()) as client:
        third = PendingCall.from_json(second.to_json().encode())
        assert text_of(await client.resume(third, accept("Bob", third))) == "Ann greets Bob"
    assert shop.greetings == ["Ann"]


async def test_a_call_without_questions_is_done_at_once() -> None:
    async with connected(Shop().server()) as client:
        assert text_of(await client.begin("call_tool", "add", {"a": 1, "b": 2})) == "3"


async def test_prompts_and_resources_are_begun_the_same_way() -> None:
    async with connected(Shop().server()) as client:
        letter = pending(await client.begin("get_prompt", "letter"))
        prompt = await client.resume(letter, accept("Ann", letter))
        note = pending(await client.begin("read_resource", "note://7"))
        resource = await client.resume(note, accept("Bob", note))
    assert isinstance(prompt, GetPromptResult)
    assert isinstance(prompt.messages[0].content, TextContent)
    assert prompt.messages[0].content.text == "Dear Ann"
    assert isinstance(resource, ReadResourceResult)
    contents = resource.contents[0]
    assert isinstance(contents, TextResourceContents)
    assert contents.text == "7 by Bob"


async def test_state_that_only_travels_is_sent_back_without_bothering_anybody() -> None:
    async with connected(Shop().server()) as client:
        assert text_of(await client.begin("call_tool", "wait")) == "done"
        with pytest.raises(RuntimeError, match="more than 10 rounds"):
            await client.begin("call_tool", "wait_for_ever")


async def test_what_the_user_declines_is_an_answer() -> None:
    async with connected(Shop().server()) as client:
        call = pending(await client.begin("call_tool", "greet"))
        outcome = await client.resume(call, {key: ElicitResult(action="decline") for key in call.questions})
    assert "elicitation was decline" in text_of(outcome)


async def test_an_answer_to_no_question_is_refused_before_anything_is_sent() -> None:
    shop = Shop()
    async with connected(shop.server()) as client:
        call = pending(await client.begin("call_tool", "greet"))
        with pytest.raises(ValueError, match=r"^nothing was asked under 'other'; the questions are \["):
            await client.resume(call, {"other": ElicitResult(action="decline")})
        assert messages(pending(await client.resume(call, accept("Ann", call)))) == ["Whom does Ann greet?"]


async def test_a_call_belongs_to_its_server() -> None:
    async with connected(Shop().server()) as client:
        call = pending(await client.begin("call_tool", "greet"))
    async with connected(MCPServer("other")) as client:
        with pytest.raises(ValueError, match=r"^the call belongs to the server 'shop', and .* talks to 'other'$"):
            await client.resume(call, accept("Ann", call))
    async with connected(Shop().server(), mode="legacy") as client:
        with pytest.raises(ValueError, match=r"^a pending call is resumed on a modern connection"):
            await client.resume(call, accept("Ann", call))


async def test_older_servers_ask_the_callbacks() -> None:
    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": "Ann"})

    async with connected(Shop().server(), mode="legacy", elicitation_callback=answer) as client:
        assert text_of(await client.begin("call_tool", "greet")) == "Ann greets Ann"


async def test_what_makes_no_sense_is_refused() -> None:
    async with connected(Shop().server()) as client:
        with pytest.raises(ValueError, match=r"^a call is begun with one of 'call_tool', .*, not 'list_tools'$"):
            await client.begin("list_tools", "x")  # type: ignore[call-overload]
        with pytest.raises(ValueError, match=r"^deadline_seconds must be positive, got 0$"):
            await client.begin("call_tool", "add", deadline_seconds=0)
    with pytest.raises(ValueError, match=r"^lease must be a positive number of seconds, got 0$"):
        PendingCalls(MemoryStore(), lease=0)


@pytest.mark.parametrize("text", ["5", "[]", "{}", '{"v":2}', '{"v":1}', '{"v":1,"id":"x"}', "nonsense"])
def test_what_is_no_pending_call_is_not_read(text: str) -> None:
    with pytest.raises(ValueError):
        PendingCall.from_json(text)


def test_a_method_that_cannot_be_pending_is_not_read() -> None:
    call = PendingCall("1", "tools/list", {}, "2026-07-28", 0.0, "f")
    with pytest.raises(ValueError, match=r"there is no such method as 'tools/list'$"):
        PendingCall.from_json(call.to_json())


def test_members_of_a_newer_release_are_passed_over() -> None:
    call = PendingCall("1", "tools/call", {"name": "t"}, "2026-07-28", 0.0, "f")
    assert PendingCall.from_json(json.dumps({**json.loads(call.to_json()), "mood": "good"})) == call


def test_a_call_without_an_outcome_has_no_result() -> None:
    with pytest.raises(PendingCallError, match=r"^the call is waiting: it has no outcome yet$"):
        PendingCall("1", "tools/call", {"name": "t"}, "2026-07-28", 0.0, "f").result()


# With a store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.db"


@asynccontextmanager
async def worker(path: Path, shop: Shop, **options: Any) -> AsyncGenerator[tuple[Client, PendingCalls]]:
    """A process of its own, as far as a test can have one: everything is new but the file."""
    store = SQLiteStore(path)
    try:
        async with connected(shop.server()) as client:
            yield client, PendingCalls(store, **options)
    finally:
        store.close()


async def test_calls_in_a_store_are_listed_and_resumed_by_other_workers(path: Path) -> None:
    shop = Shop()
    async with worker(path, shop) as (client, calls):
        one = pending(await client.begin("call_tool", "greet", store=calls))
        other = pending(await client.begin("get_prompt", "letter", store=calls))
        done = await client.begin("call_tool", "add", {"a": 1, "b": 2}, store=calls)
    assert text_of(done) == "3"
    async with worker(path, shop) as (client, calls):
        assert await calls.list("waiting") == [one, other]
        [finished] = await calls.list("done")
        assert text_of(finished.result()) == "3"
        again = pending(await client.resume(one, accept("Ann", one), store=calls))
        assert await calls.get(one.id) == again
    async with worker(path, shop) as (client, calls):
        assert text_of(await client.resume(again, accept("Bob", again), store=calls)) == "Ann greets Bob"
        # Whoever comes late gets the same result, and nothing is sent.
        assert text_of(await client.resume(again, accept("Eve", again), store=calls)) == "Ann greets Bob"
        await calls.remove(one.id)
        assert await calls.get(one.id) is None
        with pytest.raises(PendingCallGone):
            await client.resume(again, accept("Bob", again), store=calls)
    assert shop.greetings == ["Ann"]


async def test_a_call_that_failed_is_kept_with_its_error(path: Path) -> None:
    async with worker(path, Shop()) as (client, calls):
        with pytest.raises(MCPError, match="no"):
            await client.begin("call_tool", "refuse", store=calls)
        [call] = await calls.list("failed")
        with pytest.raises(MCPError) as caught:
            call.result()
        with pytest.raises(MCPError) as again:
            await client.resume(call, store=calls)
        for error in (caught.value, again.value):
            assert (error.code, error.message, error.data) == (-32050, "no", {"why": "because"})


async def test_a_store_forgets_a_call_at_its_deadline(path: Path) -> None:
    store = SQLiteStore(path)
    async with connected(Shop().server()) as client:
        calls = PendingCalls(store)
        call = pending(await client.begin("call_tool", "greet", store=calls, deadline_seconds=60))
        assert call.deadline is not None
        end = call.deadline
        store._clock = lambda: end
        assert await calls.list() == []
        with pytest.raises(PendingCallGone):
            await client.resume(call, accept("Ann", call), store=calls)
    store.close()


async def test_two_workers_do_not_both_resume(path: Path) -> None:
    shop = Shop()
    async with worker(path, shop) as (client, calls):
        call = pending(await client.begin("call_tool", "greet", store=calls))
        call = pending(await client.resume(call, accept("Ann", call), store=calls))
        outcomes: list[object] = []

        async def resume(name: str) -> None:
            try:
                outcomes.append(await client.resume(call, accept(name, call), store=calls))
            except PendingCallBusy as error:
                outcomes.append(error)

        async with anyio.create_task_group() as group:
            for name in ("Bob", "Eve", "Joe"):
                group.start_soon(resume, name)
    results = {text_of(outcome) for outcome in outcomes if not isinstance(outcome, PendingCallBusy)}
    assert len(results) == 1
    assert shop.greetings == ["Ann"]


async def test_a_worker_whose_questions_are_outdated_is_told(path: Path) -> None:
    async with worker(path, Shop()) as (client, calls):
        first = pending(await client.begin("call_tool", "greet", store=calls))
        second = pending(await client.resume(first, accept("Ann", first), store=calls))
        with pytest.raises(PendingCallBusy, match="the call has gone on") as caught:
            await client.resume(first, accept("Bob", first), store=calls)
        assert caught.value.call == second


async def test_a_worker_that_takes_longer_than_its_lease_loses_the_call(path: Path) -> None:
    async with worker(path, Shop(), lease=10) as (client, calls):
        call = pending(await client.begin("call_tool", "greet", store=calls))
        held = await calls._claim(call, None, retry=False)
        assert not isinstance(held, PendingCall)
        with pytest.raises(PendingCallBusy, match="another worker sends the call"):
            await client.resume(call, accept("Ann", call), store=calls)
        now = held.call.lease
        calls._clock = lambda: now
        [uncertain] = await calls.list("uncertain")
        with pytest.raises(PendingCallUncertain, match="pass retry=True to send it again"):
            await client.resume(uncertain, accept("Ann", call), store=calls)
        await client.resume(uncertain, accept("Ann", call), store=calls, retry=True)
        with pytest.raises(PendingCallBusy, match="took too long"):
            await held.put(dataclasses.replace(held.call, status="done"))


# Crashes


class Crash(BaseException):
    """The process dies here: nothing of it runs any more."""


class Fragile:
    """A store, and a way to a server, that die at the given step. After that, nothing is written."""

    def __init__(self, server: MCPServer, store: SQLiteStore, step: int) -> None:
        self._server = server
        self._store = store
        self._left = step
        self._link: Link | None = None

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Crash

    @asynccontextmanager
    async def connect_in_process(self, mode: str, *, raise_exceptions: bool) -> AsyncGenerator[Fragile]:
        async with self._server.connect_in_process(mode) as link:
            self._link = link
            yield self

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        assert self._link is not None
        if request.method != "tools/call":
            return await self._link.exchange(request, on_notification)
        self._step()
        result = await self._link.exchange(request, on_notification)
        self._step()
        return result

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        raise AssertionError("nothing is notified")

    async def add_record(self, name: str, text: str, expires: float | None) -> bool:
        self._step()
        added = await self._store.add_record(name, text, expires)
        self._step()
        return added

    async def change_record(self, seen: Record, text: str, expires: float | None) -> bool:
        self._step()
        changed = await self._store.change_record(seen, text, expires)
        self._step()
        return changed

    async def get_record(self, name: str) -> Record | None:
        return await self._store.get_record(name)

    async def list_records(self, prefix: str) -> list[Record]:
        return await self._store.list_records(prefix)

    async def remove_record(self, name: str) -> None:
        await self._store.remove_record(name)


async def attempt(path: Path, shop: Shop, step: int, seen: PendingCall | None) -> PendingCall | CallToolResult | None:
    """Go on with the call in a process that dies at a step; `None` if it did."""
    store = SQLiteStore(path)
    fragile = Fragile(shop.server(), store, step)
    calls = PendingCalls(fragile, lease=1)
    try:
        async with connected(fragile) as client:
            if seen is None:
                return await client.begin("call_tool", "greet", store=calls)
            outcome = await client.resume(seen, accept(f"round {seen.round}", seen), store=calls)
            assert isinstance(outcome, PendingCall | CallToolResult)
            return outcome
    except Crash:
        return None
    finally:
        store.close()


async def look_after(client: Client, calls: PendingCalls, call: PendingCall) -> str | None:
    """Ask again what is not known, and answer what waits, to the call's end; returns why it was refused, if it was."""
    while call.status != "done":
        try:
            answers = accept(f"round {call.round}", call)
            outcome = await client.resume(call, answers or None, store=calls, retry=True)
        except MCPError as error:
            return str(error)
        if not isinstance(outcome, PendingCall):
            assert text_of(outcome) == "round 1 greets round 2"
            return None
        call = outcome
    return None


@pytest.mark.parametrize("crash_in_round", [0, 1, 2])
@pytest.mark.parametrize("step", range(8))
async def test_a_crash_between_any_two_steps_loses_no_call_and_runs_nothing_twice(
    path: Path, crash_in_round: int, step: int
) -> None:
    shop = Shop()
    call: PendingCall | None = None
    for _ in range(crash_in_round):
        call = pending(await attempt(path, shop, 1000, call))
    outcome = await attempt(path, shop, step, call)
    store = SQLiteStore(path)
    calls = PendingCalls(store, lease=1)
    calls._clock = lambda: 1e12  # every lease is over
    known = await calls.list()
    if outcome is None and crash_in_round == 0 and step == 0:
        assert known == []  # it died before it had begun anything
    else:
        [known_call] = known
        assert known_call.status in ("waiting", "uncertain", "done")
        async with connected(shop.server()) as client:
            refusal = await look_after(client, calls, known_call)
        if refusal is not None:
            assert refusal == "Invalid or expired requestState"  # the token was used: it ran before
            assert known_call.status == "uncertain"
            assert [call.status for call in await calls.list()] == ["failed"]
    store.close()
    assert len(shop.greetings) <= 1


async def test_a_cancelled_worker_says_that_it_does_not_know(path: Path) -> None:
    shop = Shop()
    mcp = shop.server()
    begun = anyio.Event()

    @mcp.tool()
    async def hang() -> str:
        begun.set()
        await anyio.sleep_forever()
        return ""

    store = SQLiteStore(path)
    calls = PendingCalls(store)
    async with connected(mcp) as client, anyio.create_task_group() as group:
        group.start_soon(lambda: client.begin("call_tool", "hang", store=calls))
        await begun.wait()
        group.cancel_scope.cancel()
    assert [call.status for call in await calls.list()] == ["uncertain"]
    store.close()


async def test_a_lost_connection_leaves_a_call_uncertain(path: Path) -> None:
    shop = Shop()
    store = SQLiteStore(path)
    calls = PendingCalls(store)
    mcp = shop.server()

    @mcp.tool()
    async def hang() -> str:
        await anyio.sleep_forever()
        return ""

    async with connected(mcp, read_timeout_seconds=0.05) as client:
        with pytest.raises(MCPError) as caught:
            await client.begin("call_tool", "hang", store=calls)
        assert caught.value.is_local
        [call] = await calls.list()
        assert call.status == "uncertain"
        with pytest.raises(PendingCallUncertain):
            await client.resume(call, store=calls)
    store.close()
