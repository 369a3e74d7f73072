"""A store on Redis or Valkey, which all instances of a server share. Needs the extra `redis`, and asyncio."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable
from typing import Any, Final, Protocol, cast
from weakref import WeakKeyDictionary

import anyio

from mcp.stores.store import Record, StoreError

DEFAULT_TIMEOUT: Final = 3.0
"""How many seconds an operation may take."""

_NONCE_BYTES: Final = 12
_CONNECTIONS: Final = 50
"""How many connections one store or bus has; who needs one more waits."""


class RedisClient(Protocol):
    """What is needed of a client: the one method that all commands go through.

    `redis.asyncio.Redis`, its cluster and sentinel clients, and `valkey.asyncio.Valkey` have it.
    """

    def execute_command(self, *args: Any, **options: Any) -> Awaitable[Any]:
        """Send a command and return its answer."""
        ...


class RedisConnections:
    """A client for each event loop, made when it is first needed; or the one that the application has.

    Args:
        client: The address of the server, such as `redis://localhost:6379/0`, or a client.
        timeout: How many seconds a command may take.

    Raises:
        TypeError: The client is none.
        ValueError: The address is none of a Redis server, or the timeout is not positive.
        ImportError: There is an address, and the package `redis` is not installed.
    """

    def __init__(self, client: str | RedisClient, timeout: float = DEFAULT_TIMEOUT) -> None:
        if not isinstance(client, str) and not callable(getattr(client, "execute_command", None)):
            kind = type(client).__name__
            raise TypeError(f"expected a Redis URL or an asyncio client such as redis.asyncio.Redis, got {kind}")
        if not timeout > 0:
            raise ValueError(f"timeout must be a positive number of seconds, got {timeout}")
        if isinstance(client, str):
            _check_address(client)
        self._client = client
        self._timeout = timeout
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, RedisClient] = WeakKeyDictionary()

    def client(self) -> RedisClient:
        """Return the client of the running event loop.

        Raises:
            StoreError: It is none of asyncio.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise StoreError("stores on Redis work in asyncio's event loop only") from None
        if not isinstance(self._client, str):
            return self._client
        made = self._made.get(loop)
        if made is None:
            made = self._made[loop] = _connect(self._client, self._timeout)
        return made

    async def run(self, *command: Any) -> Any:
        """Run a command.

        Raises:
            StoreError: It failed, or took too long; nobody knows whether it was done.
        """
        client = self.client()
        try:
            with anyio.fail_after(self._timeout):
                return await client.execute_command(*command)
        except TimeoutError:
            reason = f"it did not answer within {self._timeout:g} s"
        except Exception as error:
            # The texts of the library's errors name an address or a command, and neither keys nor values.
            reason = f"{type(error).__name__}: {error}"
        raise StoreError(f"Redis failed ({reason}): see whether the server is up and its address is right")

    async def aclose(self) -> None:
        """Close the client that was made for the running event loop, if there is one."""
        made = self._made.pop(asyncio.get_running_loop(), None)
        if made is not None:
            await cast("Any", made).aclose()


def _check_address(url: str) -> None:
    """Complain while the server is built, and not at its first call."""
    try:
        from redis.asyncio.connection import parse_url
    except ImportError:
        text = "the package redis is not installed, which a Redis URL needs: pip install 'rondo-mcp[redis]'"
        raise ImportError(text, name="redis") from None
    parse_url(url)


def _connect(url: str, timeout: float) -> RedisClient:
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    pool = BlockingConnectionPool.from_url(  # pyright: ignore[reportUnknownMemberType]
        url,
        max_connections=_CONNECTIONS,
        timeout=timeout,
        socket_connect_timeout=timeout,
        socket_timeout=timeout,
        # Once more for a connection that has died since it was used last. No operation here does harm if done twice.
        retry=Retry(NoBackoff(), 1),
    )
    return cast("RedisClient", Redis.from_pool(pool))


class RedisStore:
    """Keeps entries on a Redis or Valkey server, of version 6.2 or newer: for every instance of a server.

    Entries disappear by themselves when their time is over. A server that evicts entries earlier, because its memory
    is full, breaks that promise: give it the policy `noeviction`, which is Redis' default.

    Example:
        ```python
        store = RedisStore("redis://localhost:6379/0")
        security = RequestStateSecurity.from_env(single_use=store, park=store)
        ```

    Args:
        client: The address of the server, or an asyncio client that the application has.
        prefix: What all keys begin with.
        timeout: How many seconds an operation may take before it counts as failed.

    Raises:
        TypeError: The client is none.
        ValueError: The address is none of a Redis server, or the timeout is not positive.
        ImportError: There is an address, and the package `redis` is not installed.
    """

    def __init__(self, client: str | RedisClient, *, prefix: str = "mcp:", timeout: float = DEFAULT_TIMEOUT) -> None:
        self._connections = RedisConnections(client, timeout)
        self._prefix = prefix

    async def put(self, key: str, value: bytes, ttl: float) -> None:
        """Keep a value for so many seconds, in the place of an earlier one.

        Raises:
            StoreError: The server failed; nobody knows whether it was done. So for all operations.
        """
        await self._connections.run("SET", self._prefix + key, value, "PX", _milliseconds(ttl))

    async def get(self, key: str) -> bytes | None:
        """Return the value; `None` if there is none."""
        return _value(await self._connections.run("GET", self._prefix + key))

    async def take(self, key: str) -> bytes | None:
        """Remove the value and return it; `None` if there is none, or if it was lost with a connection that broke."""
        return _value(await self._connections.run("GETDEL", self._prefix + key))

    async def add_once(self, key: str, ttl: float) -> bool:
        """Add a key for so many seconds; return whether it was not there yet."""
        nonce = os.urandom(_NONCE_BYTES)
        name = self._prefix + key
        if await self._connections.run("SET", name, nonce, "PX", _milliseconds(ttl), "NX"):
            return True
        # A client of the application's may have sent the command twice, the first time with success.
        return await self._connections.run("GET", name) == nonce

    async def add_record(self, name: str, text: str, expires: float | None) -> bool:
        """Add a record of revision 0; return whether there was none of that name."""
        return await self._script(_ADD_RECORD, name, text, _deadline(expires), os.urandom(_NONCE_BYTES)) == 1

    async def get_record(self, name: str) -> Record | None:
        """Return a record; `None` if there is none."""
        revision, text = await self._connections.run("HMGET", self._record_key(name), "revision", "text")
        return None if revision is None else Record(name, int(revision), _string(text))

    async def change_record(self, seen: Record, text: str, expires: float | None) -> bool:
        """Change a record and count its revision; return whether it was still the one that was seen."""
        nonce = os.urandom(_NONCE_BYTES)
        return await self._script(_CHANGE_RECORD, seen.name, text, _deadline(expires), nonce, seen.revision) == 1

    async def list_records(self, prefix: str) -> list[Record]:
        """Return the records whose names begin so, in the order of their names."""
        start = len(self._record_key(""))
        pattern = re.sub(r"([\\?*\[\]])", r"\\\1", self._record_key(prefix)) + "*"
        names: set[str] = set()
        cursor = 0
        while True:
            cursor, keys = await self._connections.run("SCAN", cursor, "MATCH", pattern, "COUNT", 1000)
            names.update(_string(key)[start:] for key in keys)
            if not int(cursor):
                break
        found = [await self.get_record(name) for name in sorted(names)]
        return [record for record in found if record is not None]

    async def remove_record(self, name: str) -> None:
        """Remove a record, if there is one."""
        await self._connections.run("DEL", self._record_key(name))

    def _record_key(self, name: str) -> str:
        return f"{self._prefix}record:{name}"

    async def _script(self, script: str, name: str, *arguments: Any) -> Any:
        return await self._connections.run("EVAL", script, 1, self._record_key(name), *arguments)

    async def aclose(self) -> None:
        """Close the connections that the store made for the running event loop."""
        await self._connections.aclose()


# Who changed a record last is written into it, so that a command which was sent twice knows itself.
_WRITE: Final = """
redis.call('HSET', KEYS[1], 'revision', revision, 'text', ARGV[1], 'by', ARGV[3])
if ARGV[2] == '' then redis.call('PERSIST', KEYS[1]) else redis.call('PEXPIREAT', KEYS[1], ARGV[2]) end
return 1
"""
_ADD_RECORD: Final = f"""
local by = redis.call('HGET', KEYS[1], 'by')
if by then return by == ARGV[3] and 1 or 0 end
local revision = 0
{_WRITE}
"""
_CHANGE_RECORD: Final = f"""
local seen = redis.call('HMGET', KEYS[1], 'revision', 'by')
if seen[2] == ARGV[3] then return 1 end
if seen[1] ~= ARGV[4] then return 0 end
local revision = tonumber(ARGV[4]) + 1
{_WRITE}
"""


def _deadline(expires: float | None) -> int | str:
    return "" if expires is None else max(1, round(expires * 1000))


def _string(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode()


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _value(answer: object) -> bytes | None:
    if answer is None or isinstance(answer, bytes):
        return answer
    raise StoreError("the Redis client decodes answers: make it without decode_responses=True")
