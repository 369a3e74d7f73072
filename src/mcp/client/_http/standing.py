"""The stream on which a server of the handshake era says what belongs to no request."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from mcp._protocol.jsonrpc import Notification, Request
from mcp._protocol.sse import EventTooLargeError
from mcp.client._http.backend import HTTPResponse, NetworkError, TransportFailure
from mcp.client._http.legacy_session import LegacySession, SessionLostError
from mcp.client._http.resumable import StreamPosition
from mcp.client._http.wire import check_accepted
from mcp.shared.exceptions import MCPError

logger = logging.getLogger(__name__)

_LASTING: Final = 5.0
"""A stream that was open for so many seconds was of use, also if it said nothing: most of them are silent."""


class StandingStream:
    """Keeps a session's standing stream open as long as the server offers one.

    Args:
        session: The session.
        max_reconnection_attempts: How often in a row to open it again in vain.
        on_message: Takes in what the server says.
        on_lost: Opens another session in place of the one with this id.
    """

    def __init__(
        self,
        session: LegacySession,
        *,
        max_reconnection_attempts: int,
        on_message: Callable[[Request | Notification], Awaitable[None]],
        on_lost: Callable[[str | None], Awaitable[None]],
    ) -> None:
        self._session = session
        self._wire = session.wire
        self._max_attempts = max_reconnection_attempts
        self._on_message = on_message
        self._on_lost = on_lost
        self._begun = anyio.Event()  # replaced each time
        self._scope = anyio.CancelScope()

    def begin(self) -> None:
        """Open the stream of a session that has just been opened; that of an earlier one ends."""
        self._scope.cancel()
        self._begun.set()

    async def run(self) -> None:
        """Do what there is to do, until cancelled."""
        while True:
            await self._begun.wait()
            self._begun = anyio.Event()
            if self._session.id is not None:
                with anyio.CancelScope() as self._scope:
                    await self._listen(StreamPosition())

    async def _listen(self, position: StreamPosition) -> None:
        session_id, vain, useful = self._session.id, 0, False
        while vain <= self._max_attempts:
            advances, since = position.advances, anyio.current_time()
            try:
                response = await self._session.continue_stream(session_id, self._session.version, position)
                if response is not None:
                    await self._read(response, position)
            except SessionLostError:
                if useful:  # otherwise it is just how this server says that it offers no such stream
                    await self._reopen(session_id)
                return
            except MCPError as error:
                logger.debug("The server offers no standing stream: %s", error)
                return
            lasted = response is not None and anyio.current_time() - since > _LASTING
            useful = useful or lasted or position.advances > 0
            vain = 0 if lasted or position.advances > advances else vain + 1
            if vain <= self._max_attempts:
                await anyio.sleep(position.delay)
        logger.warning("The standing stream of the server could not be opened again")

    async def _reopen(self, session_id: str | None) -> None:
        """Open another session; its own stream follows. If that is impossible, the next request will say so."""
        try:
            await self._on_lost(session_id)
        except MCPError as error:
            logger.warning("The standing stream has ended: %s", error)

    async def _read(self, response: HTTPResponse, position: StreamPosition) -> None:
        try:
            if not check_accepted(response):
                raise TransportFailure("its answer is no event stream")
            decoder = self._wire.decoder()
            while chunk := await response.read_chunk():
                for event in decoder.feed(chunk):
                    if position.is_known(event):
                        continue
                    for message in await self._wire.read_event(event, may_be_batch=self._session.takes_batches):
                        if isinstance(message, Request | Notification):
                            await self._on_message(message)
                        else:
                            logger.debug("Ignoring a response on the standing stream")
                    await position.read(event)
                await position.read_chunk(decoder)
        except EventTooLargeError as error:
            await self._wire.report(error)
        except NetworkError as error:
            logger.debug("The standing stream broke off: %s", error)
        finally:
            with anyio.CancelScope(shield=True):
                await response.abort()
