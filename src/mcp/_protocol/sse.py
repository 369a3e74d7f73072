"""Server-sent events: write one, and read them back from chunks of bytes however these are cut."""

from __future__ import annotations

import re
from dataclasses import dataclass

KEEP_ALIVE = b":\r\n\r\n"
"""A comment: keeps an idle stream open and carries nothing."""

_BOM = b"\xef\xbb\xbf"
_MESSAGE_START = b"event: message\r\ndata: "
_EVENT_END = b"\r\n\r\n"
# How servers write a plain message: start, end, and the line ends in it. Ours is the first.
_PLAIN = ((_MESSAGE_START, _EVENT_END, 6), (b"event: message\ndata: ", b"\n\n", 3))
_LINE_END = re.compile(rb"\r\n|\r|\n")


class EventTooLargeError(ValueError):
    """An event is larger than the reader is willing to hold."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"Server-sent event exceeded the {limit} byte limit.")
        self.limit = limit


@dataclass(slots=True)
class ServerSentEvent:
    """One event of a stream.

    Attributes:
        data: The payload, its lines joined by LF; never empty.
        event: The name, `"message"` if the event has none.
        event_id: The last event id the stream has given so far, `""` if none.
    """

    data: bytes
    event: str = "message"
    event_id: str = ""


def encode_event(
    data: bytes | str, *, event: str = "message", event_id: str | None = None, retry: int | None = None
) -> bytes:
    """Write one event.

    Raises:
        ValueError: `event` or `event_id` contains a character that would break the framing.
    """
    if isinstance(data, str):
        data = data.encode()
    if event == "message" and event_id is None and retry is None and b"\n" not in data and b"\r" not in data:
        return b"%b%b\r\n\r\n" % (_MESSAGE_START, data)
    lines: list[bytes] = []
    if event_id is not None:
        lines.append(b"id: " + _field_value("event_id", event_id))
    if retry is not None:
        lines.append(b"retry: %d" % retry)
    lines.append(b"event: " + _field_value("event", event))
    lines += [b"data: " + line for line in _LINE_END.split(data)]
    return b"\r\n".join(lines) + _EVENT_END


def _field_value(name: str, value: str) -> bytes:
    if "\r" in value or "\n" in value or "\0" in value:
        raise ValueError(f"{name} must not contain line breaks or NUL, got {value!r}")
    return value.encode()


class SSEDecoder:
    """Incremental reader of an event stream.

    Args:
        max_event_size: The most bytes of one event to hold, line ends not counted; `None` for no limit.

    Attributes:
        last_event_id: The id to resume from; also moved by events that carry no data.
        retry: The last reconnection time the server asked for, in milliseconds.
    """

    __slots__ = (
        "_data",
        "_event",
        "_max_event_size",
        "_partial",
        "_size",
        "_skip_lf",
        "_started",
        "last_event_id",
        "retry",
    )

    def __init__(self, max_event_size: int | None = None) -> None:
        self._max_event_size = max_event_size
        self._partial = bytearray()  # the line that has not ended yet
        self._data: list[bytes] = []
        self._event = b""
        self._size = 0  # bytes of the complete lines of the event that has not ended yet
        self._skip_lf = False  # the last chunk ended in CR: a LF next belongs to it
        self._started = False  # past the place where a byte-order mark may stand
        self.last_event_id = ""
        self.retry: int | None = None

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Take the next bytes and return the events that they complete.

        An event without its closing blank line is lost when the stream ends, as the format wants it.

        Raises:
            EventTooLargeError: The event being read exceeds the limit. The decoder is of no use after that.
        """
        if self._skip_lf and chunk:
            self._skip_lf = False
            if chunk[0] == 0x0A:
                chunk = chunk[1:]
        if not self._started:
            chunk = self._strip_bom(chunk)
        if not chunk:
            return []
        if self._partial:
            # Look for a line end in the new bytes only, so that a long line in small chunks stays linear.
            if b"\n" not in chunk and b"\r" not in chunk:
                self._partial += chunk
                self._check_size(len(self._partial))
                return []
            chunk = bytes(self._partial) + chunk
            self._partial.clear()
        elif not self._size and (event := self._read_whole(chunk)) is not None:
            return [event]
        return self._read_lines(chunk)

    def _read_whole(self, chunk: bytes) -> ServerSentEvent | None:
        """Read a chunk that is exactly one plain message, by far the most common kind."""
        for start, end, line_ends in _PLAIN:
            if chunk.startswith(start) and chunk.endswith(end):
                data = chunk[len(start) : -len(end)]
                if not data or b"\n" in data or b"\r" in data:
                    return None
                self._check_size(len(chunk) - line_ends)
                return ServerSentEvent(data, "message", self.last_event_id)
        return None

    def _read_lines(self, chunk: bytes) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
        lines = chunk.splitlines()
        if chunk.endswith((b"\n", b"\r")):
            self._skip_lf = chunk.endswith(b"\r")
        else:
            self._partial += lines.pop()
        for line in lines:
            if line:
                self._read_field(line)
            else:
                self._end_event(events)
        self._check_size(len(self._partial))
        return events

    def _read_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if not name:
            return  # a comment
        self._size += len(line)
        self._check_size(0)
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value
        elif name == b"id":
            if b"\0" not in value:
                self.last_event_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry = int(value[:18])

    def _end_event(self, events: list[ServerSentEvent]) -> None:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        if data:
            name = self._event.decode("utf-8", "replace") if self._event else "message"
            events.append(ServerSentEvent(data, name, self.last_event_id))
        self._data.clear()
        self._event = b""
        self._size = 0

    def _strip_bom(self, chunk: bytes) -> bytes:
        head = bytes(self._partial) + chunk
        self._partial.clear()
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._partial += head
            return b""
        self._started = True
        return head[len(_BOM) :] if head.startswith(_BOM) else head

    def _check_size(self, pending: int) -> None:
        limit = self._max_event_size
        if limit is not None and self._size + pending > limit:
            raise EventTooLargeError(limit)
