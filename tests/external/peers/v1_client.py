"""A client written against `mcp` 1.x: the arguments and the report of `v2_client.py`."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any
from uuid import uuid4

import anyio
from pydantic import AnyUrl, FileUrl

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

asked: list[str] = []
updates: list[str] = []
updated = anyio.Event()
tokens: list[str | int] = []
progressed = anyio.Event()


async def answer_elicitation(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    asked.append(params.message)
    return types.ElicitResult(action="accept", content={"amount": 3})


async def answer_sampling(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    text = types.TextContent(type="text", text="Tea-hee.")
    return types.CreateMessageResult(role="assistant", content=text, model="m")


async def answer_roots(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///tea"), name="tea")])


async def on_message(message: Any) -> None:
    notification = getattr(message, "root", None)
    if isinstance(notification, types.ResourceUpdatedNotification):
        updates.append(str(notification.params.uri))
        updated.set()
    elif isinstance(notification, types.ProgressNotification):
        tokens[:] = [notification.params.progressToken]
        progressed.set()


def text_of(result: Any) -> str:
    return "".join(part.text for part in result.content)


async def listing(session: ClientSession) -> Any:
    return {
        "tools": sorted(tool.name for tool in (await session.list_tools()).tools),
        "resources": [str(resource.uri) for resource in (await session.list_resources()).resources],
        "templates": [t.uriTemplate for t in (await session.list_resource_templates()).resourceTemplates],
        "prompts": [prompt.name for prompt in (await session.list_prompts()).prompts],
    }


async def call(session: ClientSession) -> Any:
    return text_of(await session.call_tool("add", {"a": 2, "b": 3}))


async def many_calls(session: ClientSession) -> Any:
    results: dict[int, str] = {}

    async def one(number: int) -> None:
        results[number] = text_of(await session.call_tool("add", {"a": number, "b": number}))

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(one, number)
    return [results[number] for number in range(20)]


async def payloads(session: ClientSession) -> Any:
    """Send what framing could trip over, and much of it."""
    texts = ["a\r\nb\u2028c\u2029d\x85e\0\U0001f375 data: x\n\n", "tea" * 100_000]
    return [text_of(await session.call_tool("echo", {"text": text})) == text for text in texts]


async def failing_call(session: ClientSession) -> Any:
    return (await session.call_tool("fail")).isError


async def refusal(session: ClientSession) -> Any:
    try:
        await session.read_resource(AnyUrl("note://nothing"))
    except McpError:
        return "an error"
    return "no error"


async def progress(session: ClientSession) -> Any:
    seen: list[Any] = []

    async def on_progress(value: float, total: float | None, message: str | None) -> None:
        seen.append([value, total, message])

    result = await session.call_tool("count", {"steps": 3}, progress_callback=on_progress)
    return [text_of(result), seen]


async def cancelling(session: ClientSession) -> Any:
    """Cancel by hand, which is this version's way: the progress token is the id of the request."""
    global progressed
    key = {"key": uuid4().hex}
    progressed = anyio.Event()

    async def on_progress(value: float, total: float | None, message: str | None) -> None: ...

    async def call_slow() -> None:
        with suppress(McpError):  # servers of this version answer what was cancelled
            await session.call_tool("slow", key, progress_callback=on_progress)

    async with anyio.create_task_group() as group:
        group.start_soon(call_slow)
        await progressed.wait()
        params = types.CancelledNotificationParams(requestId=tokens[0], reason="enough")
        await session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
        answer = text_of(await session.call_tool("was_cancelled", key))
        group.cancel_scope.cancel()
    return answer


async def elicitation(session: ClientSession) -> Any:
    return [text_of(await session.call_tool("order", {"item": "tea"})), asked]


async def sampling(session: ClientSession) -> Any:
    return text_of(await session.call_tool("joke", {"topic": "tea"}))


async def roots(session: ClientSession) -> Any:
    return text_of(await session.call_tool("where"))


async def reading(session: ClientSession) -> Any:
    contents: list[Any] = (await session.read_resource(AnyUrl("note://1/of/May"))).contents
    return [[str(part.uri), part.text] for part in contents]


async def prompting(session: ClientSession) -> Any:
    messages: list[Any] = (await session.get_prompt("greet", {"name": "Ann"})).messages
    return [message.content.text for message in messages]


async def watching(session: ClientSession) -> Any:
    await session.call_tool("write")
    await updated.wait()
    return updates


SCENARIOS: list[Callable[[ClientSession], Awaitable[Any]]] = [
    listing,
    call,
    many_calls,
    payloads,
    failing_call,
    refusal,
    progress,
    cancelling,
    elicitation,
    sampling,
    roots,
    reading,
    prompting,
    watching,
]


async def run(target: str, command: list[str]) -> dict[str, Any]:
    report: dict[str, Any] = {}
    async with AsyncExitStack() as stack:
        if command:
            transport = stdio_client(StdioServerParameters(command=command[0], args=command[1:]))
        elif target.endswith("/sse"):
            transport = sse_client(target)
        else:
            transport = streamable_http_client(target)
        read, write, *_ = await stack.enter_async_context(transport)
        session = ClientSession(
            read,
            write,
            elicitation_callback=answer_elicitation,
            sampling_callback=answer_sampling,
            list_roots_callback=answer_roots,
            message_handler=on_message,
        )
        await stack.enter_async_context(session)
        opened = await session.initialize()
        report["opening"] = [opened.protocolVersion, opened.serverInfo.name, opened.instructions]
        for scenario in SCENARIOS:
            try:
                with anyio.fail_after(10):
                    report[scenario.__name__] = await scenario(session)
            except Exception as error:
                report[scenario.__name__] = {"error": repr(error), "details": repr(getattr(error, "exceptions", ""))}
    report["closing"] = "closed"
    return report


async def main(mode: str, target: str, *command: str) -> None:
    with anyio.fail_after(40):
        print(json.dumps(await run(target, list(command))))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], *sys.argv[3:])
