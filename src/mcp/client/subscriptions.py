"""`listen()`: hear what changes on a server, and know how the hearing ended.

```python
async with client.listen(tools_list_changed=True) as changes:
    async for event in changes:
        ...
```

There is no replay: after `SubscriptionLost`, listen again first and fetch what matters then, so that nothing falls
between. `Client.watch` does the listening again by itself.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, TypeAlias, cast

import anyio
from anyio.abc import TaskGroup
from pydantic import ValidationError

from mcp._protocol.era import MODERN, era_of
from mcp._protocol.listen import ACKNOWLEDGED, expects, filter_to_wire, refused, subscription_id_of
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    LISTEN_STREAM_METHODS,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_from_wire,
)
from mcp_types import RequestId, SubscriptionFilter
from mcp_types.jsonrpc import CONNECTION_CLOSED

__all__ = [
    "ListenNotSupportedError",
    "OnEvent",
    "PromptsListChanged",
    "Reconnected",
    "ResourceUpdated",
    "ResourcesListChanged",
    "ServerEvent",
    "Subscription",
    "SubscriptionLost",
    "ToolsListChanged",
    "listen",
]

logger = logging.getLogger(__name__)

OnEvent: TypeAlias = Callable[[ServerEvent], Awaitable[None]]

MAX_BACKLOG: Final = 1024
ACKNOWLEDGEMENT_TIMEOUT_SECONDS: Final = 30.0

_numbers = itertools.count(1)


class SubscriptionLost(RuntimeError):
    """A subscription ended and the server did not say that it is over: changes may have been missed."""


@dataclass(frozen=True)
class Reconnected:
    """A watch listens again after a gap: changes may have been missed, so fetch again what matters."""


class ListenNotSupportedError(RuntimeError):
    """The negotiated protocol version has no subscriptions of this kind.

    Args:
        negotiated_version: The version.
    """

    def __init__(self, negotiated_version: str | None) -> None:
        super().__init__(
            f"subscriptions/listen is not available at protocol version {negotiated_version!r}; it requires "
            "2026-07-28. On earlier versions use subscribe_resource() and the change notifications delivered through "
            "message_handler."
        )
        self.negotiated_version = negotiated_version


class ListenRoute:
    """The state of one subscription: what waits to be read, and how it ended.

    Args:
        subscription_id: The id of the request that opened it.
    """

    def __init__(self, subscription_id: RequestId) -> None:
        self.subscription_id = subscription_id
        self.honored: SubscriptionFilter | None = None
        self.waiting: dict[ServerEvent, None] = {}
        self.ended = False
        self.closed = False
        self.lost: SubscriptionLost | None = None
        self.refusal: MCPError | None = None
        self.acknowledged = anyio.Event()
        self._changed = anyio.Event()

    def acknowledge(self, params: dict[str, Any] | None) -> None:
        """Take the server's word on what it will tell. Only the first one counts."""
        if self.honored is not None:
            return
        try:
            self.honored = SubscriptionFilter.model_validate((params or {}).get("notifications") or {})
        except ValidationError:
            logger.warning("subscription %r was acknowledged with something that is no filter", self.subscription_id)
            self.honored = SubscriptionFilter()
        self.acknowledged.set()

    def hear(self, event: ServerEvent) -> None:
        """Take an event. One that waits unread already is not taken twice."""
        if self.ended or self.honored is None or not expects(self.honored, event):
            return
        self.waiting[event] = None
        if len(self.waiting) > MAX_BACKLOG:
            self.lose(None, f"its backlog of {MAX_BACKLOG} unread events is full")
        self._wake()

    def end(self) -> None:
        """End as the server wants it: the request that opened the subscription has its result."""
        self.ended = True
        self.acknowledged.set()
        self._wake()

    def lose(self, cause: MCPError | None, reason: str | None = None) -> None:
        """End in any other way."""
        if self.ended:
            return
        self.ended = True
        if self.honored is None and cause is not None:
            self.refusal = cause
        elif self.honored is None:
            text = f"subscription {self.subscription_id!r} ended before it was acknowledged"
            self.lost = SubscriptionLost(text)
        else:
            why = f" ({reason})" if reason else ""
            self.lost = SubscriptionLost(
                f"subscription {self.subscription_id!r} ended without the server's graceful close{why}; "
                "re-listen and refetch"
            )
            self.lost.__cause__ = cause
        self.acknowledged.set()
        self._wake()

    def close(self) -> None:
        """End because nobody reads any more."""
        self.closed = self.ended = True
        self._wake()

    async def changed(self) -> None:
        """Wait until there may be something new."""
        await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class Subscription:
    """An open subscription: iterate it for the events.

    Attributes:
        honored: What the server agreed to tell; it may be less than what was asked.

    Args:
        route: The subscription's state.
        subscription_id: The id of the request that opened it.
        honored: What the server agreed to tell.
        on_event: Awaited before each event is handed out.
    """

    def __init__(
        self,
        route: ListenRoute,
        subscription_id: RequestId,
        honored: SubscriptionFilter,
        on_event: OnEvent | None = None,
    ) -> None:
        self._route = route
        self._on_event = on_event
        self.honored = honored
        self.subscription_id = str(subscription_id)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> ServerEvent:
        route = self._route
        while not route.closed:
            if route.waiting:
                event = next(iter(route.waiting))
                if self._on_event is not None:
                    # The event stays in its place until this is through: a cancelled wait loses nothing.
                    await self._on_event(event)
                route.waiting.pop(event, None)
                return event
            if route.lost is not None:
                raise route.lost
            if route.ended:
                break
            await route.changed()
        raise StopAsyncIteration


class Listening(AbstractAsyncContextManager[Subscription]):
    """The block in which a subscription is open. Its exchange runs in a task of the block.

    Args:
        session: The session.
        wanted: What to hear of.
        on_event: Awaited before each event is handed out.
        timeout: Seconds to wait for the server's acknowledgement; by default the session's read timeout, else 30.
    """

    def __init__(
        self,
        session: ClientSession,
        wanted: SubscriptionFilter,
        on_event: OnEvent | None = None,
        timeout: float | None = None,
    ) -> None:
        self._session = session
        self._wanted = wanted
        self._on_event = on_event
        self._timeout = timeout
        self._tasks: TaskGroup | None = None
        self._exchange = anyio.CancelScope()
        self._route = ListenRoute(f"listen-{next(_numbers)}")

    @property
    def was_acknowledged(self) -> bool:
        """Whether the server said what it will tell."""
        return self._route.honored is not None

    async def __aenter__(self) -> Subscription:
        session, route = self._session, self._route
        if self._tasks is not None:
            raise RuntimeError("a subscription is entered once; call listen() again")
        version = session.protocol_version
        if version is None or era_of(version) is not MODERN:
            raise ListenNotSupportedError(version)
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        session._at_close.add(self._session_closed)
        try:
            self._tasks.start_soon(self._run)
            with anyio.fail_after(self._acknowledgement_timeout()):
                await route.acknowledged.wait()
            if route.refusal is not None:
                raise route.refusal
            if route.honored is None and route.lost is not None:
                raise route.lost
        except BaseException:
            await self._leave()
            raise
        honored = route.honored or SubscriptionFilter()
        if missing := refused(self._wanted, honored):
            logger.warning("subscription %r: the server does not tell %s", route.subscription_id, ", ".join(missing))
        return Subscription(route, route.subscription_id, honored, self._on_event)

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self._leave()

    async def _leave(self) -> None:
        self._route.close()
        self._session._at_close.discard(self._session_closed)
        tasks = cast("TaskGroup", self._tasks)
        # Abandoning the exchange is what ends the subscription, on every transport in its own way. The body's exception
        # is kept away from the group, which would wrap it.
        tasks.cancel_scope.cancel()
        await tasks.__aexit__(None, None, None)

    def _acknowledgement_timeout(self) -> float:
        for timeout in (self._timeout, self._session._limits.timeout):
            if timeout is not None:
                return timeout
        return ACKNOWLEDGEMENT_TIMEOUT_SECONDS

    async def _run(self) -> None:
        params = {"notifications": filter_to_wire(self._wanted)}
        try:
            with self._exchange:
                await self._session._exchange(
                    "subscriptions/listen",
                    params,
                    timeout=math.inf,
                    request_id=self._route.subscription_id,
                    on_notification=self._hear,
                )
                self._route.end()
        except MCPError as error:
            self._route.lose(error)

    def _session_closed(self) -> None:
        self._route.lose(MCPError(CONNECTION_CLOSED, "Connection closed", is_local=True))
        self._exchange.cancel()

    async def _hear(self, method: str, params: dict[str, Any] | None) -> None:
        route = self._route
        if method == ACKNOWLEDGED:
            if subscription_id_of(params) == route.subscription_id:
                route.acknowledge(params)
            return
        if method == "notifications/cancelled" and (params or {}).get("requestId") == route.subscription_id:
            route.lose(None)
            self._exchange.cancel()
            return
        # The client's own consequences of a change come before anybody is told of it.
        await self._session._notifications.deliver(method, params)
        if method in LISTEN_STREAM_METHODS and subscription_id_of(params) == route.subscription_id:
            event = event_from_wire(method, params)
            if event is not None:
                route.hear(event)


def listen(
    session: ClientSession,
    *,
    tools_list_changed: bool = False,
    prompts_list_changed: bool = False,
    resources_list_changed: bool = False,
    resource_subscriptions: Sequence[str] = (),
    on_event: OnEvent | None = None,
    timeout: float | None = None,
) -> AbstractAsyncContextManager[Subscription]:
    """Open a subscription to a server's changes.

    Args:
        session: The session; it has to be entered.
        tools_list_changed: Whether to hear of changes of the list of tools.
        prompts_list_changed: Whether to hear of changes of the list of prompts.
        resources_list_changed: Whether to hear of changes of the list of resources.
        resource_subscriptions: The URIs of resources whose changes to hear of.
        on_event: Awaited before each event is handed out.
        timeout: Seconds to wait for the server's acknowledgement; by default the session's read timeout, else 30.

    Raises:
        TypeError: `resource_subscriptions` is no sequence of strings.
        ValueError: There is nothing to listen for.
    """
    wanted = wanted_changes(
        "listen", session, tools_list_changed, prompts_list_changed, resources_list_changed, resource_subscriptions
    )
    return Listening(session, wanted, on_event, timeout)


def wanted_changes(
    verb: str, session: ClientSession, tools: bool, prompts: bool, resources: bool, uris: Sequence[str]
) -> SubscriptionFilter:
    """Check what `listen` and `watch` are given; `verb` is which of them it was."""
    if isinstance(uris, str | bytes):
        raise TypeError("resource_subscriptions takes a sequence of URIs, not a bare string")
    members: list[object] = list(uris)
    for index, uri in enumerate(members):
        if not isinstance(uri, str):
            raise TypeError(f"resource_subscriptions[{index}] must be a string, not {type(uri).__name__}")
    wanted = SubscriptionFilter(
        tools_list_changed=tools or None,
        prompts_list_changed=prompts or None,
        resources_list_changed=resources or None,
        resource_subscriptions=cast("list[str]", members) or None,
    )
    if not filter_to_wire(wanted):
        raise ValueError(f"{verb}() needs at least one kind of change to {verb} for")
    if session._state != "open":
        raise RuntimeError(f"{verb}() needs an entered session")
    return wanted
