"""`python -m mcp.cli`, where the command is not on the path."""

from __future__ import annotations

from mcp.cli import main

if __name__ == "__main__":
    main()
