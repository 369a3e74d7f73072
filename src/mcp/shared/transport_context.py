"""What a transport says about itself to the handlers of its requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["TransportContext"]


@dataclass(frozen=True, kw_only=True)
class TransportContext:
    """The transport behind one request.

    Attributes:
        kind: The transport's name, such as `"stdio"` or `"streamable-http"`.
        can_send_request: Whether the server can send requests to the client.
        headers: The HTTP headers; `None` where there are none.
    """

    kind: str
    can_send_request: bool
    headers: Mapping[str, str] | None = None
