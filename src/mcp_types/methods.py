# ruff: noqa: F403, F405
"""The protocol's methods: what each carries, what answers it, who sends it, and in which revisions.

The tables of types, and the functions that read messages by them, load when they are first used.
"""

from typing import TYPE_CHECKING

from mcp_types._lazy import lazy_names
from mcp_types._methods import (
    CACHEABLE_METHODS,
    INPUT_REQUIRED_METHODS,
    SPEC_CLIENT_METHODS,
    SPEC_CLIENT_NOTIFICATION_METHODS,
    CacheableMethod,
    is_input_required,
)

# For whoever asks which methods there are, without their types.
from mcp_types._methods import CLIENT_NOTIFICATION_ROWS as CLIENT_NOTIFICATION_ROWS
from mcp_types._methods import CLIENT_REQUEST_ROWS as CLIENT_REQUEST_ROWS
from mcp_types._methods import result_named_by as result_named_by

if TYPE_CHECKING:
    from mcp_types._method_types import *
else:
    _NAMES = """
        CLIENT_NOTIFICATIONS CLIENT_REQUESTS CLIENT_RESULTS MONOLITH_NOTIFICATIONS MONOLITH_REQUESTS
        MONOLITH_RESULTS SERVER_NOTIFICATIONS SERVER_REQUESTS SERVER_RESULTS parse_client_notification
        parse_client_request parse_client_result parse_server_notification parse_server_request parse_server_result
        serialize_server_result validate_client_notification validate_client_request validate_client_result
        validate_server_result
    """
    __getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(_NAMES.split(), "mcp_types._method_types"))

__all__ = [
    "CACHEABLE_METHODS",
    "CLIENT_NOTIFICATIONS",
    "CLIENT_REQUESTS",
    "CLIENT_RESULTS",
    "INPUT_REQUIRED_METHODS",
    "MONOLITH_NOTIFICATIONS",
    "MONOLITH_REQUESTS",
    "MONOLITH_RESULTS",
    "SERVER_NOTIFICATIONS",
    "SERVER_REQUESTS",
    "SERVER_RESULTS",
    "SPEC_CLIENT_METHODS",
    "SPEC_CLIENT_NOTIFICATION_METHODS",
    "CacheableMethod",
    "is_input_required",
    "parse_client_notification",
    "parse_client_request",
    "parse_client_result",
    "parse_server_notification",
    "parse_server_request",
    "parse_server_result",
    "serialize_server_result",
    "validate_client_notification",
    "validate_client_request",
    "validate_client_result",
    "validate_server_result",
]
