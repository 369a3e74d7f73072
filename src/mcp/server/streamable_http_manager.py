"""The streamable HTTP endpoint of a server, as an ASGI application."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from mcp._protocol.headers import MCP_PROTOCOL_VERSION as MCP_PROTOCOL_VERSION_HEADER
from mcp._protocol.headers import MCP_SESSION_ID as MCP_SESSION_ID_HEADER
from mcp._protocol.http_request import (
    DEFAULT_LEGACY_VERSION,
    LegacyBatch,
    LegacyMessage,
    ModernNotification,
    ModernRequest,
    classify,
    negotiate_accept,
)
from mcp.server._fleet_check import sign_of_several_workers, warn_of_what_is_not_shared
from mcp.server._http.admission import admit
from mcp.server._http.asgi import ASGIApp, ASGIHeaders, Receive, Scope, Send, send_body
from mcp.server._http.event_store import EventStore
from mcp.server._http.legacy import LegacyEndpoint
from mcp.server._http.modern import LISTEN_METHOD, HTTPServer, ModernEndpoint
from mcp.server._http.resumable import Storage
from mcp.server._http.watch import KEEP_ALIVE_INTERVAL
from mcp.server.transport_security import (
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    SecurityCheck,
    TransportSecuritySettings,
    check_body_limit,
)
from mcp_types.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

__all__ = [
    "DEFAULT_MAX_REQUEST_BODY_SIZE",
    "DEFAULT_MAX_SESSIONS",
    "DEFAULT_NEGOTIATED_VERSION",
    "DEFAULT_SESSION_IDLE_TIMEOUT",
    "HANDSHAKE_PROTOCOL_VERSIONS",
    "INTERNAL_ERROR",
    "INVALID_REQUEST",
    "MCP_PROTOCOL_VERSION_HEADER",
    "MCP_SESSION_ID_HEADER",
    "StreamableHTTPASGIApp",
    "StreamableHTTPSessionManager",
]

logger = logging.getLogger(__name__)

DEFAULT_MAX_SESSIONS: Final = 10_000
DEFAULT_SESSION_IDLE_TIMEOUT: Final = 1800
DEFAULT_SHUTDOWN_TIMEOUT: Final = 5.0
"""Seconds that running calls have to end when the server stops."""
DEFAULT_NEGOTIATED_VERSION: Final = DEFAULT_LEGACY_VERSION
"""The revision that a legacy request without a version header counts as."""


class StreamableHTTPSessionManager:
    """Serves one server over streamable HTTP.

    The manager is an ASGI endpoint that works while its `run()` is entered, once. `streamable_http_app()` makes both
    and is what most applications want.

    Example:
        ```python
        manager = StreamableHTTPSessionManager(app=server)


        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncGenerator[None]:
            async with manager.run():
                yield


        app = Starlette(routes=[Route("/mcp", manager.asgi_app)], lifespan=lifespan)
        ```

    Args:
        app: The server.
        event_store: Keeps the events of legacy streams for clients that come back.
        json_response: Answer with JSON documents only. Notifications of a request are dropped then, except for
            `subscriptions/listen`, which is a stream by nature.
        stateless: Serve legacy requests without sessions. Modern requests never have one.
        security_settings: Which `Host` and `Origin` headers are accepted. `None` accepts all.
        retry_interval: Milliseconds that a client of a resumable legacy stream waits before it comes back.
        session_idle_timeout: Seconds after which an idle legacy session ends; `None` for never.
        max_request_body_size: How many bytes a request body may have.
        max_sessions: How many legacy sessions may be open; `None` for no limit.
        shutdown_timeout: Seconds that running calls have to end when `run()` is left.
        keep_alive_interval: Seconds of silence after which a comment goes out on a response that has not ended.

    Raises:
        ValueError: One of the limits or times makes no sense.
    """

    def __init__(
        self,
        app: HTTPServer,
        event_store: EventStore | None = None,
        json_response: bool = False,
        stateless: bool = False,
        security_settings: TransportSecuritySettings | None = None,
        retry_interval: int | None = None,
        session_idle_timeout: float | None = DEFAULT_SESSION_IDLE_TIMEOUT,
        max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
        max_sessions: int | None = DEFAULT_MAX_SESSIONS,
        *,
        shutdown_timeout: float = DEFAULT_SHUTDOWN_TIMEOUT,
        keep_alive_interval: float = KEEP_ALIVE_INTERVAL,
    ) -> None:
        check_body_limit(max_request_body_size)
        if max_sessions is not None and max_sessions <= 0:
            raise ValueError("max_sessions must be a positive number of sessions or None")
        if session_idle_timeout is not None and not _is_positive_and_finite(session_idle_timeout):
            raise ValueError("session_idle_timeout must be a positive, finite number of seconds")
        if retry_interval is not None and retry_interval <= 0:
            raise ValueError("retry_interval must be a positive number of milliseconds")
        if shutdown_timeout < 0 or not math.isfinite(shutdown_timeout):
            raise ValueError("shutdown_timeout must be a finite number of seconds, 0 or more")
        if not _is_positive_and_finite(keep_alive_interval):
            raise ValueError("keep_alive_interval must be a positive, finite number of seconds")
        self.app = app
        self.event_store = event_store
        self.json_response = json_response
        self.stateless = stateless
        self.security_settings = security_settings
        self.retry_interval = retry_interval
        self.session_idle_timeout = session_idle_timeout
        self.max_request_body_size = max_request_body_size
        self.max_sessions = max_sessions
        self.shutdown_timeout = shutdown_timeout
        self.is_superseded = False
        self.is_one_of_several = False
        self._security = SecurityCheck(security_settings)
        self._modern = ModernEndpoint(app, json_response=json_response, keep_alive_interval=keep_alive_interval)
        self._legacy = LegacyEndpoint(
            app,
            json_response=json_response,
            stateless=stateless,
            storage=None if event_store is None else Storage(event_store, retry_interval),
            idle_timeout=session_idle_timeout,
            max_sessions=max_sessions,
            keep_alive_interval=keep_alive_interval,
        )
        self._was_started = False
        self.is_running = False

    @property
    def open_sessions(self) -> int:
        """How many legacy sessions are open."""
        return self._legacy.open_sessions

    @property
    def asgi_app(self) -> ASGIApp:
        """The endpoint as an ASGI application, for a `Route` of your own."""
        return StreamableHTTPASGIApp(self)

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        """Serve requests while the context is entered; the server's lifespan runs inside it.

        On the way out, `subscriptions/listen` streams are ended in good order, and running calls are cancelled if they
        have not ended after `shutdown_timeout` seconds.

        Raises:
            RuntimeError: It was entered before.
        """
        if self._was_started:
            raise RuntimeError(
                "StreamableHTTPSessionManager .run() can only be called once per instance. "
                "Create a new instance if you need to run again."
            )
        self._was_started = True
        if self.security_settings is None:
            logger.warning(
                "Host and Origin headers of requests are not checked. Pass transport_security="
                "TransportSecuritySettings(allowed_hosts=[...], allowed_origins=[...]) to check them, or "
                "TransportSecuritySettings(enable_dns_rebinding_protection=False) to say that it is meant"
            )
        if (sign := sign_of_several_workers()) is not None:
            self.is_one_of_several = True
            warn_of_what_is_not_shared(self.app, sign, stateless=self.stateless)
        self._legacy.is_one_of_several = self.is_one_of_several
        failure: BaseException | None = None
        async with self.app.lifespan(self.app) as lifespan_context:
            self._modern.lifespan_context = lifespan_context
            async with anyio.create_task_group() as sessions:
                self._legacy.start(sessions, lifespan_context)
                self.is_running = True
                timeout = 0.0  # what an exception that leaves the body deserves
                try:
                    yield
                    timeout = self.shutdown_timeout
                except Exception as error:  # it must not leave as a member of the task group's exception
                    failure = error
                finally:
                    self.is_running = False
                    await self.stop(timeout)
                    sessions.cancel_scope.cancel()
            if failure is not None:
                raise failure

    async def stop(self, timeout: float) -> None:
        """End legacy sessions, and `subscriptions/listen` streams in good order; wait for running modern calls.

        Modern calls that take longer are cancelled; legacy ones are at once.

        For those who run the ASGI server themselves and hear of its end before `run()` is left.

        Args:
            timeout: Seconds that running calls have to end.
        """
        async with anyio.create_task_group() as group:
            group.start_soon(self._legacy.stop)
            await self._modern.stop(timeout)

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI request.

        Raises:
            RuntimeError: `run()` is not entered.
        """
        if not self.is_running:
            raise RuntimeError(self._not_running())
        headers = ASGIHeaders(scope["headers"])
        body = await admit(self._security, self.max_request_body_size, scope, headers, receive, send)
        if body is None:
            return
        if scope["method"] != "POST":
            await self._legacy.serve_other(scope, headers, receive, send)
            return
        await self._serve_post(scope, headers, body, receive, send)

    async def _serve_post(self, scope: Scope, headers: ASGIHeaders, body: bytes, receive: Receive, send: Send) -> None:
        found = classify(scope["headers"], body)
        if isinstance(found, ModernRequest):
            accepted = negotiate_accept(headers.first(b"accept"))
            if accepted is None or (accepted == "json" and found.method == LISTEN_METHOD):
                await send_body(send, 406, b"")
                return
            await self._modern.serve(found, accepted, scope, headers, body, receive, send)
        elif isinstance(found, ModernNotification):
            await send_body(send, 202, b"")  # whatever becomes of it, there is no more to say
            await self._modern.notified(found, headers)
        elif isinstance(found, LegacyMessage):
            await self._legacy.post(found, scope, headers, body, receive, send)
        elif isinstance(found, LegacyBatch):
            await self._legacy.post_batch(found, scope, headers, body, receive, send)
        else:
            await self._legacy.refuse(found, scope, headers, body, receive, send)

    def _not_running(self) -> str:
        text = "Task group is not initialized. Make sure to use run()."
        if self.is_superseded and not self._was_started:
            text += (
                " A later call of streamable_http_app() made another manager, and the server's session_manager is that "
                "one: call streamable_http_app() once, or enter the run() of the manager that belongs to this app."
            )
        return text


class StreamableHTTPASGIApp:
    """A session manager as an ASGI application.

    Args:
        session_manager: The manager that serves the requests.
    """

    def __init__(self, session_manager: StreamableHTTPSessionManager) -> None:
        self.session_manager = session_manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI request."""
        await self.session_manager.handle_request(scope, receive, send)


def _is_positive_and_finite(value: float) -> bool:
    return value > 0 and math.isfinite(value)
