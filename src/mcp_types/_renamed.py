"""Names of version 1 of the package `mcp` that are called otherwise now: whoever asks for one is told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from opcode import opmap
from types import FrameType
from typing import Any, Final, NoReturn

_PIN: Final = "pin 'mcp<2' to keep running v1 code"


def renamed_names(module: str, renamed: Mapping[str, str]) -> Callable[[str], Any]:
    """Make the `__getattr__` of a module some of whose names have changed.

    Args:
        module: Its `__name__`.
        renamed: What each old name is called now, with anything more there is to say.
    """

    def __getattr__(name: str) -> NoReturn:
        raise missing(module, name, renamed)

    return __getattr__


def missing(module: str, name: str, renamed: Mapping[str, str]) -> Exception:
    """The exception for a name that a module does not have; to be called by the module's `__getattr__` itself."""
    text = f"module {module!r} has no attribute {name!r}"
    if name not in renamed:
        return AttributeError(text)
    hint = what_it_is_now(renamed[name])
    if _is_import(sys._getframe(2)):
        # `from module import name` would put a text of its own in place of that of an AttributeError.
        return ImportError(f"cannot import name {name!r} from {module!r}: {hint}", name=module)
    return AttributeError(f"{text}: {hint}")


def what_it_is_now(now: str) -> str:
    """Say what something of version 1 is in this one."""
    return f"this is the API of mcp 2.x, where it is {now}; {_PIN}"


def _is_import(frame: FrameType) -> bool:
    """Whether a frame stands in a `from` import."""
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]
