"""The commands, put together."""

from __future__ import annotations

from importlib.metadata import version

import typer

from mcp.cli import keys

app = typer.Typer(name="mcp", help="Tools for MCP servers.", no_args_is_help=True, add_completion=False)
app.add_typer(keys.app, name="keys")


@app.command("version")
def show_version() -> None:
    """Show the version."""
    print(f"MCP version {version('rondo-mcp')}")


@app.callback()
def main() -> None:
    """Tools for MCP servers."""
