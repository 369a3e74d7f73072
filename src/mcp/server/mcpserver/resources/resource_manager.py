"""The registered resources and templates."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import mcp_types as types
from mcp.server.mcpserver._registry import OnDuplicate, Registry
from mcp.server.mcpserver._resource_security import DEFAULT_RESOURCE_SECURITY, ResourceSecurity, ResourceSecurityError
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from pydantic import AnyUrl  # loads the metadata of packages

    from mcp.server.mcpserver import context as _context
    from mcp.server.mcpserver.resources import base, templates
else:
    base = lazy_module("mcp.server.mcpserver.resources.base")
    templates = lazy_module("mcp.server.mcpserver.resources.templates")
    _context = lazy_module("mcp.server.mcpserver.context")

logger = logging.getLogger(__name__)

Shows: TypeAlias = Callable[["base.Resource | templates.ResourceTemplate"], Awaitable[bool]]


class ResourceManager:
    """The registered resources and templates, each in the order of their registration.

    Args:
        warn_on_duplicate_resources: Whether a second registration of one URI is reported in the log; the first stays.
        resources: Resources to begin with.
        on_duplicate: What a second registration does.
    """

    def __init__(
        self,
        warn_on_duplicate_resources: bool = True,
        *,
        resources: list[base.Resource] | None = None,
        on_duplicate: OnDuplicate = "warn",
    ) -> None:
        warn = warn_on_duplicate_resources
        self.resources: Registry[base.Resource] = Registry("Resource", logger, on_duplicate=on_duplicate, warn=warn)
        self.templates: Registry[templates.ResourceTemplate] = Registry(
            "Resource template", logger, on_duplicate=on_duplicate, warn=warn
        )
        for resource in resources or ():
            self.add_resource(resource)

    def add_resource(self, resource: base.Resource) -> base.Resource:
        """Register a resource and return the one that has its URI now."""
        return self.resources.add(resource.uri, resource)

    def add_template(
        self,
        fn: Callable[..., Any],
        uri_template: str,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: list[types.Icon] | None = None,
        annotations: types.Annotations | None = None,
        meta: dict[str, Any] | None = None,
        security: ResourceSecurity = DEFAULT_RESOURCE_SECURITY,
        *,
        resumable: bool = False,
    ) -> templates.ResourceTemplate:
        """Register a function under a pattern and return the template that has this pattern now."""
        template = templates.ResourceTemplate.from_function(
            fn,
            uri_template,
            name=name,
            title=title,
            description=description,
            mime_type=mime_type,
            icons=icons,
            annotations=annotations,
            meta=meta,
            security=security,
            resumable=resumable,
        )
        return self.templates.add(uri_template, template)

    def remove_resource(self, uri: AnyUrl | str) -> None:
        """Remove a resource.

        Raises:
            ResourceNotFoundError: There is none under that URI.
        """
        if not self.resources.remove(str(uri)):
            raise ResourceNotFoundError(f"Unknown resource: {uri}")

    def remove_template(self, uri_template: str) -> None:
        """Remove a template.

        Raises:
            ResourceNotFoundError: There is none of that pattern.
        """
        if not self.templates.remove(uri_template):
            raise ResourceNotFoundError(f"Unknown resource template: {uri_template}")

    def list_resources(self) -> list[base.Resource]:
        """Return all resources."""
        return list(self.resources)

    def list_templates(self) -> list[templates.ResourceTemplate]:
        """Return all templates."""
        return list(self.templates)

    async def get_resource(
        self, uri: AnyUrl | str, context: _context.Context[Any, Any], *, shows: Shows | None = None
    ) -> base.Resource | types.InputRequiredResult:
        """Find the resource under a URI: by the exact URI, else by the first template that fits.

        Args:
            uri: The URI.
            context: The request.
            shows: Decides what its caller sees; the rest counts as absent.

        Raises:
            ResourceNotFoundError: There is none. A refused value looks the same, so that it tells nothing.
            ResourceError: The template's function failed.
            MCPError: It answered with a protocol error.
        """
        text = str(uri)
        found = await self.find(text, shows)
        if found is None:
            raise ResourceNotFoundError(f"Unknown resource: {text}")
        if isinstance(found, base.Resource):
            return found
        template, values = found
        return await template.create_resource(text, values, context)

    async def find(
        self, uri: str, shows: Shows | None = None
    ) -> base.Resource | tuple[templates.ResourceTemplate, dict[str, Any]] | None:
        """Find what a URI leads to: a resource, or a template and the values of its variables.

        Args:
            uri: The URI.
            shows: Decides what the caller sees; the rest counts as absent.

        Raises:
            ResourceNotFoundError: The template refuses a value.
        """
        resource = self.resources.get(uri)
        if resource is not None and (shows is None or await shows(resource)):
            return resource
        for template in self.templates:
            try:
                values = template.matches(uri)
            except ResourceSecurityError as error:
                if shows is None or await shows(template):
                    raise ResourceNotFoundError(f"Unknown resource: {uri}") from error
                continue
            if values is not None and (shows is None or await shows(template)):
                return template, values
        return None
