"""From what a resource function returns to the contents of `resources/read`."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import cache
from typing import Any, Final, TypeAlias, cast

import mcp_types as types
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver._output import text_of
from mcp.server.mcpserver.utilities.types import Audio, File, Image

Contents: TypeAlias = "types.TextResourceContents | types.BlobResourceContents"

BINARY_TYPE: Final = "application/octet-stream"


@cache
def _whole_types() -> tuple[type, ...]:
    blocks = (types.TextResourceContents, types.BlobResourceContents, types.EmbeddedResource)
    return (*blocks, Image, Audio, File, ReadResourceContents)


def make_contents(
    value: object, uri: str, mime_type: str, *, labelled: bool, meta: dict[str, Any] | None
) -> list[Contents]:
    """Turn a value into the contents of one read.

    Args:
        value: What the resource yielded.
        uri: The URI that was read.
        mime_type: The resource's MIME type.
        labelled: Whether its author chose that type; a default is not put on bytes.
        meta: The resource's `_meta`.
    """
    whole = _whole_types()
    if isinstance(value, types.ReadResourceResult):
        return list(value.contents)
    if isinstance(value, (list, tuple)):
        items = cast("list[object]", value)
        if items and all(isinstance(item, whole) for item in items):
            return [
                contents
                for item in items
                for contents in make_contents(item, uri, mime_type, labelled=labelled, meta=meta)
            ]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return [_blob(bytes(cast("bytes", value)), uri, mime_type if labelled else BINARY_TYPE, meta)]
    if isinstance(value, whole):
        return [_whole(cast("object", value), uri, meta)]
    text = value if isinstance(value, str) else text_of(cast("object", value))
    return [types.TextResourceContents(uri=uri, mime_type=mime_type, text=text, _meta=meta)]


def _whole(value: object, uri: str, meta: dict[str, Any] | None) -> Contents:
    """Take over a value that says by itself what it is."""
    if isinstance(value, ReadResourceContents):
        if isinstance(value.content, bytes):
            return _blob(value.content, uri, value.mime_type or BINARY_TYPE, value.meta)
        return types.TextResourceContents(
            uri=uri, mime_type=value.mime_type or "text/plain", text=value.content, _meta=value.meta
        )
    if isinstance(value, Image):
        image = value.to_image_content()
        return types.BlobResourceContents(uri=uri, mime_type=image.mime_type, blob=image.data, _meta=meta)
    if isinstance(value, Audio):
        audio = value.to_audio_content()
        return types.BlobResourceContents(uri=uri, mime_type=audio.mime_type, blob=audio.data, _meta=meta)
    if isinstance(value, File):
        value = value.to_embedded_resource()
    if isinstance(value, types.EmbeddedResource):
        return value.resource
    return cast("Contents", value)


def _blob(data: bytes, uri: str, mime_type: str, meta: dict[str, Any] | None) -> types.BlobResourceContents:
    return types.BlobResourceContents(
        uri=uri, mime_type=mime_type, blob=base64.b64encode(data).decode("ascii"), _meta=meta
    )


def read_contents(contents: Iterable[Contents]) -> list[ReadResourceContents]:
    """Give contents the form in which direct callers receive them."""
    return [
        ReadResourceContents(
            content=item.text if isinstance(item, types.TextResourceContents) else base64.b64decode(item.blob),
            mime_type=item.mime_type,
            meta=item.meta,
        )
        for item in contents
    ]
