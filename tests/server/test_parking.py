"""`RequestStateSecurity(park=store, max_token_bytes=n)`: a large state stays in a store, and the token says where."""

from __future__ import annotations

import json
from typing import Annotated, Any

import anyio
import pytest
from pydantic import BaseModel

from mcp import Client
from mcp.client import ClientRequestContext
from mcp.server.mcpserver import Elicit, MCPServer, RequestStateSecurity, Resolve
from mcp.shared.exceptions import MCPError
from mcp.stores import MemoryStore, StoreError
from mcp_types import ElicitRequestParams, ElicitResult
from tests.server.boundaries import Handler, accept, asking, call_context, make_context, mint, run, tallied_log
from tests.server.test_request_state import KEY, NOW, PlainCodec, boundary, fail_to_seal, reject

LARGE = "x" * 4096
UNKNOWN = (-32603, "The store for requestState does not answer; try again later", None)
MISSING = "parked state missing"
INVALID: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"max_token_bytes": 511}, ValueError, r"max_token_bytes must be at least 512 \(or None\), got 511"),
    ({"park": MemoryStore}, TypeError, "park must be a store, for example .*, got the class MemoryStore"),
    ({"park": 5}, TypeError, "park must be a store, for example .*, got int"),
]


class Shelf(MemoryStore):
    """A store whose contents can be looked at, and that can fail."""

    def __init__(self) -> None:
        super().__init__()
        self.ttls: list[float] = []
        self.failure: Exception | None = None

    async def put(self, key: str, value: bytes, ttl: float) -> None:
        if self.failure is not None:
            raise self.failure
        self.ttls.append(ttl)
        await super().put(key, value, ttl)

    async def get(self, key: str) -> bytes | None:
        if self.failure is not None:
            raise self.failure
        return await super().get(key)

    @property
    def only(self) -> tuple[str, bytes]:
        [(key, (value, _))] = self._entries.items()
        return key, value


def parking(store: Shelf | None = None, **options: Any) -> Any:
    return boundary(keys=[KEY], park=Shelf() if store is None else store, max_token_bytes=2048, **options)


def test_a_state_whose_token_would_be_too_long_is_kept_and_comes_back() -> None:
    store = Shelf()
    side = parking(store)
    token = mint(side, call_context(), LARGE)
    assert len(token) < 200
    assert accept(side, call_context(requestState=token)) == LARGE
    assert accept(parking(store), call_context(requestState=token)) == LARGE


def test_a_state_that_fits_travels_with_its_token() -> None:
    store = Shelf()
    side = parking(store)
    token = mint(side, call_context(), "x" * 1000)
    assert len(store) == 0
    assert accept(side, call_context(requestState=token)) == "x" * 1000


def test_the_limit_is_on_the_length_of_the_token() -> None:
    for size in range(1300, 1400):
        store = Shelf()
        token = mint(parking(store), call_context(), "x" * size)
        whole = mint(boundary(), call_context(), "x" * size)
        assert (token[:3], len(store)) == ("r1.", 1 if len(whole) > 2048 else 0)
        assert len(token) <= 2048


@pytest.mark.parametrize("compress", [False, True])
def test_what_is_kept_is_sealed_and_its_name_shows_nothing(compress: bool) -> None:
    store = Shelf()
    state = "secret words " * 500
    mint(parking(store, compress_parked=compress), call_context(), state)
    key, value = store.only
    assert value.startswith(b"r1.")
    assert b"secret" not in value
    assert key.startswith("parked:")
    assert len(key) == len("parked:") + 22
    assert (len(value) < 1000) == compress


def test_compressed_or_not_an_instance_reads_what_another_kept() -> None:
    store = Shelf()
    plain, compressing = parking(store), parking(store, compress_parked=True)
    for one, other in ((plain, compressing), (compressing, plain)):
        token = mint(one, call_context(), LARGE + "é\n")
        assert accept(other, call_context(requestState=token)) == LARGE + "é\n"


def test_the_length_of_a_parked_token_depends_on_nothing_that_the_state_says() -> None:
    side = parking(compress_parked=True)
    lengths = {len(mint(side, call_context(), state)) for state in (LARGE, "xy" * 2048, "z" * 100_000)}
    assert len(lengths) == 1


def test_it_is_kept_for_its_time_and_as_long_as_a_clock_may_be_behind() -> None:
    store = Shelf()
    mint(parking(store, ttl=100.0), call_context(), LARGE)
    assert store.ttls == [160.0]


def bob(ctx: Any) -> str:
    return "bob"


def test_a_parked_token_belongs_to_its_request_like_any_other() -> None:
    store = Shelf()
    token = mint(parking(store), call_context(), LARGE)
    assert reject(parking(store), call_context(requestState=token, arguments={"a": 1})) == "request binding"
    assert reject(parking(store), make_context("tools/call", {"name": "u", "requestState": token})) == "request binding"
    assert reject(parking(store, audience="other"), call_context(requestState=token)) == "audience"
    assert reject(parking(store, now=NOW + 600), call_context(requestState=token)) == "expired"
    assert reject(parking(store, bind_principal=bob), call_context(requestState=token)) == "principal drift"


@pytest.mark.rule("MRTR-41")
@pytest.mark.parametrize("there", [True, False])
def test_an_entry_that_is_gone_is_one_more_reason_for_the_one_answer(there: bool) -> None:
    token = mint(parking(Shelf()), call_context(), LARGE)
    side = parking(Shelf()) if there else boundary()
    assert reject(side, call_context(requestState=token)) == MISSING


def test_whoever_can_write_the_store_gains_nothing() -> None:
    store = Shelf()
    side = parking(store)
    token = mint(side, call_context(), LARGE)
    key, _ = store.only
    other = mint(boundary(), make_context("tools/call", {"name": "other"}), LARGE)
    for value, reason in (
        (b"", "malformed"),
        (b"\xff", "malformed"),
        (other.encode(), "request binding"),
        (f'{{"v":1,"s":"{LARGE}"}}'.encode(), "malformed"),
        (token.encode(), "malformed"),
    ):
        run(store.put(key, value, 100))
        assert reject(side, call_context(requestState=token)) == reason


def test_what_is_kept_is_no_token_once_it_is_compressed() -> None:
    store = Shelf()
    side = parking(store, compress_parked=True)
    mint(side, call_context(), LARGE)
    assert reject(side, call_context(requestState=store.only[1].decode())) == "malformed"


@pytest.mark.parametrize(
    "payload", [b'{"k":1,"v":1,"exp":9e9}', b'{"k":"a","v":2,"exp":9e9}', b'{"k":"a","v":1}', b'{"k":']
)
def test_a_handle_of_another_form_is_refused(payload: bytes) -> None:
    side = boundary(codec=PlainCodec(), park=Shelf())
    assert reject(side, call_context(requestState=PlainCodec().seal(payload))) == "malformed"


def test_a_damaged_compression_is_refused() -> None:
    store = Shelf()
    side = boundary(codec=PlainCodec(), park=store, max_token_bytes=2048, compress_parked=True)
    token = mint(side, call_context(), LARGE)
    run(store.put(store.only[0], PlainCodec().seal(b"zz").encode(), 100))
    assert reject(side, call_context(requestState=token)) == "malformed"


def test_a_codec_of_ones_own_parks_too() -> None:
    store = Shelf()
    side = boundary(codec=PlainCodec(), park=store, max_token_bytes=2048)
    token = mint(side, call_context(), LARGE)
    handle = json.loads(PlainCodec().unseal(token))
    assert handle == {"k": store.only[0].removeprefix("parked:"), "v": 1, "exp": NOW + 600}
    assert accept(side, call_context(requestState=token)) == LARGE


def test_a_store_that_fails_while_a_state_is_put_away_is_one_error_that_says_so() -> None:
    store = Shelf()
    store.failure = StoreError("it is full: raise max_bytes")
    with tallied_log() as lines, pytest.raises(MCPError) as caught:
        run(parking(store)(call_context(), Handler(asking(LARGE))))
    error = caught.value
    assert (error.code, error.message, error.data) == UNKNOWN
    assert (error.__cause__, error.__context__) == (None, None)
    [line] = lines
    assert line.startswith("ERROR park.put on tools/call raised StoreError (it is full: raise max_bytes) at ")


def test_a_store_that_fails_while_a_state_is_fetched_says_nothing_about_the_token() -> None:
    store = Shelf()
    side = parking(store)
    token = mint(side, call_context(), LARGE)
    store.failure = OSError("redis://secret@host")
    handler = Handler()
    with tallied_log() as lines, pytest.raises(MCPError) as caught:
        run(side(call_context(requestState=token), handler))
    error = caught.value
    assert (error.code, error.message, error.data) == UNKNOWN
    assert (error.__cause__, error.__context__) == (None, None)
    assert handler.seen == []
    [line] = lines
    assert line.startswith("ERROR park.get on tools/call raised OSError at ")
    store.failure = None
    assert accept(side, call_context(requestState=token)) == LARGE


def test_calls_with_small_states_need_no_store() -> None:
    store = Shelf()
    store.failure = OSError()
    side = parking(store)
    assert accept(side, call_context(requestState=mint(side, call_context(), "S"))) == "S"


def test_without_a_store_a_token_above_the_limit_is_an_error_that_names_the_cure() -> None:
    [line] = fail_to_seal(boundary(max_token_bytes=2048), call_context(), LARGE)
    assert line.startswith("ERROR requestState on tools/call makes a token of ")
    assert line.endswith(
        " bytes, and max_token_bytes is 2048: keep less in the state, raise the limit, or let "
        "RequestStateSecurity(park=store) keep it on the server"
    )


def test_the_limit_is_64_kib_with_a_store_and_there_is_none_without() -> None:
    assert RequestStateSecurity(keys=[KEY]).max_token_bytes is None
    assert RequestStateSecurity(keys=[KEY], park=MemoryStore()).max_token_bytes == 65_536
    assert RequestStateSecurity(keys=[KEY], park=MemoryStore(), max_token_bytes=512).max_token_bytes == 512


def test_a_large_state_that_is_parked_is_no_reason_for_a_warning() -> None:
    with tallied_log() as lines:
        mint(boundary(keys=[KEY], park=Shelf()), call_context(), "x" * 70_000)
    assert not lines


@pytest.mark.parametrize(("options", "error", "message"), INVALID)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}$"):
        RequestStateSecurity(keys=[KEY], **options)


def test_a_parked_token_is_used_once_where_uses_are_counted() -> None:
    store, used = Shelf(), MemoryStore()
    side = parking(store, single_use=used)
    token = mint(side, call_context(), LARGE)
    spends: list[Any] = []

    class Spending(Handler):
        async def __call__(self, ctx: Any) -> Any:
            spends.append(ctx.session.scope.spend_state)
            return await super().__call__(ctx)

    for _ in range(2):
        run(side(call_context(requestState=token), Spending()))
    run(spends[0]())
    with tallied_log() as lines, pytest.raises(MCPError, match="Invalid or expired requestState"):
        run(spends[1]())
    assert list(lines) == ["WARNING requestState rejected on tools/call: replay"]


class Note(BaseModel):
    text: str


async def first() -> Elicit[Note]:
    return Elicit("First note?", Note)


async def second(note: Annotated[Note, Resolve(first)]) -> Elicit[Note]:
    return Elicit(f"{len(note.text)} characters. Second note?", Note)


async def test_what_users_wrote_at_length_stays_on_the_server_between_the_rounds() -> None:
    store = Shelf()
    mcp = MCPServer("notes", request_state_security=RequestStateSecurity(keys=[KEY], park=store, max_token_bytes=2048))

    @mcp.tool()
    async def join(one: Annotated[Note, Resolve(first)], two: Annotated[Note, Resolve(second)]) -> str:
        return str(len(one.text + two.text))

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"text": "n" * 5000})

    with anyio.fail_after(20):
        async with Client(mcp, elicitation_callback=answer) as client:
            result = await client.call_tool("join", {})
    assert result.content[0].model_dump()["text"] == "10000"
    assert len(store) == 1
