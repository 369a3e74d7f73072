"""Drive a boundary without a running server."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from mcp._engine.scope import RequestScope
from mcp._protocol.era import MODERN
from mcp._protocol.metadata import ClientFacts
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.request_state import RequestStateBoundary
from mcp.server.session import ServerSession
from mcp_types import ClientCapabilities

VERSION = "2026-07-28"
LOGGER = "mcp.server.request_state"

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]


async def _notify(method: str, params: dict[str, Any] | None) -> None:
    raise AssertionError("nothing here notifies")


_CLIENT = ClientFacts(VERSION, ClientCapabilities())


def make_context(
    method: str, params: dict[str, Any] | None, *, request: object = None, version: str = VERSION
) -> Context:
    scope = RequestScope(
        method=method, params=params, request_id=1, version=version, era=MODERN, client=_CLIENT, notify=_notify
    )
    return ServerRequestContext(
        session=ServerSession(scope, None),
        lifespan_context={},
        protocol_version=version,
        method=method,
        params=params,
        request_id=1,
        request=request,
    )


def call_context(*, request: object = None, **params: Any) -> Context:
    return make_context("tools/call", {"name": "t", **params}, request=request)


def run(awaitable: Awaitable[T]) -> T:
    """Run what never waits, without an event loop."""
    try:
        next(awaitable.__await__())
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waited")


class Handler:
    """The rest of the chain: notes what it was called with, and answers with the next result."""

    def __init__(self, result: HandlerResult = None) -> None:
        self.result: HandlerResult = result or {"resultType": "complete"}
        self.seen: list[Context] = []

    async def __call__(self, ctx: Context) -> HandlerResult:
        self.seen.append(ctx)
        return self.result

    @property
    def states(self) -> list[object]:
        return [(ctx.params or {}).get("requestState") for ctx in self.seen]


def asking(state: object) -> dict[str, Any]:
    return {"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}, "requestState": state}


def mint(boundary: RequestStateBoundary, ctx: Context, state: str) -> str:
    """Return the token that the boundary puts in the place of a state."""
    result = run(boundary(ctx, Handler(asking(state))))
    assert isinstance(result, dict)
    token = result["requestState"]
    assert isinstance(token, str)
    return token


def accept(boundary: RequestStateBoundary, ctx: Context) -> object:
    """Return the state that the handler sees."""
    handler = Handler()
    run(boundary(ctx, handler))
    [state] = handler.states
    return state


class _Tally(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self.lines: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage() if record.exc_info is None else f"{record.getMessage()} {record.exc_info!r}"
        self.lines[f"{record.levelname} {text}"] += 1
        return False


@contextmanager
def tallied_log() -> Generator[Counter[str]]:
    """Count the boundary's log lines instead of passing them on."""
    tally = _Tally()
    logger = logging.getLogger(LOGGER)
    logger.addFilter(tally)
    try:
        yield tally.lines
    finally:
        logger.removeFilter(tally)
