"""The client's rounds of a multi-round-trip request (patterns: "Multi Round-Trip Requests").

The loop is a generator: it yields what to do next and is sent what came of it; the driver owns tasks and time.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import mcp_types as types
from mcp._protocol.codec import encode_input_responses

FinalT = TypeVar("FinalT")

FIRST_WAIT_SECONDS = 0.05
LONGEST_WAIT_SECONDS = 0.25

_ROUND_MEMBERS = ("inputResponses", "requestState")


class InputRequiredRoundsExceededError(RuntimeError):
    """The server kept asking for input past the client's limit.

    Args:
        max_rounds: The limit.
        state_only_rounds: How many of the rounds asked nothing and only carried state.

    Attributes:
        max_rounds: The limit.
    """

    def __init__(self, max_rounds: int, *, state_only_rounds: int = 0) -> None:
        text = (
            f"Server returned InputRequiredResult for more than {max_rounds} rounds; raise input_required_max_rounds "
            "on the Client, or use client.session.<method>(..., allow_input_required=True) to drive the loop manually."
        )
        if state_only_rounds:
            text += f" {state_only_rounds} of the rounds asked nothing and only carried state."
        super().__init__(text)
        self.max_rounds = max_rounds


class Answer(NamedTuple):
    """Have these questions answered, all at the same time; send back the answers under the same keys."""

    requests: Mapping[str, types.InputRequest]


class Wait(NamedTuple):
    """Wait; send back anything."""

    seconds: float


class Send(NamedTuple):
    """Send the request again, under a new id, with these members; send back the result.

    Attributes:
        responses: The answers; `None` leaves the member out.
        state: What the server wants back, exactly as it came; `None` leaves the member out.
    """

    responses: Mapping[str, types.InputResponse] | None
    state: str | None


Effect: TypeAlias = Answer | Wait | Send


def input_required(result: FinalT | types.InputRequiredResult, max_rounds: int) -> Generator[Effect, Any, FinalT]:
    """Go on with a request until its result is final.

    Args:
        result: What the first request was answered with.
        max_rounds: How many times the request may be sent again; with 0 no question is ever answered.

    Raises:
        InputRequiredRoundsExceededError: The server still asks after that.
    """
    wait = FIRST_WAIT_SECONDS
    state_only = 0
    for _ in range(max_rounds):
        if not isinstance(result, types.InputRequiredResult):
            return result
        responses: Mapping[str, types.InputResponse] | None = None
        if result.input_requests:
            responses = yield Answer(result.input_requests)
            wait = FIRST_WAIT_SECONDS
        else:
            # The server has nothing to ask and is not ready either: asking again at once would only keep it busy.
            state_only += 1
            yield Wait(wait)
            wait = min(wait * 2, LONGEST_WAIT_SECONDS)
        result = cast("FinalT | types.InputRequiredResult", (yield Send(responses, result.request_state)))
    if isinstance(result, types.InputRequiredResult):
        raise InputRequiredRoundsExceededError(max_rounds, state_only_rounds=state_only)
    return result


def with_answers(
    params: Mapping[str, Any], responses: Mapping[str, types.InputResponse] | None, state: str | None
) -> dict[str, Any]:
    """Return the params of a request as the next round carries them, without those of an earlier round.

    Args:
        params: The params in wire form.
        responses: The answers; `None` leaves the member out.
        state: What the server wants back; `None` leaves the member out.
    """
    again = without_answers(params)
    if responses is not None:
        again["inputResponses"] = encode_input_responses(responses)
    if state is not None:
        again["requestState"] = state
    return again


def without_answers(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the params of a request as they were before its first round."""
    return {member: value for member, value in params.items() if member not in _ROUND_MEMBERS}
