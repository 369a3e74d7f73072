"""Answering the requests that a server sends in a handshake-era session."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Generic, TypeVar, cast

from pydantic import ValidationError

import mcp_types as types
from mcp._engine.connection import Work
from mcp._protocol.era import LEGACY
from mcp._protocol.errors import invalid_params, method_not_found, to_error
from mcp._protocol.jsonrpc import Request
from mcp._protocol.legacy_questions import write_answer
from mcp.client._answers import Answers, check_answer
from mcp.shared.exceptions import MCPError
from mcp_types import ErrorData, RequestId, RequestParamsMeta
from mcp_types.jsonrpc import INTERNAL_ERROR
from mcp_types.methods import MONOLITH_REQUESTS, SERVER_REQUESTS
from mcp_types.version import LATEST_HANDSHAKE_VERSION

logger = logging.getLogger(__name__)

ContextT = TypeVar("ContextT")


class Questions(Generic[ContextT]):
    """Answers each request with the callback for it; a modern server may send none.

    Args:
        answers: The callbacks.
        make_context: Makes what a callback knows about a question, from its id and metadata.
        answer: Answers one question with the callbacks.
        version: Tells the negotiated revision; `None` before there is one.
    """

    def __init__(
        self,
        answers: Answers[ContextT],
        make_context: Callable[[RequestId, RequestParamsMeta | None], ContextT],
        answer: Callable[[ContextT, types.InputRequest], Awaitable[types.InputResponse | ErrorData]],
        version: Callable[[], str | None],
    ) -> None:
        self._answers = answers
        self._make_context = make_context
        self._answer = answer
        self._version = version

    def admit(self, request: Request) -> Work:
        """Accept a request, if the negotiated revision lets a server send it."""
        if (request.method, self._version() or LATEST_HANDSHAKE_VERSION) not in SERVER_REQUESTS:
            raise method_not_found(request.method)
        return partial(self._handle, request)

    async def _handle(self, request: Request) -> dict[str, Any]:
        if request.method == "ping":
            return {}
        message = {"method": request.method, "params": request.params}
        try:
            question = cast("types.InputRequest", MONOLITH_REQUESTS[request.method].model_validate(message))
        except ValidationError as error:
            raise invalid_params(error) from None
        refusal = self._answers.refusal(question, LEGACY)
        if refusal is not None:
            raise MCPError.from_error_data(refusal)
        meta = question.params.meta if question.params is not None else None
        try:
            answer = await self._answer(self._make_context(request.request_id, meta), question)
        except MCPError as error:
            raise to_error(error) from None
        except Exception:
            # What went wrong here is the client's own business (errors: nothing internal leaves).
            logger.exception("handler for %r raised", request.method)
            raise MCPError(INTERNAL_ERROR, "The client's callback failed") from None
        try:
            checked = check_answer(str(request.request_id), question, answer)
        except TypeError:
            logger.exception("The callback for %r returned something else than an answer", request.method)
            raise MCPError(INTERNAL_ERROR, "Client callback returned an invalid result") from None
        return write_answer(request.method, checked, self._version() or LATEST_HANDSHAKE_VERSION)
