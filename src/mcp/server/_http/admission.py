"""What every HTTP request has to pass before anybody reads what it says."""

from __future__ import annotations

from typing import Final

import mcp_types as types
from mcp._protocol.era import errors_need_id
from mcp._protocol.errors import Rejection
from mcp._protocol.headers import MCP_PROTOCOL_VERSION
from mcp._protocol.http_request import DEFAULT_LEGACY_VERSION
from mcp._protocol.jsonrpc import error_message
from mcp.server._http.asgi import ASGIHeaders, BodyTooLarge, ClientLeft, Receive, Scope, Send, read_body, send_json
from mcp.server.transport_security import SecurityCheck, rejection_body, too_large
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

_VERSION: Final = MCP_PROTOCOL_VERSION.encode()


async def admit(
    security: SecurityCheck, max_body_size: int, scope: Scope, headers: ASGIHeaders, receive: Receive, send: Send
) -> bytes | None:
    """Check a request's `Host` and `Origin`, and read its body if it is a POST.

    Args:
        security: The check.
        max_body_size: How many bytes a body may have.
        scope: The request.
        headers: Its headers.
        receive: Receives its body.
        send: Answers it if it is refused.

    Returns:
        The body, empty for everything but a POST; `None` if there is nothing more to do.
    """
    is_post = scope["method"] == "POST"
    refused = security.refuse(headers, is_post=is_post)
    if refused is not None:
        await send_json(send, refused.status, rejection_body(refused))
        return None
    if not is_post:
        return b""
    try:
        return await read_body(headers, receive, max_body_size)
    except BodyTooLarge:
        await send_json(send, 413, rejection_body(too_large(max_body_size)))
    except ClientLeft:
        pass
    return None


async def reject(send: Send, rejection: Rejection, headers: ASGIHeaders) -> None:
    """Answer what is no message, or none for this endpoint."""
    error = types.ErrorData(code=rejection.code, message=rejection.message, data=rejection.data)
    version = headers.first(_VERSION) or DEFAULT_LEGACY_VERSION
    null_id = version in HANDSHAKE_PROTOCOL_VERSIONS and errors_need_id(version)
    await send_json(send, rejection.status, error_message(rejection.request_id, error, null_id=null_id))
