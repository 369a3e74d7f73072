"""Names for people."""

from __future__ import annotations

import mcp_types as types

__all__ = ["get_display_name"]


def get_display_name(
    obj: types.Tool | types.Resource | types.Prompt | types.ResourceTemplate | types.Implementation,
) -> str:
    """Return the name to show to a person: the title where there is one, the name otherwise.

    A tool's own title wins over the one in its annotations. An empty title counts as a title.
    """
    if obj.title is not None:
        return obj.title
    if isinstance(obj, types.Tool) and obj.annotations is not None and obj.annotations.title is not None:
        return obj.annotations.title
    return obj.name
