"""The grammar of extension identifiers."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["validate_extension_identifier"]

_LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = "[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_IDENTIFIER = re.compile(rf"{_LABEL}(?:\.{_LABEL})*/{_NAME}")


def validate_extension_identifier(identifier: Any, *, owner: str) -> None:
    """Check that an identifier has the form `vendor-prefix/name`.

    Args:
        identifier: What was declared.
        owner: The class or object that declared it, for the error's text.

    Raises:
        TypeError: It is not a string of that form.
    """
    if not isinstance(identifier, str) or not _IDENTIFIER.fullmatch(identifier):
        raise TypeError(
            f"{owner}.identifier must be a `vendor-prefix/name` string "
            f"(reverse-DNS prefix required), got {identifier!r}"
        )
