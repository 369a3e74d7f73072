"""Let a client program talk to a server program, and read what the client saw."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from tests.external.environments import OURS, Peer
from tests.programs import free_port, wait_for_port

PATIENCE = 60.0

Transport = Literal["http", "sse", "stdio"]


@dataclass(frozen=True)
class Conversation:
    """One client that talks to one server.

    Attributes:
        mode: What the client's `mode` is: "auto" or "legacy".
        version: The protocol version that they should agree on.
    """

    client: Peer
    server: Peer
    transport: Transport
    mode: str
    version: str

    def __str__(self) -> str:
        return f"{self.client.name}-to-{self.server.name}-{self.transport}-{self.version}"


class Conversations:
    """Holds each conversation once. An HTTP server serves all the clients that talk to it.

    Args:
        resources: Closed at the end of the session: it ends the servers.
    """

    def __init__(self, resources: ExitStack) -> None:
        self._resources = resources
        self._servers: dict[tuple[Peer, Transport], str] = {}
        self._reports: dict[Conversation, Mapping[str, Any]] = {}

    def report(self, conversation: Conversation) -> Mapping[str, Any]:
        """Return what the client saw: a member for each scenario."""
        if conversation not in self._reports:
            self._reports[conversation] = self._hold(conversation)
        return self._reports[conversation]

    def _hold(self, conversation: Conversation) -> Mapping[str, Any]:
        client = [*conversation.client.command(conversation.client.client), conversation.mode]
        if conversation.transport == "stdio":
            return _talk(conversation.client, [*client, "--", *_started_by_client(conversation.server)])
        return _talk(conversation.client, [*client, self._url(conversation.server, conversation.transport)])

    def _url(self, server: Peer, transport: Transport) -> str:
        key = server, transport
        if key not in self._servers:
            self._servers[key] = self._resources.enter_context(_serving(server, transport))
        return self._servers[key]


def _started_by_client(server: Peer) -> list[str]:
    """Give our server its path: clients pass a few safe variables on, and this is not among them."""
    command = [*server.command(server.server), "stdio"]
    return ["env", f"PYTHONPATH={server.variables()['PYTHONPATH']}", *command] if server is OURS else command


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
def _serving(server: Peer, transport: Transport) -> Generator[str]:
    port = free_port()
    with subprocess.Popen(
        [*server.command(server.server), transport, str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=server.variables(),
    ) as process:
        try:
            wait_for_port(port, process)
            yield f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
