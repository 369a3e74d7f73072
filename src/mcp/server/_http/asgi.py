"""ASGI, as little of it as is needed: headers, a body with a limit, and responses of one piece."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, TypeAlias

from mcp._protocol.jsonrpc import dumps

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
RawHeaders: TypeAlias = Iterable[tuple[bytes, bytes]]

JSON_TYPE = (b"content-type", b"application/json")


class BodyTooLarge(Exception):
    """The request body is larger than the server reads."""


class ClientLeft(Exception):
    """The client went away before its request was complete."""


class ASGIHeaders(Mapping[str, str]):
    """The headers of an ASGI scope as a mapping from lower-case names to values.

    Nothing is decoded before it is asked for. Lookup ignores case; of a repeated header it returns the first value,
    `get_all` returns every one.
    """

    __slots__ = ("_first", "_raw", "has_repeats")

    def __init__(self, raw: RawHeaders) -> None:
        self._raw = raw if isinstance(raw, list) else list(raw)
        first = dict(self._raw)
        self.has_repeats = len(first) != len(self._raw)
        if self.has_repeats:
            first = dict(reversed(self._raw))
        self._first = first

    def __getitem__(self, name: str) -> str:
        return self._first[_encode_name(name)].decode("latin-1")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _encode_name(name) in self._first

    def __iter__(self) -> Iterator[str]:
        return (name.decode("latin-1") for name in self._first)

    def __len__(self) -> int:
        return len(self._first)

    def __repr__(self) -> str:
        return f"ASGIHeaders({list(self)})"  # names only: values may be credentials

    def exceed(self, count: int, size: int) -> bool:
        """Whether there are more headers than `count`, or their values have more than `size` bytes together."""
        if len(self._raw) > count:
            return True
        values = [value for _, value in self._raw] if self.has_repeats else self._first.values()
        return sum(map(len, values)) > size

    def first(self, key: bytes) -> str | None:
        """The first value of a header; for those who know its name as ASGI spells it."""
        value = self._first.get(key)
        return None if value is None else value.decode("latin-1")

    def get_all(self, name: str) -> tuple[str, ...]:
        """Every value of a header, in the order received."""
        key = _encode_name(name)
        return tuple(value.decode("latin-1") for known, value in self._raw if known == key)


def _encode_name(name: str) -> bytes:
    # A name outside latin-1 cannot have come over HTTP; "?" is in no header name.
    return name.lower().encode("latin-1", "replace")


async def read_body(headers: ASGIHeaders, receive: Receive, limit: int) -> bytes:
    """Read a request body of at most `limit` bytes, whether its length was announced or not.

    Raises:
        BodyTooLarge: It is longer. An announced length is refused before anything is read.
        ClientLeft: The connection ended first.
    """
    announced = headers.first(b"content-length")
    if announced is not None and announced.isascii() and announced.isdigit() and int(announced[:20]) > limit:
        raise BodyTooLarge
    message = await receive()
    if message["type"] != "http.request":
        raise ClientLeft
    body: bytes = message.get("body", b"")
    if len(body) > limit:
        raise BodyTooLarge
    if not message.get("more_body", False):
        return body
    collected = bytearray(body)
    while message.get("more_body", False):
        message = await receive()
        if message["type"] != "http.request":
            raise ClientLeft
        collected += message.get("body", b"")
        if len(collected) > limit:
            raise BodyTooLarge
    return bytes(collected)


async def send_body(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    """Send a whole response."""
    # A fresh list each time: middleware around the server may add to it in place.
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def send_json(send: Send, status: int, message: Mapping[str, Any]) -> None:
    """Send a JSON document as the whole response."""
    await send_body(send, status, dumps(message), JSON_TYPE)
