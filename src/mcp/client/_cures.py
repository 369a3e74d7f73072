"""What the author of a client can do about an error that a server answered."""

from __future__ import annotations

from typing import Any, Final, cast

from mcp._protocol.era import LEGACY, Era
from mcp.shared._advice import advise
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import METHOD_NOT_FOUND, MISSING_REQUIRED_CLIENT_CAPABILITY

_OPTIONS: Final = {
    "elicitation": "elicitation_callback=",
    "sampling": "sampling_callback=",
    "roots": "list_roots_callback=",
    "extensions": "extensions=[...]",
}
"""The arguments of `Client` by the capability that each one declares."""

_NO_SUBSCRIPTIONS: Final = (
    "This server tells older clients nothing of its resources' changes (server_capabilities.resources.subscribe is not "
    "true), and listen() needs protocol version 2026-07-28: read the resource again when you need it."
)
_IN_PLACE: Final = {
    "resources/subscribe": "At this protocol version: client.listen(resource_subscriptions=[uri]), or client.watch()",
    "resources/unsubscribe": "At this protocol version: leave the block of client.listen(...)",
    "logging/setLevel": "At this protocol version: Client(..., log_level=...)",
}
"""What took the place of methods that only older revisions have."""


def with_cure(error: MCPError, method: str, era: Era | None) -> MCPError:
    """Return the error with a note on what to do about it, if there is something."""
    cure = None
    if error.code == MISSING_REQUIRED_CLIENT_CAPABILITY:
        cure = _option(error.data)
    elif error.code == METHOD_NOT_FOUND and method in _IN_PLACE:
        cure = _IN_PLACE[method] if era is not LEGACY else _NO_SUBSCRIPTIONS if "subscribe" in method else None
    return error if cure is None else advise(error, cure)


def _option(data: object) -> str | None:
    wanted: object = cast("dict[str, object]", data).get("requiredCapabilities") if isinstance(data, dict) else None
    if not isinstance(wanted, dict):
        return None
    capabilities = cast("dict[str, Any]", wanted)
    options = [option for name, option in _OPTIONS.items() if name in capabilities]
    sampling: object = capabilities.get("sampling")
    if sampling:  # more than the bare capability, which the callback declares
        options.append(f"sampling_capabilities= with {', '.join(cast('dict[str, object]', sampling))}")
    return f"A client declares this by what it is given: Client(..., {', '.join(options)})" if options else None
