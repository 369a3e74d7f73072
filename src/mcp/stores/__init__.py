"""Stores: what several rounds, processes or instances must remember together. Names load when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types._lazy import lazy_names

if TYPE_CHECKING:
    from mcp.stores.memory import MemoryStore as MemoryStore
    from mcp.stores.redis import RedisStore as RedisStore
    from mcp.stores.sqlite import SQLiteStore as SQLiteStore
    from mcp.stores.store import Record as Record
    from mcp.stores.store import RecordStore as RecordStore
    from mcp.stores.store import Store as Store
    from mcp.stores.store import StoreError as StoreError

__all__ = ["MemoryStore", "Record", "RecordStore", "RedisStore", "SQLiteStore", "Store", "StoreError"]

_HOMES = {
    "MemoryStore": "mcp.stores.memory",
    "RedisStore": "mcp.stores.redis",
    "Record": "mcp.stores.store",
    "RecordStore": "mcp.stores.store",
    "SQLiteStore": "mcp.stores.sqlite",
    "Store": "mcp.stores.store",
    "StoreError": "mcp.stores.store",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
