"""Read the source tree as data: its modules, and every import in them, wherever it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SRC = Path(__file__).resolve().parents[2] / "src"

Place = Literal["top", "function", "type checking"]


@dataclass(frozen=True)
class Import:
    """One import of one module.

    Attributes:
        importer: The module that the statement stands in.
        target: The imported module as far as it is ours, else its full name.
        place: Where the statement stands.
        line: Its line.
    """

    importer: str
    target: str
    place: Place
    line: int

    @property
    def package(self) -> str:
        return self.target.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.target} ({self.place})"


@dataclass(frozen=True)
class Module:
    name: str
    path: Path
    tree: ast.Module
    lines: int

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"


def read_modules(src: Path = SRC) -> dict[str, Module]:
    """Parse every module below `src`, by its dotted name."""
    modules: dict[str, Module] = {}
    for path in sorted(src.rglob("*.py")):
        parts = path.relative_to(src).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        modules[name] = Module(name, path, ast.parse(text, str(path)), text.count("\n"))
    return modules


def imports_of(module: Module, known: Mapping[str, Module]) -> Iterator[Import]:
    """Yield every import of a module; `from package import submodule` counts as the submodule."""
    for node, place in _walk(module.tree, "top"):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            targets = _targets_from(node, module, known)
        for target in targets:
            yield Import(module.name, target, place, node.lineno)


def _targets_from(node: ast.ImportFrom, module: Module, known: Mapping[str, Module]) -> list[str]:
    base = node.module or ""
    if node.level:
        parents = module.name.split(".")
        parents = parents[: len(parents) - node.level + (1 if module.is_package else 0)]
        base = ".".join([*parents, base] if base else parents)
    names = (f"{base}.{alias.name}" for alias in node.names)
    return sorted({name if name in known else base for name in names})


def _walk(node: ast.AST, place: Place) -> Iterator[tuple[ast.Import | ast.ImportFrom, Place]]:
    for child in ast.iter_child_nodes(node):
        inside = place
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and place == "top":
            inside = "function"
        elif isinstance(child, ast.If) and is_type_checking(child) and place == "top":
            inside = "type checking"
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, place
        else:
            yield from _walk(child, inside)


def is_type_checking(node: ast.If) -> bool:
    test = node.test
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def cycles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of nodes that reach each other (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(edges.get(node, ())):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            start = stack.index(node)
            group = stack[start:]
            del stack[start:]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found
