"""`ResourceTemplate`: one function for every URI that fits a pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

import mcp_types as types
from mcp.server.mcpserver._details import check_texts, read_icons, read_meta, read_model
from mcp.server.mcpserver._failures import is_designed
from mcp.server.mcpserver._function import Function
from mcp.server.mcpserver._resource_contents import BINARY_TYPE, Contents
from mcp.server.mcpserver._resource_security import (
    DEFAULT_RESOURCE_SECURITY,
    ResourceSecurity,
    ResourceSecurityError,
)
from mcp.server.mcpserver._signature import InvalidArguments
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ResourceError, UnexpectedResourceError
from mcp.server.mcpserver.resources.base import Resource
from mcp.server.mcpserver.resources.types import FunctionResource
from mcp.server.mcpserver.tools.base import description_for, name_for
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate

__all__ = ["DEFAULT_RESOURCE_SECURITY", "ResourceSecurity", "ResourceSecurityError", "ResourceTemplate"]


class InvalidResourceArguments(ResourceError):
    """A URI's values do not fit the function's annotations: the client's mistake."""


class ResourceTemplate(BaseModel):
    """One function for every URI that fits a pattern.

    Attributes:
        uri_template: The pattern.
        name: Its name.
        title: A name for people.
        description: What it is.
        mime_type: The MIME type of what it yields.
        icons: Icons.
        annotations: For whom and how important it is.
        meta: The `_meta` of its listing and of its contents.
        fn: The function.
        parameters: The JSON schema of the function's arguments.
        context_kwarg: The parameter that receives the `Context`.
        parsed_template: The parsed pattern.
        security: The checks on the values of its variables.
        function: What registration found out about the function.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    uri_template: str
    name: str
    title: str | None = None
    description: str | None
    mime_type: str = "text/plain"
    icons: list[types.Icon] | None = None
    annotations: types.Annotations | None = None
    meta: dict[str, Any] | None = None
    fn: Callable[..., Any] = Field(exclude=True)
    parameters: dict[str, Any]
    context_kwarg: str | None = None
    parsed_template: UriTemplate = Field(exclude=True)
    security: ResourceSecurity = Field(exclude=True)
    function: Function = Field(exclude=True)

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        uri_template: str,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: list[types.Icon] | None = None,
        annotations: types.Annotations | None = None,
        meta: dict[str, Any] | None = None,
        context_kwarg: str | None = None,
        security: ResourceSecurity = DEFAULT_RESOURCE_SECURITY,
        *,
        resumable: bool = False,
    ) -> ResourceTemplate:
        """Make a template of a function whose parameters are the pattern's variables.

        Args:
            fn: The function.
            uri_template: The pattern.
            name: Its name; the function's by default.
            title: A name for people.
            description: What it is; the function's docstring by default.
            mime_type: The MIME type of what it yields.
            icons: Icons.
            annotations: For whom and how important it is.
            meta: The `_meta` of its listing and of its contents.
            context_kwarg: The parameter that receives the `Context`; found by its annotation by default.
            security: The checks on the values of its variables.
            resumable: Whether the function asks in the middle of its body; see `MCPServer.tool`.

        Raises:
            ValueError: The pattern's variables and the function's parameters differ, or there is no name.
            InvalidSignature: The function cannot be called as it is written.
        """
        parsed = UriTemplate.parse(uri_template)
        template_name = name_for(fn, name)
        owner = f"resource template {uri_template!r}"
        check_texts(owner, name=template_name, title=title, description=description, mime_type=mime_type)
        function = Function(
            fn,
            owner_kind="resource",
            owner_name=template_name,
            context_kwarg=context_kwarg,
            parse_json=False,
            resumable=resumable,
        )
        _match_parameters(parsed, function)
        fields_set = {"uri_template", "name"}
        if mime_type is not None:
            fields_set.add("mime_type")
        elif function.hints.get("return") is bytes:
            mime_type = BINARY_TYPE
        return cls.model_construct(
            _fields_set=fields_set,
            uri_template=uri_template,
            name=template_name,
            title=title,
            description=description_for(fn, description),
            mime_type=mime_type or "text/plain",
            icons=read_icons(owner, icons),
            annotations=read_model(owner, "annotations", lambda: types.Annotations, annotations),
            meta=read_meta(owner, meta),
            fn=fn,
            parameters=function.arguments.json_schema,
            context_kwarg=function.context_kwarg,
            parsed_template=parsed,
            security=security,
            function=function,
        )

    def as_listed(self) -> types.ResourceTemplate:
        """The template as `resources/templates/list` shows it."""
        return types.ResourceTemplate(
            uri_template=self.uri_template,
            name=self.name,
            title=self.title,
            description=self.description,
            mime_type=self.mime_type,
            icons=self.icons,
            annotations=self.annotations,
            _meta=self.meta,
        )

    def matches(self, uri: str) -> dict[str, str | list[str]] | None:
        """Return the values of the variables, or `None` if the URI does not fit.

        Raises:
            ResourceSecurityError: It fits, but a value is refused.
        """
        values = self.parsed_template.match(uri)
        if values is not None and (bad := self.security.validate(values)) is not None:
            raise ResourceSecurityError(self.uri_template, bad)
        return values

    async def create_resource(
        self, uri: str, params: dict[str, Any], context: Context[Any, Any]
    ) -> Resource | types.InputRequiredResult:
        """Call the function for one URI.

        Args:
            uri: The URI.
            params: The values of the variables.
            context: The request.

        Raises:
            ResourceError: The function says that it cannot be read, or failed without meaning to.
            MCPError: The function answered with a protocol error.
        """
        try:
            value = await self.function.call(params, context)
            if isinstance(value, types.InputRequiredResult):
                return value
            return _Created.from_template(self, uri, value)
        except InvalidArguments as error:
            raise InvalidResourceArguments(f"Invalid parameters for resource {uri}: {error.text}") from error
        except (MCPError, ResourceError):
            raise
        except Exception as error:
            text = f"Error creating resource from template {uri}"
            if is_designed(error):
                raise ResourceError(f"{text}: {error}") from error
            raise UnexpectedResourceError(text) from error


class _Created(FunctionResource):
    """What a template's function returned for one URI."""

    contents: list[Contents] = Field(default_factory=list[Contents])

    @classmethod
    def from_template(cls, template: ResourceTemplate, uri: str, value: Any) -> _Created:
        fields_set = {"mime_type"} & template.model_fields_set
        created = cls.model_construct(
            _fields_set=fields_set,
            uri=uri,
            name=template.name,
            title=template.title,
            description=template.description,
            mime_type=template.mime_type,
            icons=template.icons,
            annotations=template.annotations,
            meta=template.meta,
            fn=lambda: value,
        )
        created.contents = created.to_contents(value, uri)
        return created

    async def read_contents(self, uri: str) -> list[Contents]:
        return self.contents

    async def _call(self) -> Any:
        return self.fn()


def _match_parameters(template: UriTemplate, function: Function) -> None:
    variables = set(template.variable_names)
    parameters = {parameter.wire_name for parameter in function.arguments.parameters}
    if variables != parameters:
        raise ValueError(
            f"Mismatch between URI parameters {_names(variables)} and function parameters {_names(parameters)}"
        )
    optional = {parameter.wire_name for parameter in function.arguments.parameters if not parameter.required}
    missing = sorted(template.query_variable_names - optional)
    if missing:
        raise ValueError(
            f"Resource {template.template!r}: query parameter(s) {missing} have no default value. A client may omit a "
            "{?...}/{&...} query parameter, so the matching handler parameter must declare a default."
        )


def _names(names: set[str]) -> str:
    return "{" + ", ".join(map(repr, sorted(names))) + "}" if names else "set()"
