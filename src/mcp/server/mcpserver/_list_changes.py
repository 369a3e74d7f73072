"""Telling clients by itself that something was registered or removed while the server runs."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar, cast

from mcp._engine.apart import Loop
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import SubscriptionBus
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ToolsListChanged

if TYPE_CHECKING:
    from mcp.server.connection import Connection

logger = logging.getLogger(__name__)

T = TypeVar("T")

Lifespan: TypeAlias = Callable[[Server[T]], AbstractAsyncContextManager[T]]
ListChanged: TypeAlias = ToolsListChanged | PromptsListChanged | ResourcesListChanged
Tell: TypeAlias = Callable[[ListChanged], Awaitable[None]]

TOOLS: Final = ToolsListChanged()
PROMPTS: Final = PromptsListChanged()
RESOURCES: Final = ResourcesListChanged()


class ListChanges:
    """Who hears of changes: listeners on the bus while the server is served, and legacy sessions that were admitted.

    Args:
        bus: Where modern clients listen; `None` if they cannot.
    """

    def __init__(self, bus: SubscriptionBus | None) -> None:
        self._bus = bus
        self._publishers: list[Audience] = []  # one for each lifespan that is entered, each in its event loop
        self._sessions: weakref.WeakKeyDictionary[Connection, Audience] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def note(self, change: ListChanged) -> None:
        """Have a change told. Any thread may call this; nobody is told before it returns, and nothing twice at once."""
        with self._lock:
            # A bus reaches all its listeners, whoever publishes.
            audiences = self._publishers[-1:] + list(self._sessions.values())
        for audience in audiences:
            audience.note(change)

    def during(self, lifespan: Lifespan[T]) -> Lifespan[T]:
        """Make a lifespan in which changes are published: what is registered before, nobody can have missed."""
        bus = self._bus
        return lifespan if bus is None else lambda server: _Served(lifespan(server), self, bus.publish)

    def begin(self, publish: Tell) -> Audience:
        """Publish changes in this event loop."""
        publisher = Audience(publish)
        with self._lock:
            self._publishers.append(publisher)
        return publisher

    def end(self, publisher: Audience) -> None:
        """Publish no further changes there."""
        with self._lock:
            self._publishers.remove(publisher)

    def admit(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Awaitable[HandlerResult]:
        """Tell whoever opens a legacy session, as long as it lasts; a middleware."""
        connection = cast("Connection | None", ctx.session.scope.connection)
        if ctx.method == "initialize" and connection is not None:
            with self._lock:
                self._sessions[connection] = Audience(_telling(connection))
        return call_next(ctx)


class _Served(Generic[T]):
    """One lifespan, which ends the server's being served before it ends itself."""

    __slots__ = ("_changes", "_lifespan", "_publish", "_publisher")

    def __init__(self, lifespan: AbstractAsyncContextManager[T], changes: ListChanges, publish: Tell) -> None:
        self._lifespan = lifespan
        self._changes = changes
        self._publish = publish
        self._publisher: Audience | None = None

    async def __aenter__(self) -> T:
        context = await self._lifespan.__aenter__()
        self._publisher = self._changes.begin(self._publish)
        return context

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        assert self._publisher is not None
        self._changes.end(self._publisher)
        return await self._lifespan.__aexit__(exc_type, exc, traceback)


def _telling(connection: Connection) -> Tell:
    """Make a function that tells a legacy client of a change, and does not keep its session alive."""
    session = weakref.ref(connection)

    async def tell(change: ListChanged) -> None:
        connection = session()
        if connection is None or not connection.handshake.initialized:
            return  # it has not asked for a list yet
        if change == TOOLS:
            await connection.send_tool_list_changed()
        elif change == PROMPTS:
            await connection.send_prompt_list_changed()
        else:
            await connection.send_resource_list_changed()

    return tell


class Audience:
    """Tells changes in the event loop it is made in. What changes in one turn of it, or while it tells, is told once.

    Args:
        tell: Tells one change.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._loop = Loop()
        self._untold: dict[ListChanged, None] = {}  # in order, each once
        self._lock = threading.Lock()
        self._is_telling = False
        self._task: object = None  # kept: the event loop may forget it

    def note(self, change: ListChanged) -> None:
        """Have a change told; any thread may call this."""
        with self._lock:
            self._untold[change] = None
            if self._is_telling:
                return
            self._is_telling = True
        self._loop.call_soon(self._start)

    def _start(self) -> None:
        self._task = self._loop.start(self._tell_all)

    async def _tell_all(self) -> None:
        while changes := self._take():
            for change in changes:
                try:
                    await self._tell(change)
                except Exception:
                    logger.exception("Somebody was not told of %r", change)

    def _take(self) -> list[ListChanged]:
        with self._lock:
            changes = list(self._untold)
            self._untold.clear()
            self._is_telling = bool(changes)
            return changes
