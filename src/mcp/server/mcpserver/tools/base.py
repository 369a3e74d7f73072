"""`Tool`: a function that a model may call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field

import mcp_types as types
from mcp._engine.faults import is_fault
from mcp._protocol.codec import WireResult
from mcp._protocol.errors import to_error
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver._details import check_texts, read_icons, read_meta, read_model
from mcp.server.mcpserver._failures import error_wire, tool_failure
from mcp.server.mcpserver._function import Function
from mcp.server.mcpserver._invoke import invoke
from mcp.server.mcpserver._output import Output, ToolOutput
from mcp.server.mcpserver.context import Context
from mcp.shared.exceptions import MCPError
from mcp.shared.tool_name_validation import validate_and_warn_tool_name

__all__ = ["Tool"]


class FuncMetadata:
    """What registration found out about a tool's function."""

    __slots__ = ("function", "output")

    def __init__(self, function: Function, output: Output) -> None:
        self.function = function
        self.output = output


class Tool(BaseModel):
    """A function that a model may call, with everything a listing says about it.

    Attributes:
        fn: The function.
        name: The name it is called by.
        title: A name for people.
        description: What it does, for the model.
        parameters: The JSON schema of its arguments.
        fn_metadata: What registration found out about the function.
        is_async: Whether the function has to be awaited; otherwise it runs in a worker thread.
        context_kwarg: The parameter that receives the `Context`.
        annotations: Hints about its behaviour.
        icons: Icons.
        meta: The `_meta` of its listing.
        resolved_params: The key of the resolver that fills each parameter which no client fills.
        resolver_plans: All its resolvers by their keys, each before those that wait for it.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    fn: Callable[..., Any] = Field(exclude=True)
    name: str
    title: str | None = None
    description: str
    parameters: dict[str, Any]
    fn_metadata: FuncMetadata = Field(exclude=True)
    is_async: bool
    context_kwarg: str | None = None
    annotations: types.ToolAnnotations | None = None
    icons: list[types.Icon] | None = None
    meta: dict[str, Any] | None = None
    resolved_params: dict[str, Any] = Field(default_factory=dict[str, Any], exclude=True)
    resolver_plans: dict[Hashable, Any] = Field(default_factory=dict[Hashable, Any], exclude=True)

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON schema of the structured output; `None` for tools that only have content."""
        return self.fn_metadata.output.schema

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        context_kwarg: str | None = None,
        annotations: types.ToolAnnotations | None = None,
        icons: list[types.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        structured_output: bool | None = None,
        *,
        strict_arguments: bool = False,
        text_copy: bool = True,
        timeout: float | None = None,
        resumable: bool = False,
    ) -> Tool:
        """Make a tool of a function.

        Args:
            fn: The function; a method, class, `functools.partial` or callable object will do as well.
            name: The tool's name; the function's by default.
            title: A name for people.
            description: What it does; the function's docstring by default.
            context_kwarg: The parameter that receives the `Context`; found by its annotation by default.
            annotations: Hints about its behaviour.
            icons: Icons.
            meta: The `_meta` of its listing.
            structured_output: Whether it has structured output; the return annotation decides by default.
            strict_arguments: Whether arguments that it does not have are refused; else they are ignored.
            text_copy: Whether the content repeats the structured output as text, for models that read nothing else.
            timeout: How many seconds the function may take. A sync function that takes longer is left behind in its
                thread. The time that resolvers wait for answers does not count.
            resumable: Whether the function asks in the middle of its body; see `MCPServer.tool`.

        Raises:
            ValueError: There is no name, or the timeout is no positive number.
            TypeError: A name, title, description, annotation, icon or `_meta` is none.
            InvalidSignature: The function cannot be called as it is written.
        """
        tool_name = name_for(fn, name)
        owner = f"tool {tool_name!r}"
        check_texts(owner, name=tool_name, title=title, description=description)
        validate_and_warn_tool_name(tool_name)
        function = Function(
            fn,
            owner_kind="tool",
            owner_name=tool_name,
            context_kwarg=context_kwarg,
            refuse_unknown=strict_arguments,
            timeout=timeout,
            resumable=resumable,
        )
        annotation = function.hints.get("return", inspect.Signature.empty)
        output = Output(function.name, annotation, structured_output, text_copy=text_copy)
        return cls.model_construct(
            fn=fn,
            name=tool_name,
            title=title,
            description=description_for(fn, description),
            parameters=function.arguments.json_schema,
            fn_metadata=FuncMetadata(function, output),
            is_async=function.is_async,
            context_kwarg=function.context_kwarg,
            annotations=read_model(owner, "annotations", lambda: types.ToolAnnotations, annotations),
            icons=read_icons(owner, icons),
            meta=read_meta(owner, meta),
            resolved_params={} if function.plan is None else function.plan.resolved,
            resolver_plans={} if function.plan is None else function.plan.resolvers,
        )

    def as_listed(self) -> types.Tool:
        """The tool as `tools/list` shows it."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.parameters,
            output_schema=self.output_schema,
            annotations=self.annotations,
            icons=self.icons,
            _meta=self.meta,
        )

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,
        *,
        show_errors: bool = False,
    ) -> Any:
        """Call the tool.

        Args:
            arguments: The arguments by name.
            context: The request.
            convert_result: Whether to return a `CallToolResult` instead of what the function returned.
            show_errors: Whether the text of an unexpected exception may be shown.

        Raises:
            ToolError: It failed; `UnexpectedToolError` if it did not mean to.
            MCPError: It answered with a protocol error.
        """
        metadata = self.fn_metadata
        try:
            value = await metadata.function.call(arguments, context)
            return as_model(metadata.output.to_result(value)) if convert_result else value
        except MCPError:
            raise
        except Exception as error:
            request = context._request_context
            request_id = None if request is None else request.request_id
            raise tool_failure(self.name, error, show=show_errors, request_id=request_id) from error

    async def run_for_wire(
        self,
        arguments: dict[str, Any],
        request: ServerRequestContext[Any, Any],
        make_context: Callable[[ServerRequestContext[Any, Any], types.CallToolRequestParams], Context[Any, Any]],
        params: types.CallToolRequestParams,
        show_errors: bool,
    ) -> ToolOutput:
        """Call the tool for a client: failures become error results, and the result is in wire form where it can be.

        Args:
            arguments: The arguments by name.
            request: The request.
            make_context: Makes the `Context`, for tools that read it.
            params: The request's params.
            show_errors: Whether the text of an unexpected exception may be shown.

        Raises:
            MCPError: The tool answered with a protocol error.
        """
        metadata = self.fn_metadata
        function = metadata.function
        try:
            if function.is_plain:
                # The common case, without a frame more than it needs.
                values = function.arguments.validate(arguments)
                if function.is_async:
                    return metadata.output.to_result(await function.fn(**values))
                return metadata.output.to_result(await invoke(function.fn, values, False))
            value = await function.call(arguments, make_context(request, params), for_wire=True)
            return value if type(value) is WireResult else metadata.output.to_result(value)
        except MCPError:
            raise
        except BaseException as error:
            if not is_fault(error):
                raise
            show = show_errors or request.session.scope.raise_exceptions
            failure = tool_failure(self.name, error, show=show, request_id=request.request_id)
            if isinstance(error, Exception):
                return error_wire(str(failure))
            raise to_error(error, show=show) from error


def as_model(output: ToolOutput) -> types.CallToolResult | types.InputRequiredResult:
    """Read a result in wire form as a model, for direct callers."""
    return types.CallToolResult.model_validate(output) if isinstance(output, WireResult) else output


def name_for(fn: Callable[..., Any], name: str | None) -> str:
    """The name a function is registered under.

    Raises:
        ValueError: It has none of its own, and none was given.
        TypeError: The name is no text, or the function nothing that can be called.
    """
    if not callable(cast("object", fn)):
        raise TypeError(f"only functions can be registered, and other callables; got {type(fn).__name__}")
    if name is not None and not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a name must be a string, got {type(name).__name__}")
    if name:
        return name
    own = cast("str | None", getattr(fn, "__name__", None))
    if own == "<lambda>":
        raise ValueError("You must provide a name for lambda functions")
    if own is None:
        raise ValueError(f"You must provide a name for {type(fn).__name__} objects")
    return own


def description_for(fn: Callable[..., Any], description: str | None) -> str:
    """The description of a registered function: what was given, else its docstring without the indentation."""
    if description:
        return description
    # An instance inherits the docstring of its class, which describes the class (functools.partial has one).
    doc = fn.__doc__ if inspect.isroutine(fn) or inspect.isclass(fn) else getattr(type(fn).__call__, "__doc__", None)
    wrapped = cast("Callable[..., Any] | None", getattr(fn, "func", None))
    if wrapped is not None and not inspect.isroutine(fn) and not inspect.isclass(fn):
        return description_for(wrapped, None)
    return inspect.cleandoc(doc) if doc else ""
