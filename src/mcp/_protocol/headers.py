"""HTTP header names and values: what mirrors a message's body, and how a value becomes safe to send."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

MCP_PROTOCOL_VERSION = "mcp-protocol-version"
MCP_METHOD = "mcp-method"
MCP_NAME = "mcp-name"
MCP_PARAM_PREFIX = "mcp-param-"
MCP_SESSION_ID = "mcp-session-id"
LAST_EVENT_ID = "last-event-id"

_SENTINEL_START = "=?base64?"
_SENTINEL_END = "?="
_SHORTEST_SENTINEL = len(_SENTINEL_START) + len(_SENTINEL_END)

# The member of `params` that `Mcp-Name` mirrors; the tasks methods come from the tasks extension.
_NAME_PARAMS = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}


def name_param(method: str) -> str | None:
    """Name the member of `params` that `Mcp-Name` mirrors for `method`; `None` if there is no such header."""
    return _NAME_PARAMS.get(method)


def encode_header_value(value: str) -> str:
    """Make a text safe as a header value, in Base64 form where plain ASCII would not survive the way."""
    # For ASCII, "printable" is exactly 0x20-0x7E. Inner spaces are fine, outer ones would be trimmed.
    # streamable-http: Value Encoding
    if value.isascii() and value.isprintable() and value[:1] != " " and value[-1:] != " " and not _looks_encoded(value):
        return value
    # Text that came out of JSON may hold lone surrogates; they have a byte form too and come back unchanged.
    payload = base64.b64encode(value.encode("utf-8", "surrogatepass")).decode("ascii")
    return f"{_SENTINEL_START}{payload}{_SENTINEL_END}"


def decode_header_value(value: str) -> str:
    """Undo `encode_header_value`. Surrounding whitespace has to be trimmed already.

    Raises:
        ValueError: The value holds characters that no header may hold, or its Base64 form is broken.
    """
    if not value.isascii() or not (value.isprintable() or value.replace("\t", "").isprintable()):
        raise ValueError("header value contains invalid characters")
    # With one marker only, or with both sharing a "?", the value is literal text.
    if len(value) < _SHORTEST_SENTINEL or not _looks_encoded(value):
        return value
    payload = value[len(_SENTINEL_START) : -len(_SENTINEL_END)]
    try:
        data = base64.b64decode(payload, validate=True)
    except binascii.Error:
        raise ValueError("header value is not valid Base64") from None
    # The decoder tolerates stray padding and stray bits in the last digit; one text has one spelling.
    if base64.b64encode(data).decode("ascii") != payload:
        raise ValueError("header value is not valid Base64")
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise ValueError("header value is not Base64 of UTF-8 text") from None


def standard_headers(version: str, method: str, params: Mapping[str, Any] | None) -> dict[str, str]:
    """Build the headers that mirror a modern request: version, method and, where there is one, the name."""
    headers = {MCP_PROTOCOL_VERSION: version, MCP_METHOD: encode_header_value(method)}
    member = _NAME_PARAMS.get(method)
    if member is not None and params is not None:
        name = params.get(member)
        if isinstance(name, str):
            headers[MCP_NAME] = encode_header_value(name)
    return headers


def _looks_encoded(value: str) -> bool:
    return value.startswith(_SENTINEL_START) and value.endswith(_SENTINEL_END)
