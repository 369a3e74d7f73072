"""What older revisions know and newer ones do not, on a pipe: tasks, levels, URLs to visit, progress."""

from __future__ import annotations

import warnings
from typing import Any

import anyio
import pytest

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError, NoBackChannelError, UrlElicitationRequiredError
from tests.server.lowlevel.test_legacy_pipe import serving, session
from tests.server.lowlevel.test_pipe import HELLO
from tests.server.lowlevel.wire import caller, pipe

Context = ServerRequestContext[Any, Any]
ANY_VERSION = pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])


@ANY_VERSION
@pytest.mark.rule("LEG-T-16")
async def test_a_call_that_asks_to_be_a_task_is_a_call_like_any_other(version: str) -> None:
    async with session(serving(), protocolVersion=version) as client:
        await client.request(2, "tools/call", {"name": "x", "task": {"ttl": 1000}}, modern=False)
        assert (await client.result()).result == {"content": [{"type": "text", "text": "done"}], "isError": False}


@ANY_VERSION
@pytest.mark.rule("LEG-T-40", "VER-C-06")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"])
async def test_tasks_are_served_in_no_revision(version: str, method: str) -> None:
    async with session(serving(), protocolVersion=version) as client:
        await client.request(2, method, {"taskId": "1"}, modern=False)
        assert (await client.error()).code == -32601
    async with pipe(serving()) as client:
        await client.request(1, method, {"taskId": "1"})
        assert (await client.error()).code == -32601


@pytest.mark.rule("VER-C-02", "VER-C-04", "VER-C-05", "BASE-J-16", "SERR-17")
@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"])
async def test_what_the_modern_revision_has_given_up_is_served_to_older_clients_alone(method: str) -> None:
    async def empty(ctx: Context, params: Any) -> types.EmptyResult:
        return types.EmptyResult()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        server = Server(  # pyright: ignore[reportDeprecated]
            "s", on_set_logging_level=empty, on_subscribe_resource=empty, on_unsubscribe_resource=empty
        )
    params = {"level": "info", "uri": "x://y"}
    async with session(server) as client:
        await client.request(2, method, params, modern=False)
        assert (await client.result()).result == {}
    async with pipe(server) as client:
        await client.request(1, method, params)
        error = await client.error()
        assert (error.code, error.data) == (-32601, method)


@pytest.mark.rule("LEG-F-07")
async def test_an_unknown_level_is_refused() -> None:
    async def level(ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        return types.EmptyResult()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        server = serving(on_set_logging_level=level)
    async with session(server) as client:
        await client.request(2, "logging/setLevel", {"level": "loud"}, modern=False)
        assert (await client.error()).code == -32602


@pytest.mark.rule("LEG-L-06")
async def test_until_the_handshake_is_confirmed_the_server_says_nothing_of_its_own() -> None:
    async with pipe(serving()) as client:
        await client.request(1, "initialize", HELLO, modern=False)
        await client.result()
        await anyio.wait_all_tasks_blocked()
        assert client.from_server.statistics().current_buffer_used == 0


@pytest.mark.rule("LEG-G-02", "LEG-G-03")
async def test_progress_grows_keeps_fractions_and_texts_and_ends_with_the_answer() -> None:
    contexts: list[Context] = []

    async def body(ctx: Context) -> None:
        contexts.append(ctx)
        for value in (0.5, 0.5, 0.25, 1):
            await ctx.session.report_progress(value, 2, f"at {value}")

    async with session(serving(body)) as client:
        await client.request(2, "tools/call", {"name": "x", "_meta": {"progressToken": "t"}}, modern=False)
        assert [(await client.notification()).params for _ in range(2)] == [
            {"progressToken": "t", "progress": 0.5, "total": 2, "message": "at 0.5"},
            {"progressToken": "t", "progress": 1, "total": 2, "message": "at 1"},
        ]
        await client.result()
        await contexts[0].session.report_progress(2, 2)
        await client.request(3, "ping", modern=False)
        assert (await client.result()).request_id == 3


@pytest.mark.rule("LEG-Q-12", "LEG-Q-18", "LEG-Q-20")
async def test_urls_to_visit_are_an_error_that_lists_them_all_or_a_question_each() -> None:
    wanted = [
        types.ElicitRequestURLParams(message=f"Go {n}", url=f"https://a/{n}", elicitation_id=f"e{n}") for n in (1, 2)
    ]

    async def body(ctx: Context) -> None:
        if len(asked) > 1:
            raise UrlElicitationRequiredError(wanted)
        await ctx.session.elicit_url("Go", "https://a/b", "e9", ctx.request_id)

    asked: list[int] = []
    async with session(serving(body), capabilities={"elicitation": {"url": {}}}) as client:
        asked.append(1)
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        question = await client.question()
        assert question.params == {"mode": "url", "message": "Go", "url": "https://a/b", "elicitationId": "e9"}
        await client.send({"id": question.request_id, "result": {"action": "accept"}})
        await client.result()
        asked.append(2)
        await client.request(3, "tools/call", {"name": "x"}, modern=False)
        error = await client.error()
    assert error.code == -32042
    assert error.data == {
        "elicitations": [
            {"mode": "url", "message": f"Go {n}", "url": f"https://a/{n}", "elicitationId": f"e{n}"} for n in (1, 2)
        ]
    }


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.rule("LEG-Q-07", "LEG-Q-09")
async def test_an_older_client_is_asked_as_its_revision_asks() -> None:
    field = {"type": "string", "oneOf": [{"const": "r", "title": "Red"}], "default": "r"}
    forms = [{"color": field}, {"tags": {"type": "array", "items": {"type": "string", "enum": ["a"]}}}]
    words = [types.TextContent(type="text", text=text) for text in ("one", "two")]

    async def body(ctx: Context) -> None:
        await ctx.session.create_message([types.SamplingMessage(role="user", content=[*words])], max_tokens=5)  # pyright: ignore[reportDeprecated]
        for properties in forms:
            await ctx.session.elicit_form("?", {"type": "object", "properties": properties})

    declared: dict[str, Any] = {"elicitation": {}, "sampling": {}}
    async with session(serving(body), protocolVersion="2025-06-18", capabilities=declared) as client:
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        sampling = await client.question()
        content = [message["content"] for message in (sampling.params or {})["messages"]]
        assert content == [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
        answer = {"role": "assistant", "content": {"type": "text", "text": "ok"}, "model": "m"}
        await client.send({"id": sampling.request_id, "result": answer})
        form = await client.question()
        color = {"type": "string", "enum": ["r"], "enumNames": ["Red"]}
        assert form.params == {
            "message": "?", "requestedSchema": {"type": "object", "properties": {"color": color}}
        }  # fmt: skip
        await client.send({"id": form.request_id, "result": {"action": "decline"}})
        error = await client.error()
        assert (error.code, "2025-06-18" in error.message, "'tags'" in error.message) == (-32603, True, True)


@pytest.mark.rule("LEG-Q-19", "LEG-Q-20")
@pytest.mark.parametrize(
    ("error", "legacy"),
    [
        (MCPError(-32042, "go"), -32603),
        (MCPError(-32042, "go", {"elicitations": []}), -32603),
        (MCPError(-32042, "go", {"elicitations": 3}), -32603),
        (MCPError(-32042, "go", {"elicitations": [{"mode": "form", "url": 3}]}), -32603),
        (UrlElicitationRequiredError([], "go"), -32603),
        (MCPError(-32042, "go", {"elicitations": [{"mode": "url", "message": "m", "url": "https://a"}]}), -32042),
        (UrlElicitationRequiredError([types.ElicitRequestURLParams(message="m", url="https://a")], "go"), -32042),
    ],
)
async def test_the_code_of_urls_to_visit_says_nothing_else_and_names_each(error: MCPError, legacy: int) -> None:
    async def body(ctx: Context) -> None:
        raise error

    async with session(serving(body)) as client:
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        answer = await client.error()
        assert (answer.code, answer.message) == (legacy, "go")
        if legacy == -32042:
            (wanted,) = answer.data["elicitations"]
            assert (wanted["mode"], wanted["url"], len(wanted["elicitationId"])) == ("url", "https://a", 32)
    async with pipe(serving(body)) as client:
        await client.request(1, "tools/call", {"name": "x"})
        assert (await client.error()).code != -32042


@pytest.mark.rule("LEG-Q-14")
async def test_the_end_of_a_visit_is_told_to_the_client_that_was_sent_there() -> None:
    async def body(ctx: Context) -> None:
        await ctx.session.send_elicit_complete("e1")

    server = serving(body)
    async with session(server) as other, session(server) as client:
        await client.request(2, "tools/call", {"name": "x"}, modern=False)
        told = await client.notification()
        assert (told.method, told.params) == ("notifications/elicitation/complete", {"elicitationId": "e1"})
        await client.result()
        await other.request(2, "ping", modern=False)
        assert (await other.result()).request_id == 2


@pytest.mark.rule("VER-C-20")
async def test_modern_clients_are_told_of_no_visit() -> None:
    async def body(ctx: Context) -> None:
        await ctx.session.send_elicit_complete("e1")

    async with caller(serving(body)) as client:
        await client.call("tools/call", {"name": "x"})
    assert client.notifications == []


@pytest.mark.rule("VER-17")
async def test_a_server_without_a_name_still_says_who_it_is() -> None:
    async with caller(Server("")) as client:
        found = await client.call("server/discover")
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == ""


@pytest.mark.rule("STDIO-F-11", "TR-06", "VER-C-07")
async def test_a_modern_client_gets_no_request_whatever_a_handler_tries() -> None:
    async def body(ctx: Context) -> None:
        for ask in (
            lambda: ctx.session.elicit_form("where?", {"type": "object", "properties": {}}),
            lambda: ctx.session.send_request(types.ListRootsRequest(), types.ListRootsResult),
        ):
            with pytest.raises(NoBackChannelError):
                await ask()

    async with pipe(serving(body)) as client:
        await client.request(1, "tools/call", {"name": "x"})
        assert (await client.result()).request_id == 1
