"""The two eras of the protocol, as data.

Versioning: "Backward Compatibility". *Modern* means 2026-07-28 and later, where each request stands alone and carries
its own metadata; *legacy* means 2025-11-25 and earlier, where a handshake opens a session.
This is the only place that decides by a version; everything else asks the era.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from mcp_types.methods import CLIENT_NOTIFICATION_ROWS, CLIENT_REQUEST_ROWS, SPEC_CLIENT_METHODS
from mcp_types.version import (
    KNOWN_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_PROTOCOL_VERSIONS,
    is_version_at_least,
)

SERVED_VERSIONS: Final[tuple[str, ...]] = tuple(reversed(KNOWN_PROTOCOL_VERSIONS))
"""Every protocol revision that a server answers, newest first (`server/discover`, `-32022`)."""

_BATCHES: Final = "2025-03-26"
"""The revision that brought batches, which the next one took away again, and audio content."""


@dataclass(frozen=True, slots=True, eq=False)
class Era:
    """What all revisions of one era have in common.

    Attributes:
        name: The specification's word for it.
        requires_metadata: Whether every request carries version and client capabilities in `_meta`.
        stamps_results: Whether results carry `resultType`, the server's identity and cache members.
        may_ask: Whether a server may send requests of its own while it handles one.
        cancels_by_closing: Whether closing the response stream is the way to cancel over HTTP.
    """

    name: Literal["modern", "legacy"]
    requires_metadata: bool
    stamps_results: bool
    may_ask: bool
    cancels_by_closing: bool


MODERN: Final = Era("modern", requires_metadata=True, stamps_results=True, may_ask=False, cancels_by_closing=True)
LEGACY: Final = Era("legacy", requires_metadata=False, stamps_results=False, may_ask=True, cancels_by_closing=False)


def era_of(version: str) -> Era:
    """Return the era that a protocol revision belongs to (an unknown one counts as legacy)."""
    return MODERN if version in MODERN_PROTOCOL_VERSIONS else LEGACY


def defines_request(method: str, version: str) -> bool:
    """Whether a client may send this request under this revision; vendor methods belong to every revision."""
    return method not in SPEC_CLIENT_METHODS or (method, version) in CLIENT_REQUEST_ROWS


def defines_notification(method: str, version: str) -> bool:
    """Whether a client may send this notification under this revision."""
    return not method.startswith("notifications/") or (method, version) in CLIENT_NOTIFICATION_ROWS


def polls_streams(version: str) -> bool:
    """Whether clients of this legacy revision come back for the rest of a stream that the server drops."""
    return is_version_at_least(version, LATEST_HANDSHAKE_VERSION)


def knows_rich_questions(version: str) -> bool:
    """Whether forms have modes, defaults and choices of several values under this revision, and sampling has tools."""
    return is_version_at_least(version, LATEST_HANDSHAKE_VERSION)


def knows_audio(version: str) -> bool:
    """Whether content may be sound under this revision."""
    return is_version_at_least(version, _BATCHES)


def knows_batches(version: str) -> bool:
    """Whether messages may come as JSON-RPC batches under this revision (2025-03-26 base protocol: "Batching")."""
    return version == _BATCHES


def errors_need_id(version: str) -> bool:
    """Whether an error that answers no request has the id `null` under this revision, instead of none."""
    return not is_version_at_least(version, LATEST_HANDSHAKE_VERSION)
