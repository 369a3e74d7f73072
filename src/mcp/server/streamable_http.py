"""The streamable HTTP transport of one legacy session, as a pair of message streams, and the event store.

Servers need none of it: `streamable_http_app()` serves all sessions and modern requests besides. The transport is for
those who put something of their own between HTTP and a server:

```python
transport = StreamableHTTPServerTransport(mcp_session_id=uuid4().hex)
async with transport.connect() as (read_stream, write_stream):
    await server.run(read_stream, write_stream, server.create_initialization_options())
```

Meanwhile `transport.handle_request` is the ASGI application that the session's client talks to. It loads when it is
first used, so that an event store needs no web framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp._protocol.headers import LAST_EVENT_ID as LAST_EVENT_ID_HEADER
from mcp._protocol.headers import MCP_SESSION_ID as MCP_SESSION_ID_HEADER
from mcp.server._http.event_store import (
    GET_STREAM_KEY,
    REQUEST_CANCELLED,
    EventCallback,
    EventId,
    EventMessage,
    EventStore,
    StreamId,
)
from mcp_types._lazy import homes, lazy_names

if TYPE_CHECKING:
    from mcp.server._http.session_transport import CONTENT_TYPE_JSON as CONTENT_TYPE_JSON
    from mcp.server._http.session_transport import CONTENT_TYPE_SSE as CONTENT_TYPE_SSE
    from mcp.server._http.session_transport import REQUEST_STREAM_BUFFER_SIZE as REQUEST_STREAM_BUFFER_SIZE
    from mcp.server._http.session_transport import StreamableHTTPServerTransport as StreamableHTTPServerTransport
    from mcp.server._http.session_transport import check_accept_headers as check_accept_headers

__all__ = [
    "CONTENT_TYPE_JSON",
    "CONTENT_TYPE_SSE",
    "GET_STREAM_KEY",
    "LAST_EVENT_ID_HEADER",
    "MCP_SESSION_ID_HEADER",
    "REQUEST_CANCELLED",
    "REQUEST_STREAM_BUFFER_SIZE",
    "EventCallback",
    "EventId",
    "EventMessage",
    "EventStore",
    "StreamId",
    "StreamableHTTPServerTransport",
    "check_accept_headers",
]

_HOMES = homes(
    {
        "mcp.server._http.session_transport": """
            CONTENT_TYPE_JSON CONTENT_TYPE_SSE REQUEST_STREAM_BUFFER_SIZE StreamableHTTPServerTransport
            check_accept_headers
        """,
    }
)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
