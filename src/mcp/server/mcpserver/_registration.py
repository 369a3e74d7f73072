"""Registering functions with a server, and calling what is registered without a client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import mcp_types as types
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.lowlevel.server import LifespanResultT, Server
from mcp.server.mcpserver._handlers import Handlers, as_models
from mcp.server.mcpserver._resource_contents import read_contents
from mcp.server.mcpserver._resource_security import ResourceSecurity
from mcp.server.mcpserver._signature import read_signature
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.prompts.base import Prompt
from mcp.server.mcpserver.prompts.manager import PromptManager
from mcp.server.mcpserver.resolve.plan import find_resolved_parameters
from mcp.server.mcpserver.resources.base import Resource
from mcp.server.mcpserver.resources.resource_manager import ResourceManager
from mcp.server.mcpserver.resources.types import FunctionResource
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.mcpserver.tools.tool_manager import ToolManager
from mcp.shared.uri_template import UriTemplate
from mcp_types import Annotations, CallToolResult, GetPromptResult, Icon, InputRequiredResult, ToolAnnotations

if TYPE_CHECKING:
    from pydantic import AnyUrl  # loads the metadata of packages

CallableT = TypeVar("CallableT", bound=Callable[..., Any])

_MISUSED: Final = (
    "The @{kind} decorator was used incorrectly. Did you forget to call it? Use @{right} instead of @{kind}"
)


class Registrations(Generic[LifespanResultT]):
    """What `MCPServer` has of tools, prompts, resources and completions."""

    _tool_manager: ToolManager
    _prompt_manager: PromptManager
    _resource_manager: ResourceManager
    _resource_security: ResourceSecurity
    _handlers: Handlers
    _lowlevel_server: Server[LifespanResultT]

    # Tools

    def add_tool(
        self,
        fn: Callable[..., Any],
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: ToolAnnotations | None = None,
        icons: list[Icon] | None = None,
        meta: dict[str, Any] | None = None,
        structured_output: bool | None = None,
    ) -> None:
        """Register a function as a tool. See `tool` for the arguments."""
        self._tool_manager.add_tool(fn, name, title, description, annotations, icons, meta, structured_output)

    def _register(self, tools: Sequence[Tool | Callable[..., Any]]) -> None:
        for tool in tools:
            if isinstance(tool, Tool):
                self._tool_manager.registry.add(tool.name, tool)
            else:
                self.add_tool(tool)

    def remove_tool(self, name: str) -> None:
        """Remove a tool.

        Raises:
            ToolError: There is none of that name.
        """
        self._tool_manager.remove_tool(name)

    def tool(
        self,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: ToolAnnotations | None = None,
        icons: list[Icon] | None = None,
        meta: dict[str, Any] | None = None,
        structured_output: bool | None = None,
    ) -> Callable[[CallableT], CallableT]:
        """Register the decorated function as a tool.

        Args:
            name: The tool's name; the function's by default.
            title: A name for people.
            description: What it does; the docstring by default.
            annotations: Hints about its behaviour.
            icons: Icons.
            meta: The `_meta` of its listing.
            structured_output: Whether it has structured output; the return annotation decides by default.
        """
        if callable(name):
            raise TypeError(_MISUSED.format(kind="tool", right="tool()"))

        def decorator(fn: CallableT) -> CallableT:
            self.add_tool(fn, name, title, description, annotations, icons, meta, structured_output)
            return fn

        return decorator

    async def list_tools(self) -> list[types.Tool]:
        """List the tools."""
        return as_models(self._tool_manager)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[LifespanResultT, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool without a client.

        Args:
            name: The tool.
            arguments: Its arguments.
            context: The request it belongs to; without one the tool runs outside of a request.

        Raises:
            ToolError: It is unknown or failed; `UnexpectedToolError` if it did not mean to.
            MCPError: It answered with a protocol error.
        """
        context = self._handlers.make_context(None) if context is None else context
        return await self._tool_manager.call_tool(
            name, arguments, context, True, show_errors=self._handlers.show_errors
        )

    # Prompts

    def add_prompt(self, prompt: Prompt) -> None:
        """Register a prompt."""
        self._prompt_manager.add_prompt(prompt)

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt.

        Raises:
            ValueError: There is none of that name.
        """
        self._prompt_manager.remove_prompt(name)

    def prompt(
        self,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[Icon] | None = None,
    ) -> Callable[[CallableT], CallableT]:
        """Register the decorated function as a prompt.

        Args:
            name: The prompt's name; the function's by default.
            title: A name for people.
            description: What it is for; the docstring by default.
            icons: Icons.
        """
        if callable(name):
            raise TypeError(_MISUSED.format(kind="prompt", right="prompt()"))

        def decorator(fn: CallableT) -> CallableT:
            self.add_prompt(Prompt.from_function(fn, name, title, description, icons))
            return fn

        return decorator

    async def list_prompts(self) -> list[types.Prompt]:
        """List the prompts."""
        return as_models(self._prompt_manager)

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[LifespanResultT, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Render a prompt without a client.

        Raises:
            ValueError: It is unknown or cannot be rendered.
            MCPError: It answered with a protocol error.
        """
        context = self._handlers.make_context(None) if context is None else context
        return await self._prompt_manager.find(name).get(arguments, context, mask=True)

    # Resources

    def add_resource(self, resource: Resource) -> None:
        """Register a resource."""
        self._resource_manager.add_resource(resource)

    def remove_resource(self, uri: AnyUrl | str) -> None:
        """Remove a resource.

        Raises:
            ResourceNotFoundError: There is none under that URI.
        """
        self._resource_manager.remove_resource(uri)

    def remove_template(self, uri_template: str) -> None:
        """Remove a resource template.

        Raises:
            ResourceNotFoundError: There is none of that pattern.
        """
        self._resource_manager.remove_template(uri_template)

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: list[Icon] | None = None,
        annotations: Annotations | None = None,
        meta: dict[str, Any] | None = None,
        security: ResourceSecurity | None = None,
    ) -> Callable[[CallableT], CallableT]:
        """Register the decorated function as a resource, or as a template if the URI has `{variables}`.

        Args:
            uri: The URI or URI template.
            name: Its name; the function's by default.
            title: A name for people.
            description: What it is; the docstring by default.
            mime_type: Its MIME type; `text/plain` by default.
            icons: Icons.
            annotations: For whom and how important it is.
            meta: The `_meta` of its listing and of its contents.
            security: The checks on the values of template variables; the server's by default.
        """
        if callable(uri):
            raise TypeError(_MISUSED.format(kind="resource", right="resource('uri')"))
        is_template = "{" in uri
        if is_template:
            UriTemplate.parse(uri)

        def decorator(fn: CallableT) -> CallableT:
            if is_template:
                guard = self._resource_security if security is None else security
                self._resource_manager.add_template(
                    fn, uri, name, title, description, mime_type, icons, annotations, meta, guard
                )
            else:
                check_static(fn, uri)
                self.add_resource(
                    FunctionResource.from_function(
                        fn, uri, name, title, description, mime_type, icons, annotations, meta
                    )
                )
            return fn

        return decorator

    async def list_resources(self) -> list[types.Resource]:
        """List the resources."""
        return as_models(self._resource_manager.resources)

    async def list_resource_templates(self) -> list[types.ResourceTemplate]:
        """List the resource templates."""
        return as_models(self._resource_manager.templates)

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[LifespanResultT, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource without a client.

        Raises:
            ResourceNotFoundError: There is none.
            ResourceError: It cannot be read; `UnexpectedResourceError` if it failed without meaning to.
            MCPError: It answered with a protocol error.
        """
        context = self._handlers.make_context(None) if context is None else context
        contents = await self._handlers.read(str(uri), context)
        return contents if isinstance(contents, InputRequiredResult) else read_contents(contents)

    # Completion

    def completion(self) -> Callable[[CallableT], CallableT]:
        """Register the decorated function as the one that suggests values for arguments.

        It is called with the reference, the argument and the completion context, and may take a `Context` besides.
        """

        def decorator(fn: CallableT) -> CallableT:
            self._handlers.set_completion(self._lowlevel_server, fn)
            return fn

        return decorator


def check_static(fn: Callable[..., Any], uri: str) -> None:
    """Refuse functions that a URI without variables cannot serve.

    Raises:
        ValueError: The function has parameters or wants a `Context`.
        InvalidSignature: It has resolvers.
    """
    prefix = f"Resource {uri!r} has no URI template variables, but the handler declares"
    if find_resolved_parameters(fn):
        raise InvalidSignature(
            f"{prefix} Resolve(...) parameters. Resolvers for static resources are not supported. "
            "Add a template variable to the URI or remove the parameters."
        )
    signature = read_signature(fn, strict=False)
    if signature.context_kwarg is not None:
        raise ValueError(
            f"{prefix} a Context parameter. Context injection for static resources is not supported. "
            "Add a template variable to the URI or remove the Context parameter."
        )
    if signature.parameters:
        names = ", ".join(sorted(repr(parameter.name) for parameter in signature.parameters))
        raise ValueError(
            f"{prefix} parameters {{{names}}}. Add matching {{...}} variables to the URI or remove the parameters."
        )
