"""Give a server what its extensions bring."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Sequence
from typing import Any, cast

from mcp._protocol.errors import method_not_found
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding, RequestHandler, compose_tool_call_handler
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver._registration import Registrations
from mcp.server.mcpserver.resources.base import Resource
from mcp.shared.extension import validate_extension_identifier


def add_extensions(
    server: Registrations[Any], lowlevel: Server[Any], extensions: Sequence[object], handler: RequestHandler
) -> RequestHandler:
    """Check extensions, register what they bring, and return the `tools/call` handler with their interceptors."""
    checked = check_extensions(extensions)
    apply_extensions(server, lowlevel, checked)
    return compose_tool_call_handler(checked, handler)


def check_extensions(extensions: Sequence[object]) -> list[Extension]:
    """Check what was passed as extensions.

    Raises:
        TypeError: One of them is none, or has no proper identifier.
        ValueError: Two have the same identifier.
    """
    checked: dict[str, Extension] = {}
    for extension in extensions:
        if not isinstance(extension, Extension):
            raise TypeError(f"extensions must be Extension instances, got {type(extension).__name__}")
        identifier = getattr(extension, "identifier", None)
        validate_extension_identifier(identifier, owner=type(extension).__name__)
        if extension.identifier in checked:
            raise ValueError(f"Extension {extension.identifier!r} is already registered")
        checked[extension.identifier] = extension
    return list(checked.values())


def apply_extensions(server: Registrations[Any], lowlevel: Server[Any], extensions: Sequence[Extension]) -> None:
    """Advertise extensions and register what they bring, as if by hand.

    Raises:
        TypeError: Settings are no dict, or a bound resource is none.
        ValueError: A method is taken.
    """
    for extension in extensions:
        lowlevel.extensions[extension.identifier] = _settings(extension)
        for tool in extension.tools():
            options: dict[str, Any] = {"meta": tool.meta, **tool.kwargs}
            server.add_tool(tool.fn, **options)
        for binding in extension.resources():
            if not isinstance(binding.resource, Resource):
                kind = type(binding.resource).__name__
                raise TypeError(f"Extension {extension.identifier!r} binds a {kind}, which is no Resource")
            server.add_resource(binding.resource)
        for template in extension.resource_templates():
            server.resource(template.uri_template, **template.kwargs)(template.fn)
        for prompt in extension.prompts():
            server.prompt(**prompt.kwargs)(prompt.fn)
        for method in extension.methods():
            if lowlevel.get_request_handler(method.method) is not None:
                raise ValueError(
                    f"Extension {extension.identifier!r} binds method {method.method!r}, which is already registered; "
                    "extension methods are additive and cannot replace another handler"
                )
            lowlevel.add_request_handler(method.method, method.params_type, functools.partial(_serve, method))


def _settings(extension: Extension) -> dict[str, Any]:
    settings = cast("object", extension.settings())  # an author's class may return anything
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise TypeError(f"{type(extension).__name__}.settings() must return a dict, got {type(settings).__name__}")
    return cast("dict[str, Any]", settings)


def _serve(binding: MethodBinding, ctx: ServerRequestContext[Any, Any], params: Any) -> Awaitable[HandlerResult]:
    if binding.protocol_versions is not None and ctx.protocol_version not in binding.protocol_versions:
        raise method_not_found(binding.method)
    return binding.handler(ctx, params)
