"""`Resource`: data under a URI."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

import mcp_types as types
from mcp.server.mcpserver._resource_contents import Contents, make_contents

__all__ = ["Resource"]


class Resource(BaseModel, ABC):
    """Data under a URI. Subclasses say how it is read.

    Attributes:
        uri: The URI.
        name: Its name; the URI by default.
        title: A name for people.
        description: What it is.
        mime_type: Its MIME type.
        icons: Icons.
        annotations: For whom and how important it is.
        meta: The `_meta` of its listing and of its contents.
    """

    model_config = ConfigDict(validate_default=True, extra="forbid", defer_build=True, arbitrary_types_allowed=True)

    uri: str
    name: str | None = None
    title: str | None = None
    description: str | None = None
    mime_type: str = Field(default="text/plain")
    icons: list[types.Icon] | None = None
    annotations: types.Annotations | None = None
    meta: dict[str, Any] | None = None

    @field_validator("name", mode="before")
    @classmethod
    def set_default_name(cls, name: str | None, info: ValidationInfo) -> str:
        """Name a resource by its URI unless it has a name."""
        if name:
            return name
        if uri := info.data.get("uri"):
            return str(uri)
        raise ValueError("Either name or uri must be provided")

    @abstractmethod
    async def read(self) -> str | bytes:
        """Read the data."""

    async def read_contents(self, uri: str) -> list[Contents]:
        """Read the data as the contents of `resources/read`.

        Args:
            uri: The URI that was asked for.
        """
        return self.to_contents(await self.read(), uri)

    def to_contents(self, value: object, uri: str) -> list[Contents]:
        """Turn a value into this resource's contents."""
        labelled = "mime_type" in self.model_fields_set
        return make_contents(value, uri, self.mime_type, labelled=labelled, meta=self.meta)

    def as_listed(self) -> types.Resource:
        """The resource as `resources/list` shows it."""
        return types.Resource(
            uri=self.uri,
            name=self.name or self.uri,
            title=self.title,
            description=self.description,
            mime_type=self.mime_type,
            icons=self.icons,
            annotations=self.annotations,
            _meta=self.meta,
        )
