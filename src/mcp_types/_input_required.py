"""Multi round-trip requests: a result that asks the client for something first."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias, cast

from pydantic import Discriminator, Field, Tag, model_validator

from mcp_types._base import RequestParams, Result
from mcp_types._elicitation import ElicitRequest, ElicitResult
from mcp_types._roots import ListRootsRequest, ListRootsResult
from mcp_types._sampling import CreateMessageRequest, CreateMessageResult, CreateMessageResultWithTools

InputRequest = CreateMessageRequest | ListRootsRequest | ElicitRequest
"""Something that a server can ask of a client."""

InputRequests = dict[str, InputRequest]
"""What a server asks, under keys of its own choice."""

InputResponse = CreateMessageResult | CreateMessageResultWithTools | ListRootsResult | ElicitResult
"""What a client can answer."""

InputResponses = dict[str, InputResponse]
"""A client's answers, under the keys of what they answer."""

_RESPONSES: Final[dict[str, type[Result]]] = {
    "sampling": CreateMessageResult,
    "sampling_with_tools": CreateMessageResultWithTools,
    "roots": ListRootsResult,
    "elicitation": ElicitResult,
}


def response_kind(value: object) -> str | None:
    """Name the kind of an answer, which nothing in it states, by the members that only that kind must have."""
    if not isinstance(value, Mapping):
        return next((kind for kind, model in _RESPONSES.items() if isinstance(value, model)), None)
    answer = cast("Mapping[str, object]", value)
    if "model" in answer and "role" in answer:
        content = answer.get("content")
        if isinstance(content, Mapping):
            content_type = cast("Mapping[str, object]", content).get("type")
        else:
            content_type = getattr(content, "type", None)
        return "sampling" if content_type in ("text", "image", "audio") else "sampling_with_tools"
    if "roots" in answer:
        return "roots"
    return "elicitation" if "action" in answer else None


# The public aliases are plain unions; fields use these, which pick the one member to try.
AnyInputRequest: TypeAlias = Annotated[InputRequest, Field(discriminator="method")]
AnyInputResponse: TypeAlias = Annotated[
    Annotated[CreateMessageResult, Tag("sampling")]
    | Annotated[CreateMessageResultWithTools, Tag("sampling_with_tools")]
    | Annotated[ListRootsResult, Tag("roots")]
    | Annotated[ElicitResult, Tag("elicitation")],
    Discriminator(
        response_kind,
        custom_error_type="input_response",
        custom_error_message="An input response is the result of elicitation, sampling or listing roots",
    ),
]


class InputRequiredResult(Result):
    """A result that is not the end: the client answers the questions and sends its request again.

    At least one of the two members is needed.
    """

    result_type: Literal["input_required"] = "input_required"
    input_requests: dict[str, AnyInputRequest] | None = None
    """The questions, under keys that the answers repeat."""
    request_state: str | None = None
    """What the server wants to know when the request comes again. Only the server reads it."""

    @model_validator(mode="after")
    def _require_a_member(self) -> "InputRequiredResult":
        if not self.input_requests and self.request_state is None:
            raise ValueError("InputRequiredResult requires at least one of input_requests or request_state")
        return self


class InputResponseRequestParams(RequestParams):
    """Params of a request that may be answered with `InputRequiredResult`."""

    input_responses: dict[str, AnyInputResponse] | None = None
    """The client's answers. None when the request is sent for the first time."""
    request_state: str | None = None
    """The state from the result that asked, exactly as it came."""


__all__ = [
    "InputRequest",
    "InputRequests",
    "InputRequiredResult",
    "InputResponse",
    "InputResponseRequestParams",
    "InputResponses",
]
