"""What arose on the client's own side can be told from what the server answered, whatever code it has."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

import mcp_types as types
from mcp.client.client import Client
from mcp.client.context import ClientRequestContext
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_REQUEST, REQUEST_TIMEOUT
from tests.client.legacy_http import legacy, method_of
from tests.client.raw_http import DISCOVERY, SSE_HEAD, Answer, Seen, chunk, event, modern, raw_server, response
from tests.client.scripted import Scripted
from tests.client.test_client_over_pipes import connected
from tests.client.test_handshake import opened
from tests.client.test_input_required import asking, form
from tests.client.test_sse import OldServer


async def failure_of(client: Client | ClientSession, **options: Any) -> MCPError:
    with anyio.fail_after(5), pytest.raises(MCPError) as caught:
        await client.call_tool("add", {}, **options)
    return caught.value


def say(data: bytes) -> Answer:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream.send(data)
        await stream.aclose()

    return answer


def refusal(code: int, message: str) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 2, "error": {"code": code, "message": message}})


@pytest.mark.rule("SERR-08", "BASE-E-09")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        response("<html>"),
        response("[]"),
        response('{"jsonrpc": "2.0", "method": "x"}'),
        response('{"jsonrpc": "2.0", "id": 99, "result": {}}'),
        response("hello", "text/plain"),
        response("", None, "202 Accepted"),
        response("", None, "404 Not Found"),
        response("{}", status="500 Internal Server Error"),
        response("", None, "302 Found", location="https://elsewhere.example/"),
        SSE_HEAD + chunk(event({"jsonrpc": "2.0", "method": "notifications/x"})) + chunk(b""),
    ],
)
async def test_an_answer_over_http_that_is_no_error_of_the_protocol_is_a_local_error(data: bytes) -> None:
    async with raw_server(modern(say(data))) as server, Client(server.url) as client:
        assert (await failure_of(client)).is_local


@pytest.mark.rule("SERR-08", "BASE-E-09")
@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request", "404 Not Found"])
@pytest.mark.parametrize("code", [CONNECTION_CLOSED, REQUEST_TIMEOUT, INVALID_REQUEST])
async def test_an_error_that_a_server_answers_over_http_is_never_local(status: str, code: int) -> None:
    answer = modern(say(response(refusal(code, "Connection closed"), status=status)))
    async with raw_server(answer) as server, Client(server.url) as client:
        error = await failure_of(client)
    assert (error.code, error.message, error.is_local) == (code, "Connection closed", False)


@pytest.mark.rule("SERR-08", "BASE-E-09")
@pytest.mark.parametrize(
    ("data", "is_local"), [(response("", None, "500 No"), True), (response(refusal(-32000, "no")), False)]
)
async def test_the_difference_survives_a_pair_of_streams(data: bytes, is_local: bool) -> None:
    async with raw_server(modern(say(data))) as server, AsyncExitStack() as stack:
        streams = await stack.enter_async_context(streamable_http_client(server.url))
        session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
        session.adopt(types.DiscoverResult.model_validate(DISCOVERY))
        session._last_id = 1  # the id that the server answers to
        assert (await failure_of(session)).is_local is is_local


@pytest.mark.rule("SERR-08", "BASE-E-09")
async def test_a_lost_session_is_a_local_error() -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream.send(response("", None, "404 Not Found"))

    async with raw_server(legacy(answer)) as server, Client(server.url, mode="legacy") as client:
        error = await failure_of(client)
    assert (error.message, error.is_local) == ("Session terminated", True)


@pytest.mark.rule("SERR-08", "BASE-E-09")
@pytest.mark.parametrize(("data", "code"), [(response("", None, "410 Gone"), INTERNAL_ERROR), (b"", CONNECTION_CLOSED)])
async def test_a_message_that_was_not_delivered_is_a_local_error(data: bytes, code: int) -> None:
    old = OldServer()

    async def answer(seen: Seen, stream: SocketStream) -> None:
        if method_of(seen) == "tools/call":
            await say(data)(seen, stream)
        else:
            await old(seen, stream)

    async with raw_server(answer) as server, Client(sse_client(server.url), mode="legacy") as client:
        error = await failure_of(client)
    assert (error.code, error.is_local) == (code, True)


@pytest.mark.rule("SERR-08", "BASE-E-09")
async def test_over_a_pipe_what_the_server_says_is_told_from_its_silence() -> None:
    async def serve(server: Any) -> None:
        await server.shake_hands()
        for code in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
            await server.refuse(await server.request("tools/call"), code, "Connection closed")
        await server.request("tools/call")
        await server.notification("notifications/cancelled")
        await server.request("tools/call")
        await server.close()

    async with connected(serve, mode="legacy") as (client, _):
        said = [await failure_of(client), await failure_of(client)]
        assert [error.is_local for error in said] == [False, False]
        late = await failure_of(client, read_timeout_seconds=0.1)
        assert (late.code, late.is_local) == (REQUEST_TIMEOUT, True)
        for _ in range(2):
            gone = await failure_of(client)
            assert (gone.code, gone.message, gone.is_local) == (CONNECTION_CLOSED, "Connection closed", True)


@pytest.mark.rule("SERR-08", "BASE-E-09")
async def test_a_question_that_the_client_refuses_ends_the_call_with_a_local_error() -> None:
    async def refuse(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ErrorData:
        return types.ErrorData(code=-1, message="not now")

    server = Scripted(tools__call=[asking(which=form())])
    async with Client(server) as client:
        assert (await failure_of(client)).is_local
    async with Client(server, elicitation_callback=refuse) as client:
        error = await failure_of(client)
    assert (error.code, error.message, error.is_local) == (-1, "not now", True)


@pytest.mark.rule("SERR-08", "BASE-E-09")
async def test_the_time_limit_of_all_rounds_is_a_local_error() -> None:
    server = Scripted(tools__call=[asking()])
    async with Client(server, input_required_timeout=0.1, input_required_max_rounds=1000) as client:
        error = await failure_of(client)
    assert (error.code, error.is_local) == (REQUEST_TIMEOUT, True)


@pytest.mark.rule("SERR-08", "BASE-E-09")
async def test_a_subscription_that_ends_with_its_client_was_ended_on_this_side() -> None:
    async def acknowledge(request: Any, on_notification: Any) -> dict[str, Any]:
        meta = {"io.modelcontextprotocol/subscriptionId": request.request_id}
        params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
        await on_notification("notifications/subscriptions/acknowledged", params)
        await anyio.sleep_forever()
        return {}

    @asynccontextmanager
    async def listening(client: Client) -> AsyncGenerator[Any]:
        async with client.listen(tools_list_changed=True) as subscription:
            yield subscription

    with anyio.fail_after(5):
        async with AsyncExitStack() as outer:
            async with Client(Scripted(subscriptions__listen=acknowledge)) as client:
                subscription = await outer.enter_async_context(listening(client))
            with pytest.raises(SubscriptionLost) as caught:
                await anext(subscription)
    cause = caught.value.__cause__
    assert isinstance(cause, MCPError)
    assert cause.is_local


@pytest.mark.rule("SERR-06", "BASE-E-03", "BASE-E-09")
async def test_an_error_that_arose_in_a_callback_is_answered_under_no_code_of_the_old_range() -> None:
    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        raise MCPError(REQUEST_TIMEOUT, "Request 'tools/call' timed out", is_local=True)

    async with opened(list_roots_callback=roots) as (_, server):
        await server.send({"id": 7, "method": "roots/list"})
        assert await server.error() == (INTERNAL_ERROR, "Request 'tools/call' timed out", None)
