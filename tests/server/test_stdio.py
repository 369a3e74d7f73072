"""A server on standard input and output, as a process of its own."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import JSONRPCRequest
from tests.server.stdio_child import METADATA, Child, call, child, server, text_of

HOW = pytest.mark.parametrize("how", ["run", "trio"])


def initialize(started: Child, version: str) -> None:
    params: dict[str, Any] = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    started.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    assert started.message()["result"]["protocolVersion"] == version
    started.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


@pytest.mark.parametrize("how", ["run", "asyncio", "trio"])
@pytest.mark.rule("STDIO-1", "STDIO-5", "STDIO-14", "LIFE-4", "STDIO-F-02", "STDIO-F-03", "STDIO-S-02")
def test_calls_are_answered_line_by_line_until_the_end_of_input(how: str) -> None:
    with server(how) as started:
        for number in range(20):
            started.call(number, "add", a=number, b=1)
            assert text_of(started.message()) == str(number + 1)
        assert started.end() == 0
        started.wait_for("lifespan closed")


@HOW
@pytest.mark.rule("STDIO-6", "STDIO-7", "STDIO-12", "STDIO-D3", "STDIO-F-05", "STDIO-F-08")
def test_nothing_that_is_printed_comes_between_the_messages(how: str) -> None:
    with server(how) as started:
        started.call(1, "print_everywhere")
        assert text_of(started.message()) == "quiet"
        started.close_stdin()
        assert started.rest() == [b"printed after serving\n"]
        assert started.exit_status() == 0
        for text in (
            "printed at import",
            "printed by a tool",
            "written to descriptor 1",
            "printed by a child",
        ):
            assert text in started.stderr


@HOW
@pytest.mark.rule("LOG-2")
def test_what_is_logged_goes_to_stderr_and_into_no_result(how: str) -> None:
    with server(how) as started:
        started.call(1, "log", lines=3)
        assert started.message()["result"]["content"] == [{"type": "text", "text": "logged"}]
        started.close_stdin()
        assert started.rest() == [b"printed after serving\n"]
        assert started.exit_status() == 0
        assert started.stderr.count("x" * 1000) == 3


@pytest.mark.rule("STDIO-6")
def test_tools_and_their_children_read_an_empty_stdin() -> None:
    with server() as started:
        started.call(1, "read_stdin")
        assert started.message()["result"]["structuredContent"] == {"result": ["", ""]}


@HOW
@pytest.mark.rule("STDIO-D1", "STDIO-F-03")
def test_lines_that_are_no_messages_are_answered_and_serving_goes_on(how: str) -> None:
    with server(how) as started:
        started.write(b"{not json\n\n   \n\xff\xfe\x00binary\n")
        started.send({"jsonrpc": "2.0", "id": 7, "method": 5})
        started.send([call(1, "add", a=1, b=1)])
        started.call(2, "add", a=1, b=2)
        errors = [started.message() for _ in range(4)]
        assert [(error["id"], error["error"]["code"]) for error in errors] == [
            (None, -32700),
            (None, -32700),
            (7, -32600),
            (None, -32600),
        ]
        assert text_of(started.message()) == "3"
        started.wait_for("{not json")


@pytest.mark.rule("STDIO-D1", "LEG-J-06")
@pytest.mark.parametrize(("version", "has_id"), [("2025-06-18", True), ("2025-11-25", False)])
def test_an_id_that_cannot_be_read_is_null_or_left_out_as_the_revision_wants(version: str, has_id: bool) -> None:
    with server() as started:
        initialize(started, version)
        started.write(b"{\n")
        error = started.message()
        assert ("id" in error, error.get("id"), error["error"]["code"]) == (has_id, None, -32700)


@pytest.mark.rule("LEG-J-07", "LEG-J-12", "LEG-J-18")
def test_batches_are_taken_apart_in_the_revision_that_has_them() -> None:
    with server() as started:
        initialize(started, "2025-03-26")
        calls = [
            {
                "jsonrpc": "2.0",
                "id": n,
                "method": "tools/call",
                "params": {"name": "add", "arguments": {"a": n, "b": n}},
            }
            for n in (1, 2)
        ]
        started.send([calls[0], 5, {"jsonrpc": "2.0", "method": "notifications/unknown"}, calls[1]])
        answers = sorted((started.message() for _ in range(3)), key=lambda message: message["id"] or 0)
        assert answers[0]["error"]["code"] == -32600
        assert [text_of(answer) for answer in answers[1:]] == ["2", "4"]
        started.write(b"[]\n")
        assert started.message()["error"]["code"] == -32600


@pytest.mark.rule("STDIO-2")
def test_other_line_ends_and_a_last_line_without_one_are_read() -> None:
    with server() as started:
        text = "a\u2028b\u0085c"
        started.write(json.dumps(call(1, "echo", text=text), ensure_ascii=False).encode() + b"\r\n")
        line = started.line()
        assert json.loads(line)["result"]["content"][0]["text"] == text
        assert text.encode() in line
        started.write(json.dumps(call(2, "add", a=2, b=2)).encode())
        started.close_stdin()
        assert text_of(started.message()) == "4"


def test_a_message_of_many_megabytes_passes_both_ways() -> None:
    with server() as started:
        text = "x" * 8_000_000
        started.call(1, "echo", text=text)
        assert text_of(started.message()) == text


@pytest.mark.rule("CASE-70", "STDIO-14")
@HOW
def test_calls_that_run_at_the_end_of_input_still_answer(how: str) -> None:
    with server(how) as started:
        started.call(1, "wait", seconds=0.4)
        started.call(2, "block", seconds=0.4)
        started.close_stdin()
        assert {text_of(started.message()), text_of(started.message())} == {"waited", "unblocked"}
        assert started.exit_status() == 0


@HOW
@pytest.mark.rule("STDIO-14", "CASE-12")
def test_a_call_that_goes_on_after_the_end_of_input_is_ended_and_answered(how: str) -> None:
    with server(how) as started:
        started.call(1, "wait", seconds=1000)
        started.wait_for("waiting")
        started.close_stdin()
        assert started.message()["error"] == {"code": -32000, "message": "Connection closed"}
        assert started.exit_status() == 0
        assert "wait ended" in started.stderr
        assert "lifespan closed" in started.stderr


@pytest.mark.rule("STDIO-D7", "CASE-12")
def test_a_call_stuck_in_a_thread_does_not_keep_the_process() -> None:
    with server() as started:
        started.call(1, "block", seconds=1000)
        started.wait_for("blocking")
        begun = time.monotonic()
        started.close_stdin()
        assert started.message()["error"]["code"] == -32000
        assert started.exit_status() == 0
        assert time.monotonic() - begun < 10
        assert "does not end" in started.stderr


@pytest.mark.rule("STDIO-D4", "STDIO-D5", "RUN-72", "LEG-L-20", "STDIO-S-03")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_like_the_end_of_input_and_without_a_traceback(number: signal.Signals) -> None:
    with server() as started:
        started.call(1, "wait", seconds=0.5)
        started.wait_for("waiting")
        started.process.send_signal(number)
        assert text_of(started.message()) == "waited"
        assert started.exit_status() == -number
        assert "lifespan closed" in started.stderr
        assert "Traceback" not in started.stderr
        assert ("run returned" in started.stderr) == (number == signal.SIGINT)


def test_a_second_signal_ends_the_server_at_once() -> None:
    with server() as started:
        started.call(1, "wait", seconds=1000)
        started.wait_for("waiting")
        begun = time.monotonic()
        while started.process.poll() is None and time.monotonic() < begun + 10:
            started.process.send_signal(signal.SIGTERM)
            time.sleep(0.05)  # two signals that are pending at once are one
        assert started.exit_status() == -signal.SIGTERM
        assert time.monotonic() - begun < 1.9


@HOW
@pytest.mark.rule("STDIO-D6")
@pytest.mark.parametrize("tool", ["leave_the_process", "leave_the_process_from_a_thread"])
def test_a_tool_cannot_end_the_server(how: str, tool: str) -> None:
    with server(how) as started:
        started.call(1, tool)
        assert started.message()["error"] == {"code": -32603, "message": "Internal server error"}
        started.call(2, "add", a=1, b=2)
        assert text_of(started.message()) == "3"


@HOW
@pytest.mark.rule("STDIO-D8")
def test_a_client_that_takes_no_more_messages_ends_the_server_in_good_order(how: str) -> None:
    reading, writing = os.pipe()
    with server(how, stdout=writing) as started:
        os.close(writing)
        os.close(reading)
        started.call(1, "add", a=1, b=2)
        assert started.exit_status() in (0, 120)  # 120: Python itself has something left to print there
        assert "lifespan closed" in started.stderr
        assert "Traceback" not in started.stderr


@HOW
def test_regular_files_serve_as_both_ends(how: str, tmp_path: Path) -> None:
    requests, answers = tmp_path / "requests", tmp_path / "answers"
    requests.write_text("".join(json.dumps(call(n, "add", a=n, b=n)) + "\n" for n in range(3)))
    with requests.open() as stdin, answers.open("w") as stdout, server(how, stdin=stdin, stdout=stdout) as started:
        assert started.exit_status() == 0
    lines = answers.read_text().splitlines()
    assert {text_of(json.loads(line)) for line in lines[:3]} == {"0", "2", "4"}
    assert lines[3:] == ["printed after serving"]


def test_an_answer_without_a_json_form_is_an_error_and_ends_nothing() -> None:
    with server() as started:
        started.call(1, "not_json")
        answer = started.message()
        assert answer.get("error", {}).get("code") == -32603 or answer["result"]["isError"]
        started.call(2, "add", a=1, b=2)
        assert text_of(started.message()) == "3"


def test_a_client_that_does_not_read_blocks_only_its_own_calls() -> None:
    reading, writing = os.pipe()
    with server(stdout=writing) as started:
        os.close(writing)
        for number in range(8):
            started.call(number, "echo", text="x" * 100_000)
        started.call(9, "wait", seconds=0)
        started.wait_for("wait ended")
        with os.fdopen(reading, "rb") as answers:
            lines = [json.loads(answers.readline()) for _ in range(9)]
        assert sorted(line["id"] for line in lines) == [0, 1, 2, 3, 4, 5, 6, 7, 9]


@pytest.mark.rule("CASE-10")
def test_logging_does_not_wait_for_a_client_that_never_reads_stderr() -> None:
    reading, writing = os.pipe()
    with server(stderr=writing) as started:
        os.close(writing)
        started.call(1, "log", lines=1000)
        assert text_of(started.message()) == "logged"
        started.call(2, "add", a=1, b=2)
        assert text_of(started.message()) == "3"
        assert started.end() == 0
    os.close(reading)


def test_all_that_was_logged_is_written_before_the_process_ends() -> None:
    with server() as started:
        started.call(1, "log", lines=20)
        assert text_of(started.message()) == "logged"
        started.process.send_signal(signal.SIGTERM)
        assert started.exit_status() == -signal.SIGTERM
        assert started.stderr.count("x" * 1000) == 20


LOW_LEVEL = """
import anyio
from mcp import stdio_server
from mcp.server.lowlevel.server import Server
server = Server("low")
async def main():
    async with stdio_server({arguments}) as (read_stream, write_stream):
        {body}
        await server.run(read_stream, write_stream, server.create_initialization_options())
anyio.run(main)
"""

DISCOVER: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": METADATA}}


def low_level(arguments: str = "", body: str = "pass") -> list[str]:
    return [sys.executable, "-c", LOW_LEVEL.format(arguments=arguments, body=body)]


def test_a_low_level_server_runs_on_the_pair_of_streams() -> None:
    with child(low_level()) as started:
        started.send(DISCOVER)
        assert started.message()["result"]["supportedVersions"]
        assert started.end() == 0


@pytest.mark.rule("STDIO-D2")
def test_a_line_that_is_too_long_is_refused_and_skipped() -> None:
    with child(low_level("max_line_bytes=100_000")) as started:
        started.write(b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * 300_000 + b'"}\n')
        error = started.message()
        assert (error["id"], error["error"]["code"]) == (None, -32600)
        started.send(DISCOVER)
        assert started.message()["id"] == 1
        assert started.end() == 0


@pytest.mark.rule("STDIO-9", "TROUBLE-29")
def test_a_second_server_in_one_process_is_refused() -> None:
    program = (
        "import anyio\n"
        "from mcp import stdio_server\n"
        "async def main():\n"
        "    async with stdio_server():\n"
        "        try:\n"
        "            async with stdio_server():\n"
        "                pass\n"
        "        except RuntimeError as error:\n"
        "            print(error)\n"
        "    async with stdio_server():\n"
        "        print('again')\n"
        "anyio.run(main)\n"
    )
    with child([sys.executable, "-c", program]) as started:
        assert started.end() == 0
        assert started.stderr.splitlines() == [
            "another stdio_server() in this process has already claimed fd 0",
            "again",
        ]


async def serve_texts(stdin: io.StringIO, stdout: io.StringIO) -> None:
    lowlevel = Server("low")
    async with stdio_server(anyio.wrap_file(stdin), anyio.wrap_file(stdout)) as (read_stream, write_stream):
        await lowlevel.run(read_stream, write_stream, lowlevel.create_initialization_options())


@pytest.mark.rule("STDIO-10")
async def test_given_files_are_used_and_the_descriptors_left_alone() -> None:
    stdin, stdout = io.StringIO(json.dumps(DISCOVER) + "\n"), io.StringIO()
    before = os.fstat(0), os.fstat(1)
    with anyio.fail_after(10):
        await serve_texts(stdin, stdout)
    assert json.loads(stdout.getvalue())["id"] == 1
    assert (os.fstat(0), os.fstat(1)) == before


@pytest.mark.rule("STDIO-11")
async def test_standard_streams_that_are_no_descriptors_are_used_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin, stdout = io.StringIO(json.dumps(DISCOVER) + "\nnot json\n"), io.StringIO()
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(sys, "stdout", stdout)
    with anyio.fail_after(10):
        async with stdio_server() as (read_stream, write_stream):
            received = [item async for item in read_stream]
            await write_stream.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=2, method="ping")))
    (item,) = received
    assert isinstance(item, SessionMessage)
    assert isinstance(item.message, JSONRPCRequest)
    assert item.message.method == "server/discover"
    error, request = map(json.loads, stdout.getvalue().splitlines())
    assert error["error"]["code"] == -32700
    assert request == {"jsonrpc": "2.0", "id": 2, "method": "ping"}
