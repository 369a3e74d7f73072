"""The map in the design names files that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def files_named_in_the_map() -> dict[str, list[str]]:
    """The files under each folder of the map; `_http/x.py` stands for a file in a folder below."""
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    chapter = page.partition("\n## 4. ")[2].partition("\n## ")[0]
    found: dict[str, list[str]] = {}
    for section in chapter.split("\n### ")[1:]:
        folder = section.partition("`")[2].partition("`")[0]
        found[folder] = re.findall(r"[\w/]+\.py", section.partition("```\n")[2].partition("\n```")[0])
    return found


def test_every_file_in_the_map_exists() -> None:
    named = files_named_in_the_map()
    assert {"mcp_types/", "mcp/_protocol/", "mcp/server/", "mcp/client/"} <= named.keys()
    missing = [f"{folder}{name}" for folder, names in named.items() for name in names if not _exists(folder, name)]
    assert missing == []


def _exists(folder: str, name: str) -> bool:
    return (ROOT / "src" / folder / name).is_file()
