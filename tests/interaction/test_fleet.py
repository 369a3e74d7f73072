"""Several processes serve one address, or several: each finishes what another has begun, if they share keys."""

from __future__ import annotations

import http.client
import os
import signal
import sys
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import cycle
from typing import Any

import anyio
import pytest

from mcp import Client
from mcp._engine.link import Link, OnNotification, OutgoingRequest
from mcp.client import ClientRequestContext
from mcp.client.streamable_http import StreamableHTTPTransport
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult
from tests.interaction.processes import Uvicorn, uvicorn
from tests.interaction.test_verbs import text_of
from tests.server.http.fakes import request_body
from tests.server.http.serving import Answer, connected, post, send

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stops processes with signals")

OLD, NEW = "o" * 32, "n" * 32
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
ANSWERS: dict[str, Any] = {"region": "eu", "username": "bob", "amount": 3}
REFUSED = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Invalid or expired requestState"}}


def call(name: str, arguments: dict[str, Any] | None = None, after: Answer | None = None) -> dict[str, Any]:
    """A call of a tool, the first time, or with the answers to what the last one asked."""
    params: dict[str, Any] = {"name": name, "arguments": arguments or {}}
    if after is not None:
        result = after.json["result"]
        params["requestState"] = result["requestState"]
        params["inputResponses"] = {
            key: {"action": "accept", "content": {name: ANSWERS[name] for name in properties(request)}}
            for key, request in result["inputRequests"].items()
        }
    return request_body("tools/call", params, **{"io.modelcontextprotocol/clientCapabilities": FORMS})


def properties(request: Any) -> list[str]:
    return list(request["params"]["requestedSchema"]["properties"])


def text_in(answer: Answer) -> str:
    return str(answer.json["result"]["content"][0]["text"])


def ask(connection: http.client.HTTPConnection, body: dict[str, Any]) -> Answer:
    send(connection, body)
    return Answer(connection.getresponse())


@contextmanager
def asleep(process: int) -> Generator[None]:
    """Stop a worker, so that another one has to accept what comes."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


@pytest.mark.rule("MRTR-26", "MRTR-S-22")
def test_workers_with_shared_keys_finish_each_others_calls() -> None:
    with uvicorn(NEW, workers=2) as [served], connected(served.port) as connection:
        # One connection stays with one worker.
        worker = int(text_in(ask(connection, call("process"))))
        asked = ask(connection, call("provision", {"name": "db"}))
        who = ask(connection, call("pay"))
        with asleep(worker):
            done = post(served.port, call("provision", {"name": "db"}, after=asked))
            how_much = post(served.port, call("pay", after=who))
        paid = ask(connection, call("pay", after=how_much))
    text = text_in(done)
    assert text.startswith(f"db in eu, asked by {worker}, done by ")
    assert not text.endswith(f" {worker}")
    assert text_in(paid) == "bob pays 3"


@pytest.mark.rule("MRTR-25", "MRTR-41")
def test_workers_without_keys_refuse_each_others_calls_and_the_log_names_the_cure() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [("provision", {"name": "db"}), ("pay", {})]
    with uvicorn(None, workers=2) as [served], connected(served.port) as connection:
        worker = int(text_in(ask(connection, call("process"))))
        asked = [ask(connection, call(*each)) for each in calls]
        with asleep(worker):
            refused = [
                post(served.port, call(*each, after=question)) for each, question in zip(calls, asked, strict=True)
            ]
        served.wait_for("requestState rejected", times=2)
        again = [ask(connection, call(*each, after=question)) for each, question in zip(calls, asked, strict=True)]
    assert [(answer.status, answer.json) for answer in refused] == [(400, REFUSED)] * 2
    lines = [line for line in served.log if "requestState rejected" in line]
    assert all("unknown key" in line and "RequestStateSecurity(keys=[...])" in line for line in lines)
    assert asked[0].json["result"]["requestState"] not in "".join(served.log)
    assert [answer.status for answer in again] == [200, 200]


class Alternating:
    """A way to several servers that sends each request to the next one, like a balancer without any memory."""

    def __init__(self, *ports: int) -> None:
        self._transports = [StreamableHTTPTransport(f"http://127.0.0.1:{port}/mcp") for port in ports]

    @asynccontextmanager
    async def connect_in_process(self, mode: str, *, raise_exceptions: bool) -> AsyncGenerator[Link]:
        links = [transport.open_link() for transport in self._transports]
        try:
            yield _AlternatingLink(links)
        finally:
            for link in links:
                await link.aclose()


class _AlternatingLink:
    def __init__(self, links: Sequence[Link]) -> None:
        self._links = cycle(links)

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        return await next(self._links).exchange(request, on_notification)

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        await next(self._links).notify(method, params, version)


async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    assert isinstance(params, ElicitRequestFormParams)
    return ElicitResult(
        action="accept", content={name: ANSWERS[name] for name in params.requested_schema["properties"]}
    )


@pytest.fixture(scope="module")
def rotating() -> Generator[list[Uvicorn]]:
    """Two servers in the middle of a rotation: both know both keys, and each mints with another one."""
    with uvicorn(f"{OLD},{NEW}", f"{NEW},{OLD}") as servers:
        yield servers


@pytest.fixture(scope="module")
def keyless() -> Generator[list[Uvicorn]]:
    with uvicorn(None, None) as servers:
        yield servers


@pytest.mark.rule("MRTR-44")
async def test_a_client_does_not_notice_that_its_calls_alternate_between_servers(rotating: list[Uvicorn]) -> None:
    target = Alternating(*(server.port for server in rotating))
    with anyio.fail_after(20):
        async with Client(target, elicitation_callback=answer) as client:
            for _ in range(3):
                assert text_of(await client.call_tool("pay")) == "bob pays 3"
                asked, done = text_of(await client.call_tool("provision", {"name": "db"})).split(", ")[1:]
                assert asked.split()[-1] != done.split()[-1]


async def test_a_client_is_refused_where_its_calls_alternate_between_servers_without_keys(
    keyless: list[Uvicorn],
) -> None:
    one, other = keyless
    with anyio.fail_after(20):
        async with Client(Alternating(one.port, other.port), elicitation_callback=answer) as client:
            with pytest.raises(MCPError, match=r"^Invalid or expired requestState$"):
                await client.call_tool("pay")
    # Discovery went to the first, the call to the other, its second round to the first again.
    assert "RequestStateSecurity(keys=[...])" in one.wait_for("requestState rejected").string
