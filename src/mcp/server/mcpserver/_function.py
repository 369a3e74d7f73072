"""A registered function: its arguments, its injected parameters, and the call."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

import mcp_types as types
from mcp.server.mcpserver._invoke import invoke
from mcp.server.mcpserver._signature import Arguments, build_arguments, read_signature
from mcp.server.mcpserver.exceptions import ToolTimeoutError
from mcp.server.mcpserver.resolve.annotations import find_markers
from mcp.server.mcpserver.resolve.plan import OwnerKind, check_resumable, two_channels
from mcp.server.mcpserver.utilities.context_injection import evaluate_hints
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from mcp.server import _asking
    from mcp.server.mcpserver import context as _context
    from mcp.server.mcpserver.resolve import run
else:
    _asking = lazy_module("mcp.server._asking")
    _context = lazy_module("mcp.server.mcpserver.context")
    run = lazy_module("mcp.server.mcpserver.resolve.run")


class Function:
    """A function that clients call by way of a tool, prompt or template resource.

    Args:
        fn: The function.
        owner_kind: What it is registered as.
        owner_name: The name it is registered under.
        context_kwarg: The parameter for the context, where the caller names it.
        parse_json: Whether JSON texts are parsed for parameters that cannot take a text.
        strict: Whether parameters that can only be passed by position are refused.
        refuse_unknown: Whether arguments that the function does not have are refused; else they are ignored.
        timeout: How many seconds the function may take. What its resolvers wait for does not count.
        resumable: Whether it asks in the middle of its body, which runs again when the answers come.

    Raises:
        ValueError: The timeout is no positive number.
        InvalidSignature: The function cannot be called as it is written.

    Attributes:
        is_plain: Whether a call takes the arguments and nothing else: no context, no resolvers, no timeout.
    """

    __slots__ = (
        "arguments",
        "context_kwarg",
        "fn",
        "hints",
        "is_async",
        "is_plain",
        "name",
        "owner_kind",
        "owner_name",
        "plan",
        "resumable",
        "timeout",
    )

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        owner_kind: OwnerKind,
        owner_name: str,
        context_kwarg: str | None = None,
        parse_json: bool = True,
        strict: bool = True,
        refuse_unknown: bool = False,
        timeout: float | None = None,
        resumable: bool = False,
    ) -> None:
        if timeout is not None and not 0 < timeout < math.inf:
            raise ValueError(f"timeout of {owner_kind} {owner_name!r} must be a positive number of seconds: {timeout}")
        hints = evaluate_hints(fn)
        resolved = find_markers(fn, hints)
        signature = read_signature(fn, hints=hints, injected=resolved, context_kwarg=context_kwarg, strict=strict)
        self.fn = fn
        self.name = signature.name
        self.owner_name = owner_name
        self.owner_kind: OwnerKind = owner_kind
        self.is_async = signature.is_async
        self.context_kwarg = signature.context_kwarg
        self.hints = signature.hints
        self.timeout = timeout
        self.resumable = resumable
        self.arguments: Arguments = build_arguments(signature, parse_json=parse_json, refuse_unknown=refuse_unknown)
        self.plan: run.ResolvePlan | None = None
        if resolved:
            names = {parameter.name for parameter in signature.parameters}
            self.plan = run.build_plan(fn, owner_kind=owner_kind, owner_name=owner_name, argument_names=names)
        if resumable:
            check_resumable(fn, owner_kind, owner_name, self.is_async, self.context_kwarg)
        self.is_plain = not self.needs_context and timeout is None

    @property
    def needs_context(self) -> bool:
        """Whether a call reads the context."""
        return self.context_kwarg is not None or self.plan is not None

    async def call(
        self, arguments: Mapping[str, Any], context: _context.Context[Any, Any] | None, *, for_wire: bool = False
    ) -> Any:
        """Check the arguments, resolve what is to be resolved, and call the function.

        Args:
            arguments: The client's arguments.
            context: The request; needed only if `needs_context` says so.
            for_wire: Whether questions of resolvers are returned in wire form, as a `WireResult`.

        Raises:
            InvalidArguments: The arguments do not fit.
        """
        values = self.arguments.validate(arguments)
        if context is None:
            return await self._invoke(values)
        plan = self.plan
        if plan is None:
            if self.context_kwarg is not None:
                values[self.context_kwarg] = context
            if self.resumable:
                return await self._resume(values, context, None, for_wire)
            return await self._invoke(values)
        injected = await plan.fill(values, context, context.max_answer_retries)
        if not isinstance(injected, run.ResolvedArguments):
            return run.as_wire(injected) if for_wire else run.as_result(injected)
        values.update(injected)
        if self.context_kwarg is not None:
            values[self.context_kwarg] = context
        if self.resumable:
            return await self._resume(values, context, injected.ask, for_wire)
        try:
            result = await self._invoke(values)
        except UrlElicitationRequiredError as error:
            injected.attach_answers(error)  # the next round need not ask for them again
            raise
        if isinstance(result, types.InputRequiredResult):
            raise run.ResolveError(two_channels(self.owner_kind, self.owner_name))
        return result

    async def _resume(
        self,
        values: Mapping[str, Any],
        context: _context.Context[Any, Any],
        ask: _asking.AskNow | _asking.AskLater | None,
        for_wire: bool,
    ) -> Any:
        from mcp.server.mcpserver._resume import run_resumable

        owner = f"{self.owner_kind} {self.owner_name!r}"
        result = await run_resumable(context, ask, owner, partial(self._invoke, values))
        if isinstance(result, _asking.AskLater):
            return run.as_wire(result) if for_wire else run.as_result(result)
        if isinstance(result, types.InputRequiredResult):
            raise run.ResolveError(two_channels(self.owner_kind, self.owner_name))
        return result

    def _invoke(self, values: Mapping[str, Any]) -> Awaitable[Any]:
        if self.timeout is None:
            return invoke(self.fn, values, self.is_async)
        return self._invoke_in_time(self.timeout, values)

    async def _invoke_in_time(self, seconds: float, values: Mapping[str, Any]) -> Any:
        with anyio.move_on_after(seconds):
            # A thread cannot be stopped. It is left behind, so that the answer is on time.
            return await invoke(self.fn, values, self.is_async, abandon=True)
        raise ToolTimeoutError(f"it did not finish within {seconds:g} seconds")
