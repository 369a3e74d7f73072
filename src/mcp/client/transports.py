"""What a transport of one's own has to offer, and the types it is made of."""

from mcp.client._transport import ReadStream, Transport, TransportStreams, WriteStream

__all__ = ["ReadStream", "Transport", "TransportStreams", "WriteStream"]
