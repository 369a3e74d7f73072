"""Which values of template variables reach a function."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from mcp.shared.path_security import contains_path_traversal, is_absolute_path


@dataclass(frozen=True)
class ResourceSecurity:
    """Checks on the values that a client puts into a template's variables.

    They are a filter, not a sandbox: to open files, join paths with `safe_join`.

    Attributes:
        reject_path_traversal: Refuse values whose `..` components climb above their start.
        reject_absolute_paths: Refuse values that begin like an absolute path.
        reject_null_bytes: Refuse values with a null byte.
        exempt_params: Names of variables that are not checked.

    Raises:
        TypeError: `exempt_params` is one string instead of a collection of names.
    """

    reject_path_traversal: bool = True
    reject_absolute_paths: bool = True
    reject_null_bytes: bool = True
    exempt_params: Set[str] = field(default_factory=frozenset[str])

    def __post_init__(self) -> None:
        names: object = self.exempt_params
        if isinstance(names, str):
            raise TypeError(f"exempt_params must be a collection of names, got the string {names!r}")
        object.__setattr__(self, "exempt_params", frozenset(self.exempt_params))

    def validate(self, params: Mapping[str, str | list[str]]) -> str | None:
        """Return the name of the first variable whose value is refused, or `None`."""
        for name, value in params.items():
            if name not in self.exempt_params and any(map(self._refuses, [value] if isinstance(value, str) else value)):
                return name
        return None

    def _refuses(self, value: str) -> bool:
        return (
            (self.reject_null_bytes and "\0" in value)
            or (self.reject_path_traversal and contains_path_traversal(value))
            or (self.reject_absolute_paths and is_absolute_path(value))
        )


DEFAULT_RESOURCE_SECURITY: Final = ResourceSecurity()


class ResourceSecurityError(ValueError):
    """A variable's value was refused.

    Args:
        template: The template.
        param: The variable.
    """

    def __init__(self, template: str, param: str) -> None:
        super().__init__(f"Parameter {param!r} of template {template!r} failed security validation")
        self.template = template
        self.param = param
