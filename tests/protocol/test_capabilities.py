"""What a server declares follows from its handlers; what a client declared decides what it may be asked."""

from typing import Any, TypeAlias

import pytest

from mcp._protocol.capabilities import declares, derive_capabilities, missing_capability
from mcp._protocol.era import LEGACY, MODERN, Era
from mcp_types import (
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    InputRequest,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
    Tool,
)


def wire(methods: set[str], era: Era = MODERN, **more: Any) -> dict[str, Any]:
    return derive_capabilities(methods, era, **more).model_dump(by_alias=True, exclude_none=True)


@pytest.mark.rule("LOW-21", "LOW-D5", "BASE-A-06")
@pytest.mark.parametrize(
    ("method", "capability"),
    [
        ("tools/list", "tools"),
        ("tools/call", "tools"),
        ("resources/list", "resources"),
        ("resources/read", "resources"),
        ("resources/templates/list", "resources"),
        ("prompts/list", "prompts"),
        ("prompts/get", "prompts"),
        ("completion/complete", "completions"),
        ("logging/setLevel", "logging"),
    ],
)
@pytest.mark.parametrize("era", [MODERN, LEGACY], ids=["modern", "legacy"])
def test_a_handler_declares_its_capability(method: str, capability: str, era: Era) -> None:
    assert wire({method, "vendor/thing"}, era).keys() == {capability}


def test_other_handlers_declare_nothing() -> None:
    assert wire({"vendor/thing", "server/discover", "subscriptions/listen", "resources/subscribe"}) == {}


ALL = {"tools/list", "resources/list", "prompts/list"}


@pytest.mark.rule("LOW-23", "SUBS-23", "VER-22")
def test_modern_flags_follow_the_listen_handler_alone() -> None:
    assert wire(ALL | {"subscriptions/listen"}) == {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "prompts": {"listChanged": True},
    }
    assert wire(ALL | {"resources/subscribe"}, list_changed={"tools"}) == {
        "tools": {"listChanged": False},
        "resources": {"subscribe": False, "listChanged": False},
        "prompts": {"listChanged": False},
    }


@pytest.mark.rule("LOW-22", "VER-23", "VER-4", "SUBS-24")
def test_legacy_flags_follow_what_the_server_announces() -> None:
    assert wire(ALL | {"subscriptions/listen"}, LEGACY) == {
        "tools": {"listChanged": False},
        "resources": {"subscribe": False, "listChanged": False},
        "prompts": {"listChanged": False},
    }
    assert wire(ALL | {"resources/subscribe"}, LEGACY, list_changed={"tools", "resources"}) == {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "prompts": {"listChanged": False},
    }


@pytest.mark.rule("LOW-24", "VER-4")
def test_experimental_and_extensions_appear_only_when_they_hold_something() -> None:
    given: dict[str, Any] = {"experimental": {"x": {}}, "extensions": {"com.example/e": {"a": 1}}}
    assert wire(set(), **given) == given
    assert wire(set(), LEGACY, **given) == {"experimental": {"x": {}}}
    assert wire(set(), experimental={}, extensions={}) == {}


def client(**members: Any) -> ClientCapabilities:
    return ClientCapabilities.model_validate(members)


FORM = ElicitRequest(params=ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}}))
URL = ElicitRequest(params=ElicitRequestURLParams(message="?", url="https://example.com"))
ROOTS = ListRootsRequest()


def sample(**more: Any) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(text="hi"))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=5, **more))


WITH_TOOLS = sample(tools=[Tool(name="t", input_schema={"type": "object"})])
Missing: TypeAlias = tuple[str, dict[str, Any]]

MISSING_FORM: Missing = ("form elicitation", {"elicitation": {"form": {}}})
MISSING_URL: Missing = ("url elicitation", {"elicitation": {"url": {}}})
MISSING_TOOLS: Missing = ("sampling.tools", {"sampling": {"tools": {}}})
MISSING_SAMPLING: Missing = ("sampling", {"sampling": {}})
MISSING_BOTH: Missing = ("sampling.tools", {"sampling": {"tools": {}, "context": {}}})
MISSING_ROOTS: Missing = ("roots", {"roots": {}})
MISSING_CONTEXT: Missing = ("sampling.context", {"sampling": {"context": {}}})


@pytest.mark.rule("DEP-32", "DEP-33", "DEP-34", "DEP-D8", "BASE-C-03", "BASE-M-15", "BASE-M-16", "SERR-10", "MRTR-D1")
@pytest.mark.parametrize(
    ("request_", "declared", "missing"),
    [
        (FORM, client(), MISSING_FORM),
        (FORM, client(elicitation=None), MISSING_FORM),
        (FORM, client(elicitation={}), None),
        (FORM, client(elicitation={"form": {}}), None),
        (FORM, client(elicitation={"form": {}, "url": {}}), None),
        (FORM, client(elicitation={"url": {}}), MISSING_FORM),
        (URL, client(), MISSING_URL),
        (URL, client(elicitation={}), MISSING_URL),
        (URL, client(elicitation={"form": {}}), MISSING_URL),
        (URL, client(elicitation={"url": {}}), None),
        (sample(), client(), MISSING_SAMPLING),
        (sample(), client(sampling={}), None),
        (sample(include_context="none"), client(sampling={}), None),
        (sample(include_context="thisServer"), client(sampling={}), MISSING_CONTEXT),
        (sample(include_context="allServers"), client(), MISSING_CONTEXT),
        (sample(include_context="allServers"), client(sampling={"context": {}}), None),
        (WITH_TOOLS, client(), MISSING_TOOLS),
        (WITH_TOOLS, client(sampling={"context": {}}), MISSING_TOOLS),
        (WITH_TOOLS, client(sampling={"tools": {}}), None),
        (sample(tool_choice={"mode": "auto"}), client(sampling={}), MISSING_TOOLS),
        (
            sample(tools=[], include_context="thisServer"),
            client(sampling={}),
            MISSING_BOTH,
        ),
        (ROOTS, client(), MISSING_ROOTS),
        (ROOTS, client(roots={}), None),
        (ROOTS, client(roots={"listChanged": True}), None),
    ],
)
def test_a_question_needs_its_capability(
    request_: InputRequest, declared: ClientCapabilities, missing: Missing | None
) -> None:
    assert missing_capability(request_, declared) == missing


DECLARED = client(
    experimental={"lab": {"x": 1, "y": 2}},
    sampling={"tools": {}},
    elicitation={},
    roots={"listChanged": True},
    extensions={"com.example/e": {"a": 1}},
)


@pytest.mark.rule("LOW-53", "CTX-10", "CTX-D2", "VER-X-01")
@pytest.mark.parametrize(
    ("wanted", "covered"),
    [
        ({}, True),
        ({"experimental": {}, "extensions": {}}, True),
        ({"experimental": {"lab": {}}}, True),
        ({"experimental": {"lab": {"x": 1}}}, True),
        ({"experimental": {"lab": {"x": 2}}}, False),
        ({"experimental": {"lab": {"z": None}}}, False),
        ({"experimental": {"other": {}}}, False),
        ({"extensions": {"com.example/e": {"b": 2}}}, True),
        ({"extensions": {"com.example/other": {}}}, False),
        ({"sampling": {}}, True),
        ({"sampling": {"tools": {}}}, True),
        ({"sampling": {"context": {}}}, False),
        ({"roots": {"listChanged": True}}, True),
        ({"tasks": {}}, False),
        ({"elicitation": {}}, True),
        ({"elicitation": {"form": {}}}, True),
        ({"elicitation": {"url": {}}}, False),
        ({"sampling": {}, "tasks": {"list": {}}}, False),
    ],
)
def test_everything_that_is_set_must_be_declared(wanted: dict[str, Any], covered: bool) -> None:
    assert declares(DECLARED, client(**wanted)) is covered


@pytest.mark.rule("CTX-D2")
def test_a_client_of_urls_only_shows_no_forms_and_one_without_a_member_has_none_of_it() -> None:
    assert declares(client(elicitation={"url": {}}), client(elicitation={"url": {}}))
    assert not declares(client(elicitation={"url": {}}), client(elicitation={}))
    assert not declares(client(elicitation={"url": {}}), client(elicitation={"form": {}, "url": {}}))
    assert not declares(client(), client(elicitation={}))
    assert not declares(client(), client(experimental={"lab": {}}, sampling={}))
    assert not declares(client(roots={}), client(roots={"listChanged": True}))
    assert declares(client(roots={}), client(roots={"listChanged": False}))
