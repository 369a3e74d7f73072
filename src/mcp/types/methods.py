"""The module `mcp_types.methods` under its second name."""

from mcp_types.methods import *  # noqa: F403
from mcp_types.methods import __all__ as __all__
