"""The environments of the other implementations: each is installed once, below `.environments`."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

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
        python = _virtual_environment(self) if self.packages else Path(sys.executable)
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


@functools.cache
def _virtual_environment(peer: Peer) -> Path:
    folder = FOLDER / peer.name
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (python.exists() and _is_installed(peer)):
        _run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)])
        _run([sys.executable, "-m", "pip", "--python", str(python), "install", "-qq", *peer.packages])
        _note_installed(peer)
    return python


@functools.cache
def _node_modules(peer: Peer) -> Path:
    """Install the packages, and copy the programs beside them: Node.js looks for modules from the program upward."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.fail("Node.js and npm are needed for the TypeScript packages; install them")
    folder = FOLDER / peer.name
    if not _is_installed(peer):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}')
        _run(["npm", "install", "--no-audit", "--no-fund", "--silent", *peer.packages], folder)
        _note_installed(peer)
    for program in PEERS.glob("*.mjs"):
        shutil.copy(program, folder)
    return folder / "node_modules"


def _is_installed(peer: Peer) -> bool:
    note = FOLDER / peer.name / "installed.json"
    return note.exists() and json.loads(note.read_text()) == list(peer.packages)


def _note_installed(peer: Peer) -> None:
    (FOLDER / peer.name / "installed.json").write_text(json.dumps(peer.packages))


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
