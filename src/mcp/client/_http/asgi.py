"""HTTP without a network: a server object of this process behind its own web application.

Everything is as over a port: headers, sessions, streams that end when the client leaves. Only the bytes do not travel.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import anyio

from mcp._engine.apart import Loop
from mcp.client._http.backend import NetworkError
from mcp.client._http.exchange import HTTPLink
from mcp.client._http.wire import OnFault, Wire

logger = logging.getLogger(__name__)

Message: TypeAlias = MutableMapping[str, Any]
ASGIApp: TypeAlias = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

ORIGIN: Final = "http://127.0.0.1:8000"
"""Where the server believes it is: where it is served by default."""

_BUFFER: Final = 16  # pieces of a response that may wait to be read
_LINGER: Final = 0.05


@asynccontextmanager
async def serve_in_process(
    app: ASGIApp, lifespan: AbstractAsyncContextManager[object], path: str, on_fault: OnFault, *, tries_sse: bool
) -> AsyncGenerator[HTTPLink]:
    """Run a server's web application and make a link to its endpoint.

    Args:
        app: The application.
        lifespan: Its lifespan.
        path: Where its endpoint is.
        on_fault: Told about stream events that are not JSON-RPC.
        tries_sse: Whether to try HTTP+SSE where the endpoint does not take an `initialize`.
    """
    async with lifespan:
        link = HTTPLink(Wire(ASGIBackend(app), ORIGIN + path, on_fault=on_fault), tries_sse=tries_sse)
        try:
            yield link
        finally:
            await link.aclose()


class ASGIBackend:
    """An `HTTPBackend` that calls an application instead of sending.

    Args:
        app: The application.
    """

    raises_own_errors = False

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._loop = Loop()
        self._running: set[ASGIResponse] = set()

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> ASGIResponse:
        response = ASGIResponse(method, url, headers, body or b"")
        self._running.add(response)

        async def run() -> None:
            try:
                await response.run(self._app)
            finally:
                self._running.discard(response)

        # Nothing of the client's context reaches a server over a network.
        response.task = Context().run(self._loop.start, run)
        try:
            await response.started.wait()
        except BaseException:
            response.leave()
            raise
        if not response.status:
            raise NetworkError("The application ended without a response")
        return response

    async def aclose(self) -> None:
        for response in list(self._running):
            response.leave()


class ASGIResponse:
    """One request to an application, and what it responds.

    Attributes:
        started: Set once the status and the headers are here, or never will be.
        status: The status code; 0 before it is here.
        task: What runs the application; the event loop may forget it.
    """

    def __init__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> None:
        self.started = anyio.Event()
        self.status = 0
        self.task: object = None
        self._request: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        self._scope = _scope(method, url, {**headers, "content-length": str(len(body))})
        self._left = anyio.Event()
        self._headers: dict[str, str] = {}
        self._complete = False
        self._give, self._take = anyio.create_memory_object_stream[bytes](_BUFFER)

    async def run(self, app: ASGIApp) -> None:
        """Run the application to its end; its exceptions are what a web server makes of them."""
        try:
            await app(self._scope, self._receive, self._send)
        except Exception:
            logger.exception("Exception in ASGI application")
            if not self.started.is_set():
                self.status = 500
                self._complete = True
        finally:
            self._give.close()
            self.started.set()

    async def _receive(self) -> Message:
        if self._request:
            return self._request.pop()
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            raw: list[tuple[bytes, bytes]] = list(message.get("headers", ()))
            self._headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw}
            self.started.set()
            return
        try:
            if message.get("body"):
                await self._give.send(bytes(message["body"]))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # nobody reads any more; a web server drops it, too
        if not message.get("more_body", False):
            self._complete = True
            self._give.close()

    def header(self, name: str) -> str | None:
        return self._headers.get(name.lower())

    def status_error(self) -> Exception:
        return NetworkError(f"The application answered {self.status}")

    async def read_chunk(self) -> bytes:
        try:
            return await self._take.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            if self._complete:
                return b""
            raise NetworkError("The response ended before its time") from None

    async def finish(self) -> None:
        # The server ends the stream right after the response; to leave before that would look like giving up.
        with anyio.move_on_after(_LINGER, shield=True):
            try:
                while await self.read_chunk():
                    pass
            except NetworkError:
                pass
        self.leave()

    async def abort(self) -> None:
        self.leave()

    def leave(self) -> None:
        """Hang up: the application learns that its client is gone, and whoever reads, too."""
        self._left.set()
        self._give.close()
        self._take.close()
        self.started.set()


def _scope(method: str, url: str, headers: Mapping[str, str]) -> dict[str, Any]:
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 80
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": parts.scheme,
        "path": parts.path,
        "raw_path": parts.path.encode("ascii"),
        "query_string": parts.query.encode("ascii"),
        "root_path": "",
        "headers": [
            (b"host", parts.netloc.encode("ascii")),
            *((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()),
        ],
        "client": ("127.0.0.1", 50000),
        "server": (host, port),
    }
