"""Request metadata: what a modern request says about its sender (base protocol: `_meta`)."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import ValidationError

import mcp_types as types
from mcp._protocol.era import SERVED_VERSIONS
from mcp._protocol.errors import invalid_params
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    INVALID_PARAMS,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    LoggingLevel,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

LOG_LEVELS: Final[tuple[LoggingLevel, ...]] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
"""The eight levels, least severe first (RFC 5424)."""


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """What a client said about itself: self-reported, never an identity.

    Attributes:
        version: The protocol revision it speaks.
        capabilities: What it declared that it can do.
        info: Its name and version, if it sent them.
        log_level: The least severe log message it wants for this request; `None` for none at all.
    """

    version: str
    capabilities: types.ClientCapabilities
    info: types.Implementation | None = None
    log_level: LoggingLevel | None = None


def read_metadata(params: Mapping[str, Any] | None) -> ClientFacts:
    """Read and check the metadata of a modern request.

    Raises:
        MCPError: `-32602` if a required member is missing or malformed, `-32022` if the version is not served.
    """
    raw: Any = params.get("_meta") if params is not None else None
    meta = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    if PROTOCOL_VERSION_META_KEY not in meta and CLIENT_CAPABILITIES_META_KEY not in meta:
        raise MCPError(
            INVALID_PARAMS,
            f"params._meta must be an object carrying the required {PROTOCOL_VERSION_META_KEY!r} "
            f"and {CLIENT_CAPABILITIES_META_KEY!r} envelope keys",
        )
    required = (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY)
    if missing := [key for key in required if key not in meta]:
        raise MCPError(INVALID_PARAMS, f"params._meta is missing the required envelope key(s): {', '.join(missing)}")
    version: Any = meta[PROTOCOL_VERSION_META_KEY]
    if not isinstance(version, str):
        raise invalid_params([{"loc": ["_meta", PROTOCOL_VERSION_META_KEY], "problem": "Input should be a string"}])
    if version not in MODERN_PROTOCOL_VERSIONS:
        raise unsupported_version(version)
    said = (
        version,
        meta[CLIENT_CAPABILITIES_META_KEY],
        meta.get(CLIENT_INFO_META_KEY),
        meta.get(LOG_LEVEL_META_KEY),
    )
    return _facts(said)


def unsupported_version(requested: str) -> MCPError:
    """The error for a protocol revision that this server does not serve (versioning: "Protocol Version Errors")."""
    return MCPError(
        UNSUPPORTED_PROTOCOL_VERSION,
        "Unsupported protocol version",
        {"supported": list(SERVED_VERSIONS), "requested": requested},
    )


# A client says the same of itself in every request. Validating it again each time would be the costliest part of a
# small call, so the last few answers are kept, with their own copy of what was said.
_recent: deque[tuple[tuple[Any, ...], ClientFacts]] = deque(maxlen=8)
_MAX_REMEMBERED_CHARACTERS: Final = 4096


def _facts(said: tuple[str, Any, Any, Any]) -> ClientFacts:
    for known, facts in _recent:
        if known == said:
            return facts
    version, capabilities, info, log_level = said
    try:
        facts = ClientFacts(
            version,
            types.ClientCapabilities.model_validate(capabilities),
            None if info is None else types.Implementation.model_validate(info),
            log_level,
        )
    except ValidationError as error:
        raise invalid_params(error) from None
    if log_level is not None and log_level not in LOG_LEVELS:
        raise invalid_params([{"loc": ["_meta", LOG_LEVEL_META_KEY], "problem": f"must be one of {LOG_LEVELS}"}])
    # `==` folds 1, 1.0 and True, none of which can stand where a declared capability is an object.
    if len(repr(said)) <= _MAX_REMEMBERED_CHARACTERS:
        _recent.append((copy.deepcopy(said), facts))
    return facts


def build_metadata(facts: ClientFacts) -> dict[str, Any]:
    """Write the metadata members of a modern request, in wire form."""
    meta: dict[str, Any] = {
        PROTOCOL_VERSION_META_KEY: facts.version,
        CLIENT_CAPABILITIES_META_KEY: facts.capabilities.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude={"tasks"}
        ),
    }
    if facts.info is not None:
        meta[CLIENT_INFO_META_KEY] = facts.info.model_dump(mode="json", by_alias=True, exclude_none=True)
    if facts.log_level is not None:
        meta[LOG_LEVEL_META_KEY] = facts.log_level
    return meta
