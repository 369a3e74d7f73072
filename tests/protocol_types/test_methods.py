"""The table of methods, and the functions that read messages by it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, Literal

import pytest
from pydantic import ValidationError

import mcp_types as types
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS
from tests.protocol_types.schemas import definitions
from tests.protocol_types.test_surface import SURFACE

MODERN = "2026-07-28"
LEGACY = "2025-11-25"

BY_VERSION = [
    "CLIENT_NOTIFICATIONS",
    "CLIENT_REQUESTS",
    "CLIENT_RESULTS",
    "SERVER_NOTIFICATIONS",
    "SERVER_REQUESTS",
    "SERVER_RESULTS",
]


def recorded(name: str) -> list[tuple[str, str]]:
    """Return keys and values of a recorded table, as far as the record goes: long ones are cut."""
    rows = SURFACE["mcp.types.methods"][name]["is"].partition("({")[2]
    return re.findall(r"(\('.*?'\)|'[^']*'): (.*?)(?:, (?=[('])|\}\)$)", rows)


@pytest.mark.parametrize("name", BY_VERSION)
def test_a_revision_has_the_recorded_methods(name: str) -> None:
    keys = {ast.literal_eval(key) for key, _ in recorded(name)}
    assert keys
    assert keys <= set(getattr(methods, name))


@pytest.mark.parametrize("name", ["MONOLITH_NOTIFICATIONS", "MONOLITH_REQUESTS", "MONOLITH_RESULTS"])
def test_a_method_has_the_recorded_types(name: str) -> None:
    ours: Mapping[str, Any] = getattr(methods, name)
    rows = recorded(name)
    assert rows
    for key, classes in rows:
        model = ours[ast.literal_eval(key)]
        assert set(re.findall(r"mcp_types\._types\.(\w+)", classes)) == {
            each.__name__ for each in getattr(model, "__args__", (model,))
        }


@pytest.mark.rule("BASE-J-16", "BASE-J-17")
@pytest.mark.parametrize("version", KNOWN_PROTOCOL_VERSIONS)
@pytest.mark.parametrize(
    ("union", "tables"),
    [
        ("ClientRequest", [methods.CLIENT_REQUESTS]),
        ("ClientNotification", [methods.CLIENT_NOTIFICATIONS]),
        ("ServerNotification", [methods.SERVER_NOTIFICATIONS]),
        ("ServerRequest", [methods.SERVER_REQUESTS]),
    ],
)
def test_a_revision_has_the_methods_that_its_schema_has(
    version: str, union: str, tables: list[Mapping[tuple[str, str], Any]]
) -> None:
    known = definitions(version)
    if version == MODERN and union == "ServerRequest":
        expected: set[str] = set()
    elif version == MODERN and union == "ClientNotification":
        expected = {"notifications/cancelled"}
    else:
        members = [each["$ref"].rpartition("/")[2] for each in known[union]["anyOf"]]
        expected = {known[member]["properties"]["method"]["const"] for member in members}
    if "Request" in union:
        expected = {method for method in expected if not method.startswith("tasks/")}
    expected -= {"notifications/tasks/status"}
    assert {method for table in tables for method, each in table if each == version} == expected


def test_the_sets_of_methods_are_those_recorded() -> None:
    assert {
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "server/discover",
        "tools/list",
    } == methods.CACHEABLE_METHODS
    assert {"prompts/get", "resources/read", "tools/call"} == methods.INPUT_REQUIRED_METHODS
    assert "initialize" in methods.SPEC_CLIENT_METHODS
    assert "sampling/createMessage" not in methods.SPEC_CLIENT_METHODS


def test_the_tables_cannot_be_changed() -> None:
    for name in [*BY_VERSION, "MONOLITH_REQUESTS", "MONOLITH_NOTIFICATIONS", "MONOLITH_RESULTS"]:
        with pytest.raises(TypeError):
            getattr(methods, name)["acme/x"] = types.Request


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (types.InputRequiredResult(request_state=""), True),
        ({"resultType": "input_required"}, True),
        ({"result_type": "input_required"}, False),
        ({"resultType": "complete"}, False),
        (types.CallToolResult(content=[], result_type="input_required"), False),
        (None, False),
        ("input_required", False),
    ],
)
def test_a_result_that_asks_is_known_in_both_forms(result: object, expected: bool) -> None:
    assert methods.is_input_required(result) is expected


def test_a_request_is_read_as_its_type() -> None:
    request = methods.parse_client_request(
        "tools/call", MODERN, {"name": "t", "inputResponses": {"a": {"action": "cancel"}}}
    )
    assert request == types.CallToolRequest(
        params=types.CallToolRequestParams(name="t", input_responses={"a": types.ElicitResult(action="cancel")})
    )
    assert methods.parse_client_request("tools/list", LEGACY, None) == types.ListToolsRequest()
    assert methods.parse_server_request("roots/list", LEGACY, None) == types.ListRootsRequest()


def test_a_notification_is_read_as_its_type() -> None:
    progress = {"progressToken": "t", "progress": 1}
    read = methods.parse_server_notification("notifications/progress", MODERN, progress)
    assert isinstance(read, types.ProgressNotification)
    read = methods.parse_client_notification("notifications/cancelled", LEGACY, {"requestId": 1})
    assert isinstance(read, types.CancelledNotification)


@pytest.mark.parametrize(
    ("data", "model"),
    [
        ({"content": []}, types.CallToolResult),
        ({"content": [], "resultType": "complete"}, types.CallToolResult),
        ({"content": [], "resultType": "acme/later"}, types.CallToolResult),
        ({"resultType": "input_required", "requestState": "s"}, types.InputRequiredResult),
    ],
)
def test_a_server_result_is_read_by_its_result_type(data: dict[str, Any], model: type[types.Result]) -> None:
    assert type(methods.parse_server_result("tools/call", MODERN, data)) is model
    methods.validate_server_result("tools/call", MODERN, data)


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_legacy_revisions_do_not_ask_in_results(version: str) -> None:
    with pytest.raises(ValidationError, match="content"):
        methods.parse_server_result("tools/call", version, {"resultType": "input_required", "requestState": "s"})


@pytest.mark.parametrize(
    ("content", "model"),
    [
        ({"type": "text", "text": "a"}, types.CreateMessageResult),
        ([{"type": "text", "text": "a"}], types.CreateMessageResultWithTools),
    ],
)
def test_a_sampling_result_is_read_by_its_content(content: Any, model: type[types.Result]) -> None:
    data = {"role": "assistant", "model": "m", "content": content}
    assert type(methods.parse_client_result("sampling/createMessage", LEGACY, data)) is model
    methods.validate_client_result("sampling/createMessage", LEGACY, data)


CALLS = [
    methods.validate_client_request,
    methods.validate_client_notification,
    methods.validate_client_result,
    methods.validate_server_result,
    methods.parse_client_request,
    methods.parse_client_notification,
    methods.parse_client_result,
    methods.parse_server_request,
    methods.parse_server_notification,
    methods.parse_server_result,
    methods.serialize_server_result,
]


@pytest.mark.parametrize("call", CALLS)
def test_an_unknown_revision_is_a_value_error_and_an_unknown_method_a_key_error(call: Any) -> None:
    with pytest.raises(ValueError, match="version must be a known protocol version, got '1999-01-01'"):
        call("tools/call", "1999-01-01", {})
    with pytest.raises(KeyError):
        call("acme/x", MODERN, {})


def test_params_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValidationError, match="name"):
        methods.validate_client_request("tools/call", MODERN, {})
    with pytest.raises(ValidationError, match="requestId"):
        methods.validate_client_notification("notifications/cancelled", LEGACY, {"requestId": 1.5})


class AcmeParams(types.RequestParams):
    x: int


class AcmeRequest(types.Request[AcmeParams, Literal["acme/x"]]):
    method: Literal["acme/x"] = "acme/x"
    params: AcmeParams


def test_methods_of_ones_own_are_added_to_both_maps() -> None:
    surface = {**methods.CLIENT_REQUESTS, ("acme/x", MODERN): AcmeRequest}
    monolith = {**methods.MONOLITH_REQUESTS, "acme/x": AcmeRequest}
    request = methods.parse_client_request("acme/x", MODERN, {"x": 1}, surface=surface, monolith=monolith)
    assert request == AcmeRequest(params=AcmeParams(x=1))
    with pytest.raises(RuntimeError, match="surface defines 'acme/x' but monolith does not"):
        methods.parse_client_request("acme/x", MODERN, {"x": 1}, surface=surface)


def test_a_server_result_is_written_for_its_era() -> None:
    tools: dict[str, Any] = {
        "tools": [{"name": "t", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}}],
        "ttlMs": 5,
        "later": 1,
    }
    modern = methods.serialize_server_result("tools/list", MODERN, tools)
    legacy = methods.serialize_server_result("tools/list", LEGACY, tools)
    assert modern == {
        "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
        "ttlMs": 5,
        "cacheScope": "private",
        "resultType": "complete",
    }
    assert legacy == {"tools": tools["tools"]}


def test_capabilities_are_written_for_their_era() -> None:
    capabilities: dict[str, Any] = {"tasks": {}, "extensions": {"acme": {}}, "tools": {"listChanged": True}}
    discover = {"supportedVersions": [MODERN], "capabilities": capabilities}
    initialize = {
        "protocolVersion": LEGACY,
        "capabilities": capabilities,
        "serverInfo": {"name": "s", "version": "1"},
    }
    modern = methods.serialize_server_result("server/discover", MODERN, discover)
    legacy = methods.serialize_server_result("initialize", LEGACY, initialize)
    assert modern["capabilities"] == {"extensions": {"acme": {}}, "tools": {"listChanged": True}}
    assert legacy["capabilities"] == {"tasks": {}, "tools": {"listChanged": True}}


def test_no_meaning_is_lost_in_structured_content() -> None:
    data: dict[str, Any] = {"content": [], "structuredContent": {"a": None, "b": [None]}, "isError": False}
    assert methods.serialize_server_result("tools/call", LEGACY, data) == data
