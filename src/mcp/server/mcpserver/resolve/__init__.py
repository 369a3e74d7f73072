"""Parameters that the server fills, by calling a function or by asking the client."""

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
