"""Values in URIs: what users of such packages suffered from."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp import Client, MCPError
from mcp.server.mcpserver import MCPServer, ResourceSecurity
from mcp.shared.path_security import safe_join
from mcp.shared.uri_template import UriTemplate
from mcp_types import INVALID_PARAMS, TextResourceContents

VALUES = ["a/b", "a%2Fb", "hello world", "%", "%25", "+", "é", "a?b#c", "a&b=c"]


def make_server() -> MCPServer:
    mcp = MCPServer("Lab", resource_security=ResourceSecurity(reject_absolute_paths=False))

    @mcp.resource("simple://{p}")
    def simple(p: str) -> str:
        return p

    @mcp.resource("reserved://{+p}")
    def reserved(p: str) -> str:
        return p

    @mcp.resource("parts://x{/p*}")
    def parts(p: list[str]) -> str:
        return " | ".join(p)

    return mcp


async def read(client: Client, uri: str) -> str:
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    return contents.text


@pytest.mark.rule("CASE-42")
async def test_what_is_expanded_into_a_template_comes_out_of_it_decoded_once() -> None:
    async with Client(make_server()) as client:
        for value in VALUES:
            assert await read(client, UriTemplate.parse("simple://{p}").expand({"p": value})) == value
            uri = UriTemplate.parse("parts://x{/p*}").expand({"p": [value, "b"]})
            assert await read(client, uri) == f"{value} | b"
        assert await read(client, "simple://hello%20world") == "hello world"
        assert await read(client, "simple://%2525") == "%25"
        assert await read(client, "simple://a+b") == "a+b"
        assert await read(client, "reserved://a/b/c") == "a/b/c"


@pytest.mark.rule("CASE-42")
async def test_a_plain_variable_does_not_swallow_a_slash() -> None:
    async with Client(make_server()) as client:
        with pytest.raises(MCPError, match=r"^Unknown resource: simple://a/b$") as caught:
            await read(client, "simple://a/b")
    assert caught.value.code == INVALID_PARAMS


@pytest.mark.rule("CASE-43")
async def test_values_that_leave_their_root_are_refused_unless_the_author_lets_them(tmp_path: Path) -> None:
    (tmp_path / "inside.txt").write_text("inside")
    (tmp_path / "sub").mkdir()

    def file(path: str) -> str:
        return safe_join(tmp_path, path).read_text()

    def shown(path: str) -> str:
        return path

    mcp = MCPServer("Lab")
    mcp.resource("file://{+path}")(file)
    mcp.resource("open://{+path}", security=ResourceSecurity(exempt_params={"path"}))(shown)
    bad = [
        "../x",
        "sub/../../x",
        "..%2fx",
        "%2e%2e/x",
        "%2e%2e%2fx",
        "/etc/passwd",
        "%2Fetc",
        "a%00b",
        "..\\x",
        "..%5Cx",
    ]
    async with Client(mcp) as client:
        assert await read(client, "file://inside.txt") == "inside"
        assert await read(client, "file://sub/../inside.txt") == "inside"
        for value in bad:
            with pytest.raises(MCPError) as caught:
                await read(client, f"file://{value}")
            assert (caught.value.code, caught.value.message) == (INVALID_PARAMS, f"Unknown resource: file://{value}")
        assert await read(client, "open://../x") == "../x"
