"""Run programs as processes of their own, against the same `mcp` that the tests import."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_types

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
TIMEOUT = 30.0


def environment() -> dict[str, str]:
    home = str(Path(mcp_types.__file__).resolve().parents[1])
    return {**os.environ, "PYTHONPATH": home, "PYTHONUNBUFFERED": "1"}


def run_program(*arguments: str | Path, cwd: Path | None = None) -> str:
    """Run Python with these arguments to its end and return what it printed; fail with all of it if it failed."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=2 * TIMEOUT,
        cwd=cwd,
        env=environment(),
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(arguments: Sequence[str | Path], port: int) -> Generator[str]:
    """Run a server program and give the URL it serves, once its port listens."""
    command = [sys.executable, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment()) as process:
        try:
            wait_for_port(port, process)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            try:
                process.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_for_port(port: int, process: subprocess.Popen[Any]) -> None:
    end = time.monotonic() + TIMEOUT
    while process.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)  # there is nothing to wait on but the port itself
        else:
            return
    raise AssertionError("the server did not start to listen")
