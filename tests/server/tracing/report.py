"""How programs that trace report their spans, as JSON."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
REMOTE = f"00-{TRACE_ID}-{SPAN_ID}-01"


def describe(span: ReadableSpan) -> dict[str, Any]:
    context, scope = span.context, span.instrumentation_scope
    assert context is not None
    assert scope is not None
    return {
        "tracer": scope.name,
        "name": span.name,
        "kind": span.kind.name,
        "attributes": dict(span.attributes or {}),
        "status": span.status.status_code.name,
        "description": span.status.description,
        "events": [[event.name, str((event.attributes or {}).get("exception.message"))] for event in span.events],
        "trace_id": f"{context.trace_id:032x}",
        "id": f"{context.span_id:016x}",
        "parent": None if span.parent is None else f"{span.parent.span_id:016x}",
    }
