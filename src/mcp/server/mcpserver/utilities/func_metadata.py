"""What registration finds out about a function."""

from mcp.server.mcpserver._signature import Arguments, Parameter, Signature, build_arguments, read_signature
from mcp.server.mcpserver.tools.base import FuncMetadata

__all__ = [
    "Arguments",
    "FuncMetadata",
    "Parameter",
    "Signature",
    "build_arguments",
    "read_signature",
]
