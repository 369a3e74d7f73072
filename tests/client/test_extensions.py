"""Extensions of a client: what is declared, results of shapes of their own, notifications of their own."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

import anyio
import anyio.lowlevel
import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, Field

import mcp_types as types
from mcp.client import (
    ClaimContext,
    Client,
    ClientExtension,
    ClientSession,
    NotificationBinding,
    PendingCall,
    ResultClaim,
    UnexpectedClaimedResult,
    advertise,
)
from mcp.shared.exceptions import MCPError
from tests.client.raw_pipe import AGREED, RawServer
from tests.client.scripted import DISCOVERY, Scripted, listing, said
from tests.client.test_client_over_pipes import connected
from tests.client.test_input_required import asking, form

MODERN = "2026-07-28"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
VOUCHER = {"resultType": "voucher", "voucherId": "v-1"}


class Voucher(types.Result):
    result_type: Literal["voucher"] = "voucher"  # pyright: ignore[reportIncompatibleVariableOverride]
    voucher_id: str


class Tick(BaseModel):
    number: int


async def redeem(voucher: Voucher, context: ClaimContext) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=f"redeemed {voucher.voucher_id}")])


async def ignore(params: Any) -> None: ...


CLAIM = ResultClaim(result_type="voucher", model=Voucher, resolve=redeem)
TICKS = NotificationBinding(method="acme/tick", params_type=Tick, handler=ignore)


class Shop(ClientExtension):
    identifier = "com.example/shop"

    def __init__(
        self, claims: Sequence[ResultClaim[Any]] = (CLAIM,), notifications: Sequence[NotificationBinding[Any]] = ()
    ) -> None:
        self._claims = claims
        self._notifications = notifications

    def settings(self) -> dict[str, Any]:
        return {"format": "v2"}

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return self._claims

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        return self._notifications


class Mall(Shop):
    identifier = "com.example/mall"


def text_of(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def declared(server: Scripted, method: str = "tools/call") -> Any:
    return server.sent(method)[-1]["_meta"][CAPABILITIES].get("extensions")


# --- identifiers and settings -----------------------------------------------------------------------------------------


@pytest.mark.rule("CEXT-1", "CEXT-2", "CEXT-3")
@pytest.mark.parametrize("identifier", ["no-prefix", "com.example/x\n", "1a/x", "a-/x", "a/-x", "a/", "/x", "a//x", 3])
def test_an_extension_needs_a_proper_identifier(identifier: Any) -> None:
    text = r"must be a `vendor-prefix/name` string \(reverse-DNS prefix required\), got "
    with pytest.raises(TypeError, match=rf"^Bad\.identifier {text}"):
        type("Bad", (ClientExtension,), {"identifier": identifier})
    with pytest.raises(TypeError, match=text):
        advertise(identifier)

    class Late(ClientExtension):
        def __init__(self) -> None:
            self.identifier = identifier

    with pytest.raises(TypeError, match=rf"^Late\.identifier {text}"):
        Client(Scripted(), extensions=[Late()])


@pytest.mark.rule("CEXT-4", "CEXT-10", "CLIENT-4")
def test_what_is_no_extension_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^ClientExtension has no `identifier`; a ClientExtension must set"):
        Client(Scripted(), extensions=[ClientExtension()])
    wrong: list[tuple[Any, str]] = [({"a/b": {}}, "^extensions= takes a sequence"), (["a/b"], "instances, not str$")]
    for given, problem in wrong:
        with pytest.raises(TypeError, match=problem):
            Client(Scripted(), extensions=given)


@pytest.mark.rule("CEXT-5", "CEXT-D1", "CEXT-7", "CEXT-9")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_extensions_are_declared_with_a_copy_of_their_settings(mode: str) -> None:
    settings: dict[str, Any] = {"a": [1]}
    extensions = [advertise("com.example/x", settings), advertise("com.example/y")]
    wanted = {"com.example/x": {"a": [1]}, "com.example/y": {}}
    if mode == "auto":
        server = Scripted(tools__call=said())
        client = Client(server, extensions=extensions)
        settings["a"].append(2)
        async with client:
            await client.call_tool("add")
        assert declared(server, "server/discover") == declared(server) == wanted
        return

    async def serve(server: RawServer) -> None:
        hello = await server.shake_hands()
        assert (hello.params or {})["capabilities"] == {"extensions": wanted}

    async with connected(serve, mode="legacy", extensions=extensions):
        pass


@pytest.mark.rule("CEXT-D1")
@pytest.mark.parametrize("settings", [{"a": object()}, {"a": float("nan")}, [1]])
def test_settings_that_json_cannot_hold_are_refused(settings: Any) -> None:
    with pytest.raises(TypeError, match=r"^the settings of extension 'com\.example/x'"):
        Client(Scripted(), extensions=[advertise("com.example/x", settings)])


# --- claims -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("CEXT-8", "CEXT-11", "CEXT-20")
async def test_an_extension_whose_results_a_revision_cannot_carry_is_not_declared_under_it() -> None:
    async def serve(server: RawServer) -> None:
        hello = await server.shake_hands()
        assert (hello.params or {})["capabilities"] == {}
        call = await server.request("tools/call")
        await server.answer(call, {**VOUCHER, "content": []})

    async with connected(serve, mode="legacy", extensions=[Shop()], validate_results=False) as (client, _):
        assert (await client.call_tool("add")).content == []
    server = Scripted(tools__call=said())
    async with Client(server, extensions=[Shop()]) as client:
        await client.call_tool("add")
    assert declared(server) == {"com.example/shop": {"format": "v2"}}


@pytest.mark.rule("CEXT-12", "CEXT-13", "CEXT-15")
async def test_a_claimed_result_is_resolved_by_its_extension() -> None:
    seen: list[ClaimContext] = []

    async def resolve(voucher: Voucher, context: ClaimContext) -> types.CallToolResult:
        seen.append(context)
        if voucher.voucher_id == "bad":
            raise KeyError("gone")
        return await redeem(voucher, context)

    claim = ResultClaim(result_type="voucher", model=Voucher, resolve=resolve)
    server = Scripted(tools__call=[VOUCHER, {**VOUCHER, "voucherId": "bad"}])
    async with Client(server, extensions=[Shop([claim])]) as client:
        assert text_of(await client.call_tool("add", read_timeout_seconds=5)) == "redeemed v-1"
        with pytest.raises(KeyError, match="gone"):
            await client.call_tool("add")
        assert [(context.session, context.tool_name) for context in seen] == [(client.session, "add")] * 2
    assert [context.read_timeout_seconds for context in seen] == [5, None]


@pytest.mark.rule("CEXT-14")
async def test_what_a_claim_was_resolved_to_is_checked_like_any_result() -> None:
    async def resolve(voucher: Voucher, context: ClaimContext) -> types.CallToolResult:
        is_error = voucher.voucher_id == "error"
        return types.CallToolResult(content=[], structured_content={"n": "x"}, is_error=is_error)

    claim = ResultClaim(result_type="voucher", model=Voucher, resolve=resolve)
    tool = {"name": "add", "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    replies = [VOUCHER, {**VOUCHER, "voucherId": "error"}]
    async with Client(Scripted(tools__list=listing(tool), tools__call=replies), extensions=[Shop([claim])]) as client:
        with pytest.raises(RuntimeError, match=r"^Invalid structured content"):
            await client.call_tool("add")
        assert (await client.call_tool("add")).is_error


@pytest.mark.rule("CEXT-16")
async def test_a_claim_holds_after_rounds_of_questions_too() -> None:
    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"a": "b"})

    server = Scripted(tools__call=[asking(which=form()), VOUCHER])
    async with Client(server, extensions=[Shop()], elicitation_callback=elicit) as client:
        assert text_of(await client.call_tool("add")) == "redeemed v-1"


async def test_a_claim_holds_for_a_call_that_was_put_away_too() -> None:
    server = Scripted(tools__call=[asking(which=form()), VOUCHER, VOUCHER])
    async with Client(server, extensions=[Shop()]) as client:
        pending = await client.begin("call_tool", "add")
        assert isinstance(pending, PendingCall)
        answers: types.InputResponses = {"which": types.ElicitResult(action="accept", content={"a": "b"})}
        finished = await client.resume(pending, answers)
        assert isinstance(finished, types.CallToolResult)
        assert text_of(finished) == "redeemed v-1"
        begun = await client.begin("call_tool", "add")
        assert isinstance(begun, types.CallToolResult)


@pytest.mark.rule("CEXT-D2", "CEXT-D4")
async def test_a_claimed_result_that_cannot_be_used_is_an_error() -> None:
    async def resolve(voucher: Voucher, context: ClaimContext) -> Any:
        return "done"

    claim = ResultClaim(result_type="voucher", model=Voucher, resolve=resolve)
    server = Scripted(tools__call=[{"resultType": "voucher"}, {**said(), "resultType": "coupon"}, VOUCHER])
    async with Client(server, extensions=[Shop([claim])]) as client:
        with pytest.raises(ValueError, match="voucherId: Field required"):
            await client.call_tool("add")
        with pytest.raises(ValueError, match="unknown resultType 'coupon'"):
            await client.call_tool("add")
        with pytest.raises(
            TypeError, match=r"^resolver for resultType 'voucher' returned str; expected CallToolResult"
        ):
            await client.call_tool("add")


@pytest.mark.rule("SESSION-25", "CEXT-19")
async def test_a_session_hands_a_claimed_result_over_only_if_it_is_asked_to() -> None:
    options: dict[str, Any] = {
        "extensions": {"com.example/shop": {}},
        "result_claims": {"com.example/shop": [CLAIM]},
    }
    server = Scripted(tools__call=VOUCHER)
    async with ClientSession(link=server, **options) as session:
        session.adopt(types.DiscoverResult.model_validate(DISCOVERY))
        with pytest.raises(UnexpectedClaimedResult) as caught:
            await session.call_tool("add")
        assert caught.value.result == Voucher(voucher_id="v-1")
        assert str(caught.value) == (
            "Server returned a claimed result (Voucher); pass the owning extension to Client(extensions=[...]) for "
            "transparent resolution, or call with allow_claimed=True and handle the shape. The carried result may "
            "reference server-side state needing cleanup."
        )
        assert await session.call_tool("add", allow_claimed=True) == Voucher(voucher_id="v-1")
    async with ClientSession(link=server) as session:
        session.adopt(types.DiscoverResult.model_validate(DISCOVERY))
        with pytest.raises(ValueError, match="unknown resultType 'voucher'"):
            await session.call_tool("add", allow_claimed=True)


@pytest.mark.rule("SESSION-33")
@pytest.mark.parametrize(
    ("extensions", "claims", "problem"),
    [
        (None, {"a/b": [CLAIM]}, "result_claims key 'a/b' has no extensions entry; a claim is only advertised"),
        ({"a/b": {}}, {"a/b": []}, "result_claims['a/b'] is empty and would drop the extension"),
        ({"a/b": {}}, {"a/b": [CLAIM, CLAIM]}, "duplicate result claim for resultType 'voucher'"),
        ({"a/b": {}, "a/c": {}}, {"a/b": [CLAIM], "a/c": [CLAIM]}, "duplicate result claim for resultType 'voucher'"),
    ],
)
def test_claims_of_a_session_are_checked(extensions: Any, claims: Any, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        ClientSession(link=Scripted(), extensions=extensions, result_claims=claims)
    assert str(caught.value).startswith(problem)


class Untagged(types.Result):
    pass


class Aliased(types.Result):
    result_type: Literal["voucher"] = "voucher"  # pyright: ignore[reportIncompatibleVariableOverride]
    request_state: str = ""


class Chosen(types.Result):
    result_type: Literal["voucher"] = "voucher"  # pyright: ignore[reportIncompatibleVariableOverride]
    mine: str = Field("", validation_alias=AliasChoices("a", AliasPath("inputRequests", 0)))


class Core(types.CallToolResult):
    pass


USELESS: list[tuple[dict[str, Any], str]] = [
    ({"result_type": "complete"}, "resultType 'complete' is core protocol vocabulary"),
    ({"result_type": "input_required"}, "resultType 'input_required' is core protocol vocabulary"),
    ({"model": Core}, "claim models must not subclass core result types"),
    ({"model": Untagged}, "Untagged.result_type must be Literal['voucher']"),
    ({"result_type": "task"}, "Voucher.result_type must be Literal['task']"),
    ({"model": Tick}, "Tick must subclass mcp_types.Result"),
    ({"model": Aliased}, "Aliased.request_state aliases 'requestState', a typed field of the core result surface"),
    ({"model": Chosen}, "Chosen.mine aliases 'inputRequests', a typed field of the core result surface"),
    ({"method": "prompts/get"}, "claims attach to ['tools/call'] only; got method 'prompts/get'"),
    ({"protocol_versions": frozenset()}, "empty protocol_versions could never activate; use None for all"),
    (
        {"protocol_versions": frozenset({"2025-11-25", MODERN})},
        "protocol_versions ['2025-11-25'] are not modern protocol revisions; claimed shapes cannot be delivered",
    ),
]


@pytest.mark.rule("CEXT-D3")
@pytest.mark.parametrize(("changes", "problem"), USELESS)
def test_a_claim_that_could_be_of_no_use_is_refused(changes: dict[str, Any], problem: str) -> None:
    options: dict[str, Any] = {"result_type": "voucher", "model": Voucher, "resolve": redeem, **changes}
    with pytest.raises(ValueError) as caught:
        ResultClaim(**options)
    assert str(caught.value).startswith(problem)


@pytest.mark.rule("CALLBACK-33")
@pytest.mark.parametrize(
    ("extensions", "problem"),
    [
        ([Shop(), Shop()], "extension identifier 'com.example/shop' is passed more than once"),
        (
            [Shop([CLAIM, CLAIM])],
            "extension 'com.example/shop' claims resultType 'voucher'; a wire tag can have only one resolver",
        ),
        (
            [Shop(), Mall()],
            "extensions 'com.example/shop' and 'com.example/mall' both claim resultType 'voucher'; "
            "a wire tag can have only one resolver",
        ),
        (
            [Shop((), [TICKS]), Mall((), [TICKS])],
            "extensions 'com.example/shop' and 'com.example/mall' both bind notification method 'acme/tick'; "
            "a method can have only one observer",
        ),
    ],
)
def test_two_extensions_cannot_want_the_same(extensions: Any, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        Client(Scripted(), extensions=extensions)
    assert str(caught.value) == problem


# --- notifications ----------------------------------------------------------------------------------------------------


def bound(handler: Any, method: str = "acme/tick") -> list[ClientExtension]:
    return [Shop((), [NotificationBinding(method=method, params_type=Tick, handler=handler)])]


@pytest.mark.rule("CALLBACK-30", "CEXT-21", "CEXT-24")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_bound_notification_is_heard_in_order_beside_the_conversation(mode: str) -> None:
    heard: list[int] = []
    handled: list[Any] = []
    done = anyio.Event()

    async def hear(params: Tick) -> None:
        if params.number == 0:
            await client.session.list_prompts()  # the conversation goes on meanwhile
        heard.append(params.number)
        if params.number == 3:
            done.set()

    async def handle(message: Any) -> None:
        handled.append(message)

    async def serve(server: RawServer) -> None:
        if mode == "legacy":
            await server.shake_hands(AGREED)
        else:
            await server.answer(await server.request("server/discover"), DISCOVERY)
        call = await server.request("tools/call")
        for number in range(4):
            await server.send({"method": "acme/tick", "params": {"number": number}})
        await server.answer(await server.request("prompts/list"), {"prompts": [], "ttlMs": 0, "cacheScope": "private"})
        await server.answer(call, {"content": []})

    options: dict[str, Any] = {"extensions": bound(hear), "message_handler": handle, "validate_results": False}
    with anyio.fail_after(5):
        async with connected(serve, mode=mode, **options) as (client, _):
            await client.call_tool("add")
            await done.wait()
    assert heard == [0, 1, 2, 3]
    assert handled == []


@pytest.mark.rule("CALLBACK-31", "CEXT-22")
async def test_bad_params_a_raising_handler_and_a_full_queue_cost_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: list[int] = []
    begun, go_on = anyio.Event(), anyio.Event()

    async def hear(params: Tick) -> None:
        begun.set()
        await go_on.wait()
        heard.append(params.number)
        if params.number == 0:
            raise RuntimeError("broken")

    async def tell(request: Any, on_notification: Any) -> dict[str, Any]:
        await on_notification("acme/tick", {"number": "x"})
        await on_notification("acme/tick", None)
        for number in range(2000):
            await on_notification("acme/tick", {"number": number})
            if number == 0:
                await begun.wait()
        return said()

    with anyio.fail_after(10):
        async with Client(Scripted(tools__call=tell), extensions=bound(hear)) as client:
            await client.call_tool("add")
            go_on.set()
            while len(heard) < 1025:
                await anyio.lowlevel.checkpoint()
    assert heard == [0, *range(2000 - 1024, 2000)]
    assert caplog.text.count("notification queue for 'acme/tick' is full") == 1
    assert caplog.text.count("Failed to validate notification: acme/tick") == 2
    assert caplog.text.count("notification binding handler for 'acme/tick' raised") == 1


@pytest.mark.rule("CALLBACK-32", "CEXT-23")
async def test_a_binding_for_a_core_notification_never_fires(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    heard: list[Any] = []
    handled: list[Any] = []

    async def hear(params: Any) -> None:
        heard.append(params)

    async def handle(message: Any) -> None:
        handled.append(message)

    async def tell(request: Any, on_notification: Any) -> dict[str, Any]:
        await on_notification("notifications/tools/list_changed", None)
        return said()

    extensions = bound(hear, "notifications/tools/list_changed")
    client = Client(Scripted(tools__call=tell), extensions=extensions, message_handler=handle)
    assert "never fires" not in caplog.text
    async with client:
        await client.call_tool("add")
        client.session.adopt(types.DiscoverResult.model_validate(DISCOVERY))
    assert (heard, len(handled)) == ([], 1)
    assert caplog.text.count("notification binding for 'notifications/tools/list_changed' never fires") == 1


@pytest.mark.rule("CALLBACK-33")
def test_two_bindings_for_one_method_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^duplicate notification binding for method 'acme/tick'$"):
        ClientSession(link=Scripted(), notification_bindings=[TICKS, TICKS])


async def test_leaving_a_client_ends_a_handler_that_still_runs() -> None:
    begun = anyio.Event()
    ended: list[int] = []

    async def hear(params: Tick) -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(params.number)

    async def tell(request: Any, on_notification: Any) -> dict[str, Any]:
        await on_notification("acme/tick", {"number": 1})
        await begun.wait()
        return said()

    with anyio.fail_after(5):
        async with Client(Scripted(tools__call=tell), extensions=bound(hear)) as client:
            await client.call_tool("add")
            assert ended == []
    assert ended == [1]
    with pytest.raises((RuntimeError, MCPError)):
        await client.call_tool("add")
