"""How long a result may be served from memory, to whom, and what makes it stale.

2026-07-28, server/utilities/caching.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

MAX_TTL_MS: Final = 86_400_000
"""The longest time for which a result is kept: 24 hours, in milliseconds."""

_LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}
_UPDATED: Final = "notifications/resources/updated"
CHANGES: Final = frozenset({*_LISTS, _UPDATED})
"""The notifications that make results stale."""
_USER_INFO: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#]*@")


def lifetime_ms(ttl_ms: int | None, default_ttl_ms: int, *, modern: bool) -> int:
    """Return for how many milliseconds a result may be kept; 0 means not at all.

    Args:
        ttl_ms: What the result itself says; `None` if it says nothing.
        default_ttl_ms: What the client's user wants for such results.
        modern: Whether the protocol version knows what the result says.
    """
    said = ttl_ms if modern and ttl_ms is not None else default_ttl_ms
    return min(max(said, 0), MAX_TTL_MS)


def is_fresh(expires_at: float | None, now: float) -> bool:
    """Whether a result may still be served. One whose end is not known may not."""
    return expires_at is not None and now < expires_at


def stale_after(method: str, params: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return what a notification makes stale: methods, each with the URI where it is about one resource."""
    if method == _UPDATED:
        uri = (params or {}).get("uri")
        return [("resources/read", uri)] if isinstance(uri, str) else []
    return [(listing, "") for listing in _LISTS.get(method, ())]


def target_of(name: str) -> str:
    """Return the name of a server under which its results are kept: nobody reads a password out of it.

    Args:
        name: Its URL, or a name that the user gave it.
    """
    return hashlib.sha256(_USER_INFO.sub(r"\1", name).encode("utf-8", "surrogatepass")).hexdigest()


def partitions(version: str, target: str, partition: str, *, share_public: bool) -> tuple[str, str]:
    """Return the part of a key that keeps apart what must not mix, for private results and for public ones.

    Args:
        version: The protocol version.
        target: The server.
        partition: The user on whose behalf the client asks.
        share_public: Whether public results are kept once for all users.
    """
    whose = [version, target, partition]
    return json.dumps(["private", *whose]), json.dumps(["public", *(whose[:2] if share_public else whose)])
