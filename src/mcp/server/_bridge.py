"""Questions that a handler returns, put to a client of the handshake era while its call waits.

On modern connections the client drives the rounds. Here the server does it by the same rules, so that the handler sees
what it would see there: it is called again with the answers and the state that it returned.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import anyio

import mcp_types as types
from mcp._protocol.capabilities import missing_capability
from mcp._protocol.input_required import Answer, InputRequiredRoundsExceededError, Wait, input_required, with_answers
from mcp.server._asking import AskNow, named_url, require
from mcp.server._questions import question_of
from mcp.server.context import ServerRequestContext
from mcp.server.elicitation import InvalidAnswerError
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import INTERNAL_ERROR

logger = logging.getLogger(__name__)

MAX_ROUNDS: Final = 10
"""How often a handler is called again, as often as clients do by default."""

_ASKER: Final = "input request"

Context: TypeAlias = ServerRequestContext[Any, Any]


async def answer_live(call: Callable[[Context], Awaitable[object]], ctx: Context, result: object) -> object:
    """Ask what a handler wants to know and call it again, until its result is final.

    Args:
        call: Calls the handler.
        ctx: The request.
        result: What the handler returned the first time.

    Raises:
        MCPError: A question cannot be asked or was not answered, or the handler asks for ever.
        Exception: Whatever the handler raised.
    """
    rounds = input_required(result, MAX_ROUNDS)
    outcome: object = None
    while True:
        try:
            effect = rounds.send(outcome)
        except StopIteration as done:
            return done.value
        except InputRequiredRoundsExceededError:
            logger.error("The handler for %r still asks for input after %d rounds", ctx.method, MAX_ROUNDS)
            raise MCPError(INTERNAL_ERROR, f"Handler still asked for input after {MAX_ROUNDS} rounds") from None
        if isinstance(effect, Answer):
            outcome = await _ask(ctx, effect.requests)
        elif isinstance(effect, Wait):
            outcome = await anyio.sleep(effect.seconds)
        else:
            # The request as a modern client would send it again.
            outcome = await call(ctx.with_params(with_answers(ctx.params or {}, effect.responses, effect.state)))


async def _ask(ctx: Context, requests: Mapping[str, types.InputRequest]) -> dict[str, types.InputResponse]:
    """Put the questions of one round to the client, one at a time; none at all if one of them cannot be asked."""
    scope = ctx.session.scope
    capabilities = scope.client.capabilities
    for key, request in requests.items():
        if scope.ask is None:
            raise NoBackChannelError(request.method)
        require(missing_capability(request, capabilities), f"{_ASKER} {key!r}")
    ask = AskNow(scope.ask, scope.client, asker=_ASKER)
    responses: dict[str, types.InputResponse] = {}
    for key, request in requests.items():
        try:
            responses[key] = await ask(key, question_of(_named(request)))
        except InvalidAnswerError as error:
            raise MCPError(INTERNAL_ERROR, f"{_ASKER.capitalize()} {key!r} {error.problem}") from None
    return responses


def _named(request: types.InputRequest) -> types.InputRequest:
    """Give a question by URL the name that only legacy revisions know, if its author gave it none."""
    if isinstance(request.params, types.ElicitRequestURLParams):
        return types.ElicitRequest(params=named_url(request.params))
    return request
