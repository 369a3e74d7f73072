"""The stdio transport, server side: the process's standard input and output as a pair of message streams.

```python
async def main() -> None:
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())
```

`MCPServer.run()` does this and more: it ends in good order when the process is told to.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any, Final, cast

import anyio

import mcp_types as types
from mcp._engine.descriptors import ByteSink, ByteSource, sink, source
from mcp._engine.line_streams import LineReader, LineReadStream, LineWriteStream
from mcp._engine.lines import DEFAULT_MAX_LINE_BYTES, LineTooLong
from mcp._protocol.era import errors_need_id, knows_batches
from mcp._protocol.errors import Rejection
from mcp._protocol.jsonrpc import (
    PARSE_ERROR_TEXT,
    Message,
    broken_answer,
    error_message,
    loads,
    read_batch,
    read_message,
    unreadable_answer,
)
from mcp.server._stdio_fds import STDIN, STDOUT, claim_stdin, claim_stdout, is_descriptor
from mcp_types import INVALID_REQUEST, PARSE_ERROR

__all__ = ["StdioReadStream", "StdioWriteStream", "stdio_server"]

logger = logging.getLogger(__name__)

_SHOWN_BYTES: Final = 200


class StdioWriteStream(LineWriteStream):
    """What the client receives.

    Attributes:
        on_close: Told when the stream is closed.
    """

    on_close: Callable[[], None] | None = None

    async def aclose(self) -> None:
        """Write what is left and stop."""
        await super().aclose()
        if self.on_close is not None:
            self.on_close()


class StdioReadStream(LineReadStream):
    """What the client sends. A line that is no message is answered here, and never gets further.

    Args:
        lines: The lines.
        answers: Where those answers go.
        max_line_bytes: How long a line may be, for the answer to a longer one.

    Attributes:
        on_end: Told when the input has ended.
    """

    on_end: Callable[[], None] | None = None

    def __init__(self, lines: LineReader, answers: StdioWriteStream, max_line_bytes: int) -> None:
        super().__init__(lines)
        self._answers = answers
        self._max_line_bytes = max_line_bytes
        # The rest of the last line: of a batch, or what ends the wait for an answer that was none.
        self._rest: deque[Message | Rejection] = deque()

    async def receive_wire(self, version: str | None) -> Message | None:
        """Wait for the next message; `None` at the end of input."""
        while True:
            if self._rest:
                read = self._rest.popleft()
            else:
                line = await self._lines.read()
                if line is None:
                    if self.on_end is not None:
                        self.on_end()
                    return None
                read = self._read_line(line, version)
            if isinstance(read, Rejection):
                await self._refuse(read, version)
            elif read is not None:
                return read

    def _read_line(self, line: bytes | LineTooLong, version: str | None) -> Message | Rejection | None:
        if isinstance(line, LineTooLong):
            logger.warning("Skipping a line from the client that is longer than %d bytes", self._max_line_bytes)
            return Rejection(400, INVALID_REQUEST, f"Message is longer than {self._max_line_bytes} bytes")
        try:
            value = loads(line)
        except (ValueError, RecursionError) as error:
            logger.warning("A line from the client is not JSON: %r", line[:_SHOWN_BYTES])
            if (answer := unreadable_answer(line, error)) is not None:
                self._rest.append(answer)
            return Rejection(400, PARSE_ERROR, PARSE_ERROR_TEXT)
        if version is not None and knows_batches(version) and isinstance(value, list) and value:
            self._rest.extend(read_batch(cast("list[Any]", value)))
            return None
        read = read_message(value)
        if isinstance(read, Rejection):
            logger.warning("A line from the client is no JSON-RPC message: %r", line[:_SHOWN_BYTES])
            if (answer := broken_answer(value)) is not None:
                self._rest.append(answer)
        return read

    async def _refuse(self, rejection: Rejection, version: str | None) -> None:
        # JSON-RPC wants an id that could not be read to be null; revisions from 2025-11-25 on leave it out.
        null_id = version is None or errors_need_id(version)
        error = types.ErrorData(code=rejection.code, message=rejection.message)
        with suppress(OSError):  # whoever answers the next request will notice
            await self._answers.send_wire(error_message(rejection.request_id, error, null_id=null_id))


@asynccontextmanager
async def stdio_server(
    stdin: anyio.AsyncFile[str] | None = None,
    stdout: anyio.AsyncFile[str] | None = None,
    *,
    max_line_bytes: int = DEFAULT_MAX_LINE_BYTES,
) -> AsyncGenerator[tuple[StdioReadStream, StdioWriteStream]]:
    """Serve one client on standard input and output; yields the receiving and the sending stream.

    Until the block is left, descriptor 0 is the null device and descriptor 1 is stderr: whatever else the process or
    its children print lands on stderr.

    Args:
        stdin: A text file to read instead.
        stdout: A text file to write instead.
        max_line_bytes: How long a message may be.

    Raises:
        RuntimeError: Another one is open in this process.
    """
    with ExitStack() as claims:
        from_client = _source(stdin, claims)
        to_client = _sink(stdout, claims)
        lines = LineReader(from_client, max_line_bytes=max_line_bytes, keep_unended=True)
        write_stream = StdioWriteStream(to_client)
        read_stream = StdioReadStream(lines, write_stream, max_line_bytes)
        try:
            yield read_stream, write_stream
        finally:
            await read_stream.aclose()
            await write_stream.aclose()


def _source(stdin: anyio.AsyncFile[str] | None, claims: ExitStack) -> ByteSource:
    if stdin is not None:
        return _TextSource(stdin)
    if is_descriptor(sys.stdin, STDIN):
        return source(claims.enter_context(claim_stdin()))
    return _TextSource(anyio.wrap_file(sys.stdin))


def _sink(stdout: anyio.AsyncFile[str] | None, claims: ExitStack) -> ByteSink:
    if stdout is not None:
        return _TextSink(stdout)
    if is_descriptor(sys.stdout, STDOUT):
        return sink(claims.enter_context(claim_stdout()))
    return _TextSink(anyio.wrap_file(sys.stdout))


class _TextSource:
    """Reads a text file that somebody else opened."""

    def __init__(self, file: anyio.AsyncFile[str]) -> None:
        self._file = file
        self._stopped = False

    async def read(self) -> bytes:
        if self._stopped:
            return b""
        return (await self._file.readline()).encode("utf-8", "surrogateescape")

    def stop(self) -> None:
        self._stopped = True


class _TextSink:
    """Writes to a text file that somebody else opened."""

    def __init__(self, file: anyio.AsyncFile[str]) -> None:
        self._file = file
        self._turn = anyio.Lock()

    async def write(self, data: bytes) -> None:
        async with self._turn:
            await self._file.write(data.decode())
            await self._file.flush()

    async def flush(self) -> None:
        async with self._turn:
            await self._file.flush()

    def stop(self) -> None:
        pass
