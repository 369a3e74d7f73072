"""Run servers as a user would, in processes of their own."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

from tests.programs import ROOT, environment, wait_for_port
from tests.server.http.serving import PATIENCE


class ServerProcess:
    """A running server.

    Attributes:
        port: Where it listens.
        log: The lines it wrote so far.
    """

    def __init__(self, *arguments: str, keys: str | None = None) -> None:
        env = environment()
        env["PYTHONPATH"] += f":{ROOT}"
        env.pop("STATE_KEYS", None)
        if keys is not None:
            env["STATE_KEYS"] = keys
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.port = 0
        self.log: list[str] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._news:
                self.log.append(line)
                self._news.notify_all()

    def wait_for(self, pattern: str, times: int = 1) -> re.Match[str]:
        """Wait until so many lines of the log match; returns the first match."""
        found: list[re.Match[str]] = []

        def look() -> bool:
            found[:] = [match for line in self.log if (match := re.search(pattern, line)) is not None]
            return len(found) >= times

        with self._news:
            assert self._news.wait_for(look, 3 * PATIENCE), self.log
        return found[0]

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        """Wait until it has ended, and its workers too; returns the exit status."""
        status = self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)  # to the end of what any of them writes
        assert not self._reader.is_alive()
        return status

    def wait_for_port(self) -> None:
        """Wait until connections to the port are taken."""
        wait_for_port(self.port, self._process)

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self._process.stderr is not None
        self._process.stderr.close()


class Uvicorn(ServerProcess):
    """A running `uvicorn tests.interaction.fleet_app:app`."""

    def __init__(self, *options: str, keys: str | None) -> None:
        super().__init__("-m", "uvicorn", "tests.interaction.fleet_app:app", "--port", "0", *options, keys=keys)


@contextmanager
def workers(count: int, *options: str, program: str = "tests.interaction.workers_program") -> Generator[ServerProcess]:
    """Run a program with `workers=count` until the end of the block; all workers have started when this yields."""
    started = ServerProcess("-m", program, str(count), *options)
    try:
        started.port = int(started.wait_for(r"running on http://127\.0\.0\.1:(\d+)")[1])
        started.wait_for("is ready", count)
        yield started
    finally:
        started.stop()


@contextmanager
def uvicorn(*keys: str | None, workers: int = 1) -> Generator[list[Uvicorn]]:
    """Run one for each of `keys` until the end of the block; all their workers have started when this yields."""
    options = ("--workers", str(workers)) if workers > 1 else ()
    started = [Uvicorn(*options, keys=own) for own in keys]
    try:
        for one in started:
            one.port = int(one.wait_for(r"running on http://127\.0\.0\.1:(\d+)")[1])
            one.wait_for("Application startup complete", workers)
            one.wait_for_port()  # which a worker does right after it has said so
        yield started
    finally:
        for one in started:
            one.stop()
