"""Logging of a server process."""

from __future__ import annotations

import importlib.util
import logging
import sys
from typing import Final, Literal, TextIO, cast

from mcp.server.mcpserver.utilities._background import BackgroundHandler, RawStderr

_LINE: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def get_logger(name: str) -> logging.Logger:
    """Return the logger of that name."""
    return logging.getLogger(name)


def configure_logging(
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO", *, may_wait: bool = True
) -> None:
    """Give the root logger a handler on stderr, unless it has one.

    With `rich` installed it has columns and colours on a terminal. Everywhere else a record is a line, however long.

    Called when a server starts to run, never when it is built: an imported module must not touch the process's logging.

    Args:
        level: The least severe level that is logged.
        may_wait: Whether a log line may wait until stderr takes it; if not, a thread does.
    """
    if logging.getLogger().handlers:
        return
    stream = sys.stderr if may_wait or not _is_real(sys.stderr) else cast("TextIO", RawStderr())
    handler = _make_handler(stream)
    logging.basicConfig(level=level, handlers=[handler if may_wait else BackgroundHandler(handler)])


def _make_handler(stream: TextIO) -> logging.Handler:
    line = logging.Formatter(_LINE)
    if importlib.util.find_spec("rich") is not None:
        from mcp.server.mcpserver.utilities._rich import make_handler

        return make_handler(stream, line)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(line)
    return handler


def _is_real(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.fileno() == 2
    except (OSError, ValueError):
        return False
