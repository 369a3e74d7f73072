"""Walk a function's resolvers round by round, without a server: the client's side is played by the test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import BaseModel

from mcp._engine.scope import Ask, RequestScope
from mcp._protocol.era import LEGACY, MODERN
from mcp._protocol.metadata import ClientFacts
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.resolve.plan import find_resolved_parameters
from mcp.server.mcpserver.resolve.run import ResolvePlan, build_plan
from mcp.server.mcpserver.utilities.context_injection import find_context_parameter
from mcp.server.session import ServerSession
from mcp_types import CallToolRequestParams, ClientCapabilities, InputRequiredResult

EVERYTHING: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {},
}


class Login(BaseModel):
    username: str


class Amount(BaseModel):
    amount: int


def plan_of(
    fn: Callable[..., Any], *, kind: Literal["tool", "prompt", "resource"] = "tool", name: str | None = None
) -> ResolvePlan:
    """Register a function as a tool would be."""
    plan = build_plan(fn, owner_kind=kind, owner_name=name or fn.__name__, argument_names=arguments_of(fn))
    assert plan is not None
    return plan


def arguments_of(fn: Callable[..., Any]) -> set[str]:
    names = set(inspect.signature(fn).parameters)
    return names - set(find_resolved_parameters(fn)) - {find_context_parameter(fn) or ""}


async def _no_notification(method: str, params: dict[str, Any] | None) -> None:
    raise AssertionError(method)


def make_context(
    params: dict[str, Any] | None = None,
    *,
    capabilities: Mapping[str, Any] = EVERYTHING,
    ask: Ask | None = None,
    legacy: bool = False,
) -> Context[Any, Any]:
    """Make the context of a `tools/call` that arrived with these params."""
    version = "2025-11-25" if legacy else "2026-07-28"
    params = {"name": "tool", "arguments": {}, **(params or {})}
    scope = RequestScope(
        method="tools/call",
        params=params,
        request_id=1,
        version=version,
        era=LEGACY if legacy else MODERN,
        client=ClientFacts(version, ClientCapabilities.model_validate(capabilities)),
        notify=_no_notification,
        ask=ask,
    )
    request_context: ServerRequestContext[Any, Any] = ServerRequestContext(
        session=ServerSession(scope, None),
        lifespan_context={},
        protocol_version=version,
        method=scope.method,
        params=params,
        request_id=1,
    )
    return Context(request_context=request_context, input_params=CallToolRequestParams.model_validate(params))


class Call:
    """One modern call of a function with resolvers, of as many rounds as it takes."""

    def __init__(
        self,
        fn: Callable[..., Any],
        arguments: dict[str, Any] | None = None,
        *,
        capabilities: Mapping[str, Any] = EVERYTHING,
        max_answer_retries: int = 0,
    ) -> None:
        self.plan = plan_of(fn)
        self.arguments = arguments or {}
        self.capabilities = capabilities
        self.max_answer_retries = max_answer_retries
        self.state: str | None = None

    async def round(self, answers: dict[str, Any] | None = None, *, state: str | None = "echo") -> Any:
        """Send the request (again), with the state of the last round unless another is given."""
        params: dict[str, Any] = {}
        if answers is not None:
            params["inputResponses"] = answers
        if (state := self.state if state == "echo" else state) is not None:
            params["requestState"] = state
        context = make_context(params, capabilities=self.capabilities)
        result = await self.plan.run(self.arguments, context, max_answer_retries=self.max_answer_retries)
        if isinstance(result, InputRequiredResult):
            self.state = result.request_state
        return result

    async def questions(self, answers: dict[str, Any] | None = None, **kwargs: Any) -> dict[str, str]:
        """Like `round`, for a round that asks: the questions' messages under the last part of their keys."""
        result = await self.round(answers, **kwargs)
        assert isinstance(result, InputRequiredResult), result
        assert result.input_requests is not None
        return {key: message_of(request) for key, request in result.input_requests.items()}

    async def values(self, answers: dict[str, Any] | None = None, **kwargs: Any) -> dict[str, Any]:
        """Like `round`, for the last one."""
        result = await self.round(answers, **kwargs)
        assert not isinstance(result, InputRequiredResult), result
        return result


def message_of(request: Any) -> str:
    return getattr(request.params, "message", request.method)


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


def key(fn: Callable[..., Any], number: int = 0) -> str:
    return f"{fn.__module__}:{fn.__qualname__}" + (f"#{number}" if number else "")


DECLINE = {"action": "decline"}
CANCEL = {"action": "cancel"}
