from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import mcp_types as types
from mcp._protocol.input_required import InputRequiredRoundsExceededError
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import InputRequiredResult
from mcp_types.jsonrpc import INVALID_REQUEST, ErrorData
from tests.client.scripted import Scripted, said


def form(message: str = "Which?", **members: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    params = {"mode": "form", "message": message, "requestedSchema": schema, **members}
    return {"method": "elicitation/create", "params": params}


URL: dict[str, Any] = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "go", "url": "https://e.test/x"},
}
SAMPLE: dict[str, Any] = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}}
ROOTS = {"method": "roots/list"}


def asking(state: str | None = "s1", **requests: dict[str, Any]) -> dict[str, Any]:
    wire: dict[str, Any] = {"resultType": "input_required"}
    if requests:
        wire["inputRequests"] = requests
    if state is not None:
        wire["requestState"] = state
    return wire


async def accept(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"message": params.message})


async def sample(context: ClientRequestContext, params: Any) -> types.CreateMessageResult:
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="hi"), model="m")


async def roots(context: ClientRequestContext) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///a"}]})


@pytest.mark.rule("MRTR-52", "MRTR-62", "CLIENT-61", "CLIENT-62", "CALLBACK-21")
async def test_every_kind_of_question_is_answered_and_the_call_sent_again() -> None:
    server = Scripted(tools__call=[asking("s\u00e9\ud800", a=form(), b=SAMPLE, c=ROOTS), said("done")])
    callbacks: dict[str, Any] = {
        "elicitation_callback": accept,
        "sampling_callback": sample,
        "list_roots_callback": roots,
    }
    async with Client(server, **callbacks) as client:
        outcome = await client.call_tool("add", {"n": 1})
    assert outcome.result_type == "complete"
    first, second = server.sent("tools/call")
    assert (second["name"], second["arguments"]) == ("add", {"n": 1})
    assert second["requestState"] == "s\u00e9\ud800"
    assert second["inputResponses"] == {
        "a": {"action": "accept", "content": {"message": "Which?"}},
        "b": {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"},
        "c": {"roots": [{"uri": "file:///a"}]},
    }
    assert "inputResponses" not in first
    ids = [request.request_id for request in server.requests if request.method == "tools/call"]
    assert len(set(ids)) == 2


@pytest.mark.rule("MRTR-52")
@pytest.mark.parametrize("verb", ["get_prompt", "read_resource"])
async def test_prompts_and_resources_go_the_same_way(verb: str) -> None:
    method = "prompts/get" if verb == "get_prompt" else "resources/read"
    final: dict[str, Any] = {
        "resultType": "complete",
        "messages": [],
        "contents": [],
        "ttlMs": 0,
        "cacheScope": "private",
    }
    server = Scripted(**{method.replace("/", "__"): [asking(a=form()), final]})
    async with Client(server, elicitation_callback=accept) as client:
        await getattr(client, verb)("x://1")
    assert server.sent(method)[1]["requestState"] == "s1"


@pytest.mark.rule("MRTR-54", "CLIENT-61")
async def test_a_callback_learns_key_metadata_and_session() -> None:
    seen: list[ClientRequestContext] = []

    async def remember(context: ClientRequestContext, params: Any) -> types.CreateMessageResult:
        seen.append(context)
        return await sample(context, params)

    asked: dict[str, Any] = {
        "method": "sampling/createMessage",
        "params": {"messages": [], "maxTokens": 5, "_meta": {"x": 1}},
    }
    async with Client(Scripted(tools__call=[asking(k=asked), said()]), sampling_callback=remember) as client:
        await client.call_tool("add")
        [context] = seen
        assert context == ClientRequestContext(session=client.session, request_id="k", meta={"x": 1})  # pyright: ignore[reportArgumentType]


@pytest.mark.rule("MRTR-53", "CLIENT-61")
async def test_questions_of_one_round_are_asked_at_the_same_time() -> None:
    waiting = 0
    both = anyio.Event()

    async def wait_for_both(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            both.set()
        await both.wait()
        return types.ElicitResult(action="decline")

    server = Scripted(tools__call=[asking(a=form(), b=form()), said()])
    with anyio.fail_after(5):
        async with Client(server, elicitation_callback=wait_for_both) as client:
            await client.call_tool("add")


@pytest.mark.rule("MRTR-58", "CLIENT-65")
async def test_a_refusal_ends_the_call_and_the_other_questions() -> None:
    cancelled: list[str] = []

    async def answer(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | ErrorData:
        if context.request_id == "a":
            await anyio.lowlevel.checkpoint()
            return ErrorData(code=7, message="not now", data=[1])
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append(str(context.request_id))
        raise AssertionError

    server = Scripted(tools__call=asking(a=form(), b=form()))
    with anyio.fail_after(5):
        async with Client(server, elicitation_callback=answer) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("add")
    assert (caught.value.code, caught.value.message, caught.value.data) == (7, "not now", [1])
    assert cancelled == ["b"]
    assert len(server.sent("tools/call")) == 1


@pytest.mark.rule("MRTR-59", "CLIENT-65", "SESSION-26", "TROUBLE-9", "ELICIT-20", "SAMP-8")
@pytest.mark.parametrize(
    ("question", "text"),
    [(form(), "Elicitation not supported"), (SAMPLE, "Sampling not supported"), (ROOTS, "List roots not supported")],
)
async def test_a_question_without_a_callback_fails_the_call(question: dict[str, Any], text: str) -> None:
    async with Client(Scripted(tools__call=asking(a=question))) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("add")
    assert (caught.value.code, caught.value.message) == (INVALID_REQUEST, text)


@pytest.mark.rule("MRTR-D2", "MRTR-60", "CALLBACK-D6", "CALLBACK-22")
@pytest.mark.parametrize("keys", ["a", "ab"])
async def test_a_callback_that_raises_raises_that_very_exception(keys: str) -> None:
    fault = KeyError("mine")

    async def fail(context: Any, params: Any) -> types.ElicitResult:
        raise fault

    async with Client(
        Scripted(tools__call=asking(None, **{key: form() for key in keys})), elicitation_callback=fail
    ) as client:
        with pytest.raises(KeyError) as caught:
            await client.call_tool("add")
    assert caught.value is fault


class Stop(BaseException):
    """Nothing that is to be handled."""


@pytest.mark.rule("CALLBACK-D6")
@pytest.mark.parametrize("keys", ["a", "ab"])
async def test_a_callback_that_raises_no_exception_to_be_handled_raises_that_one_alone(keys: str) -> None:
    async def fail(context: Any, params: Any) -> types.ElicitResult:
        raise Stop

    async with Client(
        Scripted(tools__call=asking(None, **{key: form() for key in keys})), elicitation_callback=fail
    ) as client:
        with pytest.raises(Stop):
            await client.call_tool("add")


@pytest.mark.parametrize("keys", ["a", "ab"])
def test_a_cancellation_of_what_a_callback_awaits_reaches_the_caller(keys: str) -> None:
    async def cancelled(context: Any, params: Any) -> types.ElicitResult:
        raise asyncio.CancelledError

    async def main() -> None:
        async with Client(
            Scripted(tools__call=asking(None, **{key: form() for key in keys})), elicitation_callback=cancelled
        ) as client:
            with pytest.raises(asyncio.CancelledError):
                await client.call_tool("add")

    asyncio.run(main())


@pytest.mark.rule("CALLBACK-D6", "MRTR-61")
@pytest.mark.parametrize("answer", [None, "yes", {"nonsense": 1}, types.ListRootsResult(roots=[])])
async def test_an_answer_of_another_kind_names_the_question(answer: Any) -> None:
    async def wrong(context: Any, params: Any) -> Any:
        return answer

    async with Client(Scripted(tools__call=asking(which=form())), elicitation_callback=wrong) as client:
        with pytest.raises(TypeError, match=r"'which'.*ElicitResult"):
            await client.call_tool("add")


async def test_a_callback_that_is_no_async_function_is_named_by_its_question() -> None:
    def plain(*args: Any) -> Any:
        return types.ElicitResult(action="decline")

    questions: list[tuple[str, dict[str, Any]]] = [
        ("elicitation_callback", form()),
        ("sampling_callback", {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}}),
        ("list_roots_callback", {"method": "roots/list"}),
    ]
    for option, question in questions:
        async with Client(Scripted(tools__call=asking(which=question)), **{option: plain}) as client:  # pyright: ignore[reportArgumentType]
            with pytest.raises(TypeError, match=f"^The callback for '{question['method']}' must be an async function"):
                await client.call_tool("add")


@pytest.mark.rule("CALLBACK-8")
async def test_an_answer_may_be_a_dict_in_wire_form() -> None:
    async def as_dict(context: Any, params: Any) -> Any:
        return {"action": "cancel"}

    server = Scripted(tools__call=[asking(a=form()), said()])
    async with Client(server, elicitation_callback=as_dict) as client:
        await client.call_tool("add")
    assert server.sent("tools/call")[1]["inputResponses"] == {"a": {"action": "cancel"}}


@pytest.mark.rule("CALLBACK-14", "CALLBACK-15", "ELIC-G-08")
async def test_a_question_reaches_the_callback_as_it_is_and_so_does_the_answer_the_server() -> None:
    loose = {"type": "object", "properties": {"a": {"anyOf": [{"type": "object"}, {"type": "null"}]}}}
    asked = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": loose}}
    seen: list[Any] = []

    async def answer(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        seen.append(params)
        return types.ElicitResult(action="accept", content={"not": "asked for"})

    server = Scripted(tools__call=[asking(a=asked), said()])
    async with Client(server, elicitation_callback=answer) as client:
        await client.call_tool("add")
    [params] = seen
    assert isinstance(params, types.ElicitRequestFormParams)
    assert params.requested_schema == loose
    assert server.sent("tools/call")[1]["inputResponses"]["a"]["content"] == {"not": "asked for"}


@pytest.mark.rule("CALLBACK-D5", "CALLBACK-16")
async def test_the_answer_to_a_url_carries_no_content() -> None:
    server = Scripted(tools__call=[asking(a=URL), said()])
    async with Client(server, elicitation_callback=accept) as client:
        await client.call_tool("add")
    assert server.sent("tools/call")[1]["inputResponses"] == {"a": {"action": "accept"}}


@pytest.mark.rule("MRTR-55", "CLIENT-64")
@pytest.mark.parametrize("limit", [0, 1, 3])
async def test_a_server_that_keeps_asking_meets_the_limit(limit: int) -> None:
    asked = 0

    async def count(context: Any, params: Any) -> types.ElicitResult:
        nonlocal asked
        asked += 1
        return types.ElicitResult(action="decline")

    server = Scripted(tools__call=asking(a=form()))
    async with Client(server, elicitation_callback=count, input_required_max_rounds=limit) as client:
        with pytest.raises(InputRequiredRoundsExceededError) as caught:
            await client.call_tool("add")
    assert caught.value.max_rounds == limit
    assert asked == limit
    assert len(server.sent("tools/call")) == limit + 1
    assert str(caught.value) == (
        f"Server returned InputRequiredResult for more than {limit} rounds; raise input_required_max_rounds on the "
        "Client, or use client.session.<method>(..., allow_input_required=True) to drive the loop manually."
    )


@pytest.mark.rule("MRTR-62")
async def test_a_result_without_state_leads_to_a_retry_without_it() -> None:
    server = Scripted(tools__call=[asking(None, a=form()), said()])
    async with Client(server, elicitation_callback=accept) as client:
        await client.call_tool("add")
    assert "requestState" not in server.sent("tools/call")[1]


@pytest.mark.rule("CLIENT-66")
@pytest.mark.parametrize(
    "wire", [asking(None), asking(a={"method": "ping"}), asking(a={"method": "acme/x", "params": {}})]
)
async def test_an_unusable_question_is_an_invalid_result(wire: dict[str, Any]) -> None:
    async with Client(Scripted(tools__call=wire)) as client:
        with pytest.raises(ValueError, match="tools/call"):
            await client.call_tool("add")


@pytest.mark.rule("CLIENT-67", "MRTR-67")
async def test_answers_and_state_may_be_given_with_the_first_request() -> None:
    server = Scripted(tools__call=said())
    async with Client(server) as client:
        responses: Any = {"a": types.ElicitResult(action="accept", content={"x": 1})}
        await client.call_tool("add", input_responses=responses, request_state="from elsewhere")
        await client.call_tool("add", input_responses={"a": {"action": "decline"}})  # pyright: ignore[reportArgumentType]
    first, second = server.sent("tools/call")
    assert first["inputResponses"] == {"a": {"action": "accept", "content": {"x": 1}}}
    assert first["requestState"] == "from elsewhere"
    assert second["inputResponses"] == {"a": {"action": "decline"}}


async def test_answers_are_sent_once_and_not_again_with_a_later_round() -> None:
    server = Scripted(tools__call=[{"resultType": "input_required", "requestState": "s2"}, said()])
    async with Client(server) as client:
        responses: Any = {"a": types.ElicitResult(action="decline")}
        await client.call_tool("add", input_responses=responses, request_state="s1")
    first, second = server.sent("tools/call")
    assert (first["inputResponses"], first["requestState"]) == ({"a": {"action": "decline"}}, "s1")
    assert "inputResponses" not in second
    assert second["requestState"] == "s2"


@pytest.mark.rule("CALLBACK-1", "CALLBACK-2", "CALLBACK-3")
@pytest.mark.parametrize(
    ("callbacks", "declared"),
    [
        ({}, {}),
        ({"elicitation_callback": accept}, {"elicitation": {"form": {}, "url": {}}}),
        ({"sampling_callback": sample}, {"sampling": {}}),
        ({"list_roots_callback": roots}, {"roots": {}}),
        ({"sampling_capabilities": types.SamplingCapability(tools=types.SamplingToolsCapability())}, {}),
        (
            {
                "sampling_callback": sample,
                "sampling_capabilities": types.SamplingCapability(tools=types.SamplingToolsCapability()),
            },
            {"sampling": {"tools": {}}},
        ),
    ],
)
async def test_registering_a_callback_declares_it(callbacks: dict[str, Any], declared: dict[str, Any]) -> None:
    server = Scripted()
    async with Client(server, **callbacks) as client:
        await client.list_tools()
    assert server.sent("tools/list")[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"] == declared


@pytest.mark.rule("CALLBACK-D1", "CALLBACK-4")
async def test_elicitation_can_be_declared_for_forms_alone() -> None:
    server = Scripted()
    only = types.ElicitationCapability(form=types.FormElicitationCapability())
    async with Client(server, elicitation_callback=accept, elicitation_capabilities=only) as client:
        await client.list_tools()
    declared = server.sent("tools/list")[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert declared == {"elicitation": {"form": {}}}


@pytest.mark.rule("MRTR-65", "MRTR-D1", "SESSION-24")
@pytest.mark.parametrize("verb", ["call_tool", "get_prompt", "read_resource"])
async def test_a_caller_that_answers_by_hand_gets_the_question_and_declares_everything(verb: str) -> None:
    server = Scripted(tools__call=asking(a=form()), prompts__get=asking(a=form()), resources__read=asking(a=form()))
    async with Client(server) as client:
        result = await getattr(client.session, verb)("x", allow_input_required=True)
    assert isinstance(result, InputRequiredResult)
    assert result.request_state == "s1"
    params = server.requests[-1].params or {}
    assert params["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {},
        "roots": {},
    }


@pytest.mark.rule("MRTR-66", "SESSION-23")
@pytest.mark.parametrize("verb", ["call_tool", "get_prompt", "read_resource"])
async def test_a_session_does_not_answer_by_itself(verb: str) -> None:
    server = Scripted(tools__call=asking(a=form()), prompts__get=asking(a=form()), resources__read=asking(a=form()))
    async with Client(server, elicitation_callback=accept) as client:
        with pytest.raises(RuntimeError) as caught:
            await getattr(client.session, verb)("x")
    assert str(caught.value) == (
        "Server returned InputRequiredResult; pass allow_input_required=True to receive it and retry "
        f"{verb}(..., input_responses=..., request_state=result.request_state)."
    )


ASK_REGION = types.ElicitRequest(
    params=types.ElicitRequestFormParams(
        message="Where?", requested_schema={"type": "object", "properties": {"region": {"type": "string"}}}
    )
)


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="provision", input_schema={"type": "object"})])


async def provision(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult | InputRequiredResult:
    answer = (params.input_responses or {}).get("region")
    if not isinstance(answer, types.ElicitResult) or answer.content is None:
        return InputRequiredResult(input_requests={"region": ASK_REGION}, request_state="v1")
    text = f"{(params.arguments or {})['name']} in {answer.content['region']}"
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def eu(context: ClientRequestContext, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"region": "eu-west-1"})


@pytest.mark.rule("MRTR-52", "TEST-10")
async def test_a_server_object_asks_and_gets_its_answer() -> None:
    server = Server("s", on_list_tools=list_tools, on_call_tool=provision)
    async with Client(server, elicitation_callback=eu) as client:
        outcome = await client.call_tool("provision", {"name": "orders"})
    assert outcome.content == [types.TextContent(type="text", text="orders in eu-west-1")]


@pytest.mark.rule("MRTR-65", "MRTR-D1")
async def test_a_loop_by_hand_reaches_the_same_result() -> None:
    server = Server("s", on_list_tools=list_tools, on_call_tool=provision)
    async with Client(server) as client:
        result = await client.session.call_tool("provision", {"name": "orders"}, allow_input_required=True)
        while isinstance(result, InputRequiredResult):
            responses: types.InputResponses = {
                key: types.ElicitResult(action="accept", content={"region": "eu"})
                for key in result.input_requests or {}
            }
            result = await client.session.call_tool(
                "provision",
                {"name": "orders"},
                input_responses=responses,
                request_state=result.request_state,
                allow_input_required=True,
            )
    assert result.content == [types.TextContent(type="text", text="orders in eu")]
