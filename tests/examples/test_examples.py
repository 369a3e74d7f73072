"""Every program in `examples/` does what it says: in memory, and as processes that talk over HTTP."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import bookshop
import custom_codec
import extension_and_middleware
import html_app
import legacy_bridge
import lowlevel_asks
import prompt_asks
import pytest
import resolver_tool
import rotate_keys
import shared_keys
import tool_options

from mcp import Client, MCPError
from mcp.client import ClientRequestContext
from mcp.server.mcpserver import RequestStateSecurity
from mcp.types import (
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    ImageContent,
    InputRequiredResult,
    Request,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)
from tests.programs import EXAMPLES, environment, free_port, run_program, serving

PROGRAMS = sorted(path.stem for path in EXAMPLES.glob("*.py"))


class User:
    """Answers every form from one set of values and remembers what was asked."""

    def __init__(self, action: str = "accept", **values: str | bool) -> None:
        self.action = action
        self.values = values
        self.asked: list[str] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        if self.action != "accept":
            return ElicitResult(action="decline")
        wanted = getattr(params, "requested_schema", {})["properties"]
        return ElicitResult(action="accept", content={name: self.values[name] for name in wanted})


def text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


def test_every_program_has_a_test_here() -> None:
    assert PROGRAMS == [
        "approvals",
        "bookshop",
        "client_callbacks",
        "client_rounds",
        "custom_codec",
        "extension_and_middleware",
        "html_app",
        "legacy_bridge",
        "lowlevel_asks",
        "prompt_asks",
        "resolver_tool",
        "rotate_keys",
        "shared_keys",
        "tool_options",
        "two_processes",
        "two_workers",
    ]


@pytest.mark.rule("MRTR-1", "MRTR-13")
async def test_the_low_level_server_asks_and_then_moves_the_meeting() -> None:
    user = User(day="Friday")
    async with Client(lowlevel_asks.server, elicitation_callback=user) as client:
        result = await client.call_tool("move_meeting", {"title": "Review"})
    assert text(result) == "Review is on Friday now."
    assert user.asked == ["Which day suits you?"]


async def test_the_low_level_server_moves_nothing_when_the_user_declines() -> None:
    async with Client(lowlevel_asks.server, elicitation_callback=User("decline")) as client:
        result = await client.call_tool("move_meeting", {"title": "Review"})
    assert text(result) == "Review stays where it is."


@pytest.mark.rule("CASE-27")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_returned_question_reaches_clients_of_both_eras(mode: str) -> None:
    user = User(region="eu")
    async with Client(legacy_bridge.server, mode=mode, elicitation_callback=user) as client:
        result = await client.call_tool("provision", {"name": "orders"})
    assert text(result) == "orders is provisioned in eu."
    assert user.asked == ["Which region?"]


@pytest.mark.rule("MRTR-14")
async def test_the_prompt_asks_for_its_tone() -> None:
    async with Client(prompt_asks.server, elicitation_callback=User(tone="warm")) as client:
        result = await client.get_prompt("letter", {"recipient": "Ann"})
    (message,) = result.messages
    assert isinstance(message.content, TextContent)
    assert message.content.text == "Write a warm letter to Ann."


async def test_the_resolvers_ask_one_after_the_other_where_one_depends_on_the_other() -> None:
    user = User(size="M", insured=True)
    async with Client(resolver_tool.server, elicitation_callback=user) as client:
        result = await client.call_tool("rent_bike", {"bike": "race bike"})
    assert text(result) == "Rented: race bike, size M, with insurance."
    assert user.asked == [
        "Which size of race bike do you need?",
        "Do you want insurance for the race bike, size M?",
    ]


async def test_the_resolvers_ask_only_what_they_need() -> None:
    user = User(size="S")
    async with Client(resolver_tool.server, elicitation_callback=user) as client:
        result = await client.call_tool("rent_bike", {"bike": "city bike"})
    assert text(result) == "Rented: city bike, size S, without insurance."
    assert user.asked == ["Which size of city bike do you need?"]


@pytest.mark.rule("MRTR-26")
async def test_the_steps_of_a_rotation_fail_no_call() -> None:
    fleet = [shared_keys.make_server(security) for security in rotate_keys.STEPS]
    for before, after in itertools.pairwise(fleet):
        assert (await rotate_keys.book(before, after)).startswith("Seat 7B for Hamlet")
        assert (await rotate_keys.book(after, before)).startswith("Seat 7B for Hamlet")


@pytest.mark.rule("MRTR-25", "MRTR-41")
async def test_an_instance_with_another_key_refuses_the_state() -> None:
    first = shared_keys.make_server(RequestStateSecurity(keys=[rotate_keys.OLD]))
    second = shared_keys.make_server(RequestStateSecurity(keys=[rotate_keys.NEW]))
    with pytest.raises(MCPError, match="Invalid or expired requestState"):
        await rotate_keys.book(first, second)


async def test_the_custom_codec_seals_what_the_tool_writes() -> None:
    user = User(sure=True)
    async with Client(custom_codec.server, elicitation_callback=user) as client:
        asked = await client.session.call_tool("shred", {"document": "diary"}, allow_input_required=True)
        assert isinstance(asked, InputRequiredResult)
        assert asked.request_state is not None
        assert asked.request_state.startswith("vault1:")
        assert "diary" not in asked.request_state
        result = await client.call_tool("shred", {"document": "diary"})
    assert text(result) == "diary is gone (asked about diary)."


async def test_the_tool_with_a_page_answers_those_who_show_no_pages() -> None:
    async with Client(html_app.server) as client:
        (tool,) = (await client.list_tools()).tools
        assert tool.meta == {"ui": {"resourceUri": html_app.VIEW}}
        (page,) = (await client.read_resource(html_app.VIEW)).contents
        assert page.mime_type == "text/html;profile=mcp-app"
        assert text(await client.call_tool("add_up", {"dice": [3, 4]})) == "You rolled 3 + 4 = 7."


async def test_the_bookshop_offers_everything_but_questions() -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with Client(bookshop.server) as client:
        found = await client.call_tool("find", {"shelf": "novels", "below_cents": 1000})
        dracula = {"title": "Dracula", "year": 1897, "shelf": "novels", "cents": 990}
        assert found.structured_content == {"result": [dracula]}
        sold = await client.call_tool("sell", {"slugs": ["emma", "dracula"]}, progress_callback=on_progress)
        assert sold.structured_content == {"result": 2280}
        assert told == [(1, 2, "packing Emma"), (2, 2, "packing Dracula")]
        assert "There is no book 'ema'; known are emma" in text(await client.call_tool("sell", {"slugs": ["ema"]}))
        _, picture = (await client.call_tool("cover", {"slug": "emma"})).content
        assert isinstance(picture, ImageContent)
        assert picture.mime_type == "image/png"
        assert [found.uri for found in await client.list_all_resources()] == ["books://catalogue"]
        (card,) = (await client.read_resource("books://emma/card?lines=2")).contents
        assert isinstance(card, TextResourceContents)
        assert card.text == "Emma\n1815"
        with pytest.raises(MCPError, match=r"^No book is called 'ema'$"):
            await client.read_resource("books://ema/card")
        prompt = await client.get_prompt("recommend", {"shelf": "poems"})
        assert [message.role for message in prompt.messages] == ["user", "assistant"]
        template = ResourceTemplateReference(type="ref/resource", uri="books://{slug}/card{?lines}")
        suggested = await client.complete(template, {"name": "slug", "value": "e"})
        assert suggested.completion.values == ["emma"]


async def test_the_extension_counts_calls_and_the_middleware_measures_them() -> None:
    async def count(client: Client) -> dict[str, int]:
        answer = await client.session.send_request(Request(method="com.example/calls", params=None), dict[str, Any])
        return answer["calls"]

    async with Client(extension_and_middleware.server) as client:
        assert (client.server_capabilities.extensions or {})["com.example/stamps"] == {"format": "v2"}
        before = await count(client)
        assert text(await client.call_tool("letter", {"to": "Ann"})) == "Dear Ann"
        assert text(await client.call_tool("stamp", {"text": "Letter"})) == "Letter [stamped]"
        assert await count(client) == {name: before.get(name, 0) + 1 for name in ("letter", "stamp")}
    assert extension_and_middleware.seconds["tools/call"] > 0


@pytest.mark.rule("CASE-16", "CASE-71", "CASE-85")
async def test_the_tools_with_options_keep_to_them() -> None:
    async with Client(tool_options.server) as client:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == ["read_note", "export", "summarize"]
        assert all(tool.input_schema["additionalProperties"] is False for tool in listed)
        assert "Unknown argument; known are 'name'" in text(await client.call_tool("read_note", {"note": "milk"}))
        export = await client.call_tool("export")
        assert (export.content, export.structured_content) == ([], tool_options.NOTES)
        assert text(await client.call_tool("summarize", {"patience": 0})) == "2 notes"
        assert "did not finish within 0.2 seconds" in text(await client.call_tool("summarize", {"patience": 1}))
        with pytest.raises(MCPError, match="Unknown tool: purge"):
            await client.call_tool("purge")
    async with Client(tool_options.server, elicitation_callback=User(sure=False)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools][-1] == "purge"
        assert text(await client.call_tool("purge")) == "Nothing happened."


@pytest.mark.parametrize(
    ("program", "day"), [("client_callbacks", "Friday"), ("client_rounds", "Monday")], ids=["callbacks", "rounds"]
)
def test_the_client_programs_move_a_meeting_over_http(program: str, day: str) -> None:
    port = free_port()
    with serving([EXAMPLES / "lowlevel_asks.py", str(port)], port) as url:
        printed = run_program(EXAMPLES / f"{program}.py", url)
    assert printed.splitlines() == ["The server asks: Which day suits you?", f"Retrospective is on {day} now."]


def test_two_processes_show_a_call_of_three_rounds() -> None:
    printed = run_program(EXAMPLES / "two_processes.py")
    assert "round 1: call rent_bike {'bike': 'race bike'}" in printed
    assert "round 3: the same call, the answer, and " in printed
    assert "result after 3 rounds: Rented: race bike, size M, with insurance." in printed


def test_two_workers_share_a_call() -> None:
    printed = run_program(EXAMPLES / "two_workers.py")
    asked, answered = (line for line in printed.splitlines() if line.startswith("http://"))
    assert asked.endswith(" asks: seat")
    assert " answers: Seat 7B for Hamlet: offered by " in answered
    assert asked.split()[0] != answered.split()[0]


def test_the_rotation_program_prints_each_step() -> None:
    printed = run_program(EXAMPLES / "rotate_keys.py")
    assert [line.partition(":")[0] for line in printed.splitlines() if line.startswith("step")] == [
        f"step {step}, begun {when} it" for step in (1, 2, 3) for when in ("before", "after")
    ]


def test_a_question_is_answered_on_a_page_while_its_worker_is_away(tmp_path: Path) -> None:
    port, file = free_port(), str(tmp_path / "calls.db")
    command = [sys.executable, str(EXAMPLES / "approvals.py"), "worker", file]
    with serving([EXAMPLES / "approvals.py", "page", file, str(port)], port) as url:
        page = url.removesuffix("/mcp")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as worker:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "waiting for somebody to answer\n"
            worker.kill()
        shown = fetch(page)
        assert "Buy a boat for 900 EUR?" in shown
        [call] = re.findall(r'action="(/[0-9a-f]+)"', shown)
        [name] = re.findall(r'type="checkbox" name="([^"]+)"', shown)
        fetch(page + call, {name: "on", name.replace("approved", "remark"): "a small one"})
        assert run_program(EXAMPLES / "approvals.py", "worker", file).splitlines() == [
            "waiting for somebody to answer",
            "{'result': 'bought a boat (a small one)'}",
        ]
        assert "None." in fetch(page)


def fetch(url: str, form: dict[str, str] | None = None) -> str:
    data = None if form is None else urlencode(form).encode()
    with urlopen(url, data, timeout=30) as response:
        return response.read().decode()


@pytest.mark.parametrize("arguments", [[], ["page", "calls.db"], ["page", "calls.db", "x"], ["work", "calls.db"]])
def test_approvals_says_how_it_is_started(arguments: list[str]) -> None:
    command = [sys.executable, str(EXAMPLES / "approvals.py"), *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    usage = "usage: approvals.py page FILE PORT, or approvals.py worker FILE\n"
    assert (done.returncode, done.stderr) == (1, usage)
