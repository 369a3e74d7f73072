"""Nothing a peer sends crashes the reader, and each malformed message gets its code."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp._protocol.errors import Rejection
from mcp._protocol.jsonrpc import (
    ErrorResponse,
    Message,
    Notification,
    Request,
    Response,
    broken_answer,
    dumps,
    error_message,
    is_request_id,
    loads,
    notification_message,
    parse_message,
    read_message,
    request_message,
    result_message,
    unreadable_answer,
)
from mcp_types.jsonrpc import ErrorData

INVALID = "Body must be a single JSON-RPC request or notification object"


def call(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "m", **members}


@pytest.mark.rule("BASE-J-01", "BASE-J-02", "BASE-J-10", "BASE-J-14", "VER-8")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (call(id=1), Request(1, "m", None)),
        (call(id="a", params={"x": 1}), Request("a", "m", {"x": 1})),
        (call(id=0, params=None), Request(0, "m", None)),
        (call(id=10**30), Request(10**30, "m", None)),
        (call(), Notification("m", None)),
        (call(params={}), Notification("m", {})),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, Response(1, {})),
        (
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "x", "data": [1]}},
            ErrorResponse(1, -1, "x", [1]),
        ),
        ({"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "x"}}, ErrorResponse(None, -1, "x")),
        ({"jsonrpc": "2.0", "error": {"code": -1, "message": "x"}}, ErrorResponse(None, -1, "x")),
    ],
)
def test_each_kind_of_message_is_told_by_its_members(value: dict[str, Any], message: Message) -> None:
    assert read_message(value) == message
    assert parse_message(json.dumps(value)) == message
    assert parse_message(json.dumps(value).encode()) == message


@pytest.mark.rule("BASE-J-11")
@pytest.mark.rule("BASE-J-01", "BASE-J-02", "BASE-J-03", "RUN-38", "VER-8", "SERR-01", "CASE-68", "BASE-E-01")
@pytest.mark.parametrize(
    ("value", "request_id"),
    [
        ([], None),
        ([call(id=1)], None),
        ("text", None),
        (None, None),
        ({}, None),
        (call(id=None), None),
        (call(id=1.0), None),
        (call(id=True), None),
        (call(id=[1]), None),
        ({"id": 7, "method": "m"}, 7),
        (call(id=7, jsonrpc="1.0"), 7),
        (call(id=7, jsonrpc=2.0), 7),
        (call(id=7, method=5), 7),
        (call(id="a", params=[1]), "a"),
        (call(params="x"), None),
        ({"jsonrpc": "2.0", "id": 1}, None),
        ({"jsonrpc": "2.0", "id": 1, "result": []}, None),
        ({"jsonrpc": "2.0", "id": None, "result": {}}, None),
        ({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": ""}}, None),
        ({"jsonrpc": "2.0", "id": 1, "error": "x"}, None),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": ""}}, None),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": True, "message": ""}}, None),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1}}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "error": {"code": 1, "message": ""}}, None),
    ],
)
def test_what_is_no_message_is_an_invalid_request(value: Any, request_id: int | str | None) -> None:
    assert read_message(value) == Rejection(400, -32600, INVALID, None, request_id)


@pytest.mark.rule("RUN-38", "CASE-60", "CASE-87", "BASE-E-01")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{not json",
        b"{} {}",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a":"\\ud800", "b": NaN}',
        b'{"a":"\\ud800"',
        b'{"a":"\\ud800\xff"}',
        b"[" * 10_000,
        b"[" * 10_000 + b"]" * 10_000,
        b'["\\ud800",' + b"[" * 10_000 + b"]" * 10_001,
        b'["\\ud800",' + b"[" * 400 + b"]" * 401,
        b'{"a":' * 100_000,
        b"1" * 10_000,
        b'["\\ud800",' + b"1" * 10_000 + b"]",
        b'{"a":"\x01"}',
    ],
)
def test_what_is_no_json_is_a_parse_error(data: bytes) -> None:
    assert parse_message(data) == Rejection(400, -32700, "Parse error")


def test_surrogates_without_a_partner_are_read_and_written() -> None:
    assert loads(b'{"a":"x\\ud800"}') == {"a": "x\ud800"}
    assert loads('{"a":"\\uDc00"}') == {"a": "\udc00"}
    assert loads('"\ud800"') == "\ud800"
    assert dumps({"a\ud800": ["\udfff", b"x"]}) == b'{"a\\ud800":["\\udfff","x"]}'


def test_depth_is_bounded_alike_by_both_readers() -> None:
    for depth, readable in ((201, True), (202, False)):
        plain = b"[" * depth + b"]" * depth
        with_surrogate = b"[" * depth + b'"\\ud800"' + b"]" * depth
        for text in (plain, with_surrogate):
            if readable:
                loads(text)
            else:
                with pytest.raises(ValueError):
                    loads(text)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (float("nan"), "the top"),
        ({"a": {"b": [0, float("inf")]}}, r"a\.b\[1\]"),
        ([{"x": -float("inf")}], r"\[0\]\.x"),
        ({"a": "\ud800", "b": float("nan")}, "b"),
    ],
)
def test_numbers_without_a_json_form_are_an_error_that_names_their_place(value: Any, place: str) -> None:
    with pytest.raises(ValueError, match=f"^JSON has no form for NaN or infinity, found at {place}$"):
        dumps(value)


def test_text_that_looks_like_a_special_number_is_just_text() -> None:
    assert dumps({"a": "NaN", "b": ["Infinity"]}) == b'{"a":"NaN","b":["Infinity"]}'


@pytest.mark.parametrize("value", [object(), {"a\ud800": object()}, {"a": b"\xff"}])
def test_what_has_no_json_form_is_an_error(value: object) -> None:
    with pytest.raises(ValueError):
        dumps(value)


@pytest.mark.rule("BASE-J-05", "BASE-J-06", "BASE-J-09", "BASE-J-10", "SERR-01", "SERR-02")
def test_messages_are_built_with_just_their_members() -> None:
    error = ErrorData(code=-32602, message="no")
    assert request_message(1, "m", {"a": 1}) == {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": 1}}
    assert request_message("a", "m", None) == {"jsonrpc": "2.0", "id": "a", "method": "m"}
    assert notification_message("m", None) == {"jsonrpc": "2.0", "method": "m"}
    assert notification_message("m", {}) == {"jsonrpc": "2.0", "method": "m", "params": {}}
    assert result_message(0, {}) == {"jsonrpc": "2.0", "id": 0, "result": {}}
    assert error_message(1, error) == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}
    assert error_message(1, ErrorData(code=1, message="", data=[])) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": 1, "message": "", "data": []},
    }


@pytest.mark.rule("BASE-J-09", "SERR-01")
def test_an_id_that_could_not_be_read_is_left_out_or_null_as_the_revision_wants_it() -> None:
    error = ErrorData(code=-32700, message="Parse error")
    assert "id" not in error_message(None, error)
    assert error_message(None, error, null_id=True)["id"] is None


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_values_come_back_as_they_were_written(value: Any) -> None:
    assert loads(dumps(value)) == value


@given(JSON_VALUES)
def test_values_are_read_as_by_the_standard_library(value: Any) -> None:
    text = json.dumps(value)
    assert loads(text) == loads(text.encode()) == value


@given(st.binary() | st.text('\\ud80[]{}",:0NaI', max_size=30).map(str.encode))
def test_any_bytes_are_a_message_or_a_rejection(data: bytes) -> None:
    read = parse_message(data)
    assert not isinstance(read, Rejection) or read.code in (-32700, -32600)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "jsonrpc": st.sampled_from(["2.0", "1.0", None, 2]),
            "id": JSON_VALUES,
            "method": JSON_VALUES,
            "params": JSON_VALUES,
            "result": JSON_VALUES,
            "error": JSON_VALUES,
        },
    )
)
def test_any_object_is_a_message_with_a_proper_id_or_a_rejection(value: dict[str, Any]) -> None:
    read = read_message(value)
    if isinstance(read, Request | Response):
        assert is_request_id(read.request_id)
    if isinstance(read, Rejection):
        assert read.code == -32600


ANSWERED = [1, "a", 0, -7]


@pytest.mark.parametrize("request_id", ANSWERED)
@pytest.mark.parametrize(
    "members",
    [
        {},
        {"result": []},
        {"result": None},
        {"error": "no"},
        {"error": {"code": 1.5, "message": ""}},
        {"result": {}, "error": {"code": 1, "message": ""}},
    ],
)
def test_an_answer_that_is_none_is_the_end_of_waiting_for_it(request_id: Any, members: dict[str, Any]) -> None:
    message = {"jsonrpc": "2.0", "id": request_id, **members}
    assert isinstance(read_message(message), Rejection)
    answer = broken_answer(message)
    assert answer is not None
    assert (answer.request_id, answer.code, answer.is_local) == (request_id, -32600, True)


@pytest.mark.parametrize("message", [None, 3, [], {}, {"id": True}, {"id": 1.0}, {"id": 1, "method": 3}, {"id": None}])
def test_what_names_no_request_of_ours_ends_none(message: Any) -> None:
    assert broken_answer(message) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}',
        '{"result":{"a":[-Infinity]},"jsonrpc":"2.0","id":1}',
        '{"jsonrpc":"2.0","id":1,"result":{"a":' + "9" * 5000 + "}}",
        '{"jsonrpc":"2.0","id":1,"result":{"a":' + "[" * 100_000,
        '{"jsonrpc":"2.0","id":1,"result":{"a":"cut of',
        ' { "id" : 1 , "jsonrpc" : "2.0" , "error" : {"code"',
        '{"id":1,"result":\x00}',
    ],
)
def test_an_answer_that_is_no_json_is_the_end_of_waiting_for_it(text: str) -> None:
    for data in (text, text.encode()):
        with pytest.raises(ValueError) as raised:
            loads(data)
        answer = unreadable_answer(data, raised.value)
        assert answer is not None
        assert (answer.request_id, answer.code, answer.is_local) == (1, -32700, True)
        assert answer.message == f"The answer is not JSON: {raised.value}"


@pytest.mark.parametrize(
    "text",
    [
        "", "hello", "{", "[NaN]", '{"a":{"id":1,"result":NaN', '{"jsonrpc":"2.0","id":1,"method":"x","params":NaN}',
        '{"jsonrpc":"2.0","id":1,"method":"x"', '{"jsonrpc":"2.0","id":01,"result":{',
        '{"jsonrpc":"2.0","id":1.5,"result":{',
        '{"jsonrpc":"2.0","id":"a\\"b","result":{', '{"jsonrpc":"2.0","id":' + "9" * 5000 + ',"result":{',
    ],
)  # fmt: skip
def test_a_text_that_names_no_request_of_ours_ends_none(text: str) -> None:
    assert unreadable_answer(text, ValueError("no")) is None
    assert unreadable_answer(text.encode(), ValueError("no")) is None


def nest(depth: int, wrap: str = "list") -> Any:
    value: Any = "]}[{"
    for _ in range(depth):
        value = {"a": value} if wrap == "dict" else [value]
    return value


@pytest.mark.parametrize("wrap", ["list", "dict"])
@pytest.mark.parametrize("depth", [198, 240, 256, 1000, 100_000])
def test_what_no_peer_could_read_is_not_written(wrap: str, depth: int) -> None:
    assert loads(dumps(nest(200, wrap))) == nest(200, wrap)
    message = {"params": {"arguments": {"tree": nest(depth, wrap)}}}
    begin = "[0]" if wrap == "list" else ".a"
    with pytest.raises(ValueError, match=r"^JSON is nested too deeply: more than 200 levels at params\.") as caught:
        dumps(message)
    assert str(caught.value).endswith(f" at params.arguments.tree{begin}")


def test_what_contains_itself_is_not_written() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match=r"more than 200 levels at \[0\]\[0\]\[0\]\[0\]$"):
        dumps(endless)


DEEP = st.recursive(
    st.sampled_from(["]", "}}", "[", '{"', "", 1, None]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "[", "]"]), inner, max_size=3)
        | st.integers(1, 120).flatmap(lambda depth: inner.map(lambda value: wrapped(value, depth)))
    ),
    max_leaves=12,
)


def wrapped(value: Any, depth: int) -> Any:
    for number in range(depth):
        value = [value] if number % 3 else {"a": value}
    return value


@given(value=DEEP)
def test_what_is_written_can_be_read(value: Any) -> None:
    try:
        data = dumps(value)
    except ValueError:
        with pytest.raises(ValueError):
            loads(json.dumps(value))
    else:
        assert loads(data) == value
