"""Calls that are put away while their questions wait for answers, and resumed by any process.

`Client.begin` sends a request. If the server asks something, what comes back is a `PendingCall`: plain data. When the
answers are there, `Client.resume` goes on with it. With a store, no crash of a process loses a call.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias, cast

import mcp_types as types
from mcp._protocol.codec import decode_result
from mcp.shared.exceptions import MCPError
from mcp.stores.store import Record, RecordStore
from mcp_types.methods import INPUT_REQUIRED_METHODS

__all__ = [
    "CallStatus",
    "PendingCall",
    "PendingCallBusy",
    "PendingCallError",
    "PendingCallGone",
    "PendingCallUncertain",
    "PendingCalls",
]

CallStatus: TypeAlias = Literal["waiting", "sending", "uncertain", "done", "failed"]
"""What is known of a call: its questions wait; a worker sends it; a worker sent it and nobody knows what became of it;
it has a result; it ended with an error."""

_VERSION: Final = 1
_ID_BYTES: Final = 16
_PREFIX: Final = "call:"
_DEFAULT_LEASE: Final = 300.0

CallResult: TypeAlias = "types.CallToolResult | types.GetPromptResult | types.ReadResourceResult"


class PendingCallError(RuntimeError):
    """A pending call cannot be resumed now.

    Args:
        call: The call as it is now, if there is one.
        text: What is the matter.
    """

    def __init__(self, call: PendingCall | None, text: str) -> None:
        super().__init__(text)
        self.call = call


class PendingCallBusy(PendingCallError):
    """Another worker sends the call, or has gone on with it: load it again."""


class PendingCallGone(PendingCallError):
    """The call is not in the store: it was removed, or its time is over."""


class PendingCallUncertain(PendingCallError):
    """A worker sent the call and nobody knows what became of it. `resume(..., retry=True)` sends it again.

    A server that counts uses of its tokens refuses it then if it ran before; another one may run it twice.
    """


@dataclass(frozen=True)
class PendingCall:
    """A call between two rounds, or at its end: plain data, which goes to JSON and comes back from it.

    It holds what the user may see and what the server said in confidence (its state, sealed): keep it like a session.

    Attributes:
        id: Names it: 128 random bits.
        method: The method.
        params: The params of the request, in wire form, without answers and state.
        questions: What the server asks, in wire form, by keys of its own choice.
        state: What the server wants back, unchanged.
        protocol_version: The revision that was spoken.
        server: The server's name, if it says one.
        created: When the call began, in seconds since the epoch.
        deadline: When it is given up, in seconds since the epoch. The server may give it up earlier.
        flow: Names all rounds together, for logs: 128 random bits.
        status: What is known of it.
        round: How often the server has asked.
        lease: Until when a worker that sends it is believed to be alive.
        responses: The answers that were sent last, in wire form.
        outcome: The result in wire form, or the error object.
    """

    id: str
    method: str
    params: dict[str, Any]
    protocol_version: str
    created: float
    flow: str
    questions: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    state: str | None = None
    server: str | None = None
    deadline: float | None = None
    status: CallStatus = "waiting"
    round: int = 0
    lease: float = 0.0
    responses: dict[str, Any] | None = None
    outcome: dict[str, Any] | None = None

    @property
    def requests(self) -> types.InputRequests:
        """The questions as models."""
        result = types.InputRequiredResult.model_validate({"inputRequests": self.questions, "requestState": ""})
        return result.input_requests or {}

    def to_json(self) -> str:
        """Write the call as JSON."""
        members = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        return json.dumps({"v": _VERSION, **members}, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> PendingCall:
        """Read a call that `to_json` wrote.

        Raises:
            ValueError: It is none, or of a newer form.
        """
        members: Any = json.loads(text)
        if not isinstance(members, dict) or cast("dict[str, Any]", members).get("v") != _VERSION:
            raise ValueError("this is no pending call, or one of a newer form")
        known = {field.name for field in dataclasses.fields(cls)}
        try:
            call = cls(**{name: value for name, value in cast("dict[str, Any]", members).items() if name in known})
        except TypeError:
            raise ValueError("this is no pending call: members are missing") from None
        if call.method not in INPUT_REQUIRED_METHODS or not isinstance(call.params, dict):
            raise ValueError(f"this is no pending call: there is no such method as {call.method!r}")
        return call

    def result(self) -> CallResult:
        """Return the result of a call that is done.

        Raises:
            MCPError: The call failed; this is its error.
            PendingCallError: It has no outcome yet.
        """
        if self.outcome is None or self.status not in ("done", "failed"):
            raise PendingCallError(self, f"the call is {self.status}: it has no outcome yet")
        if self.status == "failed":
            raise MCPError(self.outcome["code"], self.outcome["message"], self.outcome.get("data"))
        return decode_result(self.method, self.outcome, RESULTS[self.method])


RESULTS: Final[dict[str, type[types.CallToolResult | types.GetPromptResult | types.ReadResourceResult]]] = {
    "tools/call": types.CallToolResult,
    "prompts/get": types.GetPromptResult,
    "resources/read": types.ReadResourceResult,
}


class Clock(Protocol):
    """Tells the time, in seconds since the epoch."""

    def __call__(self) -> float: ...


class PendingCalls:
    """The calls in a store: what several workers know together, each change made by one of them.

    Args:
        store: Where they are kept: `SQLiteStore`, `RedisStore`, or `MemoryStore` for one process.
        lease: How many seconds a worker may take for one round; one that takes longer is believed to have died.

    Raises:
        ValueError: The lease is not positive.
    """

    def __init__(self, store: RecordStore, *, lease: float = _DEFAULT_LEASE) -> None:
        if not lease > 0:
            raise ValueError(f"lease must be a positive number of seconds, got {lease}")
        self._store = store
        self._lease = lease
        self._clock: Clock = time.time

    async def get(self, call_id: str) -> PendingCall | None:
        """Return a call as it is now; `None` if there is none, or its time is over."""
        record = await self._store.get_record(_PREFIX + call_id)
        return None if record is None else self._read(record)

    async def list(self, status: CallStatus | None = None) -> list[PendingCall]:
        """Return all calls, the oldest first.

        Args:
            status: Only those of this status.
        """
        calls = [self._read(record) for record in await self._store.list_records(_PREFIX)]
        return sorted(
            (call for call in calls if status is None or call.status == status), key=lambda call: call.created
        )

    async def remove(self, call_id: str) -> None:
        """Forget a call, for example when its result has arrived where it was wanted. The server is not told."""
        await self._store.remove_record(_PREFIX + call_id)

    async def _add(self, call: PendingCall) -> _Held:
        sending = dataclasses.replace(call, status="sending", lease=self._clock() + self._lease)
        text = sending.to_json()
        if not await self._store.add_record(_PREFIX + call.id, text, call.deadline):
            raise PendingCallBusy(None, f"there is a call {call.id} already")
        return _Held(self, Record(_PREFIX + call.id, 0, text), sending)

    async def _claim(self, seen: PendingCall, responses: dict[str, Any] | None, *, retry: bool) -> _Held | PendingCall:
        """Take a call for this worker; or return it, if it has an outcome already.

        Raises:
            PendingCallError: It cannot be taken now.
        """
        record = await self._store.get_record(_PREFIX + seen.id)
        if record is None:
            raise PendingCallGone(None, "the call is not in the store: it was removed, or its time is over")
        call = self._read(record)
        if call.status == "done" or (call.status == "failed" and not retry):
            return call
        if call.status == "sending":
            raise PendingCallBusy(call, "another worker sends the call")
        if call.status == "uncertain" and not retry:
            raise PendingCallUncertain(
                call, "the call was sent, and nobody knows what became of it: pass retry=True to send it again"
            )
        if call.round != seen.round:
            raise PendingCallBusy(call, "the call has gone on, and the server asks something else: load it again")
        sending = dataclasses.replace(
            call,
            status="sending",
            lease=self._clock() + self._lease,
            responses=call.responses if responses is None else responses,
            outcome=None,
        )
        text = sending.to_json()
        if not await self._store.change_record(record, text, call.deadline):
            raise PendingCallBusy(call, "another worker sends the call")
        return _Held(self, record._replace(revision=record.revision + 1, text=text), sending)

    def _read(self, record: Record) -> PendingCall:
        call = PendingCall.from_json(record.text)
        if call.status == "sending" and call.lease <= self._clock():
            return dataclasses.replace(call, status="uncertain")
        return call


class _Held:
    """A call that this worker has taken.

    Attributes:
        call: The call.
    """

    def __init__(self, calls: PendingCalls, record: Record, call: PendingCall) -> None:
        self.call = call
        self._calls = calls
        self._record = record

    async def put(self, call: PendingCall) -> PendingCall:
        """Store what became of it.

        Raises:
            PendingCallBusy: This worker took too long, and another one has it now.
        """
        text = call.to_json()
        if not await self._calls._store.change_record(self._record, text, call.deadline):
            raise PendingCallBusy(call, "this worker took too long, and another one has the call now")
        self._record = self._record._replace(revision=self._record.revision + 1, text=text)
        self.call = call
        return call


def new_call(
    method: str, params: Mapping[str, Any], protocol_version: str, server: str | None, deadline_seconds: float | None
) -> PendingCall:
    """Make a call that has not been sent."""
    now = time.time()
    return PendingCall(
        id=os.urandom(_ID_BYTES).hex(),
        method=method,
        params=dict(params),
        protocol_version=protocol_version,
        created=now,
        flow=os.urandom(_ID_BYTES).hex(),
        server=server,
        deadline=None if deadline_seconds is None else now + deadline_seconds,
    )
