"""What an import may load. Times vary from machine to machine; which modules get loaded does not."""

from __future__ import annotations

import importlib.util
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
        "from mcp.server.streamable_http import EventStore, EventMessage",
        "from mcp.server.redis import RedisEventStore",
        "from mcp.server.transport_security import TransportSecuritySettings",
        "import mcp.types",
        "import mcp_types",
    ],
)
def test_heavy_packages_wait_until_they_are_needed(statement: str) -> None:
    assert packages(loaded_by(statement)) & HEAVY == set()


def test_messages_need_neither_the_package_nor_an_event_loop() -> None:
    assert packages(loaded_by("import mcp_types")) & {"mcp", "anyio", "asyncio"} == set()


IMPORT = "from mcp.server.mcpserver import MCPServer"
MAKE = f"{IMPORT}; server = MCPServer('x')"
REGISTER = f"{MAKE}\n@server.tool()\ndef add(a: int, b: int) -> int: return a + b"

# What takes long and loads at the first use. Each step may not load what is named for later ones either.
FOR_REQUESTS = {
    "asyncio",
    "importlib.metadata",  # pydantic's plugins are looked for when the first validator is built
    "mcp._engine.connection",
    "mcp._engine.link",
    "mcp._engine.scope",
    "mcp._protocol.handshake",
    "mcp._protocol.metadata",
    "mcp.server._asking",
    "mcp.server._handle",
    "mcp.server._in_process",
    "mcp.server._initialization",
    "mcp.server._questions",
    "mcp.server._serve",
    "mcp.server.auth._access_token",
    "mcp.server.caching",
    "mcp.server.elicitation",
    "mcp.server.extension",
    "mcp.server.lowlevel.handler_types",
    "mcp.server.mcpserver._resource_contents",
    "mcp.server.mcpserver.prompts.base",
    "mcp.server.mcpserver.resolve.run",
    "mcp.server.mcpserver.resources.base",
    "mcp.server.mcpserver.resources.templates",
    "mcp.server.session",
    "mcp_types._base",
    "mcp_types._calls",
    "mcp_types._capabilities",
    "mcp_types._content",
    "mcp_types._envelopes",
    "mcp_types._input_required",
    "mcp_types._method_types",
    "mcp_types._resources",
    "mcp_types._sampling",
    "mcp_types._tasks",
    "mcp_types._unions",
    "pydantic.networks",
    "ssl",
}
FOR_TOOLS = {
    "mcp.server.mcpserver._function",
    "mcp.server.mcpserver._output",
    "mcp.server.mcpserver._signature",
    "mcp.server.mcpserver.tools.base",
    "mcp_types._tools",
}
FOR_SERVERS = {
    "anyio",
    "decimal",
    "hashlib",
    "json",
    "logging",
    "mcp.server.context",
    "mcp.server.mcpserver._handlers",
    "mcp.server.request_state",
    "mcp.server.subscriptions",
    "platform",
    "pydantic",
    "pydantic_core",
    "threading",
    "uuid",
}


@pytest.mark.parametrize(
    ("step", "late"),
    [
        (IMPORT, FOR_SERVERS | FOR_TOOLS | FOR_REQUESTS),
        (MAKE, FOR_TOOLS | FOR_REQUESTS),
        (REGISTER, FOR_REQUESTS),
    ],
    ids=["import", "make", "register"],
)
def test_each_step_to_a_server_loads_what_it_needs(step: str, late: set[str]) -> None:
    assert loaded_by(step) & late == set()


def test_what_loads_late_exists() -> None:
    # Or the test above would prove nothing.
    assert [name for name in FOR_SERVERS | FOR_TOOLS | FOR_REQUESTS if importlib.util.find_spec(name) is None] == []


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
