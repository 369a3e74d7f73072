"""Pipes in memory, for tests and for servers in the same process."""

from typing import TYPE_CHECKING

from mcp._engine.memory_streams import MessageStream, create_client_server_memory_streams
from mcp_types._renamed import renamed_names

if not TYPE_CHECKING:
    __getattr__ = renamed_names(
        __name__, {"create_connected_server_and_client_session": "mcp.Client, which takes the server: Client(server)"}
    )

__all__ = ["MessageStream", "create_client_server_memory_streams"]
