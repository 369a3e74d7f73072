"""Questions to the client: what is sent, what it is recognised by, and how its answer is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic

from pydantic import BaseModel, ValidationError
from typing_extensions import TypeVar

import mcp_types as types
from mcp._protocol.canonical import canonical_json, digest
from mcp._protocol.capabilities import missing_capability, missing_elicitation
from mcp._protocol.codec import encode_input_request, form_request
from mcp.server._forms import Form
from mcp.server.elicitation import (
    ElicitationResult,
    InvalidAnswerError,
    UrlElicitationResult,
    read_form_answer,
    read_url_answer,
)

OutcomeT = TypeVar("OutcomeT", default=Any, covariant=True)
ModelT = TypeVar("ModelT", bound=BaseModel)


class Question(ABC, Generic[OutcomeT]):
    """One question to the client.

    Attributes:
        digest: What it is recognised by: equal for questions that look equal on the modern wire.
    """

    __slots__ = ("digest",)

    digest: str

    @abstractmethod
    def request(self) -> types.InputRequest:
        """Return what is sent. Only then it is made: a question that is answered already is merely recognised."""

    def wire(self) -> dict[str, Any]:
        """Return what is sent on the modern wire."""
        return encode_input_request(self.request())

    def missing_capability(self, declared: types.ClientCapabilities) -> tuple[str, dict[str, Any]] | None:
        """Say which capability it needs that the client did not declare, as `capabilities.missing_capability` does."""
        return missing_capability(self.request(), declared)

    @abstractmethod
    def decode(self, answer: dict[str, Any]) -> types.InputResponse:
        """Turn a result in wire form into its model.

        Raises:
            InvalidAnswerError: It is another kind of result.
        """

    @abstractmethod
    def read(self, answer: types.InputResponse) -> OutcomeT:
        """Turn a result into the outcome.

        Raises:
            InvalidAnswerError: It cannot be used.
        """


class _Elicitation(Question[OutcomeT]):
    """A question to the user."""

    __slots__ = ()

    def decode(self, answer: dict[str, Any]) -> types.ElicitResult:
        """Turn a result in wire form into its model."""
        try:
            return types.ElicitResult.model_validate(answer)
        except ValidationError:
            raise _no_elicitation() from None


class FormQuestion(_Elicitation[ElicitationResult[ModelT]]):
    """Asks the user to fill in a form.

    Raises:
        TypeError: The message is no text, or the schema no model class, or it has a field that no form can hold.
    """

    __slots__ = ("_form", "_message")

    def __init__(self, message: str, schema: type[ModelT]) -> None:
        if not isinstance(message, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"The message of a question must be a str, got {type(message).__name__}")
        self._form = Form(schema)
        self._message = message
        # What `canonical_json` makes of the request, put together: the schema's part is made once for each class.
        self.digest = digest(
            b'{"method":"elicitation/create","params":{"message":%b,"mode":"form","requestedSchema":%b}}'
            % (canonical_json(message), self._form.rendered.canonical)
        )

    def request(self) -> types.ElicitRequest:
        """Return what is sent."""
        return types.ElicitRequest(
            params=types.ElicitRequestFormParams(message=self._message, requested_schema=self._form.schema())
        )

    def wire(self) -> dict[str, Any]:
        """Return what is sent on the modern wire."""
        return form_request(self._message, self._form.modern_schema())

    def missing_capability(self, declared: types.ClientCapabilities) -> tuple[str, dict[str, Any]] | None:
        """Say which capability it needs that the client did not declare."""
        return missing_elicitation("form", declared)

    def read(self, answer: types.InputResponse) -> ElicitationResult[ModelT]:
        """Turn a result into the outcome."""
        if not isinstance(answer, types.ElicitResult):
            raise _no_elicitation()
        return read_form_answer(self._form, answer)


class UrlQuestion(_Elicitation[UrlElicitationResult]):
    """Asks the user to visit a URL."""

    __slots__ = ("_params",)

    def __init__(self, message: str, url: str, elicitation_id: str | None = None) -> None:
        self._params = types.ElicitRequestURLParams(message=message, url=url, elicitation_id=elicitation_id)
        self.digest = digest_of(self.request())

    def request(self) -> types.ElicitRequest:
        """Return what is sent."""
        return types.ElicitRequest(params=self._params)

    def read(self, answer: types.InputResponse) -> UrlElicitationResult:
        """Turn a result into the outcome."""
        if not isinstance(answer, types.ElicitResult):
            raise _no_elicitation()
        return read_url_answer(answer)


class RawElicitation(_Elicitation["types.ElicitResult"]):
    """Asks the user what somebody wrote without a model; the outcome is the answer as it came."""

    __slots__ = ("_request",)

    def __init__(self, request: types.ElicitRequest) -> None:
        self._request = request
        self.digest = digest_of(request)

    def request(self) -> types.ElicitRequest:
        """Return what is sent."""
        return self._request

    def read(self, answer: types.InputResponse) -> types.ElicitResult:
        """Turn a result into the outcome."""
        if not isinstance(answer, types.ElicitResult):
            raise _no_elicitation()
        return answer


class SamplingQuestion(Question["types.CreateMessageResult | types.CreateMessageResultWithTools"]):
    """Asks the client's model. With tools, the answer is the result that can hold tool calls."""

    __slots__ = ("_answer_type", "_params")

    def __init__(self, params: types.CreateMessageRequestParams) -> None:
        with_tools = params.tools is not None or params.tool_choice is not None
        self._answer_type = types.CreateMessageResultWithTools if with_tools else types.CreateMessageResult
        self._params = params
        self.digest = digest_of(self.request())

    def request(self) -> types.CreateMessageRequest:
        """Return what is sent."""
        return types.CreateMessageRequest(params=self._params)

    def decode(self, answer: dict[str, Any]) -> types.CreateMessageResult | types.CreateMessageResultWithTools:
        """Turn a result in wire form into its model."""
        try:
            return self._answer_type.model_validate(answer)
        except ValidationError:
            raise _wrong_kind() from None

    def read(self, answer: types.InputResponse) -> types.CreateMessageResult | types.CreateMessageResultWithTools:
        """Turn a result into the outcome."""
        if isinstance(answer, self._answer_type):
            return answer
        if isinstance(answer, (types.CreateMessageResult, types.CreateMessageResultWithTools)):
            # What kind it is was guessed from its content: one piece fits both.
            return self.decode(answer.model_dump(by_alias=True))
        raise _wrong_kind()


class RootsQuestion(Question["types.ListRootsResult"]):
    """Asks for the client's roots."""

    __slots__ = ()

    def __init__(self) -> None:
        self.digest = digest_of(self.request())

    def request(self) -> types.ListRootsRequest:
        """Return what is sent."""
        return types.ListRootsRequest()

    def decode(self, answer: dict[str, Any]) -> types.ListRootsResult:
        """Turn a result in wire form into its model."""
        try:
            return types.ListRootsResult.model_validate(answer)
        except ValidationError:
            raise _wrong_kind() from None

    def read(self, answer: types.InputResponse) -> types.ListRootsResult:
        """Turn a result into the outcome."""
        if not isinstance(answer, types.ListRootsResult):
            raise _wrong_kind()
        return answer


def question_of(request: types.InputRequest) -> Question[types.InputResponse]:
    """The question that a request puts."""
    if isinstance(request, types.ElicitRequest):
        return RawElicitation(request)
    return SamplingQuestion(request.params) if isinstance(request, types.CreateMessageRequest) else RootsQuestion()


def digest_of(request: types.InputRequest) -> str:
    """What a question is recognised by in sealed state."""
    return digest(canonical_json(encode_input_request(request)))


def _no_elicitation() -> InvalidAnswerError:
    return InvalidAnswerError("received a non-elicitation response")


def _wrong_kind() -> InvalidAnswerError:
    return InvalidAnswerError("received a response of the wrong kind")
