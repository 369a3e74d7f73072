"""Answering what a server asks on the way to a result: the client's side of multi-round-trip requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar, cast

import anyio
from pydantic import BaseModel

import mcp_types as types
from mcp._protocol.input_required import Answer, InputRequiredRoundsExceededError, Wait, input_required, with_answers
from mcp.client._answers import check_answer
from mcp.client.session import ClientRequestContext, ClientSession
from mcp_types import InputRequiredResult

__all__ = ["InputRequiredRoundsExceededError", "Send", "answer_all", "answer_rounds"]

ResultT = TypeVar("ResultT", bound=BaseModel)

Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[ResultT | InputRequiredResult]]


async def answer_rounds(
    session: ClientSession,
    send: Send[ResultT],
    params: dict[str, Any],
    result: ResultT | InputRequiredResult,
    max_rounds: int,
) -> ResultT:
    """Answer the server's questions with the session's callbacks until the result is final."""
    rounds = input_required(result, max_rounds)
    outcome: object = None
    while True:
        try:
            effect = rounds.send(outcome)
        except StopIteration as done:
            return cast("ResultT", done.value)
        if isinstance(effect, Answer):
            outcome = await answer_all(session, effect.requests)
        elif isinstance(effect, Wait):
            outcome = await anyio.sleep(effect.seconds)
        else:
            outcome = await send(with_answers(params, effect.responses, effect.state))


async def answer_all(session: ClientSession, requests: Mapping[str, types.InputRequest]) -> types.InputResponses:
    """Answer all questions of one round at the same time; the first refusal or failure ends the others.

    Raises:
        MCPError: A callback refused, or there is none.
        TypeError: A callback answered with something else than was asked for.
    """
    if len(requests) == 1:
        [(key, request)] = requests.items()
        return {key: await _answer(session, key, request)}
    responses: types.InputResponses = {}
    failures: list[BaseException] = []

    async def answer(key: str, request: types.InputRequest) -> None:
        try:
            responses[key] = await _answer(session, key, request)
        except anyio.get_cancelled_exc_class() as error:
            # Ours leaves the group by itself. That of something a callback awaited would pass for an orderly end.
            failures.append(error)
            raise
        except BaseException as error:
            failures.append(error)
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for key, request in requests.items():
            tasks.start_soon(answer, key, request)
    if failures:
        raise failures[0]
    return {key: responses[key] for key in requests}


async def _answer(session: ClientSession, key: str, request: types.InputRequest) -> types.InputResponse:
    meta = request.params.meta if request.params is not None else None
    context = ClientRequestContext(session=session, request_id=key, meta=meta)
    return check_answer(key, request, await session.dispatch_input_request(context, request))
