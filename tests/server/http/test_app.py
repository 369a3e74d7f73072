from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp.server.transport_security import CorsSettings, TransportSecuritySettings
from tests.server.http.fakes import FakeConnection, request_body, request_headers
from tests.server.http.servers import Workshop

CALL = request_body("tools/call", {"name": "echo", "arguments": {}})


@asynccontextmanager
async def started(*apps: Starlette) -> AsyncGenerator[None]:
    """The applications' lifespans, as an ASGI server runs them."""
    async with anyio.create_task_group() as group:
        stop = anyio.Event()
        for app in apps:
            inbox, outbox = anyio.create_memory_object_stream[dict[str, Any]](2)
            ready, answers = anyio.create_memory_object_stream[Any](2)
            scope: dict[str, Any] = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
            group.start_soon(app, scope, outbox.receive, ready.send)
            group.start_soon(_shut_down, stop, inbox)
            await inbox.send({"type": "lifespan.startup"})
            assert (await answers.receive())["type"] == "lifespan.startup.complete"
            group.start_soon(_drain, answers, ready, outbox, inbox)
        try:
            yield
        finally:
            stop.set()


async def _shut_down(stop: anyio.Event, inbox: Any) -> None:
    await stop.wait()
    await inbox.send({"type": "lifespan.shutdown"})


async def _drain(answers: Any, *streams: Any) -> None:
    assert (await answers.receive())["type"] == "lifespan.shutdown.complete"
    for stream in (answers, *streams):
        stream.close()


async def post(app: Any, body: dict[str, Any] = CALL, path: str = "/mcp", **changes: str | None) -> FakeConnection:
    connection = FakeConnection(json.dumps(body).encode(), request_headers(body, **changes), path=path)
    with anyio.fail_after(5):
        await app(connection.scope, connection.receive, connection.send)
    return connection


async def get(app: Any, path: str, method: str = "GET", **headers: str) -> FakeConnection:
    pairs = {"host": "localhost:8000", **{name.replace("_", "-"): value for name, value in headers.items()}}
    connection = FakeConnection(b"", pairs, method=method, path=path)
    await app(connection.scope, connection.receive, connection.send)
    return connection


@pytest.mark.rule("RUN-13")
async def test_the_apps_own_lifespan_runs_the_manager() -> None:
    workshop = Workshop()
    app = workshop.server.streamable_http_app()
    async with started(app):
        assert workshop.server.session_manager.is_running
        assert (await post(app)).status == 200
    assert not workshop.server.session_manager.is_running


@pytest.mark.rule("RUN-14", "TROUBLE-34")
async def test_without_its_lifespan_every_request_is_a_500() -> None:
    app = Workshop().server.streamable_http_app()
    connection = FakeConnection(CALL)
    with pytest.raises(RuntimeError, match=r"^Task group is not initialized\. Make sure to use run\(\)\.$"):
        await app(connection.scope, connection.receive, connection.send)
    assert connection.status == 500


@pytest.mark.rule("RUN-D21", "RUN-16")
async def test_an_app_whose_manager_was_replaced_says_so() -> None:
    workshop = Workshop()
    first = workshop.server.streamable_http_app()
    second = workshop.server.streamable_http_app()
    host = Starlette(routes=[Mount("/", first)], lifespan=lambda app: workshop.server.session_manager.run())
    async with started(host):
        connection = FakeConnection(CALL)
        with pytest.raises(RuntimeError, match="A later call of streamable_http_app"):
            await host(connection.scope, connection.receive, connection.send)
        assert (await post(second)).status == 200


@pytest.mark.rule("RUN-16")
async def test_an_app_runs_with_the_manager_it_was_built_with() -> None:
    workshop = Workshop()
    first, second = workshop.server.streamable_http_app(), workshop.server.streamable_http_app()
    async with started(first, second):
        assert (await post(first)).status == 200
        assert (await post(second)).status == 200


@pytest.mark.rule("LIFE-4", "LIFE-10")
@pytest.mark.parametrize("mounted", [False, True])
async def test_the_lifespan_runs_once_for_each_start_of_an_app(mounted: bool) -> None:
    events: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Any) -> AsyncGenerator[list[str]]:
        events.append("start")
        yield events
        events.append("stop")

    workshop = Workshop(lifespan=lifespan)
    app = workshop.server.streamable_http_app()
    if mounted:
        app = Starlette(routes=[Mount("/", app)], lifespan=lambda host: workshop.server.session_manager.run())
    assert events == []
    async with started(app):
        for _ in range(2):
            assert (await post(app)).status == 200
        assert events == ["start"]
    assert events == ["start", "stop"]
    assert [ctx.lifespan_context for ctx in workshop.contexts] == [events, events]


@pytest.mark.rule("RUN-17", "RUN-18")
async def test_several_servers_in_one_host() -> None:
    one, two = Workshop(), Workshop()
    routes = [
        Mount("/one", one.server.streamable_http_app()),
        Mount("/two", two.server.streamable_http_app(streamable_http_path="/")),
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with one.server.session_manager.run(), two.server.session_manager.run():
            yield

    host = Starlette(routes=routes, lifespan=lifespan)
    async with started(host):
        assert (await post(host, path="/one/mcp")).status == 200
        assert (await post(host, path="/two/")).status == 200
        redirected = await post(host, path="/one/mcp/")
    assert redirected.status == 307
    assert redirected.headers["location"].endswith("/one/mcp")
    assert len(one.contexts) == len(two.contexts) == 1


@pytest.mark.rule("RUN-17")
async def test_a_trailing_slash_is_redirected() -> None:
    app = Workshop().server.streamable_http_app()
    async with started(app):
        answer = await post(app, path="/mcp/")
    assert answer.status == 307


async def health(request: Request) -> Response:
    return JSONResponse({"host": request.headers["host"]})


@pytest.mark.rule("RUN-19")
async def test_custom_routes_are_served_and_not_checked() -> None:
    app = Workshop().server.streamable_http_app(custom_starlette_routes=[Route("/health", health)])
    async with started(app):
        answer = await get(app, "/health", host="evil.example")
        missing = await get(app, "/nothing")
    assert answer.json == {"host": "evil.example"}
    assert missing.status == 404


@pytest.mark.rule("RUN-D4")
def test_a_custom_route_behind_the_endpoint_is_refused() -> None:
    with pytest.raises(ValueError, match="would never be reached"):
        Workshop().server.streamable_http_app(custom_starlette_routes=[Route("/mcp", health)])


@pytest.mark.rule("RUN-D5", "RUN-20")
def test_a_path_without_a_slash_is_refused() -> None:
    with pytest.raises(ValueError, match="must start with '/'"):
        Workshop().server.streamable_http_app(streamable_http_path="mcp")


def test_authentication_is_refused_rather_than_left_out() -> None:
    with pytest.raises(NotImplementedError):
        Workshop().server.streamable_http_app(auth=object())


@pytest.mark.rule("RUN-26", "RUN-27", "RUN-D7")
@pytest.mark.parametrize(
    ("options", "host", "status"),
    [
        ({}, "evil.example", 421),
        ({}, "127.0.0.1:8000", 200),
        ({"host": "0.0.0.0"}, "evil.example", 200),
        ({"transport_security": TransportSecuritySettings(allowed_hosts=["mcp.example"])}, "mcp.example", 200),
        ({"transport_security": TransportSecuritySettings(allowed_hosts=["mcp.example"])}, "localhost:8000", 421),
    ],
)
async def test_hosts_are_checked_by_default_on_loopback_only(options: Any, host: str, status: int) -> None:
    app = Workshop().server.streamable_http_app(**options)
    async with started(app):
        assert (await post(app, host=host)).status == status


@pytest.mark.rule("RUN-21")
async def test_there_is_no_cors_by_default() -> None:
    app = Workshop().server.streamable_http_app()
    async with started(app):
        preflight = await get(app, "/mcp", "OPTIONS", origin="http://localhost:1", access_control_request_method="POST")
        answer = await post(app, origin="http://localhost:1")
    assert preflight.status == 405
    assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.rule("RUN-D20", "RUN-21", "CASE-34")
async def test_cors_lets_a_page_speak_the_protocol() -> None:
    origin = "https://app.example"
    security = TransportSecuritySettings(allowed_hosts=["localhost:*"], allowed_origins=[origin])
    app = Workshop().server.streamable_http_app(cors=CorsSettings(allow_origins=[origin]), transport_security=security)
    wanted = "mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id, authorization, content-type"
    async with started(app):
        preflights = [
            await get(
                app,
                "/mcp",
                "OPTIONS",
                origin=origin,
                access_control_request_method=method,
                access_control_request_headers=wanted,
            )
            for method in ("GET", "POST", "DELETE", "PUT")
        ]
        answer = await post(app, origin=origin)
        missing = await post(app, request_body("no/such"), origin=origin)
        foreign = await get(app, "/mcp", "OPTIONS", origin="https://e.example", access_control_request_method="POST")
    assert [preflight.status for preflight in preflights] == [200, 200, 200, 400]
    assert preflights[0].headers["access-control-allow-origin"] == origin
    for response, status in ((answer, 200), (missing, 404)):
        assert response.status == status
        assert response.headers["access-control-allow-origin"] == origin
        assert response.headers["access-control-expose-headers"] == "Mcp-Session-Id"
    assert foreign.status == 400


async def scope_seen_by_the_endpoint(app: Starlette, workshop: Workshop) -> dict[str, Any]:
    async with started(app):
        assert (await post(app)).status == 200
    request = workshop.contexts[-1].request
    assert request is not None
    return dict(request.scope)


async def test_the_direct_way_to_the_endpoint_shows_it_the_same_scope() -> None:
    direct, around = Workshop(), Workshop()
    direct_app = direct.server.streamable_http_app()
    around_app = around.server.streamable_http_app()

    class Nothing:
        def __init__(self, app: ASGIApp) -> None:
            self.app = app

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await self.app(scope, receive, send)

    around_app.add_middleware(Nothing)
    one = await scope_seen_by_the_endpoint(direct_app, direct)
    other = await scope_seen_by_the_endpoint(around_app, around)
    assert one["app"] is direct_app
    assert one["router"] is direct_app.router
    assert one["route"] is direct_app.routes[0]
    assert one["endpoint"] is getattr(direct_app.routes[0], "endpoint")  # noqa: B009  (a base route has none)
    assert one["path_params"] == {}
    assert one.keys() == other.keys() - {"starlette.exception_handlers"}


async def test_middleware_added_by_the_user_is_never_passed_by() -> None:
    app = Workshop().server.streamable_http_app()
    seen: list[str] = []

    class Counting:
        def __init__(self, app: ASGIApp) -> None:
            self.app = app

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            seen.append(scope["type"])
            await self.app(scope, receive, send)

    app.add_middleware(Counting)
    async with started(app):
        assert (await post(app)).status == 200
    assert seen == ["lifespan", "http"]


async def teapot(request: Request) -> Response:
    return PlainTextResponse("short and stout", 418)


@pytest.mark.parametrize("change", ["stack", "route", "handlers"])
async def test_whatever_else_is_put_before_the_endpoint_comes_first(change: str) -> None:
    app = Workshop().server.streamable_http_app()
    if change == "handlers":

        async def refuse(request: Request, error: Exception) -> Response:
            return PlainTextResponse("", 418)

        app.add_exception_handler(404, refuse)
    async with started(app):
        if change == "route":
            app.router.routes.insert(0, Route("/mcp", teapot, methods=["POST"]))
        elif change == "stack":
            app.middleware_stack = Starlette(routes=[Route("/mcp", teapot, methods=["POST"])])
        answer = await post(app) if change != "handlers" else await get(app, "/nothing")
    assert answer.status == 418


async def test_a_forwarded_root_path_takes_the_usual_way() -> None:
    app = Workshop().server.streamable_http_app()
    async with started(app):
        connection = FakeConnection(CALL, path="/api/mcp")
        connection.scope["root_path"] = "/api"
        await app(connection.scope, connection.receive, connection.send)
    assert connection.status == 200
