"""Logging of a server process."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import sys
from typing import Literal, TextIO, cast

from mcp.server.mcpserver.utilities._background import BackgroundHandler, RawStderr


def get_logger(name: str) -> logging.Logger:
    """Return the logger of that name."""
    return logging.getLogger(name)


def configure_logging(
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO", *, may_wait: bool = True
) -> None:
    """Give the root logger a handler on stderr, unless it has one.

    Called when a server starts to run, never when it is built: an imported module must not touch the process's logging.

    Args:
        level: The least severe level that is logged.
        may_wait: Whether a log line may wait until stderr takes it; if not, a thread does.
    """
    if logging.getLogger().handlers:
        return
    stream = sys.stderr if may_wait or not _is_real(sys.stderr) else cast("TextIO", RawStderr())
    handler: logging.Handler
    if importlib.util.find_spec("rich") is not None:
        console = importlib.import_module("rich.console").Console(file=stream)
        handler = importlib.import_module("rich.logging").RichHandler(console=console, rich_tracebacks=True)
    else:
        handler = logging.StreamHandler(stream)
    if not may_wait:
        handler.setFormatter(logging.Formatter("%(message)s"))
        handler = BackgroundHandler(handler)
    logging.basicConfig(level=level, format="%(message)s", handlers=[handler])


def _is_real(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.fileno() == 2
    except (OSError, ValueError):
        return False
