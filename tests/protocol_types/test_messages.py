"""Whole messages as each revision writes them: read as their type, written back, and valid against that revision."""

from __future__ import annotations

from typing import Any, Final

import pytest
from pydantic import BaseModel, TypeAdapter

import mcp_types as types
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS
from tests.protocol_types.schemas import validator

Wire = dict[str, Any]

MODERN: Final = "2026-07-28"
META: Final[Wire] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    "progressToken": "p",
}
TEXT: Final[Wire] = {"type": "text", "text": "Hello"}

REQUESTS: Final[list[tuple[str, Wire]]] = [
    ("tools/list", {"cursor": "c"}),
    ("tools/call", {"name": "add", "arguments": {"a": 1, "b": [None, {}]}}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "p", "arguments": {"a": "b"}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "file:///a"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "x"}}),
]
LEGACY_REQUESTS: Final[list[tuple[str, Wire]]] = [
    ("ping", {}),
    ("logging/setLevel", {"level": "warning"}),
    ("resources/subscribe", {"uri": "file:///a"}),
    ("resources/unsubscribe", {"uri": "file:///a"}),
    (
        "initialize",
        {
            "protocolVersion": "2025-03-26",
            "capabilities": {"roots": {"listChanged": True}, "sampling": {}},
            "clientInfo": {"name": "c", "version": "1"},
        },
    ),
]
MODERN_REQUESTS: Final[list[tuple[str, Wire]]] = [
    ("server/discover", {}),
    ("subscriptions/listen", {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["file:///a"]}}),
    (
        "tools/call",
        {"name": "add", "requestState": "s", "inputResponses": {"a": {"action": "accept", "content": {"x": 1}}}},
    ),
]

RESULTS: Final[list[tuple[type[types.Result], Wire]]] = [
    (types.ListToolsResult, {"tools": [{"name": "t", "inputSchema": {"type": "object"}}], "nextCursor": "n"}),
    (types.CallToolResult, {"content": [TEXT, {"type": "image", "data": "YQ==", "mimeType": "image/png"}]}),
    (types.CallToolResult, {"content": [], "isError": True}),
    (types.ListPromptsResult, {"prompts": [{"name": "p", "arguments": [{"name": "a", "required": True}]}]}),
    (types.GetPromptResult, {"messages": [{"role": "user", "content": TEXT}], "description": "d"}),
    (types.ListResourcesResult, {"resources": [{"name": "r", "uri": "file:///a", "mimeType": "text/plain"}]}),
    (types.ListResourceTemplatesResult, {"resourceTemplates": [{"name": "r", "uriTemplate": "file:///{a}"}]}),
    (types.ReadResourceResult, {"contents": [{"uri": "file:///a", "text": "t"}, {"uri": "file:///b", "blob": ""}]}),
    (types.CompleteResult, {"completion": {"values": ["a"], "total": 1, "hasMore": False}}),
]
LEGACY_RESULTS: Final[list[tuple[type[types.Result], Wire]]] = [
    (types.EmptyResult, {}),
    (
        types.InitializeResult,
        {
            "protocolVersion": "2025-03-26",
            "capabilities": {"tools": {"listChanged": True}, "logging": {}},
            "serverInfo": {"name": "s", "version": "1"},
            "instructions": "i",
        },
    ),
    (types.CreateMessageResult, {"role": "assistant", "content": TEXT, "model": "m", "stopReason": "endTurn"}),
    (types.ListRootsResult, {"roots": [{"uri": "file:///a", "name": "n"}]}),
]
FRESHNESS: Final[Wire] = {"ttlMs": 1000, "cacheScope": "public"}
SUBSCRIPTION: Final[Wire] = {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
MODERN_RESULTS: Final[list[tuple[type[types.Result], Wire]]] = [
    (types.DiscoverResult, {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, **FRESHNESS}),
    (types.SubscriptionsListenResult, SUBSCRIPTION),
    (types.CallToolResult, {"content": [], "structuredContent": [1, None]}),
    (types.InputRequiredResult, {"resultType": "input_required", "requestState": "s"}),
    (
        types.InputRequiredResult,
        {
            "resultType": "input_required",
            "inputRequests": {
                "form": {
                    "method": "elicitation/create",
                    "params": {
                        "mode": "form",
                        "message": "m",
                        "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
                    },
                },
                "roots": {"method": "roots/list"},
            },
        },
    ),
]

NOTIFICATIONS: Final[list[tuple[type[types.Notification], Wire]]] = [
    (types.CancelledNotification, {"requestId": 1, "reason": "r"}),
    (types.ProgressNotification, {"progressToken": "p", "progress": 1, "total": 2.5}),
    (types.LoggingMessageNotification, {"level": "info", "data": None, "logger": "l"}),
    (types.ResourceUpdatedNotification, {"uri": "file:///a"}),
    (types.ToolListChangedNotification, {}),
    (types.PromptListChangedNotification, {}),
    (types.ResourceListChangedNotification, {}),
]
LEGACY_NOTIFICATIONS: Final[list[tuple[type[types.Notification], Wire]]] = [
    (types.InitializedNotification, {}),
    (types.RootsListChangedNotification, {}),
]
MODERN_NOTIFICATIONS: Final[list[tuple[type[types.Notification], Wire]]] = [
    (types.SubscriptionsAcknowledgedNotification, {"notifications": {"toolsListChanged": True}, **SUBSCRIPTION}),
]


def check(version: str, name: str, adapter: TypeAdapter[Any], wire: Wire, envelope: Wire) -> None:
    validator(version, name).validate({**envelope, **wire})
    read = adapter.validate_python(wire)
    written = adapter.dump_python(read, mode="json", by_alias=True, exclude_none=True)
    assert {name: value for name, value in written.items() if name in wire} == wire
    assert adapter.validate_json(adapter.dump_json(read, by_alias=True)) == read
    validator(version, name).validate({**envelope, **written})


def envelope_of(version: str, message: Wire) -> Wire:
    """Return what the revision's schema has around a message: before 2025-11-25, only its parts were described."""
    return {"jsonrpc": "2.0", **message} if version >= "2025-11-25" else {}


def cases(common: list[Any], legacy: list[Any], modern: list[Any]) -> list[Any]:
    old = [pytest.param(version, *case) for version in HANDSHAKE_PROTOCOL_VERSIONS for case in [*common, *legacy]]
    return [*old, *(pytest.param(MODERN, *case) for case in [*common, *modern])]


@pytest.mark.parametrize(("version", "method", "params"), cases(REQUESTS, LEGACY_REQUESTS, MODERN_REQUESTS))
def test_a_request_of_every_revision_is_read_and_written(version: str, method: str, params: Wire) -> None:
    wire: Wire = {"method": method, "params": {**params, "_meta": META} if version == MODERN else params}
    read = types.client_request_adapter.validate_python(wire)
    check(version, type(read).__name__, types.client_request_adapter, wire, envelope_of(version, {"id": 1}))


@pytest.mark.parametrize(("version", "model", "wire"), cases(RESULTS, LEGACY_RESULTS, MODERN_RESULTS))
def test_a_result_of_every_revision_is_read_and_written(version: str, model: type[types.Result], wire: Wire) -> None:
    if version == MODERN:
        wire = {"resultType": "complete", **(FRESHNESS if issubclass(model, types.CacheableResult) else {}), **wire}
    check(version, model.__name__, TypeAdapter(model), wire, {})


@pytest.mark.parametrize(
    ("version", "model", "params"), cases(NOTIFICATIONS, LEGACY_NOTIFICATIONS, MODERN_NOTIFICATIONS)
)
def test_a_notification_of_every_revision_is_read_and_written(
    version: str, model: type[types.Notification], params: Wire
) -> None:
    wire: Wire = {"method": model.model_fields["method"].default, "params": params}
    check(version, model.__name__, TypeAdapter(model), wire, envelope_of(version, {}))


@pytest.mark.parametrize("version", KNOWN_PROTOCOL_VERSIONS)
def test_what_the_python_api_makes_is_valid(version: str) -> None:
    made: list[BaseModel] = [
        types.Tool(name="t", description="d", input_schema={"type": "object", "properties": {"a": {"type": "string"}}}),
        types.Resource(name="r", uri="file:///a", mime_type="text/plain", annotations=types.Annotations(priority=0.5)),
        types.Prompt(name="p", arguments=[types.PromptArgument(name="a", description="d", required=True)]),
        types.PromptMessage(role="user", content=types.TextContent(text="t")),
        types.Implementation(name="i", version="1", title="I"),
        types.SamplingMessage(role="assistant", content=types.ImageContent(data="YQ==", mime_type="image/png")),
        types.ModelPreferences(hints=[types.ModelHint(name="m")], cost_priority=0.5),
    ]
    for model in made:
        written = model.model_dump(mode="json", by_alias=True, exclude_none=True)
        validator(version, type(model).__name__).validate(written)


ADAPTERS: Final[list[tuple[TypeAdapter[Any], list[Any]]]] = [
    (types.client_result_adapter, [types.ElicitResult(action="cancel"), types.EmptyResult()]),
    (types.server_result_adapter, [model.model_validate(wire) for model, wire in [*RESULTS, *MODERN_RESULTS]]),
    (types.server_request_adapter, [types.PingRequest(), types.ListRootsRequest()]),
    (types.server_notification_adapter, [types.ToolListChangedNotification()]),
    (types.client_notification_adapter, [types.InitializedNotification()]),
]


@pytest.mark.parametrize(("adapter", "models"), ADAPTERS)
def test_an_adapter_knows_the_kind_of_what_it_reads_and_writes(adapter: TypeAdapter[Any], models: list[Any]) -> None:
    for model in models:
        assert adapter.validate_python(model) is model
        if not isinstance(model, types.SubscriptionsListenResult):  # on the wire it is an empty result
            assert adapter.validate_json(adapter.dump_json(model, by_alias=True)) == model


def test_a_malformed_result_is_refused_and_not_read_as_an_empty_one() -> None:
    with pytest.raises(ValueError, match="inputSchema"):
        types.server_result_adapter.validate_python({"tools": [{"name": "t"}]})
