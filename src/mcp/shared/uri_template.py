"""URI templates: match incoming URIs, fill templates in.

```python
template = UriTemplate.parse("repo://{owner}/{name}{/path*}{?ref}")
template.match("repo://me/app/src/main.py?ref=main")
# {"owner": "me", "name": "app", "path": ["src", "main.py"], "ref": "main"}
template.expand({"owner": "me", "name": "app", "path": ["src"]})
# "repo://me/app/src"
```

Matching does not judge the values; `mcp.shared.path_security` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcp.shared._uri_expand import expand_parts
from mcp.shared._uri_match import Shape, build_shape, match_shape
from mcp.shared._uri_parse import Expression, InvalidUriTemplate, Operator, Part, Variable, parse_parts

__all__ = [
    "DEFAULT_MAX_TEMPLATE_LENGTH",
    "DEFAULT_MAX_URI_LENGTH",
    "DEFAULT_MAX_VARIABLES",
    "InvalidUriTemplate",
    "Operator",
    "UriTemplate",
    "Variable",
]

DEFAULT_MAX_TEMPLATE_LENGTH: Final = 8192
DEFAULT_MAX_VARIABLES: Final = 256
DEFAULT_MAX_URI_LENGTH: Final = 65536


@dataclass(frozen=True)
class UriTemplate:
    """A parsed URI template; made by `parse`. Equal when the texts are equal.

    Supported are `{a}`, `{+a}`, `{#a}`, `{.a}`, `{/a}`, `{;a}`, `{?a,b}` and `{&a}`, and the explode modifier on
    `{/a*}`, `{.a*}` and `{;a*}`. Not supported are prefixes (`{a:3}`) and whatever could be matched in two ways.

    Attributes:
        template: The template's text.
    """

    template: str
    _parts: tuple[Part, ...] = field(repr=False, compare=False)
    _shape: Shape = field(repr=False, compare=False)

    @classmethod
    def parse(
        cls,
        template: str,
        *,
        max_length: int = DEFAULT_MAX_TEMPLATE_LENGTH,
        max_variables: int = DEFAULT_MAX_VARIABLES,
    ) -> UriTemplate:
        """Parse a template.

        Args:
            template: The template's text.
            max_length: The longest text to accept.
            max_variables: The most variables to accept.

        Raises:
            InvalidUriTemplate: The template breaks the grammar or a limit, or could be matched in two ways.
        """
        parts = parse_parts(template, max_length=max_length, max_variables=max_variables)
        return cls(template, parts, build_shape(template, parts))

    @staticmethod
    def is_template(value: str) -> bool:
        """Tell whether a text looks like a template: a `{`, and a `}` after it."""
        start = value.find("{")
        return start >= 0 and "}" in value[start:]

    @property
    def variables(self) -> list[Variable]:
        """The variables in template order."""
        return [variable for part in self._parts if isinstance(part, Expression) for variable in part.variables]

    @property
    def variable_names(self) -> list[str]:
        """The variables' names in template order."""
        return [variable.name for variable in self.variables]

    @property
    def query_variable_names(self) -> frozenset[str]:
        """The names that `match` may leave out: the parameters of a query at the template's end."""
        return self._shape.query

    def match(self, uri: str, *, max_uri_length: int = DEFAULT_MAX_URI_LENGTH) -> dict[str, str | list[str]] | None:
        """Match a whole URI, in linear time.

        Args:
            uri: The URI as it came.
            max_uri_length: Longer URIs do not match.

        Returns:
            The decoded values by name, lists for exploded variables; `None` if the URI does not fit.
        """
        return None if len(uri) > max_uri_length else match_shape(self._shape, uri)

    def expand(self, variables: Mapping[str, str | Sequence[str]]) -> str:
        """Fill the template in; missing variables are left out.

        Raises:
            TypeError: A value is neither a string nor a sequence of strings.
        """
        return expand_parts(self._parts, variables)

    def __str__(self) -> str:
        return self.template
