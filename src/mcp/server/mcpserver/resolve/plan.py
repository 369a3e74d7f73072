"""Analyse, when a function is registered, which resolvers fill its parameters and what each of them needs."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, cast, get_args, get_origin

from pydantic import BaseModel, PydanticUserError

from mcp.server.mcpserver._invoke import is_async_callable
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.resolve.annotations import (
    UNKNOWN,
    Want,
    arms_of,
    find_markers,
    hints_of,
    parameters_of,
    returns_input_required,
    underlying,
)
from mcp.server.mcpserver.resolve.markers import MARKER_TYPES, Elicit, Resolve
from mcp.server.mcpserver.utilities.context_injection import callable_name, evaluate_hints, is_context_annotation
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from mcp.server import _forms
else:
    _forms = lazy_module("mcp.server._forms")

OwnerKind: TypeAlias = Literal["tool", "prompt", "resource"]

_EMPTY: Final = inspect.Parameter.empty
_COLLECTORS: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# `await` and `async with` get an awaitable; `async for` gets an iterator first.
_WAITING: Final = frozenset({"GET_AWAITABLE", "GET_AITER"})
_OWNERS: Final[dict[OwnerKind, str]] = {"tool": "Tool", "prompt": "Prompt", "resource": "Resource"}


@dataclass(frozen=True, slots=True)
class FromContext:
    """The parameter is the request's `Context`."""


class FromArgument(NamedTuple):
    """The parameter is an argument of the tool, prompt or template.

    Attributes:
        name: The argument's name.
    """

    name: str


class FromDefault(NamedTuple):
    """The parameter keeps the default that its function gives it.

    Attributes:
        value: The default.
    """

    value: Any


class FromResolver(NamedTuple):
    """The parameter is what a resolver returns.

    Attributes:
        node: The resolver.
        want: What of it.
    """

    node: Node
    want: Want


Source: TypeAlias = FromContext | FromArgument | FromDefault | FromResolver


@dataclass(slots=True, eq=False)
class Node:
    """One resolver in the graph of a tool.

    Attributes:
        fn: The resolver.
        name: What messages call it.
        key: What the protocol calls it: the same in every process that registers the same code.
        is_async: Whether calling it yields something to await.
        never_waits: Whether it is certain to run to its end without giving way to other tasks.
        positional: The sources of its positional-only parameters.
        keywords: The sources of its other parameters.
        dependencies: How many resolvers it waits for.
        dependents: The resolvers that wait for it.
        refused_for: The parameter, of whomever, that cannot do with a refusal; `None` if all can.
    """

    fn: Callable[..., Any]
    name: str
    key: str = ""
    is_async: bool = False
    never_waits: bool = False
    positional: list[Source] = field(default_factory=list["Source"])
    keywords: dict[str, Source] = field(default_factory=dict[str, "Source"])
    dependencies: int = 0
    dependents: list[Node] = field(default_factory=list["Node"])
    refused_for: str | None = None


class Graph(NamedTuple):
    """The resolvers of one tool, prompt or template.

    Attributes:
        parameters: The resolved parameters of the function itself.
        nodes: All resolvers, each before those that wait for it.
    """

    parameters: dict[str, FromResolver]
    nodes: tuple[Node, ...]


def find_resolved_parameters(fn: Callable[..., Any]) -> dict[str, tuple[Resolve, bool]]:
    """Find the parameters of a function that resolvers fill.

    Returns:
        Each parameter's marker, and whether it wants the outcome of a question rather than the value.

    Raises:
        InvalidSignature: A marker stands where it would be overlooked: in a union or list, as a default, as a class.
    """
    found = find_markers(fn, evaluate_hints(fn))
    return {name: (marker, want is not Want.VALUE) for name, (marker, want) in found.items()}


def analyse(fn: Callable[..., Any], argument_names: Collection[str]) -> Graph | None:
    """Analyse the resolvers of a function; `None` if it has none.

    Args:
        fn: The function that is registered.
        argument_names: The names of the arguments that its clients send.

    Raises:
        InvalidSignature: A marker is misplaced, or a resolver cannot be called, or asks for what no form can hold.
    """
    found = find_markers(fn, evaluate_hints(fn))
    return analyse_markers(found, argument_names) if found else None


def analyse_markers(found: Mapping[str, tuple[Resolve, Want]], argument_names: Collection[str]) -> Graph:
    """Analyse the resolvers of marked parameters.

    Raises:
        InvalidSignature: A resolver cannot be called, or asks for what no form can hold.
    """
    walk = _Walk(frozenset(argument_names))
    parameters: dict[str, FromResolver] = {}
    for name, (marker, want) in found.items():
        source = parameters[name] = FromResolver(walk.visit(marker.fn), want)
        _require(name, source)
    _name_keys(walk.order)
    return Graph(parameters, tuple(walk.order))


def refuse_two_channels(fn: Callable[..., Any], owner_kind: OwnerKind, owner_name: str) -> None:
    """Refuse a function that has resolvers and declares that it asks by itself as well.

    Raises:
        InvalidSignature: It does.
    """
    if returns_input_required(fn):
        raise InvalidSignature(two_channels(owner_kind, owner_name))


def two_channels(owner_kind: OwnerKind, owner_name: str) -> str:
    """Say that resolvers and a hand-built `InputRequiredResult` do not go together."""
    kind = _OWNERS[owner_kind]
    return (
        f"{kind} {owner_name!r} combines Resolve(...) parameters with an InputRequiredResult return; a call has one "
        "input_required channel, so the multi-round flow is driven either by resolvers or by the "
        f"{owner_kind} body, not both"
    )


def check_resumable(
    fn: Callable[..., Any], owner_kind: OwnerKind, owner_name: str, is_async: bool, context_kwarg: str | None
) -> None:
    """Refuse a function that cannot be suspended.

    Raises:
        InvalidSignature: It runs in a thread, has nothing to ask with, or declares that it asks in another way.
    """
    who = f"{_OWNERS[owner_kind]} {owner_name!r} is registered with resumable=True"
    if not is_async:
        raise InvalidSignature(f"{who}, and a function that runs in a thread cannot be suspended: write `async def`")
    if context_kwarg is None:
        raise InvalidSignature(f"{who}, and asks with a Context that it does not take: add a parameter `ctx: Context`")
    if returns_input_required(fn):
        raise InvalidSignature(
            f"{who} and may return an InputRequiredResult; its questions are either asked with `await ctx.elicit(...)` "
            "or returned, not both"
        )


class _Walk:
    """Visits resolvers depth first, each once."""

    def __init__(self, argument_names: frozenset[str]) -> None:
        self._argument_names = argument_names
        self._nodes: dict[Hashable, Node | None] = {}  # `None` while its dependencies are being visited
        self.order: list[Node] = []

    def visit(self, fn: Callable[..., Any]) -> Node:
        identity = _identity(fn)
        if identity in self._nodes:
            node = self._nodes[identity]
            if node is None:
                raise InvalidSignature(f"Resolver {callable_name(fn)!r} has a cyclic dependency")
            return node
        self._nodes[identity] = None
        node = self._analyse(fn)
        self._nodes[identity] = node
        self.order.append(node)
        return node

    def _analyse(self, fn: Callable[..., Any]) -> Node:
        parameters = parameters_of(fn)
        node = Node(fn, callable_name(fn), is_async=is_async_callable(fn), never_waits=never_waits(fn))
        hints = hints_of(fn)
        _check_question(node.name, hints.get("return"))
        resolved = find_markers(fn, hints)
        waits_for: list[Node] = []
        for parameter in parameters:
            source = self._source(node, parameter, hints, resolved)
            if isinstance(source, FromResolver):
                waits_for.append(source.node)
                _require(parameter.name, source)
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                node.positional.append(source)
            elif not isinstance(source, FromDefault):
                node.keywords[parameter.name] = source
        for dependency in dict.fromkeys(waits_for):
            node.dependencies += 1
            dependency.dependents.append(node)
        return node

    def _source(
        self,
        node: Node,
        parameter: inspect.Parameter,
        hints: Mapping[str, Any],
        resolved: Mapping[str, tuple[Resolve, Want]],
    ) -> Source:
        name = parameter.name
        if name in resolved:
            marker, want = resolved[name]
            return FromResolver(self.visit(marker.fn), want)
        hint = hints.get(name)
        overlooked = hint is UNKNOWN and "Resolve" in str(parameter.annotation)
        if parameter.kind not in _COLLECTORS and not overlooked:
            if hint is not UNKNOWN and is_context_annotation(hint):
                return FromContext()
            if name in self._argument_names:
                return FromArgument(name)
            if parameter.default is not _EMPTY and hint is not UNKNOWN:
                return FromDefault(parameter.default)
        raise InvalidSignature(
            f"Resolver {node.name!r} parameter {name!r} cannot be resolved: expected a Context, an "
            "Annotated[_, Resolve(...)], or a tool argument by name"
        )


def _require(name: str, source: FromResolver) -> None:
    if source.want is not Want.OUTCOME and source.node.refused_for is None:
        source.node.refused_for = name


def _check_question(name: str, annotation: Any) -> None:
    """Check what a resolver says that it asks."""
    kinds = ((arm, get_origin(arm) or arm) for arm in arms_of(annotation))
    questions = {arm: kind for arm, kind in kinds if isinstance(kind, type) and kind in MARKER_TYPES}
    if len(questions) > 1:
        raise InvalidSignature(
            f"Resolver {name!r} return annotation has multiple Elicit/Sample/ListRoots arms; a resolver asks one "
            "question - split it into separate resolvers"
        )
    for arm, kind in questions.items():
        for schema in get_args(arm) if kind is Elicit else ():
            if not isinstance(schema, type):
                continue  # a type variable: known only when the question is asked
            try:
                _forms.Form(cast("type[BaseModel]", schema))
            except TypeError as error:
                raise InvalidSignature(f"Resolver {name!r}: {error}") from error
            except PydanticUserError:
                continue  # not fully defined yet


def never_waits(fn: Callable[..., Any]) -> bool:
    """Whether a callable is a coroutine function whose code has no `await` of any kind, as most that only ask have."""
    target: Any = underlying(fn)
    code: Any = getattr(getattr(target, "__func__", target), "__code__", None)
    if not inspect.iscoroutinefunction(target) or code is None or "GET_AWAITABLE" not in dis.opmap:
        return False
    return not any(instruction.opname in _WAITING for instruction in dis.get_instructions(code))


def _identity(fn: Callable[..., Any]) -> Hashable:
    """Two resolvers are one if they are the same object, or the method of that name of the same object."""
    owner: object = getattr(fn, "__self__", None)
    return id(fn) if owner is None else (id(owner), getattr(fn, "__name__", None) or id(fn))


def _name_keys(nodes: list[Node]) -> None:
    """Name each resolver by where its code is, and those of one name by their place in the graph.

    Nothing here may depend on the process: the state of a call is read by others.
    """
    taken: dict[str, int] = {}
    for node in nodes:
        target: Any = underlying(node.fn)
        name = getattr(target, "__qualname__", None)
        if not isinstance(name, str):
            target = cast("type[Any]", type(target))
            name = target.__qualname__
        module = getattr(target, "__module__", None)
        if not isinstance(module, str):  # a method of a built-in type
            module = type(getattr(target, "__self__", target)).__module__
        base = f"{module}:{name}"
        count = taken.get(base, 0)
        taken[base] = count + 1
        node.key = f"{base}#{count}" if count else base
