"""Pipes in memory, for tests and for servers in the same process."""

from mcp._engine.memory_streams import MessageStream, create_client_server_memory_streams

__all__ = ["MessageStream", "create_client_server_memory_streams"]
