"""Several messages at once from a server of 2025-03-26."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketStream

from mcp.shared.exceptions import MCPError
from tests.client.legacy_http import Legacy, legacy, legacy_link, method_of, note, opening, said, say_405, stream_whole
from tests.client.raw_http import Answer, RawServer, Seen, event, raw_server, response

BATCHES = "2025-03-26"
PROGRESS = "notifications/progress"


@asynccontextmanager
async def linked(
    answer_call: Answer, *, version: str = BATCHES, get: Answer = say_405
) -> AsyncGenerator[tuple[Legacy, RawServer]]:
    rest = legacy(answer_call, get=get)

    async def answer(seen: Seen, stream: SocketStream) -> None:
        if method_of(seen) == "initialize":
            await stream.send(opening(seen, "s-1", version))
        else:
            await rest(seen, stream)

    with anyio.fail_after(5):
        async with raw_server(answer) as server, legacy_link(server.url) as client:
            yield client, server


def question(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "roots/list"}


def items(seen: Seen) -> list[Any]:
    """An answer, in the middle of what else a server may say."""
    return [note(PROGRESS, progressToken=1, progress=1), said(seen), 5, question(70), note(PROGRESS, progressToken=1)]


@pytest.mark.rule("LEG-J-12", "LEG-J-18")
@pytest.mark.parametrize("as_json", [False, True])
async def test_an_answer_is_found_in_a_batch_and_the_rest_is_taken_in(as_json: bool) -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        if as_json:
            await stream.send(response(json.dumps(items(seen))))
        else:
            await stream_whole(stream, event(items(seen)))

    async with linked(answer) as (client, server):
        assert (await client.call())["content"] == [{"type": "text", "text": "ok"}]
        assert client.heard == [PROGRESS, PROGRESS]
        while not any(method_of(seen) == "answer" for seen in server.seen):
            await anyio.lowlevel.checkpoint()
        (answered,) = (seen for seen in server.seen if method_of(seen) == "answer")
        assert answered.message == {"jsonrpc": "2.0", "id": 70, "result": {"roots": []}}


@pytest.mark.rule("LEG-J-18")
async def test_the_standing_stream_speaks_in_batches_too() -> None:
    async def get(seen: Seen, stream: SocketStream) -> None:
        stray: dict[str, Any] = {"jsonrpc": "2.0", "id": 5, "result": {}}
        told = [note("notifications/tools/list_changed"), stray, note("notifications/prompts/list_changed")]
        await stream_whole(stream, event(told))

    async def answer(seen: Seen, stream: SocketStream) -> None: ...

    async with linked(answer, get=get) as (client, _):
        while len(client.told.notes) < 2:
            await anyio.lowlevel.checkpoint()
        assert client.told.notes == ["notifications/tools/list_changed", "notifications/prompts/list_changed"]


async def test_a_batch_without_the_answer_is_an_error() -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        await stream.send(response(json.dumps([{"jsonrpc": "2.0", "id": 99, "result": {}}])))

    async with linked(answer) as (client, _):
        with pytest.raises(MCPError, match="The server's batch holds no answer to request 1"):
            await client.call()


@pytest.mark.rule("LEG-J-19")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25"])
async def test_other_revisions_have_no_batches(version: str) -> None:
    async def answer(seen: Seen, stream: SocketStream) -> None:
        if seen.message["id"] == 1:
            await stream.send(response(json.dumps([said(seen)])))
        else:
            await stream_whole(stream, event([said(seen)]))

    async with linked(answer, version=version) as (client, _):
        with pytest.raises(MCPError, match="an array is no single message"):
            await client.call()
        with pytest.raises(MCPError, match="SSE stream ended without a response"):
            await client.call()
