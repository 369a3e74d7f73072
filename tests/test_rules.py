"""The table of rules is honest: what tests cite exists."""

from pathlib import Path

import pytest

from tests import rules


def test_every_cited_rule_exists() -> None:
    unknown = rules.unknown_citations(rules.read_rules(), rules.read_settings(), rules.find_citations())
    assert [str(citation) for citation in unknown] == []


def test_settings_name_only_rules_that_exist() -> None:
    assert rules.unknown_settings(rules.read_rules(), rules.read_settings()) == []


def test_no_rule_stands_twice() -> None:
    ids = [rule for page in rules.read_rules().values() for rule in page]
    assert len(ids) == len(set(ids)) > 0


def test_markers_are_found_on_functions_classes_modules_and_parameters() -> None:
    mark = "pytest.mark." + "rule"  # split, so that the search does not find this text itself
    source = (
        f'import pytest\npytestmark = {mark}("A-1")\n'
        f'@{mark}("A-2", "A-3")\nclass TestIt:\n    @{mark}("A-4")\n    async def test_it(self): ...\n'
        f'CASES = [pytest.param(1, marks={mark}("A-5"))]\n'
        '# pytest.mark.other("A-6")\n'
    )
    found = sorted(citation.rule for citation in rules.citations_in(source, Path("x.py")))
    assert found == ["A-1", "A-2", "A-3", "A-4", "A-5"]


def test_markers_with_anything_but_strings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"x\.py:1: a rule marker takes plain strings only"):
        list(rules.citations_in("pytest.mark.rule(*IDS)", Path("x.py")))


def test_a_replaced_rule_counts_when_all_its_successors_are_cited() -> None:
    settings = rules.Settings(
        replaced={"A-1": ("A-D1",), "A-2": ("A-D1", "A-D2")},
        not_applicable={"A-3": "reason"},
        declined={"A-D3": "reason"},
    )
    page = rules.measure("a", ["A-1", "A-2", "A-3", "A-4", "A-D1", "A-D2", "A-D3"], settings, {"A-D1", "A-4"})
    assert page == rules.Page("a", ("A-4", "A-D1"), ("A-1",), ("A-3",), ("A-2", "A-D2"))
    assert page.total == 6


def test_the_command_prints_pages_and_missing_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert rules.main(["contract/mrtr", "--missing", "contract/mrtr"]) == 0
    printed = capsys.readouterr().out
    assert "contract/mrtr" in printed
    assert "missing in contract/mrtr:" in printed


def test_an_unknown_page_is_named() -> None:
    with pytest.raises(SystemExit, match="no such page: contract/nothing"):
        rules.main(["contract/nothing"])
