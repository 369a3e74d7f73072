"""Completion: suggestions while an argument is typed."""

from typing import Annotated, Literal

from pydantic import Field

from mcp_types._base import Request, RequestParams, Result
from mcp_types._model import MCPModel
from mcp_types._vocabulary import ResultType


class ResourceTemplateReference(MCPModel):
    """Names a resource or a resource template."""

    type: Literal["ref/resource"] = "ref/resource"
    uri: str
    """Its URI or URI template."""


class PromptReference(MCPModel):
    """Names a prompt."""

    type: Literal["ref/prompt"] = "ref/prompt"
    name: str
    """What programs call it."""
    title: str | None = None
    """What people call it."""


class CompletionArgument(MCPModel):
    """The argument that is being typed."""

    name: str
    value: str
    """What is there so far."""


class CompletionContext(MCPModel):
    """What else is known while an argument is typed."""

    arguments: dict[str, str] | None = None
    """The arguments that are already settled."""


class CompleteRequestParams(RequestParams):
    """Params of `completion/complete`."""

    ref: Annotated[ResourceTemplateReference | PromptReference, Field(discriminator="type")]
    """What the argument belongs to."""
    argument: CompletionArgument
    context: CompletionContext | None = None


class CompleteRequest(Request):
    """Asks for suggestions."""

    method: Literal["completion/complete"] = "completion/complete"
    params: CompleteRequestParams


class Completion(MCPModel):
    """Suggestions."""

    values: list[str]
    """At most 100, the best first."""
    total: int | None = None
    """How many there are, if known."""
    has_more: bool | None = None
    """Whether there are more than these."""


class CompleteResult(Result):
    """The answer to a request for suggestions."""

    completion: Completion
    result_type: ResultType = "complete"


__all__ = [
    "CompleteRequest",
    "CompleteRequestParams",
    "CompleteResult",
    "Completion",
    "CompletionArgument",
    "CompletionContext",
    "PromptReference",
    "ResourceTemplateReference",
]
