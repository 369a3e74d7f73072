"""Answers to what a server asks, given by the user's callbacks: one table for both eras."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ValidationError

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, ErrorData

SamplingRole: TypeAlias = types.Role
"""Who speaks in a message to or from a model."""

ContextT = TypeVar("ContextT")

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
        extensions: The extensions to declare, with their settings.
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
    extensions: dict[str, dict[str, Any]] | None = None

    def capabilities(self, *, by_hand: bool = False) -> types.ClientCapabilities:
        """Say what this client can answer in the modern era.

        Args:
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
            roots = types.RootsCapability()
        return types.ClientCapabilities(
            elicitation=elicitation, sampling=sampling, roots=roots, extensions=self.extensions or None
        )

    async def answer(self, context: ContextT, request: types.InputRequest) -> types.InputResponse | ErrorData:
        """Answer one question with the matching callback; an error where there is none."""
        if isinstance(request, types.ElicitRequest):
            if self.elicitation is None:
                return ErrorData(code=INVALID_REQUEST, message="Elicitation not supported")
            result = await self.elicitation(context, request.params)
            if isinstance(request.params, types.ElicitRequestURLParams) and isinstance(result, types.ElicitResult):
                # The user answered at the URL; what is typed there is not for the wire (elicitation: URL mode).
                return result.model_copy(update={"content": None})
            return result
        if isinstance(request, types.CreateMessageRequest):
            if self.sampling is None:
                return ErrorData(code=INVALID_REQUEST, message="Sampling not supported")
            return await self.sampling(context, request.params)
        if self.list_roots is None:
            return ErrorData(code=INVALID_REQUEST, message="List roots not supported")
        return await self.list_roots(context)


def check_answer(key: str, request: types.InputRequest, answer: object) -> types.InputResponse:
    """Check that a callback's answer is of the kind that was asked for; a dict in wire form is read.

    Raises:
        MCPError: The callback refused.
        TypeError: The answer is of another kind.
    """
    if isinstance(answer, ErrorData):
        raise MCPError(answer.code, answer.message, answer.data)
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
                return kind.model_validate(answer)  # pyright: ignore[reportReturnType]
            except ValidationError:
                continue
    returned = type(cast("object", answer)).__name__
    expected = " or ".join(kind.__name__ for kind in kinds)
    raise TypeError(f"The callback for {request.method!r} (input request {key!r}) returned {returned}, not {expected}")
