"""MCP Apps (`io.modelcontextprotocol/ui`): tools with an HTML surface that the host may show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from mcp.server.context import ServerRequestContext
from mcp.server.extension import Extension, ResourceBinding, ToolBinding
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.resources import FileResource, Resource, TextResource

__all__ = [
    "APP_MIME_TYPE",
    "EXTENSION_ID",
    "Apps",
    "ResourceCsp",
    "ResourcePermissions",
    "Visibility",
    "client_supports_apps",
]

EXTENSION_ID: Final = "io.modelcontextprotocol/ui"
"""The extension's identifier."""

APP_MIME_TYPE: Final = "text/html;profile=mcp-app"
"""The MIME type of the HTML that hosts show."""

Visibility: TypeAlias = Literal["model", "app"]
"""Who may call a tool: the model, the HTML surface."""

CallableT = TypeVar("CallableT", bound=Callable[..., Any])

_URI_SCHEME: Final = "ui://"


class ResourceCsp(BaseModel):
    """What an HTML surface asks to load: origins for the host's content security policy.

    Attributes:
        connect_domains: Where it sends requests.
        resource_domains: Where scripts, styles, images and fonts come from.
        frame_domains: What it shows in frames.
        base_uri_domains: What its base URI may be.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, defer_build=True)

    connect_domains: list[str] | None = None
    resource_domains: list[str] | None = None
    frame_domains: list[str] | None = None
    base_uri_domains: list[str] | None = None


class ResourcePermissions(BaseModel):
    """What an HTML surface asks the browser for; an empty dict asks.

    Attributes:
        camera: The camera.
        microphone: The microphone.
        geolocation: The position.
        clipboard_write: Writing to the clipboard.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, defer_build=True)

    camera: dict[str, Any] | None = None
    microphone: dict[str, Any] | None = None
    geolocation: dict[str, Any] | None = None
    clipboard_write: dict[str, Any] | None = None


class Apps(Extension):
    """Tools and the HTML that a host may show for them. Every client gets the tools' normal content.

    The server renders, sandboxes and proxies nothing: `csp` and `permissions` are statements to the host.

    ```python
    apps = Apps()
    apps.add_html_resource("ui://clock/view.html", "<!doctype html><title>Clock</title><p id=time></p>")


    @apps.tool(resource_uri="ui://clock/view.html")
    async def clock() -> str:
        \"\"\"Tell the time.\"\"\"
        return datetime.now().isoformat()


    mcp = MCPServer("Clock", extensions=[apps])
    ```
    """

    identifier = EXTENSION_ID

    def __init__(self) -> None:
        self._tools: list[tuple[str, ToolBinding]] = []
        self._resources: list[ResourceBinding] = []
        self._is_bound = False

    def tool(
        self,
        *,
        resource_uri: str,
        visibility: Sequence[Visibility] | None = None,
        meta: dict[str, Any] | None = None,
        **tool_kwargs: Any,
    ) -> Callable[[CallableT], CallableT]:
        """Register the decorated function as a tool with an HTML surface.

        Args:
            resource_uri: The `ui://` URI of the surface; several tools may share one.
            visibility: Who may call it; the host lets both unless told otherwise.
            meta: More members of the `_meta` of its listing.
            **tool_kwargs: What `MCPServer.tool` takes besides.

        Raises:
            ValueError: The URI is none of a surface, `meta` has a `ui` of its own, or a visibility does not exist.
            RuntimeError: A server has been made with this extension already.
        """
        self._check_unbound()
        _check_uri(resource_uri)
        if meta and "ui" in meta:
            raise ValueError("Apps.tool() owns _meta['ui']; pass resource_uri=/visibility= instead of a 'ui' meta key")
        ui: dict[str, Any] = {"resourceUri": resource_uri}
        if visibility is not None:
            ui["visibility"] = _checked_visibility(visibility)

        def decorator(fn: CallableT) -> CallableT:
            self._check_unbound()
            self._tools.append((resource_uri, ToolBinding(fn, {**(meta or {}), "ui": ui}, tool_kwargs)))
            return fn

        return decorator

    def add_html_resource(
        self,
        uri: str,
        html: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        csp: ResourceCsp | None = None,
        permissions: ResourcePermissions | None = None,
        domain: str | None = None,
        prefers_border: bool | None = None,
    ) -> None:
        """Register HTML as a surface.

        Args:
            uri: Its `ui://` URI.
            html: The document.
            name: Its name; the URI by default.
            title: A name for people.
            description: What it is.
            csp: What it loads from elsewhere.
            permissions: What it asks the browser for.
            domain: The origin it wants to have; which ones exist, the host says.
            prefers_border: Whether the host should draw a border around it.

        Raises:
            ValueError: The URI is none of a surface.
            RuntimeError: A server has been made with this extension already.
        """
        self.add_resource(
            TextResource(
                uri=_check_uri(uri),
                name=name,
                title=title,
                description=description,
                mime_type=APP_MIME_TYPE,
                meta=_ui_meta(csp, permissions, domain, prefers_border),
                text=html,
            )
        )

    def add_html_file(
        self,
        uri: str,
        path: str | Path,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        csp: ResourceCsp | None = None,
        permissions: ResourcePermissions | None = None,
        domain: str | None = None,
        prefers_border: bool | None = None,
    ) -> None:
        """Register a file of HTML as a surface; it is read whenever a host asks for it.

        Args:
            uri: Its `ui://` URI.
            path: The absolute path of the file, which is UTF-8.
            name: Its name; the URI by default.
            title: A name for people.
            description: What it is.
            csp: What it loads from elsewhere.
            permissions: What it asks the browser for.
            domain: The origin it wants to have; which ones exist, the host says.
            prefers_border: Whether the host should draw a border around it.

        Raises:
            ValueError: The URI is none of a surface, or the path is relative.
            RuntimeError: A server has been made with this extension already.
        """
        self.add_resource(
            FileResource(
                uri=_check_uri(uri),
                name=name,
                title=title,
                description=description,
                mime_type=APP_MIME_TYPE,
                meta=_ui_meta(csp, permissions, domain, prefers_border),
                path=Path(path),
            )
        )

    def add_resource(self, resource: Resource) -> None:
        """Register any resource as a surface.

        Raises:
            ValueError: Its URI or its MIME type is none of a surface.
            RuntimeError: A server has been made with this extension already.
        """
        self._check_unbound()
        _check_uri(resource.uri)
        if not _is_app_type(resource.mime_type):
            raise ValueError(f"MCP Apps resources are served as {APP_MIME_TYPE!r}, got {resource.mime_type!r}")
        self._resources.append(ResourceBinding(resource))

    def tools(self) -> Sequence[ToolBinding]:
        """The tools. A server reads them when it is made; nothing can be registered any more after that.

        Raises:
            ValueError: The surface of a tool is not registered.
        """
        registered = {binding.resource.uri for binding in self._resources}
        for uri, binding in self._tools:
            if uri not in registered:
                name = binding.kwargs.get("name") or getattr(binding.fn, "__name__", repr(binding.fn))
                raise ValueError(
                    f"Apps tool {name!r} binds resource_uri {uri!r}, but no such resource is registered; "
                    "add it with add_html_resource() or add_resource()"
                )
        self._is_bound = True
        return [binding for _, binding in self._tools]

    def resources(self) -> Sequence[ResourceBinding]:
        """The surfaces."""
        return list(self._resources)

    def _check_unbound(self) -> None:
        if self._is_bound:
            raise RuntimeError("Apps is already bound to a server; register tools and resources before constructing it")


def client_supports_apps(ctx: Context[Any] | ServerRequestContext[Any, Any]) -> bool:
    """Whether the client of a request said that it shows HTML surfaces."""
    declared = ctx.client_capabilities if isinstance(ctx, Context) else ctx.session.client_capabilities
    settings: Any = ((declared.extensions if declared is not None else None) or {}).get(EXTENSION_ID)
    types: Any = cast("dict[str, Any]", settings).get("mimeTypes") if isinstance(settings, dict) else None
    if not isinstance(types, list):
        return False
    return any(isinstance(item, str) and _is_app_type(item) for item in cast("list[Any]", types))


def _check_uri(uri: str) -> str:
    if not uri.startswith(_URI_SCHEME):
        raise ValueError(f"MCP Apps URIs must use the {_URI_SCHEME} scheme, got {uri!r}")
    return uri


def _checked_visibility(visibility: Sequence[Visibility]) -> list[str]:
    allowed = get_args(Visibility)
    wrong = [visibility] if isinstance(visibility, str) else [item for item in visibility if item not in allowed]
    if wrong or not visibility:
        got = repr(wrong[0]) if wrong else "none"
        raise ValueError(f"visibility is a list of 'model' and 'app', at least one of them; got {got}")
    return list(visibility)


def _ui_meta(
    csp: ResourceCsp | None, permissions: ResourcePermissions | None, domain: str | None, prefers_border: bool | None
) -> dict[str, Any] | None:
    ui = {
        "csp": csp and csp.model_dump(by_alias=True, exclude_none=True),
        "permissions": permissions and permissions.model_dump(by_alias=True, exclude_none=True),
        "domain": domain,
        "prefersBorder": prefers_border,
    }
    stated = {key: value for key, value in ui.items() if value is not None}
    return {"ui": stated} if stated else None


def _parsed_type(mime_type: str) -> tuple[str, list[str]]:
    # RFC 2045: neither case nor the order of parameters says anything.
    kind, *parameters = (part.strip().lower() for part in mime_type.split(";"))
    return kind, sorted(parameters)


def _is_app_type(mime_type: str) -> bool:
    return _parsed_type(mime_type) == _parsed_type(APP_MIME_TYPE)
