"""What the first argument of `Client(...)` means: an in-process server, a URL, or a transport."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeGuard, cast, runtime_checkable

import mcp_types as types
from mcp._engine.link import Link
from mcp._engine.owner import Owned
from mcp._engine.stream_link import StreamLink
from mcp.client._transport import TransportStreams
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.client.stdio import StdioServerParameters

Way: TypeAlias = Literal["memory", "http"]
"""How a server object of this process is reached."""

OnFault: TypeAlias = Callable[[Exception], Awaitable[None]]


@runtime_checkable
class InProcessServer(Protocol):
    """A server object: it can be talked to without leaving the process."""

    def connect_in_process(self, mode: str, *, raise_exceptions: bool) -> AbstractAsyncContextManager[Link]:
        """Start the server for one client."""
        ...


@runtime_checkable
class WebServer(Protocol):
    """A server object that makes a web application of itself."""

    def streamable_http_app(self) -> Any:
        """Make the application."""
        ...


@runtime_checkable
class EndpointApp(Protocol):
    """The web application of a server."""

    mcp_path: str
    """Where its endpoint is."""
    router: Any
    """Starlette's, which has the lifespan."""


class ASGIApp(Protocol):
    """A web application, as type checkers know it."""

    async def __call__(self, scope: Any, receive: Any, send: Any, /) -> None:
        """Serve one connection."""
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


def check_target(server: object, way: Way) -> None:
    """Check what a client is given, before anything is opened.

    Args:
        server: What it is given.
        way: How it is to reach a server object.

    Raises:
        TypeError: It is nothing to connect to.
        ValueError: The way is unknown.
    """
    if way not in ("memory", "http"):
        raise ValueError(f"transport must be 'memory' or 'http', got {way!r}")
    if way == "http":
        if isinstance(server, type) or not isinstance(server, WebServer | EndpointApp):
            raise TypeError(
                "transport='http' is for a server object of this process, or for what its streamable_http_app() "
                f"returned, not for {type(server).__name__}"
            )
        return
    # A class has the methods that its instances have, but is none.
    if not isinstance(server, type) and isinstance(server, str | InProcessServer | LinkSource):
        return
    if _is_command(server) or _is_transport(server):
        return
    if isinstance(server, EndpointApp):
        raise TypeError(f"Client(...) reaches the web application {type(server).__name__} with transport='http' only")
    raise TypeError(
        f"Client(...) takes a server object, a URL, a transport or StdioServerParameters, not {type(server).__name__}"
    )


def open_target(
    server: object, mode: str, way: Way, raise_exceptions: bool, on_fault: OnFault
) -> AbstractAsyncContextManager[Link]:
    """Open the way to the server; leaving the context closes it."""
    if way == "http":
        from mcp.client._http.asgi import serve_in_process

        app: Any = server.streamable_http_app() if isinstance(server, WebServer) else server
        lifespan = app.router.lifespan_context(app)
        return Owned(serve_in_process(app, lifespan, app.mcp_path, on_fault, tries_sse=mode == "auto"))
    if isinstance(server, InProcessServer):
        opened = server.connect_in_process(mode, raise_exceptions=raise_exceptions)
        return Owned(opened) if mode == "legacy" else opened
    if isinstance(server, str):
        from mcp.client.streamable_http import plain_transport

        # A server behind a mere URL may be one of 2024-11-05 (streamable-http: "Backward Compatibility").
        return _closing(plain_transport(server).open_link(on_fault, tries_sse=mode == "auto"))
    if isinstance(server, LinkSource):
        return _closing(server.open_link(on_fault))
    if _is_command(server):
        from mcp.client._stdio_link import StdioLink

        return StdioLink(server)
    if _is_transport(server):
        return Owned(Piped(server))
    raise TypeError(f"cannot connect to {type(server).__name__}")


def _is_command(server: object) -> TypeGuard[StdioServerParameters]:
    return not isinstance(server, type) and hasattr(server, "command") and hasattr(server, "args")


def _is_transport(server: object) -> TypeGuard[AbstractAsyncContextManager[object]]:
    return not isinstance(server, type) and hasattr(server, "__aenter__") and hasattr(server, "__aexit__")


class Piped:
    """Enters a transport first and leaves it last; between them, a link over the streams that it yields.

    Args:
        transport: The transport.
    """

    def __init__(self, transport: AbstractAsyncContextManager[object]) -> None:
        self._transport = transport
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> StreamLink:
        streams = await self._stack.enter_async_context(self._transport)
        try:
            if not isinstance(streams, tuple) or len(cast("tuple[Any, ...]", streams)) != 2:
                kind = type(self._transport).__name__
                raise TypeError(
                    f"a transport yields the pair (read_stream, write_stream); {kind} yields something else"
                )
            return await self._stack.enter_async_context(StreamLink(*cast("TransportStreams", streams)))
        except BaseException as error:
            await self._stack.__aexit__(type(error), error, error.__traceback__)
            raise

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(exc_type, exc, traceback)


@asynccontextmanager
async def _closing(link: ClosableLink) -> AsyncGenerator[Link]:
    try:
        yield link
    finally:
        await link.aclose()


def assumed_discovery(version: str) -> types.DiscoverResult:
    """What is known of a server that was never asked: that it speaks this version."""
    return types.DiscoverResult(supported_versions=[version], capabilities=types.ServerCapabilities())
