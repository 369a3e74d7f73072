"""Servers on pipes: what they print, what they log, and how both sides end."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from mcp.client.client import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.cases.ways import PROGRAM, both_eras, child, connected, content, eventually, until
from tests.programs import environment
from tests.server import stdio_child

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are those of POSIX")

SLEEPER = "import time; time.sleep(1000)"
STUBBORN = f"""
import os, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
grandchild = subprocess.Popen([sys.executable, "-c", {SLEEPER!r}])
open(sys.argv[1], "w").write(f"{{os.getpid()}} {{grandchild.pid}}")
sys.argv.pop()
exec(open({str(PROGRAM)!r}).read())
import time
time.sleep(1000)
"""
HOST = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, {str(PROGRAM)!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(child.pid, flush=True)
time.sleep(1000)
"""
GARBAGE = f"""
import os
os.write(1, b"\\xff\\xfe bad\\n")
exec(open({str(PROGRAM)!r}).read())
"""


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ended(*pids: int, seconds: float = 5) -> bool:
    """Wait for the end of processes that are not children of this one."""
    end = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.01)  # there is nothing to wait on
    return not any(map(alive, pids))


@pytest.mark.rule("CASE-10")
def test_a_server_that_is_built_leaves_logging_alone() -> None:
    root = logging.getLogger()
    before = (list(root.handlers), root.level)
    MCPServer("quiet", log_level="DEBUG")
    assert (list(root.handlers), root.level) == before


@pytest.mark.rule("CASE-10")
async def test_much_logging_is_harmless_where_the_host_reads_stderr() -> None:
    async with connected("stdio", "auto") as client:
        assert not (await client.call_tool("log_much", {"size": 30_000})).is_error


@pytest.mark.rule("CASE-11")
@both_eras
async def test_a_stubborn_server_and_what_it_started_are_gone_after_leaving(mode: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with anyio.fail_after(30):
        async with Client(child("-c", STUBBORN, pids), mode=mode) as client:
            await client.call_tool("add", {"a": 1, "b": 2})
            left = time.monotonic()
        assert time.monotonic() - left < 8
    assert ended(*map(int, content(pids).split()))


@pytest.mark.rule("CASE-11")
async def test_a_start_that_is_given_up_leaves_no_process(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    mute = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(1000)"

    async def connect() -> None:
        async with Client(child("-c", mute)):
            raise AssertionError("connected")

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connect)
            await eventually(lambda: content(pid) != "")
            tasks.cancel_scope.cancel()
    assert ended(int(content(pid)))


@pytest.mark.rule("CASE-11")
async def test_handshakes_that_fail_leave_no_descriptor() -> None:
    async def fail() -> None:
        with pytest.raises(MCPError), anyio.fail_after(20):
            async with Client(child("-c", "import sys; sys.stdin.readline()"), mode="legacy"):
                raise AssertionError("connected")

    await fail()  # what is made once stays
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await fail()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.rule("CASE-12")
def test_a_server_ends_with_the_host_that_was_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE, env=environment()) as host:
        assert host.stdout is not None
        server = int(host.stdout.readline())
        assert alive(server)
        host.send_signal(signal.SIGKILL)
        assert ended(server)


@pytest.mark.rule("CASE-12")
def test_an_idle_server_ends_soon_after_its_input() -> None:
    with stdio_child.child([sys.executable, PROGRAM]) as server:
        server.call(1, "add", a=1, b=2)
        server.message()
        begun = time.monotonic()
        assert server.end() == 0
        assert time.monotonic() - begun < 2


@pytest.mark.rule("CASE-12")
def test_an_async_tool_is_cleaned_up_when_the_input_ends(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with stdio_child.child([sys.executable, PROGRAM]) as server:
        server.call(1, "wait", path=str(path))
        anyio.run(until, path, "begun")
        server.close_stdin()
        assert server.exit_status() == 0
    assert path.read_text() == "ended"


@pytest.mark.rule("CASE-37", "CASE-69")
def test_nothing_but_messages_reaches_the_wire() -> None:
    with stdio_child.child([sys.executable, PROGRAM]) as server:
        server.call(1, "talk")
        assert server.message()["result"]["structuredContent"] == {"result": [""]}
        server.close_stdin()
        assert server.rest() == [b"printed at exit\n"]  # nobody speaks the protocol any more
        assert server.exit_status() == 0
        for text in ("at import", "by a tool", "by a child"):
            assert f"printed {text}" in server.stderr


@pytest.mark.rule("CASE-37", "CASE-38")
@both_eras
async def test_a_line_that_is_no_message_is_quoted_in_the_log_and_skipped(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    with anyio.fail_after(30):
        async with Client(child("-c", GARBAGE), mode=mode) as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
    assert "bad" in caplog.text


@pytest.mark.rule("CASE-68")
def test_messages_that_cannot_be_understood_are_answered() -> None:
    with stdio_child.child([sys.executable, PROGRAM]) as server:
        server.write(b"{not json\n")
        server.send({"jsonrpc": "2.0", "id": 7, "method": 5})
        server.call(8, "add", a=1, b=2)
        unread, invalid, answer = (server.message() for _ in range(3))
        assert (unread.get("id"), unread["error"]["code"]) == (None, -32700)
        assert (invalid["id"], invalid["error"]["code"]) == (7, -32600)
        assert answer["result"]["structuredContent"] == {"result": 3}


@pytest.mark.rule("CASE-70")
def test_requests_from_a_file_are_all_answered() -> None:
    with stdio_child.child([sys.executable, PROGRAM]) as server:
        for number in range(5):
            server.call(number, "block", seconds=0.3)
        server.close_stdin()
        assert sorted(server.message()["id"] for _ in range(5)) == list(range(5))
        assert server.exit_status() == 0
