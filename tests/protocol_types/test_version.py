"""Which revisions there are, and how they compare."""

from __future__ import annotations

import re

import pytest

from mcp_types import DEFAULT_NEGOTIATED_VERSION, version
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS, is_version_at_least


def test_the_revisions_of_both_eras_are_known_oldest_first() -> None:
    assert version.HANDSHAKE_PROTOCOL_VERSIONS == ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    assert version.MODERN_PROTOCOL_VERSIONS == ("2026-07-28",)
    assert (*version.HANDSHAKE_PROTOCOL_VERSIONS, *version.MODERN_PROTOCOL_VERSIONS) == KNOWN_PROTOCOL_VERSIONS
    assert list(KNOWN_PROTOCOL_VERSIONS) == sorted(KNOWN_PROTOCOL_VERSIONS)


def test_the_ends_of_the_eras_have_names() -> None:
    assert version.OLDEST_SUPPORTED_VERSION == "2024-11-05"
    assert version.LATEST_HANDSHAKE_VERSION == "2025-11-25"
    assert version.LATEST_MODERN_VERSION == version.LATEST_PROTOCOL_VERSION == "2026-07-28"
    assert DEFAULT_NEGOTIATED_VERSION in version.HANDSHAKE_PROTOCOL_VERSIONS


@pytest.mark.parametrize(
    ("revision", "minimum", "expected"),
    [
        ("2026-07-28", "2025-11-25", True),
        ("2025-11-25", "2025-11-25", True),
        ("2025-06-18", "2025-11-25", False),
        ("2099-01-01", "2024-11-05", False),
        ("", "2024-11-05", False),
    ],
)
def test_a_known_revision_is_at_least_itself_and_all_before(revision: str, minimum: str, expected: bool) -> None:
    assert is_version_at_least(revision, minimum) is expected


def test_an_unknown_minimum_is_refused() -> None:
    with pytest.raises(ValueError, match=re.escape("minimum must be a known protocol version, got 'x'")):
        is_version_at_least("2026-07-28", "x")
