from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Coroutine
from typing import Any

import anyio
import pytest
from starlette.requests import Request

from mcp._engine.link import Link, OutgoingRequest
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware, auth_context_var, get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, principal_components
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import (
    AESGCMRequestStateCodec,
    InvalidRequestState,
    RequestStateBoundary,
    RequestStateSecurity,
    authenticated_principal,
)
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, CallToolResult, InputRequiredResult
from mcp_types.methods import INPUT_REQUIRED_METHODS
from tests.server.boundaries import (
    Context,
    Handler,
    accept,
    asking,
    call_context,
    make_context,
    mint,
    run,
    tallied_log,
)

META_VERSION = "2026-07-28"
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": META_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
KEY = "k" * 32
NOW = 1_800_000_000.0
REJECTED = "Invalid or expired requestState"
EXACTLY_ONE = "RequestStateSecurity takes exactly one of keys= or codec="
AUDIENCE = "RequestStateSecurity(audience=...)"
HINT = (
    " (another instance sealed it, or this one before a restart: "
    "give all instances the same RequestStateSecurity(keys=[...]))"
)


class PlainCodec:
    """A codec without protection, to look at payloads and to forge them."""

    def seal(self, payload: bytes) -> str:
        return "plain." + payload.hex()

    def unseal(self, token: str) -> bytes:
        if not token.startswith("plain."):
            raise InvalidRequestState(f"secret words about {token}")
        return bytes.fromhex(token[6:])


def boundary(
    *, audience: str | None = "server", now: float = NOW, security: RequestStateSecurity | None = None, **options: Any
) -> RequestStateBoundary:
    if security is None:
        options = options if "codec" in options else {"keys": [KEY], **options}
        security = RequestStateSecurity(**options)
    made = RequestStateBoundary(security, default_audience=audience)
    made._clock = lambda: now
    return made


def reject(side: RequestStateBoundary, ctx: Context) -> str:
    """Assert the one answer, and return the reason from the log."""
    handler = Handler()
    with tallied_log() as lines, pytest.raises(MCPError) as caught:
        run(side(ctx, handler))
    error = caught.value
    assert (type(error), error.code, error.message, error.data) == (MCPError, -32602, REJECTED, None)
    assert (error.__cause__, error.__context__) == (None, None)
    assert handler.seen == []
    [line] = [line for line in lines if line.startswith("WARNING")]
    start = f"WARNING requestState rejected on {ctx.method}: "
    assert line.startswith(start)
    return line.removeprefix(start)


def fail_to_seal(side: RequestStateBoundary, ctx: Context, state: str = "S") -> list[str]:
    """Assert the one answer to a failure on our side, and return the log."""
    with tallied_log() as lines, pytest.raises(MCPError) as caught:
        run(side(ctx, Handler(asking(state))))
    error = caught.value
    assert (error.code, error.message, error.data) == (-32603, "Internal error", None)
    assert (error.__cause__, error.__context__) == (None, None)
    assert all(line.startswith("ERROR ") for line in lines)
    return list(lines)


def claims_of(token: str) -> dict[str, Any]:
    return json.loads(PlainCodec().unseal(token))


def forge(claims: object) -> str:
    return PlainCodec().seal(claims if isinstance(claims, bytes) else json.dumps(claims).encode())


# What crosses the boundary


@pytest.mark.rule("MRTR-24", "MRTR-50")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "t", "arguments": {"a": 1}}),
        ("prompts/get", {"name": "p", "arguments": {"a": "1"}}),
        ("resources/read", {"uri": "x://y"}),
    ],
)
@pytest.mark.parametrize("state", ["provision-v1", "", "é\n\0", "x" * 5000, '{"a":1}', "\ud800 lone", "r1.AAAA"])
def test_handlers_see_plain_text_and_the_wire_sees_tokens(method: str, params: dict[str, Any], state: str) -> None:
    side = boundary()
    handler = Handler(asking(state))
    result = run(side(make_context(method, params), handler))
    assert isinstance(result, dict)
    token = result["requestState"]
    assert token.startswith("r1.")
    assert state not in token or not state
    assert {**result, "requestState": None} == {**asking(None)}
    assert handler.states == [None]
    retry: dict[str, Any] = {**params, "inputResponses": {"a": {"roots": []}}, "requestState": token}
    handler = Handler()
    assert run(side(make_context(method, retry), handler)) is handler.result
    assert [ctx.params for ctx in handler.seen] == [{**retry, "requestState": state}]


@pytest.mark.rule("MRTR-28")
def test_every_round_is_sealed_anew() -> None:
    side = boundary()
    first = mint(side, call_context(), "one")
    second = mint(side, call_context(requestState=first), "one")
    assert first != second
    assert accept(side, call_context(requestState=second)) == "one"


@pytest.mark.rule("MRTR-50")
async def test_a_low_level_server_seals_once_the_boundary_is_in_its_middleware() -> None:
    states: list[str | None] = []

    async def call_tool(
        ctx: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        states.append(params.request_state)
        if len(states) % 2:
            return InputRequiredResult(request_state="provision-v1")
        return CallToolResult(content=[])

    async def call(link: Link, state: str | None = None) -> dict[str, Any]:
        params: dict[str, Any] = {"name": "t", "arguments": {}, "_meta": META}
        if state is not None:
            params["requestState"] = state
        return await link.exchange(OutgoingRequest(1, "tools/call", params, version=META_VERSION), ignore)

    async def ignore(method: str, params: dict[str, Any] | None) -> None:
        raise AssertionError("nothing here notifies")

    server = Server("Provisioner", on_call_tool=call_tool)
    with anyio.fail_after(5):
        async with server.connect_in_process("auto") as link:
            assert (await call(link))["requestState"] == "provision-v1"
            assert (await call(link, "provision-v1"))["resultType"] == "complete"
            server.middleware.append(
                RequestStateBoundary(RequestStateSecurity(keys=[KEY]), default_audience=server.name)
            )
            token = (await call(link))["requestState"]
            assert token.startswith("r1.")
            assert (await call(link, token))["resultType"] == "complete"
            with tallied_log() as lines, pytest.raises(MCPError, match=f"^{REJECTED}$"):
                await call(link, "provision-v1")
            assert list(lines) == ["WARNING requestState rejected on tools/call: malformed"]
    assert states == [None, "provision-v1", None, "provision-v1"]


@pytest.mark.rule("MRTR-43")
def test_a_token_verifies_again_and_again_within_its_time() -> None:
    side = boundary()
    token = mint(side, call_context(), "S")
    assert [accept(side, call_context(requestState=token)) for _ in range(3)] == ["S"] * 3


@pytest.mark.rule("MRTR-24")
def test_a_result_model_is_sealed_like_a_dict() -> None:
    side = boundary()
    model = InputRequiredResult(request_state="S")
    result = run(side(call_context(), Handler(model)))
    assert isinstance(result, InputRequiredResult)
    assert result.request_state is not None
    assert accept(side, call_context(requestState=result.request_state)) == "S"
    assert model.request_state == "S"


@pytest.mark.rule("MRTR-51")
@pytest.mark.parametrize(
    "result",
    [
        {"resultType": "complete", "requestState": "S"},
        {"requestState": "S"},
        {"resultType": "input_required", "inputRequests": {}},
        {"resultType": "input_required", "requestState": None},
        {"resultType": "input_required", "requestState": 5},
    ],
)
def test_results_without_a_state_to_seal_pass_untouched(result: dict[str, Any]) -> None:
    assert run(boundary()(call_context(), Handler(result))) is result


@pytest.mark.rule("MRTR-51")
def test_a_model_without_a_state_passes_untouched() -> None:
    model = InputRequiredResult.model_validate({"inputRequests": {"a": {"method": "roots/list"}}})
    assert run(boundary()(call_context(), Handler(model))) is model


@pytest.mark.rule("MRTR-7")
@pytest.mark.parametrize("params", [None, {}, {"name": "t"}, {"name": "t", "requestState": None}])
def test_a_request_without_a_state_passes_untouched(params: dict[str, Any] | None) -> None:
    ctx, handler = make_context("tools/call", params), Handler()
    run(boundary()(ctx, handler))
    assert handler.seen == [ctx]
    assert handler.seen[0] is ctx


@pytest.mark.rule("MRTR-40", "MRTR-51")
@pytest.mark.parametrize("method", ["tools/list", "server/discover", "x/custom", "notifications/progress"])
def test_other_methods_are_never_touched(method: str) -> None:
    ctx, handler = make_context(method, {"requestState": "garbage"}), Handler(asking("S"))
    assert run(boundary()(ctx, handler)) is handler.result
    assert handler.seen[0] is ctx


def test_other_methods_pay_nothing() -> None:
    async def answer() -> None: ...

    rest = answer()

    def call_next(ctx: Context) -> Coroutine[Any, Any, None]:
        return rest

    assert boundary()(make_context("tools/list", None), call_next) is rest
    run(rest)


@pytest.mark.rule("MRTR-40", "MRTR-42", "MRTR-64")
@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25"])
@pytest.mark.parametrize("method", sorted(INPUT_REQUIRED_METHODS))
def test_every_state_is_checked_before_any_handler_runs(method: str, version: str) -> None:
    ctx = make_context(method, {"name": "never registered", "requestState": "mine"}, version=version)
    assert reject(boundary(), ctx) == "malformed"


@pytest.mark.rule("MRTR-40", "MRTR-41")
@pytest.mark.parametrize("state", [5, True, 1.5, [], {}, ["r1.AAAA"]])
def test_a_state_that_is_no_string_is_refused(state: object) -> None:
    assert reject(boundary(), call_context(requestState=state)) == "non-string requestState"


@pytest.mark.rule("MRTR-40")
def test_an_empty_state_is_refused_before_any_codec_sees_it() -> None:
    assert reject(boundary(), call_context(requestState="")) == "malformed"
    assert reject(boundary(codec=PlainCodec()), call_context(requestState="")) == "malformed"


# Time


@pytest.mark.rule("MRTR-28", "MRTR-30", "MRTR-41")
@pytest.mark.parametrize("ttl", [600.0, 0.25, 5, 1e9])
def test_a_token_ends_with_its_ttl(ttl: float) -> None:
    token = mint(boundary(ttl=ttl), call_context(), "S")
    ctx = call_context(requestState=token)
    assert accept(boundary(now=NOW + ttl * 0.99), ctx) == "S"
    assert reject(boundary(now=NOW + ttl), ctx) == "expired"
    assert reject(boundary(now=NOW + ttl + 1), ctx) == "expired"


@pytest.mark.rule("MRTR-28")
def test_a_round_lasts_ten_minutes_by_default() -> None:
    assert RequestStateSecurity(keys=[KEY]).ttl == RequestStateSecurity.ephemeral().ttl == 600.0


@pytest.mark.rule("MRTR-29")
def test_the_clock_of_the_sealing_instance_may_be_a_minute_ahead() -> None:
    ctx = call_context(requestState=mint(boundary(), call_context(), "S"))
    assert accept(boundary(now=NOW - 60), ctx) == "S"
    assert reject(boundary(now=NOW - 61), ctx) == "expired"


# The request


@pytest.mark.rule("MRTR-30", "MRTR-31", "MRTR-41")
def test_a_token_holds_for_one_method_target_and_arguments() -> None:
    side = boundary()
    token = mint(side, call_context(arguments={"a": 1}), "S")
    assert accept(side, call_context(arguments={"a": 1}, requestState=token)) == "S"
    others: list[tuple[str, dict[str, Any]]] = [
        ("prompts/get", {"name": "t", "arguments": {"a": 1}}),
        ("resources/read", {"uri": "t", "arguments": {"a": 1}}),
        ("tools/call", {"name": "T", "arguments": {"a": 1}}),
        ("tools/call", {"name": "u", "arguments": {"a": 1}}),
        ("tools/call", {"arguments": {"a": 1}}),
        ("tools/call", {"name": ["t"], "arguments": {"a": 1}}),
        ("tools/call", {"uri": "t", "arguments": {"a": 1}}),
        ("tools/call", {"name": "t"}),
        ("tools/call", {"name": "t", "arguments": {"a": 2}}),
        ("tools/call", {"name": "t", "arguments": {"a": True}}),
        ("tools/call", {"name": "t", "arguments": {"a": 1, "b": None}}),
        ("tools/call", {"name": "t", "arguments": [1]}),
    ]
    for method, params in others:
        assert reject(side, make_context(method, {**params, "requestState": token})) == "request binding"


@pytest.mark.rule("MRTR-30")
def test_a_resource_token_holds_for_one_uri() -> None:
    side = boundary()
    token = mint(side, make_context("resources/read", {"uri": "x://a"}), "S")
    assert accept(side, make_context("resources/read", {"uri": "x://a", "requestState": token})) == "S"
    for uri in ("x://b", "x://a/", "X://a", "x://%61"):
        assert reject(side, make_context("resources/read", {"uri": uri, "requestState": token})) == "request binding"


@pytest.mark.rule("MRTR-31", "MRTR-D4")
def test_respelled_arguments_metadata_and_answers_are_no_other_request() -> None:
    side = boundary()
    token = mint(side, call_context(arguments={"a": 1, "b": {"x": 2.0, "y": "\ud800"}}), "S")
    again = call_context(
        arguments={"b": {"y": "\ud800", "x": 2}, "a": 1.0},
        requestState=token,
        inputResponses={"a": {"roots": []}},
        _meta={"progressToken": 7},
    )
    assert accept(side, again) == "S"


@pytest.mark.rule("MRTR-31")
def test_missing_arguments_equal_empty_ones() -> None:
    side = boundary()
    token = mint(side, call_context(), "S")
    assert accept(side, call_context(arguments={}, requestState=token)) == "S"
    assert accept(side, call_context(arguments=None, requestState=token)) == "S"


# Keys and audience


@pytest.mark.rule("MRTR-25", "MRTR-41")
def test_without_shared_keys_the_log_names_the_cure() -> None:
    first, second = (boundary(security=RequestStateSecurity.ephemeral()) for _ in range(2))
    token = mint(first, call_context(), "S")
    assert accept(first, call_context(requestState=token)) == "S"
    assert reject(second, call_context(requestState=token)) == f"unknown key{HINT}"


@pytest.mark.rule("MRTR-26", "MRTR-44")
def test_keys_rotate_without_a_gap() -> None:
    old, new = "o" * 32, "n" * 32
    phases = [boundary(keys=keys) for keys in ([old], [old, new], [new, old], [new])]
    tokens = [mint(phase, call_context(), "S") for phase in phases]
    # What one phase mints, the phases rolled out beside it verify.
    for minted, verified in ((0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2), (3, 3)):
        assert accept(phases[verified], call_context(requestState=tokens[minted])) == "S", (minted, verified)
    assert reject(phases[3], call_context(requestState=tokens[1])) == f"unknown key{HINT}"
    assert reject(phases[0], call_context(requestState=tokens[2])) == f"unknown key{HINT}"


@pytest.mark.rule("MRTR-30", "MRTR-36", "MRTR-41")
def test_servers_with_one_key_refuse_each_others_tokens() -> None:
    token = mint(boundary(audience="one"), call_context(), "S")
    ctx = call_context(requestState=token)
    assert accept(boundary(audience="one"), ctx) == "S"
    for other in (boundary(audience="two"), boundary(audience=None), boundary(security=security("two"))):
        assert reject(other, ctx) == "audience"


def security(audience: str | None) -> RequestStateSecurity:
    return RequestStateSecurity(keys=[KEY], audience=audience)


@pytest.mark.rule("MRTR-36")
def test_the_policys_audience_wins_over_the_servers_name() -> None:
    token = mint(boundary(audience="one", security=security("shared")), call_context(), "S")
    assert accept(boundary(audience="two", security=security("shared")), call_context(requestState=token)) == "S"
    assert accept(boundary(audience="shared"), call_context(requestState=token)) == "S"


@pytest.mark.rule("MRTR-50")
def test_without_an_audience_there_is_no_claim_and_none_is_expected() -> None:
    token = mint(boundary(audience=None, codec=PlainCodec()), call_context(), "S")
    assert "aud" not in claims_of(token)
    assert accept(boundary(audience=None, codec=PlainCodec()), call_context(requestState=token)) == "S"
    assert reject(boundary(audience="one", codec=PlainCodec()), call_context(requestState=token)) == "audience"


# Principal


def access_token(client_id: str = "client", *, subject: str | None = None, **claims: Any) -> AccessToken:
    return AccessToken(token="secret", client_id=client_id, scopes=["a"], subject=subject, claims=claims or None)


def tenant(ctx: Context) -> str | None:
    return (ctx.params or {}).get("_tenant")


def bob(ctx: Context) -> str:
    return "bob"


def request_of(token: AccessToken | None) -> Request:
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "headers": []}
    if token is not None:
        scope["user"] = AuthenticatedUser(token)
    return Request(scope)


def authenticated_context(token: AccessToken | None, **params: Any) -> Context:
    return call_context(request=request_of(token), **params)


@pytest.mark.rule("MRTR-33")
@pytest.mark.parametrize(
    ("token", "principal"),
    [
        (access_token("c"), '["c",null,null]'),
        (access_token("c", subject="s"), '["c",null,"s"]'),
        (access_token("c", subject="s", iss="https://i"), '["c","https://i","s"]'),
        (access_token("c", iss=5), '["c","5",null]'),
        (access_token("c", iss=None, other=1), '["c",null,null]'),
        (access_token("c", subject=""), '["c",null,""]'),
    ],
)
def test_the_principal_is_client_issuer_and_subject(token: AccessToken, principal: str) -> None:
    assert authenticated_principal(authenticated_context(token)) == principal
    assert list(principal_components(token)) == json.loads(principal)


@pytest.mark.rule("MRTR-33")
def test_without_a_verified_token_there_is_no_principal() -> None:
    assert authenticated_principal(call_context()) is None
    assert authenticated_principal(authenticated_context(None)) is None
    for user in (None, "alice", {"access_token": access_token()}):
        assert authenticated_principal(call_context(request=Request({"type": "http", "user": user}))) is None
    assert authenticated_principal(call_context(request="no HTTP request")) is None


@pytest.mark.rule("MRTR-33")
def test_the_verified_user_is_also_found_in_the_context() -> None:
    reset = auth_context_var.set(AuthenticatedUser(access_token("c")))
    try:
        assert authenticated_principal(call_context()) == '["c",null,null]'
        assert authenticated_principal(authenticated_context(access_token("d"))) == '["d",null,null]'
    finally:
        auth_context_var.reset(reset)


@pytest.mark.rule("MRTR-30", "MRTR-32", "MRTR-41")
def test_a_token_holds_for_one_principal() -> None:
    side = boundary()
    mine = access_token("c", subject="s", iss="i")
    token = mint(side, authenticated_context(mine), "S")
    fresh = mine.model_copy(update={"token": "another", "scopes": [], "expires_at": 5})
    assert accept(side, authenticated_context(fresh, requestState=token)) == "S"
    for other in (access_token("d", subject="s", iss="i"), access_token("c", subject="t", iss="i"), access_token("c")):
        assert reject(side, authenticated_context(other, requestState=token)) == "principal"


@pytest.mark.rule("MRTR-34", "MRTR-41")
def test_presence_of_a_principal_must_match() -> None:
    side = boundary()
    bound = mint(side, authenticated_context(access_token()), "S")
    assert reject(side, call_context(requestState=bound)) == "principal drift"
    unbound = mint(side, call_context(), "S")
    assert reject(side, authenticated_context(access_token(), requestState=unbound)) == "principal drift"


@pytest.mark.rule("MRTR-34")
def test_another_signal_can_name_the_principal() -> None:
    side = boundary(bind_principal=tenant)
    token = mint(side, call_context(_tenant="a"), "S")
    assert accept(side, call_context(_tenant="a", requestState=token)) == "S"
    assert reject(side, call_context(_tenant="b", requestState=token)) == "principal"
    assert reject(side, call_context(requestState=token)) == "principal drift"
    assert reject(side, call_context(_tenant="", requestState=token)) == "principal"


@pytest.mark.rule("MRTR-34")
def test_binding_can_be_switched_off() -> None:
    side = boundary(bind_principal=None)
    token = mint(side, authenticated_context(access_token("c")), "S")
    assert accept(side, authenticated_context(access_token("d"), requestState=token)) == "S"


@pytest.mark.rule("MRTR-49")
def test_a_principal_with_a_lone_surrogate_is_one_like_any_other() -> None:
    side = boundary(bind_principal=tenant)
    token = mint(side, call_context(_tenant="\ud800"), "\udc00")
    assert accept(side, call_context(_tenant="\ud800", requestState=token)) == "\udc00"
    assert reject(side, call_context(_tenant="\ud801", requestState=token)) == "principal"


@pytest.mark.rule("MRTR-35")
def test_tokens_of_one_principal_cannot_be_linked() -> None:
    side = boundary(codec=PlainCodec(), bind_principal=bob)
    tokens = [mint(side, call_context(), "S") for _ in range(50)]
    assert len({claims_of(token)["p"] for token in tokens}) == 50
    assert "bob" not in str([claims_of(token) for token in tokens])


def raising(ctx: Context) -> str:
    raise RuntimeError("secret of bob")


def numbering(ctx: Context) -> Any:
    return 12345


@pytest.mark.rule("MRTR-35", "MRTR-41")
@pytest.mark.parametrize(
    ("bind_principal", "cause"),
    [
        (raising, "raised RuntimeError at "),
        (numbering, "returned int, expected str or None"),
    ],
)
def test_a_principal_that_cannot_be_told_stops_both_ways(bind_principal: Any, cause: str) -> None:
    token = mint(boundary(), call_context(), "S")
    side = boundary(bind_principal=bind_principal)
    assert reject(side, call_context(requestState=token)) == "principal binding error"
    lines = fail_to_seal(side, call_context())
    assert any(line.startswith(f"ERROR bind_principal on tools/call {cause}") for line in lines)
    assert "ERROR refusing to seal requestState on tools/call: principal binding error" in lines
    assert not any("bob" in line or "12345" in line for line in lines)


# Codecs of one's own


@pytest.mark.rule("MRTR-45", "MRTR-46")
def test_a_codec_gets_the_claims_as_json() -> None:
    codec = PlainCodec()
    side = boundary(codec=codec, bind_principal=bob)
    assert RequestStateSecurity(codec=codec).codec is codec
    claims = claims_of(mint(side, call_context(arguments={"a": 1}), "S"))
    assert {name: claims[name] for name in ("v", "iat", "exp", "m", "t", "aud", "s")} == {
        "v": 1,
        "iat": NOW,
        "exp": NOW + 600,
        "m": "tools/call",
        "t": "t",
        "aud": "server",
        "s": "S",
    }
    assert set(claims) == {"v", "iat", "exp", "m", "t", "aud", "s", "a", "p"}
    assert len(claims["a"]) == 22
    unbound = claims_of(mint(boundary(codec=codec, audience=None), call_context(), "S"))
    assert set(unbound) == {"v", "iat", "exp", "m", "t", "s", "a"}


@pytest.mark.rule("MRTR-45")
def test_every_claim_is_checked_for_every_codec() -> None:
    side = boundary(codec=PlainCodec(), bind_principal=bob)
    good = claims_of(mint(side, call_context(), "S"))
    assert accept(side, call_context(requestState=forge({**good, "extra": 1}))) == "S"
    for change, reason in (
        ({"exp": NOW}, "expired"),
        ({"iat": NOW + 61}, "expired"),
        ({"m": "prompts/get"}, "request binding"),
        ({"t": "u"}, "request binding"),
        ({"a": "x"}, "request binding"),
        ({"aud": "other"}, "audience"),
        ({"aud": None}, "audience"),
        ({"aud": 5}, "audience"),
        ({"p": None}, "principal drift"),
        ({"p": ""}, "principal"),
        ({"p": "AAAA"}, "principal"),
        ({"p": "é"}, "malformed"),
        ({"p": 5}, "malformed"),
    ):
        assert reject(side, call_context(requestState=forge({**good, **change}))) == reason, change


@pytest.mark.rule("MRTR-46")
def test_bytes_that_are_no_claims_are_refused() -> None:
    side = boundary(codec=PlainCodec())
    good = claims_of(mint(side, call_context(), "S"))
    required = ("v", "iat", "exp", "m", "t", "a", "s")
    wrong: dict[str, list[object]] = {
        "v": [2, 0, "1", True, 1.0, None],
        "iat": ["0", None, True],
        "exp": ["0", None, True, [NOW]],
        "m": [None, 5],
        "t": [None, 5],
        "a": [None, 5],
        "s": [None, 5, [], {}, {"asked": {}}],
    }
    payloads: list[object] = [b"", b"x", b"[]", b"5", b"null", b'"S"', b"{}", b"\xff", b"[" * 100_000]
    payloads += [{name: good[name] for name in good if name != left_out} for left_out in required]
    payloads += [{**good, name: value} for name, values in wrong.items() for value in values]
    for payload in payloads:
        assert reject(side, call_context(requestState=forge(payload))) == "malformed", payload
    endless = json.dumps({**good, "exp": math.inf}).encode()
    assert reject(side, call_context(requestState=forge(endless))) == "malformed"


@pytest.mark.parametrize(("member", "time"), [("iat", 10**400), ("exp", -(10**400))])
def test_a_time_that_no_float_can_hold_is_compared_like_any_other(member: str, time: int) -> None:
    side = boundary(codec=PlainCodec())
    claims = claims_of(mint(side, call_context(), "S"))

    assert reject(side, call_context(requestState=forge({**claims, member: time}))) == "expired"


@dataclasses.dataclass(slots=True, kw_only=True)
class Tagged(ServerRequestContext[Any, Any]):
    """A context that a middleware made of its own."""

    tag: str


def test_a_middlewares_own_kind_of_context_survives_every_round() -> None:
    side, handler = boundary(), Handler()
    token = mint(side, call_context(), "S")

    for ctx in (call_context(), call_context(requestState=token)):
        members = {field.name: getattr(ctx, field.name) for field in dataclasses.fields(ctx)}
        run(side(Tagged(**members, tag="mine"), handler))

    assert [(type(ctx), getattr(ctx, "tag", None)) for ctx in handler.seen] == [(Tagged, "mine")] * 2


def test_a_copy_with_other_params_is_what_the_standard_copy_is() -> None:
    ctx = dataclasses.replace(call_context(request=object()), meta={}, lifespan_context=object())

    assert ctx.with_params({"a": 1}) == dataclasses.replace(ctx, params={"a": 1})


RECORD = '{"mcp:resolvers":1,"answers":{"m:ask":["d",{"action":"accept","content":{"name":"é \\"x\\""}}]}}'


def test_the_record_of_resolvers_is_an_object_among_the_claims_and_text_for_handlers() -> None:
    side = boundary(codec=PlainCodec())
    ctx = call_context()
    ctx.session.scope.state_is_record = True
    token = mint(side, ctx, RECORD)
    assert claims_of(token)["s"] == json.loads(RECORD)
    again = call_context(requestState=token)
    assert accept(side, again) == RECORD
    assert again.session.scope.state_is_record is True
    assert claims_of(mint(side, again, RECORD))["s"] == json.loads(RECORD)


@pytest.mark.parametrize(
    "state", [RECORD, '{"a":1}', '{"mcp:resolvers":1}', '{"mcp:resolvers":', '{"mcp:resolvers": 1}']
)
def test_a_state_of_an_author_stays_a_string_whatever_it_looks_like(state: str) -> None:
    side = boundary(codec=PlainCodec())
    token = mint(side, call_context(), state)
    assert claims_of(token)["s"] == state
    again = call_context(requestState=token)
    assert accept(side, again) == state
    assert again.session.scope.state_is_record is False
    assert claims_of(mint(side, again, state))["s"] == state


def test_a_call_with_a_record_may_still_be_given_another_state() -> None:
    side = boundary(codec=PlainCodec())
    ctx = call_context()
    ctx.session.scope.state_is_record = True
    assert claims_of(mint(side, ctx, '{"a":1}'))["s"] == '{"a":1}'


@pytest.mark.rule("MRTR-41", "MRTR-45")
def test_a_codecs_own_words_stay_out_of_the_log() -> None:
    side = boundary(codec=PlainCodec())
    assert reject(side, call_context(requestState="another token")) == "seal"


class BrokenCodec(PlainCodec):
    def seal(self, payload: bytes) -> str:
        raise RuntimeError(f"secret {payload!r}")

    def unseal(self, token: str) -> bytes:
        raise RuntimeError(f"secret {token}")


class RefusingCodec(PlainCodec):
    def seal(self, payload: bytes) -> str:
        raise InvalidRequestState(f"secret {payload!r}")


@pytest.mark.rule("MRTR-45")
def test_a_codec_that_refuses_to_seal_is_logged_in_our_own_words() -> None:
    [line] = fail_to_seal(boundary(codec=RefusingCodec()), call_context(), "my state")
    assert line == "ERROR refusing to seal requestState on tools/call: codec error"


class WrongCodec(PlainCodec):
    def seal(self, payload: bytes) -> Any:
        return payload

    def unseal(self, token: str) -> Any:
        return token


@pytest.mark.rule("MRTR-35", "MRTR-41", "MRTR-45")
def test_a_codec_that_breaks_refuses_on_the_way_in_and_fails_on_the_way_out() -> None:
    side = boundary(codec=BrokenCodec())
    with tallied_log() as lines, pytest.raises(MCPError) as caught:
        run(side(call_context(requestState="my token"), Handler()))
    assert caught.value.message == REJECTED
    assert "WARNING requestState rejected on tools/call: codec error" in lines
    [line] = fail_to_seal(side, call_context(), "my state")
    assert line.startswith("ERROR sealing requestState on tools/call raised RuntimeError at ")
    assert "in seal" in line
    assert not any("secret" in line or "my " in line for line in lines)


@pytest.mark.rule("MRTR-D5")
def test_a_codec_that_returns_something_else_is_caught() -> None:
    side = boundary(codec=WrongCodec())
    assert reject(side, call_context(requestState="x")) == "codec error"
    [line] = fail_to_seal(side, call_context())
    assert line == "ERROR requestState codec.seal on tools/call returned bytes, expected str"


def test_arguments_that_no_wire_can_carry_are_refused_both_ways() -> None:
    side = boundary()
    token = mint(side, call_context(arguments={"a": 1}), "S")
    assert reject(side, call_context(arguments={"a": object()}, requestState=token)) == "request binding"
    [line] = fail_to_seal(side, call_context(arguments={"a": object()}))
    assert line.startswith("ERROR sealing requestState on tools/call raised TypeError at ")


# Size


@pytest.mark.rule("MRTR-48")
def test_a_token_is_little_longer_than_its_state() -> None:
    side = boundary()
    for size in (0, 100, 3000, 60_000):
        length = len(mint(side, call_context(), "x" * size))
        assert length <= 260 + size * 4 / 3


def test_a_very_large_state_is_worth_a_warning() -> None:
    with tallied_log() as lines:
        mint(boundary(), call_context(), "x" * 65_536)
        assert not lines
        mint(boundary(), call_context(), "x" * 65_537)
    assert list(lines) == ["WARNING requestState on tools/call has 65537 characters; every further round carries it"]


# Construction


GENERATE = 'Generate one with: python -c "import secrets; print(secrets.token_hex(32))"'


@pytest.mark.rule("MRTR-26", "MRTR-27", "MRTR-28", "MRTR-D5")
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, EXACTLY_ONE),
        (
            {"keys": [KEY], "codec": PlainCodec()},
            ValueError,
            EXACTLY_ONE,
        ),
        (
            {"keys": []},
            ValueError,
            f"AESGCMRequestStateCodec requires at least one key, and keys=[] has none. {GENERATE}",
        ),
        (
            {"keys": [b"k" * 31]},
            ValueError,
            f"request-state keys must be at least 32 bytes of secret randomness; keys[0] is 31 bytes. {GENERATE}",
        ),
        ({"keys": [KEY, KEY]}, ValueError, "keys[1] duplicates an earlier ring key"),
        ({"keys": [5]}, TypeError, "request-state keys must be bytes, bytearray, or str; keys[0] is int"),
        ({"keys": KEY}, TypeError, "request-state keys must be a list of keys, got a single str; write keys=[key]"),
        ({"keys": [KEY], "ttl": 0}, ValueError, "request-state ttl must be a positive finite number, got 0"),
        ({"keys": [KEY], "ttl": -1.5}, ValueError, "request-state ttl must be a positive finite number, got -1.5"),
        ({"keys": [KEY], "ttl": math.nan}, ValueError, "request-state ttl must be a positive finite number, got nan"),
        ({"keys": [KEY], "ttl": math.inf}, ValueError, "request-state ttl must be a positive finite number, got inf"),
        ({"keys": [KEY], "ttl": "600"}, TypeError, "must be real number, not str"),
        (
            {"codec": 5},
            TypeError,
            "a request-state codec has the methods seal(payload) and unseal(token); int has not",
        ),
        (
            {"keys": [KEY], "audience": ""},
            ValueError,
            f"{AUDIENCE} must not be empty: servers with the same keys would accept each other's state",
        ),
        (
            {"keys": [KEY], "audience": 5},
            TypeError,
            f"{AUDIENCE} must be a str or None, got int",
        ),
        ({"keys": [KEY], "bind_principal": "x"}, TypeError, "bind_principal must be a function or None, got str"),
    ],
)
def test_bad_policies_are_refused_at_construction(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        RequestStateSecurity(**options)
    assert str(caught.value) == message


@pytest.mark.rule("MRTR-27")
def test_a_policys_arguments_are_named() -> None:
    with pytest.raises(TypeError):
        RequestStateSecurity([KEY])  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError):
        RequestStateBoundary(security("a"))  # pyright: ignore[reportCallIssue]


@pytest.mark.rule("MRTR-D5")
def test_an_empty_default_audience_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="")


def test_a_policy_shows_what_it_was_made_of() -> None:
    made = RequestStateSecurity(keys=[KEY], ttl=5, audience="a")
    assert isinstance(made.codec, AESGCMRequestStateCodec)
    assert (made.ttl, made.bind_principal, made.audience) == (5, authenticated_principal, "a")
    ephemeral = RequestStateSecurity.ephemeral(ttl=5, audience="a")
    assert isinstance(ephemeral.codec, AESGCMRequestStateCodec)
    assert (ephemeral.ttl, ephemeral.bind_principal, ephemeral.audience) == (5, authenticated_principal, "a")
    assert KEY not in repr(vars(made)) + repr(vars(made.codec))


# The verified user of an HTTP request


@pytest.mark.rule("AUTHS-33")
def test_an_authenticated_user_is_named_by_its_client() -> None:
    token = access_token("c")
    user = AuthenticatedUser(token)
    assert (user.username, user.display_name, user.is_authenticated) == ("c", "c", True)
    assert user.access_token is token
    assert user.scopes == ["a"]


async def test_the_verified_token_is_visible_while_its_request_runs() -> None:
    token = access_token("c")
    seen: list[AccessToken | None] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await anyio.lowlevel.checkpoint()
        seen.append(get_access_token())

    async def unused(*_: Any) -> Any:
        raise AssertionError

    middleware = AuthContextMiddleware(app)
    with anyio.fail_after(5):
        for user in (AuthenticatedUser(token), None, "alice"):
            await middleware({"type": "http", "user": user}, unused, unused)
        await middleware({"type": "lifespan"}, unused, unused)
    assert seen == [token, None, None, None]
    assert seen[0] is token
    assert get_access_token() is None
