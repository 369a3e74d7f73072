"""The packages that only name what lies in their modules."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

FACADES = ["mcp", "mcp.client"]


def names_for_type_checkers(package: str) -> set[str]:
    source = Path(importlib.import_module(package).__file__ or "").read_text()
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def output_of(program: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


@pytest.mark.parametrize("package", FACADES)
def test_every_name_of_a_facade_loads(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None, name
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("package", FACADES)
def test_type_checkers_and_the_run_time_see_the_same_names(package: str) -> None:
    module = importlib.import_module(package)
    assert names_for_type_checkers(package) - {"types"} == set(module.__all__)


def test_importing_the_package_and_its_client_loads_nothing_heavy() -> None:
    heavy = ["aiohttp", "httpx2", "starlette", "uvicorn", "jsonschema_rs", "cryptography", "joserfc", "opentelemetry"]
    program = f"import sys, mcp; mcp.Client; print([name for name in {heavy!r} if name in sys.modules])"
    assert output_of(program) == "[]"


def test_importing_the_package_alone_loads_no_pydantic() -> None:
    program = "import sys, mcp; print('pydantic' in sys.modules)"
    assert output_of(program) == "False"
