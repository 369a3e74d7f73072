"""HTTP servers that say exactly the bytes a test wants, on real sockets."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import anyio
from anyio.abc import SocketAttribute, SocketStream


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        return cast("dict[str, Any]", json.loads(self.body))

    @property
    def meta(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self.message["params"]["_meta"])


Answer: TypeAlias = Callable[[Seen, SocketStream], Awaitable[None]]


@dataclass
class RawServer:
    """A running server: its URL and the requests it got."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list[Seen])


@asynccontextmanager
async def raw_server(answer: Answer) -> AsyncGenerator[RawServer]:
    """Serve HTTP/1.1 on a free port; `answer` writes the whole response, or closes the stream."""
    server = RawServer()

    async def serve(stream: SocketStream) -> None:
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await _serve(stream, server, answer)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(SocketAttribute.local_port)
        server.url = f"http://127.0.0.1:{port}/mcp"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, serve)
            yield server
            tasks.cancel_scope.cancel()


async def _serve(stream: SocketStream, server: RawServer, answer: Answer) -> None:
    buffer = b""
    while True:
        while b"\r\n\r\n" not in buffer:
            buffer += await stream.receive()
        head, _, buffer = buffer.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        method, path, _ = lines[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        length = int(headers.get("content-length", "0"))
        while len(buffer) < length:
            buffer += await stream.receive()
        seen = Seen(method, path, headers, buffer[:length])
        buffer = buffer[length:]
        server.seen.append(seen)
        await answer(seen, stream)


def response(
    body: bytes | str, content_type: str | None = "application/json", status: str = "200 OK", **headers: str
) -> bytes:
    """Write a whole response."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(data)}"]
    if content_type is not None:
        lines.append(f"content-type: {content_type}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


SSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes | str) -> bytes:
    """Write one chunk of a chunked body; empty data ends it."""
    raw = data.encode() if isinstance(data, str) else data
    return f"{len(raw):x}\r\n".encode() + raw + b"\r\n"


def event(message: object, **fields: str) -> str:
    """Write one server-sent event."""
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\n".join([*lines, f"data: {json.dumps(message)}"]) + "\n\n"


def result(seen: Seen, **members: Any) -> dict[str, Any]:
    """Write the response to a request."""
    return {"jsonrpc": "2.0", "id": seen.message["id"], "result": {"resultType": "complete", **members}}


def tool_result(seen: Seen, text: str = "ok") -> dict[str, Any]:
    """Write the response to a tool call."""
    return result(seen, content=[{"type": "text", "text": text}])


DISCOVERY: dict[str, Any] = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "instructions": "Be kind.",
    "ttlMs": 0,
    "cacheScope": "private",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "raw", "version": "1"}},
}


def modern(answer_call: Answer, tools: list[dict[str, Any]] | None = None) -> Answer:
    """Answer discovery and listing as a modern server does, and everything else as the test wants."""

    async def answer(seen: Seen, stream: SocketStream) -> None:
        method = seen.message["method"]
        if method == "server/discover":
            await stream.send(response(json.dumps(result(seen, **DISCOVERY))))
        elif method == "tools/list":
            listing = {"tools": tools or [], "ttlMs": 0, "cacheScope": "private"}
            await stream.send(response(json.dumps(result(seen, **listing))))
        else:
            await answer_call(seen, stream)

    return answer
