"""The client's rounds: answer, wait where there is nothing to answer, send again, and stop at the cap."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp._protocol.input_required import Answer, Effect, InputRequiredRoundsExceededError, Send, Wait, input_required
from mcp_types import CallToolResult, ElicitResult, InputRequests, InputRequiredResult, ListRootsRequest, TextContent

DONE = CallToolResult(content=[TextContent(text="done")])
QUESTIONS: InputRequests = {"roots": ListRootsRequest()}
ANSWERS = {"roots": ElicitResult(action="decline")}


def asks(state: str | None = None) -> InputRequiredResult:
    return InputRequiredResult(input_requests=QUESTIONS, request_state=state)


def waits(state: str = "s") -> InputRequiredResult:
    return InputRequiredResult(request_state=state)


def play(*results: CallToolResult | InputRequiredResult, max_rounds: int = 10) -> tuple[list[Effect], Any]:
    """Answer every question, and each request with the next result; return the effects and how it ended."""
    first, *rest = results
    rounds = input_required(first, max_rounds)
    effects: list[Effect] = []
    answer: Any = None
    try:
        while True:
            effect = rounds.send(answer)
            effects.append(effect)
            answer = ANSWERS if isinstance(effect, Answer) else rest.pop(0) if isinstance(effect, Send) else None
    except StopIteration as end:
        assert not rest
        return effects, end.value
    except InputRequiredRoundsExceededError as error:
        assert not rest
        return effects, error


@pytest.mark.rule("MRTR-52")
@pytest.mark.parametrize("max_rounds", [0, 10])
def test_a_final_result_needs_no_round(max_rounds: int) -> None:
    assert play(DONE, max_rounds=max_rounds) == ([], DONE)


@pytest.mark.rule("CLIENT-62", "MRTR-5", "MRTR-53", "MRTR-62")
@pytest.mark.parametrize("state", ["opaque \ud800 é", "", None])
def test_a_round_answers_all_questions_and_sends_the_state_as_it_came(state: str | None) -> None:
    effects, end = play(asks(state), DONE)
    assert effects == [Answer(QUESTIONS), Send(ANSWERS, state)]
    assert end is DONE


@pytest.mark.rule("CLIENT-62", "CLIENT-63", "MRTR-56")
def test_rounds_with_state_alone_wait_longer_each_time_and_a_question_resets_the_wait() -> None:
    effects, end = play(waits("1"), waits("2"), waits("3"), waits("4"), waits("5"), asks("6"), waits("7"), DONE)
    assert [effect.seconds for effect in effects if isinstance(effect, Wait)] == [0.05, 0.1, 0.2, 0.25, 0.25, 0.05]
    assert [effect for effect in effects if isinstance(effect, Send)] == [
        Send(None, "1"),
        Send(None, "2"),
        Send(None, "3"),
        Send(None, "4"),
        Send(None, "5"),
        Send(ANSWERS, "6"),
        Send(None, "7"),
    ]
    assert end is DONE


@pytest.mark.rule("MRTR-56")
def test_an_empty_set_of_questions_counts_as_state_alone() -> None:
    effects, _ = play(InputRequiredResult(input_requests={}, request_state="s"), DONE)
    assert effects == [Wait(0.05), Send(None, "s")]


TEXT = (
    "Server returned InputRequiredResult for more than {} rounds; raise input_required_max_rounds on the Client, "
    "or use client.session.<method>(..., allow_input_required=True) to drive the loop manually."
)


@pytest.mark.rule("CLIENT-64", "MRTR-55")
@pytest.mark.parametrize("max_rounds", [1, 3, 10])
def test_a_server_that_keeps_asking_meets_the_cap(max_rounds: int) -> None:
    effects, end = play(*[asks()] * (max_rounds + 1), max_rounds=max_rounds)
    assert len([effect for effect in effects if isinstance(effect, Send)]) == max_rounds
    assert isinstance(end, InputRequiredRoundsExceededError)
    assert isinstance(end, RuntimeError)
    assert end.max_rounds == max_rounds
    assert str(end) == TEXT.format(max_rounds)


@pytest.mark.rule("CLIENT-64", "MRTR-57")
def test_rounds_with_state_alone_count_and_the_text_says_how_many_they_were() -> None:
    _, end = play(waits(), asks(), waits(), asks(), max_rounds=3)
    assert isinstance(end, InputRequiredRoundsExceededError)
    assert str(end) == TEXT.format(3) + " 2 of the rounds asked nothing and only carried state."


@pytest.mark.rule("MRTR-D6", "MRTR-55")
@pytest.mark.parametrize("result", [asks(), waits()])
def test_a_cap_of_zero_never_answers(result: InputRequiredResult) -> None:
    effects, end = play(result, max_rounds=0)
    assert effects == []
    assert isinstance(end, InputRequiredRoundsExceededError)


def test_the_error_is_made_from_the_cap_alone() -> None:
    assert str(InputRequiredRoundsExceededError(10)) == TEXT.format(10)


@given(st.lists(st.sampled_from([asks(), asks("s"), waits()]), max_size=12), st.integers(0, 12))
def test_requests_are_sent_once_per_round_and_never_past_the_cap(
    rounds: list[InputRequiredResult], max_rounds: int
) -> None:
    effects, end = play(*[*rounds, DONE][: max_rounds + 1], max_rounds=max_rounds)
    sent = [effect for effect in effects if isinstance(effect, Send)]
    assert len(sent) == min(len(rounds), max_rounds)
    assert (end is DONE) is (len(rounds) <= max_rounds)
