"""How long clients may keep a server's answers, and with whom they may share them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

import mcp_types as types
from mcp_types.methods import CACHEABLE_METHODS, CacheableMethod

__all__ = ["CACHEABLE_METHODS", "CacheHint", "CacheableMethod", "apply_cache_hint", "validate_cache_hints"]

CacheableResultT = TypeVar("CacheableResultT", bound="types.CacheableResult")


@dataclass(frozen=True)
class CacheHint:
    """Freshness of one method's results, where a handler does not set it itself.

    Attributes:
        ttl_ms: How many milliseconds a client may serve the result from memory; 0 means not at all.
        scope: Whether a shared cache may hand it to other users (`"public"`) or not (`"private"`).

    Raises:
        ValueError: `ttl_ms` is negative, or `scope` is unknown.
        TypeError: `ttl_ms` is no integer.
    """

    ttl_ms: int = 0
    scope: Literal["public", "private"] = "private"

    def __post_init__(self) -> None:
        ttl_ms = self.ttl_ms
        if not isinstance(ttl_ms, int) or isinstance(ttl_ms, bool):
            raise TypeError(f"ttl_ms must be an int, got {type(ttl_ms).__name__}")
        if ttl_ms < 0:
            raise ValueError(f"ttl_ms must be >= 0, got {ttl_ms}")
        if self.scope not in ("public", "private"):
            raise ValueError(f"scope must be 'public' or 'private', got {self.scope!r}")


def apply_cache_hint(result: CacheableResultT, hint: CacheHint) -> CacheableResultT:
    """Return the result with the hint's values for each freshness member that its maker left unset."""
    update: dict[str, Any] = {}
    if "ttl_ms" not in result.model_fields_set:
        update["ttl_ms"] = hint.ttl_ms
    if "cache_scope" not in result.model_fields_set:
        update["cache_scope"] = hint.scope
    return result.model_copy(update=update) if update else result


def validate_cache_hints(cache_hints: Mapping[Any, Any] | None) -> dict[str, CacheHint]:
    """Check a server's hints and return them as a dict of its own.

    Raises:
        ValueError: A key is no method whose results can be kept.
        TypeError: A value is no `CacheHint`.
    """
    checked: dict[str, CacheHint] = {}
    for method, hint in (cache_hints or {}).items():
        if method not in CACHEABLE_METHODS:
            raise ValueError(f"cache_hints keys must be cacheable methods (see CacheableMethod); got: {method!r}")
        if not isinstance(hint, CacheHint):
            raise TypeError(f"cache_hints[{method!r}] must be a CacheHint, got {type(hint).__name__}")
        checked[cast("str", method)] = hint
    return checked
