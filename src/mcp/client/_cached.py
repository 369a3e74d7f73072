"""Verbs that the response cache may answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeAlias, TypeVar, cast, get_args
from uuid import uuid4

import anyio
import anyio.lowlevel

import mcp_types as types
from mcp._protocol.freshness import target_of
from mcp.client.caching import (
    CacheConfig,
    CacheMode,
    CacheStats,
    ClientResponseCache,
    InMemoryResponseCacheStore,
)
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import INVALID_PARAMS

ResultT = TypeVar("ResultT", bound=types.CacheableResult)
PageT = TypeVar("PageT", bound=types.CacheableResult, covariant=True)

Fetch: TypeAlias = "Callable[[Asking], Awaitable[ResultT]]"


class ListVerb(Protocol[PageT]):
    """A verb of the session that lists one page."""

    def __call__(self, *, params: types.PaginatedRequestParams | None = None) -> Awaitable[PageT]:
        """List it."""
        ...


_MODES = get_args(CacheMode)
_MAX_NOT_KEPT = 1024


class Asking:
    """A question that is on its way to the server.

    Attributes:
        may_keep: Whether the answer may be kept, as far as it is not up to the answer itself.
        done: Set once those who ask the same need not wait for this answer any more.
    """

    def __init__(self) -> None:
        self.may_keep = True
        self.done = anyio.Event()

    def keep_nothing(self) -> None:
        """The answer depends on more than the question."""
        self.may_keep = False
        self.done.set()


class CachedAnswers:
    """Answers from the cache, or else asks and keeps the answer.

    Args:
        config: How answers are kept; `None` to ask always.
        server: What the client is given to connect to.
        version: Tells the negotiated protocol version.

    Raises:
        TypeError: `config` is something else.
        ValueError: Answers of such a server cannot be kept in a store of one's own.
    """

    def __init__(self, config: CacheConfig | None, server: object, version: Callable[[], str | None]) -> None:
        self.cache = None if config is None else _make_cache(config, server, version)
        self._hits = self._misses = 0
        self._asking: dict[tuple[str, str], Asking] = {}
        # Questions whose answers were not kept last time: nobody needs to wait for those who ask the same.
        self._not_kept: dict[tuple[str, str], None] = {}

    @property
    def stats(self) -> CacheStats:
        """What the cache has done so far."""
        return CacheStats(self._hits, self._misses, 0 if self.cache is None else self.cache.evictions)

    async def answer(
        self,
        method: str,
        params_key: str,
        fetch: Fetch[ResultT],
        mode: CacheMode,
        *,
        has_meta: bool,
        on_hit: Callable[[ResultT], None] | None = None,
    ) -> ResultT:
        """Answer a question.

        Args:
            method: The method.
            params_key: The URI of `resources/read`; empty for lists.
            fetch: Asks the server.
            mode: What the cache may do.
            has_meta: Whether the caller gives metadata, which only a request can carry.
            on_hit: Is shown an answer of the cache.
        """
        cache = self.cache
        if check_cache_mode(mode) == "bypass" or cache is None or not cache.may_keep:
            return await fetch(Asking())
        if mode == "refresh" or has_meta:
            return await self._ask(cache, method, params_key, fetch, refresh=True)
        found = await cache.read(method, params_key)
        other = self._asking.get((method, params_key))
        if found is None and other is not None and (method, params_key) not in self._not_kept:
            await other.done.wait()
            found = await cache.read(method, params_key)
        if found is None:
            self._misses += 1
            return await self._ask(cache, method, params_key, fetch, refresh=False)
        self._hits += 1
        if on_hit is not None:
            on_hit(cast("ResultT", found))
        await anyio.lowlevel.checkpoint()
        return cast("ResultT", found)

    async def continue_list(self, method: str, fetch: Fetch[ResultT], mode: CacheMode) -> ResultT:
        """Ask for a further page of a list. If its cursor is not valid any more, the first page is stale, too."""
        check_cache_mode(mode)
        try:
            return await fetch(Asking())
        except MCPError as error:
            if self.cache is not None and mode != "bypass" and error.code == INVALID_PARAMS:
                await self.cache.evict_method(method)
            raise

    async def evict(self, method: str, params: Mapping[str, object] | None) -> None:
        """Forget what a notification makes stale."""
        if self.cache is not None:
            await self.cache.evict_stale(method, params)

    async def _ask(
        self, cache: ClientResponseCache, method: str, params_key: str, fetch: Fetch[ResultT], *, refresh: bool
    ) -> ResultT:
        question = (method, params_key)
        asking = Asking()
        if not refresh:
            self._asking.setdefault(question, asking)
        generation = cache.capture(method, params_key)
        try:
            result = await fetch(asking)
            if asking.may_keep:
                kept = await cache.write(method, params_key, result, generation, "refresh" if refresh else "use")
            else:
                kept = False
                if refresh:
                    await cache.evict_key(method, params_key)
            self._remember(question, kept=kept)
            return result
        finally:
            if self._asking.get(question) is asking:
                del self._asking[question]
            asking.done.set()

    def _remember(self, question: tuple[str, str], *, kept: bool) -> None:
        if kept:
            self._not_kept.pop(question, None)
            return
        if len(self._not_kept) >= _MAX_NOT_KEPT:
            self._not_kept.clear()
        self._not_kept[question] = None


def check_cache_mode(mode: CacheMode) -> CacheMode:
    """Check what a caller wants of the cache.

    Raises:
        ValueError: It is no mode.
    """
    if mode not in _MODES:
        raise ValueError(f"cache_mode must be one of {list(_MODES)}, got {mode!r}")
    return mode


def _make_cache(config: object, server: object, version: Callable[[], str | None]) -> ClientResponseCache:
    if not isinstance(config, CacheConfig):
        raise TypeError(f"cache must be a CacheConfig or None, not {type(config).__name__}")
    if config.store is not None and config.target_id is None and not isinstance(server, str):
        raise ValueError(
            "a custom cache store requires CacheConfig.target_id when the server is not a URL: in-process servers "
            "and Transport instances get a random per-client identity, so their entries in a shared store could never "
            "be served to another client"
        )
    name = config.target_id or (server if isinstance(server, str) else uuid4().hex)
    return ClientResponseCache(
        store=config.store or InMemoryResponseCacheStore(),
        partition=config.partition,
        arm_id=target_of(name),
        default_ttl_ms=config.default_ttl_ms,
        clock=config.clock,
        share_public=config.share_public,
        negotiated_version=version,
    )
