"""Random straight-line programs come to the same end on modern and on legacy connections, and repeat no effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp import Client
from mcp.client import ClientRequestContext
from mcp.server.elicitation import AcceptedElicitation
from mcp.server.mcpserver import Context, MCPServer, RequestStateSecurity
from mcp.stores import MemoryStore
from mcp.types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
    TextContent,
)
from tests.mcpserver.resume.test_resumable import Text

KEY = "k" * 32


@dataclass(frozen=True)
class Ask:
    number: int


@dataclass(frozen=True)
class Effect:
    number: int


@dataclass(frozen=True)
class Loop:
    times: int
    body: Program


@dataclass(frozen=True)
class Branch:
    """Runs the body if the last answer was accepted."""

    body: Program


@dataclass(frozen=True)
class Together:
    """Runs the bodies in a task group."""

    bodies: list[Program]


Step: TypeAlias = "Ask | Effect | Loop | Branch | Together"
Program: TypeAlias = "list[Step]"

NUMBERS = st.integers(0, 3)
PROGRAMS: st.SearchStrategy[Program] = st.recursive(
    st.lists(st.builds(Ask, NUMBERS) | st.builds(Effect, NUMBERS), max_size=3),
    lambda programs: st.lists(
        st.builds(Ask, NUMBERS)
        | st.builds(Effect, NUMBERS)
        | st.builds(Loop, st.integers(1, 2), programs)
        | st.builds(Branch, programs)
        | st.builds(Together, st.lists(programs, min_size=1, max_size=3)),
        max_size=3,
    ),
    max_leaves=6,
)


class Run:
    """One call: what the program came to, and the effects that happened."""

    def __init__(self, program: Program, actions: list[str]) -> None:
        self.program = program
        self.actions = actions
        self.effects: list[str] = []
        self.store = MemoryStore()

    def server(self) -> MCPServer:
        """A new instance, as after a restart or on another machine."""
        mcp = MCPServer("random", request_state_security=RequestStateSecurity(keys=[KEY], single_use=self.store))

        @mcp.tool(resumable=True)
        async def tool(ctx: Context) -> str:
            return await self.execute(ctx, self.program, "")

        return mcp

    async def execute(self, ctx: Context, program: Program, path: str) -> str:
        seen = ""
        for place, step in enumerate(program):
            here = f"{path}.{place}"
            if isinstance(step, Ask):
                outcome = await ctx.elicit(f"{here} {step.number}", Text)
                answer = outcome.data.text if isinstance(outcome, AcceptedElicitation) else outcome.action
                seen += f"[{answer}]"
            elif isinstance(step, Effect):
                seen += await ctx.once(here, self.effect, here)
            elif isinstance(step, Loop):
                for turn in range(step.times):
                    seen += await self.execute(ctx, step.body, f"{here}/{turn}")
            elif isinstance(step, Branch):
                if not seen.endswith("e]"):  # neither decline nor none
                    seen += await self.execute(ctx, step.body, here)
            else:
                seen += await self.together(ctx, step.bodies, here)
        return seen

    async def together(self, ctx: Context, bodies: list[Program], here: str) -> str:
        parts: dict[int, str] = {}

        async def one(number: int, body: Program) -> None:
            parts[number] = await self.execute(ctx, body, f"{here}|{number}")

        async with anyio.create_task_group() as group:
            for number, body in enumerate(bodies):
                group.start_soon(one, number, body)
        return "".join(parts[number] for number in range(len(bodies)))

    def effect(self, name: str) -> str:
        self.effects.append(name)
        return f"({name})"

    def answer(self, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        action = self.actions[int(params.message[-1])]
        if action == "accept":
            return ElicitResult(action="accept", content={"text": params.message})
        return ElicitResult.model_validate({"action": action})

    async def live(self) -> str:
        async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
            return self.answer(params)

        async with Client(self.server(), mode="legacy", elicitation_callback=elicit) as client:
            return text_of(await client.call_tool("tool", {}))

    async def in_rounds(self, partial: list[bool]) -> str:
        """Each round on an instance of its own; some of the questions of a round are left unanswered."""
        responses: InputResponses | None = None
        state: str | None = None
        left = list(partial)
        while True:
            async with Client(self.server(), mode="2026-07-28") as client:
                result = await client.session.call_tool(
                    "tool", {}, input_responses=responses, request_state=state, allow_input_required=True
                )
            if not isinstance(result, InputRequiredResult):
                return text_of(result)
            responses = {}
            for key, request in (result.input_requests or {}).items():
                assert isinstance(request, ElicitRequest)
                if not responses or not left or not left.pop():
                    responses[key] = self.answer(request.params)
            state = result.request_state


def text_of(result: CallToolResult) -> str:
    content: Any = result.content[0]
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    return content.text


@settings(deadline=None, max_examples=60)
@given(
    PROGRAMS,
    st.lists(st.sampled_from(["accept", "accept", "decline", "cancel"]), min_size=4, max_size=4),
    st.lists(st.booleans(), max_size=6),
)
def test_rounds_and_live_questions_come_to_the_same_end_and_no_effect_is_repeated(
    program: Program, actions: list[str], partial: list[bool]
) -> None:
    live, in_rounds = Run(program, actions), Run(program, actions)

    async def main() -> None:
        with anyio.fail_after(60):
            assert await in_rounds.in_rounds(partial) == await live.live()

    anyio.run(main)
    assert sorted(in_rounds.effects) == sorted(live.effects)
    assert len(set(in_rounds.effects)) == len(in_rounds.effects)
