"""Protect the state of multi-round-trip requests.

A handler that answers with `InputRequiredResult` may attach a `request_state`, which the client sends back with its
answers. On the way out the boundary seals it; on the way in it verifies it, before any handler runs. Handlers write
and read plain text. A token holds for one request only: its method, its name or URI, its arguments, its principal, the
audience, and a window of time.

```python
server = Server("Provisioner", on_call_tool=call_tool)
security = RequestStateSecurity(keys=[os.environ["STATE_KEY"]])
server.middleware.append(RequestStateBoundary(security, default_audience=server.name))
```
"""

from __future__ import annotations

import functools
import json
import math
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypedDict, cast

from typing_extensions import Self, Unpack

import mcp_types as types
from mcp.server import _claims
from mcp.server._rejections import log_failure, logger, rejection, store_failure
from mcp.server._sealing import (
    MALFORMED,
    SEAL,
    UNKNOWN_KEY,
    AESGCMRequestStateCodec,
    EphemeralRequestStateCodec,
    InvalidRequestState,
)
from mcp.server._state_stores import StoreDown, check_store, spend
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.stores.store import Store
from mcp_types._lazy import lazy_module
from mcp_types.methods import INPUT_REQUIRED_METHODS

if TYPE_CHECKING:
    from mcp.server.auth import _access_token
    from mcp.server.auth.middleware import auth_context
else:
    _access_token = lazy_module("mcp.server.auth._access_token")
    auth_context = lazy_module("mcp.server.auth.middleware.auth_context")

__all__ = [
    "AESGCMRequestStateCodec",
    "InvalidRequestState",
    "RequestStateBoundary",
    "RequestStateCodec",
    "RequestStateSecurity",
    "authenticated_principal",
]

_NON_STRING: Final = "non-string requestState"
_CODEC_ERROR: Final = "codec error"
_PRINCIPAL_ERROR: Final = "principal binding error"
_LARGE_STATE: Final = 64 * 1024
KEYS_VARIABLE: Final = "MCP_REQUEST_STATE_KEYS"
"""The environment variable that keys are read from where no other one is named."""
DEFAULT_TOKEN_LIMIT: Final = 64 * 1024
"""How long a token may be, in bytes, before its state is parked."""
_LEAST_TOKEN_LIMIT: Final = 512

BindPrincipal: TypeAlias = Callable[[ServerRequestContext[Any, Any]], str | None]


class RequestStateCodec(Protocol):
    """Cryptography of one's own: turns a payload into a token and back.

    Time window, principal, audience and request are inside the payload and checked for every codec. A codec owes
    integrity; one without confidentiality shows the state to the client.
    """

    def seal(self, payload: bytes) -> str:
        """Return a token for the payload."""
        ...

    def unseal(self, token: str) -> bytes:
        """Return the payload of a token that `seal` made.

        Raises:
            InvalidRequestState: `seal` did not make it.
        """
        ...


def authenticated_principal(ctx: ServerRequestContext[Any, Any]) -> str | None:
    """Return who the request's verified access token speaks for; `None` without such a token.

    The principal is client id, issuer and subject, as a compact JSON array.
    """
    user = None if ctx.request is None else auth_context.verified_user(getattr(ctx.request, "scope", None))
    token = auth_context.get_access_token() if user is None else user.access_token
    return None if token is None else json.dumps(_access_token.principal_components(token), separators=(",", ":"))


class RequestStateOptions(TypedDict, total=False):
    """What `RequestStateSecurity` takes, wherever its keys come from."""

    ttl: float
    bind_principal: BindPrincipal | None
    audience: str | None
    single_use: Store | None
    park: Store | None
    max_token_bytes: int | None
    compress_parked: bool


class RequestStateSecurity:
    """How a server protects request state.

    Several instances of one server need the same keys; a key is replaced without downtime by first adding the new one
    at the end of every instance's list, then moving it to the front, and dropping the old one when `ttl` has passed.

    Args:
        keys: Secrets of at least 32 random bytes, text counted as UTF-8. The first one seals, all of them verify.
        codec: A codec of one's own instead of keys.
        ttl: How many seconds the client has for each round.
        bind_principal: Names the principal of a request; `None` as a value binds tokens to no principal.
        audience: What keeps servers with the same keys apart; the server's name by default.
        single_use: Where used tokens are remembered, so that each is accepted once. Several instances need one that
            they share. Without it, a token may be used again within its time.
        park: Where large states are kept, sealed, for their time; the token then names the place only. Several
            instances need one that they share.
        max_token_bytes: How long a token may be: with `park`, 65536 by default, and longer ones are parked; without it,
            there is no limit by default, and a state whose token would be longer fails.
        compress_parked: Whether parked states are compressed before they are sealed. Those who read the store and are
            clients, too, might then learn from sizes what else is in a state that they fill.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: Not exactly one of `keys` and `codec` is given, or a value is out of range.
    """

    def __init__(
        self,
        *,
        keys: Sequence[bytes | bytearray | str] | None = None,
        codec: RequestStateCodec | None = None,
        ttl: float = 600.0,
        bind_principal: BindPrincipal | None = authenticated_principal,
        audience: str | None = None,
        single_use: Store | None = None,
        park: Store | None = None,
        max_token_bytes: int | None = None,
        compress_parked: bool = False,
    ) -> None:
        if keys is not None and codec is None:
            codec = AESGCMRequestStateCodec(keys)
        elif keys is not None or codec is None:
            raise ValueError("RequestStateSecurity takes exactly one of keys= or codec=")
        elif not callable(getattr(codec, "seal", None)) or not callable(getattr(codec, "unseal", None)):
            raise TypeError(
                f"a request-state codec has the methods seal(payload) and unseal(token); {type(codec).__name__} has not"
            )
        if not math.isfinite(ttl) or ttl <= 0:
            raise ValueError(f"request-state ttl must be a positive finite number, got {ttl}")
        if bind_principal is not None and not callable(bind_principal):
            raise TypeError(f"bind_principal must be a function or None, got {type(bind_principal).__name__}")
        _claims.check_audience_name("RequestStateSecurity(audience=...)", audience)
        if single_use is not None:
            check_store("single_use", single_use, "add_once")
        if park is not None:
            check_store("park", park, "put", "get")
        if max_token_bytes is not None and max_token_bytes < _LEAST_TOKEN_LIMIT:
            raise ValueError(f"max_token_bytes must be at least {_LEAST_TOKEN_LIMIT} (or None), got {max_token_bytes}")
        self.codec = codec
        self.ttl = ttl
        self.bind_principal = bind_principal
        self.audience = audience
        self.single_use = single_use
        self.park = park
        self.max_token_bytes = DEFAULT_TOKEN_LIMIT if max_token_bytes is None and park is not None else max_token_bytes
        self.compress_parked = compress_parked

    @classmethod
    def ephemeral(
        cls, *, ttl: float = 600.0, audience: str | None = None, single_use: Store | None = None
    ) -> RequestStateSecurity:
        """Return a policy whose random key ends with the process.

        No other instance, and not this one after a restart, can verify its tokens.
        """
        return cls(codec=EphemeralRequestStateCodec(), ttl=ttl, audience=audience, single_use=single_use)

    @classmethod
    def from_env(cls, name: str = KEYS_VARIABLE, **options: Unpack[RequestStateOptions]) -> Self:
        """Return a policy whose keys are in an environment variable, separated by commas or white space.

        Args:
            name: The variable.
            options: The other arguments of the class.

        Raises:
            ValueError: The variable is not set, or its keys cannot be used.
        """
        from mcp.server._state_keys import codec_from_environment

        return cls(codec=codec_from_environment(name), **options)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], **options: Unpack[RequestStateOptions]) -> Self:
        """Return a policy whose keys are in a file, one a line. A change of the file is seen within seconds.

        Lines that begin with `#` do not count. A file that cannot be used leaves the keys before it in force, and the
        log says so once. Whoever changes it writes another file beside it and renames that.

        Args:
            path: The file.
            options: The other arguments of the class.

        Raises:
            ValueError: The file cannot be read, or its keys cannot be used.
        """
        from mcp.server._state_keys import FileCodec

        return cls(codec=FileCodec(path), **options)


class RequestStateBoundary:
    """The middleware that seals outgoing request state and verifies incoming request state.

    Every failure gets the same answer; the reason goes to the log of this module. The arguments that a first round's
    token is tied to are read after the handler ran, so a handler leaves lists and objects among them as they are.

    Args:
        security: The policy.
        default_audience: The audience where the policy names none, as a rule the server's name. Without either, tokens
            carry no audience.
    """

    def __init__(self, security: RequestStateSecurity, *, default_audience: str | None) -> None:
        _claims.check_audience_name("RequestStateBoundary(default_audience=...)", default_audience)
        self._security = security
        self._audience = default_audience if security.audience is None else security.audience
        self._clock: Callable[[], float] = time.time

    @property
    def security(self) -> RequestStateSecurity:
        """The policy."""
        return self._security

    def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Awaitable[HandlerResult]:
        """Verify, run the rest of the chain, seal; other methods are passed on without a frame of this one's own.

        Raises:
            MCPError: The state does not belong to this request (-32602), or cannot be sealed (-32603).
        """
        return self._guard(ctx, call_next) if ctx.method in INPUT_REQUIRED_METHODS else call_next(ctx)

    async def _guard(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        token = ctx.params.get("requestState") if ctx.params else None
        if token is None:
            return await self._seal_result(ctx, await call_next(ctx), None)
        claims = await self._verify(ctx, token)
        if isinstance(claims, MCPError):
            # Raised here, outside of every `except`, so that no cause with a token in its text is attached.
            raise claims
        scope = ctx.session.scope
        state, scope.state_is_record = _claims.read_state(claims)
        if self._security.single_use is not None:
            scope.spend_state = functools.partial(spend, self._security.single_use, claims, ctx.method, self._clock)
        inner = ctx.with_params({**(ctx.params or {}), "requestState": state})
        return await self._seal_result(ctx, await call_next(inner), claims["a"])

    async def _verify(self, ctx: ServerRequestContext[Any, Any], token: object) -> _claims.Claims | MCPError:
        """Return what the token says; or the answer to one that is refused."""
        try:
            payload = self._unseal(ctx, token)
            if payload.startswith(_claims.HANDLE_PREFIX):
                payload = await self._fetch(ctx, payload)
            claims = _claims.read_claims(payload, now=self._clock())
            _claims.check_request(claims, ctx.method, ctx.params or {}, self._audience)
            _claims.check_principal(claims, self._principal(ctx))
            if self._security.single_use is not None:
                _claims.name_use(claims, payload)
            return claims
        except InvalidRequestState as error:
            return rejection(ctx.method, str(error))
        except StoreDown:
            return store_failure()
        except Exception as error:
            # Only arguments that are not JSON come here, which no wire can carry.
            log_failure("requestState verification", ctx.method, error)
            return rejection(ctx.method, _claims.REQUEST_BINDING)

    async def _fetch(self, ctx: ServerRequestContext[Any, Any], handle: bytes) -> bytes:
        from mcp.server._parking import fetch

        unseal, now = functools.partial(self._unseal, ctx), self._clock()
        return await fetch(self._security.park, handle, unseal=unseal, now=now, method=ctx.method)

    def _unseal(self, ctx: ServerRequestContext[Any, Any], token: object) -> bytes:
        if not isinstance(token, str):
            raise InvalidRequestState(_NON_STRING)
        if not token:
            raise InvalidRequestState(MALFORMED)
        try:
            payload = cast("object", self._security.codec.unseal(token))
        except InvalidRequestState as error:
            # A foreign codec's text may quote the token: only our own words pass into the log.
            reason = str(error)
            raise InvalidRequestState(reason if reason in (MALFORMED, UNKNOWN_KEY) else SEAL) from None
        except Exception as error:
            log_failure("requestState codec.unseal", ctx.method, error)
            raise InvalidRequestState(_CODEC_ERROR) from None
        if not isinstance(payload, (bytes, bytearray)):
            raise InvalidRequestState(_CODEC_ERROR)
        return bytes(payload)

    def _principal(self, ctx: ServerRequestContext[Any, Any]) -> str | None:
        if self._security.bind_principal is None:
            return None
        try:
            principal = cast("object", self._security.bind_principal(ctx))
        except Exception as error:
            log_failure("bind_principal", ctx.method, error)
            raise InvalidRequestState(_PRINCIPAL_ERROR) from None
        if principal is None or isinstance(principal, str):
            return principal
        kind = type(principal).__name__
        logger.error("bind_principal on %s returned %s, expected str or None", ctx.method, kind)
        raise InvalidRequestState(_PRINCIPAL_ERROR)

    async def _seal_result(
        self, ctx: ServerRequestContext[Any, Any], result: HandlerResult, arguments_digest: str | None
    ) -> HandlerResult:
        if isinstance(result, dict):
            if result.get("resultType") != "input_required" or not isinstance(result.get("requestState"), str):
                return result
            return {**result, "requestState": await self._seal(ctx, result["requestState"], arguments_digest)}
        if isinstance(result, types.InputRequiredResult) and result.request_state is not None:
            token = await self._seal(ctx, result.request_state, arguments_digest)
            return result.model_copy(update={"request_state": token})
        return result

    async def _seal(self, ctx: ServerRequestContext[Any, Any], state: str, arguments_digest: str | None) -> str:
        payload = self._make_payload(ctx, state, arguments_digest)
        token = None if payload is None else self._try_seal(ctx, payload)
        limit = self._security.max_token_bytes
        if payload and token and limit is not None and len(token) > limit:
            token = await self._park(ctx, payload, token)
        if token is None:
            raise MCPError(types.INTERNAL_ERROR, "Internal error")
        return token

    async def _park(self, ctx: ServerRequestContext[Any, Any], payload: bytes, token: str) -> str | None:
        from mcp.server._parking import park

        seal = functools.partial(self._try_seal, ctx)
        return await park(self._security, payload, token, seal=seal, now=self._clock(), method=ctx.method)

    def _make_payload(
        self, ctx: ServerRequestContext[Any, Any], state: str, arguments_digest: str | None
    ) -> bytes | None:
        security = self._security
        if len(state) > _LARGE_STATE and security.park is None:
            logger.warning(
                "requestState on %s has %d characters; every further round carries it", ctx.method, len(state)
            )
        try:
            return _claims.make_claims(
                ctx.method,
                ctx.params or {},
                state,
                is_record=ctx.session.scope.state_is_record is True and state.startswith(_claims.RECORD_PREFIX),
                arguments_digest=arguments_digest,
                now=self._clock(),
                ttl=security.ttl,
                audience=self._audience,
                principal=self._principal(ctx),
                use_id=None if security.single_use is None else _claims.make_use_id(),
            )
        except InvalidRequestState as error:
            logger.error("refusing to seal requestState on %s: %s", ctx.method, error)
        except Exception as error:
            log_failure("sealing requestState", ctx.method, error)
        return None

    def _try_seal(self, ctx: ServerRequestContext[Any, Any], payload: bytes) -> str | None:
        try:
            token = cast("object", self._security.codec.seal(payload))
        except InvalidRequestState:
            # As in `_unseal`: the text of a foreign codec may quote what it was given.
            logger.error("refusing to seal requestState on %s: %s", ctx.method, _CODEC_ERROR)
            return None
        except Exception as error:
            log_failure("sealing requestState", ctx.method, error)
            return None
        if isinstance(token, str):
            return token
        logger.error("requestState codec.seal on %s returned %s, expected str", ctx.method, type(token).__name__)
        return None
