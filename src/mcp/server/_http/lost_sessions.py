"""What the log says of requests for sessions that are not here, however many there are."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

logger = logging.getLogger(__name__)

QUIET_SECONDS: Final = 10.0
"""How long nothing more is said after a line."""

_SHOWN_OF_ID: Final = 8
STATELESS: Final = ", or serve without sessions (stateless_http=True)"
"""The cure that only streamable HTTP has."""
IN_ANOTHER_WORKER: Final = (
    "The session has ended, or lives in another worker of this server: each worker has its own sessions. "
    "Begin a new one; who runs the server can serve without sessions (stateless_http=True)"
)
"""What the client is told where several processes serve one address."""
_CAUSE: Final = (
    "it has ended or expired, or another instance holds it; route the requests of a session to the one that opened it"
)
_SOMEBODY_ELSES: Final = "it belongs to another user"


class LostSessions:
    """Reports requests that name a session which is not theirs to use.

    After a restart every client of a large fleet sends one, and anybody can send thousands: one line in ten seconds
    says how many there were.

    Args:
        other_cure: What else helps, beside sending them to the right instance.
        clock: Tells the time, in seconds.
    """

    def __init__(self, other_cure: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self._cause = _CAUSE + other_cure
        self._clock = clock
        self._silent_until = clock()
        self._untold = 0

    def report(self, session_id: str, *, is_open: bool) -> None:
        """Report one.

        Args:
            session_id: The id, as the request says it.
            is_open: Whether there is such a session, which belongs to another user.
        """
        now = self._clock()
        if now < self._silent_until:
            self._untold += 1
            return
        # The id may be a living one that belongs to somebody else: whoever reads the log gets its beginning only.
        beginning = beginning_of(session_id)
        more = f" ({self._untold} more since the last such line)" if self._untold else ""
        reason = _SOMEBODY_ELSES if is_open else self._cause
        logger.info("Rejected request with unknown or expired session ID: %s%s: %s", beginning, more, reason)
        self._silent_until = now + QUIET_SECONDS
        self._untold = 0


def beginning_of(session_id: str) -> str:
    """What a log may show of the id of a session that lives: whoever knows all of it could use the session."""
    return session_id[:_SHOWN_OF_ID] + "…" * (len(session_id) > _SHOWN_OF_ID)
