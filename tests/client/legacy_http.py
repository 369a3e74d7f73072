"""HTTP servers of the handshake era, as good or as bad as a test wants, and a link to them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import SocketStream

from mcp._engine.connection import OnRequest, Work
from mcp._engine.link import OutgoingRequest
from mcp._protocol.jsonrpc import Request
from mcp.client._http.exchange import HTTPLink
from mcp.client.streamable_http import StreamableHTTPTransport
from tests.client.raw_http import SSE_HEAD, Answer, Seen, chunk, response

VERSION = "2025-11-25"
INITIALIZED = "notifications/initialized"


def accepted() -> bytes:
    """Write the answer to a notification."""
    return response(b"", None, "202 Accepted")


def legacy_result(seen: Seen, **members: Any) -> dict[str, Any]:
    """Write the response to a request."""
    return {"jsonrpc": "2.0", "id": seen.message["id"], "result": members}


def said(seen: Seen, text: str = "ok") -> dict[str, Any]:
    """Write the response to a tool call."""
    return legacy_result(seen, content=[{"type": "text", "text": text}])


def note(method: str, **params: Any) -> dict[str, Any]:
    """Write a notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def opening(seen: Seen, session: str | None, version: str = VERSION) -> bytes:
    """Write the answer to `initialize`."""
    result = legacy_result(
        seen, protocolVersion=version, capabilities={"tools": {}}, serverInfo={"name": "old", "version": "1"}
    )
    headers = {} if session is None else {"Mcp-Session-Id": session}
    return response(json.dumps(result), **headers)


def method_of(seen: Seen) -> str:
    """Name what a request is: an HTTP method, or the JSON-RPC method of a POST (`answer` for an answer)."""
    return str(seen.message.get("method", "answer")) if seen.method == "POST" else seen.method


async def say_405(seen: Seen, stream: SocketStream) -> None:
    """Offer no standing stream."""
    await stream.send(response(b"", None, "405 Method Not Allowed"))


def legacy(answer_call: Answer, *, get: Answer = say_405, session: str | None = "s-1") -> Answer:
    """Do the handshake as a legacy server does, accept what needs no answer, and leave the rest to the test."""

    async def answer(seen: Seen, stream: SocketStream) -> None:
        method = method_of(seen)
        if method == "initialize":
            await stream.send(opening(seen, session))
        elif method == "GET":
            await get(seen, stream)
        elif method == "DELETE":
            await stream.send(response(b"", None))
        elif method == "answer" or method.startswith("notifications/"):
            await stream.send(accepted())
        elif method == "server/discover":
            await stream.send(response(b"", None, "400 Bad Request"))
        else:
            await answer_call(seen, stream)

    return answer


async def stream_open(stream: SocketStream, *events: str) -> None:
    """Begin an event stream and leave it open."""
    await stream.send(SSE_HEAD + b"".join(chunk(event) for event in events))


async def stream_whole(stream: SocketStream, *events: str) -> None:
    """Send an event stream and end it in order."""
    await stream_open(stream, *events)
    await stream.send(chunk(b""))


class Told:
    """Who hears what belongs to no request, and answers what the server asks."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.asked: list[str] = []
        self.heard = anyio.Event()

    def admit(self, request: Request) -> Work:
        async def work() -> dict[str, Any]:
            self.asked.append(request.method)
            return {"roots": []}

        return work

    async def hear(self, method: str, params: dict[str, Any] | None) -> None:
        self.notes.append(method)
        self.heard.set()


class Legacy:
    """A link with a session, and what it heard."""

    def __init__(self, link: HTTPLink) -> None:
        self.link = link
        self.told = Told()
        self.heard: list[str] = []
        self._last_id = 0

    async def hear(self, method: str, params: dict[str, Any] | None) -> None:
        self.heard.append(method)

    def request(self, method: str = "tools/call", **fields: Any) -> OutgoingRequest:
        self._last_id += 1
        return OutgoingRequest(self._last_id, method, {"name": "add"}, VERSION, **fields)

    async def call(self, **fields: Any) -> dict[str, Any]:
        return await self.link.exchange(self.request(**fields), self.hear)

    async def initialize(self) -> dict[str, Any]:
        params = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        result = await self.link.exchange(OutgoingRequest(0, "initialize", params), self.hear)
        await self.link.notify(INITIALIZED, None, VERSION)
        return result


@asynccontextmanager
async def legacy_link(url: str, *, on_request: OnRequest | None = None, **options: Any) -> AsyncGenerator[Legacy]:
    """Open a link and shake hands."""
    client = Legacy(StreamableHTTPTransport(url, **options).open_link())
    client.link.attach(on_request or client.told.admit, client.told.hear)
    try:
        await client.initialize()
        yield client
    finally:
        await client.link.aclose()
