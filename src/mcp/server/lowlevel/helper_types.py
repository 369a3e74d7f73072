"""What a resource reader hands back before it is put into protocol form."""

from dataclasses import dataclass
from typing import Any


@dataclass
class ReadResourceContents:
    """One content of a resource.

    Attributes:
        content: Its text or its bytes.
        mime_type: Its MIME type, if known.
        meta: The `_meta` of the content.
    """

    content: str | bytes
    mime_type: str | None = None
    meta: dict[str, Any] | None = None
