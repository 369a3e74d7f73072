"""The module `mcp_types.jsonrpc` under its second name."""

from mcp_types.jsonrpc import *  # noqa: F403
from mcp_types.jsonrpc import __all__ as __all__
