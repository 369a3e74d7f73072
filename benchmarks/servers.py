"""Start the measured server, put load on it, look at its memory."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.environments import WORKLOADS, Environment, clean_environment

CONNECTIONS = 16
START_TIMEOUT = 30.0

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "add",
}
BODY = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "add",
            "arguments": {"a": 2, "b": 3},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    },
    separators=(",", ":"),
)


@dataclass(frozen=True)
class RunningServer:
    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def call(self) -> None:
        """Make the call of `BODY` once and check its answer."""
        request = urllib.request.Request(self.url, BODY.encode(), HEADERS)
        with urllib.request.urlopen(request, timeout=10) as response:
            text = response.read().decode()
        if '"5"' not in text:
            raise RuntimeError(f"the server does not add: {text}")

    def memory(self) -> float:
        """Return the resident memory in MiB."""
        listed = subprocess.run(["ps", "-o", "rss=", "-p", str(self.pid)], capture_output=True, text=True, check=True)
        return int(listed.stdout) / 1024


@contextmanager
def running_server(environment: Environment) -> Generator[RunningServer]:
    """Run the server in a process of its own and wait until it listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    command = environment.command(str(WORKLOADS / "bench_server.py"), "http", str(port))
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=clean_environment())
        try:
            _wait_until_it_listens(process, port)
            yield RunningServer(port, process.pid)
        except BaseException:
            log.seek(0)
            print(f"{environment.name} server said:\n{log.read()[-2000:]}")
            raise
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + START_TIMEOUT
    while process.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise RuntimeError(f"no server on port {port}")


def requests_per_second(server: RunningServer, seconds: float) -> float:
    """Load the server with `wrk`, or with a generator of our own where it is not installed."""
    server.call()
    if shutil.which("wrk"):
        return _run_wrk(server, seconds)
    return asyncio.run(_run_own(server, seconds))


def _run_wrk(server: RunningServer, seconds: float) -> float:
    lines = ['wrk.method = "POST"', f"wrk.body = {json.dumps(BODY)}"]
    lines += [f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}" for name, value in HEADERS.items()]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "call.lua")
        script.write_text("\n".join(lines), encoding="utf-8")
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s", "-s", str(script), server.url]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in printed or "Socket errors" in printed:
        raise RuntimeError(f"requests failed:\n{printed}")
    found = re.search(r"Requests/sec:\s+([\d.]+)", printed)
    if found is None:
        raise RuntimeError(f"wrk said nothing about its speed:\n{printed}")
    return float(found[1])


async def _run_own(server: RunningServer, seconds: float) -> float:
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    request = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: {len(BODY)}\r\n{head}\r\n{BODY}"
    end = time.perf_counter() + seconds

    async def keep_calling() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        calls = 0
        while time.perf_counter() < end:
            writer.write(request.encode())
            answer = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: (\d+)", answer)
            if not answer.startswith(b"HTTP/1.1 200") or length is None:
                raise RuntimeError(f"request failed: {answer!r}")
            await reader.readexactly(int(length[1]))
            calls += 1
        writer.close()
        return calls

    start = time.perf_counter()
    calls = await asyncio.gather(*(keep_calling() for _ in range(CONNECTIONS)))
    return sum(calls) / (time.perf_counter() - start)
