"""Extensions: tools, resources, vendor methods and a capability under one reverse-DNS name."""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from pydantic import BaseModel

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.extension import validate_extension_identifier
from mcp_types.methods import SPEC_CLIENT_METHODS
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

__all__ = [
    "SPEC_CLIENT_METHODS",
    "Extension",
    "MethodBinding",
    "PromptBinding",
    "ResourceBinding",
    "ResourceTemplateBinding",
    "ToolBinding",
    "compose_tool_call_handler",
]

logger = logging.getLogger(__name__)

RequestHandler: TypeAlias = Callable[[ServerRequestContext[Any, Any], Any], Awaitable[HandlerResult]]


class ReadableResource(Protocol):
    """What a `ResourceBinding` holds; the resource classes of `mcp.server.mcpserver.resources` are such."""

    uri: str

    async def read(self) -> str | bytes: ...


@dataclass(frozen=True)
class ToolBinding:
    """A tool that an extension brings.

    Attributes:
        fn: The function.
        meta: The `_meta` of its listing.
        kwargs: What `MCPServer.add_tool` takes besides.
    """

    fn: Callable[..., Any]
    meta: dict[str, Any] | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class ResourceBinding:
    """A resource that an extension brings.

    Attributes:
        resource: The resource.
    """

    resource: ReadableResource


@dataclass(frozen=True)
class ResourceTemplateBinding:
    """A resource template that an extension brings.

    Attributes:
        uri_template: The URI template.
        fn: The function.
        kwargs: What `MCPServer.resource` takes besides.
    """

    uri_template: str
    fn: Callable[..., Any]
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class PromptBinding:
    """A prompt that an extension brings.

    Attributes:
        fn: The function.
        kwargs: What `MCPServer.prompt` takes besides.
    """

    fn: Callable[..., Any]
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class MethodBinding:
    """A request method that an extension serves.

    Attributes:
        method: The method; none of the protocol's own.
        params_type: The model of its params, derived from `RequestParams` so that `_meta` is kept.
        handler: `async (ctx, params)`.
        protocol_versions: The revisions that have the method; `None` for all.

    Raises:
        ValueError: The method or a version is none that can be bound.
        TypeError: `params_type` is no model.
    """

    method: str
    params_type: type[BaseModel]
    handler: RequestHandler
    protocol_versions: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.method in SPEC_CLIENT_METHODS:
            raise ValueError(
                f"MethodBinding cannot bind spec method {self.method!r}; extension methods are additive — "
                "use Extension.intercept_tool_call or Server.middleware to wrap core behaviour"
            )
        if not self.method or self.method.startswith("notifications/"):
            raise ValueError(f"MethodBinding needs the name of a request method, got {self.method!r}")
        params_type: object = self.params_type
        if not isinstance(params_type, type) or not issubclass(params_type, BaseModel):
            raise TypeError(f"MethodBinding for {self.method!r} needs a pydantic model as params_type")
        versions = self.protocol_versions
        if versions is None:
            return
        if not versions:
            raise ValueError(
                f"MethodBinding for {self.method!r} has an empty protocol_versions set, so it could never be served; "
                "use None to admit every version"
            )
        unknown = sorted(set(versions) - set(KNOWN_PROTOCOL_VERSIONS))
        if unknown:
            raise ValueError(f"MethodBinding for {self.method!r} names unknown protocol versions: {unknown}")


class Extension:
    """Base class of extensions. Everything is read once, when the server is built.

    ```python
    class Stamps(Extension):
        identifier = "com.example/stamps"

        def settings(self) -> dict[str, Any]:
            return {"format": "v2"}

        def tools(self) -> Sequence[ToolBinding]:
            return [ToolBinding(stamp)]
    ```

    Attributes:
        identifier: `vendor-prefix/name`, with a reverse-DNS prefix.
    """

    identifier: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "identifier" in vars(cls):
            validate_extension_identifier(vars(cls)["identifier"], owner=cls.__name__)

    def settings(self) -> dict[str, Any]:
        """What is advertised under the identifier."""
        return {}

    def tools(self) -> Sequence[ToolBinding]:
        """The tools it brings."""
        return ()

    def resources(self) -> Sequence[ResourceBinding]:
        """The resources it brings."""
        return ()

    def resource_templates(self) -> Sequence[ResourceTemplateBinding]:
        """The resource templates it brings."""
        return ()

    def prompts(self) -> Sequence[PromptBinding]:
        """The prompts it brings."""
        return ()

    def methods(self) -> Sequence[MethodBinding]:
        """The request methods it serves."""
        return ()

    async def intercept_tool_call(
        self, params: types.CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Wrap every tool call; several extensions nest, the first registered outermost.

        Args:
            params: The call.
            ctx: The request.
            call_next: Goes on; given a context with other params (`dataclasses.replace`), with those.
        """
        return await call_next(ctx)


def compose_tool_call_handler(extensions: Sequence[Extension], handler: RequestHandler) -> RequestHandler:
    """Wrap a `tools/call` handler in the interceptors of extensions; those that do not intercept add no frame."""
    for extension in reversed(extensions):
        if type(extension).intercept_tool_call is not Extension.intercept_tool_call:
            handler = functools.partial(_intercept, extension, handler)
    return handler


async def _intercept(
    extension: Extension,
    handler: RequestHandler,
    ctx: ServerRequestContext[Any, Any],
    params: types.CallToolRequestParams,
) -> HandlerResult:
    went_on = False

    def call_next(replaced: ServerRequestContext[Any, Any]) -> Awaitable[HandlerResult]:
        nonlocal went_on
        went_on = True
        if replaced.params is ctx.params:
            return handler(replaced, params)
        return handler(replaced, types.CallToolRequestParams.model_validate(replaced.params or {}))

    try:
        return await extension.intercept_tool_call(params, ctx, call_next)
    except Exception as error:
        if not went_on:
            logger.info("Extension %r refused the call of tool %r: %s", extension.identifier, params.name, error)
        raise
