"""Files and functions stay small enough to be read in one go."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.sources import Module, read_modules

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

# Longer ones, with the reason. An entry that is no longer needed fails the test.
LONG_FILES: dict[str, str] = {
    "mcp.client.client": "every verb of the client with its arguments explained",
}
LONG_FUNCTIONS: dict[str, str] = {}


def functions(module: Module) -> Iterator[tuple[str, int]]:
    """Yield each function's name and the number of its body's lines, docstring and signature left out."""

    def visit(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = child.body[1:] if ast.get_docstring(child, clean=False) is not None else child.body
                last = child.body[-1].end_lineno or child.lineno
                yield f"{prefix}{child.name}", last - body[0].lineno + 1 if body else 0
            if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from visit(child, f"{prefix}{child.name}.")
            else:
                yield from visit(child, prefix)

    yield from visit(module.tree, f"{module.name}.")


def test_files_have_at_most_400_lines() -> None:
    long = {module.name: module.lines for module in read_modules().values() if module.lines > MAX_FILE_LINES}
    assert long.keys() == LONG_FILES.keys(), long


def test_functions_have_at_most_60_lines() -> None:
    long = {
        name: lines
        for module in read_modules().values()
        for name, lines in functions(module)
        if lines > MAX_FUNCTION_LINES
    }
    assert long.keys() == LONG_FUNCTIONS.keys(), long
