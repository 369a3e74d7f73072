"""Let a client program talk to a server program, and read what the client saw."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from tests.external.environments import OURS, Peer
from tests.programs import free_port, wait_for_port

PATIENCE = 60.0


@dataclass(frozen=True)
class Conversation:
    """One client that talks to one server.

    Attributes:
        mode: What the client's `mode` is: "auto" or "legacy".
        version: The protocol version that they should agree on.
    """

    client: Peer
    server: Peer
    transport: Literal["http", "stdio"]
    mode: str
    version: str

    def __str__(self) -> str:
        return f"{self.client.name}-to-{self.server.name}-{self.transport}-{self.version}"


@functools.cache
def report(conversation: Conversation) -> Mapping[str, Any]:
    """Hold the conversation and return the client's report: a member for each scenario."""
    server = conversation.server.command(conversation.server.server)
    client = [*conversation.client.command(conversation.client.client), conversation.mode]
    if conversation.transport == "http":
        with _serving(conversation.server, server) as url:
            return _talk(conversation.client, [*client, url])
    return _talk(conversation.client, [*client, "--", *_started_by_client(conversation.server, server), "stdio"])


def _started_by_client(server: Peer, command: list[str]) -> list[str]:
    """Give our server its path: clients pass a few safe variables on, and this is not among them."""
    if server is not OURS:
        return command
    return ["env", f"PYTHONPATH={server.variables()['PYTHONPATH']}", *command]


def _talk(client: Peer, command: list[str]) -> dict[str, Any]:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=client.variables(),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def _serving(server: Peer, command: list[str]) -> Generator[str]:
    port = free_port()
    sink = None if os.environ.get("SHOW_SERVERS") else subprocess.DEVNULL
    with subprocess.Popen(
        [*command, "http", str(port)],
        stdin=subprocess.DEVNULL,
        stdout=sink,
        stderr=sink,
        env=server.variables(),
    ) as process:
        try:
            wait_for_port(port, process)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
