"""Telling clients that something changed: the bus that carries changes, and the handler of `subscriptions/listen`."""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import anyio

import mcp_types as types
from mcp._protocol.listen import acknowledgement, honoured, to_notification
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_matches,
)
from mcp.stores.store import StoreError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST

__all__ = [
    "SUBSCRIPTION_ID_META_KEY",
    "InMemorySubscriptionBus",
    "ListenHandler",
    "PromptsListChanged",
    "RemoteSubscriptionBus",
    "ResourceUpdated",
    "ResourcesListChanged",
    "ServerEvent",
    "SubscriptionBus",
    "ToolsListChanged",
]

logger = logging.getLogger(__name__)

Listener: TypeAlias = Callable[[ServerEvent], None]
AuthorizeResource: TypeAlias = Callable[[ServerRequestContext[Any, Any], str], "bool | Awaitable[bool]"]

DEFAULT_MAX_SUBSCRIPTIONS: Final = 1024
DEFAULT_MAX_BUFFERED_EVENTS: Final = 1024
DEFAULT_MAX_RESOURCE_SUBSCRIPTIONS: Final = 1024


class SubscriptionBus(Protocol):
    """Carries changes from where they happen to every listen stream that is open.

    Servers in several processes share a bus over a broker: what one publishes, the listeners of all receive.
    """

    async def publish(self, event: ServerEvent) -> None:
        """Hand an event to every listener, in every process."""
        ...

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener. It is called on the event loop and neither waits nor raises.

        Returns:
            A function that removes it; calling that again does nothing.
        """
        ...


@runtime_checkable
class RemoteSubscriptionBus(SubscriptionBus, Protocol):
    """A bus over a broker, whose connection may break.

    A listen stream waits for `ready` before it is acknowledged, and ends when the bus says that events may have been
    lost: its client listens again and fetches what matters.
    """

    async def ready(self) -> None:
        """Wait until events of other processes arrive here.

        Raises:
            StoreError: They do not.
        """
        ...

    def on_loss(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have something called, on the event loop, when events may have been lost.

        Returns:
            A function that undoes it.
        """
        ...


class InMemorySubscriptionBus:
    """A bus for one process."""

    def __init__(self) -> None:
        self._listeners: dict[object, Listener] = {}

    async def publish(self, event: ServerEvent) -> None:
        """Hand an event to every listener."""
        for listener in list(self._listeners.values()):
            try:
                listener(event)
            except Exception:
                logger.exception("A listener of the subscription bus raised; the others still hear of %r", event)
        # A burst from one task lets the streams write in between, or it would overflow the buffers of live readers.
        await anyio.lowlevel.checkpoint()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; the same one twice hears everything twice."""
        registration = object()
        self._listeners[registration] = listener

        def unsubscribe() -> None:
            self._listeners.pop(registration, None)

        return unsubscribe


class _Subscription:
    """One open listen stream: what it wants, and what it has not been told yet."""

    __slots__ = ("_events", "_limit", "_uris", "_wake", "_wanted", "ended", "forget")

    def __init__(self, wanted: types.SubscriptionFilter, limit: int) -> None:
        self._wanted = wanted
        self._uris = frozenset(wanted.resource_subscriptions or ())
        self.ended = False
        self.forget: Callable[[], None] | None = None
        self._limit = limit
        self._events: deque[ServerEvent] = deque()
        self._wake: anyio.Event | None = None

    def offer(self, event: ServerEvent) -> None:
        """Queue an event that the stream wants. One that cannot be queued ends the stream: gaps are not hidden."""
        if self.ended or not event_matches(self._wanted, self._uris, event):
            return
        if len(self._events) >= self._limit:
            logger.warning("A subscriptions/listen stream is ended: its client left %d events unread", self._limit)
            self.end()
            return
        self._events.append(event)
        self._notice()

    def end(self) -> None:
        """Take nothing more; what is queued still goes out."""
        self.ended = True
        self._notice()

    async def next_event(self) -> ServerEvent | None:
        """Wait for the next event; `None` after the last one."""
        while not self._events:
            if self.ended:
                return None
            self._wake = anyio.Event()
            await self._wake.wait()
        return self._events.popleft()

    def _notice(self) -> None:
        if self._wake is not None:
            self._wake.set()


class ListenHandler:
    """Serves `subscriptions/listen`: each call is a stream that carries the bus's events until either side ends it.

    Example:
        ```python
        bus = InMemorySubscriptionBus()
        server = Server("notes", on_subscriptions_listen=ListenHandler(bus))

        await bus.publish(ResourceUpdated(uri="note://1"))
        ```

    Args:
        bus: Where the events come from.
        max_subscriptions: How many streams may be open.
        max_buffered_events: How many events a client may leave unread before its stream is ended.
        max_resource_subscriptions: How many resources one stream may watch.
        authorize_resource: Decides, once for each URI when a stream opens, whether its client may watch a resource.
            What it may not watch is left out of the acknowledgement. Without it, every caller may watch everything.

    Raises:
        ValueError: A limit is not positive.
    """

    def __init__(
        self,
        bus: SubscriptionBus,
        *,
        max_subscriptions: int = DEFAULT_MAX_SUBSCRIPTIONS,
        max_buffered_events: int = DEFAULT_MAX_BUFFERED_EVENTS,
        max_resource_subscriptions: int = DEFAULT_MAX_RESOURCE_SUBSCRIPTIONS,
        authorize_resource: AuthorizeResource | None = None,
    ) -> None:
        limits = {
            "max_subscriptions": max_subscriptions,
            "max_buffered_events": max_buffered_events,
            "max_resource_subscriptions": max_resource_subscriptions,
        }
        for name, limit in limits.items():
            if limit <= 0:
                raise ValueError(f"{name} must be a positive number, got {limit}")
        self._bus = bus
        self._max_subscriptions = max_subscriptions
        self._max_buffered_events = max_buffered_events
        self._max_resources = max_resource_subscriptions
        self._authorize = authorize_resource
        self._open: set[_Subscription] = set()

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve one stream: acknowledge, deliver, and return the result that ends it.

        Raises:
            MCPError: The stream cannot be opened.
        """
        request_id = ctx.request_id
        if request_id is None:
            raise MCPError(INVALID_REQUEST, "subscriptions/listen is a request: it needs an id")
        self._check_room()
        wanted = await self._authorized(ctx, honoured(params.notifications))
        self._check_room()  # authorizing may have taken a while
        subscription = _Subscription(wanted, self._max_buffered_events)
        notify = ctx.session.scope.notify
        self._open.add(subscription)
        try:
            # Subscribed before the acknowledgement goes out: what happens meanwhile waits behind it, and is not lost.
            unsubscribe = self._bus.subscribe(self._feed(subscription))
            try:
                await self._connect(subscription)
                await notify(*acknowledgement(wanted, request_id))
                while (event := await subscription.next_event()) is not None:
                    await notify(*to_notification(event, request_id))
            finally:
                _unsubscribe(unsubscribe)
                if subscription.forget is not None:
                    subscription.forget()
        finally:
            self._open.discard(subscription)
        return types.SubscriptionsListenResult.model_validate({"_meta": {SUBSCRIPTION_ID_META_KEY: request_id}})

    @property
    def bus(self) -> SubscriptionBus:
        """Where the events come from."""
        return self._bus

    def close(self) -> None:
        """End every open stream in good order: what is queued goes out, then the result. New streams may open again."""
        for subscription in list(self._open):
            subscription.end()

    def _check_room(self) -> None:
        if len(self._open) >= self._max_subscriptions:
            raise MCPError(INTERNAL_ERROR, "Subscription limit reached")

    async def _connect(self, subscription: _Subscription) -> None:
        """Wait for the connection of a bus that has one, and end the stream when that breaks."""
        if not isinstance(self._bus, RemoteSubscriptionBus):
            return
        subscription.forget = self._bus.on_loss(subscription.end)
        try:
            await self._bus.ready()
        except StoreError as error:
            logger.error("A subscriptions/listen stream cannot be opened: %s", error)
            raise MCPError(INTERNAL_ERROR, "Changes cannot be watched at the moment; try again later") from None

    def _feed(self, subscription: _Subscription) -> Listener:
        def listener(event: ServerEvent) -> None:
            subscription.offer(event)
            if subscription.ended:
                self._open.discard(subscription)  # its place is free, though the rest may take long to go out

        return listener

    async def _authorized(
        self, ctx: ServerRequestContext[Any, Any], wanted: types.SubscriptionFilter
    ) -> types.SubscriptionFilter:
        uris = wanted.resource_subscriptions
        if not uris:
            return wanted
        if len(uris) > self._max_resources:
            raise MCPError(INVALID_PARAMS, f"one stream may watch at most {self._max_resources} resources")
        if self._authorize is None:
            return wanted
        allowed: list[str] = []
        for uri in uris:
            verdict = self._authorize(ctx, uri)
            if await verdict if inspect.isawaitable(verdict) else verdict:
                allowed.append(uri)
        return wanted.model_copy(update={"resource_subscriptions": allowed or None})


def _unsubscribe(unsubscribe: Callable[[], None]) -> None:
    try:
        unsubscribe()
    except Exception:
        logger.exception("The subscription bus failed to remove a listener")
