"""The package `mcp_types` under its second name."""

from mcp_types import *  # noqa: F403
from mcp_types import __all__ as __all__
