"""A server as a child process: real programs, good and bad ones."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from mcp.client._stdio_process import STRAGGLER_SECONDS
from mcp.client.stdio import (
    DEFAULT_INHERITED_ENV_VARS,
    FORCE_KILL_TIMEOUT,
    PROCESS_TERMINATION_TIMEOUT,
    StdioProcessReadStream,
    StdioProcessWriteStream,
    StdioServerParameters,
    get_default_environment,
    stdio_client,
)
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import JSONRPCError, JSONRPCRequest, JSONRPCResponse

Streams = tuple[StdioProcessReadStream, StdioProcessWriteStream]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="process groups and signals are POSIX")

# Answers each request with its params, in UTF-8 and plain JSON.
ECHO = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": message.get("params") or {}}
    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\\n")
    sys.stdout.flush()
"""

TELL_PID = """
import os
print('{"jsonrpc":"2.0","id":1,"result":{"pid":%d}}' % os.getpid(), flush=True)
"""


def python(program: str, **options: Any) -> StdioServerParameters:
    """A child that runs this program; `-S` and `-I` let it start fast."""
    return StdioServerParameters(command=sys.executable, args=["-I", "-S", "-c", program], **options)


def shell(program: str) -> StdioServerParameters:
    return StdioServerParameters(command="sh", args=["-c", program])


@asynccontextmanager
async def started(server: StdioServerParameters, **options: Any) -> AsyncGenerator[Streams]:
    with anyio.fail_after(30):
        async with stdio_client(server, **options) as streams:
            yield streams


async def ask(streams: Streams, request_id: int, **params: object) -> None:
    request = JSONRPCRequest(jsonrpc="2.0", id=request_id, method="echo", params=params)
    await streams[1].send(SessionMessage(request))


async def ask_again_and_again(streams: Streams) -> None:
    while True:
        await ask(streams, 1)
        await anyio.sleep(0.01)  # the child has to come as far as it is meant to


async def answer(streams: Streams) -> tuple[object, dict[str, Any]]:
    item = await streams[0].receive()
    assert isinstance(item, SessionMessage), item
    assert isinstance(item.message, JSONRPCResponse)
    return item.message.id, item.message.result


async def spoiled_answer(streams: Streams) -> object:
    """The id of a request that no better answer will come to."""
    assert isinstance(await streams[0].receive(), Exception)
    item = await streams[0].receive()
    assert isinstance(item, SessionMessage), item
    assert isinstance(item.message, JSONRPCError)
    return item.message.id


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what other processes and threads do, which nothing announces."""
    with anyio.fail_after(10):
        while True:
            if holds():
                return
            await anyio.sleep(0.01)


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def text_in(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def numbers_in(path: Path) -> list[int]:
    """The numbers that another process writes there."""
    await until(lambda: text_in(path).endswith("\n"))
    return [int(word) for word in text_in(path).split()]


async def end_of(pid: int) -> None:
    await until(lambda: not is_running(pid))


@pytest.mark.rule("TRANSPORT-10", "TRANSPORT-11", "STDIO-F-04", "LEG-J-11", "TR-01", "LEG-S-03")
async def test_messages_pass_line_by_line_whatever_characters_they_hold() -> None:
    texts = ["plain", "a\u2028b\u0085\r\nc", "\U0001f600", "x" * 3_000_000]
    async with started(python(ECHO, env={"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"})) as streams:
        for number, text in enumerate(texts):
            await ask(streams, number, text=text)
            assert await answer(streams) == (number, {"text": text})


@pytest.mark.rule("TRANSPORT-11")
async def test_lines_are_put_together_from_pieces_and_an_unended_one_is_dropped() -> None:
    program = """
import sys, time
def say(text):
    sys.stdout.write(text); sys.stdout.flush()
say('{"jsonrpc":"2.0",')
time.sleep(0.05)
say('"id":1,"result":{}}\\r\\n\\n{"jsonrpc":"2.0","id":2,"result":{}}\\n{"jsonrpc"')
"""
    async with started(python(program)) as streams:
        assert [(await answer(streams))[0] for _ in range(2)] == [1, 2]
        with pytest.raises(anyio.EndOfStream):
            await streams[0].receive()


@pytest.mark.rule("TRANSPORT-12", "TRANSPORT-D1", "CASE-37", "CASE-38")
async def test_lines_that_are_no_messages_are_faults_and_the_next_ones_still_arrive(
    caplog: pytest.LogCaptureFixture,
) -> None:
    program = """
import sys
sys.stdout.buffer.write(b'Listening...\\n\\xff\\xfe bad\\n{"jsonrpc":"2.0","id":1}\\n')
sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":2,"result":{}}\\n')
"""
    with caplog.at_level(logging.ERROR):
        async with started(python(program)) as streams:
            for _ in range(2):
                assert isinstance(await streams[0].receive(), Exception)
            assert await spoiled_answer(streams) == 1
            assert await answer(streams) == (2, {})
    texts = [record.getMessage() for record in caplog.records]
    assert all(text.startswith("Failed to parse JSONRPC message from server") for text in texts)
    assert "Listening..." in texts[0]


@pytest.mark.rule("TRANSPORT-13", "TRANSPORT-D1")
@pytest.mark.parametrize(
    ("handler", "expected"), [("replace", {"text": "\ufffd"}), ("ignore", {"text": ""}), ("strict", None)]
)
async def test_bytes_outside_the_encoding_are_treated_as_the_handler_says(
    handler: Literal["strict", "ignore", "replace"], expected: dict[str, str] | None
) -> None:
    program = """
import sys
sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":1,"result":{"text":"\\xff"}}\\n{"jsonrpc":"2.0","id":2,"result":{}}\\n')
"""
    async with started(python(program, encoding_error_handler=handler)) as streams:
        if expected is None:
            assert await spoiled_answer(streams) == 1
        else:
            assert await answer(streams) == (1, expected)
        assert await answer(streams) == (2, {})


@pytest.mark.rule("TRANSPORT-D2")
async def test_text_that_the_encoding_cannot_hold_fails_that_message_only() -> None:
    latin = python(ECHO, encoding="latin-1", env={"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"})
    # Isolated interpreters ignore the variables.
    latin.args.remove("-I")
    async with started(latin) as streams:
        with pytest.raises(UnicodeEncodeError):
            await ask(streams, 1, text="\u20ac")
        await ask(streams, 2, text="\u00fc")
        assert await answer(streams) == (2, {"text": "\u00fc"})


async def test_an_encoding_without_ascii_is_refused_before_anything_starts() -> None:
    with pytest.raises(ValueError, match="line by line"):
        async with stdio_client(python(ECHO, encoding="utf-16")):
            pass


def resolved(path: Path) -> Path:
    return path.resolve()


@pytest.mark.rule("TRANSPORT-8")
async def test_a_program_that_cannot_start_raises_the_plain_error_which_names_the_argument(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    missing, cannot_run = str(tmp_path / "missing"), str(tmp_path / "file")
    for error, argument, server in (
        (
            FileNotFoundError,
            "command=, which its PATH does not lead to",
            StdioServerParameters(command="no-such-program", cwd=tmp_path),
        ),
        (FileNotFoundError, "command=", StdioServerParameters(command=missing)),
        (PermissionError, "command=", StdioServerParameters(command=cannot_run)),
        (FileNotFoundError, "cwd=", python(ECHO, cwd=missing)),
        (NotADirectoryError, "cwd=", python(ECHO, cwd=cannot_run)),
    ):
        with pytest.raises(error) as caught:
            async with stdio_client(server):
                pass
        assert type(caught.value) is error
        assert f" (the server's {argument})" in str(caught.value)


@pytest.mark.rule("TRANSPORT-8", "TRANSPORT-9")
async def test_a_child_gets_its_arguments_its_directory_and_few_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
import json, os, sys
result = {"args": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}
print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}))
"""
    monkeypatch.setenv("SECRET_TOKEN", "secret")
    monkeypatch.setenv("TERM", "() { function; }")
    server = python(program, cwd=tmp_path, env={"EXTRA": "1", "HOME": "/elsewhere"})
    server.args += ["$HOME", "a b", "*"]
    async with started(server) as streams:
        _, result = await answer(streams)
    assert result["args"] == ["$HOME", "a b", "*"]
    assert result["cwd"] == str(resolved(tmp_path))
    env = result["env"]
    env.pop("LC_CTYPE", None)  # Python adds it
    env.pop("PWD", None)
    assert (env.pop("EXTRA"), env.pop("HOME")) == ("1", "/elsewhere")
    assert env == {name: value for name, value in get_default_environment().items() if name != "HOME"}
    assert "TERM" not in env
    assert set(env) <= set(DEFAULT_INHERITED_ENV_VARS)


@pytest.mark.rule("TRANSPORT-15", "STDIO-F-07", "LEG-S-04", "STDIO-F-06")
async def test_stderr_goes_to_the_file_that_is_given(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as errlog:
        async with started(python("import sys; sys.stderr.write('from the child')" + ECHO), errlog=errlog) as streams:
            await ask(streams, 1)
            assert await answer(streams) == (1, {})
    assert log.read_text() == "from the child"


@pytest.mark.rule("TRANSPORT-16", "CASE-3")
async def test_a_killed_server_ends_the_stream_at_once() -> None:
    async with started(python(TELL_PID + ECHO)) as streams:
        _, result = await answer(streams)
        os.kill(result["pid"], signal.SIGKILL)
        with anyio.fail_after(1), pytest.raises(anyio.EndOfStream):
            await streams[0].receive()
        with pytest.raises(anyio.BrokenResourceError):
            await ask_again_and_again(streams)


@POSIX
@pytest.mark.rule("TRANSPORT-16")
async def test_a_dead_server_is_noticed_even_if_what_it_started_holds_its_output(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with started(shell(f"sleep 1000 & echo $! > {pid}; exit")) as streams:
        with anyio.fail_after(2), pytest.raises(anyio.EndOfStream):
            await streams[0].receive()
    for left in await numbers_in(pid):
        await end_of(left)


@pytest.mark.rule("TRANSPORT-19")
async def test_a_server_that_closes_its_input_ends_the_connection() -> None:
    async with started(python("import os, time; os.close(0); print(flush=True); time.sleep(1000)")) as streams:
        with pytest.raises(anyio.BrokenResourceError):
            await ask_again_and_again(streams)
        with pytest.raises(anyio.EndOfStream):
            await streams[0].receive()


@POSIX
@pytest.mark.rule("TRANSPORT-17", "STDIO-S-01", "CASE-11", "LEG-L-18", "LEG-L-19")
async def test_a_server_that_ends_with_its_input_is_not_signalled(tmp_path: Path) -> None:
    done = tmp_path / "done"
    program = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))" + ECHO
    program += f"open({str(done)!r}, 'w').write('in order\\n')"
    begun = time.monotonic()
    async with started(python(program)) as streams:
        await ask(streams, 1)
        await answer(streams)
    assert done.read_text() == "in order\n"
    assert time.monotonic() - begun < PROCESS_TERMINATION_TIMEOUT + 5


@POSIX
@pytest.mark.rule("TRANSPORT-17", "CASE-11", "LEG-L-18", "LEG-L-19")
async def test_a_server_that_ignores_everything_is_killed_with_all_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    stubborn = f"trap '' TERM; sleep 1000 & echo $$ $! > {pids}; while true; do sleep 1; done"
    async with started(shell(stubborn)):
        both = await numbers_in(pids)
        begun = time.monotonic()
    limit = PROCESS_TERMINATION_TIMEOUT + FORCE_KILL_TIMEOUT
    assert limit - 0.1 <= time.monotonic() - begun < limit + 5
    assert len(both) == 2
    for one in both:
        await end_of(one)


@POSIX
@pytest.mark.rule("CASE-11")
async def test_what_a_server_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with started(shell(f"(trap '' TERM; sleep 1000) & echo $! > {pid}; cat")):
        (left,) = await numbers_in(pid)
        begun = time.monotonic()
    assert time.monotonic() - begun < STRAGGLER_SECONDS + 5
    await end_of(left)


@POSIX
@pytest.mark.rule("TRANSPORT-17")
async def test_a_server_that_still_writes_when_it_is_closed_is_not_stuck(tmp_path: Path) -> None:
    done = tmp_path / "done"
    program = "import sys; sys.stdin.read(); print('x' * 1_000_000, flush=True); "
    program += f"open({str(done)!r}, 'w').write('in order\\n')"
    async with started(python(program)):
        pass
    assert done.read_text() == "in order\n"


@POSIX
@pytest.mark.rule("TRANSPORT-18")
async def test_cancelling_still_ends_the_server(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    child = 0
    with anyio.fail_after(20):
        with anyio.CancelScope() as scope:
            async with stdio_client(shell(f"trap '' TERM; echo $$ > {pid}; while true; do sleep 1; done")):
                (child,) = await numbers_in(pid)
                scope.cancel()
                await anyio.sleep_forever()
    await end_of(child)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
@pytest.mark.rule("CASE-11")
async def test_fifty_servers_leave_no_descriptor_thread_or_process() -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    pids: list[int] = []
    program = TELL_PID + ECHO
    async with started(python(program)) as streams:
        await answer(streams)  # what the event loop keeps from the first one counts for none
    before = descriptors()
    for _ in range(50):
        async with started(python(program)) as streams:
            pids.append((await answer(streams))[1]["pid"])
    assert descriptors() <= before
    await until(lambda: all(thread.name != "mcp-server-process" for thread in threading.enumerate()))
    await until(lambda: not any(map(is_there, pids)))
