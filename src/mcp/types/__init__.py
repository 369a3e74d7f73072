"""The package `mcp_types` under its second name."""

from typing import TYPE_CHECKING

from mcp_types import __all__ as __all__
from mcp_types._lazy import lazy_names

if TYPE_CHECKING:
    from mcp_types import *  # noqa: F403
else:
    __getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(__all__, "mcp_types"))
