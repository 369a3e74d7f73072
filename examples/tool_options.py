"""What can be said about a tool: strict arguments, no text copy, a time limit; and who sees it.

`purge` is only there for clients that can ask their user.
"""

import sys
import time
from typing import Annotated

from pydantic import BaseModel

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resources import Resource, ResourceTemplate
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations


class Sure(BaseModel):
    sure: bool


async def ask() -> Elicit[Sure]:
    """Ask before anything is lost."""
    return Elicit("Remove all notes?", Sure)


NOTES = {"milk": "two litres", "bread": "rye"}


def visible(ctx: Context, item: Tool | Prompt | Resource | ResourceTemplate) -> bool:
    """Show what cannot be undone only where somebody can be asked first."""
    if not isinstance(item, Tool) or item.annotations is None or not item.annotations.destructive_hint:
        return True
    capabilities = ctx.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


server = MCPServer(
    "Notes", log_level="WARNING", strict_arguments=True, inline_refs=True, visible=visible, max_sync_threads=4
)


@server.tool
def read_note(name: str) -> str:
    """Read a note."""
    return NOTES.get(name, "")


@server.tool(text_copy=False)
def export() -> dict[str, str]:
    """All notes, as data alone."""
    return NOTES


@server.tool(timeout=0.2)
def summarize(patience: float) -> str:
    """Summarize all notes, which takes as long as it takes."""
    time.sleep(patience)
    return f"{len(NOTES)} notes"


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def purge(sure: Annotated[Sure, Resolve(ask)]) -> str:
    """Remove all notes."""
    if not sure.sure:
        return "Nothing happened."
    NOTES.clear()
    return "All notes are gone."


if __name__ == "__main__":
    server.run("streamable-http", port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
