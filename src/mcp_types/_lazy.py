"""Code that loads when it is first used: the names of a package (PEP 562), and modules that few programs reach.

`docs/design.md` ("Import time") says when to use which.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Final

from mcp_types._renamed import missing

_NOTHING: Final[Mapping[str, str]] = {}


def lazy_names(
    package: str,
    modules: Mapping[str, str],
    *,
    submodules: tuple[str, ...] = (),
    renamed: Mapping[str, str] = _NOTHING,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and `__dir__` of a package that only names what lies in its modules.

    Example::

        __getattr__, __dir__ = lazy_names(__name__, {"Client": "mcp.client.client"}, submodules=("types",))

    Args:
        package: The `__name__` of the package.
        modules: Public name -> the module that defines it.
        submodules: Submodules that are reachable as attributes without having been imported.
        renamed: What names of version 1 are called now.
    """

    def __getattr__(name: str) -> Any:
        # Threads may meet here; importing and setting are both safe to do twice.
        if name in modules:
            value = getattr(importlib.import_module(modules[name]), name)
        elif name in submodules:
            value = importlib.import_module(f"{package}.{name}")
        else:
            raise missing(package, name, renamed)
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules, *submodules})

    return __getattr__, __dir__


def homes(modules: Mapping[str, str]) -> dict[str, str]:
    """Turn module -> the names in it, separated by white space, into name -> module."""
    return {name: module for module, names in modules.items() for name in names.split()}


class _LazyModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)  # from now on as cheap as any module's attribute
        return value


def lazy_module(name: str) -> Any:
    """Stand for a module that is loaded when the first of its names is read.

    Type checkers, and the tests that hold the layers, see an ordinary import::

        if TYPE_CHECKING:
            from mcp.server import session
        else:
            session = lazy_module("mcp.server.session")

    Annotations that read `session.ServerSession` resolve at run time, which those of a name imported for type checkers
    alone do not.
    """
    return _LazyModule(name)
