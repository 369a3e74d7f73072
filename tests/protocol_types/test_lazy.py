"""A package names what lies in its modules without loading them."""

import sys
from types import ModuleType

import pytest

from mcp_types._lazy import lazy_names


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("mcp_lazy_sample")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    module.__dict__["own"] = 1
    names = {"encode_event": "mcp._protocol.sse", "missing": "mcp._protocol.sse"}
    getter, lister = lazy_names(module.__name__, names, submodules=("sub",))
    module.__dict__.update(__getattr__=getter, __dir__=lister)
    return module


def test_a_name_comes_from_its_module_and_is_kept(package: ModuleType) -> None:
    from mcp._protocol import sse

    assert "encode_event" not in vars(package)
    assert package.encode_event is sse.encode_event
    assert vars(package)["encode_event"] is sse.encode_event


def test_a_submodule_is_an_attribute(package: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    package.__dict__["__path__"] = []
    submodule = ModuleType("mcp_lazy_sample.sub")
    monkeypatch.setitem(sys.modules, submodule.__name__, submodule)
    assert package.sub is submodule


def test_every_name_is_listed(package: ModuleType) -> None:
    assert {"own", "encode_event", "missing", "sub"} <= set(dir(package))
    assert dir(package) == sorted(dir(package))


def test_an_unknown_name_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module 'mcp_lazy_sample' has no attribute 'nothing'"):
        _ = package.nothing


def test_a_table_that_names_too_much_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="missing"):
        _ = package.missing
