"""Starting and stopping a real process."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio.lowlevel
import pytest

from mcp.server.mcpserver._running import run_in_fast_loop
from tests.server.http.fakes import request_body
from tests.server.http.serving import PATIENCE, Answer, connected, post, send

ROOT = Path(__file__).parents[3]


class Process:
    """The process under test.

    Attributes:
        port: Where it listens.
        log: What it wrote to stderr so far.
    """

    def __init__(self, behaviour: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.server.http.served_process", behaviour],
            cwd=ROOT,
            env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log: list[str] = []
        self.port = 0
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.log.append(line)
            if (found := re.search(r"running on http://127\.0\.0\.1:(\d+)", line)) is not None:
                self.port = int(found[1])
                self._ready.set()

    def wait_until_ready(self) -> None:
        assert self._ready.wait(PATIENCE), self.log

    def terminate(self, number: int = signal.SIGTERM) -> None:
        self._process.send_signal(number)

    def wait(self) -> tuple[int, str]:
        """Wait for its end; returns the exit status and what it printed."""
        status = self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self._process.stdout is not None
        return status, self._process.stdout.read()

    def close(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()


@contextmanager
def process(behaviour: str = "lives") -> Generator[Process]:
    started = Process(behaviour)
    try:
        yield started
    finally:
        started.close()


@pytest.mark.rule("RUN-72")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_server_stops_at_once_and_cleans_up(number: int) -> None:
    with process() as served:
        served.wait_until_ready()
        assert post(served.port, request_body("server/discover")).status == 200
        served.terminate(number)
        _, output = served.wait()
    assert output.endswith("cleaned up\n")
    assert "Traceback" not in "".join(served.log)


@pytest.mark.rule("RUN-11")
def test_a_running_server_names_its_url_once_and_logs_requests_to_stderr_only() -> None:
    with process() as served:
        served.wait_until_ready()
        assert post(served.port, request_body("server/discover")).status == 200
        served.terminate()
        _, output = served.wait()
    assert [line for line in served.log if "http://" in line] == [
        f"MCP server running on http://127.0.0.1:{served.port}/mcp (Press CTRL+C to quit)\n"
    ]
    assert len([line for line in served.log if '"POST /mcp HTTP/1.1" 200' in line]) == 1
    assert output == "cleaned up\n"


@pytest.mark.rule("RUN-D18", "RUN-11", "SUBS-16", "SUB-12", "CASE-31")
def test_stopping_ends_streams_in_good_order_and_bounds_calls() -> None:
    listen = request_body("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, request_id=1)
    wait = request_body("tools/call", {"name": "wait", "arguments": {}}, request_id=2, progressToken="p")
    with process() as served:
        served.wait_until_ready()
        with connected(served.port) as one, connected(served.port) as two:
            send(one, listen)
            send(two, wait)
            listening, waiting = one.getresponse(), two.getresponse()
            assert listening.readline() == waiting.readline() == b"event: message\r\n"
            served.terminate()
            heard, answered = Answer(listening), Answer(waiting)
            _, output = served.wait()
    result = json.loads(heard.body.rstrip().rpartition(b"data: ")[2])
    error = json.loads(answered.body.rstrip().rpartition(b"data: ")[2])
    assert result["id"] == 1
    assert result["result"]["resultType"] == "complete"
    assert error == {"jsonrpc": "2.0", "id": 2, "error": {"code": -32603, "message": "The server is shutting down"}}
    assert output.endswith("cleaned up\n")
    assert "Traceback" not in "".join(served.log)


@pytest.mark.rule("RUN-D18")
def test_a_request_whose_body_never_comes_does_not_keep_a_server_from_stopping() -> None:
    with process() as served:
        served.wait_until_ready()
        with connected(served.port) as half:
            half.putrequest("POST", "/mcp")
            half.putheader("content-type", "application/json")
            half.putheader("content-length", "100")
            half.endheaders(b"{")
            assert post(served.port, request_body("server/discover")).status == 200
            served.terminate()
            _, output = served.wait()
    assert output.endswith("cleaned up\n")
    assert "Traceback" not in "".join(served.log)


@pytest.mark.rule("RUN-D18")
def test_a_client_that_does_not_read_does_not_keep_a_server_from_stopping() -> None:
    with process() as served:
        served.wait_until_ready()
        with connected(served.port) as deaf:
            send(deaf, request_body("tools/call", {"name": "flood", "arguments": {}}, progressToken="p"))
            assert deaf.getresponse().readline() == b"event: message\r\n"
            served.terminate()
            _, output = served.wait()
    assert output.endswith("cleaned up\n")
    assert "Traceback" not in "".join(served.log)


@pytest.mark.rule("RUN-12")
def test_a_server_whose_lifespan_fails_exits_with_status_3_and_says_why() -> None:
    with process("fails") as served:
        status, _ = served.wait()
    assert status == 3
    log = "".join(served.log)
    assert "ConnectionError: no database" in log
    assert served.port == 0


@pytest.mark.rule("RUN-10")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_second_loop_in_one_thread_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"^Already running asyncio in this thread$"):
        run_in_fast_loop(anyio.lowlevel.checkpoint)
