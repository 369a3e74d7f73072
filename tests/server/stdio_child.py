"""Talk to a stdio server line by line, with a limit on every wait."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tests.programs import environment

PATIENCE = 20.0
PROGRAM = Path(__file__).with_name("stdio_program.py")
METADATA: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Child:
    """A server process.

    Attributes:
        process: The process.
        errors: The lines on stderr so far.
    """

    def __init__(self, command: Sequence[str | Path], **options: Any) -> None:
        env = environment()
        env.pop("PYTHONUNBUFFERED")
        self.process = subprocess.Popen(
            list(map(str, command)),
            env=env,
            stdin=options.pop("stdin", subprocess.PIPE),
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=options.pop("stderr", subprocess.PIPE),
            **options,
        )
        self.errors: list[str] = []
        self._news = threading.Condition()
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._threads: list[threading.Thread] = []
        if self.process.stderr is not None:
            self._threads.append(threading.Thread(target=self._listen, args=(self.process.stderr,), daemon=True))
        if self.process.stdout is not None:
            self._threads.append(threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True))
        for thread in self._threads:
            thread.start()

    def _read(self, stdout: IO[bytes]) -> None:
        for line in stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _listen(self, stderr: IO[bytes]) -> None:
        for line in stderr:
            with self._news:
                self.errors.append(line.decode())
                self._news.notify_all()

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: object) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def call(self, request_id: int, name: str, **arguments: object) -> None:
        self.send(call(request_id, name, **arguments))

    def line(self) -> bytes:
        """The next line on stdout; none at its end."""
        return self._lines.get(timeout=PATIENCE)

    def message(self) -> Any:
        line = self.line()
        assert line.endswith(b"\n"), line
        return json.loads(line)

    def rest(self) -> list[bytes]:
        """What else stdout holds, to its end."""
        return list(iter(self.line, b""))

    def wait_for(self, text: str) -> None:
        """Wait until stderr has a line with this in it."""
        with self._news:
            assert self._news.wait_for(lambda: any(text in line for line in self.errors), PATIENCE), self.errors

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> int:
        """Close stdin and wait for the exit status."""
        self.close_stdin()
        return self.exit_status()

    def exit_status(self) -> int:
        status = self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        return status

    @property
    def stderr(self) -> str:
        return "".join(self.errors)


def call(request_id: int, name: str, **arguments: object) -> dict[str, Any]:
    params: dict[str, Any] = {"name": name, "arguments": arguments, "_meta": METADATA}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def text_of(message: Any) -> str:
    return message["result"]["content"][0]["text"]


@contextmanager
def server(how: str = "run", **options: Any) -> Generator[Child]:
    """Run the program of misbehaviours: `run`, or `run_stdio_async` on the event loop of that name."""
    with child([sys.executable, PROGRAM, how], **options) as started:
        yield started


@contextmanager
def child(command: Sequence[str | Path], **options: Any) -> Generator[Child]:
    started = Child(command, **options)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
        started.exit_status()
        for pipe in (started.process.stdin, started.process.stdout, started.process.stderr):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    os.close(pipe.fileno())
