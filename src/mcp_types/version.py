"""Protocol revisions: which exist, and which of the two eras each belongs to."""

import warnings
from typing import TYPE_CHECKING, Any, Final

LATEST_HANDSHAKE_VERSION: Final[str] = "2025-11-25"
"""Newest revision whose connections begin with `initialize`."""

LATEST_MODERN_VERSION: Final[str] = "2026-07-28"
"""Newest revision whose requests each carry their own metadata."""

LATEST_PROTOCOL_VERSION: Final[str] = LATEST_MODERN_VERSION
"""Newest revision of either era."""

HANDSHAKE_PROTOCOL_VERSIONS: Final[tuple[str, ...]] = (
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    LATEST_HANDSHAKE_VERSION,
)
"""The legacy revisions, oldest first."""

MODERN_PROTOCOL_VERSIONS: Final[tuple[str, ...]] = (LATEST_MODERN_VERSION,)
"""The modern revisions, oldest first."""

KNOWN_PROTOCOL_VERSIONS: Final[tuple[str, ...]] = HANDSHAKE_PROTOCOL_VERSIONS + MODERN_PROTOCOL_VERSIONS
"""Every revision, oldest first."""

OLDEST_SUPPORTED_VERSION: Final[str] = KNOWN_PROTOCOL_VERSIONS[0]
"""The first revision ever published."""


def is_version_at_least(version: str, minimum: str) -> bool:
    """Tell whether a revision is the given one or a newer one.

    Args:
        version: The revision a peer speaks. One that is not known here is never new enough.
        minimum: A known revision.

    Raises:
        ValueError: If `minimum` is not a known revision.
    """
    if minimum not in KNOWN_PROTOCOL_VERSIONS:
        raise ValueError(f"minimum must be a known protocol version, got {minimum!r}")
    # Revisions are ISO dates, so their text order is their age.
    return version in KNOWN_PROTOCOL_VERSIONS and version >= minimum


class MCPDeprecationWarning(UserWarning):
    """A feature that the specification has deprecated is in use.

    A `UserWarning`, so that it shows by default.
    """


MCPDeprecationWarning.__module__ = "mcp.shared.exceptions"  # where users find it

if TYPE_CHECKING:
    SUPPORTED_PROTOCOL_VERSIONS: Final[tuple[str, ...]] = KNOWN_PROTOCOL_VERSIONS
    """Deprecated name of `KNOWN_PROTOCOL_VERSIONS`; reading it warns."""
else:

    def __getattr__(name: str) -> Any:
        if name != "SUPPORTED_PROTOCOL_VERSIONS":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        text = "SUPPORTED_PROTOCOL_VERSIONS is deprecated; it is called KNOWN_PROTOCOL_VERSIONS now."
        warnings.warn(text, MCPDeprecationWarning, stacklevel=2)
        return KNOWN_PROTOCOL_VERSIONS


__all__ = [
    "HANDSHAKE_PROTOCOL_VERSIONS",
    "KNOWN_PROTOCOL_VERSIONS",
    "LATEST_HANDSHAKE_VERSION",
    "LATEST_MODERN_VERSION",
    "LATEST_PROTOCOL_VERSION",
    "MODERN_PROTOCOL_VERSIONS",
    "OLDEST_SUPPORTED_VERSION",
    "is_version_at_least",
]
