from __future__ import annotations

from typing import Any, Literal

import anyio
import pytest
from pydantic import TypeAdapter

import mcp_types as types
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata
from mcp_types import InputRequiredResult, Request, RequestParams, Result
from mcp_types.jsonrpc import CONNECTION_CLOSED, METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION, ErrorData
from tests.client.raw_pipe import Wire
from tests.client.scripted import DISCOVERY, Scripted, listing, said


class JobParams(RequestParams):
    job: str
    note: str | None = None


class JobRequest(Request[JobParams, Literal["acme/job"]]):
    name_param = "job"
    method: Literal["acme/job"] = "acme/job"
    params: JobParams


class JobResult(Result):
    state: str


@pytest.mark.rule("SESSION-1")
def test_a_session_needs_exactly_one_way_to_the_server() -> None:
    with pytest.raises(ValueError, match=r"^read_stream and write_stream are required when no dispatcher is given$"):
        ClientSession()
    streams: Any = object()
    with pytest.raises(ValueError, match=r"^pass read_stream/write_stream or dispatcher, not both$"):
        ClientSession(streams, streams, dispatcher=object())
    with pytest.raises(ValueError):
        ClientSession(streams, streams, link=Scripted())
    with pytest.raises(NotImplementedError):
        ClientSession(dispatcher=object())


@pytest.mark.rule("SESSION-4", "SESSION-5", "SESSION-D1", "SESSION-3")
async def test_a_session_is_used_inside_its_block_and_entered_once() -> None:
    server = Scripted()
    session = ClientSession(link=server)
    with pytest.raises(RuntimeError, match="entered"):
        await session.list_tools()
    async with session:
        with pytest.raises(RuntimeError, match="cannot reenter"):
            await session.__aenter__()
        await session.list_tools()
    with pytest.raises(MCPError) as caught:
        await session.list_tools()
    assert (caught.value.code, caught.value.message) == (CONNECTION_CLOSED, "Connection closed")
    await session.send_notification(types.Notification(method="acme/tick", params=None))
    assert server.notified == []


@pytest.mark.rule("SESSION-8", "SESSION-20")
async def test_verbs_work_before_any_handshake_and_say_nothing_about_it() -> None:
    server = Scripted()
    async with ClientSession(link=server) as session:
        assert (session.protocol_version, session.server_info, session.server_capabilities) == (None, None, None)
        assert (session.instructions, session.discover_result, session.initialize_result) == (None, None, None)
        await session.list_tools()
        await session.list_tools(params=types.PaginatedRequestParams(cursor="2"))
    first, second = server.requests
    assert (first.params, first.version) == (None, None)
    assert second.params == {"cursor": "2"}


@pytest.mark.rule("SESSION-10")
async def test_discovering_adopts_once() -> None:
    server = Scripted()
    async with ClientSession(link=server) as session:
        first = await session.discover()
        assert await session.discover() is first
        assert session.protocol_version == "2026-07-28"
    assert server.methods == ["server/discover"]


@pytest.mark.rule("SESSION-10")
async def test_discovering_raises_what_the_server_answered() -> None:
    async with ClientSession(link=Scripted(server__discover=MCPError(METHOD_NOT_FOUND, "no"))) as session:
        with pytest.raises(MCPError, match=r"^no$"):
            await session.discover()
        assert session.protocol_version is None
    refusal = MCPError(UNSUPPORTED_PROTOCOL_VERSION, "no", {"supported": ["2026-07-28"]})
    server = Scripted(server__discover=[refusal, DISCOVERY])
    async with ClientSession(link=server) as session:
        await session.discover()
    assert len(server.requests) == 2


@pytest.mark.rule("STDIO-B-06", "SESSION-10")
async def test_a_client_that_shakes_no_hands_finds_out_that_a_server_is_older_before_it_asks_for_anything() -> None:
    wire = Wire()
    async with wire.connect() as streams, ClientSession(*streams) as session, anyio.create_task_group() as tasks:

        async def serve() -> None:
            await wire.server.refuse(await wire.server.request("server/discover"), METHOD_NOT_FOUND)

        tasks.start_soon(serve)
        with pytest.raises(MCPError) as caught:
            await session.discover()
        assert caught.value.code == METHOD_NOT_FOUND
        assert session.protocol_version is None
        await anyio.wait_all_tasks_blocked()
        assert wire.server.silent()


@pytest.mark.rule("SESSION-10")
async def test_a_discovery_that_cannot_be_read_is_not_adopted() -> None:
    async with ClientSession(link=Scripted(server__discover={"supportedVersions": 3})) as session:
        with pytest.raises(ValueError, match="server/discover"):
            await session.discover()
        assert session.discover_result is None


@pytest.mark.rule("SESSION-11")
async def test_a_probe_returns_the_raw_answer_and_adopts_nothing() -> None:
    server = Scripted()
    async with ClientSession(link=server) as session:
        assert await session.send_discover("2026-07-28") == DISCOVERY
        assert session.protocol_version is None
        await session.list_tools()
    assert server.requests[1].params is None


@pytest.mark.rule("SESSION-12")
async def test_adopting_needs_a_common_version() -> None:
    session = ClientSession(link=Scripted())
    result = types.DiscoverResult(supported_versions=["2025-11-25"], capabilities=types.ServerCapabilities())
    with pytest.raises(RuntimeError) as caught:
        session.adopt(result)
    assert str(caught.value) == (
        "No mutually supported modern protocol version (server: ['2025-11-25'], client: ['2026-07-28'])"
    )
    assert session.protocol_version is None


@pytest.mark.rule("SESSION-D2", "SESSION-13")
async def test_a_modern_session_does_not_go_back_to_a_handshake() -> None:
    async with ClientSession(link=Scripted()) as session:
        await session.discover()
        with pytest.raises(RuntimeError, match="2026-07-28"):
            await session.initialize()


@pytest.mark.rule("SESSION-15", "SESSION-16", "SESSION-19", "CASE-55")
async def test_a_request_of_ones_own_goes_out_and_comes_back_typed() -> None:
    server = Scripted(acme__job={"resultType": "complete", "state": "done", "extra": 1})
    async with ClientSession(link=server) as session:
        await session.discover()
        request = JobRequest(params=JobParams(job="Größe"))
        assert (await session.send_request(request, JobResult)).state == "done"
        everything = await session.send_request(request, dict[str, Any])
        adapted = await session.send_request(request, TypeAdapter(JobResult))
    assert everything["extra"] == 1
    assert adapted.state == "done"
    sent = server.requests[1]
    assert {name: value for name, value in (sent.params or {}).items() if name != "_meta"} == {"job": "Größe"}
    assert sent.headers == {"mcp-name": "=?base64?R3LDtsOfZQ==?="}


@pytest.mark.rule("SESSION-18", "SESSION-19")
async def test_headers_of_a_message_travel_with_it_and_win() -> None:
    server = Scripted(acme__job={"state": "done"})
    async with ClientSession(link=server) as session:
        metadata = ClientMessageMetadata(headers={"Mcp-Name": "mine", "x-a": "1"})
        await session.send_request(JobRequest(params=JobParams(job="j")), JobResult, metadata=metadata)
    assert server.requests[0].headers == {"Mcp-Name": "mine", "x-a": "1"}


@pytest.mark.rule("SESSION-19")
async def test_a_request_without_the_param_it_names_is_refused() -> None:
    class Nameless(Request[RequestParams | None, Literal["acme/job"]]):
        name_param = "job"
        method: Literal["acme/job"] = "acme/job"
        params: RequestParams | None = None

    server = Scripted()
    async with ClientSession(link=server) as session:
        with pytest.raises(ValueError, match=r"^acme/job requires params\['job'\] for Mcp-Name$"):
            await session.send_request(Nameless(), JobResult)
    assert server.requests == []


@pytest.mark.rule("SESSION-23")
async def test_a_typed_request_for_a_final_result_does_not_take_a_question() -> None:
    asking = {"resultType": "input_required", "requestState": "s"}
    async with ClientSession(link=Scripted(tools__call=asking)) as session:
        request = types.CallToolRequest(params=types.CallToolRequestParams(name="add"))
        with pytest.raises(RuntimeError, match="allow_input_required"):
            await session.send_request(request, types.CallToolResult)
        asked = await session.send_request(request, InputRequiredResult)
    assert asked.request_state == "s"


class Watching(ClientSession):
    """Notes what goes through `send_request`."""

    def __init__(self, server: Scripted) -> None:
        super().__init__(link=server)
        self.watched: list[Any] = []

    async def send_request(self, request: Any, *arguments: Any, **options: Any) -> Any:
        self.watched.append(request)
        return await super().send_request(request, *arguments, **options)


@pytest.mark.rule("SESSION-22")
async def test_a_subclass_sees_the_verbs_as_typed_requests() -> None:
    asking = {"resultType": "input_required", "requestState": "s"}
    server = Scripted(tools__call=[said(), asking, asking], tools__list=listing({"name": "add"}))
    async with Watching(server) as session:
        await session.discover()
        await session.list_tools()
        await session.call_tool("add", {"a": 1})
        assert isinstance(await session.call_tool("add", allow_input_required=True), InputRequiredResult)
        with pytest.raises(RuntimeError, match=r"retry call_tool\("):
            await session.call_tool("add")
    assert [type(request) for request in session.watched] == [
        types.ListToolsRequest,
        types.CallToolRequest,
        types.CallToolRequest,
        types.CallToolRequest,
    ]
    declared = [params["_meta"]["io.modelcontextprotocol/clientCapabilities"] for params in server.sent("tools/call")]
    assert declared == [{}, {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}, {}]


@pytest.mark.rule("SESSION-26")
async def test_a_question_can_be_answered_by_the_callbacks_alone() -> None:
    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        assert context.request_id == "k"
        return types.ListRootsResult(roots=[])

    async with ClientSession(link=Scripted(), list_roots_callback=roots) as session:
        context = ClientRequestContext(session=session, request_id="k")
        answered = await session.dispatch_input_request(context, types.ListRootsRequest())
        form = types.ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}})
        refused = await session.dispatch_input_request(context, types.ElicitRequest(params=form))
    assert answered == types.ListRootsResult(roots=[])
    assert refused == ErrorData(code=-32600, message="Elicitation not supported")


@pytest.mark.rule("CALLBACK-5")
async def test_extensions_are_declared_with_their_settings() -> None:
    server = Scripted()
    async with ClientSession(link=server, extensions={"acme/x": {"on": True}}) as session:
        await session.discover()
    assert server.sent("server/discover")[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {
        "extensions": {"acme/x": {"on": True}}
    }


@pytest.mark.rule("SESSION-27")
async def test_a_callback_may_call_the_server() -> None:
    async def call(request: Any, on_notification: Any) -> dict[str, Any]:
        await on_notification("notifications/message", {"level": "info", "data": 1})
        return said()

    async def on_log(params: Any) -> None:
        await session.list_prompts()

    server = Scripted(tools__call=call, prompts__list={"prompts": [], "ttlMs": 0, "cacheScope": "private"})
    session = ClientSession(link=server, logging_callback=on_log)
    with anyio.fail_after(5):
        async with session:
            await session.call_tool("add")
    assert "prompts/list" in server.methods
