"""What all types have in common, and what single ones do in their own way."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, FileUrl, ValidationError

import mcp_types as types
from mcp_types import (
    CacheableResult,
    CallToolRequest,
    CallToolResult,
    EmbeddedResource,
    Icon,
    ListToolsRequest,
    ListToolsResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    Notification,
    NotificationParams,
    PaginatedRequest,
    Request,
    RequestParams,
    Root,
    Task,
    TextContent,
    TextResourceContents,
    Tool,
)

MODELS = [name for name in types.__all__ if isinstance(getattr(types, name), type) and name != "RequestParamsMeta"]


@pytest.mark.parametrize("name", [name for name in MODELS if issubclass(getattr(types, name), BaseModel)])
def test_a_type_can_describe_itself(name: str) -> None:
    model: type[BaseModel] = getattr(types, name)
    assert model.model_json_schema()["title"].startswith(name)
    assert model.model_json_schema(mode="serialization")["title"].startswith(name)


def test_members_have_wire_names_and_python_names_and_both_are_read() -> None:
    by_name, by_alias = Tool(name="t", input_schema={}), Tool.model_validate({"name": "t", "inputSchema": {}})
    assert by_name == by_alias
    assert by_name.model_dump(by_alias=True, exclude_none=True) == {"name": "t", "inputSchema": {}}


@pytest.mark.rule("BASE-T-06")
def test_unknown_members_are_ignored() -> None:
    assert TextContent.model_validate({"type": "text", "text": "a", "later": 1}) == TextContent(text="a")


def test_metadata_is_called_meta_here_and_underscore_meta_on_the_wire() -> None:
    result = CallToolResult.model_validate({"content": [], "_meta": {"a": None}})
    assert result.meta == {"a": None}
    assert CallToolResult(content=[], _meta={"a": 1}).model_dump(by_alias=True)["_meta"] == {"a": 1}


def test_request_metadata_keeps_all_keys_and_spells_the_progress_token_both_ways() -> None:
    wire = {"progressToken": 1, "io.example/key": {"a": [None]}, "progress_note": 2}
    params = RequestParams.model_validate({"_meta": wire})
    assert params.meta == {"progress_token": 1, "io.example/key": {"a": [None]}, "progress_note": 2}
    assert params.model_dump(by_alias=True) == {"_meta": wire}
    assert RequestParams(_meta={"progress_token": "t"}).model_dump(by_alias=True) == {"_meta": {"progressToken": "t"}}


def test_a_progress_token_is_text_or_a_number() -> None:
    with pytest.raises(ValidationError):
        RequestParams.model_validate({"_meta": {"progressToken": 1.5}})


@pytest.mark.rule("CLIENT-48")
@pytest.mark.parametrize(("sent", "read"), [(-1, 0), (-(2**40), 0), (0, 0), (5, 5)])
def test_a_negative_time_to_live_is_none_at_all(sent: int, read: int) -> None:
    assert ListToolsResult.model_validate({"tools": [], "ttlMs": sent}).ttl_ms == read
    assert CacheableResult.model_validate_json(f'{{"ttlMs": {sent}}}').ttl_ms == read


def test_a_root_is_a_file() -> None:
    root = Root.model_validate({"uri": "file:///a%20b"})
    assert isinstance(root.uri, FileUrl)
    assert root.model_dump(mode="json", exclude_none=True) == {"uri": "file:///a%20b"}
    assert Root(uri=FileUrl("file:///c")).uri == FileUrl("file:///c")
    for uri in ("https://example.com", "/a", ""):
        with pytest.raises(ValidationError):
            Root.model_validate({"uri": uri})


@pytest.mark.rule("MEDIA-9")
@pytest.mark.parametrize("icon", [{}, {"src": "a", "theme": "pink"}, {"src": "a", "sizes": "48x48"}])
def test_a_malformed_icon_is_refused(icon: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Icon.model_validate(icon)


@pytest.mark.rule("MEDIA-9")
def test_the_source_of_an_icon_is_not_checked() -> None:
    assert Icon(src="no uri at all", theme="dark", sizes=["any"]).src == "no uri at all"


@pytest.mark.parametrize("block", [{"type": "video"}, {"text": "a"}, "text", None])
def test_content_of_an_unknown_kind_is_refused_with_one_reason(block: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        CallToolResult.model_validate({"content": [block]})
    assert len(caught.value.errors()) == 1


def test_contents_are_text_or_bytes() -> None:
    text = {"type": "resource", "resource": {"uri": "a:b", "text": "t"}}
    assert type(EmbeddedResource.model_validate(text).resource) is TextResourceContents
    with pytest.raises(ValidationError, match="Resource contents have either text or blob"):
        EmbeddedResource.model_validate({"type": "resource", "resource": {"uri": "a:b"}})


def test_null_stays_where_a_member_is_required() -> None:
    log = LoggingMessageNotification(params=LoggingMessageNotificationParams(level="info", data=None))
    assert log.model_dump(by_alias=True, exclude_none=True)["params"] == {"level": "info", "data": None}
    task = Task(task_id="1", status="working", created_at="", last_updated_at="", ttl=None)
    assert task.model_dump(by_alias=True, exclude_none=True)["ttl"] is None


class SearchParams(RequestParams):
    query: str


class SearchRequest(Request[SearchParams, Literal["acme/search"]]):
    method: Literal["acme/search"] = "acme/search"
    params: SearchParams


class ListThings(PaginatedRequest[Literal["acme/things"]]):
    method: Literal["acme/things"] = "acme/things"


def test_users_define_requests_and_notifications_of_their_own() -> None:
    assert SearchRequest(params=SearchParams(query="q")).model_dump(exclude_none=True) == {
        "method": "acme/search",
        "params": {"query": "q"},
    }
    assert ListThings().params is None
    assert Notification[NotificationParams | None, str](method="acme/n", params=None).method == "acme/n"
    assert Request(method="acme/r", params={"a": 1}).params == {"a": 1}
    assert isinstance(ListThings(), Request)


def test_a_request_of_the_protocol_knows_its_method() -> None:
    assert ListToolsRequest().method == "tools/list"
    with pytest.raises(ValidationError, match="tools/call"):
        CallToolRequest.model_validate({"method": "tools/list", "params": {"name": "x"}})
    assert CallToolRequest.name_param is None
