"""The module `mcp_types.jsonrpc` under its second name."""

from typing import TYPE_CHECKING

from mcp_types._lazy import lazy_names
from mcp_types.jsonrpc import __all__ as __all__

if TYPE_CHECKING:
    from mcp_types.jsonrpc import *  # noqa: F403
else:
    __getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(__all__, "mcp_types.jsonrpc"))
