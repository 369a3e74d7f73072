"""Requests that are led astray: what carries credentials goes to the server that it is meant for, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import SocketStream

from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.exceptions import MCPError
from tests.cases.ways import both_eras
from tests.client.legacy_http import legacy
from tests.client.raw_http import RawServer, Seen, modern, raw_server, response, tool_result

SECRET = "Bearer secret"
STATUSES = ["301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"]


async def answer(seen: Seen, stream: SocketStream) -> None:
    await stream.send(response(json.dumps(tool_result(seen))))


async def is_refused(target: Any, mode: str) -> None:
    """Try to call a tool, in vain."""
    with pytest.raises(MCPError, match="not followed") as caught:
        async with Client(target, mode=mode) as client:
            await client.call_tool("add")
    assert "secret" not in str(caught.value)


@asynccontextmanager
async def http_client() -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of the user's own, with credentials, that would follow whatever it is told to."""
    client = create_mcp_http_client(headers={"authorization": SECRET})
    client.follow_redirects = True
    try:
        yield client
    finally:
        await client.aclose()


@pytest.mark.rule("CASE-58")
@both_eras
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("moment", ["at the opening", "at a call"])
@pytest.mark.parametrize("own_client", [True, False])
async def test_no_request_follows_a_redirect_to_another_origin(
    mode: str, status: str, moment: str, own_client: bool
) -> None:
    async def lead_astray(seen: Seen, stream: SocketStream) -> None:
        await stream.send(response("", None, status, location=private.url))

    good = modern(lead_astray) if mode == "auto" else legacy(lead_astray)
    with anyio.fail_after(10):
        async with raw_server(answer) as private:
            async with raw_server(good if moment == "at a call" else lead_astray) as server, http_client() as mine:
                await is_refused(
                    streamable_http_client(server.url, http_client=mine) if own_client else server.url, mode
                )
                assert server.seen
        assert private.seen == []


@pytest.mark.rule("CASE-58")
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("moment", ["at the opening", "at a post"])
async def test_no_request_of_http_and_sse_follows_a_redirect_to_another_origin(status: str, moment: str) -> None:
    async def lead_astray(seen: Seen, stream: SocketStream) -> None:
        if seen.method == "GET" and moment == "at a post":
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            await stream.send(head + b"event: endpoint\ndata: /messages\n\n")
            await anyio.sleep_forever()
        await stream.send(response("", None, status, location=private.url))

    with anyio.fail_after(10):
        async with raw_server(answer) as private, raw_server(lead_astray) as server:
            with pytest.raises(Exception, match=r"not followed") as caught:
                async with Client(sse_client(server.url, headers={"authorization": SECRET}), mode="legacy"):
                    raise AssertionError("connected")
            assert "secret" not in str(caught.value)
            assert server.seen[-1].headers["authorization"] == SECRET
        assert private.seen == []


@pytest.mark.rule("CASE-58")
@both_eras
async def test_a_proxy_that_the_environment_names_carries_the_requests(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with anyio.fail_after(10):
        async with raw_server(modern(answer) if mode == "auto" else legacy(answer)) as proxy:
            monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/mcp"))
            async with Client("http://mcp.example/mcp", mode=mode) as client:
                await client.call_tool("add")
            assert_proxied(proxy)


def assert_proxied(proxy: RawServer) -> None:
    assert proxy.seen
    assert {seen.path for seen in proxy.seen} == {"http://mcp.example/mcp"}
    assert {seen.headers["host"] for seen in proxy.seen} == {"mcp.example"}
