from __future__ import annotations

import pytest

from mcp.shared.extension import validate_extension_identifier


@pytest.mark.rule("CEXT-1", "EXT-2", "VER-X-02", "BASE-C-04")
@pytest.mark.parametrize(
    "identifier", ["a/b", "com.example/a", "a/1", "A/B", "a.b-c/x.y_z-0", "io.modelcontextprotocol/ui"]
)
def test_prefixed_names_pass(identifier: str) -> None:
    validate_extension_identifier(identifier, owner="Mine")


@pytest.mark.rule("CEXT-1", "CEXT-3", "EXT-2", "VER-X-02", "BASE-C-04")
@pytest.mark.parametrize(
    "identifier",
    [
        "",
        "not-prefixed",
        "1a/b",
        "a-/b",
        "-a/b",
        "a/b\n",
        None,
        7,
        b"a/b",
        "a/-b",
        "a/b_",
        "a../b",
        "a/b/c",
        "é/b",
        "a/",
        "/a",
    ],
)
def test_everything_else_is_refused_with_its_owner_named(identifier: object) -> None:
    with pytest.raises(TypeError) as caught:
        validate_extension_identifier(identifier, owner="_X")
    assert str(caught.value) == (
        f"_X.identifier must be a `vendor-prefix/name` string (reverse-DNS prefix required), got {identifier!r}"
    )
