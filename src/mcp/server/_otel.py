"""Another name of `mcp.server.tracing`, which fastmcp imports."""

from __future__ import annotations

from mcp.server.tracing import OpenTelemetryMiddleware

__all__ = ["OpenTelemetryMiddleware"]
