"""Server spans for OpenTelemetry, for applications that use it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared._tracing import (
    TRACER_NAME,
    application_traces,
    attributes_of,
    parent_in,
    record_failure,
    record_result,
    target_of,
)

__all__ = ["OpenTelemetryMiddleware"]


class OpenTelemetryMiddleware:
    """Opens one server span around each inbound message; costs nothing in an application that does not trace.

    Servers have it as their first middleware, unless they are made with `tracing=False`.
    """

    def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Awaitable[HandlerResult]:
        """Handle the message inside a span, if the application has loaded OpenTelemetry."""
        return self._traced(ctx, call_next) if application_traces() else call_next(ctx)

    async def _traced(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        from opentelemetry.trace import SpanKind, get_tracer

        target = target_of(ctx.method, ctx.params)
        with get_tracer(TRACER_NAME).start_as_current_span(
            f"{ctx.method} {target}" if target else ctx.method,
            context=parent_in(ctx.meta),
            kind=SpanKind.SERVER,
            attributes=_attributes(ctx),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                result = await call_next(ctx)
            except Exception as error:
                record_failure(span, error)
                raise
            record_result(span, result)
            return result


def _attributes(ctx: ServerRequestContext[Any, Any]) -> dict[str, str]:
    scope = ctx.session.scope
    network = "tcp" if scope.headers is not None else None if scope.channel is None else "pipe"
    return attributes_of(
        ctx.method,
        ctx.params,
        version=ctx.protocol_version,
        request_id=ctx.request_id,
        network=network,
        session_id=getattr(scope.connection, "session_id", None),
    )
