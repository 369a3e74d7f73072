"""A client that does what the public conformance suite asks for: `python everything_client.py URL`.

The suite says in the environment which scenario it plays, in which protocol version, and with which data.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import Client, MCPError
from mcp.client import ClientRequestContext
from mcp.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    TextContent,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "tools_call")
VERSION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", MODERN_PROTOCOL_VERSIONS[-1])
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")

Scenario = Callable[[Client], Awaitable[None]]


async def fill_in(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    """Accept a form, with each field at its default; a field without one is agreed to, if that can be."""
    if params.mode == "url":
        return ElicitResult(action="decline")
    fields: dict[str, dict[str, Any]] = params.requested_schema.get("properties", {})
    content = {name: field["default"] for name, field in fields.items() if "default" in field}
    agreed = {name: True for name, field in fields.items() if field.get("type") == "boolean"}
    return ElicitResult(action="accept", content=agreed | content)


async def write_text(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
    text = TextContent(type="text", text="This is a text of the client's model.")
    return CreateMessageResult(role="assistant", content=text, model="example-model", stop_reason="endTurn")


async def list_roots(context: ClientRequestContext) -> ListRootsResult:
    return ListRootsResult(roots=[])


async def list_only(client: Client) -> None:
    await client.list_tools()


async def add_numbers(client: Client) -> None:
    await client.list_tools()
    await client.call_tool("add_numbers", {"a": 5, "b": 3})


async def answer_with_defaults(client: Client) -> None:
    await client.list_tools()
    await client.call_tool("test_client_elicitation_defaults")


async def reconnect(client: Client) -> None:
    await client.list_tools()
    await client.call_tool("test_reconnection", {})


async def go_rounds(client: Client) -> None:
    for name in ("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type"):
        await client.call_tool(name, {})


async def ask_everything(client: Client) -> None:
    """Use every method whose request repeats its name in a header."""
    for tool in (await client.list_tools()).tools:
        await client.call_tool(tool.name, {})
    for resource in (await client.list_resources()).resources:
        await client.read_resource(resource.uri)
    for prompt in (await client.list_prompts()).prompts:
        await client.get_prompt(prompt.name)


async def call_as_told(client: Client) -> None:
    await client.list_tools()
    for call in CONTEXT["toolCalls"]:
        await client.call_tool(call["name"], call["arguments"])


async def call_all_listed(client: Client) -> None:
    """Call what is listed; the client leaves out the tools whose headers nobody could send."""
    for tool in (await client.list_tools()).tools:
        await client.call_tool(tool.name, {"region": "us-west1"})


async def echo_schema(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    await client.call_tool("json_schema_echo", {"schema": tools["json_schema_2020_12_tool"].input_schema})


async def use_first_tool(client: Client) -> None:
    tools = (await client.list_tools()).tools
    if tools:
        await client.call_tool(tools[0].name, {})


SCENARIOS: dict[str, Scenario] = {
    "initialize": list_only,
    "tools_call": add_numbers,
    "elicitation-sep1034-client-defaults": answer_with_defaults,
    "sse-retry": reconnect,
    "request-metadata": use_first_tool,
    "sep-2322-client-request-state": go_rounds,
    "http-standard-headers": ask_everything,
    "http-custom-headers": call_as_told,
    "http-invalid-tool-headers": call_all_listed,
    "json-schema-ref-no-deref": list_only,
    "json-schema-2020-12-preservation": echo_schema,
}


def connect_mode() -> str:
    """Speak the version that the suite tells, without asking the server; two scenarios are about asking."""
    if VERSION not in MODERN_PROTOCOL_VERSIONS:
        return "legacy"
    return "auto" if SCENARIO in ("tools_call", "request-metadata") else VERSION


async def main(url: str) -> None:
    client = Client(
        url,
        mode=connect_mode(),
        read_timeout_seconds=20,
        elicitation_callback=fill_in,
        sampling_callback=write_text,
        list_roots_callback=list_roots,
    )
    async with client:
        await SCENARIOS.get(SCENARIO, use_first_tool)(client)


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[-1]))
    except MCPError as error:
        sys.exit(f"{SCENARIO}: {error}")
