"""Cut documentation pages into programs and links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.programs import ROOT

CONTINUES = "<!-- continues -->"
FENCE = re.compile(r"^(`{3,})(.*)$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its first line's number, and whether it goes on from the one before it."""

    language: str
    line: int
    text: str
    continues: bool


def pages() -> list[Path]:
    """Return every page that readers see."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page; those inside lists too, without their indentation."""
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        indentation = len(lines[number]) - len(lines[number].lstrip())
        opening = FENCE.match(lines[number].strip())
        number += 1
        if opening is None:
            continue
        start = number
        while number < len(lines) and lines[number].strip() != opening[1]:
            number += 1
        body = "\n".join(line[indentation:] for line in lines[start:number])
        before = lines[start - 2].strip() if start > 1 else ""
        yield Block(opening[2].strip(), start + 1, body + "\n", before == CONTINUES)
        number += 1


def programs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the page's programs, each with its first line's number; the lines stand where they stand on the page."""
    source = ""
    first = 0
    for block in blocks(text):
        if block.language != "python":
            continue
        if not block.continues:
            if source:
                yield first, source
            source, first = "", block.line
        source += "\n" * (block.line - 1 - source.count("\n")) + block.text
    if source:
        yield first, source


def links(text: str) -> list[str]:
    """Return the targets of the links outside code blocks."""
    for block in blocks(text):
        text = text.replace(block.text, "")
    return LINK.findall(text)


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as code hosts make them."""
    for block in blocks(text):
        text = text.replace(block.text, "")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
