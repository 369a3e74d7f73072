"""Answers to what a server asks, given by the user's callbacks: one table for both eras."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ValidationError

import mcp_types as types
from mcp._protocol.era import LEGACY, MODERN, Era, era_of
from mcp._protocol.tool_results import check_conversation
from mcp.client._claims import Claims
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, ErrorData

SamplingRole: TypeAlias = types.Role
"""Who speaks in a message to or from a model."""

ContextT = TypeVar("ContextT")
AnswerT = TypeVar("AnswerT")

_ELICIT_RESULTS = (types.ElicitResult,)
_ROOTS_RESULTS = (types.ListRootsResult,)
_SAMPLING_RESULTS = (types.CreateMessageResult, types.CreateMessageResultWithTools)


@dataclass(slots=True, kw_only=True)
class Answers(Generic[ContextT]):
    """The callbacks that a client registered, and what registering them declares.

    Attributes:
        elicitation: Asks the user.
        sampling: Asks a model.
        sampling_capabilities: Refines what `sampling` declares.
        list_roots: Lists the roots.
        elicitation_capabilities: Refines what `elicitation` declares.
        claims: The extensions to declare, and the results that they claim.
    """

    elicitation: Callable[[ContextT, types.ElicitRequestParams], Awaitable[types.ElicitResult | ErrorData]] | None
    sampling: (
        Callable[
            [ContextT, types.CreateMessageRequestParams],
            Awaitable[types.CreateMessageResult | types.CreateMessageResultWithTools | ErrorData],
        ]
        | None
    )
    sampling_capabilities: types.SamplingCapability | None
    list_roots: Callable[[ContextT], Awaitable[types.ListRootsResult | ErrorData]] | None
    elicitation_capabilities: types.ElicitationCapability | None = None
    claims: Claims = field(default_factory=lambda: Claims(None, None))

    def capabilities(self, version: str, *, by_hand: bool = False) -> types.ClientCapabilities:
        """Say what this client can answer.

        Args:
            version: The protocol revision under which it says so.
            by_hand: Whether the caller answers this request's questions itself, whatever callbacks there are.
        """
        elicitation = sampling = roots = None
        if self.elicitation is not None or by_hand:
            elicitation = types.ElicitationCapability(
                form=types.FormElicitationCapability(), url=types.UrlElicitationCapability()
            )
            if self.elicitation_capabilities is not None and not by_hand:
                elicitation = self.elicitation_capabilities
        if self.sampling is not None:
            sampling = self.sampling_capabilities or types.SamplingCapability()
        elif by_hand:
            sampling = types.SamplingCapability()
        if self.list_roots is not None or by_hand:
            roots = types.RootsCapability(list_changed=True if era_of(version) is LEGACY else None)
        return types.ClientCapabilities(
            elicitation=elicitation, sampling=sampling, roots=roots, extensions=self.claims.declared(version)
        )

    def refusal(self, request: types.InputRequest, era: Era) -> ErrorData | None:
        """Say why a question is not answered at all, if it is not: nothing was declared that allows it."""
        code, text = INVALID_REQUEST, None
        if isinstance(request, types.ElicitRequest):
            if self.elicitation is None:
                text = "Elicitation not supported"
            elif not self._declares(request.params.mode):
                text = f"Elicitation mode {request.params.mode!r} not supported"
            if era is LEGACY or self.elicitation is not None:
                code = INVALID_PARAMS  # elicitation: "Error Handling": a mode that was not declared
        elif isinstance(request, types.CreateMessageRequest):
            tools = None if self.sampling_capabilities is None else self.sampling_capabilities.tools
            if self.sampling is None:
                text = "Sampling not supported"
            elif tools is None and not (request.params.tools is None and request.params.tool_choice is None):
                code, text = INVALID_PARAMS, "Sampling with tools not supported"
            else:
                code, text = INVALID_PARAMS, _misplaced_results(request.params)
        elif self.list_roots is None:
            text = "List roots not supported"
            if era is LEGACY:
                code = METHOD_NOT_FOUND  # roots: "Error Handling"
        return None if text is None else ErrorData(code=code, message=text)

    async def answer(self, context: ContextT, request: types.InputRequest) -> types.InputResponse | ErrorData:
        """Answer one question with the matching callback; an error where there is none."""
        refusal = self.refusal(request, MODERN)
        if refusal is not None:
            return refusal
        if isinstance(request, types.ElicitRequest):
            assert self.elicitation is not None
            return _without_content(request, await _awaitable(request, self.elicitation(context, request.params)))
        if isinstance(request, types.CreateMessageRequest):
            assert self.sampling is not None
            return await _awaitable(request, self.sampling(context, request.params))
        assert self.list_roots is not None
        return await _awaitable(request, self.list_roots(context))

    def _declares(self, mode: str) -> bool:
        declared = self.elicitation_capabilities
        if declared is None or (declared.form is None and declared.url is None):
            return True if declared is None else mode == "form"
        return getattr(declared, mode) is not None


def _misplaced_results(params: types.CreateMessageRequestParams) -> str | None:
    try:
        check_conversation(params.messages)
    except ValueError as error:
        return f"Invalid request parameters: {error}"
    return None


def _awaitable(request: types.InputRequest, answer: Awaitable[AnswerT]) -> Awaitable[AnswerT]:
    if not inspect.isawaitable(answer):
        raise TypeError(f"The callback for {request.method!r} must be an async function, and this one is not")
    return answer


def _without_content(request: types.InputRequest, answer: AnswerT) -> AnswerT:
    """The user answers at the URL; what is typed there is not for the wire (elicitation: URL mode)."""
    if isinstance(request.params, types.ElicitRequestURLParams) and isinstance(answer, types.ElicitResult):
        return answer.model_copy(update={"content": None})
    return answer


def check_answer(key: str, request: types.InputRequest, answer: object) -> types.InputResponse:
    """Check that a callback's answer is of the kind that was asked for; a dict in wire form is read.

    Raises:
        MCPError: The callback refused.
        TypeError: The answer is of another kind.
    """
    if isinstance(answer, ErrorData):
        raise MCPError(answer.code, answer.message, answer.data, is_local=True)
    kinds: tuple[type[BaseModel], ...]
    if isinstance(request, types.ElicitRequest):
        kinds = _ELICIT_RESULTS
    elif isinstance(request, types.CreateMessageRequest):
        kinds = _SAMPLING_RESULTS
    else:
        kinds = _ROOTS_RESULTS
    if isinstance(answer, kinds):
        return answer  # pyright: ignore[reportReturnType]  # the kinds are exactly the members of InputResponse
    if isinstance(answer, dict):
        for kind in kinds:
            try:
                read = kind.model_validate(answer)
            except ValidationError:
                continue
            return _without_content(request, read)  # pyright: ignore[reportArgumentType, reportReturnType]
    returned = type(cast("object", answer)).__name__
    expected = " or ".join(kind.__name__ for kind in kinds)
    raise TypeError(f"The callback for {request.method!r} (input request {key!r}) returned {returned}, not {expected}")
