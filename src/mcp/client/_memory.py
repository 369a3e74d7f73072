"""A server in this process, reached through a pipe in memory."""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Final, Protocol, cast

import anyio
from anyio.abc import TaskGroup

from mcp._engine.memory_streams import create_client_server_memory_streams
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage

SHUTDOWN_SECONDS: Final = 3.0
"""How long a server may take to end after its client has gone."""


class StreamServer(Protocol):
    """A server that can serve a pair of message streams."""

    def create_initialization_options(self) -> Any:
        """Collect what the server tells in a handshake."""
        ...

    async def run(
        self,
        read_stream: ReadStream[SessionMessage | Exception],
        write_stream: WriteStream[SessionMessage],
        initialization_options: Any,
        raise_exceptions: bool = False,
    ) -> None:
        """Serve to the end."""
        ...


class InMemoryTransport:
    """Runs a server while it is entered, and yields the client's end of the pipe.

    `Client(server)` needs no transport and is faster. This one carries every message of both eras, as a process of its
    own would.

    Args:
        server: The server object.
        raise_exceptions: Whether an unexpected exception of a handler ends the server and is raised on leaving.
    """

    def __init__(self, server: object, *, raise_exceptions: bool = False) -> None:
        self._server = cast("StreamServer", getattr(server, "_lowlevel_server", server))
        self._raise_exceptions = raise_exceptions
        self._stack = AsyncExitStack()
        self._tasks: TaskGroup | None = None
        self._ended = anyio.Event()
        self._write_stream: WriteStream[SessionMessage] | None = None

    async def __aenter__(self) -> TransportStreams:
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        pipe = create_client_server_memory_streams()
        (read_stream, write_stream), server_side = await self._stack.enter_async_context(pipe)
        self._tasks.start_soon(self._serve, *server_side)
        self._write_stream = write_stream
        return read_stream, write_stream

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        assert self._tasks is not None
        assert self._write_stream is not None
        try:
            with anyio.move_on_after(SHUTDOWN_SECONDS):
                await self._write_stream.aclose()
                await self._ended.wait()
        except BaseException as error:
            self._tasks.cancel_scope.cancel()
            await self._stack.__aexit__(type(error), error, error.__traceback__)
            raise
        self._tasks.cancel_scope.cancel()
        return await self._stack.__aexit__(exc_type, exc, traceback)

    async def _serve(
        self, read_stream: ReadStream[SessionMessage | Exception], write_stream: WriteStream[SessionMessage]
    ) -> None:
        options = self._server.create_initialization_options()
        try:
            await self._server.run(read_stream, write_stream, options, self._raise_exceptions)
        finally:
            self._ended.set()
