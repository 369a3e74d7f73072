"""A lazy facade tells type checkers and the running program the same."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.architecture.sources import is_type_checking, read_modules
from tests.architecture.test_imports import FACADES

MODULES = read_modules()
MESSAGES = {"mcp_types", "mcp_types.jsonrpc", "mcp_types.methods"}
MIRRORS = {module.replace("mcp_types", "mcp.types") for module in MESSAGES}
PARTS = {
    "mcp.server.lowlevel",
    "mcp.server.mcpserver.prompts",
    "mcp.server.mcpserver.resolve",
    "mcp.server.mcpserver.resources",
    "mcp.server.mcpserver.tools",
    "mcp.server.streamable_http",
}
LAZY = sorted({name for name in FACADES & MODULES.keys() if MODULES[name].is_package} | MESSAGES | MIRRORS | PARTS)


def declared(facade: str) -> Iterator[tuple[str, str, str]]:
    """Yield what a facade's type-checking block imports: the name it gets, its module, its name there."""
    for node in ast.walk(MODULES[facade].tree):
        if isinstance(node, ast.If) and is_type_checking(node):
            for statement in node.body:
                assert isinstance(statement, ast.ImportFrom), f"{facade}: only from-imports belong there"
                module = resolve(facade, statement)
                for alias in statement.names:
                    names = published(importlib.import_module(module)) if alias.name == "*" else [alias.name]
                    for name in names:
                        yield alias.asname or name, module, name


def at_once(facade: str) -> set[str]:
    """Return the names that a facade holds from the beginning: it loads what costs nothing."""
    module = importlib.import_module(facade)
    names: set[str] = set()
    for statement in MODULES[facade].tree.body:
        if isinstance(statement, ast.ImportFrom):
            source = importlib.import_module(resolve(facade, statement))
            for alias in statement.names:
                names.update(published(source) if alias.name == "*" else [alias.asname or alias.name])
    return names & set(published(module))


def resolve(facade: str, statement: ast.ImportFrom) -> str:
    if not statement.level:
        return statement.module or ""
    parents = facade.split(".")
    parents = parents[: len(parents) - statement.level + 1]
    return ".".join([*parents, statement.module] if statement.module else parents)


def published(facade: ModuleType) -> list[str]:
    names: list[str] = facade.__all__
    return names


@pytest.mark.parametrize("facade", LAZY)
def test_all_names_what_the_type_checking_block_imports(facade: str) -> None:
    names = published(importlib.import_module(facade))
    assert len(names) == len(set(names))
    # Submodules are reachable as attributes, and are no part of a star import.
    submodules = {name for name, module, _ in declared(facade) if f"{module}.{name}" in MODULES}
    assert set(names) == {name for name, _, _ in declared(facade)} - submodules | at_once(facade)


@pytest.mark.parametrize("facade", LAZY)
def test_every_name_is_the_object_that_its_module_defines(facade: str) -> None:
    lazy = importlib.import_module(facade)
    for name, module, original in declared(facade):
        try:
            expected = getattr(importlib.import_module(module), original)
        except AttributeError:  # `from mcp import types`: a module
            expected = importlib.import_module(f"{module}.{original}")
        assert getattr(lazy, name) is expected, f"{facade}.{name}"


@pytest.mark.parametrize("facade", LAZY)
def test_every_name_is_listed_and_unknown_ones_are_refused_by_name(facade: str) -> None:
    lazy = importlib.import_module(facade)
    assert set(published(lazy)) <= set(dir(lazy))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = lazy.no_such_name


@pytest.mark.parametrize("facade", LAZY)
def test_a_star_import_brings_every_name(facade: str) -> None:
    program = f"from {facade} import *; import {facade} as f; print(all(n in globals() for n in f.__all__))"
    path = f"import sys; sys.path[:0] = {sys.path!r}; "
    printed = subprocess.run(
        [sys.executable, "-c", path + program], capture_output=True, text=True, check=True, timeout=60
    )
    assert printed.stdout.strip() == "True"


@pytest.mark.parametrize("facade", LAZY)
def test_a_facade_holds_a_table_and_nothing_else(facade: str) -> None:
    allowed = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Expr, ast.If)
    others = [node for node in MODULES[facade].tree.body if not isinstance(node, allowed)]
    assert [ast.unparse(node) for node in others] == []
