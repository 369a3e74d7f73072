"""Registering functions with a server, and calling what is registered without a client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

import mcp_types as types
from mcp.server.lowlevel.server import LifespanResultT, Server
from mcp.server.mcpserver._resource_security import ResourceSecurity
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from pydantic import AnyUrl  # loads the metadata of packages

    from mcp.server.lowlevel import helper_types
    from mcp.server.mcpserver import _checks, _resource_contents
    from mcp.server.mcpserver import _handlers as _methods
    from mcp.server.mcpserver import context as _context
    from mcp.server.mcpserver import prompts as _prompts
    from mcp.server.mcpserver import resources as _resources
    from mcp.server.mcpserver import tools as _tools
    from mcp.shared import uri_template as _uri_template
else:
    helper_types = lazy_module("mcp.server.lowlevel.helper_types")
    _methods = lazy_module("mcp.server.mcpserver._handlers")
    _checks = lazy_module("mcp.server.mcpserver._checks")
    _resource_contents = lazy_module("mcp.server.mcpserver._resource_contents")
    _context = lazy_module("mcp.server.mcpserver.context")
    _prompts = lazy_module("mcp.server.mcpserver.prompts")
    _resources = lazy_module("mcp.server.mcpserver.resources")
    _tools = lazy_module("mcp.server.mcpserver.tools")
    _uri_template = lazy_module("mcp.shared.uri_template")

CallableT = TypeVar("CallableT", bound=Callable[..., Any])

_RESOURCE_MISUSED: Final = (
    "The @resource decorator was used incorrectly. Did you forget to call it? Use @resource('uri') instead of @resource"
)


class Registrations(Generic[LifespanResultT]):
    """What `MCPServer` has of tools, prompts, resources and completions."""

    _tool_manager: _tools.ToolManager
    _prompt_manager: _prompts.PromptManager
    _resource_manager: _resources.ResourceManager
    _resource_security: ResourceSecurity
    _strict_arguments: bool
    _handlers: _methods.Handlers
    _lowlevel_server: Server[LifespanResultT]

    # Tools

    def add_tool(
        self,
        fn: Callable[..., Any],
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: types.ToolAnnotations | None = None,
        icons: list[types.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        structured_output: bool | None = None,
        *,
        strict_arguments: bool | None = None,
        text_copy: bool = True,
        timeout: float | None = None,
        resumable: bool = False,
    ) -> None:
        """Register a function as a tool. See `tool` for the arguments."""
        tool = _tools.Tool.from_function(
            fn,
            name,
            title,
            description,
            annotations=annotations,
            icons=icons,
            meta=meta,
            structured_output=structured_output,
            strict_arguments=self._strict_arguments if strict_arguments is None else strict_arguments,
            text_copy=text_copy,
            timeout=timeout,
            resumable=resumable,
        )
        self._tool_manager.registry.add(tool.name, tool)

    def _register(self, tools: Sequence[_tools.Tool | Callable[..., Any]]) -> None:
        for tool in tools:
            if isinstance(tool, _tools.Tool):
                self._tool_manager.registry.add(tool.name, tool)
            else:
                self.add_tool(tool)

    def remove_tool(self, name: str) -> None:
        """Remove a tool.

        Raises:
            ToolError: There is none of that name.
        """
        self._tool_manager.remove_tool(name)

    @overload
    def tool(self, name: CallableT, /) -> CallableT: ...

    @overload
    def tool(
        self,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: types.ToolAnnotations | None = None,
        icons: list[types.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        structured_output: bool | None = None,
        *,
        strict_arguments: bool | None = None,
        text_copy: bool = True,
        timeout: float | None = None,
        resumable: bool = False,
    ) -> Callable[[CallableT], CallableT]: ...

    def tool(
        self,
        name: str | CallableT | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: types.ToolAnnotations | None = None,
        icons: list[types.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        structured_output: bool | None = None,
        *,
        strict_arguments: bool | None = None,
        text_copy: bool = True,
        timeout: float | None = None,
        resumable: bool = False,
    ) -> CallableT | Callable[[CallableT], CallableT]:
        """Register the decorated function as a tool: `@mcp.tool`, or `@mcp.tool(...)` to say more about it.

        Args:
            name: The tool's name; the function's by default. (Without parentheses, the function.)
            title: A name for people.
            description: What it does; the docstring by default.
            annotations: Hints about its behaviour.
            icons: Icons.
            meta: The `_meta` of its listing.
            structured_output: Whether it has structured output; the return annotation decides by default.
            strict_arguments: Whether arguments that it does not have are refused and its schema says so
                (`additionalProperties: false`), instead of being ignored; the server's setting by default.
            text_copy: Whether the content repeats the structured output as text, for clients that read nothing else.
            timeout: How many seconds the function may take; then the call is a tool error. An async function is
                cancelled, a sync one is left behind in its thread. What resolvers wait for does not count.
            resumable: Whether the function asks in the middle of its body (`await ctx.elicit(...)`). On modern
                connections it then runs again from its start when an answer comes, so what stands before a question may
                run again; `await ctx.once(...)` keeps an effect from being repeated.
        """
        if callable(name):
            self.add_tool(name)
            return name

        def decorator(fn: CallableT) -> CallableT:
            self.add_tool(
                fn,
                name,
                title,
                description,
                annotations,
                icons,
                meta,
                structured_output,
                strict_arguments=strict_arguments,
                text_copy=text_copy,
                timeout=timeout,
                resumable=resumable,
            )
            return fn

        return decorator

    async def list_tools(self) -> list[types.Tool]:
        """List the tools."""
        return self._handlers.on_list_tools.models()

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: _context.Context[LifespanResultT, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
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
        return await self._handlers.call_tool(name, arguments, context)

    # Prompts

    def add_prompt(self, prompt: _prompts.Prompt) -> None:
        """Register a prompt."""
        self._prompt_manager.add_prompt(prompt)

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt.

        Raises:
            ValueError: There is none of that name.
        """
        self._prompt_manager.remove_prompt(name)

    @overload
    def prompt(self, name: CallableT, /) -> CallableT: ...

    @overload
    def prompt(
        self,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[types.Icon] | None = None,
        *,
        resumable: bool = False,
    ) -> Callable[[CallableT], CallableT]: ...

    def prompt(
        self,
        name: str | CallableT | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[types.Icon] | None = None,
        *,
        resumable: bool = False,
    ) -> CallableT | Callable[[CallableT], CallableT]:
        """Register the decorated function as a prompt: `@mcp.prompt`, or `@mcp.prompt(...)` to say more about it.

        Args:
            name: The prompt's name; the function's by default. (Without parentheses, the function.)
            title: A name for people.
            description: What it is for; the docstring by default.
            icons: Icons.
            resumable: Whether the function asks in the middle of its body; see `tool`.
        """
        if callable(name):
            self.add_prompt(_prompts.Prompt.from_function(name))
            return name

        def decorator(fn: CallableT) -> CallableT:
            self.add_prompt(_prompts.Prompt.from_function(fn, name, title, description, icons, resumable=resumable))
            return fn

        return decorator

    async def list_prompts(self) -> list[types.Prompt]:
        """List the prompts."""
        return self._handlers.on_list_prompts.models()

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: _context.Context[LifespanResultT, Any] | None = None,
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Render a prompt without a client.

        Raises:
            ValueError: It is unknown or cannot be rendered.
            MCPError: It answered with a protocol error.
        """
        context = self._handlers.make_context(None) if context is None else context
        prompt = await self._handlers.find_prompt(name, context)
        return await prompt.get(arguments, context, mask=True)

    # Resources

    def add_resource(self, resource: _resources.Resource) -> None:
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
        icons: list[types.Icon] | None = None,
        annotations: types.Annotations | None = None,
        meta: dict[str, Any] | None = None,
        security: ResourceSecurity | None = None,
        resumable: bool = False,
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
            resumable: Whether a template's function asks in the middle of its body; see `tool`.
        """
        if callable(uri):
            raise TypeError(_RESOURCE_MISUSED)
        is_template = "{" in uri
        if is_template:
            _uri_template.UriTemplate.parse(uri)

        def decorator(fn: CallableT) -> CallableT:
            if is_template:
                guard = self._resource_security if security is None else security
                self._resource_manager.add_template(
                    fn, uri, name, title, description, mime_type, icons, annotations, meta, guard, resumable=resumable
                )
            else:
                _checks.check_static(fn, uri, resumable)
                self.add_resource(
                    _resources.FunctionResource.from_function(
                        fn, uri, name, title, description, mime_type, icons, annotations, meta
                    )
                )
            return fn

        return decorator

    async def list_resources(self) -> list[types.Resource]:
        """List the resources."""
        return self._handlers.on_list_resources.models()

    async def list_resource_templates(self) -> list[types.ResourceTemplate]:
        """List the resource templates."""
        return self._handlers.on_list_resource_templates.models()

    async def read_resource(
        self, uri: AnyUrl | str, context: _context.Context[LifespanResultT, Any] | None = None
    ) -> Iterable[helper_types.ReadResourceContents] | types.InputRequiredResult:
        """Read a resource without a client.

        Raises:
            ResourceNotFoundError: There is none.
            ResourceError: It cannot be read; `UnexpectedResourceError` if it failed without meaning to.
            MCPError: It answered with a protocol error.
        """
        context = self._handlers.make_context(None) if context is None else context
        contents = await self._handlers.read(str(uri), context)
        return (
            contents if isinstance(contents, types.InputRequiredResult) else _resource_contents.read_contents(contents)
        )

    # Completion

    def completion(self) -> Callable[[CallableT], CallableT]:
        """Register the decorated function as the one that suggests values for arguments.

        It is called with the reference, the argument and the completion context, and may take a `Context` besides.
        """

        def decorator(fn: CallableT) -> CallableT:
            self._handlers.set_completion(self._lowlevel_server, fn)
            return fn

        return decorator
