"""Error codes and metadata keys: what the code uses at all."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import mcp_types as types
from mcp.server.mcpserver.server import MCPServer
from mcp.shared.metadata_utils import get_display_name

SOURCES = Path(__file__).resolve().parents[2] / "src"

# Of JSON-RPC, of the protocol, of older revisions, and two that stand for what happened on this side.
DEFINED = {-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022, -32002, -32042, -32000, -32001}


def codes_in(path: Path) -> set[int]:
    return {
        -node.operand.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
        and isinstance(node.operand.value, int)
    }


@pytest.mark.rule("BASE-E-02", "BASE-E-05", "SERR-03")
def test_of_the_reserved_error_codes_only_defined_ones_are_used() -> None:
    used = set[int]().union(*map(codes_in, SOURCES.rglob("*.py")))
    assert {code for code in used if -32768 <= code <= -32000} <= DEFINED


@pytest.mark.rule("BASE-M-02", "BASE-M-04", "BASE-M-05", "BASE-M-06", "BASE-M-07")
def test_metadata_keys_of_ours_are_the_reserved_ones_and_well_formed() -> None:
    keys = {getattr(types, name) for name in types.__all__ if name.endswith("_META_KEY")}
    label = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
    name = "[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
    assert keys
    for key in keys:
        assert re.fullmatch(rf"{label}(?:\.{label})*/{name}", key)
    names = ("protocolVersion", "clientInfo", "clientCapabilities", "logLevel", "subscriptionId", "serverInfo")
    assert keys <= {f"io.modelcontextprotocol/{name}" for name in names}


@pytest.mark.rule("HTTP-E-05", "LEG-H-03", "LEG-X-06")
@pytest.mark.parametrize("way", ["streamable_http_app", "run_streamable_http_async", "sse_app", "run_sse_async"])
def test_servers_listen_on_this_machine_alone_unless_told_otherwise(way: str) -> None:
    assert inspect.signature(getattr(MCPServer, way)).parameters["host"].default == "127.0.0.1"


@pytest.mark.rule("BASE-I-02")
@pytest.mark.parametrize(
    ("thing", "shown"),
    [
        (types.Tool(name="n", title="t", annotations=types.ToolAnnotations(title="a"), input_schema={}), "t"),
        (types.Tool(name="n", annotations=types.ToolAnnotations(title="a"), input_schema={}), "a"),
        (types.Tool(name="n", input_schema={}), "n"),
        (types.Prompt(name="n", title="t"), "t"),
        (types.Prompt(name="n"), "n"),
        (types.Implementation(name="n", version="1"), "n"),
    ],
)
def test_the_name_to_show_is_the_title_then_the_name(thing: Any, shown: str) -> None:
    assert get_display_name(thing) == shown


def loggers_in(path: Path) -> set[str]:
    module = ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
    return {
        str(argument.value) if isinstance(argument, ast.Constant) else f"{ast.unparse(argument)} of {module}"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "getLogger"
        for argument in node.args
    }


@pytest.mark.rule("LOG-3")
def test_loggers_of_ours_stand_below_one_name() -> None:
    used = set[str]().union(*map(loggers_in, SOURCES.rglob("*.py")))
    # The root logger is given its handler and flushed; a name that users pass is theirs.
    helper = "mcp.server.mcpserver.utilities.logging"
    assert f"name of {helper}" in used
    used.discard(f"name of {helper}")
    assert len(used) > 20
    assert {name for name in used if not re.match(r"mcp\.|__name__ of mcp\.", name)} == set()
