"""How a session finds the protocol version to speak: discovery, or the handshake of older versions."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast

import mcp_types as types
from mcp._engine.duplex import DuplexLink
from mcp._engine.link import Link
from mcp._protocol.codec import decode_result
from mcp._protocol.era import MODERN, era_of
from mcp._protocol.negotiate import (
    DISCOVER_TIMEOUT_SECONDS,
    Discover,
    Initialize,
    Negotiated,
    handshake_version,
    negotiate,
    newest_shared,
)
from mcp.client._answers import Answers
from mcp.client._http.backend import TransportFailure
from mcp.client._notifications import Notifications
from mcp.client._outgoing import Limits, Metadata
from mcp.client._requests import SessionRequests, read_server_info
from mcp.client._tool_schemas import ToolSchemas
from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS


class LegacySuspected(NamedTuple):
    """A server that does not answer `server/discover` as a modern one does, where there is no handshake to try."""

    reason: str | None
    outcome: dict[str, Any] | MCPError

    def error(self) -> Exception:
        """Return what to raise."""
        hint = "the initialize handshake of older protocol versions is not available on this transport"
        if isinstance(self.outcome, MCPError):
            text = f"{self.outcome.message} (in answer to server/discover; {hint})"
            return MCPError(self.outcome.code, text, self.outcome.data, is_local=self.outcome.is_local)
        return RuntimeError(f"Cannot talk to this server: {self.reason}; {hint}" if self.reason else hint)


class SessionOpening(SessionRequests):
    """Negotiates, and knows what came of it.

    Args:
        link: The way to the server.
        limits: How long answers may take.
        notifications: Who hears what the server tells in passing.
        tools: What is known about the server's tools.
        answers: Who answers what the server asks, and what is declared because of it.
        info: Who this client is.
        log_level: The least severe log message to ask for with each modern request.
    """

    def __init__(
        self,
        link: Link,
        limits: Limits,
        notifications: Notifications,
        tools: ToolSchemas,
        answers: Answers[Any],
        info: types.Implementation,
        log_level: types.LoggingLevel | None,
    ) -> None:
        super().__init__(link, limits, notifications, tools, answers.claims)
        self._answers = answers
        self._info = info
        self._log_level: types.LoggingLevel | None = log_level
        self._discover_result: types.DiscoverResult | None = None
        self._initialize_result: types.InitializeResult | None = None

    @property
    def initialize_result(self) -> types.InitializeResult | None:
        """What the server answered to `initialize` (handshake-era servers only)."""
        return self._initialize_result

    @property
    def discover_result(self) -> types.DiscoverResult | None:
        """What the server answered to `server/discover`."""
        return self._discover_result

    @property
    def protocol_version(self) -> str | None:
        """The negotiated protocol version; `None` before a version is negotiated."""
        return self._version

    @property
    def era(self) -> Literal["modern", "legacy"] | None:
        """The era of the negotiated version: modern without a handshake, legacy with one."""
        return None if self._era is None else self._era.name

    @property
    def server_info(self) -> types.Implementation | None:
        """Who the server says it is; `None` if it does not say."""
        if self._initialize_result is not None:
            return self._initialize_result.server_info
        result = self._discover_result
        return None if result is None else read_server_info(result.meta)

    @property
    def server_capabilities(self) -> types.ServerCapabilities | None:
        """What the server says it can do; `None` before a version is negotiated."""
        result = self._initialize_result or self._discover_result
        return None if result is None else result.capabilities

    @property
    def instructions(self) -> str | None:
        """How the server wants to be used; `None` if it does not say."""
        result = self._initialize_result or self._discover_result
        return None if result is None else result.instructions

    async def initialize(self) -> types.InitializeResult:
        """Open a session with a handshake-era server: shake hands and confirm it. Once is enough.

        Raises:
            MCPError: The server answered an error.
            RuntimeError: The server wants to speak an unknown version, or the session already speaks one without a
                handshake.
        """
        if self._initialize_result is not None:
            return self._initialize_result
        if self._era is MODERN:
            raise RuntimeError(f"the session already speaks {self._version}, which knows no initialize")
        capabilities = self._answers.capabilities(LATEST_HANDSHAKE_VERSION)
        params: dict[str, Any] = {
            "protocolVersion": LATEST_HANDSHAKE_VERSION,
            "capabilities": capabilities.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"tasks"}),
            "clientInfo": self._info.model_dump(mode="json", by_alias=True, exclude_none=True),
        }
        result = await self._ask("initialize", params, types.InitializeResult)
        self.adopt(result)
        await self.send_notification(types.InitializedNotification())
        return result

    async def send_discover(self, version: str) -> dict[str, Any]:
        """Ask what the server supports without adopting anything.

        Args:
            version: The protocol version to ask at.

        Returns:
            The result as the server sent it.
        """
        before = self._version, self._era, self._metadata, self._notifications.version
        self._speak(version)
        try:
            limit = self._limits.timeout
            timeout = DISCOVER_TIMEOUT_SECONDS if limit is None else min(limit, DISCOVER_TIMEOUT_SECONDS)
            return await self._exchange("server/discover", None, timeout=timeout)
        finally:
            self._version, self._era, self._metadata, self._notifications.version = before

    async def discover(self) -> types.DiscoverResult:
        """Ask what the server supports and adopt the newest version that both sides speak.

        Raises:
            MCPError: The server answered an error.
            RuntimeError: There is no such version.
        """
        if self._discover_result is None:
            suspected = await self._climb(may_shake_hands=False)
            outcome = None if suspected is None else suspected.outcome
            if isinstance(outcome, MCPError):
                raise outcome
            if outcome is not None:
                self.adopt(decode_result("server/discover", outcome, types.DiscoverResult))
        return cast("types.DiscoverResult", self._discover_result)

    async def _climb(self, *, legacy: bool = False, may_shake_hands: bool = True) -> LegacySuspected | None:
        """Negotiate a version, from the newest way to the oldest.

        Args:
            legacy: Begin with the handshake of older versions.
            may_shake_hands: Whether to fall back to it, where the transport can carry it.

        Returns:
            `None` once a version is adopted; else why the handshake was due, and not done.
        """
        may_shake_hands = may_shake_hands and isinstance(self._link, DuplexLink)
        steps = negotiate(legacy=legacy)
        effect = next(steps)
        outcome: dict[str, Any] | MCPError = {}
        while True:
            if isinstance(effect, Initialize) and not may_shake_hands:
                return LegacySuspected(effect.reason, outcome)
            try:
                if isinstance(effect, Discover):
                    outcome = await self.send_discover(effect.version)
                else:
                    await self.initialize()
                    return None
            except TransportFailure:
                raise
            except MCPError as error:
                outcome = error
            try:
                effect = steps.send(outcome)
            except StopIteration as done:
                self.adopt(cast("types.DiscoverResult", cast("Negotiated", done.value).discover_result))
                return None

    def adopt(self, result: types.InitializeResult | types.DiscoverResult) -> None:
        """Speak from now on as a server's answer allows.

        Args:
            result: What the server answered, in this session or in an earlier one.

        Raises:
            RuntimeError: There is no protocol version that both sides speak.
        """
        self._notifications.bindings.warn()
        if isinstance(result, types.InitializeResult):
            self._speak(handshake_version(result))
            self._discover_result, self._initialize_result = None, result
            return
        shared = newest_shared(result.supported_versions)
        if shared is None:
            raise RuntimeError(
                f"No mutually supported modern protocol version (server: {result.supported_versions}, "
                f"client: {list(MODERN_PROTOCOL_VERSIONS)})"
            )
        self._speak(shared)
        self._discover_result, self._initialize_result = result, None

    def _speak(self, version: str) -> None:
        self._version = self._notifications.version = version
        self._era = era_of(version)
        self._metadata = None
        if self._era is MODERN:
            answers = self._answers
            self._metadata = Metadata(
                version,
                answers.capabilities(version),
                answers.capabilities(version, by_hand=True),
                self._info,
                self._log_level,
            )
