"""What has been given up warns once, at the line that uses it; names of version 1 say what they are called now."""

# Deprecated names are tested here.
# pyright: reportDeprecated=false

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Annotated, Any

import pytest
from typing_extensions import get_overloads

import mcp
import mcp.types.version
import mcp_types as types
import mcp_types.version
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.resolve.markers import ListRoots, Resolve, Sample
from mcp.server.mcpserver.server import MCPServer
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
from tests.programs import run_program

LOGGING = "The logging capability is deprecated as of 2026-07-28 (SEP-2577)."
KEYWORDS = {
    "on_set_logging_level": LOGGING,
    "on_roots_list_changed": "The roots capability is deprecated as of 2026-07-28 (SEP-2577).",
    "on_progress": "Client-to-server progress is deprecated as of 2026-07-28.",
}


async def serve(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
    return types.EmptyResult() if ctx.request_id is not None else None


@pytest.mark.rule("DEPR-4")
@pytest.mark.parametrize(("keyword", "text"), KEYWORDS.items())
async def test_a_deprecated_keyword_warns_when_the_server_is_built_and_never_again(keyword: str, text: str) -> None:
    handlers: dict[str, Any] = {keyword: serve}
    with pytest.warns(MCPDeprecationWarning) as caught:
        server = Server("s", **handlers)
    assert [(str(warning.message), warning.filename) for warning in caught] == [(text, __file__)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        async with Client(server, mode="legacy") as client:
            ping = types.PingRequest()
            level = types.SetLevelRequest(params=types.SetLevelRequestParams(level="error"))
            request = level if keyword == "on_set_logging_level" else ping
            await client.session.send_request(request, types.EmptyResult)
            await client.session.send_notification(types.RootsListChangedNotification())


@pytest.mark.rule("DEPR-5")
def test_type_checkers_strike_out_the_deprecated_keywords_of_a_server() -> None:
    usual, deprecated = get_overloads(Server.__init__)
    assert not hasattr(usual, "__deprecated__")
    assert getattr(deprecated, "__deprecated__", None)
    # The annotations are text: that of the keywords names the class that lists them.
    plain, old = (
        getattr(importlib.import_module("mcp.server.lowlevel.handlers"), name) for name in ("Options", "OldOptions")
    )
    assert "h.Options[" in usual.__annotations__["rest"]
    assert "h.OldOptions[" in deprecated.__annotations__["rest"]
    assert set(old.__annotations__) - set(plain.__annotations__) == set(KEYWORDS)


@pytest.mark.rule("DEPR-9", "DEPR-D2")
async def test_where_warnings_are_errors_the_model_reads_which_one_it_was(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def tool(ctx: Context) -> str:
        await ctx.info("hello")
        return "said"

    @mcp.prompt()
    async def prompt(ctx: Context) -> str:
        await ctx.info("hello")
        return "said"

    with warnings.catch_warnings():
        warnings.simplefilter("error", MCPDeprecationWarning)
        async with Client(mcp) as client:
            result = await client.call_tool("tool")
            assert result.is_error
            assert result.content == [types.TextContent(type="text", text=f"Error executing tool tool: {LOGGING}")]
            with pytest.raises(MCPError, match=r"deprecated as of 2026-07-28"):
                await client.get_prompt("prompt")
            with pytest.raises(MCPDeprecationWarning, match="ping is removed"):
                await client.send_ping()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.rule("DEPR-10", "DEPR-D3")
@pytest.mark.parametrize("module", [mcp_types.version, mcp.types.version])
def test_the_old_name_of_the_versions_names_the_new_one(module: Any) -> None:
    with pytest.warns(MCPDeprecationWarning, match="KNOWN_PROTOCOL_VERSIONS") as caught:
        assert module.SUPPORTED_PROTOCOL_VERSIONS is KNOWN_PROTOCOL_VERSIONS
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.raises(AttributeError, match="has no attribute 'OTHER_VERSIONS'"):
        _ = module.OTHER_VERSIONS


@pytest.mark.rule("DEPR-10", "DEPR-D3")
def test_importing_the_old_name_of_the_versions_warns_at_the_import() -> None:
    with pytest.warns(MCPDeprecationWarning) as caught:
        from mcp_types.version import SUPPORTED_PROTOCOL_VERSIONS
    assert SUPPORTED_PROTOCOL_VERSIONS is KNOWN_PROTOCOL_VERSIONS
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.rule("DEPR-13")
@pytest.mark.parametrize(
    "module", ["mcp.shared.session", "mcp.shared.progress", "mcp.client.websocket", "mcp.server.websocket"]
)
def test_modules_that_are_gone_do_not_exist(module: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=module):
        importlib.import_module(module)


RENAMED = [
    ("mcp", "McpError", "MCPError"),
    ("mcp.shared.exceptions", "McpError", "MCPError"),
    ("mcp.client.streamable_http", "streamablehttp_client", "streamable_http_client"),
    ("mcp.server", "FastMCP", "MCPServer"),
    ("mcp.shared.memory", "create_connected_server_and_client_session", "mcp.Client"),
]


@pytest.mark.rule("DEPR-D4")
@pytest.mark.parametrize(("module", "old", "new"), RENAMED)
def test_a_name_of_version_1_says_what_it_is_called_now(module: str, old: str, new: str) -> None:
    hint = rf"where it is {new}\b.* pin 'mcp<2'"
    home = importlib.import_module(module)
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute '{old}': .*{hint}"):
        getattr(home, old)
    assert not hasattr(home, old)
    with pytest.raises(ImportError, match=f"cannot import name '{old}' from '{module}': .*{hint}") as caught:
        exec(f"from {module} import {old}", {})
    assert caught.value.name == module
    with pytest.raises(ImportError, match="cannot import name 'NoSuchName'"):
        exec(f"from {module} import NoSuchName", {})


@pytest.mark.rule("DEPR-D4")
@pytest.mark.parametrize(
    ("attribute", "now"),
    [
        ("list_tools", r"an argument: Server\(\.\.\., on_list_tools=handler\)"),
        ("completion", r"an argument: Server\(\.\.\., on_completion=handler\)"),
        ("request_context", "the first argument of each handler"),
    ],
)
def test_what_servers_of_version_1_had_says_what_it_is_now(attribute: str, now: str) -> None:
    server = Server("low")
    with pytest.raises(AttributeError, match=f"^'Server' object has no attribute '{attribute}': .*where it is {now}"):
        getattr(server, attribute)
    assert not hasattr(server, attribute)
    with pytest.raises(AttributeError, match=r"^'Server' object has no attribute 'on_everything'$"):
        _ = server.on_everything  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


@pytest.mark.rule("DEPR-D4")
def test_a_field_that_is_read_by_its_name_on_the_wire_says_its_name_in_python() -> None:
    tool = types.Tool(name="add", inputSchema={"type": "object"})  # pyright: ignore[reportCallIssue]
    assert tool.input_schema == {"type": "object"}
    text = r"^'Tool' object has no attribute 'inputSchema': in Python its name is 'input_schema'"
    with pytest.raises(AttributeError, match=text):
        _ = tool.inputSchema  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    with pytest.raises(AttributeError, match=r"^'Tool' object has no attribute 'schema_of_input'$"):
        _ = tool.schema_of_input  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    assert not hasattr(tool, "outputSchema")


@pytest.mark.rule("DEPR-14")
def test_settings_come_from_arguments_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from mcp.server.mcpserver import MCPServer\n"
        "mcp = MCPServer('Lab')\n"
        "mcp.streamable_http_app()\n"
        "print(mcp.settings, mcp.name)\n"
    )
    plain = run_program(program, cwd=tmp_path)
    names = ("DEBUG", "LOG_LEVEL", "HOST", "PORT", "NAME", "WARN_ON_DUPLICATE_TOOLS", "STREAMABLE_HTTP_PATH")
    for name in names:
        for prefix in ("MCP_", "FASTMCP_", "MCP_SERVER_"):
            monkeypatch.setenv(f"{prefix}{name}", "0" if name == "WARN_ON_DUPLICATE_TOOLS" else "1")
    (tmp_path / ".env").write_text("MCP_DEBUG=true\nFASTMCP_DEBUG=true\nMCP_LOG_LEVEL=DEBUG\n")
    assert run_program(program, cwd=tmp_path) == plain
    assert "debug=False" in plain


async def ask_model() -> Sample:
    question = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="?"))
    return Sample([question], max_tokens=5)


async def ask_roots() -> ListRoots:
    return ListRoots()


@pytest.mark.rule("DEPR-D5")
async def test_callbacks_that_answer_questions_are_as_good_as_ever_on_a_modern_connection() -> None:
    async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="hi"), model="m")

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///a"}]})

    mcp = MCPServer("Lab")

    @mcp.tool()
    async def tool(
        said: Annotated[types.CreateMessageResult, Resolve(ask_model)],
        folders: Annotated[types.ListRootsResult, Resolve(ask_roots)],
    ) -> list[str]:
        return [said.model, str(folders.roots[0].uri)]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        async with Client(mcp, mode="2026-07-28", sampling_callback=sample, list_roots_callback=roots) as client:
            result = await client.call_tool("tool")
    assert result.structured_content == {"result": ["m", "file:///a"]}
