"""What a POST is: served, put to the legacy era, or refused with the right status, code and text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp._protocol.errors import Rejection
from mcp._protocol.http_request import (
    LegacyMessage,
    ModernNotification,
    ModernRequest,
    classify,
    negotiate_accept,
    parse_body,
)
from mcp._protocol.jsonrpc import ErrorResponse, Notification, Request, Response
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY, Implementation

VERSION = "2026-07-28"
SERVED = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
META: dict[str, Any] = {PROTOCOL_VERSION_META_KEY: VERSION, CLIENT_CAPABILITIES_META_KEY: {}}
UNSUPPORTED = "Unsupported protocol version"
INVALID = "Body must be a single JSON-RPC request or notification object"
VERSION_MISMATCH = "mcp-protocol-version header does not match the request envelope's protocol version"
METHOD_MISMATCH = "mcp-method header does not match the request body's method"
NO_ENVELOPE = (
    "params._meta must be an object carrying the required 'io.modelcontextprotocol/protocolVersion' "
    "and 'io.modelcontextprotocol/clientCapabilities' envelope keys"
)
NAME_MISMATCH = "mcp-name header does not match the request body's '{}' parameter"


def body(method: str = "tools/list", meta: Any = META, request_id: Any = 1, **params: Any) -> dict[str, Any]:
    if meta is not None:
        params["_meta"] = meta
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def headers(
    version: str | None = VERSION, method: str | None = "tools/list", name: str | None = None, **more: str
) -> list[tuple[bytes, bytes]]:
    named = {"mcp-protocol-version": version, "mcp-method": method, "mcp-name": name, **more}
    return [
        (key.replace("_", "-").encode(), value.encode("latin-1")) for key, value in named.items() if value is not None
    ]


def post(value: Any, raw_headers: list[tuple[bytes, bytes]]) -> Any:
    return classify(raw_headers, value if isinstance(value, bytes) else json.dumps(value).encode())


def refused(code: int, message: str, data: Any = None, request_id: Any = 1) -> Rejection:
    return Rejection(400, code, message, data, request_id)


def unsupported(requested: str, request_id: Any = 1) -> Rejection:
    return refused(-32022, UNSUPPORTED, {"supported": SERVED, "requested": requested}, request_id)


@pytest.mark.rule("HTTP-H-01", "HTTP-H-08", "RUN-33", "BASE-M-14")
def test_a_request_that_agrees_with_its_headers_is_modern() -> None:
    read = post(body(cursor="x"), headers(content_type="application/json", mcp_session_id="s", last_event_id="5"))
    assert isinstance(read, ModernRequest)
    assert (read.request_id, read.method, read.version) == (1, "tools/list", VERSION)
    assert read.params == {"cursor": "x", "_meta": META}
    assert read.client.version == VERSION
    assert read.client.info is None
    assert read.param_headers == {}


def test_what_the_client_says_of_itself_is_read() -> None:
    meta: dict[str, Any] = {
        **META,
        CLIENT_CAPABILITIES_META_KEY: {"sampling": {}},
        CLIENT_INFO_META_KEY: {"name": "c", "version": "1"},
    }
    read = post(body(meta=meta), headers())
    assert isinstance(read, ModernRequest)
    assert read.client.info == Implementation(name="c", version="1")
    assert read.client.capabilities.sampling is not None


@pytest.mark.rule("RUN-38", "SERR-01", "BASE-J-01", "HTTP-P-05", "HTTP-P-06")
@pytest.mark.parametrize("version", [VERSION, None, "2025-11-25"])
@pytest.mark.parametrize(
    ("value", "rejection"),
    [
        (b"{", refused(-32700, "Parse error", request_id=None)),
        (b"", refused(-32700, "Parse error", request_id=None)),
        ([body()], refused(-32600, INVALID, request_id=None)),
        (body(request_id=None), refused(-32600, INVALID, request_id=None)),
        (body(request_id=1.0), refused(-32600, INVALID, request_id=None)),
        (body(request_id=True), refused(-32600, INVALID, request_id=None)),
        ({**body(), "jsonrpc": "1.0"}, refused(-32600, INVALID)),
        ({**body(), "method": 5}, refused(-32600, INVALID)),
        ({**body(), "params": []}, refused(-32600, INVALID)),
    ],
)
def test_what_is_no_single_message_is_refused_whatever_the_headers(
    value: Any, rejection: Rejection, version: str | None
) -> None:
    assert post(value, headers(version)) == rejection


@pytest.mark.rule("RUN-38", "HTTP-P-06")
@pytest.mark.parametrize("member", [{"result": {}}, {"error": {"code": 1, "message": ""}}])
def test_a_response_in_a_body_is_refused_in_the_modern_era_only(member: dict[str, Any]) -> None:
    value = {"jsonrpc": "2.0", "id": 1, **member}
    assert post(value, headers()) == refused(-32600, INVALID, request_id=None)
    legacy = post(value, headers("2025-11-25"))
    assert isinstance(legacy, LegacyMessage)
    assert isinstance(legacy.message, Response | ErrorResponse)


@pytest.mark.rule("HTTP-H-03", "HTTP-H-07", "RUN-39", "SERR-12", "SERR-01", "HTTP-S-03", "HTTP-S-04", "HTTP-S-05")
@pytest.mark.parametrize("version", [None, "2025-11-25", "v999.0.0", "", "2026-07-28, 2026-07-28", "2026-07-2\xff"])
def test_the_version_header_must_repeat_the_metadata(version: str | None) -> None:
    assert post(body(), headers(version)) == refused(-32020, VERSION_MISMATCH)


@pytest.mark.rule("HTTP-H-04", "VER-12", "VER-N-03", "VER-N-04", "SERR-11")
@pytest.mark.parametrize("version", ["v999.0.0", "1999-01-01", "2025-11-25", ""])
def test_a_version_that_is_not_served_is_named_beside_those_that_are(version: str) -> None:
    meta = {**META, PROTOCOL_VERSION_META_KEY: version}
    assert post(body(meta=meta), headers(version)) == unsupported(version)
    assert post(body(meta=meta), headers(version, method=None)) == unsupported(version)


@pytest.mark.rule("VER-D1")
@pytest.mark.parametrize("meta", [None, {}, {CLIENT_CAPABILITIES_META_KEY: {}}, 5])
def test_an_unknown_header_without_metadata_meets_the_versions_error(meta: Any) -> None:
    assert post(body(meta=meta), headers("v999.0.0")) == unsupported("v999.0.0")


@pytest.mark.rule("SERR-09", "BASE-M-12", "BASE-M-13", "RUN-42")
@pytest.mark.parametrize(
    ("meta", "text"),
    [
        (None, NO_ENVELOPE),
        (5, NO_ENVELOPE),
        ({}, NO_ENVELOPE),
        (
            {CLIENT_CAPABILITIES_META_KEY: {}},
            f"params._meta is missing the required envelope key(s): {PROTOCOL_VERSION_META_KEY}",
        ),
        (
            {PROTOCOL_VERSION_META_KEY: VERSION},
            f"params._meta is missing the required envelope key(s): {CLIENT_CAPABILITIES_META_KEY}",
        ),
    ],
)
def test_incomplete_metadata_is_invalid_params_before_other_headers_count(meta: Any, text: str) -> None:
    assert post(body(meta=meta), headers()) == refused(-32602, text)
    assert post(body(meta=meta), headers(method="other")) == refused(-32602, text)


@pytest.mark.rule("SERR-09", "RUN-42")
@pytest.mark.parametrize(
    "change",
    [
        {CLIENT_CAPABILITIES_META_KEY: 5},
        {CLIENT_CAPABILITIES_META_KEY: {"sampling": True}},
        {CLIENT_INFO_META_KEY: {"name": 5}},
        {"io.modelcontextprotocol/logLevel": "loud"},
    ],
)
def test_malformed_metadata_is_invalid_params(change: dict[str, Any]) -> None:
    read = post(body(meta={**META, **change}), headers())
    assert isinstance(read, Rejection)
    assert (read.status, read.code, read.message, read.request_id) == (400, -32602, "Invalid request parameters", 1)


def test_a_version_that_is_no_text_matches_no_header() -> None:
    assert post(body(meta={**META, PROTOCOL_VERSION_META_KEY: 5}), headers()) == refused(-32020, VERSION_MISMATCH)


@pytest.mark.rule("RUN-40", "HTTP-S-05", "HTTP-S-01", "HTTP-H-13", "SERR-12")
@pytest.mark.parametrize("method", [None, "tools/call", "TOOLS/LIST", "", "tools/list\x01"])
def test_the_method_header_must_repeat_the_method(method: str | None) -> None:
    assert post(body(), headers(method=method)) == refused(-32020, METHOD_MISMATCH)


@pytest.mark.rule("RUN-40", "RUN-41")
@pytest.mark.parametrize("name", ["mcp-protocol-version", "mcp-method", "mcp-name"])
def test_a_header_that_appears_twice_is_refused_even_with_equal_values(name: str) -> None:
    raw = headers(method="tools/call", name="x")
    raw += [pair for pair in raw if pair[0].decode() == name]
    assert post(body("tools/call", name="x"), raw) == refused(-32020, f"{name} header appears more than once")


@pytest.mark.rule("RUN-41", "HTTP-S-05", "HTTP-H-10", "HTTP-H-13", "HTTP-V-10", "SERR-12", "TROUBLE-10")
@pytest.mark.parametrize("name", [None, "y", "X", "", "=?base64?SGVsbG8?=", "x\x01", "=?base64?eQ==?="])
@pytest.mark.parametrize(
    ("method", "member"),
    [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri"), ("tasks/get", "taskId")],
)
def test_the_name_header_must_repeat_the_name(method: str, member: str, name: str | None) -> None:
    read = post(body(method, **{member: "x"}), headers(method=method, name=name))
    assert read == refused(-32020, NAME_MISMATCH.format(member))


@pytest.mark.rule("RUN-41", "HTTP-V-07", "HTTP-V-08", "HTTP-V-09")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x", "x"),
        ("größe", "=?base64?Z3LDtsOfZQ==?="),
        ("Hello", "=?base64?SGVsbG8=?="),
        ("SGVsbG8=", "SGVsbG8="),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
    ],
)
def test_the_name_header_is_compared_after_decoding(name: str, value: str) -> None:
    assert isinstance(post(body("tools/call", name=name), headers(method="tools/call", name=value)), ModernRequest)


def test_a_body_without_the_name_is_left_to_the_check_of_its_params() -> None:
    assert isinstance(post(body("tools/call"), headers(method="tools/call")), ModernRequest)
    read = post(body("tools/call", name=5), headers(method="tools/call", name="5"))
    assert read == refused(-32020, NAME_MISMATCH.format("name"))


@pytest.mark.rule("HTTP-H-12", "HTTP-H-14")
def test_names_compare_without_case_and_values_without_outer_blanks() -> None:
    raw = [
        (b"MCP-Protocol-Version", b" 2026-07-28\t"),
        (b"Mcp-Method", b"tools/call "),
        (b"MCP-NAME", b"  x  "),
        (b"Mcp-Param-Region", b" eu "),
        (b"mcp-param-REGION", b"us"),
    ]
    read = post(body("tools/call", name="x"), raw)
    assert isinstance(read, ModernRequest)
    assert read.param_headers == {"mcp-param-region": ["eu", "us"]}


@pytest.mark.rule("BASE-J-18", "HTTP-H-05")
@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "unknown/method"])
def test_any_method_with_modern_metadata_is_a_modern_request(method: str) -> None:
    assert isinstance(post(body(method), headers(method=method)), ModernRequest)


@pytest.mark.rule("RUN-37", "HTTP-P-07", "HTTP-P-12")
def test_a_notification_needs_a_served_version_and_no_more() -> None:
    value = {"jsonrpc": "2.0", "method": "notifications/x", "params": {"a": 1}}
    assert post(value, headers(method="other")) == ModernNotification("notifications/x", {"a": 1}, VERSION)
    with_meta = {"jsonrpc": "2.0", "method": "notifications/x", "params": {"_meta": META}}
    assert post(with_meta, []) == ModernNotification("notifications/x", {"_meta": META}, VERSION)


@pytest.mark.rule("HTTP-P-08", "HTTP-P-09", "HTTP-H-04")
def test_a_notification_of_an_unserved_version_is_refused_without_an_id() -> None:
    value = {"jsonrpc": "2.0", "method": "notifications/x"}
    assert post(value, headers("v999")) == unsupported("v999", None)
    twice = headers() + headers()
    assert post(value, twice) == refused(-32020, "mcp-protocol-version header appears more than once", request_id=None)
    wrong = {**value, "params": {"_meta": {PROTOCOL_VERSION_META_KEY: 5}}}
    assert post(wrong, []) == unsupported("", None)


@pytest.mark.rule("RUN-33", "VER-E-04")
@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_without_metadata_an_absent_or_handshake_header_means_legacy(version: str | None) -> None:
    raw = headers(version, method="initialize")
    assert post(body("initialize", meta=None), raw) == LegacyMessage(Request(1, "initialize", {}), version)
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    read = post(notification, raw)
    assert read == LegacyMessage(Notification("notifications/initialized", None), version)


@pytest.mark.rule("RUN-35", "CASE-32")
@pytest.mark.parametrize(
    ("accept", "answer"),
    [
        (None, "both"),
        ("application/json, text/event-stream", "both"),
        ("text/event-stream, application/json", "both"),
        ("TEXT/Event-Stream,application/JSON;charset=utf-8", "both"),
        ("*/*", "both"),
        ("application/json", "json"),
        ("application/*", "json"),
        ("text/event-stream", "sse"),
        ("text/*", "sse"),
        ("text/html", None),
        ("", None),
        ("application/json;q=0, */*", "sse"),
        ("*/*;q=0.1, text/event-stream;q=0", "json"),
        ("application/json; q=0.000, text/event-stream; q=0.5", "sse"),
        ("application/json;q=nonsense", None),
        ("application/json;q=0, application/*;q=1", None),
        ("application/jsonx", None),
    ],
)
def test_the_forms_a_client_takes_are_read_from_accept(accept: str | None, answer: str | None) -> None:
    assert negotiate_accept(accept) == answer


def test_a_body_is_read_or_refused() -> None:
    assert parse_body(b"[1]") == [1]
    assert parse_body(b"[1") == refused(-32700, "Parse error", request_id=None)


@given(st.lists(st.tuples(st.binary(max_size=30), st.binary(max_size=30)), max_size=4), st.binary())
def test_any_post_is_classified_without_a_crash(raw_headers: list[tuple[bytes, bytes]], data: bytes) -> None:
    assert classify(raw_headers, data) is not None


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
METADATA = st.dictionaries(
    st.sampled_from([*META, CLIENT_INFO_META_KEY, "io.modelcontextprotocol/logLevel"]),
    JSON_VALUES | st.just(VERSION) | st.builds(dict[str, Any]),
)


@given(METADATA, st.sampled_from([None, VERSION, "2025-11-25", "x"]), JSON_VALUES)
def test_any_metadata_is_served_or_refused(meta: dict[str, Any], version: str | None, request_id: Any) -> None:
    read = post(body(meta=meta, request_id=request_id), headers(version))
    assert isinstance(read, ModernRequest | LegacyMessage) or read.code in (-32600, -32602, -32020, -32022)


@given(st.floats(0, 1), st.sampled_from(["application/json", "text/event-stream", "*/*"]))
def test_any_quality_above_zero_accepts(quality: float, media_range: str) -> None:
    assert (negotiate_accept(f"{media_range};q={quality:.3f}") is None) is (float(f"{quality:.3f}") == 0)
