"""Resources: data that a server offers to read."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias, cast

from pydantic import Discriminator, Field, Tag

from mcp_types._identity import Annotations, BaseMetadata, Icon
from mcp_types._model import MCPModel


class Resource(BaseMetadata):
    """Something that the server can be asked to read."""

    uri: str
    """What it is read by."""
    description: str | None = None
    """What it is, for a model to choose by."""
    mime_type: str | None = None
    """Its media type, if known."""
    size: int | None = None
    """How many bytes its content has, before any encoding, if known."""
    icons: list[Icon] | None = None
    """Pictures for a user interface to choose from."""
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)


class ResourceTemplate(BaseMetadata):
    """A pattern for the URIs of many resources."""

    uri_template: str
    """The pattern, as an RFC 6570 template."""
    description: str | None = None
    """What the resources are, for a model to choose by."""
    mime_type: str | None = None
    """The media type of all resources that match, if they have the same."""
    icons: list[Icon] | None = None
    """Pictures for a user interface to choose from."""
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)


class ResourceContents(MCPModel):
    """What a resource holds; base of text and of binary contents."""

    uri: str
    """The resource it belongs to."""
    mime_type: str | None = None
    """Its media type, if known."""
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)


class TextResourceContents(ResourceContents):
    """Contents that are text."""

    text: str


class BlobResourceContents(ResourceContents):
    """Contents that are bytes."""

    blob: str
    """The bytes in base64."""


def _contents_kind(value: object) -> str | None:
    if isinstance(value, Mapping):
        contents = cast("Mapping[str, object]", value)
        return "text" if "text" in contents else "blob" if "blob" in contents else None
    if isinstance(value, TextResourceContents):
        return "text"
    return "blob" if isinstance(value, BlobResourceContents) else None


AnyResourceContents: TypeAlias = Annotated[
    Annotated[TextResourceContents, Tag("text")] | Annotated[BlobResourceContents, Tag("blob")],
    Discriminator(
        _contents_kind,
        custom_error_type="resource_contents",
        custom_error_message="Resource contents have either text or blob",
    ),
]


__all__ = [
    "BlobResourceContents",
    "Resource",
    "ResourceContents",
    "ResourceTemplate",
    "TextResourceContents",
]
