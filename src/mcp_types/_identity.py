"""Who is who: names, icons, roles, and notes on whom something is for."""

from typing import Annotated

from pydantic import Field

from mcp_types._model import MCPModel
from mcp_types._vocabulary import IconTheme, Role


class BaseMetadata(MCPModel):
    """A thing with a name for programs and a title for people."""

    name: str
    """What programs call it. Shown to people only if there is no title."""
    title: str | None = None
    """What people call it."""


class Icon(MCPModel):
    """A picture that stands for something in a user interface."""

    src: str
    """Where it is: an `https:` or a `data:` URI."""
    mime_type: str | None = None
    """Its media type, where the source does not tell or tells it wrongly."""
    sizes: list[str] | None = None
    """The sizes it suits, such as `48x48`, or `any`."""
    theme: IconTheme | None = None
    """The background it is drawn for. None if it suits both."""


class Implementation(BaseMetadata):
    """The program at one end of a connection."""

    version: str
    """The program's own version."""
    icons: list[Icon] | None = None
    """Pictures for a user interface to choose from."""
    website_url: str | None = None
    """Its home page."""
    description: str | None = None
    """What it does, in a sentence or two."""


class Annotations(MCPModel):
    """Hints that help a client to use or to show something."""

    audience: list[Role] | None = None
    """Whom it is meant for."""
    priority: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    """How much it matters: from 0, which may be left out, to 1, which is needed."""
    last_modified: str | None = None
    """When it last changed, as an ISO 8601 time."""


__all__ = ["Annotations", "BaseMetadata", "Icon", "Implementation"]
