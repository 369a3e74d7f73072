from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from starlette.requests import Request

from mcp.server._http.asgi import ASGIHeaders
from mcp.server.transport_security import (
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    RequestBodyLimitMiddleware,
    SecurityCheck,
    TransportSecurityMiddleware,
    TransportSecuritySettings,
    default_security,
)
from tests.server.http.fakes import FakeConnection

LOOPBACK = default_security("127.0.0.1")
LOGGER = "mcp.server.transport_security"


def headers(*hosts: str, origins: tuple[str, ...] = (), content_type: str | None = "application/json") -> ASGIHeaders:
    pairs = [("host", host) for host in hosts] + [("origin", origin) for origin in origins]
    if content_type is not None:
        pairs.append(("content-type", content_type))
    return ASGIHeaders([(name.encode(), value.encode("latin-1")) for name, value in pairs])


def status(
    settings: TransportSecuritySettings | None,
    *hosts: str,
    origins: tuple[str, ...] = (),
    content_type: str | None = "application/json",
    is_post: bool = True,
) -> int:
    refused = SecurityCheck(settings).refuse(
        headers(*hosts, origins=origins, content_type=content_type), is_post=is_post
    )
    return 200 if refused is None else refused.status


@pytest.mark.rule("RUN-26", "HTTP-E-08")
@pytest.mark.parametrize("bound", ["127.0.0.1", "localhost", "::1"])
@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1:8000", 200),
        ("localhost:1", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("evil.example:8000", 421),
        ("localhost.evil.example:80", 421),
        ("127.0.0.1:8000:80", 421),
        ("localhost:", 421),
        ("localhost:80@evil.example", 421),
        ("localhost:²", 421),
        ("", 421),
    ],
)
def test_a_loopback_server_accepts_loopback_names_only(bound: str, host: str, expected: int) -> None:
    assert status(default_security(bound), host) == expected


@pytest.mark.rule("RUN-26", "HTTP-E-02", "HTTP-E-03", "SERR-14")
@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://localhost:3000", 200),
        ("http://[::1]:1", 200),
        ("http://127.0.0.1:1", 200),
        ("", 200),
        ("https://localhost:3000", 403),
        ("http://evil.example", 403),
        ("null", 403),
    ],
)
def test_a_loopback_server_accepts_pages_of_this_machine_only(origin: str, expected: int) -> None:
    assert status(LOOPBACK, "localhost:8000", origins=(origin,)) == expected


@pytest.mark.rule("RUN-D7")
@pytest.mark.parametrize("host", ["0.0.0.0", "example.com", ""])
def test_any_other_address_has_no_default_check(host: str) -> None:
    assert default_security(host) is None
    assert status(None, "anything", origins=("http://anything",)) == 200


@pytest.mark.rule("RUN-D8")
@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "Api.Example", "api.EXAMPLE"])
def test_hosts_are_compared_without_case_and_a_port_pattern_matches_the_bare_name(host: str) -> None:
    settings = TransportSecuritySettings(allowed_hosts=["localhost:*", "API.example"])
    assert status(settings, host) == 200


@pytest.mark.rule("RUN-D8")
@pytest.mark.parametrize("entry", ["*", "*:*", "*.example.com", "http://*"])
@pytest.mark.parametrize("field", ["allowed_hosts", "allowed_origins"])
def test_a_wildcard_that_would_match_nothing_is_refused(field: str, entry: str) -> None:
    with pytest.raises(ValueError, match="enable_dns_rebinding_protection=False"):
        TransportSecuritySettings.model_validate({field: [entry]})


@pytest.mark.rule("RUN-29")
def test_settings_without_lists_refuse_everything_and_the_switch_turns_the_checks_off() -> None:
    assert status(TransportSecuritySettings(), "localhost:80") == 421
    off = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    assert status(off, "x", origins=("http://y",)) == 200


@pytest.mark.rule("RUN-30", "RUN-32", "HTTP-P-13")
@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("Application/JSON", 200),
        ("text/plain", 400),
        ("application/jsonp", 400),
        ("application/x-www-form-urlencoded", 400),
        (None, 400),
        ("", 400),
    ],
)
@pytest.mark.parametrize("settings", [None, LOOPBACK])
def test_a_post_has_to_be_json_whether_or_not_the_protection_is_on(
    settings: TransportSecuritySettings | None, content_type: str | None, expected: int
) -> None:
    assert status(settings, "localhost:80", content_type=content_type) == expected
    assert status(settings, "localhost:80", content_type=content_type, is_post=False) == 200


@pytest.mark.rule("RUN-30", "RUN-31")
def test_every_one_of_several_host_headers_has_to_be_right() -> None:
    assert status(LOOPBACK, "localhost:80", "evil.example") == 421
    assert status(LOOPBACK, "localhost:80", "") == 421
    assert status(LOOPBACK, "localhost:80", origins=("http://localhost:1", "http://evil.example")) == 403
    assert status(LOOPBACK) == 421


@pytest.mark.rule("HTTP-S-14", "HTTP-S-15")
@pytest.mark.parametrize("settings", [None, LOOPBACK])
@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ([(b"x", b"1")] * 250, None),
        ([(b"x", b"1")] * 257, 431),
        ([(b"x", b"1" * 60_000)], None),
        ([(b"x", b"1" * 70_000)], 431),
        ([(b"x", b"1" * 40_000)] * 2, 431),
    ],
)
def test_too_many_and_too_large_headers_are_refused(
    settings: TransportSecuritySettings | None, extra: list[tuple[bytes, bytes]], expected: int | None
) -> None:
    pairs = [(b"host", b"localhost:1"), (b"content-type", b"application/json"), *extra]
    refused = SecurityCheck(settings).refuse(ASGIHeaders(pairs), is_post=True)
    assert (None if refused is None else refused.status) == expected


@pytest.mark.rule("RUN-31", "TROUBLE-32", "TROUBLE-33")
def test_refusals_are_logged_with_the_setting_that_cures_them(caplog: pytest.LogCaptureFixture) -> None:
    cure = "add it with transport_security=TransportSecuritySettings({}=[...])"
    with caplog.at_level(logging.WARNING, LOGGER):
        status(LOOPBACK, "evil.example")
        status(LOOPBACK)
        status(LOOPBACK, "localhost:1", origins=("http://evil.example",))
    assert [(record.name, record.message) for record in caplog.records] == [
        (LOGGER, f"Invalid Host header: evil.example; if it is yours, {cure.format('allowed_hosts')}"),
        (LOGGER, "Missing Host header in request"),
        (LOGGER, f"Invalid Origin header: http://evil.example; if it is yours, {cure.format('allowed_origins')}"),
    ]


@pytest.mark.rule("RUN-30", "CASE-6")
def test_a_refusal_names_what_was_sent_and_the_setting_that_cures_it() -> None:
    check = SecurityCheck(LOOPBACK)
    host = check.refuse(headers("evil.example"), is_post=True)
    origin = check.refuse(headers("localhost:1", origins=("http://e",)), is_post=True)
    assert host is not None
    assert origin is not None
    assert host.message.startswith("Invalid Host header: 'evil.example'")
    assert "transport_security=TransportSecuritySettings(allowed_hosts=[...])" in host.message
    assert origin.message.startswith("Invalid Origin header: 'http://e'")
    assert "allowed_origins" in origin.message


def starlette_request(**headers: str) -> Request:
    return Request(FakeConnection(b"", {name.replace("_", "-"): value for name, value in headers.items()}).scope)


async def test_the_middleware_object_answers_for_other_applications() -> None:
    middleware = TransportSecurityMiddleware(LOOPBACK)
    passed = await middleware.validate_request(starlette_request(host="localhost:1"))
    refused = await middleware.validate_request(starlette_request(host="evil.example"))
    wrong_type = await middleware.validate_request(starlette_request(host="localhost:1"), is_post=True)
    unchecked = await TransportSecurityMiddleware().validate_request(starlette_request(host="evil.example"))
    assert passed is None
    assert unchecked is None
    assert refused is not None
    assert refused.status_code == 421
    body = json.loads(bytes(refused.body))
    assert body["id"] is None
    assert body["error"]["code"] == -32600
    assert wrong_type is not None
    assert wrong_type.status_code == 400


async def echo(scope: Any, receive: Any, send: Any) -> None:
    message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": message.get("body", b"")})


@pytest.mark.rule("RUN-22")
@pytest.mark.parametrize(("body", "expected"), [([b"12", b"34"], 200), ([b"123", b"45"], 413), ([b"12345"], 413)])
async def test_the_body_limit_as_a_middleware(body: list[bytes], expected: int) -> None:
    connection = FakeConnection(body)
    await RequestBodyLimitMiddleware(echo, 4)(connection.scope, connection.receive, connection.send)
    assert connection.status == expected
    if expected == 413:
        assert connection.json["error"]["message"].startswith("Request body too large")
        assert "max_request_body_size" in connection.json["error"]["message"]
    else:
        assert connection.body == b"1234"


async def test_the_body_limit_leaves_other_requests_alone_and_goes_with_its_client() -> None:
    get = FakeConnection(b"12345", method="GET")
    await RequestBodyLimitMiddleware(echo, 4)(get.scope, get.receive, get.send)
    assert get.status == 200
    gone = FakeConnection([])
    gone.gone.set()
    await RequestBodyLimitMiddleware(echo, 4)(gone.scope, gone.receive, gone.send)
    assert gone.sent == []


async def test_after_its_body_the_limited_application_hears_of_the_disconnect() -> None:
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.extend([(await receive())["type"], (await receive())["type"]])

    connection = FakeConnection(b"1")
    connection.gone.set()
    await RequestBodyLimitMiddleware(app, 4)(connection.scope, connection.receive, connection.send)
    assert seen == ["http.request", "http.disconnect"]


@pytest.mark.rule("RUN-25")
@pytest.mark.parametrize("limit", [0, -1, True])
def test_a_body_limit_has_to_be_positive(limit: int) -> None:
    with pytest.raises(ValueError, match="max_request_body_size must be a positive number of bytes"):
        RequestBodyLimitMiddleware(echo, limit)


def test_the_default_limit_is_four_mebibytes() -> None:
    assert DEFAULT_MAX_REQUEST_BODY_SIZE == 4 * 1024 * 1024
