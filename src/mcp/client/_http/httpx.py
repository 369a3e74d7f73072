"""httpx2 as the HTTP library: for a client of the caller's own, and on trio."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Final

import anyio
import httpx2

from mcp.client._http.backend import ConnectError, NetworkError

_LINGER: Final = 0.05


class HttpxResponse:
    """An `HTTPResponse` over httpx2's."""

    __slots__ = ("_chunks", "_response")

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._chunks = response.aiter_bytes()

    @property
    def status(self) -> int:
        return self._response.status_code

    def header(self, name: str) -> str | None:
        return self._response.headers.get(name)

    def status_error(self) -> Exception:
        response = self._response
        text = f"{response.url} answered {response.status_code} {response.reason_phrase}".rstrip()
        return httpx2.HTTPStatusError(text, request=response.request, response=response)

    async def read_chunk(self) -> bytes:
        try:
            return await anext(self._chunks)
        except StopAsyncIteration:
            return b""
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise NetworkError(_describe(error)) from error

    async def finish(self) -> None:
        # A server ends a response stream right after the response: read that end, so that the connection stays good.
        await self._run_out(_LINGER)

    async def abort(self) -> None:
        await self._run_out(0)

    async def _run_out(self, seconds: float) -> None:
        """End the nested generators of the body by reading; left unfinished, they would outlive the exchange."""
        with anyio.move_on_after(seconds, shield=True):
            with contextlib.suppress(StopAsyncIteration, httpx2.HTTPError, httpx2.StreamError):
                while True:
                    await anext(self._chunks)
        with anyio.CancelScope(shield=True):
            await self._response.aclose()


class HttpxBackend:
    """An `HTTPBackend` over an `httpx2.AsyncClient`.

    Args:
        client: The client to send with.
        owned: Whether to close it in the end.
    """

    raises_own_errors = True

    def __init__(self, client: httpx2.AsyncClient, *, owned: bool) -> None:
        self._client = client
        self._owned = owned

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> HttpxResponse:
        request = self._client.build_request(method, url, headers=headers, content=body)
        try:
            response = await self._client.send(request, stream=True, follow_redirects=False)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise ConnectError(_describe(error)) from error
        except httpx2.HTTPError as error:
            raise NetworkError(_describe(error)) from error
        return HttpxResponse(response)

    async def aclose(self) -> None:
        if self._owned:
            await self._client.aclose()


def make_client(
    headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    """Make a client with the timeouts that suit MCP: long reads, because an answer may take its time.

    Args:
        headers: Headers for every request.
        timeout: Other timeouts than 30 s for connecting, writing and the pool, and 300 s between reads.
        auth: Authentication for every request.
    """
    return httpx2.AsyncClient(
        headers=headers,
        timeout=httpx2.Timeout(30.0, read=300.0) if timeout is None else timeout,
        auth=auth,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=4.0),
    )


def _describe(error: Exception) -> str:
    return str(error) or type(error).__name__
