"""What the protocol has a word for and no model: keys, kinds and tokens. Importing it loads nothing."""

from typing import Final, Literal

DEFAULT_NEGOTIATED_VERSION: Final[str] = "2025-03-26"
"""The revision of a legacy HTTP request that does not name one."""

PROTOCOL_VERSION_META_KEY: Final[str] = "io.modelcontextprotocol/protocolVersion"
"""`_meta` key of a modern request: the revision it is written in."""
CLIENT_CAPABILITIES_META_KEY: Final[str] = "io.modelcontextprotocol/clientCapabilities"
"""`_meta` key of a modern request: what its client can do."""
CLIENT_INFO_META_KEY: Final[str] = "io.modelcontextprotocol/clientInfo"
"""`_meta` key of a modern request: who its client is."""
LOG_LEVEL_META_KEY: Final[str] = "io.modelcontextprotocol/logLevel"
"""`_meta` key of a modern request: the least level of log messages it wants."""
SERVER_INFO_META_KEY: Final[str] = "io.modelcontextprotocol/serverInfo"
"""`_meta` key of a modern result: who its server is."""

ResultType = Literal["complete", "input_required"] | str
"""How to read a result: the two core types, or one that an extension defines."""

CORE_RESULT_TYPES: Final[frozenset[str]] = frozenset({"complete", "input_required"})
"""The result types that need no extension."""

ProgressToken = str | int
"""What pairs progress notifications with the request that wants them."""

LoggingLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
"""How serious a log message is, the least serious first (RFC 5424)."""

IconTheme = Literal["light", "dark"]
"""The background an icon is drawn for."""

Role = Literal["user", "assistant"]
"""Who speaks in a conversation."""

__all__ = [
    "CLIENT_CAPABILITIES_META_KEY",
    "CLIENT_INFO_META_KEY",
    "CORE_RESULT_TYPES",
    "DEFAULT_NEGOTIATED_VERSION",
    "LOG_LEVEL_META_KEY",
    "PROTOCOL_VERSION_META_KEY",
    "SERVER_INFO_META_KEY",
    "IconTheme",
    "LoggingLevel",
    "ProgressToken",
    "ResultType",
    "Role",
]
