from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import Any

import pytest

from mcp.server._http.asgi import ASGIHeaders, BodyTooLarge, ClientLeft, read_body, send_body, send_json
from tests.server.http.fakes import FakeConnection

NO_LENGTH = ASGIHeaders([])


def length(value: str) -> ASGIHeaders:
    return ASGIHeaders([(b"content-length", value.encode())])


async def test_a_body_in_one_piece_is_read() -> None:
    assert await read_body(NO_LENGTH, FakeConnection(b"abc").receive, 3) == b"abc"


async def test_a_body_in_chunks_is_put_together() -> None:
    assert await read_body(NO_LENGTH, FakeConnection([b"ab", b"", b"c"]).receive, 3) == b"abc"


@pytest.mark.rule("RUN-22")
@pytest.mark.parametrize("chunks", [[b"abcd"], [b"ab", b"cd"], [b"ab", b"c", b"d", b"never read"]])
async def test_a_body_above_the_limit_is_refused_however_it_arrives(chunks: list[bytes]) -> None:
    connection = FakeConnection(chunks)
    with pytest.raises(BodyTooLarge):
        await read_body(NO_LENGTH, connection.receive, 3)
    assert connection.received <= 3


@pytest.mark.rule("RUN-22")
@pytest.mark.parametrize("announced", ["4", "99999999999999999999999999"])
async def test_an_announced_length_above_the_limit_is_refused_before_anything_is_read(announced: str) -> None:
    connection = FakeConnection(b"abcd")
    with pytest.raises(BodyTooLarge):
        await read_body(length(announced), connection.receive, 3)
    assert connection.received == 0


@pytest.mark.parametrize("announced", ["", "x", "-1", "²"])
async def test_a_length_that_is_no_number_is_not_believed(announced: str) -> None:
    headers = ASGIHeaders([(b"content-length", announced.encode())])
    assert await read_body(headers, FakeConnection(b"abc").receive, 3) == b"abc"


async def test_a_client_that_leaves_before_its_body_is_complete_is_noticed() -> None:
    connection = FakeConnection([b"ab"])
    connection.gone.set()
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"ab", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> MutableMapping[str, Any]:
        return messages.pop(0)

    with pytest.raises(ClientLeft):
        await read_body(NO_LENGTH, receive, 3)
    messages = [{"type": "http.disconnect"}]
    with pytest.raises(ClientLeft):
        await read_body(NO_LENGTH, receive, 3)


@pytest.mark.rule("HTTP-H-12")
def test_headers_are_found_whatever_their_case_and_the_first_of_several_counts() -> None:
    headers = ASGIHeaders([(b"a", b"1"), (b"b", b"2"), (b"a", b"3")])
    assert headers["A"] == "1"
    assert headers.get_all("a") == ("1", "3")
    assert headers.get_all("B") == ("2",)
    assert headers.get_all("c") == ()
    assert "B" in headers
    assert "c" not in headers
    assert 1 not in headers
    assert headers.get("c") is None
    assert headers.first(b"a") == "1"
    assert headers.first(b"c") is None
    assert dict(headers) == {"a": "1", "b": "2"}
    assert len(headers) == 2
    assert headers.has_repeats


def test_headers_without_repeats_know_it() -> None:
    headers = ASGIHeaders(((b"a", b"1"), (b"b", b"2")))
    assert not headers.has_repeats
    assert headers.get_all("a") == ("1",)
    assert headers.get_all("c") == ()


def test_header_values_do_not_show_in_the_repr() -> None:
    assert repr(ASGIHeaders([(b"authorization", b"secret")])) == "ASGIHeaders(['authorization'])"


async def test_a_response_is_one_start_and_one_body_and_may_be_added_to() -> None:
    connection = FakeConnection()
    header = (b"allow", b"POST")
    await send_body(connection.send, 405, b"", header)
    assert [message["type"] for message in connection.sent] == ["http.response.start", "http.response.body"]
    assert connection.headers == {"allow": "POST", "content-length": "0"}
    connection.sent[0]["headers"].append((b"x", b"y"))
    again = FakeConnection()
    await send_body(again.send, 405, b"", header)
    assert "x" not in again.headers


async def test_json_is_sent_with_its_type_and_length() -> None:
    connection = FakeConnection()
    await send_json(connection.send, 400, {"a": "ü"})
    assert connection.status == 400
    assert connection.json == {"a": "ü"}
    assert json.loads(connection.body) == {"a": "ü"}
