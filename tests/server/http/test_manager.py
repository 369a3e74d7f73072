from __future__ import annotations

import gc
import json
import logging
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from starlette.requests import Request

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings, default_security
from mcp.shared.exceptions import MCPError
from tests.server.http.fakes import VERSION, FakeConnection, metadata, request_body, request_headers
from tests.server.http.servers import Context, Workshop, ask, running


def call(name: str = "echo", arguments: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return request_body("tools/call", {"name": name, "arguments": arguments or {}}, **options)


@pytest.mark.rule("RUN-33", "RUN-36", "VER-20", "HTTP-E-01", "HTTP-P-10")
@pytest.mark.parametrize("request_id", [7, "seven", 0, ""])
async def test_a_call_is_answered_with_a_json_document_under_its_id(request_id: Any) -> None:
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(call(request_id=request_id)))
    assert answer.status == 200
    assert answer.json["id"] == request_id
    assert answer.json["result"]["content"] == [{"type": "text", "text": "echo done"}]
    assert "mcp-session-id" not in answer.headers


@pytest.mark.rule("RUN-33", "HTTP-B-06", "HTTP-B-07", "RUN-67")
async def test_headers_of_legacy_sessions_are_ignored() -> None:
    body = call()
    headers = request_headers(body, mcp_session_id="nobody", last_event_id="1")
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(json.dumps(body).encode(), headers))
    assert answer.status == 200


@pytest.mark.rule("RUN-36", "HTTP-R-01", "HTTP-R-02", "HTTP-R-04", "HTTP-R-05", "HTTP-R-08")
async def test_notifications_before_the_result_make_it_a_stream() -> None:
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(call("progress", progressToken="p")))
    assert answer.headers["content-type"] == "text/event-stream"
    assert [event["params"]["progress"] for event in answer.events[:2]] == [1, 2]
    assert answer.events[2]["result"]["content"][0]["text"] == "progress done"
    assert answer.ended


@pytest.mark.rule("RUN-D6", "RUN-25")
@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("max_request_body_size", 0, "max_request_body_size must be a positive number of bytes"),
        ("max_sessions", 0, "max_sessions must be a positive number of sessions or None"),
        ("session_idle_timeout", 0, "session_idle_timeout must be a positive, finite number of seconds"),
        ("session_idle_timeout", float("inf"), "session_idle_timeout must be a positive, finite number of seconds"),
        ("session_idle_timeout", float("nan"), "session_idle_timeout must be a positive, finite number of seconds"),
        ("retry_interval", -1, "retry_interval must be a positive number of milliseconds"),
        ("retry_interval", 0, "retry_interval must be a positive number of milliseconds"),
        ("shutdown_timeout", -1, "shutdown_timeout must be a finite number of seconds, 0 or more"),
        ("keep_alive_interval", 0, "keep_alive_interval must be a positive, finite number of seconds"),
    ],
)
def test_limits_and_times_that_make_no_sense_are_refused(option: str, value: Any, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text}$"):
        StreamableHTTPSessionManager(Server("s"), **{option: value})


def test_no_limit_and_no_timeout_are_fine() -> None:
    manager = StreamableHTTPSessionManager(Server("s"), max_sessions=None, session_idle_timeout=None)
    assert isinstance(manager.asgi_app, StreamableHTTPASGIApp)


@pytest.mark.rule("RUN-14")
async def test_a_manager_that_does_not_run_says_so() -> None:
    manager = StreamableHTTPSessionManager(Workshop().server)
    with pytest.raises(RuntimeError, match=r"^Task group is not initialized\. Make sure to use run\(\)\.$"):
        await ask(manager, FakeConnection(call()))
    async with manager.run():
        pass
    with pytest.raises(RuntimeError, match=r"^Task group is not initialized\. Make sure to use run\(\)\.$"):
        await ask(manager, FakeConnection(call()))


@pytest.mark.rule("RUN-15", "TROUBLE-35")
async def test_a_manager_runs_once() -> None:
    manager = StreamableHTTPSessionManager(Workshop().server)
    async with manager.run():
        pass
    with pytest.raises(RuntimeError, match=r"^StreamableHTTPSessionManager \.run\(\) can only be called once per "):
        async with manager.run():
            pass


@pytest.mark.rule("RUN-D7", "CASE-6")
async def test_a_manager_without_security_settings_warns_when_it_starts(caplog: pytest.LogCaptureFixture) -> None:
    async with running(Workshop()):
        pass
    assert "transport_security" in caplog.text
    caplog.clear()
    off = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    for settings in (off, default_security("localhost")):
        async with running(Workshop(), security_settings=settings):
            pass
    assert caplog.records == []


@pytest.mark.rule("RUN-30", "RUN-31", "HTTP-E-03", "HTTP-E-04", "TROUBLE-32", "TROUBLE-33")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize(
    ("changes", "status", "text"),
    [
        ({"host": "evil.example"}, 421, "Invalid Host header"),
        ({"host": None}, 421, "Invalid Host header"),
        ({"origin": "http://evil.example"}, 403, "Invalid Origin header"),
    ],
)
async def test_foreign_hosts_and_origins_are_refused_on_every_method(
    method: str, changes: dict[str, str | None], status: int, text: str
) -> None:
    body = call()
    connection = FakeConnection(json.dumps(body).encode(), request_headers(body, **changes), method=method)
    async with running(Workshop(), security_settings=default_security("127.0.0.1")) as manager:
        answer = await ask(manager, connection)
    assert answer.status == status
    assert answer.json["id"] is None
    assert answer.json["error"]["code"] == -32600
    assert answer.json["error"]["message"].startswith(text)


@pytest.mark.rule("RUN-30", "RUN-32")
async def test_a_post_of_another_content_type_is_refused() -> None:
    body = call()
    connection = FakeConnection(json.dumps(body).encode(), request_headers(body, content_type="text/plain"))
    async with running(Workshop()) as manager:
        answer = await ask(manager, connection)
    assert answer.status == 400
    assert answer.json["error"]["message"].startswith("Invalid Content-Type header")


@pytest.mark.rule("RUN-22", "TROUBLE-36")
@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_above_the_limit_is_413_and_names_the_setting(chunked: bool) -> None:
    body = call("echo", {"text": "x" * 200})
    data = json.dumps(body).encode()
    chunks = [data[:100], data[100:]] if chunked else [data]
    async with running(Workshop(), max_request_body_size=150) as manager:
        answer = await ask(manager, FakeConnection(chunks, request_headers(body)))
    assert answer.status == 413
    assert answer.json["error"]["message"].startswith("Request body too large")
    assert "max_request_body_size" in answer.json["error"]["message"]
    assert answer.json["id"] is None


@pytest.mark.rule("RUN-34", "HTTP-B-05", "SERR-15")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "HEAD"])
async def test_other_methods_are_405(method: str) -> None:
    async with running(Workshop()) as manager:
        headers = {"accept": "text/event-stream", "mcp-protocol-version": VERSION}
        answer = await ask(manager, FakeConnection(b"", headers, method=method))
    assert answer.status == 405
    assert answer.headers["allow"] == "POST"
    assert answer.body == b""


@pytest.mark.rule("RUN-35", "CASE-32")
@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json, text/event-stream", "json"),
        ("*/*", "json"),
        ("application/*", "json"),
        ("application/json", "json"),
        ("text/event-stream", "sse"),
        ("text/event-stream;q=0.5, application/json;q=0", "sse"),
        (None, "json"),
        ("text/html", None),
        ("application/json;q=0", None),
    ],
)
async def test_the_answer_is_of_a_type_the_client_accepts(accept: str | None, kind: str | None) -> None:
    body = call("progress", progressToken=1)
    plain = call()
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(json.dumps(plain).encode(), request_headers(plain, accept=accept)))
        noisy = await ask(manager, FakeConnection(json.dumps(body).encode(), request_headers(body, accept=accept)))
    if kind is None:
        assert answer.status == noisy.status == 406
        assert answer.body == b""
    elif kind == "json":
        assert answer.json["result"]
    else:
        assert answer.events[0]["result"]
    if accept == "application/json":
        assert noisy.json["result"]["content"][0]["text"] == "progress done"


@pytest.mark.rule("RUN-37", "HTTP-P-07", "HTTP-P-12")
async def test_a_notification_is_202_and_reaches_its_handler() -> None:
    workshop = Workshop()
    seen: list[Any] = []

    async def noted(ctx: Context, params: types.NotificationParams | None) -> None:
        seen.append((ctx.method, ctx.request_id))
        await ctx.session.send_progress_notification("p", 1)

    workshop.server.add_notification_handler("vendor/noted", types.NotificationParams, noted)
    body = {"jsonrpc": "2.0", "method": "vendor/noted", "params": {"_meta": metadata()}}
    headers = request_headers(body, mcp_method=None)
    async with running(workshop) as manager:
        answer = await ask(manager, FakeConnection(json.dumps(body).encode(), headers))
    assert answer.status == 202
    assert answer.body == b""
    assert seen == [("vendor/noted", None)]


@pytest.mark.rule("MW-4", "MW-D4", "RUN-37")
async def test_a_notification_is_answered_at_once_and_passes_through_middleware() -> None:
    workshop = Workshop()
    body = {"jsonrpc": "2.0", "method": "vendor/noted", "params": {"_meta": metadata()}}
    connection = FakeConnection(json.dumps(body).encode(), request_headers(body, mcp_method=None))
    answered: list[tuple[str, int]] = []

    async def watch(ctx: Context, call_next: CallNext) -> HandlerResult:
        answered.append((ctx.method, connection.status))
        return await call_next(ctx)

    workshop.server.middleware.append(watch)
    async with running(workshop) as manager:
        await ask(manager, connection)
    assert answered == [("vendor/noted", 202)]


@pytest.mark.rule("RUN-38", "SERR-01", "HTTP-P-05", "HTTP-P-06", "VER-8")
@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        (b"{", -32700, "Parse error"),
        (b"\xff", -32700, "Parse error"),
        (b"", -32700, "Parse error"),
        (b"[" * 100_000, -32700, "Parse error"),
        (b"[]", -32600, "Body must be a single JSON-RPC request or notification object"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, "Body must be a single"),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', -32600, "Body must be a single"),
        (b'{"jsonrpc":"2.0","id":null,"method":"tools/call"}', -32600, "Body must be a single"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/call"}', -32600, "Body must be a single"),
        (b'{"jsonrpc":"2.0","id":true,"method":"tools/call"}', -32600, "Body must be a single"),
        (b'{"jsonrpc":"1.0","id":1,"method":"tools/call"}', -32600, "Body must be a single"),
    ],
)
async def test_what_is_no_message_is_refused(body: bytes, code: int, text: str) -> None:
    headers = request_headers(call())
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(body, headers))
        healthy = await ask(manager, FakeConnection(call()))
    assert answer.status == 400
    assert answer.json["error"]["code"] == code
    assert answer.json["error"]["message"].startswith(text)
    assert answer.json.get("id") in (None, 1)
    assert healthy.status == 200


@pytest.mark.rule("TR-04", "TR-05", "VER-C-21", "BASE-E-06")
@pytest.mark.rule("RUN-39", "RUN-40", "RUN-41", "HTTP-H-03", "HTTP-H-13", "HTTP-S-03", "HTTP-S-04", "SERR-12", "VER-19")
@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"mcp_protocol_version": "2025-11-25"}, "mcp-protocol-version header does not match"),
        ({"mcp_method": None}, "mcp-method header does not match the request body's method"),
        ({"mcp_method": "TOOLS/CALL"}, "mcp-method header does not match the request body's method"),
        ({"mcp_name": None}, "mcp-name header does not match the request body's 'name' parameter"),
        ({"mcp_name": "other"}, "mcp-name header does not match the request body's 'name' parameter"),
    ],
)
async def test_headers_that_contradict_the_body_are_refused(changes: dict[str, str | None], text: str) -> None:
    body = call()
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(json.dumps(body).encode(), request_headers(body, **changes)))
    assert answer.status == 400
    assert answer.json["id"] == 1
    assert answer.json["error"]["code"] == -32020
    assert answer.json["error"]["message"].startswith(text)


@pytest.mark.rule("RUN-40", "HTTP-S-05")
async def test_a_header_that_appears_twice_is_refused() -> None:
    body = call()
    headers = [*request_headers(body).items(), ("Mcp-Method", "tools/call")]
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(json.dumps(body).encode(), headers))
    assert answer.status == 400
    assert answer.json["error"]["message"] == "mcp-method header appears more than once"


@pytest.mark.rule("RUN-41", "HTTP-V-08")
async def test_a_name_outside_ascii_travels_encoded() -> None:
    body = call("größe")
    headers = request_headers(body, mcp_name="=?base64?Z3LDtsOfZQ==?=")
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(json.dumps(body).encode(), headers))
    assert answer.status == 200


@pytest.mark.rule("HTTP-H-05", "SERR-13", "VER-3", "VER-19")
@pytest.mark.parametrize("method", ["ping", "initialize", "logging/setLevel", "resources/subscribe", "nothing/there"])
async def test_an_unknown_method_is_404(method: str) -> None:
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(request_body(method, {"uri": "a://b", "level": "info"})))
    assert answer.status == 404
    assert answer.json["error"]["code"] == -32601
    assert answer.json["id"] == 1


@pytest.mark.rule("HTTP-H-04", "SERR-11", "VER-12", "VER-19", "VER-C-21", "BASE-M-17", "BASE-E-06")
async def test_an_unsupported_version_is_400_and_names_the_supported_ones() -> None:
    body = call()
    body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01"
    headers = request_headers(body, mcp_protocol_version="2099-01-01")
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(json.dumps(body).encode(), headers))
    assert answer.status == 400
    assert answer.json["error"]["code"] == -32022
    assert answer.json["error"]["data"] == {
        "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        "requested": "2099-01-01",
    }


@pytest.mark.rule("SERR-09", "VER-19")
async def test_missing_metadata_is_400() -> None:
    body = call()
    del body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(body))
    assert answer.status == 400
    assert answer.json["error"]["code"] == -32602


@pytest.mark.rule("VER-19")
@pytest.mark.parametrize(
    ("code", "status"),
    [
        (-32700, 400),
        (-32600, 400),
        (-32602, 400),
        (-32020, 400),
        (-32021, 400),
        (-32022, 400),
        (-32601, 404),
        (-32603, 200),
        (-32000, 200),
        (1234, 200),
    ],
)
async def test_an_error_of_a_handler_has_the_status_of_its_code(code: int, status: int) -> None:
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(call("refuse", {"error": [code, "no", {"why": 1}]})))
    assert answer.status == status
    assert answer.json == {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no", "data": {"why": 1}}}


@pytest.mark.rule("VER-19")
async def test_an_error_after_the_stream_started_keeps_200() -> None:
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(call("late", progressToken=1)))
    assert answer.status == 200
    assert answer.events[-1]["error"]["code"] == -32601


async def test_the_text_of_an_unexpected_exception_stays_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(call("fail")))
    assert answer.json["error"] == {"code": -32603, "message": "Internal server error"}
    assert "dsn=secret" in caplog.text


async def test_wrong_parameter_types_are_400() -> None:
    body = request_body("tools/call", {"name": "echo", "arguments": [1]})
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(body))
    assert answer.status == 400
    assert answer.json["error"]["code"] == -32602


async def test_an_answer_without_json_form_is_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    async def vendor(ctx: Context, params: types.RequestParams) -> dict[str, Any]:
        return {"number": float("nan")}

    workshop = Workshop()
    workshop.server.add_request_handler("vendor/nan", types.RequestParams, vendor)
    async with running(workshop) as manager:
        answer = await ask(manager, FakeConnection(request_body("vendor/nan")))
    assert answer.json["error"]["code"] == -32603


@pytest.mark.rule("RUN-43", "HTTP-C-01", "HTTP-C-02", "HTTP-C-03", "SUBS-19")
@pytest.mark.parametrize("method", ["tools/call", "subscriptions/listen"])
async def test_a_client_that_leaves_cancels_its_request_and_hears_nothing_more(method: str) -> None:
    workshop = Workshop()
    listen = request_body(method, {"notifications": {"toolsListChanged": True}})
    connection = FakeConnection(call("wait") if method == "tools/call" else listen)
    before = -1
    async with running(workshop) as manager:
        async with anyio.create_task_group() as group:
            group.start_soon(manager.handle_request, connection.scope, connection.receive, connection.send)
            if method == "tools/call":
                await workshop.begun.wait()
            else:
                await connection.until(lambda c: b"acknowledged" in c.body)
            before = len(connection.sent)
            connection.gone.set()
    assert workshop.seen == (["cancelled"] if method == "tools/call" else [])
    assert len(connection.sent) == before
    assert not connection.ended


async def test_a_client_that_leaves_while_it_sends_is_forgotten() -> None:
    connection = FakeConnection([], request_headers(call()))
    connection.gone.set()
    async with running(Workshop()) as manager:
        assert (await ask(manager, connection)).sent == []


@pytest.mark.rule("HTTP-R-09", "CASE-35")
async def test_a_silent_call_keeps_its_stream_alive() -> None:
    workshop = Workshop()
    connection = FakeConnection(call("wait"))
    async with running(workshop, keep_alive_interval=0.01) as manager:
        async with anyio.create_task_group() as group:
            group.start_soon(manager.handle_request, connection.scope, connection.receive, connection.send)
            await connection.until(lambda c: c.body.count(b":\r\n\r\n") >= 2)
            workshop.release.set()
    assert connection.events[-1]["result"]["content"][0]["text"] == "wait done"


async def test_json_response_drops_notifications_and_keep_alives() -> None:
    async with running(Workshop(), json_response=True) as manager:
        answer = await ask(manager, FakeConnection(call("progress", progressToken=1)))
    assert answer.json["result"]["content"][0]["text"] == "progress done"


@pytest.mark.rule("RUN-36", "HTTP-R-07")
@pytest.mark.parametrize("json_response", [False, True])
async def test_listen_is_a_stream_whatever_json_response_says(json_response: bool) -> None:
    workshop = Workshop()
    connection = FakeConnection(request_body("subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
    async with running(workshop, json_response=json_response) as manager:
        async with anyio.create_task_group() as group:
            group.start_soon(manager.handle_request, connection.scope, connection.receive, connection.send)
            await connection.until(lambda c: b"acknowledged" in c.body)
            workshop.listen.close()
    assert [event.get("method") for event in connection.events] == ["notifications/subscriptions/acknowledged", None]


async def test_listen_needs_a_client_that_takes_events() -> None:
    body = request_body("subscriptions/listen", {"notifications": {}})
    headers = request_headers(body, accept="application/json")
    async with running(Workshop()) as manager:
        answer = await ask(manager, FakeConnection(json.dumps(body).encode(), headers))
    assert answer.status == 406


async def test_the_context_has_the_http_request_with_its_body() -> None:
    workshop = Workshop()
    async with running(workshop) as manager:
        await ask(manager, FakeConnection(call()))
    (ctx,) = workshop.contexts
    request = ctx.request
    assert isinstance(request, Request)
    assert (await request.json())["method"] == "tools/call"
    assert request.headers["mcp-name"] == "echo"
    assert ctx.session.scope.headers is not None
    assert ctx.session.scope.headers["mcp-name"] == "echo"
    assert ctx.protocol_version == "2026-07-28"


async def test_a_handler_may_ask_whether_its_client_is_still_there() -> None:
    answers: list[bool] = []

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        request = ctx.request
        assert request is not None
        answers.append(await request.is_disconnected())
        workshop.begun.set()
        try:
            await workshop.release.wait()
        finally:
            with anyio.CancelScope(shield=True):
                answers.append(await request.is_disconnected())
        return types.CallToolResult(content=[])

    workshop = Workshop(on_call_tool=call_tool)
    connection = FakeConnection(call())
    async with running(workshop) as manager:
        async with anyio.create_task_group() as group:
            group.start_soon(manager.handle_request, connection.scope, connection.receive, connection.send)
            await workshop.begun.wait()
            connection.gone.set()
    assert answers == [False, True]


@pytest.mark.rule("LOW-58", "LOW-59", "CASE-22")
async def test_the_lifespan_is_entered_once_and_its_value_reaches_every_request() -> None:
    from collections.abc import AsyncGenerator
    from contextlib import asynccontextmanager

    entered: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server[Any]) -> AsyncGenerator[list[str]]:
        entered.append("in")
        yield entered
        entered.append("out")

    workshop = Workshop(lifespan=lifespan)
    async with running(workshop) as manager:
        await ask(manager, FakeConnection(call()))
        await ask(manager, FakeConnection(call()))
        assert entered == ["in"]
    assert entered == ["in", "out"]
    assert all(ctx.lifespan_context is entered for ctx in workshop.contexts)


@pytest.mark.rule("RUN-D18", "SUBS-16", "SUB-12", "SUB-13")
async def test_leaving_run_ends_listen_streams_with_their_result_and_cancels_late_calls() -> None:
    workshop = Workshop()
    listening = FakeConnection(request_body("subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
    waiting = FakeConnection(call("wait", request_id=2))
    streaming = FakeConnection(call("wait", request_id=3))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            async with running(workshop, shutdown_timeout=0.05, keep_alive_interval=60) as manager:
                for connection in (listening, waiting, streaming):
                    group.start_soon(manager.handle_request, connection.scope, connection.receive, connection.send)
                await workshop.begun.wait()
                await listening.until(lambda c: b"acknowledged" in c.body)
    assert listening.events[-1]["result"]["resultType"] == "complete"
    assert listening.ended
    assert workshop.seen == ["cancelled", "cancelled"]
    assert waiting.status == 503
    assert waiting.json["id"] == 2
    assert waiting.json["error"] == {"code": -32603, "message": "The server is shutting down"}


@pytest.mark.rule("RUN-D18")
async def test_a_call_that_ends_in_time_is_answered_when_the_server_stops() -> None:
    workshop = Workshop()
    connection = FakeConnection(call("wait"))
    async with anyio.create_task_group() as group:
        async with running(workshop) as manager:
            group.start_soon(manager.handle_request, connection.scope, connection.receive, connection.send)
            await workshop.begun.wait()
            group.start_soon(release_when_closed, workshop, manager)
    assert connection.status == 200


async def release_when_closed(workshop: Workshop, manager: StreamableHTTPSessionManager) -> None:
    await anyio.wait_all_tasks_blocked()
    assert not manager.is_running
    workshop.release.set()


@pytest.mark.rule("RUN-D18")
async def test_a_failure_inside_run_does_not_wait_for_calls() -> None:
    workshop = Workshop()
    connection = FakeConnection(call("wait"))

    async def fail(group: TaskGroup) -> None:
        async with running(workshop, shutdown_timeout=60) as manager:
            group.start_soon(manager.handle_request, connection.scope, connection.receive, connection.send)
            await workshop.begun.wait()
            raise ZeroDivisionError

    async with anyio.create_task_group() as group:
        with pytest.raises(ZeroDivisionError):
            await fail(group)
    assert workshop.seen == ["cancelled"]


async def test_the_log_stays_quiet_about_refused_requests(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with running(Workshop(), security_settings=default_security("localhost")) as manager:
            await ask(manager, FakeConnection(b"{", request_headers(call())))
            await ask(manager, FakeConnection(request_body("nothing/there")))
    assert caplog.records == []


@pytest.mark.rule("HTTP-R-03", "LOW-47")
async def test_a_handler_has_no_way_to_ask_its_client() -> None:
    workshop = Workshop()
    async with running(workshop) as manager:
        await ask(manager, FakeConnection(call()))
    assert workshop.contexts[0].session.scope.ask is None
    assert not workshop.contexts[0].session.can_send_request


@pytest.mark.rule("RUN-75", "BASE-S-03", "BASE-S-06")
async def test_any_replica_serves_any_request() -> None:
    async with running(Workshop()) as one, running(Workshop()) as two:
        answers = [await ask(manager, FakeConnection(call(request_id=7))) for manager in (one, two, one, two)]
    assert len({answer.body for answer in answers}) == 1


@pytest.mark.rule("SUBS-21")
async def test_a_middleware_may_refuse_a_stream_before_it_opens() -> None:
    async def gate(ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method == "subscriptions/listen" and "secret://1" in str(ctx.params):
            raise MCPError(-32602, "not for you")
        return await call_next(ctx)

    workshop = Workshop()
    workshop.server.middleware.append(gate)
    body = request_body("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["secret://1"]}})
    async with running(workshop) as manager:
        answer = await ask(manager, FakeConnection(body))
    assert answer.status == 400
    assert answer.json["error"] == {"code": -32602, "message": "not for you"}


@pytest.mark.rule("SUBS-22", "HTTP-R-07")
async def test_a_server_may_bring_its_own_listen_handler() -> None:
    async def listen(ctx: Context, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        await ctx.session.scope.notify("notifications/subscriptions/acknowledged", {"notifications": {}})
        return types.SubscriptionsListenResult()

    body = request_body("subscriptions/listen", {"notifications": {}})
    async with running(Workshop(on_subscriptions_listen=listen)) as manager:
        answer = await ask(manager, FakeConnection(body))
    assert answer.events[0]["method"] == "notifications/subscriptions/acknowledged"
    assert answer.events[1]["result"]["resultType"] == "complete"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_call_leaves_nothing_for_the_garbage_collector() -> None:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[])

    async def serve(times: int) -> None:
        for _ in range(times):
            connection = FakeConnection(call())
            await manager.handle_request(connection.scope, connection.receive, connection.send)

    async with running(Workshop(on_call_tool=call_tool)) as manager:
        await serve(5)
        gc.collect()
        gc.disable()
        try:
            before = len(gc.get_objects())
            await serve(1000)
            after = len(gc.get_objects())
        finally:
            gc.enable()
    # What the last few calls have not let go of yet (their timers run for 20 ms) does not grow with their number.
    assert after - before < 500, after - before
