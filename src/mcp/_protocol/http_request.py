"""What one POST is: a modern request or notification, a legacy message, or something to refuse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast

import mcp_types as types
from mcp._protocol.errors import Rejection, http_status
from mcp._protocol.headers import (
    MCP_METHOD,
    MCP_NAME,
    MCP_PARAM_PREFIX,
    MCP_PROTOCOL_VERSION,
    decode_header_value,
    name_param,
)
from mcp._protocol.jsonrpc import (
    INVALID_MESSAGE_TEXT,
    PARSE_ERROR_TEXT,
    Message,
    Notification,
    Request,
    loads,
    read_batch,
    read_message,
)
from mcp._protocol.metadata import ClientFacts, read_metadata, unsupported_version
from mcp.shared.exceptions import MCPError
from mcp_types import PROTOCOL_VERSION_META_KEY
from mcp_types.jsonrpc import HEADER_MISMATCH, INVALID_REQUEST, PARSE_ERROR
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

VERSION_MISMATCH_TEXT = "mcp-protocol-version header does not match the request envelope's protocol version"
METHOD_MISMATCH_TEXT = "mcp-method header does not match the request body's method"

DEFAULT_LEGACY_VERSION: Final = "2025-03-26"
"""What a legacy request without a version header counts as, where nothing else is known of its client."""


@dataclass(slots=True)
class ModernRequest:
    """A request that carries its metadata and agrees with its headers.

    Attributes:
        request_id: The JSON-RPC id.
        method: The JSON-RPC method.
        params: The params, `_meta` included.
        version: The protocol revision it is to be served under.
        client: What the client said about itself.
        param_headers: The `Mcp-Param-*` headers: name in lower case -> its raw values, in order of appearance.
    """

    request_id: types.RequestId
    method: str
    params: dict[str, Any]
    version: str
    client: ClientFacts
    param_headers: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


@dataclass(slots=True)
class ModernNotification:
    """A notification sent under a modern revision."""

    method: str
    params: dict[str, Any] | None
    version: str


@dataclass(slots=True)
class LegacyMessage:
    """A message of the legacy era; `version` is the header's value, if there was one."""

    message: Message
    version: str | None


@dataclass(slots=True)
class LegacyBatch:
    """Several messages of the legacy era in one body; whether they may come like that depends on their session.

    Attributes:
        items: The messages, and what was no message, in order (`read_batch`).
        version: The header's value, if there was one.
    """

    items: list[Message | Rejection]
    version: str | None

    @property
    def has_requests(self) -> bool:
        """Whether there is anything to answer: a request, or what may have been meant as one."""
        return any(isinstance(item, Request | Rejection) for item in self.items)


Classified: TypeAlias = ModernRequest | ModernNotification | LegacyMessage | LegacyBatch | Rejection


def parse_body(body: bytes) -> Any:
    """Read the body of a POST. What is not JSON gives a `Rejection`."""
    try:
        return loads(body)
    except (ValueError, RecursionError):
        return Rejection(400, PARSE_ERROR, PARSE_ERROR_TEXT)


def classify(headers: Iterable[tuple[bytes, bytes]], body: bytes) -> Classified:
    """Tell what a POST is.

    Args:
        headers: The headers as ASGI gives them.
        body: The whole body.
    """
    value = parse_body(body)
    if isinstance(value, Rejection):
        return value
    message = read_message(value)
    if isinstance(message, Rejection):
        if isinstance(value, list) and value:
            return _classify_batch(cast("list[Any]", value), _read_headers(headers))
        return message
    read = _read_headers(headers)
    request_id = message.request_id if isinstance(message, Request) else None
    if read.duplicate == MCP_PROTOCOL_VERSION:
        return _mismatch(f"{MCP_PROTOCOL_VERSION} header appears more than once", request_id)
    if isinstance(message, Request):
        return _classify_request(message, read)
    if isinstance(message, Notification):
        return _classify_notification(message, read.version)
    if _is_legacy(read.version):
        return LegacyMessage(message, read.version)
    # streamable-http: a body is one request or notification; a modern server never asks, so nothing answers it.
    return Rejection(400, INVALID_REQUEST, INVALID_MESSAGE_TEXT)


def negotiate_accept(accept: str | None) -> Literal["json", "sse", "both"] | None:
    """Tell in which forms a client takes an answer, by its `Accept` header; `None` if in neither.

    An absent header accepts everything, as HTTP has it.
    """
    if accept is None or accept == "application/json, text/event-stream":
        return "both"
    ranges = _read_accept(accept)
    takes_json = _quality(ranges, "application", "json") > 0
    takes_sse = _quality(ranges, "text", "event-stream") > 0
    if takes_json:
        return "both" if takes_sse else "json"
    return "sse" if takes_sse else None


def _classify_request(request: Request, read: _Headers) -> ModernRequest | LegacyMessage | Rejection:
    has_envelope, stated = _stated_version(request.params)
    if not has_envelope and _is_legacy(read.version):
        return LegacyMessage(request, read.version)
    request_id = request.request_id
    if read.duplicate is not None:
        return _mismatch(f"{read.duplicate} header appears more than once", request_id)
    if has_envelope and stated != read.version:
        return _mismatch(VERSION_MISMATCH_TEXT, request_id)
    try:
        if not has_envelope and read.version not in MODERN_PROTOCOL_VERSIONS:
            # Which members a revision of another time wants is not known: say which revisions are.
            raise unsupported_version(cast("str", read.version))
        client = read_metadata(request.params)
    except MCPError as error:
        return _rejection(error, request_id)
    params = cast("dict[str, Any]", request.params)  # it holds the metadata that was just read
    if _decoded(read.method) != request.method:
        return _mismatch(METHOD_MISMATCH_TEXT, request_id)
    member = name_param(request.method)
    # A body without the member fails on its own account when its params are read.
    if member is not None and member in params and _decoded(read.name) != params[member]:
        return _mismatch(f"mcp-name header does not match the request body's '{member}' parameter", request_id)
    return ModernRequest(request_id, request.method, params, client.version, client, read.params)


def _classify_batch(values: list[Any], read: _Headers) -> LegacyBatch | Rejection:
    if read.duplicate == MCP_PROTOCOL_VERSION:
        return _mismatch(f"{MCP_PROTOCOL_VERSION} header appears more than once", None)
    items = read_batch(values)
    is_modern = any(isinstance(item, Request | Notification) and _stated_version(item.params)[0] for item in items)
    if is_modern or not _is_legacy(read.version):
        return Rejection(400, INVALID_REQUEST, INVALID_MESSAGE_TEXT)
    return LegacyBatch(items, read.version)


def _classify_notification(
    notification: Notification, version: str | None
) -> ModernNotification | LegacyMessage | Rejection:
    has_envelope, stated = _stated_version(notification.params)
    if not has_envelope and _is_legacy(version):
        return LegacyMessage(notification, version)
    # streamable-http leaves the headers of notifications open: only the version has to be one that is served.
    served_as = stated if isinstance(stated, str) else version
    if served_as not in MODERN_PROTOCOL_VERSIONS:
        return _rejection(unsupported_version(served_as or ""), None)
    return ModernNotification(notification.method, notification.params, served_as)


@dataclass(slots=True)
class _Headers:
    """The headers of the protocol, values trimmed."""

    version: str | None = None
    method: str | None = None
    name: str | None = None
    duplicate: str | None = None
    params: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


# From the bytes as ASGI gives them to the attribute above.
_STANDARD: Final = {MCP_PROTOCOL_VERSION.encode(): "version", MCP_METHOD.encode(): "method", MCP_NAME.encode(): "name"}
_PARAM_PREFIX: Final = MCP_PARAM_PREFIX.encode()


def _read_headers(headers: Iterable[tuple[bytes, bytes]]) -> _Headers:
    read = _Headers()
    for raw_name, raw_value in headers:
        lowered = raw_name.lower()
        attribute = _STANDARD.get(lowered)
        if attribute is not None:
            # An ambiguous version decides how all else is read, so it is the one to be named.
            if getattr(read, attribute) is not None and read.duplicate != MCP_PROTOCOL_VERSION:
                read.duplicate = lowered.decode()
            setattr(read, attribute, raw_value.decode("latin-1").strip(" \t"))
        elif lowered.startswith(_PARAM_PREFIX):
            values = read.params.setdefault(lowered.decode("latin-1"), [])
            values.append(raw_value.decode("latin-1").strip(" \t"))
    return read


def _stated_version(params: Mapping[str, Any] | None) -> tuple[bool, Any]:
    """Whether the metadata states a version, and what it states."""
    meta = params.get("_meta") if params is not None else None
    if not isinstance(meta, dict) or PROTOCOL_VERSION_META_KEY not in meta:
        return False, None
    return True, cast("dict[str, Any]", meta)[PROTOCOL_VERSION_META_KEY]


def _is_legacy(version: str | None) -> bool:
    """Whether a version header, or its absence, leaves a message to the legacy era."""
    return version is None or version in HANDSHAKE_PROTOCOL_VERSIONS


def _decoded(value: str | None) -> str | None:
    if value is None:
        return None
    try:
        return decode_header_value(value)
    except ValueError:
        return None


def _mismatch(text: str, request_id: types.RequestId | None) -> Rejection:
    return Rejection(400, HEADER_MISMATCH, text, None, request_id)


def _rejection(error: MCPError, request_id: types.RequestId | None) -> Rejection:
    return Rejection(http_status(error.code), error.code, error.message, error.data, request_id)


def _read_accept(accept: str) -> list[tuple[str, str, float]]:
    ranges: list[tuple[str, str, float]] = []
    for part in accept.lower().split(","):
        media_range, *parameters = (piece.strip() for piece in part.split(";"))
        main, _, sub = media_range.partition("/")
        quality = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 0.0
        ranges.append((main.strip(), sub.strip(), quality))
    return ranges


def _quality(ranges: list[tuple[str, str, float]], main: str, sub: str) -> float:
    """The quality of a media type; the most specific range that covers it decides (RFC 9110, 12.5.1)."""
    best = (-1, 0.0)
    for range_main, range_sub, quality in ranges:
        if (range_main, range_sub) == (main, sub):
            specificity = 2
        elif (range_main, range_sub) == (main, "*"):
            specificity = 1
        elif (range_main, range_sub) == ("*", "*"):
            specificity = 0
        else:
            continue
        best = max(best, (specificity, quality))
    return best[1]
