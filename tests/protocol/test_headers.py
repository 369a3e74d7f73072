"""Header values survive the way, whatever they hold, and broken ones are told apart."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp._protocol.headers import decode_header_value, encode_header_value, name_param, standard_headers

ENCODED = [
    (" padded ", "=?base64?IHBhZGRlZCA=?="),
    ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
    ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
    ("\tindented", "=?base64?CWluZGVudGVk?="),
]


@pytest.mark.rule("HTTP-V-01", "HTTP-V-02", "HTTP-V-03", "HTTP-V-05", "HTTP-H-11", "TRANSPORT-22", "RUN-41")
@pytest.mark.parametrize(("value", "encoded"), ENCODED)
def test_text_that_is_not_plain_ascii_travels_as_base64(value: str, encoded: str) -> None:
    assert encode_header_value(value) == encoded
    assert decode_header_value(encoded) == value


@pytest.mark.rule("HTTP-V-03", "TRANSPORT-22")
@pytest.mark.parametrize("value", ["a\tb", "a\x00b", "a\x7fb", "trailing ", " ", "\ud800"])
def test_control_characters_and_outer_blanks_are_encoded(value: str) -> None:
    encoded = encode_header_value(value)
    assert encoded.startswith("=?base64?")
    assert encoded.endswith("?=")
    assert decode_header_value(encoded) == value


@pytest.mark.rule("HTTP-V-02", "HTTP-V-04", "HTTP-V-06", "HTTP-V-09", "TRANSPORT-22")
@pytest.mark.parametrize(
    "value",
    [
        "us west 1",
        "",
        "tools/call",
        "=?BASE64?SGVsbG8=?=",
        "=?base64?SGVsbG8=",
        "SGVsbG8=?=",
        "SGVsbG8=",
        "a:b;c,d\"'\\",
    ],
)
def test_plain_text_travels_as_it_is(value: str) -> None:
    assert encode_header_value(value) == value
    assert decode_header_value(value) == value


def test_markers_that_share_a_question_mark_are_literal_to_us_and_encoded_for_others() -> None:
    assert decode_header_value("=?base64?=") == "=?base64?="
    assert encode_header_value("=?base64?=") == "=?base64?PT9iYXNlNjQ/PQ==?="
    assert decode_header_value("=?base64??=") == ""


@pytest.mark.rule("HTTP-V-10")
@pytest.mark.parametrize(
    "value",
    [
        "=?base64?SGVsbG8?=",  # padding missing
        "=?base64?SGVs!!!bG8=?=",  # foreign characters
        "=?base64?SGVsbG8==?=",  # too much padding
        "=?base64?SGVsbG9=?=",  # stray bits in the last digit
        "=?base64?SGVs bG8=?=",
        "=?base64?SGVs_bG8=?=",
        "=?base64?/w==?=",  # not UTF-8
    ],
)
def test_broken_base64_is_an_error(value: str) -> None:
    with pytest.raises(ValueError):
        decode_header_value(value)


@pytest.mark.rule("HTTP-S-05", "HTTP-S-06")
@pytest.mark.parametrize("value", ["a\x00", "a\r\nb", "caf\xe9", "\x7f", "=?base64?\x01?="])
def test_characters_that_no_header_may_hold_are_an_error(value: str) -> None:
    with pytest.raises(ValueError, match="invalid characters"):
        decode_header_value(value)


def test_an_inner_tab_is_read_as_it_is() -> None:
    assert decode_header_value("a\tb") == "a\tb"


@pytest.mark.rule("HTTP-V-01", "HTTP-V-07", "HTTP-V-08")
@given(st.text(st.characters()) | st.text("=?base64 \t\n", max_size=12))
def test_every_text_comes_back(value: str) -> None:
    encoded = encode_header_value(value)
    assert encoded.isascii()
    assert encoded.isprintable()
    assert encoded == encoded.strip()
    assert decode_header_value(encoded) == value


@given(st.binary(max_size=40))
def test_base64_of_any_bytes_is_read_or_refused(data: bytes) -> None:
    value = f"=?base64?{base64.b64encode(data).decode()}?="
    try:
        expected = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        with pytest.raises(ValueError):
            decode_header_value(value)
    else:
        assert decode_header_value(value) == expected


@pytest.mark.rule("HTTP-H-09", "HTTP-H-10", "TRANSPORT-21")
@pytest.mark.parametrize(
    ("method", "member"),
    [
        ("tools/call", "name"),
        ("prompts/get", "name"),
        ("resources/read", "uri"),
        ("tasks/get", "taskId"),
        ("tasks/update", "taskId"),
        ("tasks/cancel", "taskId"),
        ("tools/list", None),
        ("vendor/thing", None),
    ],
)
def test_some_methods_name_what_they_act_on(method: str, member: str | None) -> None:
    assert name_param(method) == member


@pytest.mark.rule("HTTP-H-01", "HTTP-H-02", "HTTP-H-08", "HTTP-H-09", "HTTP-T-01", "HTTP-T-02", "TRANSPORT-21")
def test_headers_mirror_the_request() -> None:
    assert standard_headers("2026-07-28", "tools/call", {"name": "größe"}) == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "=?base64?Z3LDtsOfZQ==?=",
    }
    assert standard_headers("2026-07-28", "resources/read", {"uri": "file:///a%20b"})["mcp-name"] == "file:///a%20b"
    assert standard_headers("2026-07-28", "tools/list", {"name": "x"}).keys() == {"mcp-protocol-version", "mcp-method"}
    assert "mcp-name" not in standard_headers("2026-07-28", "tools/call", None)
    assert "mcp-name" not in standard_headers("2026-07-28", "tools/call", {"name": 5})
