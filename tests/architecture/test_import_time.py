"""What an import may load. Times vary from machine to machine; which modules get loaded does not."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import mcp_types
from tests.programs import environment

HEAVY = {
    "aiohttp", "cryptography", "httptools", "httpx", "httpx2", "joserfc", "jsonschema", "jsonschema_rs", "multipart",
    "opentelemetry", "python_multipart", "redis", "rich", "starlette", "typer", "uvicorn", "uvloop",
}  # fmt: skip

HOME = str(Path(mcp_types.__file__).resolve().parents[1])


def loaded_by(statement: str) -> set[str]:
    """Return the modules that a statement brings into a fresh interpreter."""
    program = (
        f"import sys; sys.path.insert(0, {HOME!r}); before = set(sys.modules)\n{statement}\n"
        "print('\\n'.join(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def packages(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_importing_the_package_loads_nothing_but_itself() -> None:
    loaded = packages(loaded_by("import mcp"))
    assert loaded - sys.stdlib_module_names - {"mcp", "mcp_types"} == set()


@pytest.mark.parametrize("statement", ["import mcp.client", "import mcp.server", "import mcp.server.mcpserver"])
def test_importing_a_facade_loads_nothing_but_the_package(statement: str) -> None:
    loaded = packages(loaded_by(statement))
    assert loaded - sys.stdlib_module_names - {"mcp", "mcp_types"} == set()


@pytest.mark.rule("CASE-13")
@pytest.mark.parametrize(
    "statement",
    [
        "import mcp; mcp.Client",
        "from mcp import Client, ClientSession, MCPError",
        "from mcp.server.mcpserver import MCPServer, Context, Resolve, Elicit, RequestStateSecurity",
        "from mcp.server import MCPServer, Server, ServerRequestContext",
        "from mcp.server.mcpserver import MCPServer; MCPServer('x')",
        "import mcp.types",
        "import mcp_types",
    ],
)
def test_heavy_packages_wait_until_they_are_needed(statement: str) -> None:
    assert packages(loaded_by(statement)) & HEAVY == set()


def test_messages_need_neither_the_package_nor_an_event_loop() -> None:
    assert packages(loaded_by("import mcp_types")) & {"mcp", "anyio", "asyncio"} == set()


def test_a_server_is_imported_without_what_few_programs_or_only_calls_need() -> None:
    late = {"asyncio", "importlib.metadata", "mcp.server.extension", "mcp_types._tasks", "mcp_types._unions", "ssl"}
    assert loaded_by("from mcp.server.mcpserver import MCPServer") & late == set()


@pytest.mark.rule("CASE-13")
def test_client_and_server_load_without_each_other() -> None:
    client = loaded_by("import mcp; mcp.Client")
    assert [module for module in client if module.startswith("mcp.server.")] == []
    server = loaded_by("from mcp.server.mcpserver import MCPServer")
    assert [module for module in server if module.startswith("mcp.client.")] == []


@pytest.mark.parametrize("module", ["mcp_types", "mcp.types"])
def test_importing_the_messages_builds_no_validator(module: str) -> None:
    program = (
        f"import sys; sys.path.insert(0, {HOME!r}); import {module}, pydantic\n"
        "def below(model):\n"
        "    for sub in model.__subclasses__(): yield sub; yield from below(sub)\n"
        "print([m.__name__ for m in below(pydantic.BaseModel)"
        " if m.__module__.startswith('mcp') and m.__pydantic_complete__])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.rule("CASE-13")
def test_names_may_be_used_for_the_first_time_by_many_threads_at_once() -> None:
    program = """
        import threading, mcp, mcp.client, mcp.server, mcp.server.mcpserver as high
        names = [(module, name) for module in (mcp, mcp.client, mcp.server, high) for name in module.__all__]
        barrier, failures = threading.Barrier(16), []
        def use(number):
            barrier.wait()
            for module, name in names[number:] + names[:number]:
                try:
                    getattr(module, name)
                except BaseException as error:
                    failures.append((name, error))
        threads = [threading.Thread(target=use, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, env=environment(), timeout=60)
