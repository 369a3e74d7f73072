"""An ASGI server made of plain objects, for one request."""

from __future__ import annotations

import json
from collections.abc import Callable, MutableMapping
from typing import Any

import anyio
import anyio.lowlevel

from mcp._protocol.sse import SSEDecoder

VERSION = "2026-07-28"

Message = MutableMapping[str, Any]


def metadata(**more: Any) -> dict[str, Any]:
    """The `_meta` of a modern request."""
    return {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
        **more,
    }


def request_body(
    method: str = "tools/call", params: dict[str, Any] | None = None, *, request_id: Any = 1, **meta: Any
) -> dict[str, Any]:
    """A modern request."""
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": method,
        "params": {"_meta": metadata(**meta), **(params or {})},
    }


def request_headers(body: dict[str, Any], **changes: str | None) -> dict[str, str]:
    """The headers that belong to a request; a change to `None` leaves one out, `_` stands for `-`."""
    params: dict[str, Any] = body.get("params") or {}
    headers: dict[str, str] = {
        "host": "localhost:8000",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": VERSION,
        "mcp-method": body["method"],
    }
    if (name := params.get("name") or params.get("uri")) is not None:
        headers["mcp-name"] = name
    for key, value in changes.items():
        key = key.replace("_", "-")
        if value is None:
            headers.pop(key, None)
        else:
            headers[key] = value
    return headers


class FakeConnection:
    """What an ASGI server is for one request: its scope, and what it sends and receives.

    Attributes:
        sent: The ASGI messages of the response.
        gone: Set when the client leaves.
    """

    def __init__(
        self,
        body: bytes | dict[str, Any] | list[bytes] = b"",
        headers: dict[str, str] | list[tuple[str, str]] | None = None,
        *,
        method: str = "POST",
        path: str = "/mcp",
    ) -> None:
        if isinstance(body, dict):
            headers = request_headers(body) if headers is None else headers
            body = json.dumps(body).encode()
        self._chunks = list(body) if isinstance(body, list) else [body]
        pairs = list(headers.items()) if isinstance(headers, dict) else headers or []
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
            "client": ("127.0.0.1", 50000),
            "server": ("localhost", 8000),
        }
        self.sent: list[Message] = []
        self.gone = anyio.Event()
        self.received = 0
        self.on_send: Callable[[Message], None] = lambda message: None
        self._news = anyio.Event()

    async def receive(self) -> Message:
        self.received += 1
        if self._chunks:
            return {"type": "http.request", "body": self._chunks.pop(0), "more_body": bool(self._chunks)}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.on_send(message)
        await anyio.lowlevel.checkpoint()
        self.sent.append(message)
        news, self._news = self._news, anyio.Event()
        news.set()

    async def until(self, condition: Callable[[FakeConnection], bool]) -> None:
        """Wait until the response has come so far."""
        while not condition(self):
            await self._news.wait()

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent[1:])

    @property
    def ended(self) -> bool:
        return bool(self.sent) and self.sent[-1]["type"].endswith("body") and not self.sent[-1].get("more_body", False)

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json", self.sent
        assert int(self.headers["content-length"]) == len(self.body)
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, Any]]:
        assert self.headers["content-type"] == "text/event-stream", self.sent
        return [json.loads(event.data) for event in SSEDecoder(None).feed(self.body)]
