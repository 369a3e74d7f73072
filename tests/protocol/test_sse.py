"""Events are read the same however the network cuts the stream."""

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp._protocol.sse import KEEP_ALIVE, EventTooLargeError, ServerSentEvent, SSEDecoder, encode_event


def read(*chunks: bytes, limit: int | None = None) -> list[ServerSentEvent]:
    decoder = SSEDecoder(limit)
    return [event for chunk in chunks for event in decoder.feed(chunk)]


@pytest.mark.rule("RUN-36", "HTTP-R-05")
def test_a_message_is_one_event_with_crlf_and_no_id() -> None:
    assert encode_event(b'{"a":1}') == b'event: message\r\ndata: {"a":1}\r\n\r\n'
    assert encode_event('{"a":"ä"}') == 'event: message\r\ndata: {"a":"ä"}\r\n\r\n'.encode()


def test_an_event_carries_id_name_and_retry_when_asked() -> None:
    assert encode_event("x", event="endpoint", event_id="7", retry=500) == (
        b"id: 7\r\nretry: 500\r\nevent: endpoint\r\ndata: x\r\n\r\n"
    )
    assert encode_event(b"", event_id="0") == b"id: 0\r\nevent: message\r\ndata: \r\n\r\n"


def test_line_breaks_in_the_data_become_lines() -> None:
    assert encode_event("a\r\nb\rc\n") == b"event: message\r\ndata: a\r\ndata: b\r\ndata: c\r\ndata: \r\n\r\n"


@pytest.mark.parametrize("bad", ["a\nb", "a\rb", "a\0b"])
def test_names_and_ids_cannot_break_the_framing(bad: str) -> None:
    with pytest.raises(ValueError, match="event_id must not contain"):
        encode_event("x", event_id=bad)
    with pytest.raises(ValueError, match="event must not contain"):
        encode_event("x", event=bad)


@pytest.mark.rule("TRANSPORT-35", "HTTP-R-10", "TRANSPORT-D8")
@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: x\n\n", [ServerSentEvent(b"x")]),
        (b"data: x\r\r", [ServerSentEvent(b"x")]),
        (b"data: x\r\n\r\n", [ServerSentEvent(b"x")]),
        (b"data:x\n\n", [ServerSentEvent(b"x")]),
        (b"data:  x\n\n", [ServerSentEvent(b" x")]),
        (b"event: ping\ndata: x\n\n", [ServerSentEvent(b"x", "ping")]),
        (b"event:\ndata: x\n\n", [ServerSentEvent(b"x")]),
        (b"data: a\ndata: b\n\n", [ServerSentEvent(b"a\nb")]),
        (b"data\ndata: b\n\n", [ServerSentEvent(b"\nb")]),
        (b": note\ndata: a\n:\n\n", [ServerSentEvent(b"a")]),
        (KEEP_ALIVE + b"data: a\r\n\r\n" + KEEP_ALIVE, [ServerSentEvent(b"a")]),
        (b"event: ping\n\ndata: a\n\n", [ServerSentEvent(b"a")]),
        (b"data:\n\n", []),
        (b"data: lost\n", []),
        (b"data: a\n\ndata: lost", [ServerSentEvent(b"a")]),
        (b"nonsense: a\nmore\ndata: a\n\n", [ServerSentEvent(b"a")]),
        (b"id: 1\ndata: a\n\ndata: b\n\n", [ServerSentEvent(b"a", event_id="1"), ServerSentEvent(b"b", event_id="1")]),
        (b"id: 1\0\ndata: a\n\n", [ServerSentEvent(b"a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [ServerSentEvent(b"a")]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
        (b"data: \xef\xbb\xbf\n\n", [ServerSentEvent(b"\xef\xbb\xbf")]),
        (b"event: message\r\ndata: {}\r\n\r\n", [ServerSentEvent(b"{}")]),
        (
            b"event: message\r\ndata: a\r\n\r\nevent: message\r\ndata: b\r\n\r\n",
            [ServerSentEvent(b"a"), ServerSentEvent(b"b")],
        ),
        (b"event: message\r\ndata: \r\n\r\n", []),
        (b"\n\n\r\n", []),
    ],
)
def test_streams_are_read_whole_and_byte_by_byte(stream: bytes, events: list[ServerSentEvent]) -> None:
    assert read(stream) == events
    assert read(*[stream[place : place + 1] for place in range(len(stream))]) == events


def test_an_event_without_data_still_moves_the_id_and_the_retry_time() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"id: 5\nretry: 500\ndata:\n\nretry: soon\n\n") == []
    assert (decoder.last_event_id, decoder.retry) == ("5", 500)
    assert decoder.feed(encode_event(b"x")) == [ServerSentEvent(b"x", event_id="5")]


@pytest.mark.rule("TRANSPORT-39")
@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: " + b"x" * 100 + b"\n\n"],
        [b"data: " + b"x" * 100],
        [b"data: ", b"x" * 50, b"x" * 50],
        [b"data: x\n"] * 20,
        [encode_event(b"x" * 100)],
        [b": " + b"x" * 100],
    ],
)
def test_an_event_above_the_limit_is_an_error(chunks: list[bytes]) -> None:
    with pytest.raises(EventTooLargeError, match=r"^Server-sent event exceeded the 60 byte limit\.$") as caught:
        read(*chunks, limit=60)
    assert caught.value.limit == 60


def test_many_small_events_and_comments_never_meet_the_limit() -> None:
    stream = (encode_event(b"x" * 30) + KEEP_ALIVE) * 50
    assert len(read(stream, limit=60)) == 50
    assert len(read(*[stream[place : place + 7] for place in range(0, len(stream), 7)], limit=60)) == 50


LINES = st.lists(
    st.sampled_from(
        [b"data: a", b"data:b", b"data", b"id: 1", b"event: message", b": c", b"retry: 5", b"", b"", b"x\xef"]
    ),
    max_size=12,
)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(stream), *(place % (len(stream) + 1) for place in places)})
    return [stream[start:end] for start, end in itertools.pairwise(edges)]


@pytest.mark.rule("TRANSPORT-35")
@given(
    LINES, st.lists(st.sampled_from([b"\r\n", b"\n", b"\r"]), min_size=12, max_size=12), st.lists(st.integers(0, 200))
)
@example([b"data: a", b"", b"data: b", b""], [b"\r\n"] * 12, [8])
def test_any_chunking_gives_the_same_events(lines: list[bytes], ends: list[bytes], places: list[int]) -> None:
    stream = b"".join(line + end for line, end in zip(lines, ends, strict=False))
    whole = read(stream)
    assert read(*cut(stream, places)) == whole
    # CRLF and LF mean the same; a CR before an empty line with LF would merge with it, so only these two compare.
    assert read(b"".join(line + b"\n" for line in lines)) == read(b"".join(line + b"\r\n" for line in lines))


@given(st.binary(), st.lists(st.integers(0, 200)))
def test_any_bytes_are_read_without_a_crash(stream: bytes, places: list[int]) -> None:
    assert read(*cut(stream, places)) == read(stream)


@given(st.lists(st.binary(min_size=1)), st.lists(st.integers(0, 2000)))
def test_what_is_written_is_read_back(payloads: list[bytes], places: list[int]) -> None:
    stream = b"".join(encode_event(payload) for payload in payloads)
    normal = [payload.replace(b"\r\n", b"\n").replace(b"\r", b"\n") for payload in payloads]
    assert [event.data for event in read(*cut(stream, places))] == normal
