"""Older clients on a real socket."""

from __future__ import annotations

import http.client
import json
from collections.abc import Generator
from typing import Any

import pytest

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.server import MCPServer
from tests.server.http.fakes import request_body
from tests.server.http.legacy_client import MemoryStore, call, headers_of, opening
from tests.server.http.serving import Answer, connected, post, serving

_server = MCPServer("shop")


@_server.tool()
async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@_server.tool()
async def steps(ctx: Context) -> str:
    """Report and drop the connection."""
    await ctx.report_progress(1, 2)
    await ctx.close_sse_stream()
    await ctx.report_progress(2, 2)
    return "done"


@_server.tool()
async def shout(ctx: Context) -> str:
    """Log."""
    await ctx.session.log("info", "a")
    await ctx.session.log("error", "b")
    return "done"


@pytest.fixture(params=["httptools", "h11"])
def port(request: pytest.FixtureRequest) -> Generator[int]:
    app = _server.streamable_http_app(event_store=MemoryStore(), retry_interval=10)
    with serving(app, protocol=request.param) as port:
        yield port


def exchange(port: int, method: str, body: dict[str, Any] | None = None, **changes: str | None) -> Answer:
    with connected(port) as connection:
        return Answer(_send(connection, method, body, **changes))


def _send(
    connection: http.client.HTTPConnection, method: str, body: dict[str, Any] | None = None, **changes: str | None
) -> http.client.HTTPResponse:
    headers = headers_of(changes)
    del headers["host"]
    connection.request(method, "/mcp", None if body is None else json.dumps(body), headers)
    return connection.getresponse()


@pytest.mark.rule(
    "RUN-44", "RUN-46", "RUN-47", "RUN-51", "RUN-62", "RUN-63", "LEG-N-05", "LEG-N-10", "HTTP-B-08", "VER-23"
)
def test_a_session_from_its_opening_to_its_end(port: int) -> None:
    opened = exchange(port, "POST", opening())
    session_id = opened.headers["mcp-session-id"]
    (answer,) = opened.events
    assert answer["result"]["protocolVersion"] == "2025-11-25"
    assert answer["result"]["capabilities"]["tools"] == {"listChanged": False}
    ours: dict[str, str | None] = {"mcp_session_id": session_id, "mcp_protocol_version": "2025-11-25"}
    told = exchange(port, "POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, **ours)
    assert (told.status, told.body) == (202, b"")
    added = exchange(port, "POST", call("add", a=2, b=3), **ours)
    assert added.events[0]["result"]["structuredContent"] == {"result": 5}
    assert "resultType" not in added.events[0]["result"]

    dropped = exchange(port, "POST", call("steps", 3), **ours)
    assert dropped.body.startswith(b"id: ")
    last = [line for line in dropped.body.split(b"\r\n") if line.startswith(b"id: ")][-1].removeprefix(b"id: ").decode()
    rest = exchange(port, "GET", None, last_event_id=last, **ours)
    assert [message.get("method", "answer") for message in rest.events] == ["notifications/progress", "answer"]

    assert exchange(port, "DELETE", None, **ours).status == 200
    assert exchange(port, "POST", call("add", 4, a=1, b=1), **ours).status == 404


@pytest.mark.rule("RUN-33", "RUN-61", "HTTP-B-06", "VER-E-03")
def test_both_eras_share_the_endpoint(port: int) -> None:
    session_id = exchange(port, "POST", opening()).headers["mcp-session-id"]
    modern = post(port, request_body("tools/call", {"name": "add", "arguments": {"a": 1, "b": 1}}))
    assert modern.json["result"]["structuredContent"] == {"result": 2}
    legacy = exchange(port, "POST", call("add", a=1, b=1), mcp_session_id=session_id)
    assert legacy.events[0]["result"]["structuredContent"] == {"result": 2}


def test_a_client_that_leaves_in_the_middle_does_no_harm(port: int) -> None:
    session_id = exchange(port, "POST", opening()).headers["mcp-session-id"]
    for number in range(20):
        with connected(port) as connection:
            headers = headers_of({"mcp_session_id": session_id})
            del headers["host"]
            connection.request("POST", "/mcp", json.dumps(call("steps", 100 + number)), headers)
    added = exchange(port, "POST", call("add", 5, a=2, b=2), mcp_session_id=session_id)
    assert added.events[0]["result"]["structuredContent"] == {"result": 4}


@pytest.mark.rule("VER-21")
def test_an_error_is_answered_with_200(port: int) -> None:
    session_id = exchange(port, "POST", opening()).headers["mcp-session-id"]
    unknown = exchange(port, "POST", call("nothing"), mcp_session_id=session_id)
    assert unknown.status == 200
    assert unknown.events[0]["error"]["code"] == -32602


@pytest.mark.rule("LOG-D2", "SLOG-02", "LEG-D-06")
def test_a_session_has_its_own_level_of_log_messages(port: int) -> None:
    ours: list[dict[str, str | None]] = []
    for _ in range(2):
        opened = exchange(port, "POST", opening())
        assert opened.events[0]["result"]["capabilities"]["logging"] == {}
        ours.append({"mcp_session_id": opened.headers["mcp-session-id"]})
    level = {"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": {"level": "error"}}
    assert exchange(port, "POST", level, **ours[0]).events[0]["result"] == {}
    quiet, loud = (exchange(port, "POST", call("shout", 3), **headers).events for headers in ours)
    assert [message["params"]["level"] for message in quiet[:-1]] == ["error"]
    assert [message["params"]["level"] for message in loud[:-1]] == ["info", "error"]
