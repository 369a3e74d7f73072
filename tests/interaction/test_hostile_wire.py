"""What a client that does not play by the rules gets: plain HTTP against `MCPServer` on a real socket."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from copy import deepcopy
from typing import Annotated, Any

import pytest
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import Context, Elicit, MCPServer, RequestStateSecurity, Resolve
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from tests.server.http.fakes import request_body
from tests.server.http.serving import PATIENCE, Answer, post, serving

KEY = "k" * 32
CAPABILITIES: dict[str, Any] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
REFUSED = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "Invalid or expired requestState"}}
ANSWER = {"region": {"action": "accept", "content": {"region": "eu"}}}
FORM = {"type": "object", "properties": {"region": {"type": "string"}}}
ASK = ElicitRequest(params=ElicitRequestFormParams(message="Which region?", requested_schema=FORM))


class Login(BaseModel):
    username: str


async def ask_login() -> Elicit[Login]:
    return Elicit("Who?", Login)


class Bench:
    """A server, and how often its functions ran after a question."""

    def __init__(self, name: str = "bench", **policy: Any) -> None:
        self.ran: list[str] = []
        self.server = MCPServer(name, request_state_security=RequestStateSecurity(keys=[KEY], **policy))

        def answered(what: str, ctx: Context) -> str | InputRequiredResult:
            if ctx.request_state is not None or ctx.input_responses is not None:
                self.ran.append(what)
            answer = (ctx.input_responses or {}).get("region")
            if not isinstance(answer, ElicitResult) or answer.content is None:
                return InputRequiredResult(input_requests={"region": ASK}, request_state=f"secret of {what}")
            return f"{what} in {answer.content['region']}: {ctx.request_state}"

        @self.server.tool()
        async def provision(name: str, size: int, ctx: Context) -> str | InputRequiredResult:
            return answered("provision", ctx)

        @self.server.tool()
        async def destroy(name: str, size: int, ctx: Context) -> str | InputRequiredResult:
            return answered("destroy", ctx)

        @self.server.tool()
        async def plain(name: str, size: int) -> str:
            self.ran.append("plain")
            return "never asked anything"

        @self.server.tool()
        async def login(who: Annotated[Login, Resolve(ask_login)]) -> str:
            self.ran.append("login")
            return who.username

        @self.server.prompt()
        async def provision_prompt(ctx: Context) -> str | InputRequiredResult:
            return answered("prompt", ctx)

        @self.server.resource("x://{name}")
        async def report(name: str, ctx: Context) -> str | InputRequiredResult:
            return answered("resource", ctx)


def request(params: dict[str, Any], method: str = "tools/call", request_id: int = 2) -> dict[str, Any]:
    extra = {"io.modelcontextprotocol/clientCapabilities": CAPABILITIES}
    return request_body(method, params, request_id=request_id, **extra)


CALL: dict[str, Any] = {"name": "provision", "arguments": {"name": "db", "size": 1}}


def state_of(answer: Answer) -> str:
    assert answer.status == 200, answer.body
    result = answer.json["result"]
    assert result["resultType"] == "input_required"
    assert "secret" not in str(result)
    return result["requestState"]


def mint(port: int, params: dict[str, Any] = CALL, method: str = "tools/call", **headers: str) -> str:
    return state_of(post(port, request(params, method, 1), **headers))


def retry(token: object, **changes: Any) -> dict[str, Any]:
    return deepcopy({**CALL, "inputResponses": ANSWER, "requestState": token, **changes})


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


@pytest.fixture(scope="module")
def port(bench: Bench) -> Generator[int]:
    with serving(bench.server.streamable_http_app()) as port:
        yield port


def refused(port: int, body: dict[str, Any], **headers: str) -> Answer:
    """Post, and check that the answer is the one for every cause."""
    answer = post(port, body, **headers)
    assert (answer.status, answer.json) == (400, REFUSED)
    return answer


@pytest.mark.rule("MRTR-5", "MRTR-43")
def test_the_honest_retry_passes_as_often_as_it_comes(bench: Bench, port: int) -> None:
    token = mint(port)
    for _ in range(3):
        done = post(port, request(retry(token)))
        assert done.json["result"]["content"] == [{"type": "text", "text": "provision in eu: secret of provision"}]
    reordered = post(port, request(retry(token, arguments={"size": 1.0, "name": "db"})))
    assert reordered.status == 200


def last_character(token: str) -> str:
    return token[:-1] + ("A" if token[-1] != "A" else "E")


TAMPERED: dict[str, Callable[[str], object]] = {
    "changed in the middle": lambda token: token[:60] + ("A" if token[60] != "A" else "B") + token[61:],
    "changed at the end": last_character,
    "cut": lambda token: token[:-4],
    "longer": lambda token: token + "AAAA",
    "padded": lambda token: token + "=",
    "another version": lambda token: "r2." + token[3:],
    "an older format": lambda token: "v1." + token[3:],
    "no version": lambda token: token[3:],
    "another key id": lambda token: "r1.AAAA" + token[7:],
    "other letters' case": lambda token: "r1." + token[3:].swapcase(),
    "a line end": lambda token: token + "\n",
    "twice": lambda token: token + token,
    "empty": lambda token: "",
    "plain text": lambda token: "secret of provision",
    "not ASCII": lambda token: token + "é",
    "a lone surrogate": lambda token: token[:-1] + "\ud800",
    "huge": lambda token: "r1." + "A" * 200_000,
    "a number": lambda token: 7,
    "false": lambda token: False,
    "a list": lambda token: [token],
    "an object": lambda token: {"token": token},
}


@pytest.mark.rule("MRTR-40", "MRTR-41", "MRTR-42", "MRTR-S-11", "MRTR-S-13", "MRTR-S-19", "SERR-25")
@pytest.mark.parametrize("how", TAMPERED)
def test_a_tampered_token_is_refused_and_nothing_runs(bench: Bench, port: int, how: str) -> None:
    bench.ran.clear()
    token = TAMPERED[how](mint(port))
    refused(port, request(retry(token)))
    refused(port, request({**CALL, "requestState": token}))
    assert bench.ran == []


OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "another tool": ("tools/call", {"name": "destroy"}),
    "a tool without questions": ("tools/call", {"name": "plain"}),
    "a tool with resolvers": ("tools/call", {"name": "login", "arguments": {}}),
    "no tool": ("tools/call", {"name": "nothing"}),
    "another argument": ("tools/call", {"arguments": {"name": "db", "size": 2}}),
    "a string for a number": ("tools/call", {"arguments": {"name": "db", "size": "1"}}),
    "true for a number": ("tools/call", {"arguments": {"name": "db", "size": True}}),
    "one argument more": ("tools/call", {"arguments": {"name": "db", "size": 1, "force": True}}),
    "one argument less": ("tools/call", {"arguments": {"name": "db"}}),
    "no arguments": ("tools/call", {"arguments": {}}),
    "null for arguments": ("tools/call", {"arguments": None}),
    "a prompt": ("prompts/get", {"name": "provision_prompt", "arguments": {}}),
    "a prompt of the same name": ("prompts/get", {"name": "provision"}),
    "a resource": ("resources/read", {"uri": "x://provision"}),
}


@pytest.mark.rule("MRTR-30", "MRTR-31", "MRTR-40", "MRTR-S-17")
@pytest.mark.parametrize("what", OTHERS)
def test_a_token_does_not_serve_another_request(bench: Bench, port: int, what: str) -> None:
    bench.ran.clear()
    method, changes = OTHERS[what]
    params = retry(mint(port), **changes)
    if method == "resources/read":
        del params["name"], params["arguments"]
    refused(port, request(params, method))
    assert bench.ran == []


@pytest.mark.rule("MRTR-30", "MRTR-40")
def test_tokens_of_prompts_and_resources_hold_for_themselves_only(bench: Bench, port: int) -> None:
    asks: list[tuple[str, dict[str, Any]]] = [
        ("prompts/get", {"name": "provision_prompt"}),
        ("resources/read", {"uri": "x://a"}),
        ("resources/read", {"uri": "x://b"}),
        ("tools/call", CALL),
        ("tools/call", {"name": "login", "arguments": {}}),
    ]
    tokens = [mint(port, params, method) for method, params in asks]
    for mine, (method, params) in enumerate(asks[:4]):
        for minted, token in enumerate(tokens):
            body = request({**params, "inputResponses": ANSWER, "requestState": token}, method)
            if minted == mine:
                assert post(port, body).json["result"]["resultType"] == "complete"
            else:
                refused(port, body)


@pytest.mark.rule("MRTR-28", "MRTR-S-16")
def test_a_token_expires() -> None:
    bench = Bench(ttl=0.2)
    end = time.monotonic() + PATIENCE
    with serving(bench.server.streamable_http_app()) as port:
        minted = time.monotonic()
        body = request(retry(mint(port)))
        while (answer := post(port, body)).status == 200 and time.monotonic() < end:
            assert time.monotonic() < minted + PATIENCE
        assert time.monotonic() >= minted + 0.2
        assert (answer.status, answer.json) == (400, REFUSED)
        bench.ran.clear()
        refused(port, body)
        assert bench.ran == []


@pytest.mark.rule("MRTR-36")
def test_a_server_of_another_name_refuses_a_token_of_the_same_key(port: int) -> None:
    other, namesake = Bench("other"), Bench()
    with serving(other.server.streamable_http_app()) as other_port:
        refused(other_port, request(retry(mint(port))))
    with serving(namesake.server.streamable_http_app()) as namesake_port:
        assert post(namesake_port, request(retry(mint(port)))).status == 200


@pytest.mark.rule("MRTR-41")
def test_the_reasons_reach_the_log_and_nothing_secret_does(port: int, caplog: pytest.LogCaptureFixture) -> None:
    token = mint(port)
    with caplog.at_level(logging.DEBUG, "mcp"):
        answers = [
            refused(port, request(body))
            for body in (
                retry(TAMPERED["changed in the middle"](token)),
                retry("r1.nonsense"),
                retry(token, name="destroy"),
                retry(7),
            )
        ]
    lines = [record.getMessage() for record in caplog.records if record.name == "mcp.server.request_state"]
    assert [line.rpartition(": ")[2] for line in lines] == [
        "seal",
        "malformed",
        "request binding",
        "non-string requestState",
    ]
    assert all(record.levelno == logging.WARNING for record in caplog.records if "requestState" in record.getMessage())
    assert token not in caplog.text
    assert "secret" not in caplog.text
    assert len({answer.body for answer in answers}) == 1


BAD_ANSWERS: dict[str, Any] = {
    "a list": [],
    "a text": "accept",
    "a number": 1,
    "a text as an answer": {"region": "eu-west-1-secret"},
    "null as an answer": {"region": None},
    "an unknown action": {"region": {"action": "eu-west-1-secret"}},
    "nothing known": {"region": {"eu-west-1-secret": True}},
    "a list as an answer": {"region": [{"action": "accept"}]},
    "a root that is no file": {"region": {"roots": [{"uri": "https://eu-west-1-secret"}]}},
}


@pytest.mark.rule("MRTR-8", "MRTR-S-23", "MRTR-S-24", "SERR-26")
@pytest.mark.parametrize("shape", BAD_ANSWERS)
def test_answers_of_no_known_shape_are_refused_and_nothing_runs(bench: Bench, port: int, shape: str) -> None:
    token = mint(port)
    bench.ran.clear()
    answer = post(port, request(retry(token, inputResponses=BAD_ANSWERS[shape])))
    error = answer.json["error"]
    assert (answer.status, error["code"], error["message"]) == (400, -32602, "Invalid request parameters")
    assert "eu-west-1-secret" not in str(error)
    assert "inputResponses" in str(error.get("data"))
    assert bench.ran == []


@pytest.mark.rule("MRTR-7", "MRTR-9", "MRTR-S-20", "MRTR-S-25", "MRTR-S-26", "SERR-26")
@pytest.mark.parametrize(
    "changes",
    [
        {"inputResponses": None},
        {"inputResponses": {}},
        {"inputResponses": {"nobody asked": ANSWER["region"]}},
        {"inputResponses": {"region": {"action": "decline"}}},
        {"requestState": None, "inputResponses": None},
    ],
)
def test_missing_answers_are_asked_for_again(port: int, changes: dict[str, Any]) -> None:
    again = post(port, request(retry(mint(port), **changes)))
    assert list(again.json["result"]["inputRequests"]) == ["region"]
    state_of(again)


@pytest.mark.rule("MRTR-9", "MRTR-S-25")
def test_answers_that_nobody_asked_for_are_ignored(port: int) -> None:
    extra: dict[str, Any] = {**ANSWER, "more": {"action": "accept", "content": {"x": 1}}, "roots": {"roots": []}}
    done = post(port, request(retry(mint(port), inputResponses=extra)))
    assert done.json["result"]["resultType"] == "complete"


@pytest.mark.rule("MRTR-37")
def test_an_answer_to_a_resolver_counts_only_with_the_state_that_asked(bench: Bench, port: int) -> None:
    bench.ran.clear()
    first = post(port, request({"name": "login", "arguments": {}}, request_id=1))
    [key] = first.json["result"]["inputRequests"]
    answers = {key: {"action": "accept", "content": {"username": "mallory"}}}
    stateless = post(port, request({"name": "login", "arguments": {}, "inputResponses": answers}))
    assert list(stateless.json["result"]["inputRequests"]) == [key]
    assert bench.ran == []
    done = post(
        port,
        request({"name": "login", "arguments": {}, "inputResponses": answers, "requestState": state_of(stateless)}),
    )
    assert done.json["result"]["content"][0]["text"] == "mallory"


@pytest.mark.rule("MRTR-S-09", "MRTR-D1")
def test_a_question_that_the_client_cannot_answer_has_status_400(port: int) -> None:
    answer = post(port, request_body("tools/call", CALL, request_id=2))
    assert answer.status == 400
    assert answer.json["error"]["code"] == -32021


@pytest.mark.rule("MRTR-S-29")
def test_a_question_of_a_resource_says_nothing_about_caching(port: int) -> None:
    result = post(port, request({"uri": "x://a"}, "resources/read")).json["result"]
    assert result.keys() == {"resultType", "inputRequests", "requestState", "_meta"}


class Gate:
    """Stands for whatever verifies tokens: takes the user from headers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            if "x-user" in headers:
                token = AccessToken(
                    token="t",
                    client_id=headers.get("x-client", "app"),
                    scopes=[],
                    subject=headers["x-user"],
                    claims={"iss": headers.get("x-issuer", "https://issuer.example")},
                )
                scope["user"] = AuthenticatedUser(token)
        await self.app(scope, receive, send)


@contextmanager
def guarded(app: ASGIApp, by: str) -> Generator[int]:
    with serving(Gate(app if by == "scope" else AuthContextMiddleware(app))) as port:
        yield port


@pytest.mark.rule("MRTR-30", "MRTR-32", "MRTR-33", "MRTR-34", "MRTR-S-15", "MRTR-S-28")
@pytest.mark.parametrize("by", ["scope", "context"])
def test_a_token_belongs_to_the_user_it_was_given_to(by: str, caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    with guarded(bench.server.streamable_http_app(), by) as port, caplog.at_level(logging.WARNING, "mcp"):
        alices, nobodys = mint(port, x_user="alice"), mint(port)
        strangers: list[dict[str, str]] = [
            {"x_user": "bob"},
            {"x_user": "Alice"},
            {"x_user": "alice", "x_client": "other app"},
            {"x_user": "alice", "x_issuer": "https://other.example"},
            {},
        ]
        for stranger in strangers:
            refused(port, request(retry(alices)), **stranger)
        refused(port, request(retry(nobodys)), x_user="alice")
        assert bench.ran == []
        for token, user in ((alices, {"x_user": "alice"}), (nobodys, {})):
            assert post(port, request(retry(token)), **user).json["result"]["resultType"] == "complete"
    assert "alice" not in caplog.text
    assert {record.getMessage().rpartition(": ")[2] for record in caplog.records} == {"principal", "principal drift"}


@pytest.mark.rule("MRTR-34")
def test_binding_can_be_switched_off() -> None:
    bench = Bench(bind_principal=None)
    with guarded(bench.server.streamable_http_app(), "scope") as port:
        token = mint(port, x_user="alice")
        assert post(port, request(retry(token)), x_user="bob").status == 200
