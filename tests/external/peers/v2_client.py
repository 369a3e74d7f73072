"""A client written against `mcp` 2.x, which is the API of another implementation and of this project.

``v2_client.py MODE URL`` or ``v2_client.py MODE -- COMMAND ...`` prints what it saw as one JSON object: a member for
each scenario, with ``{"error": ...}`` where one failed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import anyio
from pydantic import FileUrl

from mcp import Client, MCPError, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp.client.sse import sse_client
from mcp.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    ResourceUpdatedNotification,
    Root,
    TextContent,
)

asked: list[str] = []
updates: list[str] = []
updated = anyio.Event()


async def answer_elicitation(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    asked.append(params.message)
    return ElicitResult(action="accept", content={"amount": 3})


async def answer_sampling(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="Tea-hee."), model="m")


async def answer_roots(context: ClientRequestContext) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri=FileUrl("file:///tea"), name="tea")])


async def on_message(message: Any) -> None:
    if isinstance(message, ResourceUpdatedNotification):
        updates.append(str(message.params.uri))
        updated.set()


def text_of(result: Any) -> str:
    return "".join(part.text for part in result.content)


async def opening(client: Client) -> Any:
    info = client.server_info
    return [client.protocol_version, info and info.name, client.instructions]


async def listing(client: Client) -> Any:
    return {
        "tools": sorted(tool.name for tool in (await client.list_tools()).tools),
        "resources": [str(resource.uri) for resource in (await client.list_resources()).resources],
        "templates": [t.uri_template for t in (await client.list_resource_templates()).resource_templates],
        "prompts": [prompt.name for prompt in (await client.list_prompts()).prompts],
    }


async def call(client: Client) -> Any:
    return text_of(await client.call_tool("add", {"a": 2, "b": 3}))


async def many_calls(client: Client) -> Any:
    results: dict[int, str] = {}

    async def one(number: int) -> None:
        results[number] = text_of(await client.call_tool("add", {"a": number, "b": number}))

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(one, number)
    return [results[number] for number in range(20)]


async def payloads(client: Client) -> Any:
    """Send what framing could trip over, and much of it."""
    texts = ["a\r\nb\u2028c\u2029d\x85e\0\U0001f375 data: x\n\n", "tea" * 100_000]
    return [text_of(await client.call_tool("echo", {"text": text})) == text for text in texts]


async def failing_call(client: Client) -> Any:
    return (await client.call_tool("fail")).is_error


async def refusal(client: Client) -> Any:
    try:
        await client.read_resource("note://nothing")
    except MCPError:
        return "an error"
    return "no error"


async def progress(client: Client) -> Any:
    seen: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append([progress, total, message])

    result = await client.call_tool("count", {"steps": 3}, progress_callback=on_progress)
    return [text_of(result), seen]


async def cancelling(client: Client) -> Any:
    key = {"key": uuid4().hex}
    async with anyio.create_task_group() as group:

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            group.cancel_scope.cancel()

        with anyio.fail_after(10):
            await client.call_tool("slow", key, progress_callback=on_progress)
    return text_of(await client.call_tool("was_cancelled", key))


async def elicitation(client: Client) -> Any:
    return [text_of(await client.call_tool("order", {"item": "tea"})), asked]


async def sampling(client: Client) -> Any:
    return text_of(await client.call_tool("joke", {"topic": "tea"}))


async def roots(client: Client) -> Any:
    return text_of(await client.call_tool("where"))


async def reading(client: Client) -> Any:
    contents: list[Any] = (await client.read_resource("note://1/of/May")).contents
    return [[str(part.uri), part.text] for part in contents]


async def prompting(client: Client) -> Any:
    return [message.content.text for message in (await client.get_prompt("greet", {"name": "Ann"})).messages]  # type: ignore[union-attr]


async def watching(client: Client) -> Any:
    if client.protocol_version >= "2026":
        async with client.listen(resource_subscriptions=["note://today"]) as subscription:
            await client.call_tool("write")
            async for event in subscription:
                return [getattr(event, "uri", event)]
    resources = client.server_capabilities.resources
    subscribes = resources is not None and resources.subscribe
    if subscribes:
        await client.subscribe_resource("note://today")  # pyright: ignore[reportDeprecated]
    await client.call_tool("write")
    await updated.wait()
    if subscribes:
        await client.unsubscribe_resource("note://today")  # pyright: ignore[reportDeprecated]
    return updates


SCENARIOS: list[Callable[[Client], Awaitable[Any]]] = [
    opening,
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


async def try_all(client: Client) -> dict[str, Any]:
    report: dict[str, Any] = {}
    for scenario in SCENARIOS:
        try:
            with anyio.fail_after(10):
                report[scenario.__name__] = await scenario(client)
        except Exception as error:
            report[scenario.__name__] = {"error": repr(error), "details": repr(getattr(error, "exceptions", ""))}
    return report


async def main(mode: str, target: str, *command: str) -> None:
    server: Any = sse_client(target) if target.endswith("/sse") else target
    if command:
        server = StdioServerParameters(command=command[0], args=list(command[1:]))
    client = Client(
        server,
        mode=mode,
        elicitation_callback=answer_elicitation,
        sampling_callback=answer_sampling,
        list_roots_callback=answer_roots,
        message_handler=on_message,
    )
    report: dict[str, Any] = {}
    with anyio.fail_after(40):
        async with client:
            report = await try_all(client)
    report["closing"] = "closed"
    print(json.dumps(report))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], *sys.argv[3:])
