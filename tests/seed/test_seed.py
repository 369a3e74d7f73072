"""The seed's programs run as they stand, over a real server process and in memory."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from mcp import Client
from mcp.client import ClientRequestContext
from mcp.server.mcpserver import Context, MCPServer, RequestStateSecurity
from mcp.types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    GetPromptResult,
    InputRequiredResult,
    TextContent,
)
from tests.programs import free_port, run_program, serving
from tests.seed.programs import RUN_MAIN, SEED, SERVE, load

PROVISIONED = "Provisioned 'orders' in eu-west-1."


def text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


def briefing_text(result: GetPromptResult) -> str:
    (message,) = result.messages
    assert isinstance(message.content, TextContent)
    return message.content.text


async def choose_region(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"region": "eu-west-1"})


async def name_audience(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"audience": "the board"})


def add_asking_tool(server: MCPServer) -> None:
    """Give a server a tool that writes state, so that its policy has something to seal."""
    question = ElicitRequest(
        params=ElicitRequestFormParams(
            message="Sure?", requested_schema={"type": "object", "properties": {"sure": {"type": "boolean"}}}
        )
    )

    @server.tool()
    async def deploy(ctx: Context) -> str | InputRequiredResult:
        if not ctx.input_responses:
            return InputRequiredResult(input_requests={"sure": question}, request_state="deploy-v1")
        return f"deployed: {ctx.request_state}"


async def sealed_round(first: MCPServer, second: MCPServer) -> tuple[str, str]:
    """Begin on one server, finish on the other; return the token and the text of the result."""
    async with Client(first) as client:
        asked = await client.session.call_tool("deploy", allow_input_required=True)
    assert isinstance(asked, InputRequiredResult)
    assert asked.request_state is not None
    answers: dict[str, Any] = {"sure": ElicitResult(action="accept", content={"sure": True})}
    async with Client(second) as client:
        result = await client.session.call_tool("deploy", input_responses=answers, request_state=asked.request_state)
    return asked.request_state, text(result)


def test_every_program_of_the_seed_has_a_test_here() -> None:
    assert sorted(path.name for path in SEED.glob("*.py")) == [
        "briefing_prompt.py",
        "client_auto.py",
        "client_manual.py",
        "fleet_keys.py",
        "key_rotation.py",
        "kms_codec.py",
        "provision_lowlevel.py",
    ]


def test_the_automatic_client_provisions_over_http() -> None:
    with serving(["-c", SERVE, SEED / "provision_lowlevel.py", "8000"], 8000):
        printed = run_program("-c", RUN_MAIN, SEED / "client_auto.py")
    assert PROVISIONED in printed


async def test_the_manual_client_provisions_over_http() -> None:
    provision = load("client_manual.py")["provision"]
    port = free_port()
    with serving(["-c", SERVE, SEED / "provision_lowlevel.py", str(port)], port) as url:
        async with Client(url) as client:
            assert text(await provision(client, "orders")) == PROVISIONED


async def test_the_low_level_server_provisions_in_memory() -> None:
    server = load("provision_lowlevel.py")["server"]
    async with Client(server, elicitation_callback=choose_region) as client:
        assert client.protocol_version == "2026-07-28"
        assert text(await client.call_tool("provision", {"name": "orders"})) == PROVISIONED
        (tool,) = (await client.list_tools()).tools
        assert tool.name == "provision"


async def test_the_manual_client_provisions_in_memory() -> None:
    server, provision = load("provision_lowlevel.py")["server"], load("client_manual.py")["provision"]
    async with Client(server) as client:
        assert text(await provision(client, "orders")) == PROVISIONED


async def test_the_briefing_asks_for_its_audience_in_memory() -> None:
    async with Client(load("briefing_prompt.py")["mcp"], elicitation_callback=name_audience) as client:
        assert briefing_text(await client.get_prompt("briefing")) == "Write a briefing for the board."


async def test_the_briefing_asks_for_its_audience_over_http() -> None:
    port = free_port()
    with serving(["-c", SERVE, SEED / "briefing_prompt.py", str(port)], port) as url:
        async with Client(url, elicitation_callback=name_audience) as client:
            assert briefing_text(await client.get_prompt("briefing")) == "Write a briefing for the board."


@pytest.mark.rule("MRTR-26")
async def test_instances_of_the_fleet_read_each_others_state() -> None:
    key = secrets.token_bytes(32)
    first, second = load("fleet_keys.py", key=key)["mcp"], load("fleet_keys.py", key=key)["mcp"]
    for server in (first, second):
        add_asking_tool(server)
    assert (await sealed_round(first, second))[1] == "deployed: deploy-v1"


def test_the_rotation_runs() -> None:
    load(
        "key_rotation.py",
        RequestStateSecurity=RequestStateSecurity,
        OLD=secrets.token_bytes(32),
        NEW=secrets.token_bytes(32),
    )


async def test_the_envelope_codec_seals_the_state() -> None:
    server = load("kms_codec.py")["mcp"]
    add_asking_tool(server)
    token, result = await sealed_round(server, server)
    assert token.startswith("kms1.")
    assert result == "deployed: deploy-v1"
