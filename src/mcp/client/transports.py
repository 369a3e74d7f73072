"""What a transport of one's own has to offer, the types it is made of, and the one to a server in this process."""

from mcp.client._memory import InMemoryTransport
from mcp.client._transport import ReadStream, Transport, TransportStreams, WriteStream

__all__ = ["InMemoryTransport", "ReadStream", "Transport", "TransportStreams", "WriteStream"]
