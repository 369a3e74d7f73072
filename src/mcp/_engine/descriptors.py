"""Bytes in and out of file descriptors, on either event loop, without ever blocking it.

Nothing here sets `O_NONBLOCK`: that flag belongs to the open file, which other processes (a shell at the terminal)
share. A descriptor that can be waited for is read when it is readable, and written by calls that do not block. For all
others (regular files, consoles, every pipe on Windows) a thread does the waiting.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import queue
import select
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol

import anyio
import anyio.from_thread
import anyio.lowlevel

from mcp._engine.tasks import Signal, asyncio_loop

logger = logging.getLogger(__name__)

CHUNK_BYTES: Final = 64 * 1024
MAX_UNREAD_BYTES: Final = 4 * CHUNK_BYTES
"""How much is read ahead of whoever takes it."""

_NOWAIT: Final[int | None] = getattr(os, "RWF_NOWAIT", None) if hasattr(os, "pwritev") else None
# POSIX: so much can be written without blocking to a pipe that is writable.
_SMALL: Final[int] = getattr(select, "PIPE_BUF", 512)


class ByteSource(Protocol):
    """Where bytes come from."""

    async def read(self) -> bytes:
        """Wait for the next bytes; none at the end."""
        ...

    def stop(self) -> None:
        """Stop reading: this is the end, also for who is waiting. The descriptor stays open."""
        ...


class ByteSink(Protocol):
    """Where bytes go: what one call writes stays in one piece."""

    async def write(self, data: bytes) -> None:
        """Write all of it, after all that was written before.

        Being cancelled does not tear it: what has not been written is written before the next.

        Raises:
            OSError: The other end is closed.
        """
        ...

    async def flush(self) -> None:
        """Wait until everything has been written."""
        ...

    def stop(self) -> None:
        """Stop writing. The descriptor stays open."""
        ...


def can_be_waited_for(fd: int) -> bool:
    """Whether event loops can tell when the descriptor is ready."""
    if sys.platform == "win32":
        return False
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or (stat.S_ISCHR(mode) and os.isatty(fd))


def source(fd: int) -> ByteSource:
    """Read from a descriptor."""
    if not can_be_waited_for(fd):
        return _ThreadSource(fd)
    loop = asyncio_loop()
    return _WaitingSource(fd) if loop is None else _AsyncioSource(fd, loop)


def sink(fd: int) -> ByteSink:
    """Write to a descriptor."""
    if can_be_waited_for(fd) and not (_NOWAIT is None and os.isatty(fd)):
        return _WaitingSink(fd)
    return _ThreadSink(fd)


def _read(fd: int) -> bytes | None:
    """Read what is there; `None` if nothing was."""
    try:
        return os.read(fd, CHUNK_BYTES)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:
        # A terminal that hung up, a socket that was reset: an end like any other.
        logger.debug("Reading ended", exc_info=True)
        return b""


class _AsyncioSource:
    """Stays registered with the loop between reads, which saves two system calls and a turn of the loop each."""

    def __init__(self, fd: int, loop: asyncio.AbstractEventLoop) -> None:
        self._fd = fd
        self._loop = loop
        self._chunks: deque[bytes] = deque()
        self._unread = 0
        self._ended = False
        self._registered = False
        self._arrived = Signal(loop)

    def _on_readable(self) -> None:
        data = _read(self._fd)
        if data is None:
            return
        if data:
            self._chunks.append(data)
            self._unread += len(data)
        else:
            self._ended = True
        if self._ended or self._unread >= MAX_UNREAD_BYTES:
            self._pause()
        self._arrived.set()

    async def read(self) -> bytes:
        while not self._chunks:
            if self._ended:
                return b""
            if not self._registered:
                self._loop.add_reader(self._fd, self._on_readable)
                self._registered = True
            await self._arrived.wait()
        data = self._chunks.popleft()
        self._unread -= len(data)
        return data

    def stop(self) -> None:
        self._ended = True
        self._pause()
        self._arrived.set()

    def _pause(self) -> None:
        if self._registered:
            self._registered = False
            self._loop.remove_reader(self._fd)


class _WaitingSource:
    """Waits before each read."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._stopped = False

    async def read(self) -> bytes:
        while not self._stopped:
            try:
                await anyio.wait_readable(self._fd)
            except anyio.ClosedResourceError:
                break
            data = _read(self._fd)
            if data is not None:
                return data
        return b""

    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            anyio.notify_closing(self._fd)


class _ThreadSource:
    """Reads in a thread of its own: one that the process does not wait for when it ends."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._token = anyio.lowlevel.current_token()
        self._wanted = threading.Semaphore(0)
        self._thread: threading.Thread | None = None
        self._chunks: deque[bytes] = deque()
        self._arrived = anyio.Event()
        self._asked = False
        self._stopped = False

    async def read(self) -> bytes:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mcp-reader", daemon=True)
            self._thread.start()
        if not self._asked:
            self._asked = True
            self._wanted.release()
        await self._arrived.wait()
        if self._stopped:
            return b""
        self._asked = False
        self._arrived = anyio.Event()
        return self._chunks.popleft()

    def stop(self) -> None:
        self._stopped = True
        self._wanted.release()
        self._arrived.set()

    def _run(self) -> None:
        while True:
            self._wanted.acquire()
            if self._stopped:
                return
            data = None
            while data is None:
                data = _read(self._fd)
            if self._stopped:
                return
            with suppress(RuntimeError):  # the loop has ended
                anyio.from_thread.run_sync(self._take, data, token=self._token)

    def _take(self, data: bytes) -> None:
        self._chunks.append(data)
        self._arrived.set()


class _WaitingSink:
    """Writes at once what fits, and waits with the rest."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._rest = bytearray()
        self._turn = anyio.Lock()
        self._nowait = _NOWAIT

    async def write(self, data: bytes) -> None:
        if self._rest:
            self._rest += data
        else:
            written = self._write_some(data)
            if written == len(data):
                return
            self._rest += data[written:]
        await self.flush()

    async def flush(self) -> None:
        async with self._turn:
            while self._rest:
                await anyio.wait_writable(self._fd)
                del self._rest[: self._write_some(self._rest)]

    def stop(self) -> None:
        self._rest.clear()

    def _write_some(self, data: bytes | bytearray) -> int:
        try:
            if self._nowait is not None:
                try:
                    return os.pwritev(self._fd, [data], -1, self._nowait)
                except OSError as error:
                    if error.errno not in (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                        raise
                    self._nowait = None
            writable = select.poll()
            writable.register(self._fd, select.POLLOUT)
            return os.write(self._fd, memoryview(data)[:_SMALL]) if writable.poll(0) else 0
        except (BlockingIOError, InterruptedError):
            return 0


class _ThreadSink:
    """Writes in a thread of its own, in order."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._token = anyio.lowlevel.current_token()
        self._queue: queue.SimpleQueue[tuple[bytes, Callable[[], Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._error: OSError | None = None

    async def write(self, data: bytes) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mcp-writer", daemon=True)
            self._thread.start()
        written = anyio.Event()
        self._queue.put((data, written.set))
        await written.wait()
        if self._error is not None:
            raise OSError(self._error.errno, self._error.strerror) from self._error

    async def flush(self) -> None:
        if self._thread is not None:
            await self.write(b"")

    def stop(self) -> None:
        self._queue.put(None)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            data, report = item
            try:
                rest = memoryview(data)
                while rest and self._error is None:
                    rest = rest[os.write(self._fd, rest) :]
            except OSError as error:
                self._error = error
            with suppress(RuntimeError):  # the loop has ended
                anyio.from_thread.run_sync(report, token=self._token)
