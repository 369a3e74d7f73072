"""What request state needs of stores: that a token is used once. How large states are kept is in `_parking`."""

from __future__ import annotations

from collections.abc import Callable

from mcp.server import _claims
from mcp.server._rejections import log_failure, rejection, store_failure
from mcp.stores.store import Store


class StoreDown(Exception):
    """A store that is needed does not work; the log says why."""


def check_store(name: str, store: object, *operations: str) -> None:
    """Refuse what is no store.

    Raises:
        TypeError: It is not.
    """
    if isinstance(store, type) or not all(callable(getattr(store, operation, None)) for operation in operations):
        got = f"the class {store.__name__}" if isinstance(store, type) else type(store).__name__
        raise TypeError(f"{name} must be a store, for example mcp.stores.MemoryStore(), got {got}")


async def spend(store: Store, claims: _claims.Claims, method: str, clock: Callable[[], float]) -> None:
    """Let a state be used now, and never again.

    Raises:
        MCPError: It was used before, or its time ended while the request waited (-32602); or nobody can tell (-32603).
    """
    now = clock()
    if now >= claims["exp"]:
        raise rejection(method, _claims.EXPIRED)
    try:
        # Remembered for as long as an instance whose clock is behind may still take the token for a good one.
        is_first = await store.add_once(f"used:{claims['n']}", claims["exp"] - now + _claims.CLOCK_SKEW)
    except Exception as error:
        log_failure("single_use.add_once", method, error)
        is_first = None
    # Raised out here, so that no exception with a key in its text is attached.
    if is_first is None:
        raise store_failure()
    if not is_first:
        raise rejection(method, _claims.REPLAY)
