"""The stdio transport, client side: a server as a child process.

```python
server = StdioServerParameters(command="uv", args=["run", "server.py"])
async with Client(server) as client:
    print(await client.list_tools())
```
"""

from __future__ import annotations

import codecs
import logging
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal, TextIO, cast

from pydantic import BaseModel, ConfigDict, Field

from mcp._engine.descriptors import sink, source
from mcp._engine.line_streams import LineReader, LineReadStream, LineWriteStream, encode_line
from mcp._engine.lines import DEFAULT_MAX_LINE_BYTES, LineTooLong
from mcp._engine.streams import LastFault
from mcp._protocol.errors import Rejection
from mcp._protocol.jsonrpc import (
    ErrorResponse,
    Message,
    broken_answer,
    error_message,
    loads,
    read_message,
    unreadable_answer,
)
from mcp.client._stdio_process import FORCE_KILL_TIMEOUT, PROCESS_TERMINATION_TIMEOUT, ServerProcess
from mcp_types import INTERNAL_ERROR, ErrorData

__all__ = [
    "DEFAULT_INHERITED_ENV_VARS",
    "FORCE_KILL_TIMEOUT",
    "PROCESS_TERMINATION_TIMEOUT",
    "StdioServerParameters",
    "get_default_environment",
    "stdio_client",
]

logger = logging.getLogger(__name__)

DEFAULT_INHERITED_ENV_VARS: Final[list[str]] = (
    ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]
    if sys.platform != "win32"
    else [
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE",
    ]
)
"""The variables of this process's environment that a server gets. All others may hold secrets."""

_SHOWN_BYTES: Final = 200
_NOT_SENT: Final = "The answer cannot be encoded"


def get_default_environment() -> dict[str, str]:
    """Return what a server gets of this process's environment."""
    present = {name: os.environ[name] for name in DEFAULT_INHERITED_ENV_VARS if name in os.environ}
    # Shells keep functions in variables: code, which does not belong into another program.
    return {name: value for name, value in present.items() if not value.startswith("()")}


class StdioServerParameters(BaseModel):
    """How to start a server. It is started without a shell.

    Attributes:
        command: The program.
        args: Its arguments.
        env: Environment variables beside those of `get_default_environment()`.
        cwd: Its working directory; this process's by default.
        encoding: How its messages are encoded.
        encoding_error_handler: What happens to text that is not encoded so; `strict` makes it a fault.
        max_restarts: How often in a row `Client` starts a server again that ended by itself, when it is next needed.
            It counts anew when the server has answered something. Calls that were under way are lost and not repeated.
        max_line_bytes: How long a message of the server may be. A longer one ends the connection.
    """

    model_config = ConfigDict(defer_build=True)

    command: str
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] | None = None
    cwd: str | Path | None = None
    encoding: str = "utf-8"
    encoding_error_handler: Literal["strict", "ignore", "replace"] = "strict"
    max_restarts: int = Field(default=0, ge=0)
    max_line_bytes: int = Field(default=DEFAULT_MAX_LINE_BYTES, gt=0)


class StdioProcessReadStream(LineReadStream):
    """What a server process writes."""

    def __init__(self, stdout: int, encoding: str, errors: str, max_line_bytes: int = DEFAULT_MAX_LINE_BYTES) -> None:
        super().__init__(LineReader(source(stdout), max_line_bytes=max_line_bytes))
        self._max_line_bytes = max_line_bytes
        self._encoding = encoding
        self._errors = errors
        self._batch: deque[Any] = deque()
        self._broken: ErrorResponse | None = None  # what the fault before it has to be followed by

    async def receive_wire(self, version: str | None) -> Message | Exception | None:
        """Wait for the next message; `None` at the end, an exception for a line that is none."""
        while True:
            if self._broken is not None:
                broken, self._broken = self._broken, None
                return broken
            if self._batch:
                return self._read(self._batch.popleft(), "an item of a batch is")
            line = await self._lines.read()
            if line is None:
                return None
            if isinstance(line, LineTooLong):
                # Nobody knows what it answers, and somebody may wait for it.
                text = f"the server sent a line of more than {self._max_line_bytes} bytes"
                logger.error("Failed to read a message: %s", text)
                return LastFault(f"{text}; to allow more: StdioServerParameters(max_line_bytes=...)")
            read = self._read_line(line)
            if read is not None:
                return read

    def _read_line(self, line: bytes) -> Message | Exception | None:
        try:
            value = loads(self._text(line.removeprefix(codecs.BOM_UTF8)))
            if isinstance(value, list) and value:  # 2025-03-26 base protocol: "Batching"
                self._batch.extend(cast("list[Any]", value))
                return None
            read = self._read(value, "the line is JSON, but")
            if isinstance(read, Exception):
                raise read
        except (ValueError, RecursionError) as error:
            logger.error("Failed to parse JSONRPC message from server: %s %r", error, line[:_SHOWN_BYTES])
            self._broken = self._broken or unreadable_answer(line, error)
            return error
        return read

    def _read(self, value: Any, what: str) -> Message | ValueError:
        read = read_message(value)
        if not isinstance(read, Rejection):
            return read
        self._broken = broken_answer(value)
        return ValueError(f"{what} no JSON-RPC message")

    def _text(self, line: bytes) -> bytes | str:
        if self._encoding == "utf-8" and self._errors == "strict":
            return line
        return line.decode(self._encoding, self._errors)


class StdioProcessWriteStream(LineWriteStream):
    """What a server process reads."""

    def __init__(self, stdin: int, read_stream: StdioProcessReadStream, encoding: str, errors: str) -> None:
        super().__init__(sink(stdin))
        self._read_stream = read_stream
        self._encoding = encoding
        self._errors = errors

    async def send_wire(self, message: dict[str, Any]) -> None:
        """Write one message.

        Raises:
            UnicodeEncodeError: The encoding has no such character.
            OSError: The server does not read any more, and so the connection is over.
        """
        line = encode_line(message)
        if self._encoding != "utf-8":
            try:
                line = line.decode().encode(self._encoding, self._errors)
            except UnicodeEncodeError:
                if "method" in message:
                    raise
                logger.exception("The answer to request %r cannot be encoded", message.get("id"))
                line = encode_line(error_message(message.get("id"), ErrorData(code=INTERNAL_ERROR, message=_NOT_SENT)))
        try:
            await self.write_line(line)
        except OSError:
            self._read_stream.end()
            raise


@asynccontextmanager
async def stdio_client(
    server: StdioServerParameters, errlog: TextIO = sys.stderr
) -> AsyncGenerator[tuple[StdioProcessReadStream, StdioProcessWriteStream]]:
    """Start a server process; yields the receiving and the sending stream.

    Leaving the block ends the process and all that it started: its input is closed, then it is asked by a signal, then
    it is killed. One that ends by itself ends the streams and is not started again.

    Args:
        server: How to start it.
        errlog: The file that receives its stderr.

    Raises:
        OSError: The program could not be started.
    """
    encoding = codecs.lookup(server.encoding).name
    if "\n".encode(encoding) != b"\n":
        raise ValueError(f"encoding={server.encoding!r} cannot be read line by line; use one that contains ASCII")
    env = {**get_default_environment(), **(server.env or {})}
    process = ServerProcess([server.command, *server.args], env, server.cwd, errlog, lambda: read_stream.end())
    try:
        read_stream = StdioProcessReadStream(
            process.stdout, encoding, server.encoding_error_handler, server.max_line_bytes
        )
        write_stream = StdioProcessWriteStream(process.stdin, read_stream, encoding, server.encoding_error_handler)
        try:
            yield read_stream, write_stream
        finally:
            await read_stream.aclose()
            await write_stream.aclose()
    finally:
        await process.end()
