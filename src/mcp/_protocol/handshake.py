"""Which era a pipe speaks, and what a legacy handshake agreed on (versioning: "Era Detection"; legacy: lifecycle)."""

from __future__ import annotations

from functools import cache
from typing import Any

import mcp_types as types
from mcp._protocol.era import LEGACY, MODERN, SERVED_VERSIONS, Era
from mcp._protocol.jsonrpc import Request
from mcp._protocol.metadata import ClientFacts, read_metadata
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    LoggingLevel,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION


class Handshake:
    """The opening of one pipe or legacy session: the first request that is accepted decides its era.

    Attributes:
        era: What is spoken; `None` until a request has been accepted.
        client: What a legacy client said in its handshake; its version is the one agreed on.
        initialized: Whether the client has confirmed a legacy handshake.
        log_level: The least severe log message that a legacy client asked for; `None` if it did not say.
        greeting: What the server answers to `initialize` on this pipe; `None` for what it says everywhere.
    """

    def __init__(self, greeting: types.InitializeResult | None = None) -> None:
        self.greeting = greeting
        self.era: Era | None = None
        self.client: ClientFacts | None = None
        self.initialized = False
        self.log_level: LoggingLevel | None = None

    def admit(self, request: Request) -> ClientFacts:
        """Accept a request under the pipe's era, or refuse it.

        Returns:
            What is known of the client; its version is the one the request is served under.

        Raises:
            MCPError: The request does not belong on this pipe.
        """
        if request.method == "initialize":
            return self._admit_initialize(request)
        if self.client is not None:
            if _has_metadata(request):
                raise MCPError(
                    INVALID_REQUEST,
                    "this connection serves the handshake protocol era; "
                    f"requests carrying the {LATEST_MODERN_VERSION} envelope are not accepted on it",
                )
            return self.client
        if self.era is None and not _has_metadata(request):
            return _admit_unopened(request)
        facts = read_metadata(request.params)
        self.era = MODERN
        return facts

    def _admit_initialize(self, request: Request) -> ClientFacts:
        if self.client is not None:
            raise MCPError(INVALID_REQUEST, "already initialized")
        if self.era is MODERN:
            offered: Any = (request.params or {}).get("protocolVersion")
            raise MCPError(
                UNSUPPORTED_PROTOCOL_VERSION,
                f"connection is serving the {LATEST_MODERN_VERSION} protocol; the initialize handshake is not accepted",
                {"supported": list(SERVED_VERSIONS), "requested": offered if isinstance(offered, str) else "unknown"},
            )
        return _unknown()

    def open(self, params: types.InitializeRequestParams) -> str:
        """Agree with a legacy client on the revision to speak, and remember what it said.

        Returns:
            The revision it offered if that is a legacy one, else the newest legacy one.
        """
        offered = params.protocol_version
        version = offered if offered in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION
        self.client = ClientFacts(version, params.capabilities, params.client_info)
        self.era = LEGACY
        return version


@cache
def _unknown() -> ClientFacts:
    return ClientFacts(LATEST_HANDSHAKE_VERSION, types.ClientCapabilities.model_construct())


def _admit_unopened(request: Request) -> ClientFacts:
    """Serve what needs no handshake (legacy: a ping may come before it); refuse the rest."""
    if request.method == "ping":
        return _unknown()
    if request.method == "server/discover":
        raise MCPError(METHOD_NOT_FOUND, "Method not found", request.method)
    raise MCPError(INVALID_PARAMS, "Invalid request parameters: the connection is not initialized")


def _has_metadata(request: Request) -> bool:
    meta: Any = (request.params or {}).get("_meta")
    return isinstance(meta, dict) and (PROTOCOL_VERSION_META_KEY in meta or CLIENT_CAPABILITIES_META_KEY in meta)
