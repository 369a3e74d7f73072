"""Who a request speaks for: each one says it anew, and a session serves nobody but who opened it."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Generator
from typing import Any

import pytest

from mcp.server.auth._access_token import AccessToken
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware, get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.mcpserver import MCPServer
from tests.server.http.fakes import request_body, request_headers
from tests.server.http.legacy_client import call, headers_of, opening
from tests.server.http.serving import Answer, connected, serving
from tests.server.http.test_sse import Stream


class Guard:
    """Takes the text of a bearer token for its user's name, as a server's own middleware would verify it."""

    def __init__(self, app: Any) -> None:
        self._app = AuthContextMiddleware(app)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        name = dict(scope.get("headers", ())).get(b"authorization", b"").decode().removeprefix("Bearer ")
        if name:
            scope["user"] = AuthenticatedUser(AccessToken(token=name, client_id="app", scopes=[], subject=name))
        await self._app(scope, receive, send)


def who() -> str:
    """Say for whom this runs."""
    token = get_access_token()
    return "nobody" if token is None else str(token.subject)


def build() -> MCPServer[None]:
    server: MCPServer[None] = MCPServer("guarded", log_level="ERROR")
    server.add_tool(who)
    return server


@pytest.fixture
def port() -> Generator[int]:
    with serving(Guard(build().streamable_http_app())) as port:
        yield port


def ask(connection: http.client.HTTPConnection, method: str, body: Any, headers: dict[str, str], user: str) -> Answer:
    headers = {name: value for name, value in headers.items() if name != "host"}
    if user != "nobody":
        headers["authorization"] = f"Bearer {user}"
    connection.request(method, "/mcp", None if body is None else json.dumps(body), headers)
    return Answer(connection.getresponse())


@pytest.mark.rule("HTTP-E-07")
def test_requests_on_one_connection_speak_each_for_whom_its_own_token_names(port: int) -> None:
    body = request_body("tools/call", {"name": "who", "arguments": {}})
    with connected(port) as connection:
        for user in ("ann", "bob", "nobody", "ann", "nobody"):
            answer = ask(connection, "POST", body, request_headers(body), user)
            assert answer.json["result"]["content"][0]["text"] == user


@pytest.mark.rule("HTTP-E-07", "CASE-59")
def test_a_modern_request_gains_nothing_by_naming_the_session_of_another(port: int) -> None:
    body = request_body("tools/call", {"name": "who", "arguments": {}})
    with connected(port) as connection:
        session = ask(connection, "POST", opening(), headers_of({}), "ann").headers["mcp-session-id"]
        answer = ask(connection, "POST", body, {**request_headers(body), "mcp-session-id": session}, "bob")
        assert answer.json["result"]["content"][0]["text"] == "bob"


@pytest.mark.rule("CASE-59", "LEG-N-12")
@pytest.mark.parametrize("other", ["bob", "nobody"])
def test_a_session_is_not_found_by_others_and_goes_on_for_who_opened_it(port: int, other: str) -> None:
    with connected(port) as connection:
        opened = ask(connection, "POST", opening(), headers_of({}), "ann")
        session = {**headers_of({}), "mcp-session-id": opened.headers["mcp-session-id"]}
        for method in ("POST", "GET", "DELETE"):
            answer = ask(connection, method, call("who") if method == "POST" else None, session, other)
            assert answer.status == 404
            assert answer.json["error"] == {"code": -32600, "message": "Session not found"}
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        assert ask(connection, "POST", note, session, other).status == 404
        (said,) = ask(connection, "POST", call("who"), session, "ann").events
        assert said["result"]["content"][0]["text"] == "ann"


@pytest.mark.rule("CASE-59")
def test_nobody_guesses_the_id_of_a_session(port: int) -> None:
    ids: set[str] = set()
    with connected(port) as connection:
        for _ in range(20):
            ids.add(ask(connection, "POST", opening(), headers_of({}), "ann").headers["mcp-session-id"])
    assert len(ids) == 20
    assert all(re.fullmatch(r"[0-9a-f]{32}", one) for one in ids)
    # At each of its 32 places an id of 128 random bits takes many values: there is no part that counts.
    assert all(len({one[place] for one in ids}) > 4 for place in range(32))


@pytest.mark.rule("CASE-59")
@pytest.mark.parametrize("other", ["bob", "nobody"])
def test_a_connection_of_http_and_sse_takes_no_message_of_others(other: str) -> None:
    def post(body: Any, user: str) -> int:
        with connected(port) as connection:
            authorization = {} if user == "nobody" else {"authorization": f"Bearer {user}"}
            headers = {"content-type": "application/json", **authorization}
            connection.request("POST", stream.endpoint, json.dumps(body), headers)
            return Answer(connection.getresponse()).status

    with serving(Guard(build().sse_app())) as port, connected(port) as connection:
        stream = Stream(connection, authorization="Bearer ann")
        assert post(opening(), "ann") == 202
        assert stream.message()["id"] == 1
        assert post(call("who"), other) == 404
        assert post(call("who", 3), "ann") == 202
        said = stream.message()
        assert (said["id"], said["result"]["content"][0]["text"]) == (3, "ann")
