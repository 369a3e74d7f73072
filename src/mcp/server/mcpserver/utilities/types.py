"""Media that tools and prompts return: images, audio, files."""

from __future__ import annotations

import base64
import mimetypes
from pathlib import Path

import mcp_types as types

_UNKNOWN = "application/octet-stream"

_IMAGE_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
    "bmp": "image/bmp",
    "avif": "image/avif",
}
_AUDIO_TYPES = {
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "opus": "audio/opus",
    "flac": "audio/flac",
    "aac": "audio/aac",
    "m4a": "audio/mp4",
}
_TEXT_TYPES = ("application/json", "application/xml", "+json", "+xml")


class _Media:
    """Bytes, or a path that is read when they are needed."""

    def __init__(self, path: str | Path | None, data: bytes | None) -> None:
        if path is None and data is None:
            raise ValueError("Either path or data must be provided")
        if path is not None and data is not None:
            raise ValueError("Only one of path or data can be provided")
        # MEDIA-D3: a wrong type must fail where it is written, not where the result is built.
        if data is not None and not isinstance(data, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{type(self).__name__} data must be bytes, got {type(data).__name__}")
        self.path: Path | None = None if path is None else Path(path)
        self.data: bytes | None = data

    def _read(self) -> bytes:
        if self.path is not None:
            return self.path.read_bytes()
        assert self.data is not None
        return bytes(self.data)

    def _mime_type(self, kind: str, known: dict[str, str], given: str | None, default: str) -> str:
        if given is not None:
            text = given.lower()
            return text if "/" in text else known.get(text, f"{kind}/{text}")
        if self.path is not None:
            return known.get(self.path.suffix.lower().lstrip("."), _UNKNOWN)
        return default


class Image(_Media):
    """An image to return from a tool or to put into a prompt message.

    Args:
        path: The file; read when the result is built.
        data: The bytes, instead of a path.
        format: A format such as `"png"`, or a MIME type; taken from the path's suffix if absent.
    """

    def __init__(self, path: str | Path | None = None, data: bytes | None = None, format: str | None = None) -> None:
        super().__init__(path, data)
        self._type = self._mime_type("image", _IMAGE_TYPES, format, "image/png")

    def to_image_content(self) -> types.ImageContent:
        """Return the content block."""
        return types.ImageContent(
            type="image", data=base64.b64encode(self._read()).decode("ascii"), mime_type=self._type
        )


class Audio(_Media):
    """A sound to return from a tool or to put into a prompt message.

    Args:
        path: The file; read when the result is built.
        data: The bytes, instead of a path.
        format: A format such as `"mp3"`, or a MIME type; taken from the path's suffix if absent.
    """

    def __init__(self, path: str | Path | None = None, data: bytes | None = None, format: str | None = None) -> None:
        super().__init__(path, data)
        self._type = self._mime_type("audio", _AUDIO_TYPES, format, "audio/wav")

    def to_audio_content(self) -> types.AudioContent:
        """Return the content block."""
        return types.AudioContent(
            type="audio", data=base64.b64encode(self._read()).decode("ascii"), mime_type=self._type
        )


class File(_Media):
    """A document to return from a tool or to put into a prompt message, as an embedded resource.

    Args:
        path: The file; read when the result is built.
        data: The bytes, instead of a path.
        uri: The URI under which the document is known; a path's `file:` URI if absent.
        mime_type: Its MIME type. Text types are sent as text, others as a blob.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        data: bytes | None = None,
        *,
        uri: str | None = None,
        mime_type: str | None = None,
    ) -> None:
        super().__init__(path, data)
        if uri is None and self.path is None:
            raise ValueError("A File made of data needs a uri")
        self.uri: str = uri if uri is not None else self._path_uri()
        self.mime_type: str = mime_type if mime_type is not None else self._guess()

    def _path_uri(self) -> str:
        assert self.path is not None
        return self.path.absolute().as_uri()

    def _guess(self) -> str:
        return (
            mimetypes.guess_type(self.uri)[0] if self.path is None else mimetypes.guess_type(self.path)[0]
        ) or _UNKNOWN

    def to_embedded_resource(self) -> types.EmbeddedResource:
        """Return the content block."""
        raw = self._read()
        kind = self.mime_type.split(";", 1)[0].strip().lower()
        if kind.startswith("text/") or kind.endswith(_TEXT_TYPES):
            try:
                contents = types.TextResourceContents(
                    uri=self.uri, mime_type=self.mime_type, text=raw.decode("utf-8-sig")
                )
                return types.EmbeddedResource(type="resource", resource=contents)
            except UnicodeDecodeError:
                pass  # not the text it claims to be: send the bytes
        blob = base64.b64encode(raw).decode("ascii")
        return types.EmbeddedResource(
            type="resource", resource=types.BlobResourceContents(uri=self.uri, mime_type=self.mime_type, blob=blob)
        )
