"""What `tools/list` taught the client: how to check a tool's output, and which arguments travel as headers too."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import mcp_types as types
from mcp._protocol.param_headers import emit, find_invalid_x_mcp_header, header_map
from mcp._protocol.schema_cost import SchemaCost

logger = logging.getLogger(__name__)


_NO_HEADERS: Final[Mapping[str, str]] = {}


class InvalidToolResultError(RuntimeError):
    """A tool's result breaks the output schema that its server lists, or that schema is none.

    Attributes:
        result: The result as the server sent it.
    """

    def __init__(self, message: str, result: types.CallToolResult) -> None:
        super().__init__(message)
        self.result = result


class _Validator(Protocol):
    def is_valid(self, instance: Any) -> bool: ...
    def validate(self, instance: Any) -> None: ...


@dataclass(slots=True)
class _ToolFacts:
    output_schema: dict[str, Any] | None
    headers: Mapping[tuple[str, ...], str]
    cost: SchemaCost | None = None
    validator: _Validator | None = None


class ToolSchemas:
    """The tools a session has seen, by name. A tool that the server does not list is remembered as such."""

    def __init__(self) -> None:
        self._known: dict[str, _ToolFacts | None] = {}

    def knows(self, name: str) -> bool:
        """Whether the server has been asked about this tool, whatever the answer was."""
        return name in self._known

    def learn(self, result: types.ListToolsResult, *, whole: bool, modern: bool) -> None:
        """Remember a listing, and take tools out of it that break the rules for parameter headers.

        Args:
            result: The listing.
            whole: Whether it is everything the server has: no cursor on either side.
            modern: Whether parameter headers exist in the session's protocol version.
        """
        kept: list[types.Tool] = []
        for tool in result.tools:
            headers: Mapping[tuple[str, ...], str] = {}
            if modern:
                # streamable-http: Custom Headers from Tool Parameters
                reason = find_invalid_x_mcp_header(tool.input_schema)
                if reason is not None:
                    logger.warning("dropping tool %r: invalid x-mcp-header (%s)", tool.name, reason)
                    continue
                headers = header_map(tool.input_schema)
            kept.append(tool)
            known = self._known.get(tool.name)
            if known is None or known.output_schema != tool.output_schema:
                self._known[tool.name] = _ToolFacts(tool.output_schema, headers)
            else:
                known.headers = headers
        if len(kept) != len(result.tools):
            result.tools = kept
        if whole:
            names = {tool.name for tool in kept}
            self._known = {name: facts for name, facts in self._known.items() if name in names}

    def miss(self, name: str) -> None:
        """Remember that the server does not list this tool."""
        self._known.setdefault(name, None)

    def forget_misses(self) -> None:
        """Look again for tools that were not listed: the server says that its tools have changed."""
        self._known = {name: facts for name, facts in self._known.items() if facts is not None}

    def headers(self, name: str, arguments: Mapping[str, Any] | None) -> Mapping[str, str]:
        """Return the headers that mirror a call's arguments."""
        facts = self._known.get(name)
        return emit(facts.headers, arguments) if facts is not None and facts.headers else _NO_HEADERS

    def check(self, name: str, result: types.CallToolResult) -> None:
        """Check a result against the tool's output schema, if it has one.

        Raises:
            InvalidToolResultError: The result does not fit, or the schema itself is unusable.
        """
        facts = self._known.get(name)
        if facts is None or facts.output_schema is None or result.is_error:
            return
        if result.structured_content is None and "structured_content" not in result.model_fields_set:
            text = f"Tool {name} has an output schema but did not return structured content"
            raise InvalidToolResultError(text, result)
        if facts.validator is None or facts.cost is None:
            try:
                facts.cost = SchemaCost(facts.output_schema)
                facts.validator = _compile(facts.output_schema)
            except (ValueError, TypeError, RecursionError) as error:
                raise InvalidToolResultError(f"Invalid schema for tool {name}: {error}", result) from error
        if facts.validator.is_valid(result.structured_content):
            return
        text = f"Invalid structured content returned by tool {name}"
        if not facts.cost.can_explain(result.structured_content):
            raise InvalidToolResultError(f"{text}: there are too many ways in which it does not fit", result)
        try:
            facts.validator.validate(result.structured_content)
        except ValueError as error:
            raise InvalidToolResultError(f"{text}: {error}", result) from error


def _compile(schema: dict[str, Any]) -> _Validator:
    import jsonschema_rs

    # The dialect comes from `$schema`, else it is 2020-12. No schema may make the client open a URL.
    return jsonschema_rs.validator_for(schema, retriever=_refuse)


def _refuse(uri: str) -> Any:
    raise ValueError(f"the schema refers to {uri}, which is not part of it")
