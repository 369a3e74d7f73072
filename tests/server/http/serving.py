"""A real uvicorn server on a real socket, in a thread of its own, and plain requests to it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

from mcp._protocol.sse import SSEDecoder
from tests.server.http.fakes import request_headers

PATIENCE = 10.0


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()


@contextmanager
def serving(app: Any, *, protocol: str = "auto", loop: str = "auto") -> Generator[int]:
    """Serve an ASGI application; yields its port.

    Args:
        app: The application.
        protocol: uvicorn's HTTP implementation.
        loop: uvicorn's event loop.
    """
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    port: int = listener.getsockname()[1]
    config = uvicorn.Config(
        app,
        log_level="warning",
        lifespan="on",
        http=protocol,
        loop=loop,
        ws="none",  # pyright: ignore[reportArgumentType]
    )
    server = _Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        assert server.ready.wait(PATIENCE), "the server did not start"
        yield port
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()
        assert not thread.is_alive(), "the server did not stop"


class Answer:
    """A response, read to its end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json", self.body
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, Any]]:
        assert self.headers["content-type"] == "text/event-stream", self.body
        return [json.loads(event.data) for event in SSEDecoder(None).feed(self.body)]


@contextmanager
def connected(port: int) -> Generator[http.client.HTTPConnection]:
    """A connection to the server."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        yield connection
    finally:
        connection.close()


def send(connection: http.client.HTTPConnection, body: dict[str, Any], **changes: str | None) -> None:
    """Send a request and do not wait for its response."""
    headers = {name: value for name, value in request_headers(body, **changes).items() if name != "host"}
    connection.request("POST", "/mcp", json.dumps(body), headers)


def post(port: int, body: dict[str, Any], **changes: str | None) -> Answer:
    """Send a request on a connection of its own and read the whole response."""
    with connected(port) as connection:
        send(connection, body, **changes)
        return Answer(connection.getresponse())


def raw(port: int, data: bytes) -> Answer:
    """Send bytes as they are and read one response."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(data)
        response = http.client.HTTPResponse(connection, method="POST")
        response.begin()
        return Answer(response)
