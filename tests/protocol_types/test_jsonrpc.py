"""JSON-RPC messages and ids."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from mcp_types import (
    CancelledNotificationParams,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)

MESSAGES: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (JSONRPCRequest, {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    (JSONRPCRequest, {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "x"}}),
    (JSONRPCNotification, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
    (JSONRPCResponse, {"jsonrpc": "2.0", "id": 1, "result": {}}),
    (JSONRPCError, {"jsonrpc": "2.0", "id": "a", "error": {"code": -32601, "message": "no", "data": [1]}}),
]


@pytest.mark.parametrize(("model", "message"), MESSAGES)
def test_a_message_is_read_as_its_kind_and_written_as_it_was(model: type[BaseModel], message: dict[str, Any]) -> None:
    read = jsonrpc_message_adapter.validate_python(message)
    assert type(read) is model
    assert jsonrpc_message_adapter.dump_python(read, exclude_none=True) == message
    assert jsonrpc_message_adapter.validate_json(jsonrpc_message_adapter.dump_json(read)) == read
    assert jsonrpc_message_adapter.validate_python(read) is read


@pytest.mark.rule("VER-8")
@pytest.mark.parametrize("request_id", [None, 1.0, 1.5, True, [], {}])
def test_an_id_that_is_neither_text_nor_integer_is_refused(request_id: Any) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter[RequestId](RequestId).validate_python(request_id)
    with pytest.raises(ValidationError):
        jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", "id": request_id, "method": "ping"})


@pytest.mark.rule("VER-8")
@pytest.mark.parametrize("request_id", [0, -1, 2**70, "", "1", "a b"])
def test_an_id_comes_back_as_it_was(request_id: str | int) -> None:
    read = CancelledNotificationParams.model_validate({"requestId": request_id}).request_id
    assert read == request_id
    assert type(read) is type(request_id)


@pytest.mark.parametrize("message", [{"jsonrpc": "2.0", "id": 1}, {}, [], "text", None])
def test_what_is_no_message_is_refused_with_the_reason(message: Any) -> None:
    with pytest.raises(ValidationError, match="A JSON-RPC message has one of method, result and error"):
        jsonrpc_message_adapter.validate_python(message)


def test_another_version_of_json_rpc_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"2\.0"):
        jsonrpc_message_adapter.validate_python({"jsonrpc": "1.0", "id": 1, "method": "ping"})


@pytest.mark.parametrize("envelope", [{}, {"id": None}])
def test_an_error_without_a_readable_id_is_read_in_either_form(envelope: dict[str, Any]) -> None:
    message = {"jsonrpc": "2.0", **envelope, "error": {"code": -32700, "message": "Parse error"}}
    read = jsonrpc_message_adapter.validate_python(message)
    assert read == JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=-32700, message="Parse error"))
