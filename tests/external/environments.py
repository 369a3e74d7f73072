"""The environments of programs that are not ours: each is installed once, below `.environments`."""

from __future__ import annotations

import functools
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.programs import ROOT
from tests.programs import environment as our_environment

HERE = Path(__file__).resolve().parent
FOLDER = HERE / ".environments"
PEERS = HERE / "peers"
INSTALLATION = 240.0


@dataclass(frozen=True)
class Peer:
    """An implementation: what it is made of, and the programs that use it.

    Attributes:
        name: The name of its environment.
        packages: What the registry calls its packages, with exact versions. Ours has none.
        server: The server program, in `peers`.
        client: The client program.
    """

    name: str
    packages: tuple[str, ...]
    server: str
    client: str

    def command(self, program: str) -> list[str]:
        """Return the command that runs the program, and install what it needs if that is not here."""
        if program.endswith(".mjs"):
            return ["node", str(_node_modules(self).parent / program)]
        python = _virtual_environment(self.name, self.packages) if self.packages else Path(sys.executable)
        return [str(python), str(PEERS / program)]

    def variables(self) -> dict[str, str]:
        """Return the environment variables of its programs; only ours find the project."""
        if self.packages:
            return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return our_environment()


OURS = Peer("rondo", (), "v2_server.py", "v2_client.py")
PYTHON_2 = Peer("python-2", ("mcp==2.3.0",), "v2_server.py", "v2_client.py")
PYTHON_1 = Peer("python-1", ("mcp==1.30.0",), "v1_server.py", "v1_client.py")
TYPESCRIPT_2 = Peer(
    "typescript-2",
    (
        "@modelcontextprotocol/client@2.4.0",
        "@modelcontextprotocol/node@2.1.2",
        "@modelcontextprotocol/server@2.4.0",
        "zod@4.6.7",
    ),
    "ts2_server.mjs",
    "ts2_client.mjs",
)
TYPESCRIPT_1 = Peer(
    "typescript-1", ("@modelcontextprotocol/sdk@1.32.2", "zod@4.6.7"), "ts1_server.mjs", "ts1_client.mjs"
)


PUBLISHED_SERVERS = ("mcp-server-fetch==2026.10.24", "mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19")
# What these ask for, but for the package `mcp`, in whose place ours is.
_THEIR_NEEDS = (
    "click>=8.1.7",
    "gitpython>=3.1.60",
    "httpx[socks]>=0.27",
    "markdownify>=0.13.1",
    "protego>=0.6.2",
    "readabilipy>=0.2.0",
    "requests>=2.32.3",
    "tzdata>=2024.2",
    "tzlocal>=5.3.1",
)


def python_of_published_servers() -> Path:
    """Return the Python that has the published servers; it needs `our_environment()` to find this project."""
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    ours: list[str] = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return _virtual_environment("published-servers", (*ours, *_THEIR_NEEDS), PUBLISHED_SERVERS)


@functools.cache
def _virtual_environment(name: str, packages: tuple[str, ...], alone: tuple[str, ...] = ()) -> Path:
    """Install packages, and those in `alone` without what they ask for."""
    folder = FOLDER / name
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (python.exists() and _is_installed(folder, packages + alone)):
        _run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)])
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-qq"]
        _run([*pip, *packages])
        if alone:
            _run([*pip, "--no-deps", *alone])
        _note_installed(folder, packages + alone)
    return python


@functools.cache
def _node_modules(peer: Peer) -> Path:
    """Install the packages, and copy the programs beside them: Node.js looks for modules from the program upward."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.fail("Node.js and npm are needed for the TypeScript packages; install them")
    folder = FOLDER / peer.name
    if not _is_installed(folder, peer.packages):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}')
        _run(["npm", "install", "--no-audit", "--no-fund", "--silent", *peer.packages], folder)
        _note_installed(folder, peer.packages)
    for program in PEERS.glob("*.mjs"):
        shutil.copy(program, folder)
    return folder / "node_modules"


def _is_installed(folder: Path, packages: tuple[str, ...]) -> bool:
    note = folder / "installed.json"
    return note.exists() and json.loads(note.read_text()) == list(packages)


def _note_installed(folder: Path, packages: tuple[str, ...]) -> None:
    (folder / "installed.json").write_text(json.dumps(packages))


def _run(command: Sequence[str], folder: Path | None = None) -> None:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=INSTALLATION,
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout
