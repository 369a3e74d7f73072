"""What the first argument of `Client(...)` means: an in-process server, a URL, or a transport."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeAlias, runtime_checkable

import mcp_types as types
from mcp._engine.link import Link
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

OnFault: TypeAlias = Callable[[Exception], Awaitable[None]]


@runtime_checkable
class InProcessServer(Protocol):
    """A server object: it can be talked to without leaving the process."""

    def connect_in_process(self, mode: str, *, raise_exceptions: bool) -> AbstractAsyncContextManager[Link]:
        """Start the server for one client."""
        ...


class ClosableLink(Link, Protocol):
    """A link that its opener has to close."""

    async def aclose(self) -> None:
        """End what still runs and let go of the connections."""
        ...


@runtime_checkable
class LinkSource(Protocol):
    """A transport that offers exchanges itself, without a pair of streams in between."""

    def open_link(self, on_fault: OnFault | None = None) -> ClosableLink:
        """Make a link."""
        ...


def check_mode(mode: str) -> None:
    """Check a connection mode.

    Raises:
        ValueError: It is none.
    """
    if mode in ("auto", "legacy") or mode in MODERN_PROTOCOL_VERSIONS:
        return
    text = f"mode must be 'legacy', 'auto', or one of {list(MODERN_PROTOCOL_VERSIONS)}; got {mode!r}"
    if mode in HANDSHAKE_PROTOCOL_VERSIONS:
        text += f" ({mode!r} is a handshake-era version; use mode='legacy')"
    raise ValueError(text)


def check_unavailable(extensions: object, cache: object) -> None:
    """Refuse settings that would have no effect.

    Raises:
        TypeError: `extensions` is a mapping.
        NotImplementedError: The setting is not available.
    """
    if isinstance(extensions, Mapping):
        raise TypeError(
            "extensions= takes a sequence of ClientExtension instances. The mapping form was replaced: "
            "use advertise(identifier, settings) for advertise-only entries"
        )
    if extensions:
        raise NotImplementedError("extensions= is not available")
    if cache is not None:
        raise NotImplementedError("cache= is not available: every verb asks the server; leave it out or pass None")


def check_target(server: object, mode: str) -> None:
    """Check what a client is given, before anything is opened.

    Raises:
        TypeError: It is nothing to connect to.
        NotImplementedError: It is a kind of connection that is not available.
    """
    if mode == "legacy":
        raise NotImplementedError(
            "mode='legacy' is not available: this client speaks protocol version 2026-07-28; use mode='auto'"
        )
    # A class has the methods that its instances have, but is none.
    if not isinstance(server, type) and isinstance(server, str | InProcessServer | LinkSource):
        return
    if hasattr(server, "command") and hasattr(server, "args"):
        raise NotImplementedError("Client(...) over stdio is not available; connect by URL or to a server object")
    if hasattr(server, "__aenter__") and hasattr(server, "__aexit__"):
        raise NotImplementedError(
            "Client(...) over a pair of message streams is not available; connect by URL or to a server object"
        )
    raise TypeError(
        f"Client(...) takes a server object, a URL, a transport or StdioServerParameters, not {type(server).__name__}"
    )


def open_target(
    server: object, mode: str, raise_exceptions: bool, on_fault: OnFault
) -> AbstractAsyncContextManager[Link]:
    """Open the way to the server; leaving the context closes it."""
    if isinstance(server, InProcessServer):
        return server.connect_in_process(mode, raise_exceptions=raise_exceptions)
    if isinstance(server, str):
        from mcp.client.streamable_http import StreamableHTTPTransport

        server = StreamableHTTPTransport(server)
    if isinstance(server, LinkSource):
        return _opened(server, on_fault)
    raise TypeError(f"cannot connect to {type(server).__name__}")


@asynccontextmanager
async def _opened(source: LinkSource, on_fault: OnFault) -> AsyncGenerator[Link]:
    link = source.open_link(on_fault)
    try:
        yield link
    finally:
        await link.aclose()


def assumed_discovery(version: str) -> types.DiscoverResult:
    """What is known of a server that was never asked: that it speaks this version."""
    return types.DiscoverResult(supported_versions=[version], capabilities=types.ServerCapabilities())
