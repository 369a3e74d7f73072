"""The module `mcp_types.version` under its second name."""

from typing import TYPE_CHECKING

from mcp_types.version import *  # noqa: F403
from mcp_types.version import __all__ as __all__

if TYPE_CHECKING:
    from mcp_types.version import SUPPORTED_PROTOCOL_VERSIONS as SUPPORTED_PROTOCOL_VERSIONS
else:
    from mcp_types.version import __getattr__ as __getattr__
