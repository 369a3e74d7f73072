"""What a traceback says below an error."""

from __future__ import annotations

import sys


def advises(error: BaseException, *words: str) -> bool:
    """Whether a traceback of the error shows these words in a note. Python 3.10 has no notes to show."""
    notes = "\n".join(getattr(error, "__notes__", ()))
    return all(word in notes for word in words) if sys.version_info >= (3, 11) else not notes
