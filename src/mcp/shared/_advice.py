"""What to do about an error whose text is fixed by the protocol or by older programs: a note below its traceback."""

from __future__ import annotations

import sys
from typing import TypeVar

ErrorT = TypeVar("ErrorT", bound=BaseException)


def advise(error: ErrorT, advice: str) -> ErrorT:
    """Add a note to an error and return it. Python 3.10 knows none."""
    if sys.version_info >= (3, 11):
        error.add_note(advice)
    return error
