"""The border between what a model reads, what a host gets, and what stays in the log."""

from __future__ import annotations

import logging

import pytest

from mcp.server.elicitation import InvalidAnswerError
from mcp.server.mcpserver.exceptions import (
    InvalidSignature,
    MCPServerError,
    ResourceError,
    ResourceNotFoundError,
    ToolError,
    UnexpectedResourceError,
    UnexpectedToolError,
)
from mcp.server.mcpserver.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from tests.mcpserver.wire import connect


class Own(ToolError):
    pass


ERRORS: dict[str, BaseException] = {
    "tool": ToolError("At most 100."),
    "own": Own("At most 100."),
    "empty": ToolError(),
    "resource": ResourceError("closed"),
    "not_found": ResourceNotFoundError("no such row"),
    "answer": InvalidAnswerError("received an accepted elicitation with no content"),
    "runtime": RuntimeError("dsn=secret"),
    "value": ValueError("secret"),
    "mcp": MCPError(-32602, "quota used up", {"retryAfter": 30}),
}


def failing_server(*, mask_errors: bool = True) -> MCPServer:
    mcp = MCPServer("Lab", mask_errors=mask_errors)

    @mcp.tool()
    async def fail(kind: str) -> int:
        raise ERRORS[kind]

    return mcp


@pytest.mark.rule("SERR-19", "TROUBLE-14", "TROUBLE-15")
@pytest.mark.rule(
    "ERR-1", "ERR-3", "ERR-4", "ERR-6", "ERR-D3", "ERR-2", "ELICIT-13", "ELICIT-D3", "TOOLS-36", "CASE-50"
)
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("tool", "Error executing tool fail: At most 100."),
        ("own", "Error executing tool fail: At most 100."),
        ("empty", "Error executing tool fail: "),
        ("resource", "Error executing tool fail: closed"),
        ("not_found", "Error executing tool fail: no such row"),
        ("answer", "Error executing tool fail: Received an accepted elicitation with no content"),
        ("runtime", "Error executing tool fail"),
        ("value", "Error executing tool fail"),
    ],
)
async def test_a_failing_tool_is_an_error_result(kind: str, text: str) -> None:
    async with connect(failing_server()) as peer:
        assert await peer.call("fail", kind=kind) == {"content": [{"type": "text", "text": text}], "isError": True}


@pytest.mark.rule("ERR-1", "TOOLS-36")
async def test_a_protocol_error_of_a_tool_stays_one() -> None:
    async with connect(failing_server()) as peer:
        with pytest.raises(MCPError) as caught:
            await peer.call("fail", kind="mcp")
    assert (caught.value.code, caught.value.message, caught.value.data) == (
        -32602,
        "quota used up",
        {"retryAfter": 30},
    )


@pytest.mark.rule("TOOLS-35", "CASE-77", "TROUBLE-D3")
async def test_an_unknown_tool_is_a_protocol_error() -> None:
    async with connect(failing_server()) as peer:
        with pytest.raises(MCPError) as caught:
            await peer.call("nosuch")
    assert (caught.value.code, caught.value.message) == (INVALID_PARAMS, "Unknown tool: nosuch")


@pytest.mark.rule("ERR-19", "CASE-82", "TROUBLE-14")
async def test_the_log_tells_what_was_meant_from_what_was_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with connect(failing_server()) as peer:
        await peer.call("fail", kind="tool")
        result = await peer.call("fail", kind="runtime")
        assert "dsn=secret" not in str(result)
        with pytest.raises(MCPError):
            await peer.call("fail", kind="mcp")
    meant, not_meant = [record for record in caplog.records if record.name == "mcp.server.mcpserver.server"]
    assert (meant.levelno, meant.getMessage(), meant.exc_info) == (
        logging.INFO,
        "Tool 'fail' failed: 'At most 100.'",
        None,
    )
    assert (not_meant.levelno, not_meant.getMessage()) == (
        logging.ERROR,
        "Tool 'fail' raised an unexpected exception (request 2)",
    )
    assert caplog.text.count("dsn=secret") == caplog.text.count("Traceback") == 1


async def test_errors_can_be_shown_for_development() -> None:
    mcp = failing_server(mask_errors=False)
    async with connect(mcp) as peer:
        assert await peer.text("fail", kind="runtime") == "Error executing tool fail: dsn=secret"
    with pytest.raises(UnexpectedToolError, match="dsn=secret"):
        await mcp.call_tool("fail", {"kind": "runtime"})


@pytest.mark.rule("TEST-D2", "TOOLS-39")
async def test_a_test_that_wants_exceptions_reads_them_in_the_error_result() -> None:
    async with connect(failing_server(), raise_exceptions=True) as peer:
        result = await peer.call("fail", kind="runtime")
    assert result["isError"] is True
    assert result["content"][0]["text"] == "Error executing tool fail: dsn=secret"


@pytest.mark.rule("ERR-15", "ERR-D5")
async def test_other_methods_raise_with_the_original_as_the_cause() -> None:
    mcp = MCPServer("Lab")

    @mcp.prompt()
    async def prompt() -> str:
        raise RuntimeError("the reason")

    @mcp.resource("x://s")
    async def resource() -> str:
        raise RuntimeError("the reason")

    async with connect(mcp, raise_exceptions=True) as peer:
        for method, params in (("prompts/get", {"name": "prompt"}), ("resources/read", {"uri": "x://s"})):
            with pytest.raises(MCPError, match="the reason") as caught:
                await peer.request(method, params)
            assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.rule("ERR-5")
async def test_what_is_no_exception_is_not_converted() -> None:
    class Exit(BaseException):
        pass

    mcp = MCPServer("Lab")

    @mcp.tool()
    async def leave() -> None:
        raise Exit

    with pytest.raises(Exit):
        await mcp.call_tool("leave", {})


def test_the_tree_of_exceptions() -> None:
    assert issubclass(ToolError, MCPServerError)
    assert issubclass(UnexpectedToolError, ToolError)
    assert issubclass(ResourceNotFoundError, ResourceError)
    assert issubclass(UnexpectedResourceError, ResourceError)
    assert not issubclass(InvalidSignature, MCPServerError | ValueError)
