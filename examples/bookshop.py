"""Everything a server offers besides questions.

Tools with structured results and pictures, resources, templates, prompts, completion, progress, and what the server
holds while it runs.
"""

import sys
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from struct import pack
from typing import Annotated

from pydantic import BaseModel, Field

from mcp.server.mcpserver import AssistantMessage, Context, Icon, Image, MCPServer, Message, UserMessage
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.types import (
    Annotations,
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
    ToolAnnotations,
)


class Shelf(str, Enum):
    NOVELS = "novels"
    POEMS = "poems"


class Book(BaseModel):
    title: str
    year: int
    shelf: Shelf
    cents: Annotated[int, Field(ge=0, description="The price.")]


@dataclass
class Shop:
    """What lives as long as the server does."""

    books: dict[str, Book] = field(default_factory=dict[str, Book])
    sold: list[str] = field(default_factory=list[str])


@asynccontextmanager
async def lifespan(server: MCPServer[Shop]) -> AsyncGenerator[Shop]:
    """Open the shop, once per server start: this is the place for connections and models."""
    books = [
        Book(title="Emma", year=1815, shelf=Shelf.NOVELS, cents=1290),
        Book(title="Dracula", year=1897, shelf=Shelf.NOVELS, cents=990),
        Book(title="Leaves of Grass", year=1855, shelf=Shelf.POEMS, cents=1490),
    ]
    yield Shop({book.title.lower().replace(" ", "-"): book for book in books})


server = MCPServer(
    "Bookshop",
    version="1.0",
    instructions="Look at `books://catalogue` before you sell anything.",
    lifespan=lifespan,
    icons=[Icon(src="data:image/svg+xml,<svg/>", mime_type="image/svg+xml")],
    log_level="WARNING",
)
SLUGS = ("dracula", "emma", "leaves-of-grass")


def shop_of(ctx: Context[Shop]) -> Shop:
    """The shop behind a request."""
    return ctx.request_context.lifespan_context


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def find(shelf: Shelf, ctx: Context[Shop], below_cents: Annotated[int | None, Field(gt=0)] = None) -> list[Book]:
    """Find the books of a shelf."""
    books = [book for book in shop_of(ctx).books.values() if book.shelf is shelf]
    return [book for book in books if below_cents is None or book.cents < below_cents]


@server.tool
async def sell(slugs: Sequence[str], ctx: Context[Shop]) -> Annotated[int, Field(description="Cents.")]:
    """Sell books, one after another."""
    shop, total = shop_of(ctx), 0
    for number, slug in enumerate(slugs, 1):
        book = shop.books.get(slug)
        if book is None:
            raise ToolError(f"There is no book {slug!r}; known are {', '.join(shop.books)}")
        shop.sold.append(slug)
        total += book.cents
        await ctx.report_progress(number, len(slugs), f"packing {book.title}")
    return total


@server.tool
def cover(slug: str) -> list[str | Image]:
    """Show the cover of a book."""
    return [f"The cover of {slug}:", Image(data=png(zlib.crc32(slug.encode()) % 256), format="png")]


@server.resource("books://catalogue", mime_type="text/markdown", annotations=Annotations(priority=1.0))
def catalogue() -> str:
    """All books, for people."""
    return "\n".join(f"- {slug}" for slug in SLUGS)


@server.resource("books://{slug}/card{?lines}", title="The card of a book")
def card(slug: str, ctx: Context[Shop], lines: int = 3) -> str:
    """What a bookseller wrote on a book's card."""
    book = shop_of(ctx).books.get(slug)
    if book is None:
        raise ResourceNotFoundError(f"No book is called {slug!r}")
    return "\n".join([book.title, str(book.year), f"{book.cents / 100:.2f} EUR"][:lines])


@server.prompt(title="Recommend a book")
def recommend(
    shelf: Shelf, mood: Annotated[str, Field(description="How the reader feels.")] = "curious"
) -> list[Message]:
    """Begin a talk about a book."""
    return [
        UserMessage(f"Which of your {shelf.value} suits a {mood} reader?"),
        AssistantMessage("Let me look at the shelf."),
    ]


@server.completion()
async def complete(
    ref: PromptReference | ResourceTemplateReference, argument: CompletionArgument, context: CompletionContext | None
) -> Completion | None:
    """Suggest what can stand in a template or a prompt."""
    known: dict[str, Sequence[str]] = {"slug": SLUGS, "shelf": [shelf.value for shelf in Shelf]}
    values = known.get(argument.name, ())
    return Completion(values=[value for value in values if value.startswith(argument.value)])


def png(gray: int) -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))

    header = pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes([0, gray]))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


if __name__ == "__main__":
    server.run("streamable-http", port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
