"""Which era a pipe speaks: decided by the first request that is accepted on it (versioning: "Era Detection")."""

from __future__ import annotations

from typing import Any

from mcp._protocol.era import SERVED_VERSIONS, Era, era_of
from mcp._protocol.jsonrpc import Request
from mcp._protocol.metadata import ClientFacts, read_metadata, unsupported_version
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp_types.version import LATEST_MODERN_VERSION


class Handshake:
    """The opening of one pipe.

    Attributes:
        era: What the pipe speaks; `None` until a request has been accepted.
    """

    def __init__(self) -> None:
        self.era: Era | None = None

    def admit(self, request: Request) -> ClientFacts:
        """Accept a request under the pipe's era, or refuse it.

        Raises:
            MCPError: The request does not belong on this pipe.
        """
        if request.method == "initialize":
            raise self._refuse_initialize(request)
        if self.era is None and not _has_metadata(request):
            if request.method == "server/discover":
                raise MCPError(METHOD_NOT_FOUND, "Method not found", request.method)
            raise MCPError(INVALID_PARAMS, "Invalid request parameters: the connection is not initialized")
        facts = read_metadata(request.params)
        self.era = era_of(facts.version)
        return facts

    def _refuse_initialize(self, request: Request) -> MCPError:
        offered: Any = (request.params or {}).get("protocolVersion")
        requested = offered if isinstance(offered, str) else "unknown"
        if self.era is None:
            return unsupported_version(requested)
        return MCPError(
            UNSUPPORTED_PROTOCOL_VERSION,
            f"connection is serving the {LATEST_MODERN_VERSION} protocol; the initialize handshake is not accepted",
            {"supported": list(SERVED_VERSIONS), "requested": requested},
        )


def _has_metadata(request: Request) -> bool:
    meta: Any = (request.params or {}).get("_meta")
    return isinstance(meta, dict) and (PROTOCOL_VERSION_META_KEY in meta or CLIENT_CAPABILITIES_META_KEY in meta)
