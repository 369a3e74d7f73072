"""Pairs of message streams in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from mcp.shared.message import SessionMessage

MessageStream: TypeAlias = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage | Exception]
]
"""What one side of a pipe in memory holds: where it reads, and where it writes."""

_BUFFER: Final = 16
"""How many messages may wait in each direction."""


@asynccontextmanager
async def create_client_server_memory_streams() -> AsyncGenerator[tuple[MessageStream, MessageStream]]:
    """Lay a pipe in memory: what the first pair writes, the second reads, and the other way round.

    Yields:
        The client's pair and the server's pair, each to read from and to write to. Leaving closes all four ends.
    """
    to_client, client_reads = anyio.create_memory_object_stream[SessionMessage | Exception](_BUFFER)
    to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception](_BUFFER)
    async with client_reads, to_server, server_reads, to_client:
        yield (client_reads, to_server), (server_reads, to_client)
