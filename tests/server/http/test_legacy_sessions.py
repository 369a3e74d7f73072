"""Sessions of the handshake era over HTTP."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import mcp_types as types
from mcp.server.auth._access_token import AccessToken
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import default_security
from mcp.shared.exceptions import MCPError, NoBackChannelError
from tests.server.http.fakes import FakeConnection
from tests.server.http.legacy_client import LegacyClient, call, headers_of, opening, session
from tests.server.http.servers import Workshop, ask, running

MISSING = "Bad Request: Missing session ID"
NOT_FOUND = "Session not found"


class Office(Workshop):
    """A workshop whose tools talk to their client."""

    async def call_tool(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name == "ask":
            try:
                answer = await ctx.session.elicit_form("Name?", {"type": "object", "properties": {}}, ctx.request_id)
            except NoBackChannelError:
                return text("no way to ask")
            return text(answer.action)
        if params.name == "ask aside":
            return text((await ctx.session.elicit_form("Name?", {"type": "object", "properties": {}})).action)
        if params.name == "announce":
            await ctx.session.send_tool_list_changed()
        if params.name == "log":
            await ctx.session.log("info", "hello")
        return await super().call_tool(ctx, params)


def text(value: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=value)])


def error_of(connection: FakeConnection) -> tuple[int, int, str]:
    error = connection.json["error"]
    return connection.status, error["code"], error["message"]


def text_of(message: dict[str, Any]) -> str:
    return message["result"]["content"][0]["text"]


@pytest.mark.rule("LEG-V-05", "HTTP-S-17")
@pytest.mark.rule(
    "RUN-44", "RUN-47", "LEG-N-01", "LEG-N-02", "LEG-N-03", "LEG-H-06", "LEG-H-08", "LEG-H-19", "LEG-L-09", "VER-10"
)
async def test_initialize_opens_a_session_with_a_name_of_its_own() -> None:
    async with running(Office()) as manager, session(manager) as one, session(manager, "2025-06-18") as two:
        assert one.opened.status == 200
        assert one.opened.headers["content-type"] == "text/event-stream"
        assert one.session_id != two.session_id
        assert len(one.session_id or "") == 32
        int(one.session_id or "", 16)
        (answer,) = two.opened.events
        assert answer["result"]["protocolVersion"] == "2025-06-18"
        called = await two.send(call("echo"))
        assert called.headers["content-type"] == "text/event-stream"
        assert [text_of(message) for message in called.events] == ["echo done"]
        assert "mcp-session-id" not in called.headers


@pytest.mark.rule("VER-10", "LEG-L-10", "LEG-L-11", "LEG-L-21")
@pytest.mark.parametrize("offered", ["1999-01-01", "2026-07-28"])
async def test_an_offer_that_is_no_handshake_version_is_answered_with_the_newest_one(offered: str) -> None:
    async with running(Office()) as manager:
        opened = await ask(manager, FakeConnection(json.dumps(opening(offered)).encode(), headers_of({})))
        assert opened.events[0]["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.rule("RUN-45", "RUN-D9", "LEG-N-06", "TROUBLE-36")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_without_a_session_id_nothing_else_is_served(method: str) -> None:
    async with running(Office()) as manager, session(manager) as client:
        refused = await client.send(call("echo"), method=method, mcp_session_id=None)
        assert error_of(refused) == (400, -32600, MISSING)
        assert "mcp-session-id" not in refused.headers


@pytest.mark.rule("RUN-46", "LEG-N-08", "TROUBLE-4")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_an_unknown_session_is_404(method: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with running(Office()) as manager, session(manager) as client:
        refused = await client.send(call("echo"), method=method, mcp_session_id="0" * 32)
        assert error_of(refused) == (404, -32600, NOT_FOUND)
        # Not all of it: an id may be a living one of somebody else.
        (line,) = (line for line in caplog.messages if "session ID" in line)
        assert line.startswith(
            "Rejected request with unknown or expired session ID: 00000000…: it has ended or expired"
        )
        assert "another instance" in line
        assert "stateless_http=True" in line
        assert "0" * 9 not in caplog.text
        assert error_of(await client.send(opening(), mcp_session_id="0" * 32))[0] == 404


@pytest.mark.rule("RUN-48", "LEG-E-02", "CASE-32", "TROUBLE-36")
async def test_a_client_that_takes_no_form_of_answer_is_406() -> None:
    async with running(Office()) as manager, session(manager) as client:
        refused = await client.send(call("echo"), accept="text/html")
        both = "Not Acceptable: Client must accept both application/json and text/event-stream"
        assert error_of(refused) == (406, -32600, both)
        refused = await client.send(method="GET", accept="application/json")
        assert error_of(refused) == (406, -32600, "Not Acceptable: Client must accept text/event-stream")
        alone = await client.send(call("progress"), accept="application/json")
        assert text_of(alone.json) == "progress done"
    async with running(Office(), json_response=True) as manager, session(manager) as client:
        refused = await client.send(call("echo"), accept="text/html")
        assert error_of(refused) == (406, -32600, "Not Acceptable: Client must accept application/json")
        only_events = await client.send(call("progress"), accept="text/event-stream")
        assert len(only_events.events) == 3


@pytest.mark.rule("RUN-49", "RUN-D10", "LEG-J-19", "LEG-H-07", "LEG-J-03")
@pytest.mark.parametrize(
    ("body", "code"),
    [(b"{", -32700), (b"[]", -32600), (b"[{}]", -32600), (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600)],
)
async def test_what_is_no_message_is_refused(body: bytes, code: int) -> None:
    async with running(Office()) as manager, session(manager) as client:
        refused = await client.send(body)
        assert (refused.status, refused.json["error"]["code"]) == (400, code)


@pytest.mark.rule("LEG-F-03", "TROUBLE-36")
@pytest.mark.rule(
    "RUN-50", "RUN-58", "LEG-E-01", "LEG-E-03", "LEG-E-04", "LEG-E-05", "LEG-E-09", "LEG-E-10", "LEG-D-05"
)
async def test_what_belongs_to_no_request_goes_to_the_stand_alone_stream() -> None:
    async with running(Office()) as manager, session(manager) as client:
        await client.send(call("announce"))  # nobody listens yet
        stream = await client.listen()
        refused = await client.send(method="GET")
        assert error_of(refused) == (409, -32600, "Conflict: Only one SSE stream is allowed per session")
        called = await client.send(call("announce"))
        assert len(called.events) == 1
        await stream.until(lambda stream: len(stream.sent) > 2)
        assert [message["method"] for message in stream.events] == ["notifications/tools/list_changed"]
        stream.gone.set()
        await stream.until(lambda stream: True)
        await _until_free(client)


async def _until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        while not condition():
            await anyio.lowlevel.checkpoint()


async def _until_free(client: LegacyClient) -> None:
    """Open the stand-alone stream as soon as the server has noticed that the last one is gone."""
    with anyio.fail_after(5):
        while True:
            stream = client.begin(method="GET")
            await stream.until(lambda stream: bool(stream.sent))
            if stream.status == 200:
                return
            await anyio.lowlevel.checkpoint()


@pytest.mark.rule("RUN-51", "LEG-N-07", "LEG-N-08")
async def test_delete_ends_the_session_and_what_runs_in_it() -> None:
    office = Office()
    async with running(office) as manager, session(manager) as client:
        stream = await client.listen()
        waiting = client.begin(call("wait"))
        as_json = client.begin(call("wait", 3), accept="application/json")
        await office.begun.wait()
        deleted = await client.send(method="DELETE")
        assert (deleted.status, deleted.body) == (200, b"")
        for connection in (stream, waiting, as_json):
            await connection.until(lambda connection: connection.ended)
        assert (waiting.status, waiting.events) == (200, [])
        assert error_of(as_json) == (404, -32600, NOT_FOUND)
        assert error_of(await client.send(call("echo"))) == (404, -32600, NOT_FOUND)
        while len(office.seen) < 2:
            await anyio.lowlevel.checkpoint()


@pytest.mark.rule("RUN-52", "LEG-H-01")
@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD"])
async def test_other_methods_are_405(method: str) -> None:
    async with running(Office()) as manager, session(manager) as client:
        refused = await client.send(method=method)
        assert error_of(refused) == (405, -32600, "Method Not Allowed")
        assert refused.headers["allow"] == "GET, POST, DELETE"


@pytest.mark.rule("RUN-53", "RUN-D11", "LEG-V-02", "LEG-V-03")
async def test_another_handshake_version_in_the_header_is_served_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(Office()) as manager, session(manager) as client:
        await client.send(call("echo"), mcp_protocol_version=None)
        for _ in range(2):
            assert len((await client.send(call("echo"), mcp_protocol_version="2024-11-05")).events) == 1
        warnings = [record.message for record in caplog.records if "agreed on" in record.message]
        assert len(warnings) == 1
        assert "2024-11-05" in warnings[0]
        assert "2025-11-25" in warnings[0]


@pytest.mark.rule("LEG-V-04", "VER-D1")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_an_unknown_version_in_the_header_is_400_and_names_those_that_are_served(method: str) -> None:
    async with running(Office()) as manager, session(manager) as client:
        refused = await client.send(call("echo"), method=method, mcp_protocol_version="1999-01-01")
        assert error_of(refused) == (400, -32022, "Unsupported protocol version")
        assert refused.json["error"]["data"]["supported"] == [
            "2026-07-28",
            "2025-11-25",
            "2025-06-18",
            "2025-03-26",
            "2024-11-05",
        ]


@pytest.mark.rule("RUN-54", "RUN-D12")
async def test_a_failed_initialize_leaves_nothing_behind() -> None:
    async with running(Office(), max_sessions=1) as manager:
        for _ in range(3):
            bad = {**opening(), "params": {"protocolVersion": 5}}
            failed = await ask(manager, FakeConnection(json.dumps(bad).encode(), headers_of({})))
            assert failed.status == 200
            assert failed.events[0]["error"]["code"] == -32602
            assert "mcp-session-id" not in failed.headers
            while manager.open_sessions:
                await anyio.lowlevel.checkpoint()


@pytest.mark.rule("RUN-55", "RUN-D13")
async def test_a_second_request_under_an_id_in_flight_is_refused() -> None:
    office = Office()
    async with running(office) as manager, session(manager) as client:
        first = client.begin(call("wait", 7))
        await office.begun.wait()
        second = await client.send(call("echo", 7))
        assert error_of(second) == (400, -32600, "request id already in flight")
        office.release.set()
        await first.until(lambda first: first.ended)
        assert text_of(first.events[-1]) == "wait done"


@pytest.mark.rule("RUN-56", "LEG-C-10", "LEG-H-20")
async def test_a_client_that_leaves_cancels_nothing() -> None:
    office = Office()
    async with running(office) as manager, session(manager) as client:
        waiting = client.begin(call("wait"))
        await office.begun.wait()
        waiting.gone.set()
        await client.send(call("echo", 3))
        assert office.seen == []
        office.release.set()
        while not office.contexts[0].session.scope.finished:
            await anyio.lowlevel.checkpoint()
        assert office.seen == []


@pytest.mark.rule("RUN-56", "LEG-C-01", "LEG-C-05", "LEG-C-11", "CASE-5")
async def test_a_request_that_is_taken_back_ends_with_an_error_of_its_own() -> None:
    office = Office()
    async with running(office) as manager, session(manager) as client:
        waiting = client.begin(call("wait", 9))
        await office.begun.wait()
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
        assert (await client.send(cancelled)).status == 202
        await waiting.until(lambda waiting: waiting.ended)
        assert waiting.events == [
            {"jsonrpc": "2.0", "id": 9, "error": {"code": -32800, "message": "Request cancelled"}}
        ]
        assert office.seen == ["cancelled"]
        assert (await client.send(cancelled)).status == 202  # nothing is in progress any more


@pytest.mark.rule("RUN-57", "LEG-H-08")
async def test_json_answers_carry_nothing_but_the_result() -> None:
    async with running(Office(), json_response=True) as manager, session(manager, elicitation={}) as client:
        assert client.opened.headers["content-type"] == "application/json"
        assert text_of((await client.send(call("progress"))).json) == "progress done"
        assert text_of((await client.send(call("ask"))).json) == "no way to ask"
        unknown = await client.send({"jsonrpc": "2.0", "id": 5, "method": "no/such"})
        assert (unknown.status, unknown.json["error"]["code"]) == (200, -32601)


@pytest.mark.rule("RUN-47", "LEG-H-06", "LEG-H-15", "LEG-H-16", "LEG-H-17", "LEG-D-04", "VER-21", "LEG-H-18", "LOW-57")
async def test_a_question_goes_out_on_the_calls_stream_and_its_answer_comes_in_another_post() -> None:
    async with running(Office()) as manager, session(manager, elicitation={}) as client:
        calling = client.begin(call("ask"))
        await calling.until(lambda calling: len(calling.sent) > 1)
        (question,) = calling.events
        assert question["method"] == "elicitation/create"
        reply = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
        answered = await client.send(reply)
        assert (answered.status, answered.body) == (202, b"")
        await calling.until(lambda calling: calling.ended)
        assert text_of(calling.events[-1]) == "decline"


@pytest.mark.rule("LEG-Q-22")
async def test_a_question_asked_while_a_call_runs_belongs_to_it_whether_or_not_its_author_says_so() -> None:
    async with running(Office()) as manager, session(manager, elicitation={}) as client:
        stream = await client.listen()
        calling = client.begin(call("ask aside"))
        await calling.until(lambda calling: len(calling.sent) > 1)
        (question,) = calling.events
        await client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}})
        await calling.until(lambda calling: calling.ended)
        assert text_of(calling.events[-1]) == "cancel"
        assert stream.events == []


@pytest.mark.rule("RUN-58", "LOW-57")
async def test_a_question_that_belongs_to_no_request_goes_to_the_stand_alone_stream_while_it_is_open() -> None:
    office, answers = Office(), list[str]()

    async def ask_late() -> None:
        session = office.contexts[-1].session
        answers.append((await session.elicit_form("Name?", {"type": "object", "properties": {}})).action)

    async with running(office) as manager, session(manager, elicitation={}) as client:
        stream = await client.listen()
        await client.send(call("echo"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_late)
            await stream.until(lambda stream: len(stream.sent) > 2)
            (question,) = stream.events
            await client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}})
        assert answers == ["cancel"]


async def test_a_question_to_a_client_that_left_fails_instead_of_waiting() -> None:
    office = Office()
    async with running(office) as manager, session(manager, elicitation={}) as client:
        calling = client.begin(call("wait"))
        await office.begun.wait()
        calling.gone.set()
        while calling.received < 2:
            await anyio.lowlevel.checkpoint()
        await client.send(call("echo", 4))
        context = office.contexts[0]
        with pytest.raises(MCPError, match="Connection closed"), anyio.fail_after(5):
            await context.session.elicit_form("?", {"type": "object"}, context.request_id)


@pytest.mark.rule("RUN-47", "LEG-G-01", "CASE-49")
async def test_progress_comes_in_order_before_the_answer() -> None:
    async with running(Office()) as manager, session(manager) as client:
        called = await client.send(call("progress", 4))
        steps = [message["params"] for message in called.events[:-1]]
        assert steps == [
            {"progressToken": 4, "progress": 1, "total": 2},
            {"progressToken": 4, "progress": 2, "total": 2},
        ]


@pytest.mark.rule("RUN-23", "CASE-9", "TROUBLE-36")
async def test_beyond_the_limit_of_sessions_initialize_is_503_and_the_rest_goes_on() -> None:
    async with running(Office(), max_sessions=1) as manager, session(manager) as client:
        refused = await client.send(opening(), mcp_session_id=None)
        assert refused.status == 503
        assert refused.json == {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": -32603, "message": "Too many open sessions"},
        }
        assert len((await client.send(call("echo"))).events) == 1
        await client.send(method="DELETE")
        while manager.open_sessions:
            await anyio.lowlevel.checkpoint()
        assert (await client.send(opening(), mcp_session_id=None)).status == 200


@pytest.mark.rule("RUN-24", "CASE-9")
async def test_an_idle_session_ends_and_a_busy_one_does_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    office = Office()
    async with running(office, session_idle_timeout=0.05) as manager, session(manager) as busy:
        working = busy.begin(call("wait"))
        await office.begun.wait()
        async with session(manager) as idle:
            while f"Session {idle.session_id} idle timeout" not in caplog.text:
                await anyio.lowlevel.checkpoint()
            assert error_of(await idle.send(call("echo"))) == (404, -32600, NOT_FOUND)
        office.release.set()
        await working.until(lambda working: working.ended)
        assert text_of(working.events[-1]) == "wait done"


@pytest.mark.rule("LEG-N-12", "LEG-N-13", "LEG-N-14")
async def test_a_session_is_nobody_elses() -> None:
    async with running(Office()) as manager:
        mine, theirs = _user("mine"), _user("theirs")
        token = auth_context_var.set(mine)
        try:
            async with session(manager) as client:
                assert len((await client.send(call("echo"))).events) == 1
                for other in (theirs, None):
                    auth_context_var.set(other)
                    for method in ("POST", "GET", "DELETE"):
                        refused = await client.send(call("echo"), method=method)
                        assert error_of(refused) == (404, -32600, NOT_FOUND)
                auth_context_var.set(_user("mine"))
                assert len((await client.send(call("echo"))).events) == 1
        finally:
            auth_context_var.reset(token)


class _user:
    def __init__(self, subject: str) -> None:
        self.access_token = AccessToken(token="t", client_id="c", scopes=[], subject=subject)


@pytest.mark.rule("RUN-73", "CASE-31")
async def test_leaving_run_cancels_calls_at_once_and_ends_every_stream() -> None:
    office = Office()
    manager = StreamableHTTPSessionManager(office.server)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            async with manager.run():
                client = LegacyClient(manager, group, "2025-11-25")
                client.opened = await client.send(opening(), mcp_protocol_version=None)
                client.session_id = client.opened.headers["mcp-session-id"]
                stream = await client.listen()
                waiting = client.begin(call("wait"))
                await office.begun.wait()
            await _until(lambda: stream.ended and waiting.ended)
            assert waiting.events[-1]["error"] == {"code": -32603, "message": "The server is shutting down"}
    assert office.seen == ["cancelled"]


async def test_initialize_twice_is_refused_within_the_session() -> None:
    async with running(Office()) as manager, session(manager) as client:
        again = await client.send(opening())
        assert again.events[0]["error"] == {"code": -32600, "message": "already initialized"}


@pytest.mark.rule("LEG-D-06", "LOG-6")
async def test_log_messages_belong_to_the_call() -> None:
    async with running(Office()) as manager, session(manager) as client:
        called = await client.send(call("log"))
        assert called.events[0]["params"] == {"level": "info", "data": "hello"}


@pytest.mark.rule("CASE-35")
async def test_a_silent_call_keeps_its_stream_alive() -> None:
    office = Office()
    async with running(office, keep_alive_interval=0.01) as manager, session(manager) as client:
        waiting = client.begin(call("wait"))
        await waiting.until(lambda waiting: waiting.body.count(b":\r\n") > 1)
        office.release.set()
        await waiting.until(lambda waiting: waiting.ended)
        assert len(waiting.events) == 1


@pytest.mark.rule("RUN-34")
async def test_a_get_of_the_modern_era_is_405_whatever_sessions_there_are() -> None:
    async with running(Office()) as manager, session(manager) as client:
        refused = await client.send(method="GET", mcp_protocol_version="2026-07-28")
        assert (refused.status, refused.body, refused.headers["allow"]) == (405, b"", "POST")


@pytest.mark.rule("LEG-H-02")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_page_of_another_origin_is_refused(method: str) -> None:
    async with (
        running(Office(), security_settings=default_security("127.0.0.1")) as manager,
        session(manager) as client,
    ):
        refused = await client.send(call("echo"), method=method, origin="http://evil.example")
        assert refused.status == 403
        assert len((await client.send(call("echo"), origin="http://localhost:8000")).events) == 1
