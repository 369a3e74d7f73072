from __future__ import annotations

import dataclasses

import pytest

from mcp.shared.message import ClientMessageMetadata, ServerMessageMetadata, SessionMessage
from mcp.shared.metadata_utils import get_display_name
from mcp.shared.transport_context import TransportContext
from mcp_types import Implementation, Prompt, Resource, ResourceTemplate, Tool, ToolAnnotations
from mcp_types.jsonrpc import JSONRPCRequest


def test_a_message_needs_no_metadata() -> None:
    message = JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")
    assert SessionMessage(message).metadata is None
    assert SessionMessage(message, ClientMessageMetadata(headers={"a": "b"})).message is message


def test_metadata_starts_empty() -> None:
    assert dataclasses.asdict(ClientMessageMetadata()) == {
        "resumption_token": None,
        "on_resumption_token_update": None,
        "headers": None,
    }
    assert dataclasses.asdict(ServerMessageMetadata()) == {
        "related_request_id": None,
        "request_context": None,
        "close_sse_stream": None,
        "close_standalone_sse_stream": None,
        "on_request_unanswered": None,
        "can_send_request": True,
    }


def test_a_transport_context_cannot_change() -> None:
    context = TransportContext(kind="stdio", can_send_request=True)
    assert context.headers is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        context.kind = "other"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.rule("CLIENT-80")
def test_a_tool_is_shown_by_title_then_annotation_then_name() -> None:
    annotations = ToolAnnotations(title="Annotated")
    assert get_display_name(Tool(name="t", title="Own", input_schema={}, annotations=annotations)) == "Own"
    assert get_display_name(Tool(name="t", title="", input_schema={}, annotations=annotations)) == ""
    assert get_display_name(Tool(name="t", input_schema={}, annotations=annotations)) == "Annotated"
    assert get_display_name(Tool(name="t", input_schema={}, annotations=ToolAnnotations(title=""))) == ""
    assert get_display_name(Tool(name="t", input_schema={}, annotations=ToolAnnotations())) == "t"
    assert get_display_name(Tool(name="t", input_schema={})) == "t"


@pytest.mark.rule("CLIENT-80")
def test_everything_else_is_shown_by_title_then_name() -> None:
    assert get_display_name(Implementation(name="n", version="1", title="T")) == "T"
    assert get_display_name(Resource(name="n", uri="a://b", title="T")) == "T"
    assert get_display_name(Prompt(name="n")) == "n"
    assert get_display_name(ResourceTemplate(name="n", uri_template="a://{b}")) == "n"
