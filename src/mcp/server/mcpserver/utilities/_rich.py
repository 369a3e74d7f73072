"""The handlers of the package `rich`: columns for people at a terminal, lines for everything else."""

from __future__ import annotations

import logging
from typing import TextIO

from rich.console import Console, ConsoleRenderable
from rich.highlighter import NullHighlighter
from rich.logging import RichHandler
from rich.traceback import Traceback


class _LineHandler(RichHandler):
    """Writes each record as its formatter has it: what is searched, or shown by a host, has no columns."""

    def render(
        self, *, record: logging.LogRecord, traceback: Traceback | None, message_renderable: ConsoleRenderable
    ) -> ConsoleRenderable:
        return message_renderable


def make_handler(stream: TextIO, line: logging.Formatter) -> RichHandler:
    """Return the handler for a stream.

    Args:
        stream: Where it writes.
        line: What a record looks like where the stream is no terminal.
    """
    console = Console(file=stream)
    if console.is_terminal:
        handler = RichHandler(console=console, rich_tracebacks=True)
        handler.setFormatter(logging.Formatter("%(message)s"))  # the rest has columns of its own
        return handler
    handler = _LineHandler(console=Console(file=stream, soft_wrap=True), highlighter=NullHighlighter())
    handler.setFormatter(line)
    return handler
