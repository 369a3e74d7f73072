"""The command `mcp`. Needs the extra `cli`."""

from __future__ import annotations

import importlib.util
import sys


def main() -> None:
    """Run the command line of this process."""
    if importlib.util.find_spec("typer") is None:
        print("Error: typer is required. Install it with: pip install 'rondo-mcp[cli]'", file=sys.stderr)
        sys.exit(1)
    from mcp.cli.app import app

    app()
