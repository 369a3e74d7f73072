"""More than a hundred thousand tokens that nobody minted for the request they come with: none may pass.

Each goes through the whole boundary. Whatever was done to it, the client hears one answer and the log one reason.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from mcp._protocol.base64url import decode_base64url, encode_base64url
from mcp.server._sealing import derive_key
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types.methods import INPUT_REQUIRED_METHODS
from tests.server.boundaries import Context, Handler, accept, make_context, mint, run, tallied_log

KEY, OTHER_KEY, FOREIGN_KEY = "k" * 32, "o" * 32, "f" * 32
NOW = 1_800_000_000.0
SECRETS = ("hidden state", "alice", "bob")
PREFIX = "r1."

REASONS = {"malformed", "unknown key", "seal", "expired", "audience", "principal", "principal drift", "request binding"}
HINT = (
    " (another instance sealed it, or this one before a restart: "
    "give all instances the same RequestStateSecurity(keys=[...]))"
)


def who(ctx: Context) -> str | None:
    return (ctx.params or {}).get("_who")


def make_boundary(keys: list[str], *, audience: str = "server", now: float = NOW) -> RequestStateBoundary:
    boundary = RequestStateBoundary(RequestStateSecurity(keys=keys, bind_principal=who), default_audience=audience)
    boundary._clock = lambda: now
    return boundary


SIDE = make_boundary([KEY, OTHER_KEY])


@dataclass(frozen=True)
class Minted:
    """A token and the request it was minted for."""

    method: str
    params: dict[str, Any]
    token: str

    @property
    def body(self) -> str:
        return self.token.removeprefix(PREFIX)

    @property
    def raw(self) -> bytes:
        return decode_base64url(self.body.encode())

    def context(self, token: str | None = None, **changes: Any) -> Context:
        params = {**self.params, **changes, "requestState": self.token if token is None else token}
        return make_context(self.method, params)


REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("tools/call", {"name": "pay", "arguments": {"to": "x", "amount": 5}}),
    ("tools/call", {"name": "pay", "_who": "alice"}),
    ("prompts/get", {"name": "brief", "arguments": {"for": "y"}, "_who": "bob"}),
    ("resources/read", {"uri": "file:///a"}),
]


def mint_all(states: Iterable[str]) -> list[Minted]:
    return [
        Minted(method, params, mint(SIDE, make_context(method, params), state))
        for state in states
        for method, params in REQUESTS
    ]


class Attack:
    """Sends tokens through the boundary and counts them."""

    def __init__(self) -> None:
        self.count = 0
        self._handler = Handler()
        self._answers: set[tuple[object, ...]] = set()

    def send(self, ctx: Context, side: RequestStateBoundary = SIDE) -> None:
        self.count += 1
        try:
            run(side(ctx, self._handler))
        except MCPError as error:
            self._answers.add((type(error), error.code, error.message, error.data, error.__cause__, error.__context__))

    def send_all(self, minted: Minted, tokens: Iterable[str]) -> None:
        for token in tokens:
            if token != minted.token:
                self.send(minted.context(token))

    def assert_repelled(self, lines: Iterable[str], *, at_least: int) -> None:
        assert self._handler.seen == [], "a token was accepted"
        assert self._answers == {(MCPError, -32602, "Invalid or expired requestState", None, None, None)}
        assert self.count >= at_least
        for line in lines:
            head, _, reason = line.partition(": ")
            level, _, text = head.partition(" requestState rejected on ")
            assert level == "WARNING"
            assert text in INPUT_REQUIRED_METHODS
            assert reason.removesuffix(HINT) in REASONS
            assert not any(secret in line for secret in SECRETS)


def flipped_text(token: str) -> Iterator[str]:
    for index, character in enumerate(token):
        for bit in range(8):
            yield token[:index] + chr(ord(character) ^ 1 << bit) + token[index + 1 :]


def encode(raw: bytes) -> str:
    return PREFIX + encode_base64url(raw).decode()


def flipped_bits(raw: bytes) -> Iterator[str]:
    for index in range(len(raw)):
        for bit in range(8):
            altered = bytearray(raw)
            altered[index] ^= 1 << bit
            yield encode(bytes(altered))


def shortened(token: str) -> Iterator[str]:
    for index in range(len(token)):
        yield token[:index]
        yield token[index + 1 :]
        yield token[:index] + token[index + 1 :]


def respelled(minted: Minted) -> Iterator[str]:
    body, raw = minted.body, minted.raw
    for padding in ("=", "==", "===", "\n", "\r\n", " ", "\0", "A", "%3D"):
        yield PREFIX + body + padding
    for prefix in ("", "r1", "R1.", "r2.", "v1.", "r1..", " r1.", "\ufeffr1."):
        yield prefix + body
    for text in (body.replace("-", "+").replace("_", "/"), body.swapcase(), body[::-1], raw.hex(), raw.hex().upper()):
        yield PREFIX + text
    for index in range(len(body)):
        yield PREFIX + body[:index] + "\n" + body[index:]
        yield PREFIX + body[:index] + "!" + body[index:]
    for last in string.ascii_letters + string.digits + "-_":
        yield PREFIX + body[:-1] + last


def spliced(one: Minted, other: Minted) -> Iterator[str]:
    for index in range(1, min(len(one.raw), len(other.raw))):
        yield encode(one.raw[:index] + other.raw[index:])
        yield encode(other.raw[:index] + one.raw[index:])


def with_other_key_ids(raw: bytes) -> Iterator[str]:
    for key in (OTHER_KEY, FOREIGN_KEY):
        yield encode(derive_key(key.encode())[1] + raw[4:])
    for number in range(256):
        yield encode(bytes([number]) * 4 + raw[4:])


@pytest.mark.rule("MRTR-41", "MRTR-42")
def test_no_altered_token_is_accepted() -> None:
    tokens = mint_all(["hidden state", "", "{}", "hidden state" * 5])
    attack = Attack()
    with tallied_log() as lines:
        for minted in tokens:
            attack.send_all(minted, flipped_text(minted.token))
            attack.send_all(minted, flipped_bits(minted.raw))
            attack.send_all(minted, shortened(minted.token))
            attack.send_all(minted, respelled(minted))
            attack.send_all(minted, with_other_key_ids(minted.raw))
        for index, minted in enumerate(tokens):
            others = (tokens[index - 1], tokens[index - 4])
            attack.send_all(
                minted, (token for other in others for token in spliced(minted, other) if token != other.token)
            )
    attack.assert_repelled(lines, at_least=100_000)
    for minted in tokens:
        assert accept(SIDE, minted.context()) is not None


@pytest.mark.rule("MRTR-29", "MRTR-30", "MRTR-34", "MRTR-41", "MRTR-42")
def test_no_token_is_accepted_for_another_request() -> None:
    tokens = mint_all(f"hidden state {number}" for number in range(40))
    sides = [
        make_boundary([KEY], audience="another"),
        make_boundary([FOREIGN_KEY]),
        make_boundary([KEY], now=NOW + 600),
        make_boundary([KEY], now=NOW + 1e9),
        make_boundary([KEY], now=NOW - 61),
        make_boundary([KEY], now=NOW - 1e9),
    ]
    attack = Attack()
    draw = random.Random(5)
    with tallied_log() as lines:
        for minted in tokens:
            for side in sides:
                attack.send(minted.context(), side)
            for method, params in REQUESTS:
                if (method, params) != (minted.method, minted.params):
                    attack.send(make_context(method, {**params, "requestState": minted.token}))
            for method in INPUT_REQUIRED_METHODS - {minted.method}:
                attack.send(make_context(method, {**minted.params, "requestState": minted.token}))
            target = "uri" if minted.method == "resources/read" else "name"
            for _ in range(20):
                word = "".join(draw.choices(string.ascii_lowercase, k=3))
                attack.send(minted.context(**{target: word}))
                attack.send(minted.context(arguments={word: draw.random()}))
                attack.send(minted.context(arguments={**(minted.params.get("arguments") or {}), word: None}))
                attack.send(minted.context(_who=word))
            attack.send(minted.context(_who=None if "_who" in minted.params else "alice"))
            attack.send(minted.context(arguments={"to": "x", "amount": "5"}))
            attack.send(minted.context(arguments={"to": "x", "amount": True}))
    attack.assert_repelled(lines, at_least=14_000)
    assert {line.partition(": ")[2].removesuffix(HINT) for line in lines} == REASONS - {"malformed", "seal"}
    for minted in tokens:
        assert str(accept(SIDE, minted.context())).startswith("hidden state")


@pytest.mark.rule("MRTR-41")
def test_no_invented_token_is_accepted() -> None:
    draw = random.Random(7)
    [minted, *_] = mint_all(["hidden state"])
    attack = Attack()
    with tallied_log() as lines:
        for size in range(600):
            raw = minted.raw[:4] + draw.randbytes(size % 200)
            attack.send_all(
                minted, (encode(raw), PREFIX + raw.hex(), encode(draw.randbytes(size % 200)), "\ud800" * size)
            )
    attack.assert_repelled(lines, at_least=2_000)
