"""One POST of a legacy client, on its way to what serves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request as HTTPRequest

import mcp_types as types
from mcp._protocol.errors import Rejection
from mcp._protocol.jsonrpc import error_message
from mcp.server._http.asgi import ASGIHeaders
from mcp.server._http.resumable import EventStream

FAREWELL_TIME: Final = 1.0
"""How long the last words of a request may take."""
IN_FLIGHT: Final = "request id already in flight"


@dataclass(slots=True, eq=False)
class Arrival:
    """One POST.

    Attributes:
        http_request: What handlers see of it.
        headers: Its headers.
        stream: Where everything that belongs to it goes; `None` if it brought no request.
        takes_events: Whether more than the answer can be sent.
        opens: Whether it is the `initialize` that opens the session.
        was_cancelled: Whether the client has taken its request back.
        was_answered: Whether the answer went out while the client was there.
    """

    http_request: HTTPRequest
    headers: ASGIHeaders
    stream: EventStream | None = None
    takes_events: bool = False
    opens: bool = False
    was_cancelled: bool = False
    was_answered: bool = False


def rejected(item: Rejection) -> dict[str, Any]:
    """Answer what came in a batch and is refused; an id that could not be read is `null`, as its revision wants."""
    return error_message(item.request_id, types.ErrorData(code=item.code, message=item.message), null_id=True)
