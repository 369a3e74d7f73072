"""The module `mcp_types.version` under its second name."""

from mcp_types.version import *  # noqa: F403
from mcp_types.version import __all__ as __all__
