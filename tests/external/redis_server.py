"""A real Redis, or Valkey, in a process of its own."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, cast

import redis.asyncio

from tests.programs import free_port, wait_for_port

PATIENCE = 10


class RedisServer:
    """A server that can be stopped, killed and started anew, always at the same address.

    Attributes:
        url: Its address.
    """

    def __init__(self, folder: Path) -> None:
        program = shutil.which("redis-server") or shutil.which("valkey-server")
        assert program is not None, "install redis-server or valkey-server"
        self._port = free_port()
        self._command = [
            program, "--port", str(self._port), "--bind", "127.0.0.1", "--dir", str(folder),
            "--appendonly", "yes", "--appendfsync", "always", "--save", "",
        ]  # fmt: skip
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for_port(self._port, self._process)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)

    def freeze(self) -> None:
        """Let it answer nothing, without a word to those who are connected."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.thaw()
        self.kill()


def client_of(url: str, **options: Any) -> Any:
    """A client as an application has one."""
    return cast("Any", redis.asyncio.Redis).from_url(url, **options)
