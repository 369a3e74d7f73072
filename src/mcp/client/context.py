"""What a callback knows about the question it answers."""

from mcp.client.session import ClientRequestContext

__all__ = ["ClientRequestContext"]
