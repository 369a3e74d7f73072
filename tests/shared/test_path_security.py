from __future__ import annotations

from pathlib import Path

import pytest

from mcp.shared.path_security import PathEscapeError, contains_path_traversal, is_absolute_path, safe_join


@pytest.mark.rule("URI-24")
@pytest.mark.parametrize(
    "value",
    [
        "..",
        "../x",
        "a/../../b",
        "a\\..\\..",
        "./..",
        "a/./../..",
        "..\\",
        "a//../..",
        "/..",
        "\\..",
        "C:..",
        "a/b/../../..",
    ],
)
def test_values_that_climb_above_their_start_are_traversal(value: str) -> None:
    assert contains_path_traversal(value)


@pytest.mark.rule("URI-24")
@pytest.mark.parametrize(
    "value", ["", ".", "a/../b", "v1..v2", "..a", "a..", "...", "a/..", "a/b/../..", "%2e%2e", "é/.."]
)
def test_values_that_stay_inside_are_no_traversal(value: str) -> None:
    assert not contains_path_traversal(value)


@pytest.mark.rule("URI-25")
@pytest.mark.parametrize("value", ["/", "/a", "\\", "\\a", "//host/share", "C:", "C:\\x", "x:y", "z:"])
def test_rooted_and_drive_like_values_are_absolute(value: str) -> None:
    assert is_absolute_path(value)


@pytest.mark.rule("URI-25")
@pytest.mark.parametrize("value", ["", "a", "1:a", "ab:c", "é:x", "~/x", "./a", " /a"])
def test_other_values_are_relative(value: str) -> None:
    assert not is_absolute_path(value)


@pytest.mark.rule("URI-29")
def test_joining_returns_resolved_paths_below_the_base(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    assert safe_join(tmp_path, "a", "b") == base / "a" / "b"
    assert safe_join(str(tmp_path), "a/../b") == base / "b"
    assert safe_join(tmp_path) == safe_join(tmp_path, ".") == safe_join(tmp_path, "") == base


@pytest.mark.rule("URI-29")
def test_a_relative_base_is_resolved_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert safe_join(".", "a") == tmp_path.resolve() / "a"


@pytest.mark.rule("URI-29")
@pytest.mark.parametrize("parts", [("..",), ("a/../..",), ("a", "..", ".."), ("../x",)])
def test_results_outside_the_base_are_refused(tmp_path: Path, parts: tuple[str, ...]) -> None:
    base = tmp_path.resolve()
    with pytest.raises(PathEscapeError) as caught:
        safe_join(tmp_path, *parts)
    assert str(caught.value).startswith("Path ")
    assert str(caught.value).endswith(f" escapes base {base}")


@pytest.mark.rule("URI-29")
def test_a_sibling_with_the_same_beginning_is_outside(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base2").mkdir()
    with pytest.raises(PathEscapeError):
        safe_join(tmp_path / "base", "../base2")


@pytest.mark.rule("URI-29")
@pytest.mark.parametrize("part", ["/a", "\\a", "x:y"])
def test_absolute_parts_are_refused(tmp_path: Path, part: str) -> None:
    with pytest.raises(PathEscapeError) as caught:
        safe_join(tmp_path, "a", part)
    assert str(caught.value) == f"Path component {part!r} is absolute; refusing to join onto {tmp_path.resolve()}"


@pytest.mark.rule("URI-29")
def test_null_bytes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PathEscapeError) as caught:
        safe_join(tmp_path, "a\0b")
    assert str(caught.value) == f"Path component contains a null byte; refusing to join onto {tmp_path.resolve()}"


@pytest.mark.rule("URI-29")
def test_symbolic_links_are_followed_before_the_check(tmp_path: Path) -> None:
    base, outside = tmp_path / "base", tmp_path / "outside"
    base.mkdir()
    outside.mkdir()
    (base / "out").symlink_to(outside)
    (base / "in").symlink_to(base / "real")
    assert safe_join(base, "in", "f") == base.resolve() / "real" / "f"
    for parts in (("out", "f"), ("out",), ("out", "..", "base2")):
        with pytest.raises(PathEscapeError):
            safe_join(base, *parts)


def test_path_escapes_are_value_errors() -> None:
    assert issubclass(PathEscapeError, ValueError)
