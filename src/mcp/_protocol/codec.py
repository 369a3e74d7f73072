"""Params and results between wire form and models: decoded once on the way in, written once on the way out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

import mcp_types as types
from mcp._protocol.era import MODERN, Era
from mcp._protocol.errors import describe
from mcp._protocol.fields import dump
from mcp._protocol.jsonrpc import dumps, loads
from mcp.shared.exceptions import MCPError
from mcp_types import CORE_RESULT_TYPES, INTERNAL_ERROR, SERVER_INFO_META_KEY
from mcp_types.methods import CACHEABLE_METHODS, INPUT_REQUIRED_METHODS, SPEC_CLIENT_METHODS, result_named_by

ParamsT = TypeVar("ParamsT", bound=BaseModel)
ResultT = TypeVar("ResultT")

# The members of a form's schema that the modern protocol knows at top level (`ElicitRequestFormParams`).
_FORM_SCHEMA_MEMBERS: Final = ("$schema", "type", "properties", "required")

_MODERN_MEMBERS: Final = ("resultType", "ttlMs", "cacheScope")
_ABSENT: Final[dict[str, Any]] = {}


class InvalidHandlerResult(MCPError):
    """A handler returned something that is no result of its method; the reason is for the server's log only."""

    def __init__(self, reason: str) -> None:
        super().__init__(INTERNAL_ERROR, "Handler returned an invalid result")
        self.reason = reason


class InvalidServerResult(ValueError):
    """A server answered a request with something that is no result of its method."""


class WireResult(dict[str, Any]):
    """A result that its maker guarantees to be valid and in wire form already; only the stamps are missing."""


def decode_params(params_type: type[ParamsT], params: Mapping[str, Any] | None) -> ParamsT:
    """Read the params of a request or notification.

    Raises:
        ValidationError: They do not fit the model.
    """
    return params_type.model_validate({} if params is None else params)


def encode_result(
    method: str,
    result: object,
    era: Era,
    *,
    stamp: Mapping[str, Any],
    ttl_ms: int | None = None,
    cache_scope: str | None = None,
) -> dict[str, Any]:
    """Write what a handler returned as the result that goes on the wire.

    Args:
        method: The method that was handled.
        result: A model, a dict in wire form, or `None` for an empty result.
        era: The era it is written for.
        stamp: The server's identity (modern results carry it in `_meta`).
        ttl_ms: How long it stays fresh, where the handler does not say.
        cache_scope: Who may share it, where the handler does not say.

    Raises:
        InvalidHandlerResult: It is no result of this method.
        TypeError: It is neither a model, nor a dict, nor `None`.
    """
    if isinstance(result, WireResult):
        wire: dict[str, Any] = result
    elif isinstance(result, BaseModel):
        wire = _dump_model(method, result, era)
        if method in CACHEABLE_METHODS and not isinstance(result, types.InputRequiredResult):
            _apply_hint(wire, result.model_fields_set, ttl_ms, cache_scope)
    elif result is None or isinstance(result, dict):
        wire = _check_dict(method, cast("dict[str, Any] | None", result), era)
    else:
        raise TypeError(f"handler returned {type(result).__name__}; expected BaseModel, dict, or None")
    if era is MODERN:
        return _stamp(method, wire, stamp, ttl_ms, cache_scope)
    for member in _MODERN_MEMBERS:
        if method in SPEC_CLIENT_METHODS:
            wire.pop(member, None)
    _keep_objects_only(method, wire)
    return wire


def _keep_objects_only(method: str, wire: dict[str, Any]) -> None:
    """Leave out structured values other than objects, and their schemas: legacy tools have none (tools: "Output")."""
    if method == "tools/call":
        if not isinstance(wire.get("structuredContent", _ABSENT), dict):
            wire.pop("structuredContent", None)
    elif method == "tools/list":
        for tool in wire.get("tools", ()):
            if tool.get("outputSchema", _ABSENT).get("type") != "object":
                tool.pop("outputSchema", None)


def _dump_model(method: str, result: BaseModel, era: Era) -> dict[str, Any]:
    if isinstance(result, types.InputRequiredResult):
        if era is not MODERN or method not in INPUT_REQUIRED_METHODS:
            raise InvalidHandlerResult(f"InputRequiredResult is no answer to a {era.name} {method!r} request")
        return encode_input_required(result)
    expected = _result_model(method)
    if (
        expected is not None
        and not isinstance(result, expected)
        and not _is_claimed(getattr(result, "result_type", None), era)
    ):
        raise InvalidHandlerResult(f"{type(result).__name__} is no result of {method!r}")
    return dump(result, era)


def _check_dict(method: str, result: dict[str, Any] | None, era: Era) -> dict[str, Any]:
    expected = _result_model(method)
    if expected is None or (result is not None and _is_claimed(result.get("resultType"), era)):
        return _as_json(result or {})
    if result is not None and result.get("resultType") == "input_required":
        expected = types.InputRequiredResult
    try:
        model = expected.model_validate(result or {})
    except ValidationError as error:
        raise InvalidHandlerResult(str(describe(error))) from None
    return _dump_model(method, model, era)


def _as_json(result: dict[str, Any]) -> dict[str, Any]:
    """Copy a result as a wire would: in one process, too, clients must not hold what the handler goes on to change."""
    try:
        return loads(dumps(result))
    except ValueError as error:
        raise InvalidHandlerResult(str(error)) from None


def _result_model(method: str) -> type[BaseModel] | None:
    """The model of a core method's complete result; `None` for vendor methods, whose results pass unchecked."""
    if method not in SPEC_CLIENT_METHODS:
        return None
    return result_named_by(method)


def _is_claimed(result_type: object, era: Era) -> bool:
    """Whether a result type is one of an extension's own, which legacy revisions do not know."""
    return era is MODERN and isinstance(result_type, str) and result_type not in CORE_RESULT_TYPES


def _apply_hint(wire: dict[str, Any], fields_set: Collection[str], ttl_ms: int | None, cache_scope: str | None) -> None:
    if ttl_ms is not None and "ttl_ms" not in fields_set:
        wire["ttlMs"] = ttl_ms
    if cache_scope is not None and "cache_scope" not in fields_set:
        wire["cacheScope"] = cache_scope


def _stamp(
    method: str, wire: dict[str, Any], stamp: Mapping[str, Any], ttl_ms: int | None, cache_scope: str | None
) -> dict[str, Any]:
    """Add what every modern result carries: `resultType`, the server's identity, and freshness where it is due."""
    result_type = wire.setdefault("resultType", "complete")
    meta = wire.get("_meta")
    wire["_meta"] = {SERVER_INFO_META_KEY: stamp} if not meta else {SERVER_INFO_META_KEY: stamp, **meta}
    if result_type == "complete" and method in CACHEABLE_METHODS:
        wire.setdefault("ttlMs", ttl_ms or 0)
        wire.setdefault("cacheScope", cache_scope or "private")
    return wire


def encode_input_required(result: types.InputRequiredResult) -> dict[str, Any]:
    """Write the questions and state of an unfinished call for the modern wire."""
    if type(result) is types.InputRequiredResult and result.meta is None:
        wire: dict[str, Any] = {"resultType": "input_required"}
        if result.request_state is not None:
            wire["requestState"] = result.request_state
    else:
        wire = dump(result, MODERN)
    if result.input_requests is not None:
        wire["inputRequests"] = {key: encode_input_request(value) for key, value in result.input_requests.items()}
    return wire


def encode_input_request(request: types.InputRequest) -> dict[str, Any]:
    """Write one question as it stands inside an `InputRequiredResult`."""
    if type(request) is types.ElicitRequest and type(request.params) is types.ElicitRequestFormParams:
        return _encode_form_request(request.params)
    wire = dump(request, MODERN)
    params = wire.get("params")
    if isinstance(request, types.ListRootsRequest) or not params:
        wire.pop("params", None)
    elif isinstance(request.params, types.ElicitRequestFormParams):
        params["requestedSchema"] = modern_form_schema(params["requestedSchema"])
    return wire


def _encode_form_request(params: types.ElicitRequestFormParams) -> dict[str, Any]:
    """Write the most common question without what makes `dump` good for all of them."""
    try:
        schema = to_jsonable_python(modern_form_schema(params.requested_schema), inf_nan_mode="null")
    except UnicodeEncodeError:  # a lone surrogate in a key: `dump` knows what to do
        schema = modern_form_schema(dump(params, MODERN)["requestedSchema"])
    return form_request(params.message, schema)


def form_request(message: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Write the question to fill in a form, from what of its schema the modern protocol sends."""
    form = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": form}


def modern_form_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a form's schema that the modern protocol sends, and that a question is recognised by."""
    return {member: schema[member] for member in _FORM_SCHEMA_MEMBERS if member in schema}


def encode_input_responses(responses: Mapping[str, types.InputResponse]) -> dict[str, Any]:
    """Write the answers that a retry carries."""
    return {key: encode_input_response(response) for key, response in responses.items()}


def encode_input_response(response: types.InputResponse) -> dict[str, Any]:
    """Write one answer; the content of a form exactly as it was filled in."""
    if type(response) is not types.ElicitResult:
        return dump(response, MODERN)
    if response.content is None:
        return {"action": response.action}
    return {"action": response.action, "content": response.content}


def without_modern_members(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """Take from a legacy result what legacy results do not have, whatever a server puts there.

    Raises:
        InvalidServerResult: It is nothing that a legacy result can be.
    """
    if method not in SPEC_CLIENT_METHODS:
        return result
    if method == "tools/call" and not isinstance(result.get("structuredContent"), dict | None):
        raise InvalidServerResult(f"The server answered {method!r} with structuredContent that is no object")
    return {member: value for member, value in result.items() if member not in _MODERN_MEMBERS}


def decode_result(
    method: str,
    result: Mapping[str, Any],
    result_type: type[ResultT] | TypeAdapter[ResultT],
    *,
    claimed: Collection[str] = (),
) -> ResultT:
    """Read a result that a server sent.

    An absent `resultType` means `complete` (base protocol: "Result Types").

    Raises:
        InvalidServerResult: It does not fit, or its `resultType` is neither the core protocol's nor a claimed one.
    """
    kind = result.get("resultType")
    if kind is not None and not (isinstance(kind, str) and (kind in CORE_RESULT_TYPES or kind in claimed)):
        raise InvalidServerResult(f"The server answered {method!r} with the unknown resultType {kind!r}")
    try:
        if isinstance(result_type, TypeAdapter):
            return result_type.validate_python(result)
        if hasattr(result_type, "model_validate"):
            return cast("ResultT", cast("type[BaseModel]", result_type).model_validate(result))
        return TypeAdapter(result_type).validate_python(result)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, p['loc']))}: {p['problem']}" for p in describe(error))
        raise InvalidServerResult(f"The server answered {method!r} with an invalid result: {problems}") from error
