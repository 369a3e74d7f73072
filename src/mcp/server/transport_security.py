"""Which HTTP requests a server looks at: Host and Origin checks, content type, body size."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field, field_validator

from mcp._protocol.errors import Rejection
from mcp.server._http.asgi import (
    ASGIApp,
    ASGIHeaders,
    BodyTooLarge,
    ClientLeft,
    Message,
    Receive,
    Scope,
    Send,
    read_body,
    send_json,
)
from mcp_types.jsonrpc import INVALID_REQUEST

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

logger = logging.getLogger(__name__)

DEFAULT_MAX_REQUEST_BODY_SIZE: Final = 4 * 1024 * 1024
"""How many bytes a request body may have unless a server says otherwise."""

MAX_HEADERS: Final = 256
"""How many headers a request may have."""
MAX_HEADERS_SIZE: Final = 64 * 1024
"""How many bytes the values of a request's headers may have together."""

_LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "::1")
_LOOPBACK_HOSTS: Final = ("127.0.0.1:*", "localhost:*", "[::1]:*")


class TransportSecuritySettings(BaseModel):
    """Which `Host` and `Origin` headers a server accepts.

    A browser that was tricked into resolving a foreign name to this machine still sends the foreign name; comparing it
    is what stops such a page (DNS rebinding).

    An entry is compared without regard to case. `"example.com:*"` allows the name with any port and without one.

    Example:
        ```python
        settings = TransportSecuritySettings(
            allowed_hosts=["mcp.example.com"], allowed_origins=["https://app.example.com"]
        )
        ```

    Attributes:
        enable_dns_rebinding_protection: `False` turns both checks off.
        allowed_hosts: Accepted values of `Host`. Empty: none.
        allowed_origins: Accepted values of `Origin`; a request without one always passes. Empty: none.
    """

    model_config = ConfigDict(defer_build=True)

    enable_dns_rebinding_protection: bool = True
    allowed_hosts: list[str] = Field(default_factory=list)
    allowed_origins: list[str] = Field(default_factory=list)

    @field_validator("allowed_hosts", "allowed_origins")
    @classmethod
    def _refuse_wildcards(cls, values: list[str]) -> list[str]:
        for value in values:
            if "*" in value.removesuffix(":*"):
                raise ValueError(
                    f"{value!r} would match nothing: the only wildcard is a port, as in 'example.com:*'. "
                    "To accept every host and origin, use enable_dns_rebinding_protection=False"
                )
        return values


@dataclass(frozen=True, kw_only=True)
class CorsSettings:
    """Which browser pages of other origins may call the server; the headers of the protocol are then allowed.

    `TransportSecuritySettings.allowed_origins` applies as well: an origin has to be named in both.

    Attributes:
        allow_origins: The origins, or `"*"` for every one.
        allow_origin_regex: A pattern for further origins.
        max_age: Seconds a browser may keep the answer to its preflight request.
    """

    allow_origins: Sequence[str] = ()
    allow_origin_regex: str | None = None
    max_age: int = 600


def default_security(host: str) -> TransportSecuritySettings | None:
    """Pick the settings for a server that binds `host` and was given none: loopback names only, or no check at all."""
    if host not in _LOOPBACK_NAMES:
        return None
    return TransportSecuritySettings(
        allowed_hosts=list(_LOOPBACK_HOSTS),
        allowed_origins=[f"http://{name}" for name in _LOOPBACK_HOSTS],
    )


class _AllowList:
    """Names that may appear in a header, some of them with any port."""

    __slots__ = ("_any_port", "_exact")

    def __init__(self, entries: Iterable[str]) -> None:
        lowered = [entry.lower() for entry in entries]
        self._any_port = frozenset(entry[:-2] for entry in lowered if entry.endswith(":*"))
        self._exact = frozenset(lowered) | self._any_port

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, str):
            return False
        lowered = value.lower()
        if lowered in self._exact:
            return True
        name, colon, port = lowered.rpartition(":")
        return bool(colon) and port.isascii() and port.isdigit() and name in self._any_port


class SecurityCheck:
    """`TransportSecuritySettings`, made ready to be applied to many requests."""

    __slots__ = ("_enabled", "_hosts", "_origins")

    def __init__(self, settings: TransportSecuritySettings | None) -> None:
        self._enabled = settings is not None and settings.enable_dns_rebinding_protection
        self._hosts = _AllowList(settings.allowed_hosts if settings is not None else ())
        self._origins = _AllowList(settings.allowed_origins if settings is not None else ())

    def refuse(self, headers: ASGIHeaders, *, is_post: bool) -> Rejection | None:
        """Say why a request is not served; `None` if it is."""
        if headers.exceed(MAX_HEADERS, MAX_HEADERS_SIZE):  # before anything of them is decoded
            return Rejection(
                431,
                INVALID_REQUEST,
                f"Request headers too large: this server reads at most {MAX_HEADERS} headers "
                f"of {MAX_HEADERS_SIZE} bytes together",
            )
        # The content type is checked whether or not the rest is on: it keeps plain HTML forms out.
        if is_post and not is_json(headers.first(b"content-type")):
            return Rejection(
                400, INVALID_REQUEST, "Invalid Content-Type header: the body of a POST must be application/json"
            )
        if not self._enabled:
            return None
        if headers.has_repeats:
            hosts, origins = headers.get_all("host"), headers.get_all("origin")
        else:
            hosts, origins = (headers.first(b"host"),), (headers.first(b"origin"),)
        return self._refuse_host(hosts) or self._refuse_origin(origins)

    def _refuse_host(self, hosts: tuple[str | None, ...]) -> Rejection | None:
        if not any(hosts):
            logger.warning("Missing Host header in request")
            return Rejection(421, INVALID_REQUEST, "Invalid Host header: it is missing or empty")
        for host in hosts:
            if host not in self._hosts:
                logger.warning("Invalid Host header: %s; if it is yours, %s", host, _cure("allowed_hosts"))
                return Rejection(421, INVALID_REQUEST, _refusal("Host", host, "allowed_hosts"))
        return None

    def _refuse_origin(self, origins: tuple[str | None, ...]) -> Rejection | None:
        for origin in origins:
            if origin and origin not in self._origins:
                logger.warning("Invalid Origin header: %s; if it is yours, %s", origin, _cure("allowed_origins"))
                return Rejection(403, INVALID_REQUEST, _refusal("Origin", origin, "allowed_origins"))
        return None


def _refusal(header: str, value: str | None, setting: str) -> str:
    return f"Invalid {header} header: {value!r} is not accepted by this server. Its operator can {_cure(setting)}"


def _cure(setting: str) -> str:
    return f"add it with transport_security=TransportSecuritySettings({setting}=[...])"


def is_json(content_type: str | None) -> bool:
    """Tell whether a `Content-Type` names JSON, parameters aside."""
    if content_type == "application/json":
        return True
    return content_type is not None and content_type.partition(";")[0].strip().lower() == "application/json"


def too_large(limit: int) -> Rejection:
    """The answer to a body above the limit."""
    return Rejection(
        413,
        INVALID_REQUEST,
        f"Request body too large: this server reads at most {limit} bytes. Its operator can raise "
        "max_request_body_size",
    )


def check_body_limit(limit: int) -> int:
    """Return `limit` if it can be one.

    Raises:
        ValueError: It is not a positive number.
    """
    if isinstance(limit, bool) or limit <= 0:
        raise ValueError("max_request_body_size must be a positive number of bytes")
    return limit


class TransportSecurityMiddleware:
    """The checks as an object of their own, for applications that serve MCP by their own routes.

    Args:
        settings: What to accept. `None` leaves `Host` and `Origin` unchecked.
    """

    def __init__(self, settings: TransportSecuritySettings | None = None) -> None:
        self.settings = settings or TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._check = SecurityCheck(self.settings)

    async def validate_request(self, request: Request, is_post: bool = False) -> Response | None:
        """Return the response that refuses `request`, or `None` if it may be served."""
        from starlette.responses import JSONResponse

        rejection = self._check.refuse(ASGIHeaders(request.headers.raw), is_post=is_post)
        if rejection is None:
            return None
        return JSONResponse(rejection_body(rejection), status_code=rejection.status)


def rejection_body(rejection: Rejection) -> dict[str, Any]:
    """The JSON-RPC form of a refusal that was made before the body was read, hence without an id."""
    return {"jsonrpc": "2.0", "id": None, "error": {"code": rejection.code, "message": rejection.message}}


class RequestBodyLimitMiddleware:
    """ASGI middleware that answers 413 to bodies above a limit, without handing them on.

    The body is read before the application starts, so that a chunked one is refused as well.

    Args:
        app: The application behind it.
        max_body_size: The limit in bytes.

    Raises:
        ValueError: The limit is not positive.
    """

    def __init__(self, app: ASGIApp, max_body_size: int) -> None:
        self.app = app
        self.max_body_size = check_body_limit(max_body_size)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            body = await read_body(ASGIHeaders(scope["headers"]), receive, self.max_body_size)
        except BodyTooLarge:
            await send_json(send, 413, rejection_body(too_large(self.max_body_size)))
            return
        except ClientLeft:
            return

        waiting = [body]

        async def replay() -> Message:
            if waiting:
                return {"type": "http.request", "body": waiting.pop(), "more_body": False}
            return await receive()

        await self.app(scope, replay, send)
