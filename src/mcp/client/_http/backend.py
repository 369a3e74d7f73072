"""What the client needs of an HTTP library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import CONNECTION_CLOSED


class StreamableHTTPError(Exception):
    """The server could not be reached over HTTP; `__cause__` is the HTTP library's own error."""


class ResumptionError(StreamableHTTPError):
    """A stream cannot be resumed in the way that was asked for."""


class NetworkError(Exception):
    """An HTTP library's failure to deliver a request or a response; `__cause__` is its own error."""


class ConnectError(NetworkError):
    """There is no connection to the server: nothing was sent."""


class TransportFailure(MCPError):
    """An exchange failed below the protocol: nothing of this error came from the server.

    Args:
        message: What happened.
        connect_error: What to raise instead where the client is only just connecting; `None` if it was connected.
    """

    def __init__(self, message: str, connect_error: Exception | None = None) -> None:
        super().__init__(CONNECTION_CLOSED, message, is_local=True)
        self.connect_error = connect_error


class HTTPResponse(Protocol):
    """A response whose status and headers are here and whose body may still be on its way."""

    @property
    def status(self) -> int:
        """The status code."""
        ...

    def header(self, name: str) -> str | None:
        """Return a header's value; names do not care about case."""
        ...

    def status_error(self) -> Exception:
        """Make the error that stands for a status of failure."""
        ...

    async def read_chunk(self) -> bytes:
        """Return the next piece of the decoded body, `b""` at its end.

        Raises:
            NetworkError: The connection failed, or the body ended before its time.
        """
        ...

    async def finish(self) -> None:
        """Let go of the response after its message: the connection may be used again once the body has ended."""
        ...

    async def abort(self) -> None:
        """Close the response in the middle; the server sees that nobody listens any more."""
        ...


class HTTPBackend(Protocol):
    """One HTTP client: connections, TLS, proxies, and the caller's own headers and authentication."""

    raises_own_errors: bool
    """Whether the library's own errors belong to the caller's world, because the caller chose the library."""

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> HTTPResponse:
        """Send a request and return once the response's headers have arrived. Redirects are not followed.

        Raises:
            ConnectError: The server could not be reached.
            NetworkError: It hung up before it answered.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections, unless they belong to the caller."""
        ...


def check_url(url: str) -> None:
    """Check that a text is the URL of an HTTP endpoint.

    Raises:
        StreamableHTTPError: It is not.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise StreamableHTTPError(
            f"{url!r} is no HTTP URL; an MCP endpoint looks like 'https://example.com/mcp'. "
            "For a program on this machine, pass StdioServerParameters(command=..., args=[...])"
        )


def origin(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port: what must stay the same when a redirect is followed."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def without_secrets(url: str) -> str:
    """Return the URL as error texts may show it: without a password and without a query, which may hold a token."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
