"""`mcp.types` is `mcp_types` under a second name: the same objects, not copies."""

from __future__ import annotations

import importlib

import pytest

import mcp.types
import mcp_types

SUBMODULES = ["", ".jsonrpc", ".methods", ".version"]


@pytest.mark.parametrize("submodule", SUBMODULES)
def test_both_names_lead_to_the_same_objects(submodule: str) -> None:
    mirror = importlib.import_module(f"mcp.types{submodule}")
    original = importlib.import_module(f"mcp_types{submodule}")
    assert mirror.__all__ == original.__all__
    assert [name for name in original.__all__ if getattr(mirror, name) is not getattr(original, name)] == []


def test_a_tool_is_a_tool_by_either_name() -> None:
    assert mcp.types.Tool is mcp_types.Tool


@pytest.mark.parametrize("submodule", SUBMODULES)
def test_no_name_is_listed_twice(submodule: str) -> None:
    names = importlib.import_module(f"mcp_types{submodule}").__all__
    assert len(set(names)) == len(names)
