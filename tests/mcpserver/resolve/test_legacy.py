"""Questions on legacy sessions: sent in the middle of the call, one at a time."""

from typing import Annotated, Any

import anyio
import pytest
from pydantic import BaseModel

from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, ElicitUrl, ListRoots, Resolve, Sample
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import ListRootsResult, SamplingMessage, TextContent
from tests.mcpserver.resolve.rounds import EVERYTHING, Amount, Login, accept, key, make_context, plan_of


async def ask_login() -> Elicit[Login]:
    return Elicit("Who?", Login)


async def ask_amount() -> Elicit[Amount]:
    return Elicit("How much?", Amount)


async def ask_amount_of(login: Annotated[Login, Resolve(ask_login)]) -> Elicit[Amount]:
    return Elicit(f"How much, {login.username}?", Amount)


def chain(amount: Annotated[Amount, Resolve(ask_amount_of)]) -> None: ...


def single(login: Annotated[Login, Resolve(ask_login)]) -> None: ...


class Client:
    """Answers questions in order and remembers them."""

    def __init__(self, *answers: dict[str, Any] | MCPError) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any] | None]] = []
        self._asking = False

    async def ask(self, method: str, params: dict[str, Any] | None, **limits: object) -> dict[str, Any]:
        assert not self._asking
        self._asking = True
        self.asked.append((method, params))
        await anyio.lowlevel.checkpoint()
        self._asking = False
        answer = self.answers.pop(0)
        if isinstance(answer, MCPError):
            raise answer
        return answer

    async def call(self, fn: Any, *, retries: int = 0, capabilities: dict[str, Any] = EVERYTHING) -> Any:
        context = make_context(legacy=True, ask=self.ask, capabilities=capabilities)
        return await plan_of(fn).run({}, context, max_answer_retries=retries)


@pytest.mark.rule("DEP-21", "DEP-22")
async def test_each_question_is_sent_once_in_the_middle_of_the_call() -> None:
    client = Client(accept(username="bob"), accept(amount=3))

    assert await client.call(chain) == {"amount": Amount(amount=3)}
    assert [params and params["message"] for _, params in client.asked] == ["Who?", "How much, bob?"]
    assert client.asked[0] == (
        "elicitation/create",
        {
            "mode": "form",
            "message": "Who?",
            "requestedSchema": {
                "type": "object",
                "title": "Login",
                "properties": {"username": {"type": "string", "title": "Username"}},
                "required": ["username"],
            },
        },
    )


@pytest.mark.rule("DEP-23")
async def test_independent_questions_are_sent_one_after_the_other() -> None:
    def tool(a: Annotated[Login, Resolve(ask_login)], b: Annotated[Amount, Resolve(ask_amount)]) -> None: ...

    client = Client(accept(username="1", amount=1), accept(username="2", amount=2))

    values = await client.call(tool)

    assert {values["a"].username, str(values["b"].amount)} == {"1", "2"}


@pytest.mark.rule("DEP-16", "DEP-17")
async def test_refusals_are_outcomes_or_failures() -> None:
    def relaxed(login: Annotated[ElicitationResult[Login], Resolve(ask_login)]) -> None: ...

    assert (await Client({"action": "decline"}).call(relaxed))["login"].action == "decline"
    with pytest.raises(ToolError, match="parameter 'login' could not resolve: elicitation was cancel"):
        await Client({"action": "cancel"}).call(single)


@pytest.mark.rule("DEP-32", "DEP-33")
async def test_an_undeclared_capability_fails_before_anything_is_sent() -> None:
    client = Client()

    with pytest.raises(MCPError) as caught:
        await client.call(single, capabilities={})

    assert caught.value.code == -32021
    assert client.asked == []


@pytest.mark.rule("DEP-36")
async def test_a_session_without_a_channel_cannot_be_asked() -> None:
    with pytest.raises(NoBackChannelError) as caught:
        await plan_of(single).run({}, make_context(legacy=True))

    assert caught.value.code == -32600
    assert caught.value.message == (
        "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests."
    )


@pytest.mark.rule("DEP-37", "DEP-D6")
async def test_an_error_of_the_client_is_wrapped() -> None:
    with pytest.raises(MCPError) as caught:
        await Client(MCPError(-32601, "Method not found", "elicitation/create")).call(single)

    assert caught.value.code == -32603
    assert caught.value.data == {"code": -32601, "message": "Method not found", "data": "elicitation/create"}


@pytest.mark.rule("DEP-D4")
@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"action": "accept"}, "received an accepted elicitation with no content"),
        (
            accept(username=[]),
            "received an accepted elicitation whose content does not match the requested schema",
        ),
        ({"roots": []}, "received a non-elicitation response"),
    ],
)
async def test_bad_answers_have_the_texts_of_modern_connections(answer: dict[str, Any], problem: str) -> None:
    with pytest.raises(ToolError) as caught:
        await Client(answer).call(single)

    assert str(caught.value) == f"Resolver '{key(ask_login)}' {problem}"


async def test_a_bad_answer_is_asked_again_while_retries_are_left() -> None:
    client = Client({"action": "accept"}, accept(username=[]), accept(username="bob"))

    assert await client.call(single, retries=2) == {"login": Login(username="bob")}
    assert [params and params["message"] for _, params in client.asked] == [
        "Who?",
        "The last answer was empty. Who?",
        "The last answer does not fit the form (see: username). Who?",
    ]


@pytest.mark.rule("DEP-D4")
async def test_sampling_roots_and_urls_are_asked_too() -> None:
    async def sample() -> Sample:
        return Sample([SamplingMessage(role="user", content=TextContent(type="text", text="x"))], max_tokens=1)

    async def roots(completion: Annotated[Any, Resolve(sample)]) -> ListRoots:
        return ListRoots()

    async def url(found: Annotated[Any, Resolve(roots)]) -> ElicitUrl:
        return ElicitUrl("m", "https://a/b")

    def tool(found: Annotated[ListRootsResult, Resolve(roots)], agreed: Annotated[BaseModel, Resolve(url)]) -> None: ...

    completion = {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}
    client = Client(completion, {"roots": []}, {"action": "accept"})

    values = await client.call(tool)

    assert values["found"] == ListRootsResult(roots=[])
    assert [method for method, _ in client.asked] == ["sampling/createMessage", "roots/list", "elicitation/create"]
    assert client.asked[2][1] is not None
    assert client.asked[2][1]["elicitationId"]
    with pytest.raises(ToolError, match="received a response of the wrong kind"):
        await Client({"roots": []}).call(tool)
