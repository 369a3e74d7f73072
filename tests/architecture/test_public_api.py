"""The public interface of `mcp` 2.x is here, name by name, parameter by parameter, default by default."""

from __future__ import annotations

import pytest

from tests.architecture import not_built
from tests.architecture.surface import differences, exists, read_surface

SURFACE = read_surface()
BUILT = [module for module in SURFACE if module not in not_built.MODULES]


def test_the_list_names_only_modules_and_names_that_are_recorded() -> None:
    assert SURFACE.keys() >= not_built.MODULES
    assert not_built.NAMES.keys() <= set(BUILT)


@pytest.mark.parametrize("module", sorted(not_built.MODULES))
def test_a_module_that_is_listed_as_missing_does_not_exist(module: str) -> None:
    assert not exists(module), f"strike {module} from not_built.py"


@pytest.mark.parametrize("module", BUILT)
def test_a_module_offers_what_is_recorded_except_for_what_is_listed(module: str) -> None:
    found = differences(module, SURFACE[module])
    listed = not_built.NAMES.get(module, set())
    assert {key: problem for key, problem in found.items() if key not in listed} == {}
    assert listed - found.keys() == set(), "strike these from not_built.py"
