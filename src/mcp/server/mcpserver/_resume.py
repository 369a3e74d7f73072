"""Functions that ask in the middle of their body (`resumable=True`), where the protocol has no way to ask: modern.

The body runs. At a question without an answer it is suspended: cancelled, and the question travels with the result.
When the request comes back the body runs again from its start; questions that were answered return at once, and `once`
returns what it recorded. Both are in the record that resolvers keep, in the sealed state.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from types import FrameType
from typing import Any, Final, TypeVar, cast

import anyio
import anyio.lowlevel
from pydantic_core import to_jsonable_python

from mcp._protocol.canonical import digest
from mcp._protocol.jsonrpc import dumps, loads
from mcp.server._asking import AskLater, AskNow, Unanswered, require
from mcp.server._questions import Question
from mcp.server.mcpserver._invoke import invoke, is_async_callable
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.resolve.run import attach, find_way
from mcp.shared.exceptions import UrlElicitationRequiredError

logger = logging.getLogger("mcp.server.mcpserver.server")

OutcomeT = TypeVar("OutcomeT")
ResultT = TypeVar("ResultT")

SETTLE: Final = 0.05
"""Seconds without a further question after which a body with several tasks is suspended."""
LONGEST_SETTLE: Final = 1.0
LONGEST_ONCE: Final = 10.0
"""Seconds that a running `once` has to end before its body is suspended."""

_TURNS: Final = 5
"""Turns of the event loop in which tasks that a body has just started come to their questions."""


class ReplayMismatch(RuntimeError):
    """A body asked something else than before in the same place, with the same answers behind it.

    What it asks must follow from its arguments, earlier answers and results of `once`: not from the time, chance, or
    data that changes.
    """


class Suspended(BaseException):
    """The body is suspended; for tasks that no cancellation reaches."""


class Journal:
    """What one call has asked and done so far, and how it asks for more.

    Args:
        context: The request.
        ask: What the questions of resolvers were put to, if any were.
        owner: Whose body it is, for error texts.
    """

    def __init__(self, context: Context[Any, Any], ask: AskLater | AskNow | None, owner: str) -> None:
        self._context = context
        self._ask = ask
        if ask is None and context._request_context is not None:
            self._ask = find_way(context, context.max_answer_retries, owner)
        self._owner = owner
        self._numbers: Counter[str] = Counter()
        self._used: set[str] = set()
        self._results: dict[str, Any] = self._ask.record.once if isinstance(self._ask, AskLater) else {}
        self._locks: dict[str, anyio.Lock] = {}
        self._running_once = 0
        self._waiting: set[int] = set()
        self._last_news = 0.0
        self._body = anyio.get_current_task().id
        self._is_settling = False
        self._handover = anyio.Event()
        self._closed = anyio.Event()
        self.scope = anyio.CancelScope()
        self.was_suspended = False

    @property
    def pending(self) -> AskLater | None:
        """The questions that the result must carry; `None` if there are none."""
        return self._ask if isinstance(self._ask, AskLater) and self._ask.pending else None

    @property
    def way(self) -> AskNow | AskLater | None:
        """What the questions are put to; `None` outside of a request."""
        return self._ask

    # Questions

    async def ask(self, kind: str, question: Question[OutcomeT]) -> OutcomeT:
        """Return what became of a question; never, if that is not known yet.

        Raises:
            InvalidAnswerError: It was answered with something that is no answer.
            ReplayMismatch: Something else was asked in this place before.
            MCPError: The client cannot be asked this.
        """
        client = self._context.session.scope.client  # an error outside of a request
        if not isinstance(self._ask, AskLater):
            assert self._ask is not None
            return await self._ask(f"ctx.{kind}", question)
        record = self._ask.record
        name = f"{kind}:{question.digest}"
        self._numbers[name] += 1
        key = f"{name}#{self._numbers[name]}"
        self._used.add(key)
        require(question.missing_capability(client.capabilities), f"ctx.{kind} in {self._owner}")
        try:
            outcome = await self._ask(key, question)
        except Unanswered:
            pass
        else:
            return outcome
        place, where = place_of(sys._getframe(1))
        if place is not None:
            self._check_place(place, where)
            record.places[key] = place
        try:
            await self._suspend()
        finally:
            if not self.was_suspended:  # the body has given the question up, by a time limit of its own for example
                self._ask.pending.pop(key, None)
                record.asked.pop(key, None)
        raise AssertionError("unreachable")  # pragma: no cover

    def _check_place(self, place: str, where: str) -> None:
        assert isinstance(self._ask, AskLater)
        if anyio.get_current_task().id != self._body:
            return  # tasks reorder: another one may ask the earlier question yet
        record = self._ask.record
        for key in record.answers:
            if record.places.get(key) == place and key not in self._used:
                raise ReplayMismatch(
                    f"{where} asks something else than when it ran before with the same answers. Derive questions "
                    "from arguments, earlier answers and results of ctx.once only"
                )

    # Side effects

    async def once(self, key: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a function returned when it was first called for this key, in this round or an earlier one.

        Raises:
            TypeError: That is nothing that JSON can carry.
        """
        if not isinstance(key, str):
            raise TypeError(f"the key of ctx.once must be a str, got {type(key).__name__}")
        async with self._locks.setdefault(key, anyio.Lock()):
            if key not in self._results:
                with self._at_work():
                    value = await invoke(fn, kwargs, is_async_callable(fn), args)
                    try:
                        self._results[key] = loads(dumps(to_jsonable_python(value)))
                    except ValueError:  # PydanticSerializationError is one
                        raise TypeError(
                            f"ctx.once({key!r}, ...) has to record a result that is JSON, got {type(value).__name__}"
                        ) from None
            return loads(dumps(self._results[key]))

    @contextlib.contextmanager
    def _at_work(self) -> Generator[None]:
        self._running_once += 1
        try:
            yield
        finally:
            self._running_once -= 1
            self._last_news = anyio.current_time()

    # Suspending

    async def _suspend(self) -> None:
        """Wait for ever. One of the tasks that wait finds out when nothing else can go on, and cancels the body."""
        me = anyio.get_current_task().id
        self._waiting.add(me)
        self._last_news = anyio.current_time()
        try:
            while not self._closed.is_set():
                if self._is_settling:
                    await self._handover.wait()
                else:
                    await self._settle_and_close()
        finally:
            self._waiting.discard(me)
        # Only what no cancellation has reached comes here: a shielded scope, or a task that anyio did not start, of
        # which there are none but asyncio's.
        raise Suspended if me == self._body or me in self._descendants() else anyio.get_cancelled_exc_class()

    async def _settle_and_close(self) -> None:
        self._is_settling = True
        self._handover = anyio.Event()
        try:
            await self._settle()
            self.was_suspended = True
            self.scope.cancel()
            await _turns(_TURNS)
        finally:
            self._is_settling = False
            if self.was_suspended:
                self._closed.set()
            self._handover.set()

    async def _settle(self) -> None:
        """Wait until nothing of the body can go on without an answer, or until that is all but certain."""
        await _turns(_TURNS)
        started = anyio.current_time()
        while self._may_go_on():
            now = anyio.current_time()
            if self._running_once:
                if now - started > LONGEST_ONCE:
                    logger.warning("%s is suspended while ctx.once still runs: it may run again", self._owner)
                    return
            elif now - self._last_news >= SETTLE or now - started >= LONGEST_SETTLE:
                return
            await anyio.sleep(SETTLE / 10)

    def _may_go_on(self) -> bool:
        if self._running_once:
            return True
        tree = self._descendants()
        if not self._waiting <= {self._body, *tree}:
            return True  # tasks that anyio did not start: nobody knows how many of them there are
        return bool(tree - self._waiting)

    def _descendants(self) -> set[int]:
        """The living tasks that the body has started, by way of anyio."""
        children: dict[int, list[int]] = {}
        for task in anyio.get_running_tasks():
            if task.parent_id is not None:
                children.setdefault(task.parent_id, []).append(task.id)
        found: set[int] = set()
        left = [self._body]
        while left:
            for child in children.get(left.pop(), ()):
                if child not in found:
                    found.add(child)
                    left.append(child)
        return found


async def run_resumable(
    context: Context[Any, Any], ask: AskLater | AskNow | None, owner: str, call: Callable[[], Awaitable[ResultT]]
) -> ResultT | AskLater:
    """Run a body to its end, or to the questions that must be answered first.

    Args:
        context: The request, which the body has.
        ask: What the questions of its resolvers were put to, if any were.
        owner: Whose body it is, for error texts.
        call: Calls the body.
    """
    journal = context._journal = Journal(context, ask, owner)
    result: Any = None
    failure: BaseException | None = None
    with journal.scope:
        try:
            result = await call()
        except UrlElicitationRequiredError as error:
            attach(journal.way, error)
            failure = error
        except Exception as error:
            failure = error
        except BaseException as error:
            if not _is_suspension(error):
                raise
    pending = journal.pending
    if journal.was_suspended and pending is not None:
        if failure is not None:
            logger.warning("%s raised while it was suspended; it will run again", owner, exc_info=failure)
        return pending
    if failure is not None:
        raise failure
    return cast("ResultT", result)


def _is_suspension(error: BaseException) -> bool:
    parts: tuple[BaseException, ...] | None = getattr(error, "exceptions", None)  # of a group
    return isinstance(error, Suspended) if parts is None else all(map(_is_suspension, parts))


async def _turns(count: int) -> None:
    for _ in range(count):
        await anyio.lowlevel.checkpoint()


def place_of(frame: FrameType | None) -> tuple[str | None, str]:
    """Find where an author's code asks.

    Returns:
        What the place is known by, the same in every process as long as the function stays as it is, `None` if it is
        not known; and its file and line.
    """
    while frame is not None and frame.f_globals.get("__name__", "").startswith("mcp.server."):
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__", "").partition(".")[0] in ("anyio", "asyncio", "trio"):
        return None, ""
    code = frame.f_code
    constants = [value for value in code.co_consts if isinstance(value, (str, bytes, int, float, type(None)))]
    place = f"{code.co_name}:{code.co_code!r}:{constants!r}:{frame.f_lasti}"
    return digest(place.encode("utf-8", "replace"))[:8], f"{code.co_filename}:{frame.f_lineno}"
