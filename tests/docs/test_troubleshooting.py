"""The texts that the page on troubleshooting lists are those that the source says."""

from __future__ import annotations

import re

import pytest

from tests.programs import ROOT

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
SOURCE = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.py")))
TEXTS = [
    text for row in PAGE.splitlines() if row.startswith("| `") for text in re.findall(r"`([^`]+)`", row.split("|")[1])
]
# Python says this one.
PYTHONS = {"MCPServer.__init__() got an unexpected keyword argument 'port'"}
# What stands for a name, a number, a rest in the page's examples.
EXAMPLES = re.compile(
    r"(?<!\w)'[^']*'|\badd\b|\bgreet\b|note://a|\bmcp-name\b|\bTool\b|\bAt most 100\.|\btcp\b|…"
    r"|\bform elicitation\b|\bresolver\b|keys\[0\]|\b\d+\b|: unknown key"
)


def fragments(text: str) -> list[str]:
    return [part.strip(" :;()") for part in EXAMPLES.split(text) if len(part.strip(" :;().,")) > 3]


def joined(source: str) -> str:
    """Put the pieces of texts that are broken over lines together."""
    return re.sub(r'"\s*\n?\s*f?"', "", source)


@pytest.mark.rule("TROUBLE-D5")
@pytest.mark.parametrize("text", [text for text in TEXTS if text not in PYTHONS])
def test_a_listed_text_is_said_somewhere(text: str) -> None:
    said = joined(SOURCE)
    assert fragments(text)
    assert [part for part in fragments(text) if part not in said] == []
