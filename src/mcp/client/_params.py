"""The params of the common requests, in wire form: checked where a wrong type would become a puzzle on the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel

import mcp_types as types
from mcp._protocol.era import MODERN
from mcp._protocol.fields import dump
from mcp._protocol.headers import MCP_NAME, encode_header_value
from mcp._protocol.input_required import with_answers
from mcp_types.methods import MONOLITH_REQUESTS


def call_params(name: str, arguments: dict[str, Any] | None) -> dict[str, Any]:
    """Write the params of `tools/call`, checking what a wrong type would turn into a puzzle on the server."""
    if type(name) is not str or not (arguments is None or type(arguments) is dict):
        types.CallToolRequestParams.model_validate({"name": name, "arguments": arguments})
    return {"name": name} if arguments is None else {"name": name, "arguments": arguments}


def prompt_params(name: str, arguments: dict[str, str] | None) -> dict[str, Any]:
    """Write the params of `prompts/get`."""
    params = types.GetPromptRequestParams(name=name, arguments=arguments)
    return {"name": params.name} if arguments is None else {"name": params.name, "arguments": params.arguments}


def uri_params(uri: str) -> dict[str, Any]:
    """Write params that are a URI: byte for byte if it is a string, as text if it is a URL object."""
    return {"uri": str(uri)}


def progress_params(
    progress_token: str | int,
    progress: float,
    total: float | None,
    message: str | None,
    meta: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the params of a progress notification."""
    said = {"progressToken": progress_token, "progress": progress, "total": total, "message": message, "_meta": meta}
    return dump(types.ProgressNotificationParams.model_validate(said), MODERN)


def with_given_answers(
    params: dict[str, Any], input_responses: Mapping[str, types.InputResponse] | None, request_state: str | None
) -> dict[str, Any]:
    """Return params with the answers and the state that a caller gives, which are checked."""
    if input_responses is None and request_state is None:
        return params
    if (request_state is not None and type(request_state) is not str) or not _are_models(input_responses):
        checked = types.CallToolRequestParams.model_validate(
            {"name": "", "inputResponses": input_responses, "requestState": request_state}
        )
        input_responses = checked.input_responses
    return with_answers(params, input_responses, request_state)


def _are_models(input_responses: object) -> bool:
    if input_responses is None:
        return True
    return isinstance(input_responses, dict) and all(
        isinstance(value, BaseModel) for value in cast("dict[str, object]", input_responses).values()
    )


def model_of(method: str, params: dict[str, Any] | None, meta: Mapping[str, Any] | None) -> types.Request[Any, Any]:
    """Build the typed request that a verb stands for."""
    if meta:
        params = {**(params or {}), "_meta": meta}
    message: dict[str, Any] = {"method": method}
    if params is not None:
        message["params"] = params
    return MONOLITH_REQUESTS[method].model_validate(message)


def mirror_name(headers: dict[str, str], method: str, params: Mapping[str, Any] | None, member: str) -> None:
    """Add the `Mcp-Name` header that a vendor's request asks for; one that is there already wins."""
    name = (params or {}).get(member)
    if not isinstance(name, str):
        raise ValueError(f"{method} requires params[{member!r}] for Mcp-Name")
    if not any(header.lower() == MCP_NAME for header in headers):
        headers[MCP_NAME] = encode_header_value(name)
