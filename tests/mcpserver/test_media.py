"""Images, audio and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mcp.server.mcpserver.server import MCPServer
from mcp.server.mcpserver.utilities.types import Audio, File, Image
from mcp_types import BlobResourceContents, Icon, TextResourceContents
from tests.mcpserver.wire import connect


@pytest.mark.rule("MEDIA-1")
@pytest.mark.parametrize("kind", [Image, Audio])
def test_media_come_from_a_path_or_from_bytes(kind: type[Image | Audio]) -> None:
    with pytest.raises(ValueError, match=r"^Either path or data must be provided$"):
        kind()
    with pytest.raises(ValueError, match=r"^Only one of path or data can be provided$"):
        kind(path="a", data=b"")
    assert kind(data=b"").data == b""
    assert kind(path="a").path == Path("a")


@pytest.mark.rule("MEDIA-D3")
@pytest.mark.parametrize("kind", [Image, Audio, File])
def test_data_that_is_no_bytes_is_refused_at_once(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"data must be bytes, got str$"):
        kind(data="text")


@pytest.mark.rule("MEDIA-2", "ERR-1")
async def test_a_path_is_opened_when_the_result_is_built(tmp_path: Path) -> None:
    mcp = MCPServer("Lab")
    path = tmp_path / "a.png"

    @mcp.tool()
    async def picture() -> Image:
        return Image(path)

    async with connect(mcp) as peer:
        assert await peer.text("picture") == "Error executing tool picture"
        path.write_bytes(b"a")
        assert (await peer.call("picture"))["content"] == [{"type": "image", "data": "YQ==", "mimeType": "image/png"}]


@pytest.mark.rule("MEDIA-3", "MEDIA-D1")
@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("a.png", "image/png"),
        ("a.JPG", "image/jpeg"),
        ("a.jpeg", "image/jpeg"),
        ("a.gif", "image/gif"),
        ("a.webp", "image/webp"),
        ("a.svg", "image/svg+xml"),
        ("a.bmp", "image/bmp"),
        ("a.avif", "image/avif"),
        ("a.xyz", "application/octet-stream"),
        ("a", "application/octet-stream"),
    ],
)
def test_a_suffix_tells_the_type_of_an_image(tmp_path: Path, name: str, mime_type: str) -> None:
    (tmp_path / name).write_bytes(b"a")
    assert Image(str(tmp_path / name)).to_image_content().mime_type == mime_type


@pytest.mark.rule("MEDIA-3", "MEDIA-D1")
@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("a.wav", "audio/wav"),
        ("a.MP3", "audio/mpeg"),
        ("a.ogg", "audio/ogg"),
        ("a.flac", "audio/flac"),
        ("a.aac", "audio/aac"),
        ("a.m4a", "audio/mp4"),
        ("a.opus", "audio/opus"),
        ("a", "application/octet-stream"),
    ],
)
def test_a_suffix_tells_the_type_of_audio(tmp_path: Path, name: str, mime_type: str) -> None:
    (tmp_path / name).write_bytes(b"a")
    assert Audio(tmp_path / name).to_audio_content().mime_type == mime_type


@pytest.mark.rule("MEDIA-4", "MEDIA-5", "MEDIA-D1")
def test_a_format_wins_over_the_suffix() -> None:
    assert Image(data=b"", format="JPG").to_image_content().mime_type == "image/jpeg"
    assert Image(data=b"", format="tiff").to_image_content().mime_type == "image/tiff"
    assert Image(data=b"", format="image/png").to_image_content().mime_type == "image/png"
    assert Audio(data=b"", format="mp3").to_audio_content().mime_type == "audio/mpeg"
    assert Image(data=b"").to_image_content().mime_type == "image/png"
    assert Audio(data=b"").to_audio_content().mime_type == "audio/wav"


def test_a_file_becomes_an_embedded_resource(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# Hi", encoding="utf-8")
    resource = File(path).to_embedded_resource().resource
    assert isinstance(resource, TextResourceContents)
    assert (resource.text, resource.uri) == ("# Hi", path.as_uri())
    blob = File(data=b"\xff", uri="x://a", mime_type="text/plain").to_embedded_resource().resource
    assert isinstance(blob, BlobResourceContents)
    assert (blob.blob, blob.mime_type) == ("/w==", "text/plain")
    named = File(data=b"{}", uri="x://a.json").to_embedded_resource().resource
    assert isinstance(named, TextResourceContents)
    assert named.mime_type == "application/json"
    with pytest.raises(ValueError, match=r"^A File made of data needs a uri$"):
        File(data=b"")


@pytest.mark.rule("MEDIA-9")
def test_icons_are_checked() -> None:
    for wrong in ({"src": "a", "theme": "grey"}, {"src": "a", "sizes": "1x1"}, {}):
        with pytest.raises(ValidationError):
            Icon.model_validate(wrong)


@pytest.mark.rule("MEDIA-10", "MEDIA-11", "MEDIA-D2")
async def test_server_icons_travel_with_discovery_only() -> None:
    mcp = MCPServer("Lab", icons=[Icon(src="https://i", mime_type="image/png", sizes=["48x48"], theme="dark")])
    assert mcp.icons is not None
    async with mcp.connect_in_process("auto") as link:
        assert link is not None
    info = mcp._lowlevel_server.server_info
    assert info.icons == mcp.icons
    assert "icons" not in mcp._lowlevel_server.server_info_stamp
