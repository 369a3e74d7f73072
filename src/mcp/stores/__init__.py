"""Stores: what several rounds, processes or instances must remember together. Names load when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types._lazy import lazy_names

if TYPE_CHECKING:
    from mcp.stores.memory import MemoryStore as MemoryStore
    from mcp.stores.redis import RedisStore as RedisStore
    from mcp.stores.store import Store as Store
    from mcp.stores.store import StoreError as StoreError

__all__ = ["MemoryStore", "RedisStore", "Store", "StoreError"]

_HOMES = {
    "MemoryStore": "mcp.stores.memory",
    "RedisStore": "mcp.stores.redis",
    "Store": "mcp.stores.store",
    "StoreError": "mcp.stores.store",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
