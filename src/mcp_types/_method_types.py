"""The types of the protocol's methods, and the functions that read messages by them.

One row per method makes up everything here. The types serve all revisions, so a revision only decides which
methods exist; the members that one era lacks or demands are the concern of whoever reads or writes messages.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, Final, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, TypeAdapter

import mcp_types as types
from mcp_types._input_required import AnyInputResponse
from mcp_types._methods import NOTIFICATION_SPECS, REQUEST_SPECS, SPEC_CLIENT_METHODS, is_input_required
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS

ResultModel = type[BaseModel] | UnionType


ResultT = TypeVar("ResultT", bound=BaseModel)


def _named(name: str) -> Any:
    return getattr(types, name)


def _union_of(members: Sequence[type[ResultT]]) -> type[ResultT] | UnionType:
    """Return the union of some types, which is the type itself if there is one."""
    union: type[ResultT] | UnionType = members[0]
    for member in members[1:]:
        union = union | member
    return union


def _result_of(method: str, version: str) -> type[types.Result] | UnionType:
    return _union_of([_named(name) for name in REQUEST_SPECS[method].results_in(version)])


CLIENT_REQUESTS: Final[Mapping[tuple[str, str], type[BaseModel]]] = MappingProxyType(
    {(method, version): _named(spec.request) for method, spec in REQUEST_SPECS.items() for version in spec.from_client}
)
"""The requests of clients, by method and revision."""

SERVER_REQUESTS: Final[Mapping[tuple[str, str], type[BaseModel]]] = MappingProxyType(
    {(method, version): _named(spec.request) for method, spec in REQUEST_SPECS.items() for version in spec.from_server}
)
"""The requests of servers, by method and revision."""

SERVER_RESULTS: Final[Mapping[tuple[str, str], ResultModel]] = MappingProxyType(
    {
        (method, version): _result_of(method, version)
        for method, spec in REQUEST_SPECS.items()
        for version in spec.from_client
    }
)
"""The results of servers, by method and revision."""

CLIENT_RESULTS: Final[Mapping[tuple[str, str], ResultModel]] = MappingProxyType(
    {
        (method, version): _result_of(method, version)
        for method, spec in REQUEST_SPECS.items()
        for version in spec.from_server
    }
)
"""The results of clients, by method and revision."""

CLIENT_NOTIFICATIONS: Final[Mapping[tuple[str, str], type[BaseModel]]] = MappingProxyType(
    {
        (method, version): _named(spec.notification)
        for method, spec in NOTIFICATION_SPECS.items()
        for version in spec.from_client
    }
)
"""The notifications of clients, by method and revision."""

SERVER_NOTIFICATIONS: Final[Mapping[tuple[str, str], type[BaseModel]]] = MappingProxyType(
    {
        (method, version): _named(spec.notification)
        for method, spec in NOTIFICATION_SPECS.items()
        for version in spec.from_server
    }
)
"""The notifications of servers, by method and revision."""

MONOLITH_REQUESTS: Final[Mapping[str, type[types.Request]]] = MappingProxyType(
    {method: _named(spec.request) for method, spec in REQUEST_SPECS.items()}
)
"""Every request, by method."""

MONOLITH_NOTIFICATIONS: Final[Mapping[str, type[types.Notification]]] = MappingProxyType(
    {method: _named(spec.notification) for method, spec in NOTIFICATION_SPECS.items()}
)
"""Every notification, by method."""

MONOLITH_RESULTS: Final[Mapping[str, type[types.Result] | UnionType]] = MappingProxyType(
    {method: _result_of(method, LATEST_MODERN_VERSION) for method in REQUEST_SPECS}
)
"""Every result, by the method it answers."""

ModelT = TypeVar("ModelT")


def _row(surface: Mapping[tuple[str, str], ModelT], method: str, version: str) -> ModelT:
    if version not in KNOWN_PROTOCOL_VERSIONS:
        raise ValueError(f"version must be a known protocol version, got {version!r}")
    return surface[method, version]


def _monolith_row(monolith: Mapping[str, ModelT], method: str) -> ModelT:
    if method not in monolith:
        # Not a KeyError: that would tell the caller that the revision lacks the method.
        raise RuntimeError(f"inconsistent extension maps: surface defines {method!r} but monolith does not")
    return monolith[method]


def _message(method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    # The envelope's members are there for models of whole JSON-RPC messages; ours ignore them.
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 0, "method": method}
    if params is not None:
        message["params"] = params
    return message


@cache
def _adapter(union: UnionType) -> TypeAdapter[Any]:
    if set(get_args(union)) == {types.CreateMessageResult, types.CreateMessageResultWithTools}:
        return TypeAdapter(AnyInputResponse)
    return TypeAdapter(cast("type[Any]", union), config=ConfigDict(defer_build=True))


def _read_result(model: ResultModel, data: Mapping[str, Any]) -> BaseModel:
    if isinstance(model, UnionType):
        members = cast("tuple[type[BaseModel], ...]", get_args(model))
        if types.InputRequiredResult not in members:
            return _adapter(model).validate_python(data)
        if is_input_required(data):
            return types.InputRequiredResult.model_validate(data)
        return _read_result(_union_of([member for member in members if member is not types.InputRequiredResult]), data)
    return model.model_validate(data)


def validate_client_request(
    method: str,
    version: str,
    params: Mapping[str, Any] | None,
    *,
    surface: Mapping[tuple[str, str], type[BaseModel]] = CLIENT_REQUESTS,
) -> None:
    """Check a client's request.

    Args:
        method: The request's method.
        version: The revision that client and server speak.
        params: The request's params in wire form.
        surface: The models by method and revision. Add rows for methods of your own.

    Raises:
        ValueError: If the revision is not known.
        KeyError: If the revision does not have the method.
        pydantic.ValidationError: If the params do not fit the method.
    """
    _row(surface, method, version).model_validate(_message(method, params))


def validate_client_notification(
    method: str,
    version: str,
    params: Mapping[str, Any] | None,
    *,
    surface: Mapping[tuple[str, str], type[BaseModel]] = CLIENT_NOTIFICATIONS,
) -> None:
    """Check a client's notification. Arguments and errors are those of `validate_client_request`."""
    _row(surface, method, version).model_validate(_message(method, params))


def validate_client_result(
    method: str,
    version: str,
    data: Mapping[str, Any],
    *,
    surface: Mapping[tuple[str, str], ResultModel] = CLIENT_RESULTS,
) -> None:
    """Check a client's answer to a request of the server. Errors are those of `validate_client_request`."""
    _read_result(_row(surface, method, version), data)


def validate_server_result(
    method: str,
    version: str,
    data: Mapping[str, Any],
    *,
    surface: Mapping[tuple[str, str], ResultModel] = SERVER_RESULTS,
) -> None:
    """Check a server's answer to a request of the client. Errors are those of `validate_client_request`."""
    _read_result(_row(surface, method, version), data)


def parse_client_request(
    method: str,
    version: str,
    params: Mapping[str, Any] | None,
    *,
    surface: Mapping[tuple[str, str], type[BaseModel]] = CLIENT_REQUESTS,
    monolith: Mapping[str, type[types.Request]] = MONOLITH_REQUESTS,
) -> types.Request:
    """Read a client's request.

    Args:
        method: The request's method.
        version: The revision that client and server speak.
        params: The request's params in wire form.
        surface: The models to check with, by method and revision. Add rows for methods of your own.
        monolith: The models to return, by method. Needs a row for each method of `surface`.

    Raises:
        ValueError: If the revision is not known.
        KeyError: If the revision does not have the method.
        pydantic.ValidationError: If the params do not fit the method.
        RuntimeError: If `surface` has the method and `monolith` does not.
    """
    return _parse_message(method, params, _row(surface, method, version), _monolith_row(monolith, method))


def parse_server_request(
    method: str,
    version: str,
    params: Mapping[str, Any] | None,
    *,
    surface: Mapping[tuple[str, str], type[BaseModel]] = SERVER_REQUESTS,
    monolith: Mapping[str, type[types.Request]] = MONOLITH_REQUESTS,
) -> types.Request:
    """Read a server's request. Arguments and errors are those of `parse_client_request`."""
    return _parse_message(method, params, _row(surface, method, version), _monolith_row(monolith, method))


def parse_client_notification(
    method: str,
    version: str,
    params: Mapping[str, Any] | None,
    *,
    surface: Mapping[tuple[str, str], type[BaseModel]] = CLIENT_NOTIFICATIONS,
    monolith: Mapping[str, type[types.Notification]] = MONOLITH_NOTIFICATIONS,
) -> types.Notification:
    """Read a client's notification. Arguments and errors are those of `parse_client_request`."""
    return _parse_message(method, params, _row(surface, method, version), _monolith_row(monolith, method))


def parse_server_notification(
    method: str,
    version: str,
    params: Mapping[str, Any] | None,
    *,
    surface: Mapping[tuple[str, str], type[BaseModel]] = SERVER_NOTIFICATIONS,
    monolith: Mapping[str, type[types.Notification]] = MONOLITH_NOTIFICATIONS,
) -> types.Notification:
    """Read a server's notification. Arguments and errors are those of `parse_client_request`."""
    return _parse_message(method, params, _row(surface, method, version), _monolith_row(monolith, method))


MessageT = TypeVar("MessageT", bound=BaseModel)


def _parse_message(
    method: str, params: Mapping[str, Any] | None, check: type[BaseModel], model: type[MessageT]
) -> MessageT:
    message = _message(method, params)
    if check is not model:
        check.model_validate(message)
    return model.model_validate(message)


def parse_client_result(
    method: str,
    version: str,
    data: Mapping[str, Any],
    *,
    surface: Mapping[tuple[str, str], ResultModel] = CLIENT_RESULTS,
    monolith: Mapping[str, type[types.Result] | UnionType] = MONOLITH_RESULTS,
) -> types.Result:
    """Read a client's answer to a request of the server. Errors are those of `parse_client_request`."""
    return _parse_result(data, _row(surface, method, version), _monolith_row(monolith, method))


def parse_server_result(
    method: str,
    version: str,
    data: Mapping[str, Any],
    *,
    surface: Mapping[tuple[str, str], ResultModel] = SERVER_RESULTS,
    monolith: Mapping[str, type[types.Result] | UnionType] = MONOLITH_RESULTS,
) -> types.Result:
    """Read a server's answer to a request of the client. Errors are those of `parse_client_request`."""
    return _parse_result(data, _row(surface, method, version), _monolith_row(monolith, method))


def _parse_result(data: Mapping[str, Any], check: ResultModel, model: type[types.Result] | UnionType) -> types.Result:
    result = _read_result(check, data)
    return cast("types.Result", result if check == model else _read_result(model, data))


def serialize_server_result(
    method: str,
    version: str,
    data: Mapping[str, Any],
    *,
    surface: Mapping[tuple[str, str], ResultModel] = SERVER_RESULTS,
) -> dict[str, Any]:
    """Check a server's answer and write it without the members that the revision does not have.

    Errors are those of `validate_client_request`.
    """
    result = _read_result(_row(surface, method, version), data)
    exclude: dict[str, Any] = {}
    if version in MODERN_PROTOCOL_VERSIONS:
        exclude = {"tools": {"__all__": {"execution"}}, "capabilities": {"tasks"}}
    elif method in SPEC_CLIENT_METHODS:
        exclude = {"result_type": True, "ttl_ms": True, "cache_scope": True, "capabilities": {"extensions"}}
    return result.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=exclude)


__all__ = [
    "CLIENT_NOTIFICATIONS",
    "CLIENT_REQUESTS",
    "CLIENT_RESULTS",
    "MONOLITH_NOTIFICATIONS",
    "MONOLITH_REQUESTS",
    "MONOLITH_RESULTS",
    "SERVER_NOTIFICATIONS",
    "SERVER_REQUESTS",
    "SERVER_RESULTS",
    "parse_client_notification",
    "parse_client_request",
    "parse_client_result",
    "parse_server_notification",
    "parse_server_request",
    "parse_server_result",
    "serialize_server_result",
    "validate_client_notification",
    "validate_client_request",
    "validate_client_result",
    "validate_server_result",
]
