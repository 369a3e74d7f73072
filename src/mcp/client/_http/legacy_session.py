"""A session of the handshake era over streamable HTTP: what later requests say about it, and its end."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

import anyio

from mcp._protocol.era import knows_batches
from mcp._protocol.headers import LAST_EVENT_ID, MCP_PROTOCOL_VERSION, MCP_SESSION_ID
from mcp.client._http.backend import HTTPResponse, NetworkError, TransportFailure
from mcp.client._http.resumable import StreamPosition
from mcp.client._http.wire import ACCEPT_BOTH, Wire
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import INVALID_REQUEST

logger = logging.getLogger(__name__)

TERMINATION_SECONDS: Final = 2.0
"""How long a server may take to answer that a session is over."""
_GET_HEADERS: Final = {"accept": ACCEPT_BOTH, "cache-control": "no-store"}


class SessionLostError(MCPError):
    """The server does not know the session any more; it has not looked at what was sent."""

    def __init__(self) -> None:
        super().__init__(INVALID_REQUEST, "Session terminated", {"httpStatus": 404}, is_local=True)


class LegacySession:
    """What the answer to `initialize` settled.

    Args:
        wire: The way to the endpoint.

    Attributes:
        wire: The way to the endpoint.
        id: The session's id, which is nobody else's business; `None` if the server gave none.
        version: The protocol revision that the server chose.
    """

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.id: str | None = None
        self.version: str | None = None

    @property
    def takes_batches(self) -> bool:
        """Whether the server may send several messages as one."""
        return self.version is not None and knows_batches(self.version)

    def learn(self, response: HTTPResponse, result: Mapping[str, Any]) -> None:
        """Take over what the answer to `initialize` says (legacy: "Session Management")."""
        self.id = _read_session_id(response)
        version = result.get("protocolVersion")
        self.version = version if isinstance(version, str) else None

    def headers(self, basic: Mapping[str, str], version: str | None) -> dict[str, str]:
        """Write the headers of a request that belongs to the session."""
        headers = dict(basic)
        if version is not None:
            headers[MCP_PROTOCOL_VERSION] = version
        if self.id is not None:
            headers[MCP_SESSION_ID] = self.id
        return headers

    async def continue_stream(
        self, session_id: str | None, version: str | None, position: StreamPosition
    ) -> HTTPResponse | None:
        """Ask for the rest of a stream, or for the standing one; `None` if that failed in a way that may pass.

        Args:
            session_id: The session that the stream belongs to.
            version: The protocol revision.
            position: How far the stream has been read.

        Raises:
            SessionLostError: The session is over.
            TransportFailure: The server does not offer that.
        """
        if session_id != self.id:
            raise SessionLostError
        headers = self.headers(_GET_HEADERS, version)
        if position.token is not None:
            headers[LAST_EVENT_ID] = position.token
        position.reconnected()
        try:
            response = await self.wire.send("GET", headers)
        except NetworkError as error:
            if self.wire.closed:
                raise self.wire.failure(error) from error.__cause__
            logger.debug("Asking for a stream failed: %s", error)
            return None
        if 200 <= response.status < 300:
            return response
        await response.abort()
        if response.status >= 500:
            return None
        if response.status == 404 and session_id is not None:
            raise SessionLostError
        raise TransportFailure(f"SSE stream ended and cannot be resumed: the server answered {response.status}")

    async def terminate(self) -> None:
        """Tell the server that the session is over; what becomes of that is only logged."""
        if self.id is None:
            return
        headers = self.headers({}, self.version)
        self.id = None
        with anyio.move_on_after(TERMINATION_SECONDS, shield=True) as clock:
            try:
                response = await self.wire.send("DELETE", headers)
                if response.status not in (200, 204, 405):
                    logger.warning("Session termination failed: %d", response.status)
                await response.abort()
            except (NetworkError, MCPError) as error:
                logger.warning("Session termination failed: %s", error)
        if clock.cancelled_caught:
            logger.warning("Session termination failed: no answer within %g s", TERMINATION_SECONDS)


def _read_session_id(response: HTTPResponse) -> str | None:
    session_id = response.header(MCP_SESSION_ID)
    if session_id is None:
        return None
    if not session_id or not all("!" <= character <= "~" for character in session_id):
        logger.warning("The server's session id is not one that can be sent back; going on without a session")
        return None
    return session_id
