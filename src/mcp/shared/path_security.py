"""Keep paths that a client chose inside the directory that the server chose.

The two predicates look at the text alone and suit any filter; `safe_join` asks the file system and suits opening files.
"""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["PathEscapeError", "contains_path_traversal", "is_absolute_path", "safe_join"]

_SEPARATOR = re.compile(r"[/\\]")
_DRIVE = re.compile(r"[A-Za-z]:")


class PathEscapeError(ValueError):
    """A path would leave its base directory."""


def contains_path_traversal(value: str) -> bool:
    r"""Tell whether `..` components climb above the place where the path starts.

    Both `/` and `\` separate. `a/../b` stays inside and passes; so do dots inside a name (`v1..v2`).
    Percent-escapes are not decoded: pass the decoded value.
    """
    if ".." not in value:
        return False
    depth = 0
    # A drive is no component: in "C:.." it is still the dots that climb.
    for component in _SEPARATOR.split(value[2:] if _DRIVE.match(value) else value):
        if component == "..":
            depth -= 1
            if depth < 0:
                return True
        elif component not in ("", "."):
            depth += 1
    return False


def is_absolute_path(value: str) -> bool:
    r"""Tell whether joining the value would replace the base: a leading `/` or `\`, or a drive letter."""
    return value.startswith(("/", "\\")) or _DRIVE.match(value) is not None


def safe_join(base: str | Path, *parts: str) -> Path:
    """Join parts onto a directory and resolve the result, symbolic links included.

    Args:
        base: The directory to stay in.
        parts: Relative paths. The result need not exist.

    Returns:
        The resolved path: the base itself, or something below it.

    Raises:
        PathEscapeError: A part is absolute or holds a null byte, or the result lies outside the base.
    """
    root = Path(base).resolve()
    for part in parts:
        if "\0" in part:
            raise PathEscapeError(f"Path component contains a null byte; refusing to join onto {root}")
        if is_absolute_path(part):
            raise PathEscapeError(f"Path component {part!r} is absolute; refusing to join onto {root}")
    path = root.joinpath(*parts).resolve()
    if not path.is_relative_to(root):
        raise PathEscapeError(f"Path {path} escapes base {root}")
    return path
