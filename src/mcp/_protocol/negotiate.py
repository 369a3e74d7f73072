"""How a client finds the protocol revision to speak: probe the modern way, fall back only where that is due.

The ladder is a generator. It yields what to send next and is sent what came back; the driver owns time and transport.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from pydantic import ValidationError

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

DISCOVER_TIMEOUT_SECONDS: Final = 10.0
"""How long a probe may take; a client's own read timeout applies if it is smaller."""

PROOFS_OF_MODERN: Final = (HEADER_MISMATCH, MISSING_REQUIRED_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION)


@dataclass(frozen=True, slots=True)
class Discover:
    """Send `server/discover` with the metadata of this revision."""

    version: str


@dataclass(frozen=True, slots=True)
class Initialize:
    """Send `initialize` offering this revision.

    Attributes:
        version: The revision to offer.
        reason: Why the server is taken for a legacy one; `None` if nothing was tried before.
    """

    version: str
    reason: str | None = None


Effect: TypeAlias = Discover | Initialize

Outcome: TypeAlias = Mapping[str, Any] | MCPError
"""What came of an effect: the result in wire form, or the error. A timeout is the local error -32001."""


@dataclass(frozen=True, slots=True)
class Negotiated:
    """What client and server agreed on: exactly one of the two results is there."""

    version: str
    discover_result: types.DiscoverResult | None = None
    initialize_result: types.InitializeResult | None = None


def negotiate(*, legacy: bool = False) -> Generator[Effect, Outcome, Negotiated]:
    """Find the revision to speak.

    Args:
        legacy: Begin with `initialize` and accept nothing else.

    Raises:
        MCPError: The server refused in a way that leaves nothing to try, or the connection failed.
        RuntimeError: The server answered `initialize` with a revision that is not a legacy one.
        ValidationError: The server's answer to `initialize` is no such result.
    """
    if legacy:
        return _initialized((yield Initialize(LATEST_HANDSHAKE_VERSION)))
    outcome = yield Discover(MODERN_PROTOCOL_VERSIONS[-1])
    if isinstance(outcome, MCPError):
        offered = _versions_offered(outcome)
        shared = newest_shared(offered)
        if shared is not None:
            # Served, though refused before: the server is told so again, once.
            return _discovered((yield Discover(shared)), shared, outcome)
        _raise_unless_legacy(outcome, offered)
        reason = f"it answered server/discover with {outcome.code}: {outcome.message}"
    else:
        result = _read_discover(outcome)
        if result is not None and (shared := newest_shared(result.supported_versions)) is not None:
            return Negotiated(shared, discover_result=result)
        reason = "its answer to server/discover " + (
            "is not valid" if result is None else f"names no modern revision this client speaks: {_shown(result)}"
        )
    outcome = yield Initialize(LATEST_HANDSHAKE_VERSION, reason)
    if isinstance(outcome, MCPError) and (shared := newest_shared(_versions_offered(outcome))) is not None:
        # A slow modern server: the probe ran out of time, yet what it learns from this answer is reliable.
        return _discovered((yield Discover(shared)), shared, outcome)
    return _initialized(outcome)


def newest_shared(versions: Sequence[str]) -> str | None:
    """Return the newest modern revision among these that this package speaks."""
    return next((version for version in reversed(MODERN_PROTOCOL_VERSIONS) if version in versions), None)


def _discovered(outcome: Outcome, version: str, earlier: MCPError) -> Negotiated:
    """Read the answer to the second probe. There is no third: the server has proven to be modern."""
    if isinstance(outcome, MCPError):
        raise outcome
    result = _read_discover(outcome)
    shared = newest_shared(result.supported_versions) if result is not None else None
    if shared is None:
        raise earlier
    return Negotiated(shared, discover_result=result)


def _initialized(outcome: Outcome) -> Negotiated:
    if isinstance(outcome, MCPError):
        raise outcome
    result = types.InitializeResult.model_validate(outcome)
    return Negotiated(handshake_version(result), initialize_result=result)


def handshake_version(result: types.InitializeResult) -> str:
    """Return the revision that a server answered to `initialize`.

    Raises:
        RuntimeError: It is not a legacy one.
    """
    if result.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise RuntimeError(f"Unsupported protocol version from the server: {result.protocol_version}")
    return result.protocol_version


def _raise_unless_legacy(error: MCPError, offered: Sequence[str]) -> None:
    """Raise the probe's error where `initialize` cannot help: a modern server said no, or the connection is gone."""
    if error.is_local and error.code == CONNECTION_CLOSED and error.__cause__ is not None:
        raise error  # the probe was not even sent; a server may also have ended at it, and be greeted as it expects
    # streamable-http, "Backward Compatibility": these three prove a modern server.
    if error.code in PROOFS_OF_MODERN and not any(version in HANDSHAKE_PROTOCOL_VERSIONS for version in offered):
        raise error


def _versions_offered(error: MCPError) -> list[str]:
    data: object = error.data
    if error.code != UNSUPPORTED_PROTOCOL_VERSION or not isinstance(data, Mapping):
        return []
    supported = cast("Mapping[str, Any]", data).get("supported")
    if not isinstance(supported, list):
        return []
    return [version for version in cast("list[Any]", supported) if isinstance(version, str)]


def _read_discover(result: Mapping[str, Any]) -> types.DiscoverResult | None:
    try:
        return types.DiscoverResult.model_validate(result)
    except ValidationError:
        return None


def _shown(result: types.DiscoverResult) -> str:
    return ", ".join(map(repr, result.supported_versions)) or "none at all"
