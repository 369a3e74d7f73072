"""Changes and legacy events on Redis or Valkey, for servers of several instances. Needs the extra `redis`, and asyncio.

`mcp.stores.RedisStore` is the third part: what request state keeps.
"""

from __future__ import annotations

import json
import logging
import os
import random
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import anyio

from mcp._engine.apart import start_apart
from mcp.server._http.event_store import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.server.subscriptions import InMemorySubscriptionBus, Listener
from mcp.shared.subscriptions import ResourceUpdated, ServerEvent, event_from_wire, method_of_event
from mcp.stores.redis import DEFAULT_TIMEOUT, RedisClient, RedisConnections
from mcp.stores.store import StoreError
from mcp_types.jsonrpc import JSONRPCMessage, jsonrpc_message_adapter

__all__ = ["RedisEventStore", "RedisSubscriptionBus"]

logger = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0
_LOST: Final = "lost"


class RedisSubscriptionBus:
    """Carries changes between all instances that use the same channel.

    Listeners of this process hear a change at once, those of others by way of the server. While that does not answer,
    the bus connects again with growing pauses, and ends the streams of its listeners then, since they may have missed
    something: they listen again and fetch what matters (`Client.watch` does so by itself). A change that could not be
    published makes the other instances end theirs, as soon as they can be told.

    Args:
        client: The address of the server, or an asyncio client that the application has.
        channel: The channel.
        timeout: How many seconds a command may take.

    Raises:
        TypeError: The client is none.
        ValueError: The timeout is not positive.
    """

    def __init__(
        self, client: str | RedisClient, *, channel: str = "mcp:changes", timeout: float = DEFAULT_TIMEOUT
    ) -> None:
        self._connections = RedisConnections(client, timeout)
        self._channel = channel
        self._timeout = timeout
        self._here = InMemorySubscriptionBus()
        self._on_loss: dict[object, Callable[[], None]] = {}
        self._name = os.urandom(12).hex()
        self._reader: object = None
        self._teller: object = None
        self._connected = anyio.Event()

    async def publish(self, event: ServerEvent) -> None:
        """Hand an event to every listener, in every process. What fails is logged, and made up for later."""
        await self._here.publish(event)
        message = {"from": self._name, "method": method_of_event(event)}
        if isinstance(event, ResourceUpdated):
            message["uri"] = event.uri
        try:
            await self._send(message)
        except StoreError as error:
            logger.error("A change was not published; the other instances will be told that they missed one: %s", error)
            if self._teller is None:
                self._teller = start_apart(self._tell_of_loss)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener, and connect if nothing is connected yet."""
        remove = self._here.subscribe(listener)
        if self._reader is None:
            self._reader = start_apart(self._read)
        return remove

    def on_loss(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have something called when events may have been lost; returns what undoes it."""
        registration = object()
        self._on_loss[registration] = listener
        return lambda: cast("None", self._on_loss.pop(registration, None))

    async def ready(self) -> None:
        """Wait until events of other processes arrive here.

        Raises:
            StoreError: They do not, after the timeout.
        """
        with anyio.move_on_after(self._timeout):
            await self._connected.wait()
            return
        raise StoreError(f"changes do not arrive: no connection to Redis within {self._timeout:g} s")

    async def aclose(self) -> None:
        """Stop listening, and close the connections that were made for the running event loop."""
        for task in (self._reader, self._teller):
            if task is not None:
                cast("Any", task).cancel()
        self._reader = self._teller = None
        self._connected = anyio.Event()
        await self._connections.aclose()

    async def _send(self, message: Mapping[str, str]) -> None:
        await self._connections.run("PUBLISH", self._channel, json.dumps(message))

    async def _tell_of_loss(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            await anyio.sleep(_jittered(pause))
            pause = min(2 * pause, _LONGEST_PAUSE)
            try:
                await self._send({"from": self._name, "method": _LOST})
            except StoreError:
                continue
            self._teller = None
            return

    async def _read(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            had_connected = False
            try:
                await self._read_until_it_breaks()
            except Exception as error:
                had_connected = self._connected.is_set()
                reason = f"{type(error).__name__}: {error}"
                if had_connected or pause == _FIRST_PAUSE:
                    logger.warning("Connecting to Redis for changes again (%s)", reason)
            if had_connected:
                pause = _FIRST_PAUSE
                self._connected = anyio.Event()
                self._lose()
            await anyio.sleep(_jittered(pause))
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _read_until_it_breaks(self) -> None:
        pubsub = cast("Any", self._connections.client()).pubsub()
        try:
            with anyio.fail_after(self._timeout):
                await pubsub.subscribe(self._channel)
            is_silent = False
            while True:
                message = await pubsub.get_message(timeout=self._timeout)
                if message is not None:
                    is_silent = False
                    await self._hear(message)
                elif is_silent:
                    raise TimeoutError("it does not answer")
                else:
                    # A connection that died without a word shows only when somebody waits for an answer.
                    is_silent = True
                    with anyio.fail_after(self._timeout):
                        await pubsub.ping()
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await pubsub.aclose()

    async def _hear(self, received: Mapping[str, Any]) -> None:
        if received["type"] == "subscribe":
            if self._connected.is_set():  # the client has connected again by itself
                self._lose()
            self._connected.set()
        elif received["type"] == "message":
            await self._pass_on(received["data"])

    async def _pass_on(self, data: bytes | str) -> None:
        try:
            message = json.loads(data)
            sender, method = message["from"], message["method"]
            event = event_from_wire(method, {"uri": message.get("uri")})
        except (ValueError, KeyError, TypeError, AttributeError):
            logger.warning("Something that is no change arrived on the channel %s", self._channel)
            return
        if sender == self._name:
            return
        if event is not None:
            await self._here.publish(event)
        elif method == _LOST:
            self._lose()

    def _lose(self) -> None:
        for listener in list(self._on_loss.values()):
            listener()


class RedisEventStore(EventStore):
    """Keeps the events of legacy streams for all instances of a server.

    Args:
        client: The address of the server, or an asyncio client that the application has.
        prefix: What all keys begin with.
        ttl: How many seconds the events of a stream are kept after its last one.
        max_events: About how many events of a stream are kept, the newest.
        timeout: How many seconds an operation may take.

    Raises:
        TypeError: The client is none.
        ValueError: A number is not positive.
    """

    def __init__(
        self,
        client: str | RedisClient,
        *,
        prefix: str = "mcp:events:",
        ttl: float = 3600.0,
        max_events: int = 1000,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        if not ttl > 0 or max_events <= 0:
            raise ValueError(f"ttl and max_events must be positive, got {ttl} and {max_events}")
        self._connections = RedisConnections(client, timeout)
        self._prefix = prefix
        self._ttl = max(1, round(ttl * 1000))
        self._max_events = max_events

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        """Store an event.

        Raises:
            StoreError: The server failed.
        """
        text = "" if message is None else message.model_dump_json(by_alias=True, exclude_none=True)
        entry: bytes | str = await self._connections.run(
            "EVAL", _ADD, 1, self._prefix + stream_id, self._max_events, self._ttl, text
        )
        return f"{_text(entry)}@{stream_id}"

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        """Send every event of a stream that came after one of its events.

        Raises:
            StoreError: The server failed.
        """
        entry, at, stream_id = last_event_id.partition("@")
        if not at or not _is_entry(entry):
            return None
        found: list[Any] = await self._connections.run("XRANGE", self._prefix + stream_id, entry, "+")
        entries = [(_text(later), _message(fields)) for later, fields in found]
        if not entries or entries[0][0] != entry:
            return None
        for later, text in entries[1:]:
            if text:
                message = jsonrpc_message_adapter.validate_json(text)
                await send_callback(EventMessage(message, f"{later}@{stream_id}"))
        return stream_id

    async def aclose(self) -> None:
        """Close the connections that the store made for the running event loop."""
        await self._connections.aclose()


# Adding an event and putting off the end of its stream is one step.
_ADD: Final = """
local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'm', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return id
"""


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode()


def _message(fields: Any) -> str:
    # Clients give the fields of an entry as a mapping, or as the server sent them: name, value.
    return _text(fields["m" if "m" in fields else b"m"] if hasattr(fields, "keys") else fields[1])


def _is_entry(text: str) -> bool:
    time, dash, number = text.partition("-")
    return bool(dash) and all(part.isascii() and part.isdecimal() and len(part) <= 20 for part in (time, number))


def _jittered(seconds: float) -> float:
    # So that the instances of a fleet do not come back all at once.
    return seconds * (0.5 + random.random() / 2)
