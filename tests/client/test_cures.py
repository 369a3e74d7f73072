"""Below an error of the server stands what a client can do about it, without a change of the error's text."""

from __future__ import annotations

from typing import Any

import pytest

from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types.jsonrpc import METHOD_NOT_FOUND, MISSING_REQUIRED_CLIENT_CAPABILITY
from tests.advice import advises
from tests.client.scripted import Scripted


@pytest.mark.rule("TROUBLE-20", "TROUBLE-21")
@pytest.mark.parametrize(
    ("required", "options"),
    [
        ({"elicitation": {"form": {}}}, ["Client(..., elicitation_callback=)"]),
        ({"sampling": {}}, ["Client(..., sampling_callback=)"]),
        ({"sampling": {"tools": {}}}, ["sampling_callback=", "sampling_capabilities= with tools"]),
        ({"roots": {}}, ["Client(..., list_roots_callback=)"]),
        ({"extensions": {"com.x/q": {}}}, ["Client(..., extensions=[...])"]),
    ],
)
async def test_a_capability_that_was_not_declared_comes_with_the_option_that_declares_it(
    required: dict[str, Any], options: list[str]
) -> None:
    error = MCPError(
        MISSING_REQUIRED_CLIENT_CAPABILITY, "Client did not declare it", {"requiredCapabilities": required}
    )
    async with Client(Scripted(tools__call=error)) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("add")
    assert caught.value.message == "Client did not declare it"
    assert advises(caught.value, *options)


@pytest.mark.parametrize("data", [None, "x", {}, {"requiredCapabilities": 5}, {"requiredCapabilities": {"other": {}}}])
async def test_an_error_that_says_nothing_readable_is_left_as_it_is(data: Any) -> None:
    error = MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "Client did not declare it", data)
    async with Client(Scripted(tools__call=error)) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("add")
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.rule("DEPR-8")
@pytest.mark.parametrize(
    ("verb", "argument", "instead"),
    [
        ("subscribe_resource", "a://b", "client.listen(resource_subscriptions=[uri])"),
        ("unsubscribe_resource", "a://b", "leave the block of client.listen(...)"),
        ("set_logging_level", "info", "Client(..., log_level=...)"),
    ],
)
async def test_what_only_older_revisions_have_comes_with_what_took_its_place(
    verb: str, argument: str, instead: str
) -> None:
    async with Client(MCPServer("s")) as client:
        with pytest.warns(MCPDeprecationWarning), pytest.raises(MCPError) as caught:
            await getattr(client, verb)(argument)
    assert caught.value.code == METHOD_NOT_FOUND
    assert advises(caught.value, instead)


@pytest.mark.rule("RES-29")
async def test_an_older_connection_without_subscriptions_is_not_sent_back_to_listen() -> None:
    async with Client(MCPServer("s"), mode="legacy") as client:
        with pytest.warns(MCPDeprecationWarning), pytest.raises(MCPError) as caught:
            await client.subscribe_resource("a://b")  # pyright: ignore[reportDeprecated]
    assert (caught.value.code, caught.value.message) == (METHOD_NOT_FOUND, "Method not found")
    assert advises(caught.value, "server_capabilities.resources.subscribe", "read the resource again")
