"""Keep a state that is too large for a token in a store, sealed; the token then says only where it is."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final, Protocol

from mcp.server import _claims
from mcp.server._rejections import log_failure, logger, store_failure
from mcp.server._sealing import MALFORMED, InvalidRequestState
from mcp.server._state_stores import StoreDown
from mcp.stores.store import Store

_COMPRESSED: Final = b"z"
"""Marks a payload that is compressed; all others begin with `{`."""


class ParkingPolicy(Protocol):
    """What `RequestStateSecurity` says about it."""

    park: Store | None
    max_token_bytes: int | None
    compress_parked: bool
    ttl: float


async def park(
    policy: ParkingPolicy,
    payload: bytes,
    token: str,
    *,
    seal: Callable[[bytes], str | None],
    now: float,
    method: str,
) -> str | None:
    """Keep a payload and return the token that stands for it; `None` if that cannot be, and the log says why.

    Args:
        policy: Where it is kept, and how.
        payload: The payload.
        token: What it is, sealed.
        seal: Seals a payload.
        now: The time, in seconds since the epoch.
        method: The request's method.

    Raises:
        MCPError: The store does not work.
    """
    if policy.park is None:
        logger.error(
            "requestState on %s makes a token of %d bytes, and max_token_bytes is %s: keep less in the state, raise "
            "the limit, or let RequestStateSecurity(park=store) keep it on the server",
            method,
            len(token),
            policy.max_token_bytes,
        )
        return None
    name = _claims.make_use_id()
    # Only those who read the store see how long it is then.
    sealed = seal(_COMPRESSED + zlib.compress(payload)) if policy.compress_parked else token
    handle = seal(_claims.make_handle(name, expires=now + policy.ttl))
    if sealed is None or handle is None:
        return None
    try:
        # As with used tokens: an instance whose clock is behind may ask for it later than its time.
        await policy.park.put(_key(name), sealed.encode("utf-8"), policy.ttl + _claims.CLOCK_SKEW)
    except Exception as error:
        log_failure("park.put", method, error)
        handle = None
    # Raised out here, so that no exception with a key in its text is attached.
    if handle is None:
        raise store_failure()
    return handle


async def fetch(
    store: Store | None, handle: bytes, *, unseal: Callable[[str], bytes], now: float, method: str
) -> bytes:
    """Return the payload that a handle stands for.

    Raises:
        InvalidRequestState: It is not there, or its time is over.
        StoreDown: Nobody can tell.
    """
    name = _claims.read_handle(handle, now=now)
    try:
        sealed = None if store is None else await store.get(_key(name))
    except Exception as error:
        log_failure("park.get", method, error)
        raise StoreDown from None
    if sealed is None:
        raise InvalidRequestState(_claims.PARKED_MISSING)
    payload = unseal(sealed.decode("utf-8", "replace"))
    if not payload.startswith(_COMPRESSED):
        return payload
    try:
        return zlib.decompress(payload[1:])
    except zlib.error:
        raise InvalidRequestState(MALFORMED) from None


def _key(name: str) -> str:
    return f"parked:{name}"
