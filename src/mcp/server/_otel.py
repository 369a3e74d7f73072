"""Server spans for OpenTelemetry, for applications that use it.

The OpenTelemetry API is never imported from here: an application that traces has imported it already.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from opentelemetry.trace import Span

TRACER_NAME: Final = "mcp-python-sdk"
"""The tracer's name; dashboards are keyed to it."""


class OpenTelemetryMiddleware:
    """Opens one server span around each inbound message; costs nothing in an application that does not trace."""

    def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Awaitable[HandlerResult]:
        """Handle the message inside a span, if the application has loaded OpenTelemetry."""
        if "opentelemetry.trace" not in sys.modules:
            return call_next(ctx)
        return self._traced(ctx, call_next)

    async def _traced(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        from opentelemetry.context import get_current
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, get_tracer

        target = _target(ctx)
        carrier = {key: value for key, value in (ctx.meta or {}).items() if isinstance(value, str)}
        # What is malformed leaves the current context as it is.
        parent = extract(carrier, get_current()) if "traceparent" in carrier else None
        with get_tracer(TRACER_NAME).start_as_current_span(
            f"{ctx.method} {target}" if target else ctx.method,
            context=parent,
            kind=SpanKind.SERVER,
            attributes=_attributes(ctx, target),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                result = await call_next(ctx)
            except Exception as error:
                _record_failure(span, error)
                raise
            if isinstance(result, Mapping) and cast("Mapping[str, Any]", result).get("isError") is True:
                from opentelemetry.trace import StatusCode

                span.set_status(StatusCode.ERROR)
                span.set_attribute("error.type", "tool_error")
            return result


def _target(ctx: ServerRequestContext[Any, Any]) -> str | None:
    # A resource URI would make as many span names as there are resources.
    if ctx.method not in ("tools/call", "prompts/get") or ctx.params is None:
        return None
    name = ctx.params.get("name")
    return name if isinstance(name, str) else None


def _attributes(ctx: ServerRequestContext[Any, Any], target: str | None) -> dict[str, str]:
    attributes = {"mcp.method.name": ctx.method, "mcp.protocol.version": ctx.protocol_version}
    if ctx.request_id is not None:
        attributes["jsonrpc.request.id"] = str(ctx.request_id)
    if target is not None and ctx.method == "tools/call":
        attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": target}
    elif target is not None:
        attributes["gen_ai.prompt.name"] = target
    return attributes


def _record_failure(span: Span, error: Exception) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_status(Status(StatusCode.ERROR, str(error.message if isinstance(error, MCPError) else error)))
    if isinstance(error, MCPError):
        span.set_attribute("error.type", str(error.code))
        span.set_attribute("rpc.response.status_code", str(error.code))
    else:
        span.set_attribute("error.type", type(error).__name__)
        span.record_exception(error)
