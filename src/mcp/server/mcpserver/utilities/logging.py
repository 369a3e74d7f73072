"""Logging of a server process."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import sys
from typing import Literal


def get_logger(name: str) -> logging.Logger:
    """Return the logger of that name."""
    return logging.getLogger(name)


def configure_logging(level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO") -> None:
    """Give the root logger a handler on stderr, unless it has one.

    Called when a server starts to run, never when it is built: an imported module must not touch the process's logging.
    """
    handlers: list[logging.Handler] = []
    if importlib.util.find_spec("rich") is not None:
        console = importlib.import_module("rich.console").Console(stderr=True)
        handlers.append(importlib.import_module("rich.logging").RichHandler(console=console, rich_tracebacks=True))
    else:
        handlers.append(logging.StreamHandler(sys.stderr))
    logging.basicConfig(level=level, format="%(message)s", handlers=handlers)
