"""The streamable HTTP transport, for clients.

`Client("https://example.com/mcp")` needs nothing from here. This module is for a transport with settings of its own:

```python
async with httpx2.AsyncClient(headers={"authorization": "Bearer …"}) as http_client:
    async with Client(streamable_http_client(url, http_client=http_client)) as client:
        ...
```

Entered by itself, a transport yields the pair of message streams that a `ClientSession` takes.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING

from mcp._protocol.headers import LAST_EVENT_ID, MCP_SESSION_ID
from mcp._protocol.headers import MCP_PROTOCOL_VERSION as MCP_PROTOCOL_VERSION_HEADER
from mcp.client._http.backend import HTTPBackend, ResumptionError, StreamableHTTPError, check_url
from mcp.client._http.exchange import HTTPLink
from mcp.client._http.link_streams import LinkStreams
from mcp.client._http.resumable import DEFAULT_MAX_RECONNECTION_ATTEMPTS as MAX_RECONNECTION_ATTEMPTS
from mcp.client._http.resumable import DEFAULT_RECONNECTION_DELAY_MS
from mcp.client._http.wire import DEFAULT_MAX_JSON_BODY_SIZE, DEFAULT_MAX_SSE_EVENT_SIZE, OnFault, Wire
from mcp.client._transport import TransportStreams
from mcp_types._renamed import renamed_names

if TYPE_CHECKING:
    import httpx2
else:
    __getattr__ = renamed_names(
        __name__, {"streamablehttp_client": "streamable_http_client, which yields two streams and no session id"}
    )

__all__ = [
    "DEFAULT_MAX_JSON_BODY_SIZE",
    "DEFAULT_MAX_SSE_EVENT_SIZE",
    "DEFAULT_RECONNECTION_DELAY_MS",
    "LAST_EVENT_ID",
    "MAX_RECONNECTION_ATTEMPTS",
    "MCP_PROTOCOL_VERSION_HEADER",
    "MCP_SESSION_ID",
    "ResumptionError",
    "StreamableHTTPError",
    "StreamableHTTPTransport",
    "create_mcp_http_client",
    "streamable_http_client",
]


class StreamableHTTPTransport:
    """One MCP endpoint and how to reach it.

    Args:
        url: The endpoint.
        max_sse_event_size: The largest server-sent event to accept, in bytes; `None` for any.
        max_json_body_size: The largest JSON body to accept, in bytes; `None` for any.
        http_client: The HTTP client to send with; by default one of the transport's own.
        terminate_on_close: Whether to end a server-side session (handshake-era servers) when the transport closes.
        max_reconnection_attempts: How often in a row to ask in vain for the rest of a stream that broke off
            (handshake-era servers).

    Raises:
        ValueError: A size is not positive.
    """

    def __init__(
        self,
        url: str,
        *,
        max_sse_event_size: int | None = DEFAULT_MAX_SSE_EVENT_SIZE,
        max_json_body_size: int | None = DEFAULT_MAX_JSON_BODY_SIZE,
        http_client: httpx2.AsyncClient | None = None,
        terminate_on_close: bool = True,
        max_reconnection_attempts: int = MAX_RECONNECTION_ATTEMPTS,
    ) -> None:
        for name, size in (("max_sse_event_size", max_sse_event_size), ("max_json_body_size", max_json_body_size)):
            if size is not None and size <= 0:
                raise ValueError(f"{name} must be positive or None")
        self.url = url
        self._max_sse_event_size = max_sse_event_size
        self._max_json_body_size = max_json_body_size
        self._http_client = http_client
        self._terminate_on_close = terminate_on_close
        self._max_reconnection_attempts = max_reconnection_attempts

    def open_link(self, on_fault: OnFault | None = None, *, tries_sse: bool = False) -> HTTPLink:
        """Make a link to the endpoint, inside a running event loop; nothing is sent yet.

        Args:
            on_fault: Told about stream events that are not JSON-RPC.
            tries_sse: Whether to try the transport before this one where the endpoint does not take an `initialize`.

        Raises:
            StreamableHTTPError: The URL is no HTTP URL.
        """
        check_url(self.url)
        wire = Wire(
            self._make_backend(),
            self.url,
            max_sse_event_size=self._max_sse_event_size,
            max_json_body_size=self._max_json_body_size,
            on_fault=on_fault,
        )
        return HTTPLink(
            wire,
            terminate_on_close=self._terminate_on_close,
            max_reconnection_attempts=self._max_reconnection_attempts,
            tries_sse=tries_sse,
        )

    def _make_backend(self) -> HTTPBackend:
        if self._http_client is None and _runs_on_asyncio():
            from mcp.client._http.aiohttp import AiohttpBackend

            return AiohttpBackend(self.url)
        from mcp.client._http.httpx import HttpxBackend, make_client

        if self._http_client is None:
            return HttpxBackend(make_client(), owned=True)
        return HttpxBackend(self._http_client, owned=False)

    async def __aenter__(self) -> TransportStreams:
        self._streams = LinkStreams(self.open_link)
        return await self._streams.__aenter__()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self._streams.__aexit__(exc_type, exc_val, exc_tb)

    _streams: LinkStreams


def streamable_http_client(
    url: str,
    *,
    http_client: httpx2.AsyncClient | None = None,
    terminate_on_close: bool = True,
    max_sse_event_size: int | None = DEFAULT_MAX_SSE_EVENT_SIZE,
    max_json_body_size: int | None = DEFAULT_MAX_JSON_BODY_SIZE,
    max_reconnection_attempts: int = MAX_RECONNECTION_ATTEMPTS,
) -> StreamableHTTPTransport:
    """Describe a transport to an MCP endpoint, to be given to `Client(...)`.

    Args:
        url: The endpoint.
        http_client: An HTTP client of your own, with its headers, authentication, hooks and timeouts. It stays open.
        terminate_on_close: Whether to end a server-side session (handshake-era servers) when the transport closes.
        max_sse_event_size: The largest server-sent event to accept, in bytes; `None` for any.
        max_json_body_size: The largest JSON body to accept, in bytes; `None` for any.
        max_reconnection_attempts: How often in a row to ask in vain for the rest of a stream that broke off
            (handshake-era servers).

    Raises:
        ValueError: A size is not positive.
    """
    return StreamableHTTPTransport(
        url,
        http_client=http_client,
        terminate_on_close=terminate_on_close,
        max_sse_event_size=max_sse_event_size,
        max_json_body_size=max_json_body_size,
        max_reconnection_attempts=max_reconnection_attempts,
    )


def plain_transport(url: str) -> StreamableHTTPTransport:
    """Describe the transport to what a mere URL names: an answer has one limit, whichever form the server chooses."""
    return StreamableHTTPTransport(url, max_sse_event_size=DEFAULT_MAX_JSON_BODY_SIZE)


def create_mcp_http_client(
    headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    """Make an HTTP client with the timeouts that suit MCP: long reads, because an answer may take its time.

    Args:
        headers: Headers for every request.
        timeout: Other timeouts than 30 s for connecting, writing and the pool, and 300 s between reads.
        auth: Authentication for every request.
    """
    from mcp.client._http.httpx import make_client

    return make_client(headers, timeout, auth)


def _runs_on_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
