"""The documentation is true as far as a program can tell: its code runs, its links lead somewhere."""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.docs.pages import anchors, blocks, links, pages, programs
from tests.programs import ROOT

# A block may begin with the name of the file that it is.
FILES = re.compile(r"^# (\w+)\.py$", re.MULTILINE)
PAGES = {path.relative_to(ROOT).as_posix(): path for path in pages()}
# `docs/design.md` shows sketches of interfaces, not programs.
PROGRAMS = {
    f"{name}:{line}": (path, source)
    for name, path in PAGES.items()
    if name != "docs/design.md"
    for line, source in programs(path.read_text(encoding="utf-8"))
}


@pytest.fixture
def module(request: pytest.FixtureRequest) -> Iterator[types.ModuleType]:
    """Give a module for one program to run in, known to Python while it does."""
    made = types.ModuleType("docs_program")
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


@pytest.mark.parametrize("program", PROGRAMS)
async def test_every_program_runs(program: str, module: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    path, source = PROGRAMS[program]
    for file in FILES.findall(source):  # what one file of the program imports from another one is in the same module
        monkeypatch.setitem(sys.modules, file, module)
    exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    main = getattr(module, "main", None)
    if inspect.iscoroutinefunction(main):
        with anyio.fail_after(5):
            await main()


@pytest.mark.parametrize("page", PAGES)
def test_every_link_inside_the_project_leads_somewhere(page: str) -> None:
    path = PAGES[page]
    for link in links(path.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        assert file.exists(), f"{page} links to {link}"
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), f"{page} links to {link}"


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CONTRIBUTING.md"])
def test_commands_run_as_they_are_typed_where_nothing_is_activated(page: str) -> None:
    text = PAGES[page].read_text(encoding="utf-8")
    assert re.findall(r"(?<![\w/.])(?:python \S+\.py|pip install|uvicorn \w+:\w+).*", text) == []


def test_the_index_names_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    named = {(index.parent / link.partition("#")[0]).resolve() for link in links(index.read_text(encoding="utf-8"))}
    assert {path for path in (ROOT / "docs").rglob("*.md") if path != index} <= named


def test_blocks_that_continue_become_one_program_with_the_pages_line_numbers() -> None:
    page = "# T\n```python\na = 1\n```\ntext\n<!-- continues -->\n```python\nb = a\n```\n```python\nc = 2\n```\n"
    assert list(programs(page)) == [(3, "\n\na = 1\n\n\n\n\nb = a\n"), (11, "\n" * 10 + "c = 2\n")]
    assert [block.continues for block in blocks(page)] == [False, True, False]


def test_links_in_code_are_no_links_and_headings_have_anchors() -> None:
    page = "# One & Two\n[a](b.md#c)\n```\n[x](y)\n# z\n```\n"
    assert links(page) == ["b.md#c"]
    assert anchors(page) == {"one--two"}


def test_every_page_is_found() -> None:
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/index.md", "docs/design.md"} <= PAGES.keys()
    assert all(isinstance(path, Path) for path in PAGES.values())
