"""Sending the rounds of a pending call, and writing down before and after what is known of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import anyio

import mcp_types as types
from mcp._protocol.codec import encode_input_request
from mcp._protocol.era import MODERN
from mcp._protocol.fields import dump
from mcp._protocol.input_required import (
    FIRST_WAIT_SECONDS,
    LONGEST_WAIT_SECONDS,
    InputRequiredRoundsExceededError,
)
from mcp.client._params import call_params, prompt_params, uri_params, with_given_answers
from mcp.client.pending import RESULTS, CallResult, PendingCall, PendingCalls, PendingCallUncertain, new_call
from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from mcp.client.pending import _Held as Held

__all__ = ["begin", "resume"]

_METHODS: Final = {"call_tool": "tools/call", "get_prompt": "prompts/get", "read_resource": "resources/read"}
_LAST_WORDS: Final = 2.0
"""Seconds that a worker has, when it is cancelled, to write down that it does not know what became of its call."""

Responses: TypeAlias = Mapping[str, types.InputResponse]


class Sender:
    """What sends a request: a client, as far as it matters here."""

    __slots__ = ("call_tool", "max_rounds", "session", "validates")

    def __init__(
        self, session: Any, call_tool: Callable[..., Awaitable[Any]], max_rounds: int, validates: bool
    ) -> None:
        self.session = session
        self.call_tool = call_tool
        self.max_rounds = max_rounds
        self.validates = validates

    async def send(self, call: PendingCall) -> CallResult | types.InputRequiredResult:
        """Send one round."""
        params = dict(call.params)
        if call.responses is not None:
            params["inputResponses"] = call.responses
        if call.state is not None:
            params["requestState"] = call.state
        if call.method == "tools/call":
            return await self.call_tool(params, by_hand=True)
        return await self.session._ask_open(call.method, params, RESULTS[call.method], None, by_hand=True)

    async def finish(self, call: PendingCall, result: CallResult) -> CallResult:
        """Check a final result as a client does."""
        if self.validates and isinstance(result, types.CallToolResult):
            await self.session.validate_tool_result(call.params["name"], result)
        return result


async def begin(
    sender: Sender,
    verb: str,
    target: str,
    arguments: dict[str, Any] | None,
    store: PendingCalls | None,
    deadline_seconds: float | None,
) -> CallResult | PendingCall:
    """Send the first round of a call.

    Raises:
        ValueError: There is no such verb, or the deadline is not positive.
    """
    if verb not in _METHODS:
        raise ValueError(f"a call is begun with one of {', '.join(map(repr, _METHODS))}, not {verb!r}")
    if deadline_seconds is not None and not deadline_seconds > 0:
        raise ValueError(f"deadline_seconds must be positive, got {deadline_seconds}")
    if verb == "call_tool":
        params = call_params(target, arguments)
    elif verb == "get_prompt":
        params = prompt_params(target, arguments)
    else:
        params = uri_params(target)
    session = sender.session
    server = None if session.server_info is None else session.server_info.name
    call = new_call(_METHODS[verb], params, session.protocol_version, server, deadline_seconds)
    return await _advance(sender, call, None if store is None else await store._add(call))


async def resume(
    sender: Sender, call: PendingCall, responses: Responses | None, store: PendingCalls | None, retry: bool
) -> CallResult | PendingCall:
    """Send the next round of a call.

    Raises:
        ValueError: The call belongs to another server or era, or there are answers to questions that were not asked.
        PendingCallError: It cannot be resumed now.
    """
    _check_place(sender, call)
    wire = None if responses is None else _encode(call, responses)
    if store is None:
        if call.status in ("done", "failed") and not retry:
            return call.result()
        if call.status in ("sending", "uncertain") and not retry:
            raise PendingCallUncertain(call, "the call was sent before: pass retry=True to send it again")
        return await _advance(sender, dataclasses.replace(call, responses=wire or call.responses, outcome=None), None)
    held = await store._claim(call, wire, retry=retry)
    if isinstance(held, PendingCall):
        return held.result()
    return await _advance(sender, held.call, held)


async def _advance(sender: Sender, call: PendingCall, held: Held | None) -> CallResult | PendingCall:
    wait = FIRST_WAIT_SECONDS
    for _ in range(max(sender.max_rounds, 1)):
        result = await _send(sender, call, held)
        if not isinstance(result, types.InputRequiredResult):
            if held is not None:
                await held.put(_ended(held.call, "done", dump(result, MODERN)))
            return await sender.finish(call, result)
        questions = {key: encode_input_request(request) for key, request in (result.input_requests or {}).items()}
        call = dataclasses.replace(
            call if held is None else held.call,
            status="waiting" if questions else "sending",
            questions=questions,
            state=result.request_state,
            round=call.round + 1,
            responses=None,
        )
        if held is not None:
            await held.put(call)
        if questions:
            return call
        # The server has nothing to ask and is not ready either.
        await anyio.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT_SECONDS)
    if held is not None:
        await held.put(dataclasses.replace(held.call, status="waiting"))
    raise InputRequiredRoundsExceededError(sender.max_rounds, state_only_rounds=sender.max_rounds)


async def _send(sender: Sender, call: PendingCall, held: Held | None) -> CallResult | types.InputRequiredResult:
    """Send one round, and write down what is known if there is no result."""
    try:
        return await sender.send(call)
    except MCPError as error:
        if held is not None:
            if error.is_local:
                await _be_uncertain(held)
            else:
                known = error.error.model_dump(mode="json", by_alias=True, exclude_none=True)
                await held.put(_ended(held.call, "failed", known))
        raise
    except BaseException:
        if held is not None:
            await _be_uncertain(held)
        raise


async def _be_uncertain(held: Held) -> None:
    with anyio.CancelScope(shield=True), anyio.move_on_after(_LAST_WORDS):
        await held.put(dataclasses.replace(held.call, status="uncertain", lease=0.0))


def _ended(call: PendingCall, status: str, outcome: dict[str, Any]) -> PendingCall:
    return dataclasses.replace(call, status=cast("Any", status), outcome=outcome)


def _encode(call: PendingCall, responses: Responses) -> dict[str, Any]:
    unknown = [key for key in responses if key not in call.questions]
    if unknown:
        raise ValueError(f"nothing was asked under {unknown[0]!r}; the questions are {list(call.questions)}")
    return with_given_answers({}, responses, None).get("inputResponses", {})


def _check_place(sender: Sender, call: PendingCall) -> None:
    session = sender.session
    if session.era != "modern":
        raise ValueError("a pending call is resumed on a modern connection, and this one is of an older revision")
    info = session.server_info
    if call.server is not None and info is not None and info.name != call.server:
        raise ValueError(f"the call belongs to the server {call.server!r}, and this client talks to {info.name!r}")
