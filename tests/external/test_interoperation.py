"""Our clients and servers and those of others understand each other.

Each pair talks once; every test looks at one part of what the client then reports.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.external.conversations import Conversation, Conversations, Transport
from tests.external.environments import OURS, PYTHON_1, PYTHON_2, TYPESCRIPT_1, TYPESCRIPT_2, Peer

pytestmark = pytest.mark.timeout(300)  # the first test that needs an environment installs it

HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"
# What a client says so that the two agree on a version, for each implementation that is not ours.
ERAS: dict[Peer, dict[str, str]] = {
    PYTHON_2: {"auto": MODERN, "legacy": HANDSHAKE},
    PYTHON_1: {"auto": HANDSHAKE},
    TYPESCRIPT_2: {"auto": MODERN, "legacy": HANDSHAKE},
    TYPESCRIPT_1: {"auto": HANDSHAKE},
}
TRANSPORTS: tuple[Transport, ...] = ("http", "stdio")
CONVERSATIONS = [
    *(
        Conversation(client, server, transport, mode, version)
        for other, modes in ERAS.items()
        for client, server in ((OURS, other), (other, OURS))
        for transport in TRANSPORTS
        for mode, version in modes.items()
    ),
    *(
        Conversation(client, server, "sse", "legacy", HANDSHAKE)
        for client, server in (
            (OURS, PYTHON_2),
            (PYTHON_2, OURS),
            (OURS, PYTHON_1),
            (PYTHON_1, OURS),
            (TYPESCRIPT_1, OURS),
        )
    ),
]
EXPECTED: dict[str, Any] = {
    "listing": {
        "tools": ["add", "count", "echo", "fail", "joke", "order", "slow", "was_cancelled", "where", "write"],
        "resources": ["note://today"],
        "templates": ["note://{day}/of/{month}"],
        "prompts": ["greet"],
    },
    "call": "5",
    "many_calls": [str(2 * number) for number in range(20)],
    "payloads": [True, True],
    "failing_call": True,
    "refusal": "an error",
    "progress": ["counted 3", [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]]],
    "cancelling": "cancelled",
    "elicitation": ["3 of tea", ["How many of tea?"]],
    "sampling": "Tea-hee.",
    "roots": "file:///tea",
    "reading": [["note://1/of/May", "1 May"]],
    "prompting": ["Greet Ann."],
    "watching": ["note://today"],
    "closing": "closed",
}


@pytest.fixture(scope="module")
def conversations() -> Generator[Conversations]:
    with ExitStack() as resources:
        yield Conversations(resources)


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=str)
def test_a_pair_agrees_on_the_newest_version_that_both_may_speak(
    conversations: Conversations, conversation: Conversation
) -> None:
    assert conversations.report(conversation)["opening"] == [conversation.version, "peer", "Ask for tea."]


@pytest.mark.parametrize("scenario", EXPECTED)
@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=str)
def test_a_pair_understands(conversations: Conversations, conversation: Conversation, scenario: str) -> None:
    assert conversations.report(conversation)[scenario] == EXPECTED[scenario]
