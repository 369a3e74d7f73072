"""Ask the client while a request runs: now, where the protocol has a way (legacy), or with the result (modern).

Whoever asks walks the same way in both eras; which `Ask` it was given decides how the question travels.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar, cast
from uuid import uuid4

import anyio

import mcp_types as types
from mcp._protocol.capabilities import missing_capability
from mcp._protocol.legacy_questions import write_question
from mcp._protocol.metadata import ClientFacts
from mcp.server._questions import Question
from mcp.server.elicitation import InvalidAnswerError
from mcp.shared.exceptions import MCPError, NoBackChannelError, UrlElicitationRequiredError
from mcp_types import INTERNAL_ERROR, MISSING_REQUIRED_CLIENT_CAPABILITY
from mcp_types.methods import INPUT_REQUIRED_METHODS

logger = logging.getLogger(__name__)

OutcomeT = TypeVar("OutcomeT")

_CHANGED: Final = "the question changed since it was asked"
_NO_STATE: Final = "it came without the state that asked for it"


class Unanswered(Exception):
    """No failure: the question travels with the result, and whoever needs its answer stops here."""


class Ask(Protocol):
    """Puts one question to the client."""

    async def __call__(self, key: str, question: Question[OutcomeT]) -> OutcomeT:
        """Return what became of the question.

        Args:
            key: Names the one who asks, the same in every round and process.
            question: What is asked.

        Raises:
            Unanswered: It will be answered in a later round.
            InvalidAnswerError: It was answered with something that is no answer.
            MCPError: It cannot be asked, or the client answered with an error.
        """
        ...


class AskNow:
    """Sends each question and waits for its answer (legacy), one at a time.

    Args:
        send: The scope's way to ask; `None` where the transport has none.
        client: What the client said about itself.
        max_answer_retries: How often a question is asked again after an answer that cannot be used.
        asker: What its keys name, for error texts.
    """

    __slots__ = ("_asker", "_client", "_lock", "_max_answer_retries", "_send")

    def __init__(
        self,
        send: Callable[[str, dict[str, Any] | None], Awaitable[dict[str, Any]]] | None,
        client: ClientFacts,
        max_answer_retries: int = 0,
        asker: str = "resolver",
    ) -> None:
        self._asker = asker
        self._send = send
        self._client = client
        self._max_answer_retries = max_answer_retries
        self._lock = anyio.Lock()

    async def __call__(self, key: str, question: Question[OutcomeT]) -> OutcomeT:
        """Send the question, again if need be, and return what became of it."""
        request = question.request()
        if self._send is None:
            raise NoBackChannelError(request.method)
        require(question.missing_capability(self._client.capabilities), f"{self._asker} {key!r}")
        for retries_left in range(self._max_answer_retries, -1, -1):
            params = write_question(request.method, request.params, self._client.version)
            async with self._lock:
                answer = await self._exchange(key, request.method, params)
            try:
                return question.read(question.decode(answer))
            except InvalidAnswerError as error:
                if not retries_left:
                    raise
                request = with_advice(question.request(), error.advice)
        raise AssertionError("unreachable")  # pragma: no cover

    async def _exchange(self, key: str, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        assert self._send is not None
        try:
            return await self._send(method, params)
        except MCPError as error:
            # The client's -32601 is about the question; passed on, it would read as if the call were unknown.
            original = error.error.model_dump(mode="json", by_alias=True, exclude_none=True)
            raise MCPError(
                INTERNAL_ERROR, f"The client answered the question of {self._asker} {key!r} with an error", original
            ) from error


@dataclass(slots=True)
class Answer:
    """An answer that came with this request or was recorded by an earlier round.

    Attributes:
        digest: The question that it answers.
        wire: The answer in wire form, `None` until it is needed.
        response: The answer as read from this request, `None` if it was recorded.
    """

    digest: str
    wire: dict[str, Any] | None = None
    response: types.InputResponse | None = None


class Record:
    """What a call has asked and learned so far; it travels in the sealed state.

    Attributes:
        asked: The digest of each question that is with the client now.
        answers: Each answer with the digest of its question.
        changed: How often an answer was discarded, because it was to another question.
        refused: How often a first answer could not be used.
        warned: Whether the log has a warning about a question that keeps changing.
        once: What `ctx.once` has recorded.
        places: Where in a resumable body a question was asked.
    """

    __slots__ = ("answers", "asked", "changed", "once", "places", "refused", "warned")

    def __init__(self, *, warned: bool = False) -> None:
        self.asked: dict[str, str] = {}
        self.answers: dict[str, Answer] = {}
        self.changed: dict[str, int] = {}
        self.refused: dict[str, int] = {}
        self.once: dict[str, Any] = {}
        self.places: dict[str, str] = {}
        self.warned = warned


class AskLater:
    """Answers a question from what the client has sent, or notes it for the result (modern).

    Args:
        record: What earlier rounds asked and learned.
        responses: The answers that came with this request.
        capabilities: What the client declared with this request.
        max_answer_retries: How often a question is asked again after an answer that cannot be used.

    Attributes:
        pending: The questions that the result must carry, each with what to tell the user about their last answer.
        record: What this round adds to the record.
    """

    __slots__ = ("_capabilities", "_max_answer_retries", "_unasked", "pending", "record")

    def __init__(
        self,
        record: Record,
        responses: Mapping[str, types.InputResponse] | None,
        capabilities: types.ClientCapabilities,
        max_answer_retries: int,
    ) -> None:
        self.record = record
        self.pending: dict[str, tuple[Question[Any], str | None]] = {}
        self._capabilities = capabilities
        self._max_answer_retries = max_answer_retries
        self._unasked: set[str] = set()
        # Every answer belongs to the question that the sealed state says was asked under its key, and to no other.
        for key, response in (responses or {}).items():
            digest = record.asked.get(key)
            if digest is not None:
                record.answers[key] = Answer(digest, response=response)
            elif key not in record.answers:
                self._unasked.add(key)
        record.asked = {}

    async def __call__(self, key: str, question: Question[OutcomeT]) -> OutcomeT:
        """Return what became of the question if that is known; note it otherwise."""
        advice: str | None = None
        answer = self.record.answers.get(key)
        if answer is not None:
            if answer.digest == question.digest:
                try:
                    return question.read(self._response(question, answer))
                except InvalidAnswerError as error:
                    advice = self._refused(key, answer, error)
            else:
                self._discarded(key, _CHANGED)
            del self.record.answers[key]
        elif key in self._unasked:
            self._discarded(key, _NO_STATE)
        require(question.missing_capability(self._capabilities), f"resolver {key!r}")
        self.pending[key] = question, advice
        self.record.asked[key] = question.digest
        raise Unanswered

    def _response(self, question: Question[Any], answer: Answer) -> types.InputResponse:
        if answer.response is not None:
            return answer.response
        assert answer.wire is not None
        return question.decode(answer.wire)

    def _refused(self, key: str, answer: Answer, error: InvalidAnswerError) -> str | None:
        """Decide about an answer that cannot be used: ask again, with advice to the user if it is new, or fail."""
        if answer.response is None:
            return None  # it was good when it came: the server has changed since
        refused = self.record.refused.get(key, 0)
        if refused >= self._max_answer_retries:
            raise error
        self.record.refused[key] = refused + 1
        return error.advice

    def _discarded(self, key: str, reason: str) -> None:
        """Log an answer to another question; loudly, once for each call, if it is not the first of its resolver."""
        count = self.record.changed[key] = self.record.changed.get(key, 0) + 1
        if count < 2 or self.record.warned:
            logger.info("Discarding the answer for resolver %r: %s", key, reason)
            return
        self.record.warned = True
        logger.warning(
            "Discarding the answer for resolver %r: %s. This is not the first time: derive questions from arguments "
            "and earlier answers only, since one that differs in every round can never be answered.",
            key,
            reason,
        )


def with_advice(request: types.InputRequest, advice: str | None) -> types.InputRequest:
    """Repeat a question with a word on why the last answer would not do, if there is one to say."""
    if advice is not None and isinstance(request, types.ElicitRequest):
        params = request.params.model_copy(update={"message": f"{advice} {request.params.message}"})
        return types.ElicitRequest(params=params)
    return request


def require(missing: tuple[str, dict[str, Any]] | None, needed_by: str) -> None:
    """Refuse to ask a client that did not declare that it can be asked this.

    Args:
        missing: What `missing_capability` says about it.
        needed_by: Who asks.

    Raises:
        MCPError: `-32021`, it did not.
    """
    if missing is not None:
        name, required = missing
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"Client did not declare the {name} capability required by {needed_by}",
            {"requiredCapabilities": required},
        )


def check_input_requests(result: types.InputRequiredResult, capabilities: types.ClientCapabilities) -> None:
    """Check that the client declared that it can be asked everything that a result asks.

    Raises:
        MCPError: `-32021`, it did not.
    """
    for key, request in (result.input_requests or {}).items():
        require(missing_capability(request, capabilities), f"input request {key!r}")


# A handler that needs the user to visit a URL may say so by an exception. Legacy revisions know an error for it; on
# modern connections the same URLs are asked for with the result.


def carry_state(error: UrlElicitationRequiredError, state: str) -> None:
    """Give the exception the state that must be there again when the request comes back."""
    error.__dict__["request_state"] = state


def url_elicitation_to_input_required(
    error: UrlElicitationRequiredError,
    capabilities: types.ClientCapabilities,
    *,
    method: str,
    params: Mapping[str, Any] | None,
) -> types.InputRequiredResult | types.CallToolResult:
    """Turn the exception of a modern request's handler into the result that asks its URLs.

    Args:
        error: What the handler raised.
        capabilities: What the client declared with the request.
        method: The request's method.
        params: The request's params in wire form, with the state in plain text.

    Returns:
        The questions; or, if the user said no to one of them before, a tool's error result.

    Raises:
        MCPError: `-32021` if the client does not open URLs, `-32603` if the request cannot ask or the user said no.
    """
    if method not in INPUT_REQUIRED_METHODS or not error.elicitations:
        raise MCPError(INTERNAL_ERROR, error.message) from error
    params = params or {}
    responses: Any = params.get("inputResponses")
    requests: dict[str, types.InputRequest] = {}
    for wanted in error.elicitations:
        key = f"url:{wanted.url if wanted.elicitation_id is None else wanted.elicitation_id}"
        response: Any = cast("dict[str, Any]", responses).get(key) if isinstance(responses, dict) else None
        action: Any = cast("dict[str, Any]", response).get("action") if isinstance(response, dict) else None
        if action in ("decline", "cancel"):
            return _refused_url(action, method, params, error)
        requests[key] = types.ElicitRequest(params=wanted)
    state: Any = error.__dict__.get("request_state", params.get("requestState"))
    result = types.InputRequiredResult(input_requests=requests, request_state=state if isinstance(state, str) else None)
    check_input_requests(result, capabilities)
    return result


def legacy_url_elicitation(error: MCPError) -> MCPError:
    """Write an error of code `-32042` for a legacy session: it lists the URLs to visit, each under a name.

    Returns:
        The error itself if it is well-formed, one that names what its author left unnamed, or `-32603` if it lists
        nothing: the code stands for nothing else (elicitation: "URL Elicitation Required Error").
    """
    try:
        wanted = UrlElicitationRequiredError.from_error(error.error).elicitations
    except ValueError:
        wanted = []
    if not wanted:
        return MCPError(INTERNAL_ERROR, error.message)
    if all(params.elicitation_id is not None for params in wanted):
        return error
    return UrlElicitationRequiredError([named_url(params) for params in wanted], error.message)


def named_url(params: types.ElicitRequestURLParams) -> types.ElicitRequestURLParams:
    """Give a question by URL the name that only legacy revisions know, if its author gave it none."""
    if params.elicitation_id is not None:
        return params
    return params.model_copy(update={"elicitation_id": uuid4().hex})


def _refused_url(
    action: str, method: str, params: Mapping[str, Any], error: UrlElicitationRequiredError
) -> types.CallToolResult:
    text = f"URL elicitation was {action}"
    if method != "tools/call":
        raise MCPError(INTERNAL_ERROR, text) from error
    content = types.TextContent(type="text", text=f"Error executing tool {params.get('name')}: {text}")
    return types.CallToolResult(content=[content], is_error=True)
