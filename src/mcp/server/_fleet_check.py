"""Look, when a server starts, whether the processes that serve together share what they must."""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import sys
from collections.abc import Generator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final, Protocol

from mcp.server._sealing import EphemeralRequestStateCodec
from mcp.server.context import ServerMiddleware
from mcp.server.lowlevel.entries import HandlerEntry
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.stores.memory import MemoryStore

logger = logging.getLogger("mcp.server.request_state")
fleet_logger = logging.getLogger("mcp.server.streamable_http_manager")

_SERVERS: Final = {"gunicorn", "hypercorn", "granian"}
_SHARED_STORES: Final = "mcp.stores.SQLiteStore(path) on one machine, mcp.stores.RedisStore(url) on several"
_WORKERS: Final = re.compile(r"(?:-w|--workers(?:=|$))(\d*)$")


class FleetServer(Protocol):
    """A low-level server, as far as it matters here."""

    middleware: list[ServerMiddleware[Any]]

    def get_request_handler(self, method: str) -> HandlerEntry[Any] | None: ...


def share_key(server: FleetServer) -> None:
    """Make the server's random key now, if it has one, so that the processes which fork from this one have it too."""
    for security in _policies(server):
        if isinstance(security.codec, EphemeralRequestStateCodec):
            security.codec.share()


def warn_of_what_is_not_shared(server: FleetServer, reason: str, *, stateless: bool) -> None:
    """Log what each of several processes would have for itself.

    Args:
        server: The server.
        reason: What says that there are several.
        stateless: Whether legacy clients are served without sessions.
    """
    if not stateless:
        fleet_logger.warning(
            "Several workers serve (%s), and a session of a client older than 2026-07-28 lives in one of them: its "
            "requests fail with 404 when they reach another one. Serve without sessions (stateless_http=True), or "
            "run one process for each address and route by the header Mcp-Session-Id",
            reason,
        )
    listening = server.get_request_handler("subscriptions/listen")
    handler = None if listening is None else listening.handler
    if isinstance(handler, ListenHandler) and type(handler.bus) is InMemorySubscriptionBus:
        fleet_logger.warning(
            "Several workers serve (%s), and changes are told to the listeners of the same worker only "
            "(subscriptions/listen). Use a bus that they share, for example "
            "subscriptions=mcp.server.redis.RedisSubscriptionBus(url), or none (subscriptions=False)",
            reason,
        )
    for security in _policies(server):
        if isinstance(security.codec, EphemeralRequestStateCodec) and not security.codec.is_shared:
            logger.warning(
                "Several workers serve (%s), and each one seals requestState with a key of its own: a call that asks "
                "questions fails when its answers reach another worker. Give all of them the same keys, "
                "for example with MCPServer(request_state_security=RequestStateSecurity.from_env())",
                reason,
            )
        if isinstance(security.single_use, MemoryStore):
            logger.warning(
                "Several workers serve (%s), and single_use=MemoryStore() is in the memory of each: a token can be "
                "used once in every worker. Use a store that they share, for example %s",
                reason,
                _SHARED_STORES,
            )
        if isinstance(security.park, MemoryStore):
            logger.warning(
                "Several workers serve (%s), and park=MemoryStore() is in the memory of each: a call whose state was "
                "parked fails when its answers reach another worker. Use a store that they share, for example %s",
                reason,
                _SHARED_STORES,
            )


def sign_of_several_workers() -> str | None:
    """Say by what one sees that this process is one of several; `None` if nothing shows it."""
    return sign_in_command(sys.argv, os.environ) or _sign_of_uvicorn()


def sign_in_command(argv: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """Say which option of a server's command line asks for several workers; `None` if none does."""
    program = {part.partition(".")[0] for part in PurePath(argv[0]).parts[-2:]} if argv else set[str]()
    if not program & _SERVERS:
        return None
    count = environ.get("WEB_CONCURRENCY", "")
    for option, value in zip(argv[1:], (*argv[2:], ""), strict=True):
        if (found := _WORKERS.match(option)) is not None:
            count = found[1] or value
    return f"{count} workers" if count.isdecimal() and int(count) > 1 else None


def _sign_of_uvicorn() -> str | None:
    # A worker of uvicorn is a process of multiprocessing, and gets the configuration as an argument.
    arguments: Mapping[str, object] = getattr(multiprocessing.current_process(), "_kwargs", {})
    count: object = getattr(arguments.get("config"), "workers", None)
    return f"{count} workers of uvicorn" if isinstance(count, int) and count > 1 else None


def _policies(server: FleetServer) -> Generator[RequestStateSecurity]:
    for middleware in server.middleware:
        if isinstance(middleware, RequestStateBoundary):
            yield middleware.security
