"""Lines: how messages are framed on a pipe (stdio: "Message Framing")."""

from __future__ import annotations

from typing import Final, TypeAlias

DEFAULT_MAX_LINE_BYTES: Final = 64 * 1024 * 1024


class LineTooLong:
    """Stands for a line that was longer than is read; it has been skipped, or will be."""

    __slots__ = ()


Line: TypeAlias = bytes | LineTooLong


class LineSplitter:
    """Cuts what arrives into lines, at line feeds and nowhere else: a message may hold other line ends of Unicode.

    Args:
        max_line_bytes: How long a line may be.
    """

    def __init__(self, max_line_bytes: int = DEFAULT_MAX_LINE_BYTES) -> None:
        self._max = max_line_bytes
        self._parts: list[bytes] = []  # of the line that has not ended yet
        self._size = 0
        self._skipping = False  # whether that line has already been given up

    def feed(self, data: bytes) -> list[Line]:
        """Take in the next bytes; the lines that end in them, without their ends. Blank ones are left out."""
        *ended, rest = data.split(b"\n")
        lines: list[Line] = []
        for part in ended:
            self._take(part, lines)
            self._finish(lines)
        if rest:
            self._take(rest, lines)
        return lines

    def end(self) -> list[Line]:
        """Take the end of input for the end of the last line."""
        lines: list[Line] = []
        self._finish(lines)
        return lines

    def _take(self, part: bytes, lines: list[Line]) -> None:
        if self._skipping:
            return
        self._size += len(part)
        if self._size > self._max:
            self._parts.clear()
            self._skipping = True
            lines.append(LineTooLong())
        else:
            self._parts.append(part)

    def _finish(self, lines: list[Line]) -> None:
        line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        self._skipping = False
        if line and not line.isspace():
            lines.append(line)
