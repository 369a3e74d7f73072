"""Answering what a server asks on the way to a result: the client's side of multi-round-trip requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

import anyio
from pydantic import BaseModel

import mcp_types as types
from mcp.client._answers import check_answer
from mcp.client._params import with_answers
from mcp.client.session import ClientRequestContext, ClientSession
from mcp_types import InputRequiredResult

ResultT = TypeVar("ResultT", bound=BaseModel)

Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[ResultT | InputRequiredResult]]


class InputRequiredRoundsExceededError(RuntimeError):
    """The server kept asking for input past the client's limit."""

    def __init__(self, max_rounds: int, only_state: int = 0) -> None:
        text = (
            f"Server returned InputRequiredResult for more than {max_rounds} rounds; raise input_required_max_rounds "
            "on the Client, or use client.session.<method>(..., allow_input_required=True) to drive the loop manually."
        )
        if only_state:
            text += f" {only_state} of the rounds carried only state and asked nothing."
        super().__init__(text)
        self.max_rounds = max_rounds


async def answer_rounds(
    session: ClientSession,
    send: Send[ResultT],
    params: dict[str, Any],
    result: ResultT | InputRequiredResult,
    max_rounds: int,
) -> ResultT:
    """Answer the server's questions with the session's callbacks until the result is final."""
    wait = 0.05
    only_state = 0
    for _ in range(max_rounds):
        if not isinstance(result, InputRequiredResult):
            return result
        responses = None
        if result.input_requests:
            responses = await answer_all(session, result.input_requests)
            wait = 0.05
        else:
            only_state += 1
            await anyio.sleep(wait)
            wait = min(wait * 2, 0.25)
        result = await send(with_answers(params, responses, result.request_state))
    if isinstance(result, InputRequiredResult):
        raise InputRequiredRoundsExceededError(max_rounds, only_state)
    return result


async def answer_all(session: ClientSession, requests: types.InputRequests) -> types.InputResponses:
    """Answer all questions of one round at the same time; the first refusal or failure ends the others.

    Raises:
        MCPError: A callback refused, or there is none.
        TypeError: A callback answered with something else than was asked for.
    """
    if len(requests) == 1:
        [(key, request)] = requests.items()
        return {key: await _answer(session, key, request)}
    responses: types.InputResponses = {}
    failures: list[Exception] = []

    async def answer(key: str, request: types.InputRequest) -> None:
        try:
            responses[key] = await _answer(session, key, request)
        except Exception as error:
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
