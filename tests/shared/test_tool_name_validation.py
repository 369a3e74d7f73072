from __future__ import annotations

import pytest

from mcp.shared.tool_name_validation import (
    SEP_986_URL,
    issue_tool_name_warning,
    validate_and_warn_tool_name,
    validate_tool_name,
)

LOGGER = "mcp.shared.tool_name_validation"


@pytest.mark.rule("TOOLS-5")
@pytest.mark.parametrize("name", ["a", "get_user", "Get-User.v2", "_a_", "x" * 128, "0"])
def test_names_inside_the_rule_pass_in_silence(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert validate_and_warn_tool_name(name)
    assert not caplog.records


@pytest.mark.rule("TOOLS-5", "TOOL-D-11", "TOOL-D-13", "TOOL-D-14")
@pytest.mark.parametrize(
    ("name", "valid", "warnings"),
    [
        ("", False, ["Tool name cannot be empty"]),
        ("x" * 129, False, ["Tool name exceeds maximum length of 128 characters (current: 129)"]),
        ("-a", True, ["Tool name starts or ends with a dash, which may cause parsing issues in some contexts"]),
        ("a.", True, ["Tool name starts or ends with a dot, which may cause parsing issues in some contexts"]),
        (
            "a b,cé b",
            False,
            [
                "Tool name contains spaces, which may cause parsing issues",
                "Tool name contains commas, which may cause parsing issues",
                "Tool name contains invalid characters: ' ', ',', 'é'",
                "Allowed characters are: A-Z, a-z, 0-9, underscore (_), dash (-), and dot (.)",
            ],
        ),
        (
            "a\n",
            False,
            [
                "Tool name contains invalid characters: '\\n'",
                "Allowed characters are: A-Z, a-z, 0-9, underscore (_), dash (-), and dot (.)",
            ],
        ),
    ],
)
def test_findings_are_named_one_by_one(
    name: str, valid: bool, warnings: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    result = validate_tool_name(name)
    assert (result.is_valid, result.warnings) == (valid, warnings)

    assert validate_and_warn_tool_name(name) is valid
    assert {(record.name, record.levelname) for record in caplog.records} == {(LOGGER, "WARNING")}
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == f'Tool name validation warning for "{name}":'
    assert lines[1 : 1 + len(warnings)] == [f"  - {warning}" for warning in warnings]
    assert SEP_986_URL in lines[-1]


def test_nothing_found_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    issue_tool_name_warning("a", [])
    assert not caplog.records
