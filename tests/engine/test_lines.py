"""Lines out of bytes, and bytes through descriptors."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
import pytest

from mcp._engine.descriptors import sink, source
from mcp._engine.lines import LineSplitter, LineTooLong

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="pipes that can be waited for are POSIX")


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_lines_come_out_the_same_however_the_bytes_arrive(size: int) -> None:
    data = "one\n\n  \r\ntw\u2028o\r\nthree".encode()
    splitter = LineSplitter()
    lines = [line for start in range(0, len(data), size) for line in splitter.feed(data[start : start + size])]
    assert lines == [b"one", "tw\u2028o\r".encode()]
    assert splitter.end() == [b"three"]
    assert splitter.end() == []


@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_line_that_is_too_long_is_told_once_and_skipped(size: int) -> None:
    data = b"12345\n123456789\n12345\n"
    splitter = LineSplitter(5)
    lines = [line for start in range(0, len(data), size) for line in splitter.feed(data[start : start + size])]
    assert [isinstance(line, LineTooLong) or line for line in lines] == [b"12345", True, b"12345"]


@POSIX
async def test_a_pipe_carries_more_than_it_holds_in_order_and_without_being_made_non_blocking() -> None:
    reading, writing = os.pipe()
    received = bytearray()
    arriving, leaving = source(reading), sink(writing)

    async def receive() -> None:
        while data := await arriving.read():
            received.extend(data)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            async with anyio.create_task_group() as writers:
                for letter in b"abcdefgh":
                    writers.start_soon(leaving.write, bytes([letter]) * 200_000)
            assert os.get_blocking(reading)
            assert os.get_blocking(writing)
            leaving.stop()
            os.close(writing)
    arriving.stop()
    os.close(reading)
    assert len(received) == 8 * 200_000
    assert len({bytes(received[start : start + 200_000]) for start in range(0, len(received), 200_000)}) == 8


@POSIX
async def test_a_write_that_is_cancelled_is_finished_before_the_next_one() -> None:
    reading, writing = os.pipe()
    leaving = sink(writing)
    with anyio.move_on_after(0.05):
        await leaving.write(b"a" * 200_000)
    received = bytearray()

    async def receive() -> None:
        arriving = source(reading)
        while len(received) < 200_001:
            received.extend(await arriving.read())
        arriving.stop()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            await leaving.write(b"b")
    assert bytes(received) == b"a" * 200_000 + b"b"
    os.close(writing)
    os.close(reading)


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="pipes of packets are Linux")
@pytest.mark.rule("STDIO-D9")
async def test_a_message_is_written_by_one_system_call() -> None:
    reading, writing = os.pipe2(os.O_DIRECT)  # what one call writes, one call reads
    leaving = sink(writing)
    for size in (10, 3000):
        await leaving.write(b"x" * size)
        assert len(os.read(reading, 65536)) == size
    os.close(writing)
    os.close(reading)


@POSIX
async def test_stopping_ends_a_read_that_waits() -> None:
    reading, writing = os.pipe()
    arriving = source(reading)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:

            async def read() -> None:
                assert await arriving.read() == b""

            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            arriving.stop()
    os.close(writing)
    os.close(reading)


@POSIX
async def test_writing_to_nobody_fails() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        await sink(writing).write(b"x")
    os.close(writing)


async def test_regular_files_are_read_and_written_by_threads(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    with anyio.fail_after(5):
        leaving = sink(fd)
        await leaving.write(b"one")
        await leaving.write(b"two")
        await leaving.flush()
        leaving.stop()
        os.lseek(fd, 0, os.SEEK_SET)
        arriving = source(fd)
        assert (await arriving.read(), await arriving.read()) == (b"onetwo", b"")
        arriving.stop()
        assert await arriving.read() == b""
    os.close(fd)
