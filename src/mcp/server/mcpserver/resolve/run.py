"""Fill the parameters that have resolvers: run what is ready, ask what is asked, inject what comes back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any, cast

import anyio

import mcp_types as types
from mcp._protocol.codec import WireResult, encode_input_request
from mcp._protocol.era import MODERN, era_of
from mcp.server._asking import AskLater, AskNow, Record, Unanswered, carry_state, with_advice
from mcp.server.elicitation import (
    AcceptedElicitation,
    AcceptedUrlElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    InvalidAnswerError,
)
from mcp.server.mcpserver._invoke import invoke
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve.annotations import Want
from mcp.server.mcpserver.resolve.markers import MARKER_TYPES, Resolve
from mcp.server.mcpserver.resolve.plan import (
    FromArgument,
    FromContext,
    FromDefault,
    FromResolver,
    Graph,
    Node,
    OwnerKind,
    Source,
    analyse,
    analyse_markers,
    refuse_two_channels,
)
from mcp.server.mcpserver.resolve.state import dump_record, load_record
from mcp.shared.exceptions import UrlElicitationRequiredError

_REFUSALS = (DeclinedElicitation, CancelledElicitation)


class ResolveError(ToolError):
    """A parameter has no value because of the client's answer. The text is made for the model."""


class ResolvedArguments(dict[str, Any]):
    """The values of the resolved parameters, by name."""

    __slots__ = ("_ask",)

    def __init__(self, values: Mapping[str, Any], ask: AskNow | AskLater | None) -> None:
        super().__init__(values)
        self._ask = ask

    @property
    def ask(self) -> AskNow | AskLater | None:
        """What the questions were put to; `None` if there were none."""
        return self._ask

    def attach_answers(self, error: UrlElicitationRequiredError) -> None:
        """Let the answers that were used travel with the questions that the exception becomes.

        Call it with an exception that the function itself raised, so that the next round need not ask them again.
        """
        attach(self._ask, error)


class ResolvePlan:
    """How the resolved parameters of one tool, prompt or template are filled, worked out when it is registered.

    Args:
        graph: The resolvers.
    """

    __slots__ = ("_graph", "_roots")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._roots = [node for node in graph.nodes if not node.dependencies]

    @property
    def names(self) -> Collection[str]:
        """The parameters it fills."""
        return self._graph.parameters.keys()

    @property
    def resolved(self) -> dict[str, str]:
        """The key of the resolver that fills each parameter."""
        return {name: source.node.key for name, source in self._graph.parameters.items()}

    @property
    def resolvers(self) -> dict[str, Callable[..., Any]]:
        """All resolvers by their keys, each before those that wait for it."""
        return {node.key: node.fn for node in self._graph.nodes}

    async def run(
        self,
        arguments: Mapping[str, Any],
        context: Context[Any, Any],
        *,
        max_answer_retries: int = 0,
    ) -> ResolvedArguments | types.InputRequiredResult:
        """Fill the parameters, or return the questions that must be answered first.

        Resolvers that do not wait for one another run concurrently; each runs at most once.

        Args:
            arguments: The validated arguments, by parameter name.
            context: The request.
            max_answer_retries: How often a question is asked again after an answer that cannot be used.

        Raises:
            ResolveError: The client refused what cannot be done without, or its answer cannot be used.
            MCPError: A question cannot be asked, or the client answered it with an error.
            Exception: Whatever a resolver raised.
        """
        outcome = await self.fill(arguments, context, max_answer_retries)
        return outcome if isinstance(outcome, ResolvedArguments) else as_result(outcome)

    async def fill(
        self,
        arguments: Mapping[str, Any],
        context: Context[Any, Any],
        max_answer_retries: int = 0,
    ) -> ResolvedArguments | AskLater:
        """The same as `run`, with the questions as they were noted, for `as_result` or `as_wire`."""
        run = _Run(self._graph, arguments, context, max_answer_retries)
        try:
            await run.drive(self._roots)
        except UrlElicitationRequiredError as error:
            attach(run.ask, error)
            raise
        ask = run.ask
        if isinstance(ask, AskLater) and ask.pending:
            return ask
        values = {name: run.inject(source) for name, source in self._graph.parameters.items()}
        return ResolvedArguments(values, ask)


def find_way(context: Context[Any, Any], max_answer_retries: int, asker: str = "resolver") -> AskNow | AskLater:
    """Find out how a request's client is asked.

    Args:
        context: The request.
        max_answer_retries: How often a question is asked again after an answer that cannot be used.
        asker: What the keys of questions name, for error texts.

    Raises:
        ValueError: There is no request.
    """
    scope = context.request_context.session.scope
    if scope.era is not MODERN:
        return AskNow(scope.ask, scope.client, max_answer_retries, asker)
    record = Record() if scope.state_is_record is False else load_record(context.request_state)
    scope.state_is_record = True  # such a call has no other state of its own
    return AskLater(record, context.input_responses, scope.client.capabilities, max_answer_retries)


def as_result(ask: AskLater) -> types.InputRequiredResult:
    """The result that carries the questions of a round."""
    requests = {key: with_advice(question.request(), advice) for key, (question, advice) in ask.pending.items()}
    return types.InputRequiredResult(input_requests=requests, request_state=dump_record(ask.record))


def as_wire(ask: AskLater) -> WireResult:
    """The same as it goes on the wire, without models on the way."""
    requests = {
        key: question.wire() if advice is None else encode_input_request(with_advice(question.request(), advice))
        for key, (question, advice) in ask.pending.items()
    }
    return WireResult(resultType="input_required", inputRequests=requests, requestState=dump_record(ask.record))


def build_plan(
    fn: Callable[..., Any],
    *,
    owner_kind: OwnerKind,
    owner_name: str,
    argument_names: Collection[str],
) -> ResolvePlan | None:
    """Work out how the resolved parameters of a function are filled; `None` if it has none.

    Args:
        fn: The function that is registered.
        owner_kind: What it is registered as.
        owner_name: The name it is registered under.
        argument_names: The names of the parameters that clients fill.

    Raises:
        InvalidSignature: A marker is misplaced, a resolver cannot be called, or the function declares that it asks by
            itself as well.
    """
    graph = analyse(fn, argument_names)
    if graph is None:
        return None
    refuse_two_channels(fn, owner_kind, owner_name)
    return ResolvePlan(graph)


def build_resolver_plans(
    resolved_params: Mapping[str, tuple[Resolve, bool]], tool_arg_names: set[str]
) -> dict[Hashable, ResolvePlan]:
    """Work out how parameters found by `find_resolved_parameters` are filled (for those who call tools themselves).

    Raises:
        InvalidSignature: A resolver cannot be called.
    """
    found = {
        name: (marker, Want.OUTCOME if wants_outcome else Want.VALUE)
        for name, (marker, wants_outcome) in resolved_params.items()
    }
    return {frozenset(found): ResolvePlan(analyse_markers(found, tool_arg_names))}


async def resolve_arguments(
    resolved_params: Mapping[str, tuple[Resolve, bool]],
    plans: Mapping[Hashable, ResolvePlan],
    tool_args: Mapping[str, Any],
    context: Context[Any, Any],
) -> dict[str, Any] | types.InputRequiredResult:
    """Fill parameters by the plans that `build_resolver_plans` made for them; the same as `ResolvePlan.run`."""
    return await plans[frozenset(resolved_params)].run(tool_args, context)


class _Run:
    """One walk through the graph."""

    __slots__ = (
        "_arguments",
        "_asks_now",
        "_context",
        "_failure",
        "_max_answer_retries",
        "_values",
        "_waiting",
        "ask",
    )

    def __init__(
        self,
        graph: Graph,
        arguments: Mapping[str, Any],
        context: Context[Any, Any],
        max_answer_retries: int,
    ) -> None:
        self.ask: AskNow | AskLater | None = None
        self._arguments = arguments
        self._context = context
        self._max_answer_retries = max_answer_retries
        self._waiting = {node: node.dependencies for node in graph.nodes if node.dependencies}
        # What each resolver came to, and whether that is the outcome of a question.
        self._values: dict[Node, tuple[Any, bool]] = {}
        self._failure: BaseException | None = None
        self._asks_now = context.protocol_version is not None and era_of(context.protocol_version) is not MODERN

    async def drive(self, ready: list[Node]) -> None:
        """Run resolvers, and then those that waited for them, until nothing is left that can run."""
        pending = list(ready)
        slow: list[Node] = []
        while pending:
            node = pending.pop(0)
            # A task group costs more than all the rest; what cannot overlap with anything does not need one.
            at_once = node.never_waits and not self._asks_now
            if at_once or not (pending or slow):
                pending += await self._step(node)
            else:
                slow.append(node)
        if len(slow) == 1:
            await self.drive(slow)
        elif slow:
            async with anyio.create_task_group() as group:
                for node in slow:
                    group.start_soon(self._branch, node, group.cancel_scope)
            if self._failure is not None:
                raise self._failure

    async def _branch(self, node: Node, scope: anyio.CancelScope) -> None:
        # The first failure ends the call and is raised as it is, not as a group.
        try:
            await self.drive([node])
        except anyio.get_cancelled_exc_class() as error:
            # Ours leaves the group by itself. That of something a resolver awaited would pass for an orderly end.
            self._failure = self._failure or error
            raise
        except BaseException as error:
            self._failure = self._failure or error
            scope.cancel()

    async def _step(self, node: Node) -> list[Node]:
        """Run one resolver; return those that waited for it only."""
        args = [self._fetch(source) for source in node.positional] if node.positional else ()
        kwargs = {name: self._fetch(source) for name, source in node.keywords.items()}
        if node.is_async:
            value = await node.fn(*args, **kwargs)
        else:
            value = await invoke(node.fn, kwargs, False, args)
        if isinstance(value, MARKER_TYPES):
            ask = self.ask = self.ask or self._find_way(node.key)
            try:
                value = await ask(node.key, value.question())
            except Unanswered:
                return []
            except InvalidAnswerError as error:
                raise ResolveError(f"Resolver {node.key!r} {error.problem}") from None
            self._values[node] = value, True
            if node.refused_for is not None:
                self._check_refusal(node.refused_for, value)
        else:
            self._values[node] = value, False
        ready: list[Node] = []
        for dependent in node.dependents:
            self._waiting[dependent] -= 1
            if not self._waiting[dependent]:
                ready.append(dependent)
        return ready

    def _find_way(self, key: str) -> AskNow | AskLater:
        try:
            return find_way(self._context, self._max_answer_retries)
        except ValueError:
            raise ToolError(
                f"Resolver {key!r} asks the client a question, which takes a request; outside of one there is no client"
            ) from None

    def _fetch(self, source: Source) -> Any:
        match source:
            case FromArgument(argument):
                return self._arguments[argument]
            case FromResolver():
                return self.inject(source)
            case FromContext():
                return self._context
            case FromDefault(value):
                return value

    def inject(self, source: FromResolver) -> Any:
        """What a consumer gets of a resolver that has run."""
        value, was_asked = self._values[source.node]
        if source.want is not Want.VALUE:
            return value if _is_outcome(value) else AcceptedElicitation(data=value)
        return cast("AcceptedElicitation[Any]", value).data if was_asked and _is_form(value) else value

    @staticmethod
    def _check_refusal(name: str, outcome: object) -> None:
        if isinstance(outcome, _REFUSALS):
            raise ResolveError(f"Resolver for parameter {name!r} could not resolve: elicitation was {outcome.action}")


def _is_outcome(value: object) -> bool:
    return isinstance(value, (AcceptedElicitation, AcceptedUrlElicitation, *_REFUSALS))


def _is_form(value: object) -> bool:
    return isinstance(value, AcceptedElicitation)


def attach(ask: AskNow | AskLater | None, error: UrlElicitationRequiredError) -> None:
    """Let what was learned travel with the questions that the exception becomes."""
    if isinstance(ask, AskLater) and (ask.record.answers or ask.record.once):
        ask.record.asked = {}
        carry_state(error, dump_record(ask.record))
