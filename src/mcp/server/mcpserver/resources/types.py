"""Ready-made resources: text, bytes, functions, files, directories, HTTP bodies."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from pydantic import Field, field_validator

import mcp_types as types
from mcp.server.mcpserver._details import read_meta
from mcp.server.mcpserver._invoke import invoke, is_async_callable
from mcp.server.mcpserver._resource_contents import BINARY_TYPE, Contents, read_contents
from mcp.server.mcpserver.resources.base import Resource
from mcp.server.mcpserver.tools.base import description_for, name_for
from mcp.server.mcpserver.utilities.context_injection import evaluate_hints

__all__ = [
    "BinaryResource",
    "DirectoryResource",
    "FileResource",
    "FunctionResource",
    "HttpResource",
    "TextResource",
]

_TEXT_SUFFIXES = ("+json", "+xml")
_TEXT_TYPES = ("application/json", "application/xml")


class TextResource(Resource):
    """A text.

    Attributes:
        text: The text.
    """

    text: str

    async def read(self) -> str:
        """Return the text."""
        return self.text


class BinaryResource(Resource):
    """Bytes, announced as `application/octet-stream` unless labelled.

    Attributes:
        data: The bytes.
    """

    data: bytes

    def model_post_init(self, context: Any, /) -> None:
        """Label bytes as bytes."""
        _label_bytes(self)

    async def read(self) -> bytes:
        """Return the bytes."""
        return self.data


class FunctionResource(Resource):
    """What a function without parameters returns.

    Attributes:
        fn: The function; it runs at each read, never while listing.
    """

    fn: Callable[[], Any] = Field(exclude=True)

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        uri: str,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: list[types.Icon] | None = None,
        annotations: types.Annotations | None = None,
        meta: dict[str, Any] | None = None,
    ) -> FunctionResource:
        """Make a resource of a function.

        Args:
            fn: The function.
            uri: The URI.
            name: Its name; the function's by default.
            title: A name for people.
            description: What it is; the function's docstring by default.
            mime_type: Its MIME type; `text/plain`, or `application/octet-stream` for a function that returns bytes.
            icons: Icons.
            annotations: For whom and how important it is.
            meta: The `_meta` of its listing and of its contents.

        Raises:
            ValueError: There is no name.
        """
        given: dict[str, Any] = {} if mime_type is None else {"mime_type": mime_type}
        resource = cls(
            uri=uri,
            name=name_for(fn, name),
            title=title,
            description=description_for(fn, description),
            icons=icons,
            annotations=annotations,
            meta=read_meta(f"resource {uri!r}", meta),
            fn=fn,
            **given,
        )
        if evaluate_hints(fn).get("return") is bytes:
            _label_bytes(resource)
        return resource

    async def _call(self) -> Any:
        value = await invoke(self.fn, {}, is_async_callable(self.fn))
        if isinstance(value, types.InputRequiredResult):
            raise RuntimeError(
                "static resources cannot return InputRequiredResult; "
                "only resource template functions participate in the multi-round-trip flow"
            )
        return value

    async def read(self) -> str | bytes:
        """Call the function; of several contents, return the first."""
        contents = self.to_contents(await self._call(), self.uri)
        return read_contents(contents[:1])[0].content if contents else ""

    async def read_contents(self, uri: str) -> list[Contents]:
        """Call the function and return all contents."""
        return self.to_contents(await self._call(), uri)


class FileResource(Resource):
    """A file, read at each read.

    Attributes:
        path: The absolute path.
        encoding: The text encoding; `None` reads bytes. By default the MIME type decides.
    """

    path: Path
    encoding: str | None = Field(default_factory=lambda data: _encoding_for(str(data.get("mime_type", ""))))

    @field_validator("path")
    @classmethod
    def validate_absolute_path(cls, path: Path) -> Path:
        """Refuse relative paths: they would depend on where the server was started."""
        return _absolute(path)

    @field_validator("encoding")
    @classmethod
    def validate_text_encoding(cls, encoding: str | None) -> str | None:
        """Refuse what is no text encoding."""
        if encoding is None:
            return None
        try:
            info = codecs.lookup(encoding)
        except LookupError:
            raise ValueError(f"unknown encoding: {encoding}") from None
        if not getattr(info, "_is_text_encoding", True):
            raise ValueError(f"{encoding!r} is not a text encoding")
        return encoding

    async def read(self) -> str | bytes:
        """Read the file."""
        if self.encoding is None:
            return await anyio.to_thread.run_sync(self.path.read_bytes)
        return await anyio.to_thread.run_sync(self.path.read_text, self.encoding)


def _encoding_for(mime_type: str) -> str | None:
    kind, *parameters = (part.strip() for part in mime_type.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"')
    kind = kind.lower()
    is_text = kind.startswith("text/") or kind in _TEXT_TYPES or kind.endswith(_TEXT_SUFFIXES)
    return "utf-8-sig" if is_text else None  # a byte order mark is no part of the text


class DirectoryResource(Resource):
    """The list of files in a directory. Entries that are symbolic links are listed like others.

    Attributes:
        path: The absolute path.
        recursive: Whether subdirectories are searched.
        pattern: A glob that file names have to match.
    """

    path: Path
    recursive: bool = False
    pattern: str | None = None
    mime_type: str = Field(default="application/json")

    @field_validator("path")
    @classmethod
    def validate_absolute_path(cls, path: Path) -> Path:
        """Refuse relative paths: they would depend on where the server was started."""
        return _absolute(path)

    def list_files(self) -> list[Path]:
        """List files and directories, sorted.

        Raises:
            FileNotFoundError: There is no such directory.
            NotADirectoryError: It is none.
        """
        if not self.path.exists():
            raise FileNotFoundError(f"Directory not found: {self.path}")
        if not self.path.is_dir():
            raise NotADirectoryError(f"Not a directory: {self.path}")
        pattern = self.pattern or "*"
        return sorted(self.path.rglob(pattern) if self.recursive else self.path.glob(pattern))

    async def read(self) -> str:
        """Return the files as JSON."""
        return await anyio.to_thread.run_sync(self._as_json)

    def _as_json(self) -> str:
        files = [path.relative_to(self.path).as_posix() for path in self.list_files() if path.is_file()]
        return json.dumps({"files": files}, indent=2, ensure_ascii=False)


class HttpResource(Resource):
    """The body behind a URL, fetched at each read. Redirects are followed; a body that is no text becomes a blob.

    Attributes:
        url: The URL.
    """

    url: str
    mime_type: str = Field(default="application/json")

    async def _fetch(self) -> tuple[str | bytes, str]:
        import httpx2

        client = httpx2.AsyncClient(follow_redirects=True)
        async with client:
            response = await client.get(self.url)
            response.raise_for_status()
            # The response knows its type; the declared one stands in where it says nothing.
            mime_type = response.headers.get("content-type") or self.mime_type
            return (response.text if _encoding_for(mime_type) else response.content), mime_type

    async def read(self) -> str | bytes:
        """Fetch the body."""
        return (await self._fetch())[0]

    async def read_contents(self, uri: str) -> list[Contents]:
        """Fetch the body and its type."""
        body, mime_type = await self._fetch()
        if isinstance(body, str):
            return [types.TextResourceContents(uri=uri, mime_type=mime_type, text=body, _meta=self.meta)]
        return [*self.model_copy(update={"mime_type": mime_type}).to_contents(body, uri)]


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError("Path must be absolute")
    return path


def _label_bytes(resource: Resource) -> None:
    """Announce a resource of bytes as such, unless its author chose a type."""
    if "mime_type" not in resource.model_fields_set:
        resource.mime_type = BINARY_TYPE
