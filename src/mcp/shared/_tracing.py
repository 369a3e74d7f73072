"""What the spans of both sides have in common. Call it only in an application that has loaded OpenTelemetry.

The OpenTelemetry API is never imported otherwise: an application that traces has imported it already.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

TRACER_NAME: Final = "mcp-python-sdk"
"""The tracer's name; dashboards are keyed to it."""


def application_traces() -> bool:
    """Whether the application has loaded OpenTelemetry."""
    return "opentelemetry.trace" in sys.modules


def target_of(method: str, params: Mapping[str, Any] | None) -> str | None:
    """What a span's name says beside the method: the tool or the prompt."""
    # A resource URI would make as many span names as there are resources.
    if method not in ("tools/call", "prompts/get") or params is None:
        return None
    name = params.get("name")
    return name if isinstance(name, str) else None


def attributes_of(
    method: str,
    params: Mapping[str, Any] | None,
    *,
    version: str | None,
    request_id: types.RequestId | None,
    network: str | None,
    session_id: str | None,
) -> dict[str, str]:
    """The attributes of a message's span.

    Args:
        method: The method.
        params: The params.
        version: The protocol revision, once it is known.
        request_id: The id; `None` for a notification.
        network: What carries it, in OpenTelemetry's words; `None` for calls within the process.
        session_id: The legacy session over HTTP that it belongs to.
    """
    attributes = {"mcp.method.name": method}
    if version is not None:
        attributes["mcp.protocol.version"] = version
    if request_id is not None:
        attributes["jsonrpc.request.id"] = str(request_id)
    if network is not None:
        attributes["network.transport"] = network
    if session_id is not None:
        attributes["mcp.session.id"] = session_id
    target = target_of(method, params)
    if method == "resources/read" and params is not None and isinstance(params.get("uri"), str):
        attributes["mcp.resource.uri"] = params["uri"]
    elif target is not None and method == "tools/call":
        attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": target}
    elif target is not None:
        attributes["gen_ai.prompt.name"] = target
    return attributes


def parent_in(meta: Mapping[str, Any] | None) -> Context | None:
    """The span context that a message's `_meta` carries, upon the current one; `None` without one.

    What is malformed leaves the current context as it is.
    """
    if meta is None or "traceparent" not in meta:
        return None
    from opentelemetry.context import get_current
    from opentelemetry.propagate import extract

    return extract({key: value for key, value in meta.items() if isinstance(value, str)}, get_current())


def record_result(span: Span, result: object) -> None:
    """Mark the span of a tool that failed."""
    if isinstance(result, Mapping) and cast("Mapping[str, Any]", result).get("isError") is True:
        from opentelemetry.trace import StatusCode

        span.set_status(StatusCode.ERROR)
        span.set_attribute("error.type", "tool_error")


def record_failure(span: Span, error: Exception) -> None:
    """Mark the span of a message that failed."""
    from opentelemetry.trace import Status, StatusCode

    span.set_status(Status(StatusCode.ERROR, str(error.message if isinstance(error, MCPError) else error)))
    if isinstance(error, MCPError):
        span.set_attribute("error.type", str(error.code))
        span.set_attribute("rpc.response.status_code", str(error.code))
    else:
        span.set_attribute("error.type", type(error).__name__)
        span.record_exception(error)
