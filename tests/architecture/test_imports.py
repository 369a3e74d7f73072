"""Imports point down only. All of them count: at the top, inside functions, for type checkers."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import Import, Module, cycles, imports_of, read_modules

# The layers of docs/design.md, lowest first. The longest matching prefix counts.
LAYERS = {
    "mcp_types": 1,
    "mcp.types": 2,
    "mcp.shared": 3,
    "mcp._protocol": 3,
    "mcp.os": 3,
    "mcp._engine": 4,
    "mcp.stores": 4,
    "mcp.server": 5,
    "mcp.client": 5,
    "mcp.server.mcpserver": 6,
    "mcp.server.apps": 6,
    "mcp.server.tasks": 6,
    "mcp.testing": 7,
    "mcp.cli": 7,
}

# Facades and public re-exports: they may name everything, and nothing inside imports them.
FACADES = {"mcp", "mcp.client", "mcp.server", "mcp.server.mcpserver", "mcp.shared.memory", "mcp.stores"}

# Layers without input or output: mcp_types, the protocol's rules, what both sides share.
SANS_IO = ("mcp_types", "mcp.types", "mcp._protocol", "mcp.shared")
IO_PACKAGES = {
    "aiohttp", "anyio", "asyncio", "httpx", "httpx2", "httptools", "select", "selectors", "socket", "sniffio", "ssl",
    "starlette", "subprocess", "trio", "uvicorn", "uvloop",
}  # fmt: skip

# Heavy or optional packages, loaded where they are used.
HEAVY = {
    "aiohttp", "cryptography", "dotenv", "httpx2", "joserfc", "jsonschema_rs", "multipart", "opentelemetry",
    "python_multipart", "redis", "rich", "starlette", "trio", "typer", "uvicorn",
    "uvloop",
    "pywintypes", "win32api", "win32job",
}  # fmt: skip

# Modules of ours that need heavy packages at their top, and the only modules that open these doors inside a function.
DOORS: set[tuple[str, str]] = {
    # The command says what is missing where typer is.
    ("mcp.cli", "mcp.cli.app"),
    ("mcp.server.lowlevel.server", "mcp.server._http.app"),
    ("mcp.server.mcpserver._serving", "mcp.server._http.sse_app"),
    ("mcp.server.lowlevel.server", "mcp.server._serve"),
    ("mcp.server._in_process", "mcp.server._conversation"),
    # Only those who bring a dispatcher of their own, or keep something for each client.
    ("mcp.server.session", "mcp.server.connection"),
    ("mcp.server.mcpserver._serving", "mcp.server.mcpserver._running"),
    ("mcp.server.mcpserver._serving", "mcp.server.mcpserver._workers"),
    ("mcp.server.mcpserver._serving", "mcp.server._stdio_run"),
    # Only where rich is installed.
    ("mcp.server.mcpserver.utilities.logging", "mcp.server.mcpserver.utilities._rich"),
    # Only servers that share keys, or keep large states.
    ("mcp.server.request_state", "mcp.server._parking"),
    ("mcp.server.request_state", "mcp.server._state_keys"),
    # Few servers have extensions, or ask older clients what their handlers return.
    ("mcp.server._handle", "mcp.server._bridge"),
    ("mcp.server.mcpserver.server", "mcp.server.mcpserver._extensions"),
    ("mcp.server.mcpserver._function", "mcp.server.mcpserver._resume"),
    # Only what runs in a thread needs it.
    ("mcp.server.mcpserver.context", "anyio.from_thread"),
    ("mcp.client._connect", "mcp.client._http.asgi"),
    ("mcp.client._connect", "mcp.client.streamable_http"),
    # Few programs put calls away.
    ("mcp.client.client", "mcp.client._durable"),
    ("mcp.client._connect", "mcp.client._stdio_link"),
    ("mcp.client.sse", "mcp.client._http.httpx"),
    ("mcp.client.streamable_http", "mcp.client._http.aiohttp"),
    ("mcp.client.streamable_http", "mcp.client._http.httpx"),
}

MODULES = read_modules()
IMPORTS = [found for module in MODULES.values() for found in imports_of(module, MODULES)]
OURS = [found for found in IMPORTS if found.package in ("mcp", "mcp_types")]


def layer_of(module: str) -> int:
    if module in FACADES:
        return 8
    prefix = module
    while prefix not in LAYERS:
        prefix, dot, _ = prefix.rpartition(".")
        if not dot:
            raise AssertionError(f"{module} stands in no layer: give it one in {__name__}")
    return LAYERS[prefix]


def inside(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def listed(found: list[Import]) -> list[str]:
    return [str(one) for one in found]


def test_every_module_stands_in_a_layer() -> None:
    for module in MODULES:
        assert layer_of(module)


def test_imports_point_to_the_same_layer_or_down() -> None:
    upward = [found for found in OURS if layer_of(found.target) > layer_of(found.importer)]
    assert listed(upward) == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    edges: dict[str, set[str]] = {module: set() for module in MODULES}
    for found in OURS:
        if found.target != found.importer:
            edges[found.importer].add(found.target)
    assert cycles(edges) == []


def test_code_imports_from_defining_modules_and_never_from_facades() -> None:
    assert listed([found for found in OURS if found.target in FACADES and found.importer not in FACADES]) == []


def test_messages_import_nothing_but_pydantic_and_the_standard_library() -> None:
    allowed = {
        *sys.stdlib_module_names,
        "mcp_types",
        "pydantic",
        "pydantic_core",
        "typing_extensions",
        "annotated_types",
    }
    foreign = [found for found in IMPORTS if inside(found.importer, "mcp_types") and found.package not in allowed]
    assert listed(foreign) == []


def test_the_core_does_no_input_or_output() -> None:
    touching = [
        found
        for found in IMPORTS
        if inside(found.importer, *SANS_IO) and found.importer not in FACADES and found.package in IO_PACKAGES
    ]
    assert listed(touching) == []


def test_client_and_server_do_not_know_each_other() -> None:
    crossing = [
        found
        for found in IMPORTS
        if (inside(found.importer, "mcp.client") and inside(found.target, "mcp.server", "starlette", "uvicorn"))
        or (inside(found.importer, "mcp.server") and inside(found.target, "mcp.client", "aiohttp"))
    ]
    assert listed(crossing) == []


def test_imports_inside_functions_are_for_heavy_packages_and_for_doors_only() -> None:
    hidden = [
        found
        for found in IMPORTS
        if found.place == "function" and found.package not in HEAVY and (found.importer, found.target) not in DOORS
    ]
    assert listed(hidden) == []


def test_private_modules_of_the_messages_stay_inside_them() -> None:
    shared = {"mcp_types._lazy", "mcp_types._renamed"}  # about names, not about messages
    private = [found for found in OURS if found.target.startswith("mcp_types._") and found.target not in shared]
    assert listed([found for found in private if not inside(found.importer, "mcp_types")]) == []


def parse(name: str, source: str, *, package: bool = False) -> Module:
    path = (
        Path("/nowhere", *name.split("."), "__init__.py")
        if package
        else Path("/nowhere", *name.split(".")).with_suffix(".py")
    )
    return Module(name, path, ast.parse(source), source.count("\n"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import a.b", ("a.b", "top")),
        ("from mcp.x import y", ("mcp.x.y", "top")),
        ("from mcp.x import name", ("mcp.x", "top")),
        ("from . import y", ("mcp.x.y", "top")),
        ("from .y import name", ("mcp.x.y", "top")),
        ("from .. import name", ("mcp", "top")),
        ("def f():\n    import a", ("a", "function")),
        ("class C:\n    async def f(self):\n        from a import b", ("a", "function")),
        ("try:\n    import a\nexcept ImportError: ...", ("a", "top")),
        ("if TYPE_CHECKING:\n    import a", ("a", "type checking")),
        ("if typing.TYPE_CHECKING:\n    import a", ("a", "type checking")),
        ("def f():\n    if TYPE_CHECKING:\n        import a", ("a", "function")),
    ],
)
def test_imports_are_found_wherever_they_stand(source: str, expected: tuple[str, str]) -> None:
    modules = {name: parse(name, "") for name in ("mcp", "mcp.x", "mcp.x.y", "mcp.x.z")}
    (found,) = imports_of(parse("mcp.x.z", source), modules)
    assert (found.target, found.place) == expected


def test_a_package_counts_its_relative_imports_from_itself() -> None:
    (found,) = imports_of(parse("mcp.x", "from .y import name", package=True), {})
    assert found.target == "mcp.x.y"


def test_cycles_are_found() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set[str]()}
    assert cycles(edges) == [["a", "b", "c"]]
