"""MCP Apps: tools with an HTML surface."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from mcp.server.apps import (
    APP_MIME_TYPE,
    EXTENSION_ID,
    Apps,
    ResourceCsp,
    ResourcePermissions,
    client_supports_apps,
)
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resources import BinaryResource, TextResource
from mcp_types import CallToolRequestParams, CallToolResult, TextContent
from tests.mcpserver.wire import connect
from tests.server.lowlevel.test_legacy_pipe import session
from tests.server.lowlevel.test_pipe import HELLO
from tests.server.lowlevel.wire import pipe

VIEW = "ui://clock/view.html"
SUPPORT = {"extensions": {EXTENSION_ID: {"mimeTypes": [APP_MIME_TYPE]}}}


def clock() -> str:
    """Tell the time."""
    return "noon"


def apps_with_clock() -> Apps:
    apps = Apps()
    apps.add_html_resource(VIEW, "<p>noon</p>")
    assert apps.tool(resource_uri=VIEW, visibility=["model", "app"], meta={"k": 1}, title="Clock")(clock) is clock
    return apps


@pytest.mark.rule("APPS-1", "APPS-2", "APPS-3", "APPS-5", "APPS-S-05", "APPS-S-12")
async def test_a_tool_with_a_surface_is_a_normal_tool_that_points_to_html() -> None:
    async with connect(MCPServer("Lab", extensions=[apps_with_clock()])) as peer:
        assert (await peer.request("server/discover"))["capabilities"]["extensions"] == {EXTENSION_ID: {}}
        (tool,) = (await peer.request("tools/list"))["tools"]
        assert (tool["name"], tool["title"], tool["description"]) == ("clock", "Clock", "Tell the time.")
        assert tool["_meta"] == {"k": 1, "ui": {"resourceUri": VIEW, "visibility": ["model", "app"]}}
        assert await peer.text("clock") == "noon"
        (listed,) = (await peer.request("resources/list"))["resources"]
        assert listed == {"uri": VIEW, "name": VIEW, "mimeType": APP_MIME_TYPE}
        (read,) = (await peer.request("resources/read", {"uri": VIEW}))["contents"]
        assert read == {"uri": VIEW, "mimeType": APP_MIME_TYPE, "text": "<p>noon</p>"}


@pytest.mark.rule("APPS-1", "APPS-14")
async def test_handshake_clients_get_tools_and_surfaces_but_no_advertisement() -> None:
    async with pipe(MCPServer("Lab", extensions=[apps_with_clock()])._lowlevel_server) as client:
        await client.request(0, "initialize", HELLO, modern=False)
        assert "extensions" not in (await client.result()).result["capabilities"]
        await client.request(1, "tools/list", modern=False)
        (tool,) = (await client.result()).result["tools"]
        assert tool["_meta"]["ui"]["resourceUri"] == VIEW
        await client.request(2, "resources/read", {"uri": VIEW}, modern=False)
        assert (await client.result()).result["contents"][0]["text"] == "<p>noon</p>"


@pytest.mark.rule("APPS-6", "APPS-7", "APPS-15", "APPS-S-08")
async def test_what_a_surface_wants_of_the_host_is_told_in_its_listing_and_its_contents() -> None:
    apps = Apps()
    apps.add_html_resource(
        VIEW,
        "<p>",
        csp=ResourceCsp(
            connect_domains=["https://a.example"],
            resource_domains=["https://b.example"],
            frame_domains=["https://c.example"],
            base_uri_domains=["https://d.example"],
        ),
        permissions=ResourcePermissions(camera={}, clipboard_write={}),
        domain="clock.example",
        prefers_border=False,
    )
    apps.add_html_resource("ui://some", "<p>", csp=ResourceCsp(connect_domains=[]))
    stated: dict[str, Any] = {
        "csp": {
            "connectDomains": ["https://a.example"],
            "resourceDomains": ["https://b.example"],
            "frameDomains": ["https://c.example"],
            "baseUriDomains": ["https://d.example"],
        },
        "permissions": {"camera": {}, "clipboardWrite": {}},
        "domain": "clock.example",
        "prefersBorder": False,
    }
    async with connect(MCPServer("Lab", extensions=[apps])) as peer:
        full, some = (await peer.request("resources/list"))["resources"]
        assert full["_meta"] == {"ui": stated}
        assert some["_meta"] == {"ui": {"csp": {"connectDomains": []}}}
        (read,) = (await peer.request("resources/read", {"uri": VIEW}))["contents"]
        assert read["_meta"] == {"ui": stated}


@pytest.mark.rule("APPS-4", "APPS-S-01")
def test_surfaces_have_uris_of_their_own_scheme() -> None:
    apps = Apps()
    for register in (
        lambda: apps.add_html_resource("http://x", "<p>"),
        lambda: apps.tool(resource_uri="http://x"),
        lambda: apps.add_resource(TextResource(uri="http://x", text="<p>", mime_type=APP_MIME_TYPE)),
        lambda: apps.add_html_file("http://x", "/x.html"),
    ):
        with pytest.raises(ValueError, match=r"^MCP Apps URIs must use the ui:// scheme, got 'http://x'$"):
            register()


@pytest.mark.rule("APPS-8", "APPS-S-02", "APPS-S-03")
async def test_any_resource_of_the_right_type_can_be_a_surface() -> None:
    apps = Apps()
    apps.add_resource(BinaryResource(uri="ui://b", data=b"<p>", mime_type="Text/HTML; Profile=mcp-app"))
    with pytest.raises(ValueError, match=r"^MCP Apps resources are served as 'text/html;profile=mcp-app', got 'text/"):
        apps.add_resource(TextResource(uri="ui://t", text="<p>"))
    async with connect(MCPServer("Lab", extensions=[apps])) as peer:
        (read,) = (await peer.request("resources/read", {"uri": "ui://b"}))["contents"]
        assert read["blob"] == "PHA+"


@pytest.mark.rule("APPS-9", "APPS-S-06")
def test_a_tool_whose_surface_is_not_registered_stops_the_server_from_being_made() -> None:
    apps = Apps()
    apps.tool(resource_uri="ui://x", name="tool1")(clock)
    with pytest.raises(ValueError) as caught:
        MCPServer("Lab", extensions=[apps])
    assert str(caught.value) == (
        "Apps tool 'tool1' binds resource_uri 'ui://x', but no such resource is registered; "
        "add it with add_html_resource() or add_resource()"
    )
    apps.add_html_resource("ui://x", "<p>")
    MCPServer("Lab", extensions=[apps])


@pytest.mark.rule("APPS-2")
def test_the_ui_member_of_meta_belongs_to_the_extension() -> None:
    with pytest.raises(ValueError) as caught:
        Apps().tool(resource_uri="ui://x", meta={"ui": {}})
    assert str(caught.value) == (
        "Apps.tool() owns _meta['ui']; pass resource_uri=/visibility= instead of a 'ui' meta key"
    )


@pytest.mark.rule("APPS-10", "APPS-D1")
def test_nothing_can_be_registered_once_a_server_has_been_made() -> None:
    apps = apps_with_clock()
    decorator = apps.tool(resource_uri=VIEW)
    MCPServer("Lab", extensions=[apps])
    for register in (
        lambda: apps.tool(resource_uri=VIEW),
        lambda: decorator(clock),
        lambda: apps.add_html_resource("ui://late", "<p>"),
        lambda: apps.add_html_file("ui://late", "/late.html"),
        lambda: apps.add_resource(TextResource(uri="ui://late", text="<p>", mime_type=APP_MIME_TYPE)),
    ):
        with pytest.raises(RuntimeError) as caught:
            register()
        assert str(caught.value) == (
            "Apps is already bound to a server; register tools and resources before constructing it"
        )


@pytest.mark.rule("APPS-11")
async def test_a_surface_may_serve_several_tools_and_the_first_of_two_with_one_uri_stays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    apps = apps_with_clock()
    apps.add_html_resource(VIEW, "<p>second</p>")
    apps.tool(resource_uri=VIEW, name="other")(clock)
    with caplog.at_level(logging.WARNING):
        mcp = MCPServer("Lab", extensions=[apps])
    assert [record.getMessage() for record in caplog.records] == [f"Resource already exists: {VIEW}"]
    async with connect(mcp) as peer:
        tools = (await peer.request("tools/list"))["tools"]
        assert {tool["name"]: tool["_meta"]["ui"]["resourceUri"] for tool in tools} == {"clock": VIEW, "other": VIEW}
        assert (await peer.request("resources/read", {"uri": VIEW}))["contents"][0]["text"] == "<p>noon</p>"


@pytest.mark.rule("APPS-12", "APPS-D2")
@pytest.mark.parametrize(("visibility", "got"), [(["model", "host"], "'host'"), ([], "none"), ("app", "'app'")])
def test_visibility_that_does_not_exist_is_refused(visibility: Any, got: str) -> None:
    with pytest.raises(ValueError) as caught:
        Apps().tool(resource_uri="ui://x", visibility=visibility)
    assert str(caught.value) == f"visibility is a list of 'model' and 'app', at least one of them; got {got}"


@pytest.mark.rule("APPS-D3")
async def test_a_file_is_read_whenever_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "view.html"
    apps = Apps()
    apps.add_html_file(VIEW, file, title="Clock", prefers_border=True)
    async with connect(MCPServer("Lab", extensions=[apps])) as peer:
        for html in ("<p>é</p>", "<p>zwei</p>"):
            file.write_text(html, encoding="utf-8")
            (read,) = (await peer.request("resources/read", {"uri": VIEW}))["contents"]
            assert (read["mimeType"], read["text"]) == (APP_MIME_TYPE, html)
            assert read["_meta"] == {"ui": {"prefersBorder": True}}
    with pytest.raises(ValueError, match="Path must be absolute"):
        Apps().add_html_file(VIEW, "view.html")


@pytest.mark.rule("APPS-13", "APPS-S-10", "APPS-S-14")
@pytest.mark.parametrize(
    ("capabilities", "supported"),
    [
        (SUPPORT, True),
        ({"extensions": {EXTENSION_ID: {"mimeTypes": ["text/plain", "TEXT/HTML; profile=mcp-app"]}}}, True),
        ({"extensions": {EXTENSION_ID: {"mimeTypes": [f"{APP_MIME_TYPE};charset=utf-8"]}}}, False),
        ({"extensions": {EXTENSION_ID: {"mimeTypes": APP_MIME_TYPE}}}, False),
        ({"extensions": {EXTENSION_ID: {"mimeTypes": [1]}}}, False),
        ({"extensions": {EXTENSION_ID: {}}}, False),
        ({"extensions": {"com.example/ui": {"mimeTypes": [APP_MIME_TYPE]}}}, False),
        ({}, False),
    ],
)
async def test_a_server_can_tell_whether_a_client_shows_surfaces(capabilities: dict[str, Any], supported: bool) -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    def supports(ctx: Context[Any]) -> bool:
        return client_supports_apps(ctx)

    async with connect(mcp, capabilities=capabilities) as peer:
        assert (await peer.call("supports"))["structuredContent"] == {"result": supported}


@pytest.mark.rule("APPS-14")
async def test_handshake_clients_declare_it_in_initialize() -> None:
    async def call_tool(ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text=str(client_supports_apps(ctx)))])

    async with session(Server("Lab", on_call_tool=call_tool), capabilities=SUPPORT) as client:
        await client.request(1, "tools/call", {"name": "t"}, modern=False)
        assert (await client.result()).result["content"][0]["text"] == "True"
