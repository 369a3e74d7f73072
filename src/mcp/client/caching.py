"""The client's response cache: what it keeps, where, and for how long."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Literal, Protocol, TypeAlias, cast

import anyio
from pydantic import ValidationError

import mcp_types as types
from mcp._protocol.era import MODERN, era_of
from mcp._protocol.freshness import MAX_TTL_MS, is_fresh, lifetime_ms, partitions, stale_after

__all__ = [
    "MAX_TTL_MS",
    "CacheConfig",
    "CacheEntry",
    "CacheKey",
    "CacheMode",
    "CacheStats",
    "ClientResponseCache",
    "InMemoryResponseCacheStore",
    "ResponseCacheStore",
]

logger = logging.getLogger(__name__)

CacheMode: TypeAlias = Literal["use", "refresh", "bypass"]
"""`"use"` serves a fresh answer or else asks and keeps the answer; `"refresh"` asks anyway and keeps the answer;
`"bypass"` asks and leaves the cache as it is."""

CacheScope: TypeAlias = Literal["public", "private"]

_RESULTS: Final[Mapping[str, type[types.CacheableResult]]] = {
    "tools/list": types.ListToolsResult,
    "prompts/list": types.ListPromptsResult,
    "resources/list": types.ListResourcesResult,
    "resources/templates/list": types.ListResourceTemplatesResult,
    "resources/read": types.ReadResourceResult,
}


@dataclass(frozen=True, slots=True)
class CacheKey:
    """Under what an answer is kept.

    Attributes:
        method: The method.
        params_key: The URI of `resources/read`; empty for lists.
        partition: What keeps apart scopes, protocol versions, servers and users: a JSON array as text.
    """

    method: str
    params_key: str = ""
    partition: str = ""


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """An answer that is kept.

    Attributes:
        value: The result, a model; a store that keeps text may give back the JSON object of its wire form.
        scope: Whether the server allows to give it to other users (`"public"`) or not (`"private"`).
        expires_at: When it stops being fresh, in seconds of the cache's clock.
    """

    value: Any
    scope: CacheScope
    expires_at: float | None


class ResponseCacheStore(Protocol):
    """Where answers are kept. What raises or does not answer costs the answer kept, never the call."""

    async def get(self, key: CacheKey) -> CacheEntry | None:
        """Return what is kept under a key."""
        ...

    async def set(self, key: CacheKey, entry: CacheEntry) -> None:
        """Keep an answer, in place of what was kept."""
        ...

    async def delete(self, key: CacheKey) -> None:
        """Forget what is kept under a key, if anything is."""
        ...

    async def clear(self) -> None:
        """Forget everything. The client never asks for it."""
        ...


class InMemoryResponseCacheStore:
    """Keeps answers in this process; above its size it forgets those that were used least recently.

    Args:
        max_entries: How many answers to keep; 0 for any number.

    Raises:
        ValueError: `max_entries` is negative.
    """

    def __init__(self, *, max_entries: int = 1024) -> None:
        if max_entries < 0:
            raise ValueError(f"max_entries must be >= 0, got {max_entries}")
        self._max_entries = max_entries
        self._entries: OrderedDict[CacheKey, CacheEntry] = OrderedDict()

    async def get(self, key: CacheKey) -> CacheEntry | None:
        """Return what is kept under a key."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    async def set(self, key: CacheKey, entry: CacheEntry) -> None:
        """Keep an answer, in place of what was kept."""
        self._entries[key] = entry
        self._entries.move_to_end(key)
        if self._max_entries and len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)

    async def delete(self, key: CacheKey) -> None:
        """Forget what is kept under a key, if anything is."""
        self._entries.pop(key, None)

    async def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """How a client keeps answers.

    Attributes:
        store: Where; by default in memory, for this client alone.
        partition: Whose answers they are: with a store that several users share, a name for each of them.
        target_id: A name for the server; by default its URL. A store of one's own needs it where there is no URL.
        default_ttl_ms: For how many milliseconds to keep answers of which the server does not say it.
        clock: Tells the time in seconds. With a store that outlives the process, it must, too.
        share_public: Whether all partitions share what the server calls public.

    Raises:
        ValueError: A store comes without a partition, `target_id` is empty, or `default_ttl_ms` is negative.
        TypeError: A value is of the wrong type.
    """

    store: ResponseCacheStore | None = None
    partition: str = ""
    target_id: str | None = None
    default_ttl_ms: int = 0
    clock: Callable[[], float] = time.time
    share_public: bool = False

    def __post_init__(self) -> None:
        ttl_ms: object = self.default_ttl_ms
        if not isinstance(ttl_ms, int) or isinstance(ttl_ms, bool):
            raise TypeError(f"default_ttl_ms must be an int, got {type(ttl_ms).__name__}")
        if not isinstance(cast("object", self.partition), str):
            raise TypeError(f"partition must be a string, got {type(self.partition).__name__}")
        if not callable(self.clock):
            raise TypeError(f"clock must be callable, got {type(self.clock).__name__}")
        if self.store is not None and not self.partition:
            raise ValueError("a custom store requires an explicit partition")
        if self.target_id == "":
            raise ValueError("target_id must be a non-empty string or omitted")
        if ttl_ms < 0:
            raise ValueError(f"default_ttl_ms must be >= 0, got {ttl_ms}")


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What a client's cache has done so far.

    Attributes:
        hits: How many calls were answered from it.
        misses: How many calls it could have answered, but had to ask.
        evictions: How often an answer was declared stale before its time, by the server or by a refresh.
    """

    hits: int = 0
    misses: int = 0
    evictions: int = 0


class ClientResponseCache:
    """Keeps answers in a store, by scope, protocol version, server and user.

    Args:
        store: Where they are kept.
        partition: Whose answers they are.
        arm_id: The server.
        default_ttl_ms: For how many milliseconds to keep answers of which the server does not say it.
        clock: Tells the time in seconds.
        share_public: Whether all partitions share what the server calls public.
        negotiated_version: Tells the protocol version.
        generation_map_cap: How many keys to remember as having been declared stale; beyond it, answers that are under
            way are not kept.
        store_cleanup_timeout: Seconds for each operation of the store.
    """

    def __init__(
        self,
        *,
        store: ResponseCacheStore,
        partition: str,
        arm_id: str,
        default_ttl_ms: int,
        clock: Callable[[], float],
        share_public: bool,
        negotiated_version: Callable[[], str | None],
        generation_map_cap: int = 4096,
        store_cleanup_timeout: float = 5,
    ) -> None:
        self.evictions = 0
        self._store = store
        self._partition = partition
        self._target = arm_id
        self._default_ttl_ms = default_ttl_ms
        self._clock = clock
        self._share_public = share_public
        self._negotiated_version = negotiated_version
        self._max_generations = generation_map_cap
        # Our own store answers at once: it needs no clock, which would cost more than it does.
        self._timeout = None if type(store) is InMemoryResponseCacheStore else store_cleanup_timeout
        self._numbers = count(1)
        self._generations: dict[tuple[str, str], int] = {}
        self._generation_of_others = 0
        self._failing: set[str] = set()
        self._named: tuple[str, tuple[str, str]] | None = None  # a version and its partitions

    @property
    def may_keep(self) -> bool:
        """Whether there is any answer that would be kept."""
        return self._is_modern or self._default_ttl_ms > 0

    @property
    def _is_modern(self) -> bool:
        return era_of(self._version) is MODERN

    @property
    def _version(self) -> str:
        return cast("str", self._negotiated_version())

    def capture(self, method: str, params_key: str) -> int:
        """Return the generation of a key, before its answer is asked for: an eviction begins the next one."""
        return self._generations.get((method, params_key), self._generation_of_others)

    async def read(self, method: str, params_key: str) -> types.CacheableResult | None:
        """Return a copy of the fresh answer that is kept, if there is one."""
        for scope, key in self._keys(method, params_key).items():
            entry: object = await self._try("get", key)
            # What is private does not belong under a public key, whoever put it there.
            if not isinstance(entry, CacheEntry) or (entry.scope == "private" and scope == "public"):
                continue
            if is_fresh(entry.expires_at, self._clock()) and (value := self._copied(method, entry.value)) is not None:
                return value
        return None

    async def write(
        self,
        method: str,
        params_key: str,
        result: types.CacheableResult,
        gen_at_capture: int,
        mode: Literal["use", "refresh"],
    ) -> bool:
        """Keep a copy of an answer, if it may be kept and nothing has made it stale while it was under way.

        Args:
            method: The method.
            params_key: The URI of `resources/read`; empty for lists.
            result: The answer.
            gen_at_capture: What `capture` returned before the answer was asked for.
            mode: With `"refresh"`, an answer that may not be kept takes the place of the one that is.

        Returns:
            Whether it was kept.
        """
        says = self._is_modern and "ttl_ms" in result.model_fields_set
        lifetime = lifetime_ms(result.ttl_ms if says else None, self._default_ttl_ms, modern=self._is_modern)
        if lifetime == 0:
            if mode == "refresh":
                await self.evict_key(method, params_key)
            return False
        if self.capture(method, params_key) != gen_at_capture:
            return False
        scope: CacheScope = "public" if says and result.cache_scope == "public" else "private"
        keys = self._keys(method, params_key)
        entry = CacheEntry(result.model_copy(deep=True), scope, self._clock() + lifetime / 1000)
        await self._delete(keys["private" if scope == "public" else "public"])
        await self._try("set", keys[scope], entry)
        if self.capture(method, params_key) != gen_at_capture:
            await self._delete(keys[scope])  # it was made stale while it was being put there
            return False
        return True

    async def evict_for_notification(self, notification: types.ServerNotification) -> None:
        """Forget what a notification makes stale."""
        wire = notification.model_dump(mode="json", by_alias=True, exclude_none=True)
        await self.evict_stale(wire["method"], wire.get("params"))

    async def evict_stale(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Forget what a notification makes stale, given its method and params as on the wire."""
        for stale in stale_after(method, params):
            await self.evict_key(*stale)

    async def evict_method(self, method: str) -> None:
        """Forget the list that a method returns."""
        await self.evict_key(method, "")

    async def evict_key(self, method: str, params_key: str) -> None:
        """Forget an answer, in either scope, also one that is under way."""
        self.evictions += 1
        if len(self._generations) >= self._max_generations:
            self._generations.clear()
            self._generation_of_others = next(self._numbers)
        self._generations[method, params_key] = next(self._numbers)
        for key in self._keys(method, params_key).values():
            await self._delete(key)

    def _keys(self, method: str, params_key: str) -> dict[CacheScope, CacheKey]:
        version = self._version
        if self._named is None or self._named[0] != version:
            self._named = version, partitions(version, self._target, self._partition, share_public=self._share_public)
        private, public = self._named[1]
        return {"private": CacheKey(method, params_key, private), "public": CacheKey(method, params_key, public)}

    def _copied(self, method: str, value: object) -> types.CacheableResult | None:
        expected = _RESULTS[method]
        if isinstance(value, expected):
            return value.model_copy(deep=True)
        try:
            if isinstance(value, Mapping):
                return expected.model_validate(value)
        except ValidationError:
            pass
        logger.warning("The response cache's store returned something that is no %s; asking anew", expected.__name__)
        return None

    async def _delete(self, key: CacheKey) -> None:
        # A caller that goes away must not leave behind what was declared stale.
        with anyio.CancelScope(shield=True):
            await self._try("delete", key)

    async def _try(self, operation: Literal["get", "set", "delete"], *arguments: object) -> Any:
        """Let the store do something, but not for ever; say once that it fails, until it works again."""
        try:
            with nullcontext() if self._timeout is None else anyio.fail_after(self._timeout):
                done: Any = await getattr(self._store, operation)(*arguments)
        except Exception as error:
            if operation not in self._failing:
                self._failing.add(operation)
                self._warn(operation, error)
            return None
        self._failing.discard(operation)
        return done

    def _warn(self, operation: str, error: Exception) -> None:
        if not isinstance(error, TimeoutError):
            logger.warning("Response cache store operation failed; continuing without the cache", exc_info=error)
        elif operation == "delete":
            logger.warning("Response cache store delete timed out; the entry will age out by TTL")
        else:
            logger.warning("Response cache store %s timed out; continuing without the cache", operation)
