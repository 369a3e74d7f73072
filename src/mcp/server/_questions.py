"""Questions to the client: what is sent, what it is recognised by, and how its answer is read."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

from pydantic import BaseModel, ValidationError
from typing_extensions import TypeVar

from mcp._protocol.codec import encode_input_request
from mcp.server._forms import canonical_json, fold_floats, form_of
from mcp.server.elicitation import (
    ElicitationResult,
    InvalidAnswerError,
    UrlElicitationResult,
    read_form_answer,
    read_url_answer,
)
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequest,
    InputResponse,
    ListRootsRequest,
    ListRootsResult,
)

OutcomeT = TypeVar("OutcomeT", default=Any, covariant=True)
ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Question(Generic[OutcomeT]):
    """One question to the client.

    Attributes:
        request: What is sent.
        digest: What it is recognised by: equal for questions that look equal on the modern wire.
        answer_type: The result that answers it.
        read: Turns a result into the outcome; raises `InvalidAnswerError`.
    """

    request: InputRequest
    digest: str
    answer_type: type[InputResponse]
    read: Callable[[InputResponse], OutcomeT]

    def decode(self, answer: dict[str, Any]) -> InputResponse:
        """Read a result in wire form.

        Raises:
            InvalidAnswerError: It is another kind of result.
        """
        try:
            return self.answer_type.model_validate(answer)
        except ValidationError:
            raise self.wrong_kind() from None

    def wrong_kind(self) -> InvalidAnswerError:
        """The error for an answer that is another kind of result."""
        if self.answer_type is ElicitResult:
            return InvalidAnswerError("received a non-elicitation response")
        return InvalidAnswerError("received a response of the wrong kind")


def form_question(message: str, schema: type[ModelT]) -> Question[ElicitationResult[ModelT]]:
    """Ask the user to fill in a form.

    Raises:
        TypeError: The schema is no model class, or has a field that no form can hold.
    """
    form = form_of(schema)
    request = ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=form.schema))
    # What `canonical_json` makes of the request, put together from parts: the schema's is made once for each class.
    params = f'"message":{canonical_json(message)},"mode":"form","requestedSchema":{form.canonical}'
    digest = _digest(f'{{"method":"elicitation/create","params":{{{params}}}}}')
    question: Question[ElicitationResult[ModelT]]

    def read(answer: InputResponse) -> ElicitationResult[ModelT]:
        if not isinstance(answer, ElicitResult):
            raise question.wrong_kind()
        return read_form_answer(form, answer)

    question = Question(request, digest, ElicitResult, read)
    return question


def url_question(message: str, url: str, elicitation_id: str | None = None) -> Question[UrlElicitationResult]:
    """Ask the user to visit a URL."""
    params = ElicitRequestURLParams(message=message, url=url, elicitation_id=elicitation_id)
    request = ElicitRequest(params=params)
    question: Question[UrlElicitationResult]

    def read(answer: InputResponse) -> UrlElicitationResult:
        if not isinstance(answer, ElicitResult):
            raise question.wrong_kind()
        return read_url_answer(answer)

    question = Question(request, digest_of(request), ElicitResult, read)
    return question


def sampling_question(
    params: CreateMessageRequestParams,
) -> Question[CreateMessageResult | CreateMessageResultWithTools]:
    """Ask the client's model. With tools, the answer is the result that can hold tool calls."""
    request = CreateMessageRequest(params=params)
    question: Question[CreateMessageResult | CreateMessageResultWithTools]
    answer_type = CreateMessageResultWithTools if uses_tools(params) else CreateMessageResult

    def read(answer: InputResponse) -> CreateMessageResult | CreateMessageResultWithTools:
        if isinstance(answer, answer_type):
            return answer
        if isinstance(answer, (CreateMessageResult, CreateMessageResultWithTools)):
            converted = question.decode(answer.model_dump(by_alias=True))
            assert isinstance(converted, answer_type)
            return converted
        raise question.wrong_kind()

    question = Question(request, digest_of(request), answer_type, read)
    return question


def roots_question() -> Question[ListRootsResult]:
    """Ask for the client's roots."""
    request = ListRootsRequest()
    question: Question[ListRootsResult]

    def read(answer: InputResponse) -> ListRootsResult:
        if not isinstance(answer, ListRootsResult):
            raise question.wrong_kind()
        return answer

    question = Question(request, digest_of(request), ListRootsResult, read)
    return question


def uses_tools(params: CreateMessageRequestParams) -> bool:
    """Whether a sampling request is one with tools (also with an empty list of them)."""
    return params.tools is not None or params.tool_choice is not None


def digest_of(request: InputRequest) -> str:
    """What a question is recognised by in sealed state."""
    return _digest(canonical_json(fold_floats(encode_input_request(request))))


def _digest(canonical: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(canonical.encode("ascii")).digest()[:16]).rstrip(b"=").decode("ascii")
