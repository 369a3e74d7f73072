"""Building a server: its identity, its settings, its lists, and who may be served how."""

from __future__ import annotations

import base64
import importlib
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import PlainTextResponse

import mcp_types as types
from mcp.client.client import Client
from mcp.server import caching, mcpserver
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver._handlers import Listing
from mcp.server.mcpserver._registry import Registry
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.resources import TextResource
from mcp.server.mcpserver.server import MCPServer, require_client_extension
from mcp.server.mcpserver.tools import Tool
from mcp.server.request_state import RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Completion,
    CompletionArgument,
    CompletionContext,
    Prompt,
    PromptReference,
    ResourceTemplateReference,
)
from tests.mcpserver.wire import connect


@pytest.mark.rule("RUN-1")
def test_a_server_without_a_name_has_one() -> None:
    assert MCPServer().name == "mcp-server"
    assert MCPServer("").name == "mcp-server"


async def test_a_server_tells_what_it_was_built_with() -> None:
    mcp = MCPServer("Lab", "T", "D", "I", "https://w", [], "3")
    assert (mcp.name, mcp.title, mcp.description, mcp.instructions, mcp.website_url, mcp.icons, mcp.version) == (
        "Lab",
        "T",
        "D",
        "I",
        "https://w",
        [],
        "3",
    )
    async with connect(mcp) as peer:
        discovered = await peer.request("server/discover")
    assert discovered["instructions"] == "I"
    assert discovered["capabilities"] == {
        "logging": {},
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
    }


@pytest.mark.rule("RUN-2", "LOG-1", "TROUBLE-27")
def test_settings_are_checked() -> None:
    with pytest.raises(ValidationError):
        MCPServer("Lab", log_level="debug")  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"MCPServer.__init__\(\) got an unexpected keyword argument 'port'"):
        MCPServer("Lab", port=1)  # pyright: ignore[reportCallIssue]
    settings = MCPServer("Lab", dependencies=["a"], debug=True).settings
    assert (settings.debug, settings.log_level, settings.dependencies) == (True, "INFO", ["a"])


@pytest.mark.rule("RUN-4")
def test_settings_have_no_transport_options() -> None:
    with pytest.raises(ValueError, match=r'^"Settings" object has no field "port"$'):
        MCPServer("Lab").settings.port = 1  # pyright: ignore[reportAttributeAccessIssue]


def run_python(code: str) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    source = str(Path(caching.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": source},
    )
    return done.stdout.strip()


@pytest.mark.rule("RUN-D1", "LOG-D1", "RUN-3")
def test_building_a_server_leaves_the_logging_of_the_process_alone() -> None:
    code = "import logging; from mcp.server.mcpserver import MCPServer; MCPServer('x'); print(logging.root.handlers)"
    assert run_python(code) == "[]"


def test_a_server_with_a_tool_loads_nothing_heavy() -> None:
    code = (
        "import sys; from mcp.server.mcpserver import MCPServer; MCPServer('x').tool('f')(lambda: 1);"
        "print(sorted({'starlette', 'uvicorn', 'aiohttp', 'httpx2', 'cryptography', 'joserfc', 'jsonschema_rs',"
        "'opentelemetry', 'multipart', 'rich', 'typer'} & set(sys.modules)))"
    )
    assert run_python(code) == "[]"


@pytest.mark.rule("RUN-5", "TROUBLE-30")
def test_authorization_that_is_not_served_is_refused() -> None:
    with pytest.raises(ValueError) as caught:
        MCPServer("Lab", token_verifier=object())
    assert str(caught.value) == "Cannot specify auth_server_provider or token_verifier without auth settings"
    with pytest.raises(ValueError, match="has no authorization of its own"):
        MCPServer("Lab", auth=object())


@pytest.mark.rule("RUN-6", "RUN-D2")
def test_a_bus_must_be_one() -> None:
    for wrong in (True, object()):
        with pytest.raises(TypeError, match=r"SubscriptionBus, None \(an in-memory bus\), or False \(off\)"):
            MCPServer("Lab", subscriptions=wrong)  # pyright: ignore[reportArgumentType]


def test_numbers_must_make_sense() -> None:
    with pytest.raises(ValueError, match="page_size must be a positive number or None, got 0"):
        MCPServer("Lab", page_size=0)
    with pytest.raises(ValueError, match="max_answer_retries must not be negative, got -1"):
        MCPServer("Lab", max_answer_retries=-1)
    with pytest.raises(ValueError, match="on_duplicate must be"):
        MCPServer("Lab", on_duplicate="ignore")  # pyright: ignore[reportArgumentType]


@pytest.mark.rule("MRTR-36")
def test_a_shared_secret_needs_a_name_to_tell_servers_apart() -> None:
    key = "k" * 32
    with pytest.raises(ValueError, match=r"^request_state_security is configured but this server has no name\."):
        MCPServer(request_state_security=RequestStateSecurity(keys=[key]))
    with pytest.raises(ValueError, match="has no name"):
        MCPServer(request_state_security=RequestStateSecurity.ephemeral())
    assert MCPServer(request_state_security=RequestStateSecurity(keys=[key], audience="a"))
    assert MCPServer("Lab", request_state_security=RequestStateSecurity(keys=[key]))


def test_a_key_in_place_of_the_policy_is_refused_with_the_way_to_write_it() -> None:
    with pytest.raises(TypeError, match=r"RequestStateSecurity\(keys=\[key\]\); got str$"):
        MCPServer("Lab", request_state_security="k" * 32)  # pyright: ignore[reportArgumentType]


async def test_middleware_wraps_every_message_and_the_list_is_live() -> None:
    calls: list[str] = []

    async def first(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        calls.append(f"first {ctx.method}")
        return await call_next(ctx)

    async def second(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        calls.append("second")
        return await call_next(ctx)

    mcp = MCPServer("Lab", middleware=[first])
    async with connect(mcp) as peer:
        await peer.request("tools/list")
        mcp.middleware.append(second)
        await peer.request("tools/list")
    assert calls == ["first tools/list", "first tools/list", "second"]


async def test_cache_hints_reach_the_results() -> None:
    mcp = MCPServer("Lab", cache_hints={"tools/list": CacheHint(ttl_ms=5000, scope="public")})
    async with mcp.connect_in_process("auto") as link:
        assert link is not None
    entry = mcp._lowlevel_server.cache_hints["tools/list"]
    assert (entry.ttl_ms, entry.scope) == (5000, "public")


def numbered_server(count: int, page_size: int | None = None) -> MCPServer:
    mcp = MCPServer("Lab", page_size=page_size)
    for number in range(count):
        mcp.add_tool(lambda: "x", name=f"t{number}")
    return mcp


@pytest.mark.rule("TOOLS-10", "PROMPT-7", "PAGE-6", "PAGE-D1", "SERR-24")
async def test_lists_come_on_one_page_and_know_no_cursor() -> None:
    async with connect(numbered_server(3)) as peer:
        assert len((await peer.request("tools/list"))["tools"]) == 3
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            with pytest.raises(MCPError) as caught:
                await peer.request(method, {"cursor": "x"})
            assert (caught.value.code, caught.value.message) == (INVALID_PARAMS, "Invalid cursor")


@pytest.mark.rule("PAGE-D2", "PAGE-D1", "PAGE-1", "PAGE-3")
async def test_lists_can_be_paged_while_they_change() -> None:
    mcp = numbered_server(5, page_size=2)
    async with connect(mcp) as peer:
        first = await peer.request("tools/list")
        assert [tool["name"] for tool in first["tools"]] == ["t0", "t1"]
        mcp.remove_tool("t1")
        mcp.remove_tool("t2")
        mcp.add_tool(lambda: "x", name="t5")
        second = await peer.request("tools/list", {"cursor": first["nextCursor"]})
        assert [tool["name"] for tool in second["tools"]] == ["t3", "t4"]
        third = await peer.request("tools/list", {"cursor": second["nextCursor"]})
        assert [tool["name"] for tool in third["tools"]] == ["t5"]
        assert "nextCursor" not in third
        for wrong in ("", "x", "dG9vbHM6OTk=", "dG9vbHM6LTE=", "cHJvbXB0czox", "é"):
            with pytest.raises(MCPError, match=r"^Invalid cursor$"):
                await peer.request("tools/list", {"cursor": wrong})
        long = base64.urlsafe_b64encode(b"tools:" + b"9" * 5000).decode()  # more digits than an int is read from
        with pytest.raises(MCPError, match=r"^Invalid cursor$"):
            await peer.request("tools/list", {"cursor": long})
        with pytest.raises(MCPError, match=r"^Invalid cursor$"):
            await peer.request("prompts/list", {"cursor": first["nextCursor"]})


def test_a_registry_can_be_read_while_it_changes() -> None:
    registry: Registry[str] = Registry("Thing", logging.getLogger(__name__))
    for name in "abc":
        registry.add(name, name.upper())
    for read in (iter(registry), iter(registry.numbered())):
        next(read)
        registry.add("d", "D")
        assert len(list(read)) == 2
        registry.remove("d")


class Eager:
    """Something that registers a thing while it is being listed, as another thread would."""

    def __init__(self, registry: Registry[Any]) -> None:
        self._registry = registry

    def as_listed(self) -> Prompt:
        self._registry.add("late", Plain())
        return Prompt(name="eager")


class Plain:
    def as_listed(self) -> Prompt:
        return Prompt(name="late")


async def test_what_is_registered_while_a_list_is_made_is_in_the_next_one() -> None:
    registry: Registry[Any] = Registry("Thing", logging.getLogger(__name__))
    registry.add("eager", Eager(registry))
    listing = Listing[Any]("prompts", registry, None, make_context=lambda ctx: Context(request_context=ctx))
    ctx: Any = None
    assert [item["name"] for item in (await listing(ctx, None))["prompts"]] == ["eager"]
    assert [item["name"] for item in (await listing(ctx, None))["prompts"]] == ["eager", "late"]


@pytest.mark.rule("COMP-1", "COMP-3", "COMP-4", "COMP-5", "COMP-8", "COMP-D3")
async def test_a_function_suggests_values() -> None:
    mcp = MCPServer("Lab")
    seen: list[Any] = []
    params = {
        "ref": {"type": "ref/resource", "uri": "x://{a}/{b}"},
        "argument": {"name": "b", "value": "v"},
        "context": {"arguments": {"a": "1"}},
    }
    async with connect(mcp) as peer:
        with pytest.raises(MCPError) as caught:
            await peer.request("completion/complete", params)
        assert caught.value.message == "Method not found"

        @mcp.completion()
        async def complete(
            ref: PromptReference | ResourceTemplateReference,
            argument: CompletionArgument,
            context: CompletionContext | None,
            ctx: Context,
        ) -> Completion | None:
            seen.append((ref, argument, context, ctx.request_context.method))
            return None if context is None else Completion(values=["a", "b"], total=5, has_more=True)

        @mcp.prompt()
        def p(b: str) -> str:
            return b

        assert callable(complete)
        result = await peer.request("completion/complete", params)
        assert result == {"completion": {"values": ["a", "b"], "total": 5, "hasMore": True}}
        plain = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "b", "value": ""}}
        assert await peer.request("completion/complete", plain) == {"completion": {"values": []}}
        assert (await peer.request("server/discover"))["capabilities"]["completions"] == {}
    assert seen[0] == (
        ResourceTemplateReference(type="ref/resource", uri="x://{a}/{b}"),
        CompletionArgument(name="b", value="v"),
        CompletionContext(arguments={"a": "1"}),
        "completion/complete",
    )


@pytest.mark.rule("COMP-4", "SCOMP-07")
async def test_nothing_to_suggest_for_what_does_not_exist_is_an_error() -> None:
    mcp = MCPServer("Lab")
    asked: list[str] = []

    @mcp.prompt()
    def known(word: str) -> str:
        return word

    @mcp.resource("x://{name}")
    def item(name: str) -> str:
        return name

    @mcp.completion()
    async def complete(ref: Any, argument: CompletionArgument, context: Any) -> Completion | None:
        asked.append(argument.value)
        return Completion(values=["a"]) if argument.value == "a" else None

    async def suggest(value: str, **ref: str) -> dict[str, Any]:
        return await peer.request("completion/complete", {"ref": ref, "argument": {"name": "word", "value": value}})

    async with connect(mcp) as peer:
        nothing: dict[str, Any] = {"completion": {"values": []}}
        assert await suggest("b", type="ref/prompt", name="known") == nothing
        assert await suggest("b", type="ref/resource", uri="x://{name}") == nothing
        assert await suggest("b", type="ref/resource", uri="x://one") == nothing
        assert await suggest("a", type="ref/prompt", name="other") == {"completion": {"values": ["a"]}}
        for ref, text in (
            ({"type": "ref/prompt", "name": "other"}, "Unknown prompt: other"),
            ({"type": "ref/resource", "uri": "y://{name}"}, "Unknown resource: y://{name}"),
            ({"type": "ref/resource", "uri": "x://.."}, "Unknown resource: x://.."),
        ):
            with pytest.raises(MCPError) as caught:
                await suggest("c", **ref)
            assert (caught.value.code, caught.value.message) == (INVALID_PARAMS, text)
    assert asked == ["b", "b", "b", "a", "c", "c", "c"]


@pytest.mark.rule("COMP-9", "SCOMP-08")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("ref", {"type": "ref/tool", "name": "p"}),
        ("ref", {"type": "ref/prompt"}),
        ("ref", None),
        ("argument", {"name": "b"}),
        ("argument", {"value": "b"}),
        ("argument", None),
    ],
)
async def test_a_completion_without_what_it_needs_is_refused_naming_it(mode: str, member: str, value: Any) -> None:
    mcp = MCPServer("Lab")

    @mcp.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> None:
        raise AssertionError("not to be called")

    params: dict[str, Any] = {
        "ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "b", "value": ""},
        member: value,
    }
    params = {name: given for name, given in params.items() if given is not None}
    async with Client(mcp, mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.session.send_request(
                types.Request[dict[str, Any], str](method="completion/complete", params=params), types.EmptyResult
            )
    assert (caught.value.code, caught.value.message) == (INVALID_PARAMS, "Invalid request parameters")
    assert caught.value.data[0]["loc"][0] == member


@pytest.mark.rule("COMP-2", "COMP-6", "COMP-7", "COMP-D1", "COMP-D2", "COMP-D4", "ERR-10", "SERR-22")
async def test_completions_are_shortened_and_their_failures_masked(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("Lab")
    answers: list[Any] = [
        {"values": [str(number) for number in range(150)]},
        ["a"],
        RuntimeError("secret"),
        MCPError(-32050, "no"),
    ]

    @mcp.completion()
    def complete(ref: Any, argument: Any, context: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    params = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "b", "value": ""}}
    async with connect(mcp) as peer:
        shortened = (await peer.request("completion/complete", params))["completion"]
        assert (len(shortened["values"]), shortened["total"], shortened["hasMore"]) == (100, 150, True)
        for _ in range(2):
            with pytest.raises(MCPError) as caught:
                await peer.request("completion/complete", params)
            assert (caught.value.code, caught.value.message) == (INTERNAL_ERROR, "Error completing argument b")
        with pytest.raises(MCPError, match=r"^no$"):
            await peer.request("completion/complete", params)
    assert "Completion for argument 'b' raised an unexpected exception" in caplog.text
    caplog.clear()
    mcp.completion()(complete)
    assert caplog.records[0].levelno == logging.WARNING


@pytest.mark.rule("EXT-16", "VER-X-04", "BASE-A-13", "TROUBLE-21")
async def test_a_tool_can_require_an_extension_of_the_client() -> None:
    mcp = MCPServer("Lab")

    @mcp.tool()
    async def f(ctx: Context) -> str:
        require_client_extension(ctx.request_context, "com.x/q")
        return "ok"

    async with connect(mcp) as peer:
        with pytest.raises(MCPError) as caught:
            await peer.call("f")
    assert (caught.value.code, caught.value.message, caught.value.data) == (
        -32021,
        "Client did not declare required extension 'com.x/q'",
        {"requiredCapabilities": {"extensions": {"com.x/q": {}}}},
    )
    async with connect(mcp, capabilities={"extensions": {"com.x/q": {}}}) as peer:
        assert await peer.text("f") == "ok"


@pytest.mark.rule("RUN-8", "RUN-9", "RUN-D3", "TROUBLE-29")
def test_unknown_transports_and_options_are_refused() -> None:
    mcp = MCPServer("Lab")
    with pytest.raises(ValueError, match=r"^Unknown transport: bogus$"):
        mcp.run("bogus")  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError) as caught:
        mcp.run("streamable-http", foo=1)
    assert str(caught.value) == "MCPServer.run_streamable_http_async() got an unexpected keyword argument 'foo'"
    with pytest.raises(TypeError) as caught:
        mcp.run("stdio", port=1)
    assert str(caught.value) == "MCPServer.run_stdio_async() got an unexpected keyword argument 'port'"


@pytest.mark.rule("RUN-10")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_run_inside_an_event_loop_names_the_method_to_await() -> None:
    expected = r"^Already running asyncio in this thread; await run_streamable_http_async\(\.\.\.\) instead of run\(\)$"
    with pytest.raises(RuntimeError, match=expected):
        MCPServer("Lab").run("streamable-http")


@pytest.mark.rule("DEPR-12", "TROUBLE-28")
@pytest.mark.parametrize("module", ["mcp.server.fastmcp", "mcp.server.fastmcp.prompts.base"])
def test_the_module_of_version_1_says_what_it_is_called_now(module: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"renamed to MCPServer .* pin 'mcp<2'"):
        importlib.import_module(module)


@pytest.mark.rule("RUN-19", "RUN-20", "RUN-D5")
def test_custom_routes_become_routes_of_the_app() -> None:
    mcp = MCPServer("Lab")

    @mcp.custom_route("/health", ["GET"], name="health")
    async def health(request: Request) -> PlainTextResponse:
        return PlainTextResponse("ok")

    with pytest.raises(ValueError, match="must start with '/'"):
        mcp.custom_route("health", ["GET"])
    with pytest.raises(RuntimeError, match="Session manager can only be accessed after"):
        assert mcp.session_manager
    app = mcp.streamable_http_app()
    assert callable(health)
    assert [getattr(route, "path", None) for route in app.routes] == ["/mcp", "/health"]
    assert mcp.session_manager is not None


def test_the_facade_offers_its_names_when_they_are_used() -> None:
    for name in mcpserver.__all__:
        assert getattr(mcpserver, name) is not None
    assert set(mcpserver.__all__) <= set(dir(mcpserver))
    with pytest.raises(AttributeError, match="has no attribute 'nosuch'"):
        getattr(mcpserver, "nosuch")  # noqa: B009


@pytest.mark.rule("RUN-7")
async def test_tools_and_resources_may_be_given_at_construction() -> None:
    async def double(n: int) -> int:
        """Twice as much."""
        return 2 * n

    text = TextResource(uri="x://t", text="t")
    mcp = MCPServer("Lab", tools=[double, Tool.from_function(double, name="twice")], resources=[text])
    async with connect(mcp) as peer:
        tools = (await peer.request("tools/list"))["tools"]
        assert [(tool["name"], tool["description"]) for tool in tools] == [
            ("double", "Twice as much."),
            ("twice", "Twice as much."),
        ]
        assert await peer.text("twice", n=2) == "4"
        assert (await peer.request("resources/read", {"uri": "x://t"}))["contents"][0]["text"] == "t"

    def collects(*numbers: int) -> None: ...

    with pytest.raises(InvalidSignature):
        MCPServer("Lab", tools=[collects])
