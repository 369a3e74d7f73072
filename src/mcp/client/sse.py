"""The HTTP+SSE transport of protocol version 2024-11-05, for clients.

Servers have moved on to streamable HTTP, and `Client(url)` finds out by itself which of the two a server offers. This
module is for a connection with settings of its own:

```python
async with Client(sse_client("https://example.com/sse", headers={"authorization": "Bearer …"})) as client:
    ...
```
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urljoin, urlsplit

from mcp.client._http.backend import check_url
from mcp.client._http.sse_streams import SSEStreams
from mcp.client._http.wire import Wire
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import create_mcp_http_client

if TYPE_CHECKING:
    import httpx2

__all__ = ["remove_request_params", "sse_client"]


class McpHttpClientFactory(Protocol):
    """Makes an HTTP client."""

    def __call__(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient: ...


def remove_request_params(url: str) -> str:
    """Return a URL without its query and fragment."""
    return urljoin(url, urlsplit(url).path)


def sse_client(
    url: str,
    headers: dict[str, Any] | None = None,
    timeout: float = 5.0,
    sse_read_timeout: float = 300.0,
    httpx_client_factory: McpHttpClientFactory = create_mcp_http_client,
    auth: httpx2.Auth | None = None,
    on_session_created: Callable[[str], None] | None = None,
) -> AbstractAsyncContextManager[TransportStreams]:
    """Describe a connection to a server that speaks HTTP+SSE; entering it yields the pair of message streams.

    Args:
        url: The URL of the server's event stream.
        headers: Headers for every request.
        timeout: Seconds for each step of connecting and posting, and until the server says where to post.
        sse_read_timeout: Seconds that the server may be silent.
        httpx_client_factory: Makes the HTTP client, which is closed in the end.
        auth: Authentication for every request.
        on_session_created: Told the session's id, if the place to post to names one.

    Raises:
        httpx2.HTTPStatusError: When entered: the server refused.
        httpx2.ConnectError: When entered: the server cannot be reached.
        StreamableHTTPError: When entered: what was found there is no such stream.
    """

    def make_wire() -> Wire:
        import httpx2

        from mcp.client._http.httpx import HttpxBackend

        check_url(url)
        limits = httpx2.Timeout(timeout, read=sse_read_timeout)
        client = httpx_client_factory(headers=headers, timeout=limits, auth=auth)
        return Wire(HttpxBackend(client, owned=True), url, max_sse_event_size=None)

    return SSEStreams(make_wire, timeout=timeout, on_session_created=on_session_created)
