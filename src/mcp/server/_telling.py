"""What a client is told, and what not: the rules of log messages, changes and progress."""

from __future__ import annotations

import logging
from typing import Any

import mcp_types as types
from mcp._engine.scope import Notify
from mcp._protocol.era import MODERN, era_of
from mcp._protocol.handshake import Handshake
from mcp._protocol.metadata import LOG_LEVELS, ClientFacts
from mcp.shared.dispatcher import ProgressFnT, tell_progress
from mcp_types import LoggingLevel

logger = logging.getLogger("mcp.server.session")  # where those who read the log look for it


def as_handshake(facts: ClientFacts) -> types.InitializeRequestParams:
    """What a client said about itself, in the shape of a handshake."""
    return types.InitializeRequestParams(
        protocol_version=facts.version,
        capabilities=facts.capabilities,
        client_info=facts.info or types.Implementation(name="", version=""),
    )


def wants_log(level: LoggingLevel, client: ClientFacts, handshake: Handshake | None) -> bool:
    """Whether a client wants log messages of a level.

    Args:
        level: The level.
        client: What the client said of itself.
        handshake: What was agreed on; `None` for modern clients.

    Raises:
        ValueError: The level is none of the eight.
    """
    if level not in LOG_LEVELS:
        raise ValueError(f"level must be one of {', '.join(LOG_LEVELS)}; got {level!r}")
    # Modern requests without the opt-in get no messages (logging); for a legacy client the server decides until told.
    wanted = client.log_level if handshake is None else handshake.log_level or LOG_LEVELS[0]
    return wanted is not None and LOG_LEVELS.index(level) >= LOG_LEVELS.index(wanted)


def drops_change(method: str, version: str) -> bool:
    """Whether a client of that revision cannot be told of a change; the log says so."""
    if era_of(version) is not MODERN:
        return False
    # Modern connections carry changes on `subscriptions/listen` streams only (subscriptions).
    logger.debug("Dropping %s: modern clients learn of changes through subscriptions/listen", method)
    return True


def progress_to(callback: ProgressFnT) -> Notify:
    """Hand the progress in notifications to a callback."""

    async def hear(method: str, params: dict[str, Any] | None) -> None:
        try:
            progress = types.ProgressNotification.model_validate({"method": method, "params": params}).params
            await tell_progress(callback, progress)
        except Exception:
            logger.exception("progress callback raised")

    return hear
