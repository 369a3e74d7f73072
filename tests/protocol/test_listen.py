"""A subscription begins with what the server agreed to tell, and carries that and nothing else."""

from typing import Any

import pytest

from mcp._protocol.listen import (
    acknowledgement,
    expects,
    filter_to_wire,
    honoured,
    matches,
    refused,
    subscription_id_of,
    to_notification,
)
from mcp.shared.subscriptions import (
    LISTEN_STREAM_METHODS,
    SUBSCRIPTION_ID_META_KEY,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_from_wire,
    event_matches,
    event_to_notification,
)
from mcp_types import RequestId, SubscriptionFilter

EVENTS: list[tuple[ServerEvent, str, dict[str, Any]]] = [
    (ToolsListChanged(), "notifications/tools/list_changed", {}),
    (PromptsListChanged(), "notifications/prompts/list_changed", {}),
    (ResourcesListChanged(), "notifications/resources/list_changed", {}),
    (ResourceUpdated("a://1"), "notifications/resources/updated", {"uri": "a://1"}),
]


def wanted(**members: Any) -> SubscriptionFilter:
    return SubscriptionFilter.model_validate(members)


@pytest.mark.rule("SUB-08", "SUBS-13", "BASE-M-21")
@pytest.mark.parametrize(("event", "method", "params"), EVENTS)
@pytest.mark.parametrize("request_id", [7, "7"])
def test_each_event_is_a_notification_with_the_subscriptions_id(
    event: ServerEvent, method: str, params: dict[str, Any], request_id: RequestId
) -> None:
    meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: request_id}
    assert to_notification(event, request_id) == (method, {"_meta": meta, **params})
    model = event_to_notification(event, meta)
    assert model.model_dump(by_alias=True, exclude_none=True) == {"method": method, "params": {"_meta": meta, **params}}
    assert event_from_wire(method, {"_meta": meta, **params}) == event
    assert method in LISTEN_STREAM_METHODS


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("notifications/progress", {}),
        ("notifications/resources/updated", None),
        ("notifications/resources/updated", {"uri": 5}),
        ("notifications/subscriptions/acknowledged", {}),
    ],
)
def test_other_notifications_tell_no_event(method: str, params: dict[str, Any] | None) -> None:
    assert event_from_wire(method, params) is None


def test_events_are_values() -> None:
    assert ResourceUpdated("a") == ResourceUpdated(uri="a") != ResourceUpdated("b")
    assert len({ToolsListChanged(), ToolsListChanged(), PromptsListChanged()}) == 2


@pytest.mark.rule("SUB-03", "SUB-06", "SUBS-11", "SUBS-13", "SUBS-D3")
def test_the_acknowledgement_says_what_is_honoured_and_nothing_empty() -> None:
    asked = wanted(toolsListChanged=True, promptsListChanged=False, resourceSubscriptions=["b", "a", "b"])
    assert acknowledgement(honoured(asked), 7) == (
        "notifications/subscriptions/acknowledged",
        {
            "_meta": {SUBSCRIPTION_ID_META_KEY: 7},
            "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["b", "a"]},
        },
    )
    nothing = honoured(wanted(resourceSubscriptions=[]))
    assert acknowledgement(nothing, "x")[1]["notifications"] == {}


@pytest.mark.rule("LISTEN-2", "SUB-01")
def test_a_filter_is_written_with_what_it_asks_for() -> None:
    asked = wanted(
        toolsListChanged=False, promptsListChanged=True, resourcesListChanged=True, resourceSubscriptions=["a", "a"]
    )
    assert filter_to_wire(asked) == {
        "promptsListChanged": True,
        "resourcesListChanged": True,
        "resourceSubscriptions": ["a", "a"],
    }
    assert filter_to_wire(wanted()) == {}


@pytest.mark.rule("SUB-02", "SUBS-14")
@pytest.mark.parametrize(
    ("asked", "heard"),
    [
        (wanted(), []),
        (wanted(toolsListChanged=True), [ToolsListChanged()]),
        (wanted(toolsListChanged=False, promptsListChanged=True), [PromptsListChanged()]),
        (wanted(resourcesListChanged=True), [ResourcesListChanged()]),
        (wanted(resourceSubscriptions=["a://1"]), [ResourceUpdated("a://1")]),
        (wanted(resourceSubscriptions=["a://", "a://1/2", "A://1"]), []),
    ],
)
def test_a_server_tells_only_what_was_asked_for(asked: SubscriptionFilter, heard: list[ServerEvent]) -> None:
    uris = frozenset(asked.resource_subscriptions or ())
    assert [event for event, _, _ in EVENTS if matches(asked, event)] == heard
    assert [event for event, _, _ in EVENTS if event_matches(asked, uris, event)] == heard


@pytest.mark.rule("LISTEN-14", "LISTEN-15", "SUB-18")
@pytest.mark.parametrize(
    ("subscribed", "uri", "taken"),
    [
        ("a://x", "a://x", True),
        ("a://x", "a://x/1", True),
        ("a://x/", "a://x/1", True),
        ("a://x", "a://x?q", True),
        ("a://x", "a://x#f", True),
        ("a:", "a:b", True),
        ("a://x", "a://xy", False),
        ("a://x/1", "a://x", False),
        ("a://x", "b://x", False),
    ],
)
def test_a_client_also_takes_news_of_a_part_of_a_resource(subscribed: str, uri: str, taken: bool) -> None:
    assert expects(wanted(resourceSubscriptions=[subscribed]), ResourceUpdated(uri)) is taken


@pytest.mark.rule("LISTEN-14")
def test_a_client_takes_no_kind_that_was_not_honoured() -> None:
    assert expects(wanted(toolsListChanged=True), ToolsListChanged())
    assert not expects(wanted(toolsListChanged=True), PromptsListChanged())
    assert not expects(wanted(toolsListChanged=True), ResourceUpdated("a"))


@pytest.mark.rule("SUB-07", "LISTEN-6")
def test_what_the_server_does_not_honour_is_named() -> None:
    asked = wanted(toolsListChanged=True, promptsListChanged=True, resourceSubscriptions=["a", "b", "b"])
    assert refused(asked, wanted(promptsListChanged=True, resourceSubscriptions=["a"])) == ["tools_list_changed", "b"]
    assert refused(asked, asked) == []


@pytest.mark.rule("SUB-09", "LISTEN-27")
@pytest.mark.parametrize(
    ("params", "subscription_id"),
    [
        ({"_meta": {SUBSCRIPTION_ID_META_KEY: 7}}, 7),
        ({"_meta": {SUBSCRIPTION_ID_META_KEY: "listen-1"}}, "listen-1"),
        ({"_meta": {SUBSCRIPTION_ID_META_KEY: True}}, None),
        ({"_meta": {SUBSCRIPTION_ID_META_KEY: None}}, None),
        ({"_meta": {}}, None),
        ({"_meta": 5}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_id_of_a_subscription_is_read(params: dict[str, Any] | None, subscription_id: RequestId | None) -> None:
    assert subscription_id_of(params) == subscription_id
