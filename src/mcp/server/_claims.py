"""What a sealed state says about the one request it belongs to."""

from __future__ import annotations

import hashlib
import hmac
import math
import os
from collections.abc import Mapping
from typing import Any, Final, TypeGuard, cast

from mcp._protocol.base64url import decode_base64url, encode_base64url
from mcp._protocol.canonical import canonical_json, digest
from mcp._protocol.jsonrpc import dumps, loads
from mcp.server._sealing import MALFORMED, InvalidRequestState

VERSION: Final = 1
CLOCK_SKEW: Final = 60.0
"""How many seconds ahead the clock of another instance may be."""

EXPIRED: Final = "expired"
REQUEST_BINDING: Final = "request binding"
AUDIENCE: Final = "audience"
PRINCIPAL: Final = "principal"
PRINCIPAL_DRIFT: Final = "principal drift"
REPLAY: Final = "replay"
PARKED_MISSING: Final = "parked state missing"

HANDLE_PREFIX: Final = b'{"k":'
"""What the payload of a token begins with that only says where the state is kept."""

RECORD_MARKER: Final = "mcp:resolvers"
"""The first member of the record that resolvers keep."""
RECORD_PREFIX: Final = f'{{"{RECORD_MARKER}":'

_NUMBERS: Final = (float, int)
_SALT_BYTES: Final = 8
_DIGEST_BYTES: Final = 16
_USE_ID_BYTES: Final = 16

Claims = dict[str, Any]


def check_audience_name(name: str, audience: object) -> None:
    """Refuse what is no name of an audience.

    Raises:
        TypeError: It is no text.
        ValueError: It is empty.
    """
    if audience is None:
        return
    if not isinstance(audience, str):
        raise TypeError(f"{name} must be a str or None, got {type(audience).__name__}")
    if not audience:
        raise ValueError(f"{name} must not be empty: servers with the same keys would accept each other's state")


def make_claims(
    method: str,
    params: Mapping[str, Any],
    state: str,
    *,
    is_record: bool = False,
    arguments_digest: str | None = None,
    now: float,
    ttl: float,
    audience: str | None,
    principal: str | None,
    use_id: str | None = None,
) -> bytes:
    """Write the payload that seals a state to its request.

    Args:
        method: The request's method.
        params: The request's params.
        state: The state. One that an author wrote is kept as a string, whatever it looks like.
        is_record: Whether it is the record of resolvers, whose JSON text becomes a part of the payload as it is.
        arguments_digest: The digest of the request's arguments, if it is known already.
        now: The time, in seconds since the epoch.
        ttl: How many seconds the payload is good for.
        audience: The audience, if it is bound to one.
        principal: The principal, if it is bound to one.
        use_id: What its one use is remembered by, if it has only one.
    """
    claims: Claims = {
        "v": VERSION,
        "iat": now,
        "exp": now + ttl,
        "m": method,
        "t": _target(method, params),
        "a": digest_arguments(params.get("arguments")) if arguments_digest is None else arguments_digest,
    }
    if audience is not None:
        claims["aud"] = audience
    if principal is not None:
        claims["p"] = encode_base64url(_salt_principal(principal, os.urandom(_SALT_BYTES))).decode("ascii")
    if use_id is not None:
        claims["n"] = use_id
    head = dumps(claims)[:-1]
    return b'%b,"s":%b}' % (head, state.encode("utf-8") if is_record else dumps(state))


def read_state(claims: Claims) -> tuple[str, bool]:
    """Return the state as text, and whether it is the record of resolvers."""
    state = claims["s"]
    return (state, False) if isinstance(state, str) else (dumps(state).decode("utf-8"), True)


def make_use_id() -> str:
    """Make a name that no other payload has."""
    return encode_base64url(os.urandom(_USE_ID_BYTES)).decode("ascii")


def name_use(claims: Claims, payload: bytes) -> None:
    """Make sure that the claims have a name by which their use is remembered.

    Those made before uses were counted have none. Their bytes are as good: nobody but a server can write others.
    """
    if "n" not in claims:
        claims["n"] = digest(payload)


def make_handle(name: str, *, expires: float) -> bytes:
    """Write the payload that stands for one kept elsewhere, under this name."""
    return dumps({"k": name, "v": VERSION, "exp": expires})


def read_handle(payload: bytes, *, now: float) -> str:
    """Return the name under which a payload is kept.

    Raises:
        InvalidRequestState: It is not of this form, or has expired.
    """
    claims = _parse(payload)
    name, version, expires = claims.get("k"), claims.get("v"), claims.get("exp")
    if not (isinstance(name, str) and type(version) is int and version == VERSION and _is_time(expires)):
        raise InvalidRequestState(MALFORMED)
    if now >= expires:
        raise InvalidRequestState(EXPIRED)
    return name


def read_claims(payload: bytes, *, now: float) -> Claims:
    """Read a payload and check what it says by itself: its form and its time window.

    Raises:
        InvalidRequestState: The payload is not of this form, has expired, or comes from the future.
    """
    claims = _parse(payload)
    get = claims.get
    version, issued, expires, state = get("v"), get("iat"), get("exp"), cast("object", get("s"))
    if not (
        type(version) is int
        and version == VERSION
        and _is_time(issued)
        and _is_time(expires)
        and type(get("m")) is type(get("t")) is type(get("a")) is str
        and type(get("n", "")) is str
        and (type(state) is str or (type(state) is dict and RECORD_MARKER in state))
    ):
        raise InvalidRequestState(MALFORMED)
    if now >= expires or issued > now + CLOCK_SKEW:
        raise InvalidRequestState(EXPIRED)
    return claims


def check_request(claims: Claims, method: str, params: Mapping[str, Any], audience: str | None) -> None:
    """Check that the claims were made for this request on this server.

    Raises:
        InvalidRequestState: They were made for another one.
    """
    if claims["m"] != method or claims["t"] != _target(method, params):
        raise InvalidRequestState(REQUEST_BINDING)
    if claims["a"] != digest_arguments(params.get("arguments")):
        raise InvalidRequestState(REQUEST_BINDING)
    if claims.get("aud") != audience:
        raise InvalidRequestState(AUDIENCE)


def check_principal(claims: Claims, principal: str | None) -> None:
    """Check that the claims were made for this principal, or for none if it is `None`.

    Raises:
        InvalidRequestState: They were made for another one.
    """
    claim = cast("object", claims.get("p"))
    if claim is None and principal is None:
        return
    if claim is None or principal is None:
        raise InvalidRequestState(PRINCIPAL_DRIFT)
    try:
        claimed = decode_base64url(str(claim).encode("ascii"))
    except ValueError:
        raise InvalidRequestState(MALFORMED) from None
    if not hmac.compare_digest(claimed, _salt_principal(principal, claimed[:_SALT_BYTES])):
        raise InvalidRequestState(PRINCIPAL)


def digest_arguments(arguments: object) -> str:
    """Digest a request's arguments by their JSON value; missing ones equal `{}`.

    The order of keys does not matter, nor whether a whole number is written as an integer or a float. Nothing else is
    folded: `1` is not `true`, and text counts code point by code point.
    """
    if arguments is None or arguments == {}:
        return _NO_ARGUMENTS
    return digest(canonical_json(arguments))


_NO_ARGUMENTS: Final = digest(b"{}")


def _target(method: str, params: Mapping[str, Any]) -> str:
    target = params.get("uri" if method == "resources/read" else "name")
    return target if isinstance(target, str) else ""


def _salt_principal(principal: str, salt: bytes) -> bytes:
    return salt + hashlib.sha256(salt + principal.encode("utf-8", "surrogatepass")).digest()[:_DIGEST_BYTES]


def _is_time(value: object) -> TypeGuard[float]:
    # Not `isfinite`, which fails for an integer that no float can hold.
    return type(value) in _NUMBERS and abs(cast("float", value)) < math.inf


def _parse(payload: bytes) -> Claims:
    try:
        claims: object = loads(payload)
    except ValueError:
        raise InvalidRequestState(MALFORMED) from None
    if not isinstance(claims, dict):
        raise InvalidRequestState(MALFORMED)
    return cast("Claims", claims)
