"""`watch()`: hear what changes on a server for as long as it takes, over every gap.

```python
async with client.watch(tools_list_changed=True) as changes:
    tools = await client.list_tools()
    async for event in changes:  # `Reconnected()` after each gap
        tools = await client.list_tools()
```
"""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Final, TypeAlias, cast

import anyio
from anyio.abc import TaskGroup

from mcp.client.session import ClientSession
from mcp.client.subscriptions import (
    MAX_BACKLOG,
    Listening,
    ListenNotSupportedError,
    Reconnected,
    ServerEvent,
    Subscription,
    SubscriptionLost,
    wanted_changes,
)
from mcp.shared.exceptions import MCPError
from mcp_types import SubscriptionFilter

__all__ = [
    "DEFAULT_MAX_RETRIES",
    "DEFAULT_MAX_RETRY_DELAY",
    "DEFAULT_RETRY_DELAY",
    "Watch",
    "WatchEvent",
    "watch",
]

logger = logging.getLogger(__name__)

WatchEvent: TypeAlias = ServerEvent | Reconnected
"""What a watch tells: a change, or that some may have been missed."""

DEFAULT_MAX_RETRIES: Final = 10
DEFAULT_RETRY_DELAY: Final = 0.5
DEFAULT_MAX_RETRY_DELAY: Final = 30.0

_LASTING: Final = 5.0
"""A stream that was open for so many seconds was of use, also if it said nothing: most of them are silent."""


def delay_before(retry: int, first: float, longest: float) -> float:
    """Say how long to wait before a retry: twice as long each time, and up to half less by chance.

    Chance spreads the clients of a server that comes back.

    Args:
        retry: The number of the retry; the first is 1.
        first: The longest wait before the first one.
        longest: The longest wait before any.
    """
    # The exponent is bounded before it is used: a float ends at 2**1024.
    return min(longest, first * 2.0 ** min(retry - 1, 1000)) * random.uniform(0.5, 1.0)


class Watch:
    """An open watch: iterate it for changes. It ends by `SubscriptionLost`, or not at all.

    Attributes:
        honored: What the server last agreed to tell; it may be less than what was asked.
        subscription_id: The id of the request that last opened the subscription.
    """

    def __init__(self) -> None:
        self.honored = SubscriptionFilter()
        self.subscription_id = ""
        self._waiting: dict[WatchEvent, None] = {}
        self._lost: SubscriptionLost | None = None
        self._closed = False
        self._changed = anyio.Event()

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> WatchEvent:
        while not self._closed:
            if self._waiting:
                event = next(iter(self._waiting))
                del self._waiting[event]
                return event
            if self._lost is not None:
                raise self._lost
            await self._changed.wait()
        raise StopAsyncIteration

    def _open(self, subscription: Subscription) -> None:
        self.honored = subscription.honored
        self.subscription_id = subscription.subscription_id

    def _put(self, event: WatchEvent) -> None:
        self._waiting[event] = None
        if len(self._waiting) > MAX_BACKLOG:
            logger.warning("The reader of a watch left %d events unread; it is told of a gap instead", MAX_BACKLOG)
            self._waiting = {Reconnected(): None}
        self._wake()

    def _lose(self, loss: SubscriptionLost) -> None:
        self._lost = loss
        self._wake()

    def _close(self) -> None:
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class _Watching(AbstractAsyncContextManager[Watch]):
    """The block in which a watch is open. It listens in a task of the block."""

    def __init__(
        self,
        session: ClientSession,
        wanted: SubscriptionFilter,
        timeout: float | None,
        max_retries: int | None,
        delays: tuple[float, float],
    ) -> None:
        self._session = session
        self._wanted = wanted
        self._timeout = timeout
        self._max_retries = max_retries
        self._delays = delays
        self._watch = Watch()
        self._tasks: TaskGroup | None = None
        self._begun = anyio.Event()
        self._refusal: Exception | None = None
        self._over = anyio.Event()  # the session is closed

    async def __aenter__(self) -> Watch:
        if self._tasks is not None:
            raise RuntimeError("a watch is entered once; call watch() again")
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._session._at_close.add(self._over.set)
        try:
            self._tasks.start_soon(self._run)
            await self._begun.wait()
            if self._refusal is not None:
                raise self._refusal
        except BaseException:
            await self._leave()
            raise
        return self._watch

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self._leave()

    async def _leave(self) -> None:
        self._watch._close()
        self._session._at_close.discard(self._over.set)
        tasks = cast("TaskGroup", self._tasks)
        tasks.cancel_scope.cancel()
        # The body's exception is kept away from the group, which would wrap it.
        await tasks.__aexit__(None, None, None)

    async def _run(self) -> None:
        retries = 0  # since a stream was of use
        while True:
            failure, useful = await self._listen()
            if not self._begun.is_set():
                self._refusal = failure
                self._begun.set()
                return
            retries = 0 if useful else retries
            if (over := self._reason_to_give_up(retries)) is not None:
                loss = SubscriptionLost(f"the watch is over: {over} ({_why(failure)}); watch again and refetch")
                loss.__cause__ = failure
                self._watch._lose(loss)
                return
            retries += 1
            delay = delay_before(retries, *self._delays)
            level = logging.INFO if retries == 1 else logging.WARNING
            logger.log(level, "A watched subscription is over (%s); listening again in %.1f s", _why(failure), delay)
            with anyio.move_on_after(delay):
                await self._over.wait()

    def _reason_to_give_up(self, retries: int) -> str | None:
        if self._over.is_set():
            return "the session is closed"
        if not self._session._can_send:
            return "the connection has ended for good"
        if self._max_retries is not None and retries >= self._max_retries:
            return f"listening again was of no use {retries} times in a row"
        return None

    async def _listen(self) -> tuple[Exception | None, bool]:
        """Listen until that ends; why it did, and whether it was of any use."""
        watch, heard, since = self._watch, False, anyio.current_time()
        listening = Listening(self._session, self._wanted, timeout=self._timeout)
        failure: Exception | None = None
        try:
            async with listening as subscription:
                since = anyio.current_time()
                self._take_up(subscription, acknowledged=listening.was_acknowledged)
                async for event in subscription:
                    heard = True
                    watch._put(event)
        except (MCPError, SubscriptionLost, ListenNotSupportedError, TimeoutError) as error:
            failure = error
        lasted = listening.was_acknowledged and anyio.current_time() - since > _LASTING
        return failure, heard or lasted

    def _take_up(self, subscription: Subscription, *, acknowledged: bool) -> None:
        self._watch._open(subscription)
        if not self._begun.is_set():
            self._begun.set()
        elif acknowledged:
            # What the client has learned may be out of date as well.
            self._session._tools.forget_misses()
            self._watch._put(Reconnected())


def _why(failure: Exception | None) -> str:
    """Say in a few words why listening ended."""
    if failure is None:
        return "the server ended the stream"
    if isinstance(failure, TimeoutError):
        return "the server did not acknowledge in time"
    return str(failure.__cause__ or failure)


def watch(
    session: ClientSession,
    *,
    tools_list_changed: bool = False,
    prompts_list_changed: bool = False,
    resources_list_changed: bool = False,
    resource_subscriptions: Sequence[str] = (),
    timeout: float | None = None,
    max_retries: int | None = DEFAULT_MAX_RETRIES,
    retry_delay: float = DEFAULT_RETRY_DELAY,
    max_retry_delay: float = DEFAULT_MAX_RETRY_DELAY,
) -> AbstractAsyncContextManager[Watch]:
    """Watch a server's changes, listening again by itself whenever the subscription ends.

    Args:
        session: The session; it has to be entered.
        tools_list_changed: Whether to hear of changes of the list of tools.
        prompts_list_changed: Whether to hear of changes of the list of prompts.
        resources_list_changed: Whether to hear of changes of the list of resources.
        resource_subscriptions: The URIs of resources whose changes to hear of.
        timeout: Seconds to wait for each acknowledgement; by default the session's read timeout, else 30.
        max_retries: How often in a row to listen again in vain before the watch is lost; `None` for no limit.
        retry_delay: Seconds to wait before the first retry, at most; each further wait is twice as long.
        max_retry_delay: Seconds to wait before any retry, at most.

    Raises:
        TypeError: `resource_subscriptions` is no sequence of strings.
        ValueError: There is nothing to watch for, or a limit is negative.
    """
    limits = {"max_retries": max_retries, "retry_delay": retry_delay, "max_retry_delay": max_retry_delay}
    for name, value in limits.items():
        if value is not None and not value >= 0:  # NaN is refused, too
            raise ValueError(f"{name} must be 0 or more, got {value!r}")
    wanted = wanted_changes(
        "watch", session, tools_list_changed, prompts_list_changed, resources_list_changed, resource_subscriptions
    )
    return _Watching(session, wanted, timeout, max_retries, (retry_delay, max_retry_delay))
