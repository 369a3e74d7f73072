"""Say which rules of the protocol and of the public contract the tests prove.

A test cites what it proves with ``@pytest.mark.rule("MRTR-24", "TOOLS-D1")``. The ids lie under ``tests/data/rules``,
one file per page. Run ``python tests/rules.py`` for the whole table, ``python tests/rules.py contract/mrtr`` for some
pages, and add ``--missing contract/mrtr`` to see the ids that no test cites.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    del sys.path[0]  # this folder, whose `types` would hide the one of the standard library

import argparse
import ast
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent
RULES = TESTS / "data" / "rules"
SETTINGS = TESTS / "rules.toml"
NOT_TESTS = ("data", "external")


@dataclass(frozen=True)
class Settings:
    """What `rules.toml` says about rules that are not cited by their own id.

    Attributes:
        replaced: Rules that count as cited once every id they map to is cited.
        not_applicable: Rules that ask nothing of this project, with the reason.
        declined: Proposals that were turned down, with the reason; they do not count at all.
    """

    replaced: Mapping[str, tuple[str, ...]]
    not_applicable: Mapping[str, str]
    declined: Mapping[str, str]


@dataclass(frozen=True)
class Page:
    """How far one page of rules is covered."""

    name: str
    cited: tuple[str, ...]
    replaced: tuple[str, ...]
    not_applicable: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def total(self) -> int:
        return len(self.cited) + len(self.replaced) + len(self.not_applicable) + len(self.missing)


@dataclass(frozen=True)
class Citation:
    """One id in one marker."""

    rule: str
    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path.relative_to(TESTS.parent)}:{self.line}: {self.rule}"


def read_rules() -> dict[str, list[str]]:
    """Return the ids of every page, by the page's name (`contract/mrtr`)."""
    return {
        path.relative_to(RULES).with_suffix("").as_posix(): path.read_text(encoding="utf-8").split()
        for path in sorted(RULES.rglob("*.txt"))
    }


def read_settings() -> Settings:
    """Read `rules.toml`."""
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    tables: dict[str, dict[str, str | list[str]]] = toml.loads(SETTINGS.read_text(encoding="utf-8"))
    unknown = tables.keys() - {"replaced", "not_applicable", "declined"}
    if unknown:
        raise ValueError(f"{SETTINGS.name} has unknown tables: {', '.join(sorted(unknown))}")
    return Settings(
        replaced={old: _as_tuple(new) for old, new in tables.get("replaced", {}).items()},
        not_applicable={rule: str(reason) for rule, reason in tables.get("not_applicable", {}).items()},
        declined={rule: str(reason) for rule, reason in tables.get("declined", {}).items()},
    )


def _as_tuple(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def find_citations(root: Path = TESTS) -> list[Citation]:
    """Collect the ids in every `pytest.mark.rule(...)` below `root`, without importing anything."""
    return [
        citation
        for path in sorted(root.rglob("*.py"))
        if path.relative_to(root).parts[0] not in NOT_TESTS
        for citation in citations_in(path.read_text(encoding="utf-8"), path)
    ]


def citations_in(source: str, path: Path) -> Iterator[Citation]:
    """Yield the citations of one file.

    Raises:
        ValueError: A marker holds something other than plain strings.
    """
    for node in ast.walk(ast.parse(source, str(path))):
        if not (isinstance(node, ast.Call) and _is_rule_marker(node.func)):
            continue
        for argument in node.args:
            if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                raise ValueError(f"{path}:{node.lineno}: a rule marker takes plain strings only")
            yield Citation(argument.value, path, argument.lineno)


def _is_rule_marker(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "rule"
        and isinstance(function.value, ast.Attribute)
        and function.value.attr == "mark"
    )


def known_ids(rules: Mapping[str, Sequence[str]], settings: Settings) -> set[str]:
    """Return every id that a test may cite."""
    return {rule for page in rules.values() for rule in page} - settings.declined.keys()


def unknown_citations(
    rules: Mapping[str, Sequence[str]], settings: Settings, citations: Iterable[Citation]
) -> list[Citation]:
    """Return the citations of ids that no page has, or that were declined."""
    known = known_ids(rules, settings)
    return [citation for citation in citations if citation.rule not in known]


def unknown_settings(rules: Mapping[str, Sequence[str]], settings: Settings) -> list[str]:
    """Return the ids in `rules.toml` that no page has."""
    known = {rule for page in rules.values() for rule in page}
    named = {*settings.replaced, *settings.not_applicable, *settings.declined}
    named.update(new for news in settings.replaced.values() for new in news)
    return sorted(named - known)


def measure(name: str, rules: Iterable[str], settings: Settings, cited: set[str]) -> Page:
    """Sort the rules of one page by how they are covered; an own citation counts first."""
    groups: dict[str, list[str]] = {"cited": [], "replaced": [], "not_applicable": [], "missing": []}
    for rule in rules:
        if rule in settings.declined:
            continue
        if rule in cited:
            group = "cited"
        elif rule in settings.replaced and cited.issuperset(settings.replaced[rule]):
            group = "replaced"
        elif rule in settings.not_applicable:
            group = "not_applicable"
        else:
            group = "missing"
        groups[group].append(rule)
    return Page(name, **{group: tuple(ids) for group, ids in groups.items()})


def select(rules: Mapping[str, Sequence[str]], names: Sequence[str]) -> list[str]:
    """Return the pages that `names` mean; all of them when it is empty."""
    unknown = [name for name in names if name not in rules]
    if unknown:
        raise SystemExit(f"no such page: {', '.join(unknown)}; there are: {', '.join(rules)}")
    return list(names or rules)


def print_table(pages: Sequence[Page]) -> None:
    total = Page(
        "all of these",
        *(
            tuple(rule for page in pages for rule in getattr(page, field))
            for field in ("cited", "replaced", "not_applicable", "missing")
        ),
    )
    width = max(len(page.name) for page in [*pages, total])
    print(f"{'page':{width}}  total  cited  replaced  not applicable  missing")
    for page in [*pages, total] if len(pages) > 1 else pages:
        print(
            f"{page.name:{width}}  {page.total:5}  {len(page.cited):5}  {len(page.replaced):8}"
            f"  {len(page.not_applicable):14}  {len(page.missing):7}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 when a test or `rules.toml` names an id that does not exist."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", nargs="*", help="pages to print, such as contract/mrtr (default: all)")
    parser.add_argument(
        "--missing", metavar="PAGE", nargs="+", default=[], help="list the ids of these pages that are missing"
    )
    options = parser.parse_args(arguments)

    rules, settings, citations = read_rules(), read_settings(), find_citations()
    cited = {citation.rule for citation in citations}
    names = select(rules, options.page or options.missing)
    print_table([measure(name, rules[name], settings, cited) for name in names])
    for name in select(rules, options.missing) if options.missing else ():
        print(f"\nmissing in {name}:")
        print("\n".join(measure(name, rules[name], settings, cited).missing))

    unknown_ids = unknown_settings(rules, settings)
    unknown = unknown_citations(rules, settings, citations)
    for citation in unknown:
        print(f"error: no such rule: {citation}", file=sys.stderr)
    for rule in unknown_ids:
        print(f"error: no such rule: {SETTINGS.name}: {rule}", file=sys.stderr)
    return 1 if unknown or unknown_ids else 0


if __name__ == "__main__":
    sys.exit(main())
