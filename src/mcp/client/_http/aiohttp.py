"""aiohttp as the HTTP library: the default on asyncio."""

from __future__ import annotations

import asyncio
import functools
import io
import os
import socket
import ssl
import urllib.request
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from mcp.client._http.backend import ConnectError, NetworkError, StreamableHTTPError

# Servers commonly close idle connections after 5 s; reusing one at that very moment would lose the request.
_KEEP_ALIVE: Final = 4.0
_CONNECT_TIMEOUT: Final = 30.0
# Between two reads, not for the whole answer: a stream may stay open for hours.
_READ_TIMEOUT: Final = 300.0
# A server ends a response stream right after the response. One that does not loses the connection after this time.
_LINGER: Final = 1.0
# What OpenSSL calls an answer that is no TLS at all; the name depends on its version.
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
# aiohttp warns of larger bodies that are plain bytes: it would write them in one go, and block the loop for that long.
_MAX_PLAIN_BODY: Final = 2**20

_REFUSALS: Final = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
_FAILURES: Final = (aiohttp.ClientError, asyncio.TimeoutError, OSError)


class AiohttpResponse:
    """An `HTTPResponse` over aiohttp's."""

    __slots__ = ("_content", "_let_go", "_response")

    def __init__(self, response: aiohttp.ClientResponse, let_go: Callable[[aiohttp.ClientResponse], None]) -> None:
        self._response = response
        self._let_go = let_go
        self._content = response.content

    @property
    def status(self) -> int:
        return self._response.status

    def header(self, name: str) -> str | None:
        return self._response.headers.get(name)

    def status_error(self) -> Exception:
        return StreamableHTTPError(
            f"{self._response.url} answered {self.status} {self._response.reason or ''}".rstrip()
        )

    async def read_chunk(self) -> bytes:
        try:
            return await self._content.readany()
        except (*_FAILURES, RuntimeError) as error:  # a RuntimeError is how it says "closed while reading"
            raise NetworkError(describe(error)) from error

    async def finish(self) -> None:
        if not self._content.is_eof():
            self._let_go(self._response)
        elif self._response.connection is not None:  # after 101 it does not go back to the pool by itself
            self._response.close()

    async def abort(self) -> None:
        self._response.close()


class AiohttpBackend:
    """An `HTTPBackend` over an `aiohttp.ClientSession` of its own. To be made inside a running event loop.

    Args:
        url: The endpoint, for finding the proxy that the environment names for it.
    """

    raises_own_errors = False

    def __init__(self, url: str) -> None:
        # No limit on connections: each open stream holds one, and calls must not wait behind them.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT, sock_read=_READ_TIMEOUT),
            proxy=_proxy_for(url),
        )
        self._left: dict[aiohttp.ClientResponse, asyncio.TimerHandle] = {}
        self._url_text = url
        self._url = URL(url)

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> AiohttpResponse:
        target = self._url if url == self._url_text else URL(url)
        try:
            data = body if body is None or len(body) <= _MAX_PLAIN_BODY else io.BytesIO(body)
            response = await self._session.request(method, target, data=data, headers=headers, allow_redirects=False)
        except _REFUSALS as error:
            raise ConnectError(refusal(error)) from error
        except _FAILURES as error:
            raise NetworkError(describe(error)) from error
        except RuntimeError as error:
            if not self._session.closed:
                raise
            raise NetworkError("the client is closed") from error
        return AiohttpResponse(response, self._let_go)

    async def aclose(self) -> None:
        for response in list(self._left):
            self._give_up(response)
        await self._session.close()

    def _let_go(self, response: aiohttp.ClientResponse) -> None:
        """Leave a body to its end, which gives the connection back to the pool by itself.

        So nobody waits for it and no task is needed; a timer covers the server that leaves its stream open.
        """
        loop = asyncio.get_running_loop()
        self._left[response] = loop.call_later(_LINGER, self._give_up, response)
        response.content.on_eof(functools.partial(self._ended, response))

    def _give_up(self, response: aiohttp.ClientResponse) -> None:
        self._ended(response)
        response.close()

    def _ended(self, response: aiohttp.ClientResponse) -> None:
        timer = self._left.pop(response, None)
        if timer is not None:
            timer.cancel()


def describe(error: BaseException) -> str:
    """Return an error's text, or its name where it has none."""
    return str(error) or type(error).__name__


def refusal(error: BaseException) -> str:
    """Say why there is no connection. The library's own text names its settings, which the user has never seen."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return str(error.certificate_error)
    if not isinstance(error, aiohttp.ClientConnectorError):
        return describe(error)
    reason = error.os_error
    if isinstance(reason, ssl.SSLError):
        return "it does not speak TLS; is it an http:// URL?" if reason.reason in _NO_TLS else str(reason)
    if isinstance(reason, socket.gaierror) and reason.strerror:
        return reason.strerror
    if isinstance(reason, ConnectionRefusedError):
        return "connection refused; is the server running?"
    # asyncio writes the address into the text, which the URL has named already.
    return os.strerror(reason.errno) if reason.errno else describe(reason)


def _proxy_for(url: str) -> str | None:
    """Look the environment's proxy up once, where the library would do it for each request."""
    parts = urlsplit(url)
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or not parts.hostname or urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
