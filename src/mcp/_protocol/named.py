"""Message types told by their names, so that asking what a class is loads none of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import mcp_types as types


def names_of(cls: type, among: Collection[str]) -> Iterator[str]:
    """Yield which of some types of `mcp_types` a class is or derives from, by their names."""
    for base in cls.__mro__:
        if base.__name__ in among and base is getattr(types, base.__name__):
            yield base.__name__
