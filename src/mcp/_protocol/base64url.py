"""base64url without padding (RFC 4648, section 5), in its one canonical spelling."""

from __future__ import annotations

import binascii
from typing import Final

_TO_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_FROM_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")


def encode_base64url(data: bytes) -> bytes:
    """Return base64url text without padding."""
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL_SAFE)


def decode_base64url(text: bytes) -> bytes:
    """Read base64url text without padding.

    Raises:
        ValueError: The text is not exactly what `encode_base64url` writes for these bytes.
    """
    data = binascii.a2b_base64(text.translate(_FROM_URL_SAFE) + b"=" * (-len(text) % 4))
    # The decoder skips what it does not know and ignores trailing bits: only one spelling may pass.
    if encode_base64url(data) != text:
        raise ValueError("not canonical base64url")
    return data
