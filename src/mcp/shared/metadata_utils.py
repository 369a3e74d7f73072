"""Names for people."""

from __future__ import annotations

from mcp_types import Implementation, Prompt, Resource, ResourceTemplate, Tool

__all__ = ["get_display_name"]


def get_display_name(obj: Tool | Resource | Prompt | ResourceTemplate | Implementation) -> str:
    """Return the name to show to a person: the title where there is one, the name otherwise.

    A tool's own title wins over the one in its annotations. An empty title counts as a title.
    """
    if obj.title is not None:
        return obj.title
    if isinstance(obj, Tool) and obj.annotations is not None and obj.annotations.title is not None:
        return obj.annotations.title
    return obj.name
