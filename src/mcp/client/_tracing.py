"""Client spans for OpenTelemetry, and the trace context that travels with requests."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from mcp._engine.link import Link, OutgoingRequest
from mcp.shared._tracing import TRACER_NAME, attributes_of, parent_in, record_failure, record_result, target_of


async def traced(link: Link, request: OutgoingRequest, exchange: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """Do an exchange inside a span; the request tells the server which span that is.

    Args:
        link: What carries it.
        request: The request; its `_meta` gets the trace context before the exchange begins.
        exchange: The exchange, not begun yet.
    """
    from opentelemetry.propagate import inject
    from opentelemetry.trace import SpanKind, get_tracer

    meta: dict[str, Any] = (request.params or {}).get("_meta") or {}
    target = target_of(request.method, request.params)
    name = f"MCP send {request.method}"
    try:
        with get_tracer(TRACER_NAME).start_as_current_span(
            f"{name} {target}" if target else name,
            context=parent_in(meta),
            kind=SpanKind.CLIENT,
            attributes=attributes_of(
                request.method,
                request.params,
                version=request.version,
                request_id=request.request_id,
                network=getattr(link, "network_transport", None),
                session_id=getattr(link, "session_id", None),
            ),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            if span.get_span_context().is_valid:
                carrier: dict[str, str] = {}
                inject(carrier)
                request.params = {**(request.params or {}), "_meta": {**meta, **carrier}}
            try:
                result = await exchange
            except Exception as error:
                record_failure(span, error)
                raise
            record_result(span, result)
            return result
    finally:
        exchange.close()  # nothing to do, unless it never began
