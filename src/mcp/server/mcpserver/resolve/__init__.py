"""Parameters that the server fills, by calling a function or by asking the client."""

from typing import TYPE_CHECKING

from mcp_types._lazy import homes, lazy_names

if TYPE_CHECKING:
    from mcp.server.elicitation import (
        AcceptedElicitation,
        CancelledElicitation,
        DeclinedElicitation,
        ElicitationResult,
    )
    from mcp.server.mcpserver.resolve.annotations import returns_input_required
    from mcp.server.mcpserver.resolve.markers import Elicit, ElicitUrl, ListRoots, Resolve, Sample
    from mcp.server.mcpserver.resolve.plan import find_resolved_parameters
    from mcp.server.mcpserver.resolve.run import (
        ResolvedArguments,
        ResolveError,
        ResolvePlan,
        build_plan,
        build_resolver_plans,
        resolve_arguments,
    )
else:
    _NAMES = {
        "mcp.server.elicitation": """
            AcceptedElicitation CancelledElicitation DeclinedElicitation ElicitationResult
        """,
        "mcp.server.mcpserver.resolve.annotations": "returns_input_required",
        "mcp.server.mcpserver.resolve.markers": "Elicit ElicitUrl ListRoots Resolve Sample",
        "mcp.server.mcpserver.resolve.plan": "find_resolved_parameters",
        "mcp.server.mcpserver.resolve.run": """
            ResolvedArguments ResolveError ResolvePlan build_plan build_resolver_plans resolve_arguments
        """,
    }
    __getattr__, __dir__ = lazy_names(__name__, homes(_NAMES))

__all__ = [
    "AcceptedElicitation",
    "CancelledElicitation",
    "DeclinedElicitation",
    "Elicit",
    "ElicitUrl",
    "ElicitationResult",
    "ListRoots",
    "Resolve",
    "ResolveError",
    "ResolvePlan",
    "ResolvedArguments",
    "Sample",
    "build_plan",
    "build_resolver_plans",
    "find_resolved_parameters",
    "resolve_arguments",
    "returns_input_required",
]
