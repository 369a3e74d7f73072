"""JSON-RPC 2.0: bytes to messages and back, with nothing a peer sends able to crash the reader."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard, cast

from pydantic_core import from_json, to_json, to_jsonable_python

import mcp_types as types
from mcp._protocol.errors import Rejection
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import INVALID_REQUEST, PARSE_ERROR

PARSE_ERROR_TEXT = "Parse error"
INVALID_MESSAGE_TEXT = "Body must be a single JSON-RPC request or notification object"

_BEGINNING = 1000  # bytes
_BEGINS_AS_ANSWER = re.compile(
    r"""\s*\{\s*("jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(?P<id>-?(0|[1-9][0-9]{0,18})|"[^"\\\x00-\x1f]*")"""
    r"""\s*,\s*("jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(result|error)"\s*:"""
)
_SURROGATE = re.compile("[\\ud800-\\udfff]")
_MAX_DEPTH = 201  # what pydantic_core's reader allows; the fallback below keeps to the same
_MAX_WRITTEN_DEPTH = 200  # the last level that it reads must be an empty array
_NAMED_LEVELS = 4  # enough to find an argument by: params.arguments.NAME and a bit
_TOO_DEEP = "JSON is nested too deeply"
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


@dataclass(slots=True)
class Request:
    """A request: has an id and will be answered once."""

    request_id: types.RequestId
    method: str
    params: dict[str, Any] | None


@dataclass(slots=True)
class Notification:
    """A notification: has no id and is never answered."""

    method: str
    params: dict[str, Any] | None


@dataclass(slots=True)
class Response:
    """A request's result."""

    request_id: types.RequestId
    result: dict[str, Any]


@dataclass(slots=True)
class ErrorResponse:
    """A request's error.

    Attributes:
        request_id: The request's id; `None` where the peer could not read it.
        code: The error code.
        message: What went wrong.
        data: Further values.
        is_local: Whether the transport made it, because the peer cannot answer.
    """

    request_id: types.RequestId | None
    code: int
    message: str
    data: Any = None
    is_local: bool = False

    def as_exception(self) -> MCPError:
        """Return the exception to raise for it."""
        return MCPError(self.code, self.message, self.data, is_local=self.is_local)


Message: TypeAlias = Request | Notification | Response | ErrorResponse


def loads(data: bytes | str) -> Any:
    """Read JSON text (UTF-8).

    Lone surrogates in escapes are accepted, as other JSON implementations send them; `NaN` and `Infinity` are not.

    Raises:
        ValueError: The text is not JSON, or is nested too deeply, or holds a number too long to read.
    """
    try:
        return from_json(data, allow_inf_nan=False)
    except (ValueError, TypeError):  # TypeError: the text itself holds a surrogate
        if not _may_hold_surrogate(data):
            raise
    text = data if isinstance(data, str) else data.decode()
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if _find_too_deep(value, _MAX_DEPTH) is not None:
        raise ValueError(_TOO_DEEP)
    return value


def dumps(value: Any) -> bytes:
    """Write compact JSON text (UTF-8). Lone surrogates go out as escapes.

    Raises:
        ValueError: A number in it is NaN or infinite, or it is nested more deeply than peers read (`loads`); the text
            names the place.
        PydanticSerializationError: It holds something that has no JSON form.
    """
    try:
        data = to_json(value)
    except ValueError as error:  # of which PydanticSerializationError is one
        if (place := _find_too_deep(value, _MAX_WRITTEN_DEPTH)) is not None:
            raise ValueError(_too_deep_at(place)) from None
        # Most likely a lone surrogate, which has no UTF-8 form; the slower writer escapes it.
        try:
            data = json.dumps(value, default=to_jsonable_python, separators=(",", ":")).encode("ascii")
        except (TypeError, ValueError, RecursionError):
            raise error from None
    # Both spellings also occur inside strings, so a hit is looked into.
    if (b"NaN" in data or b"Infinity" in data) and (place := _find_non_finite(json.loads(data))) is not None:
        raise ValueError(f"JSON has no form for NaN or infinity, found at {place}")
    if (
        len(data) > 2 * _MAX_WRITTEN_DEPTH
        and _looks_deep(data)
        and (place := _find_too_deep(json.loads(data), _MAX_WRITTEN_DEPTH)) is not None
    ):
        raise ValueError(_too_deep_at(place))
    return data


def parse_message(data: bytes | str) -> Message | Rejection:
    """Read one message from a body or a line."""
    try:
        value = loads(data)
    except (ValueError, RecursionError):
        return Rejection(400, PARSE_ERROR, PARSE_ERROR_TEXT)
    return read_message(value)


def read_message(message: Any) -> Message | Rejection:
    """Tell what kind of message a parsed JSON value is; a batch or anything malformed is a rejection."""
    if not _is_object(message):
        return Rejection(400, INVALID_REQUEST, INVALID_MESSAGE_TEXT)
    if message.get("jsonrpc") == "2.0":
        if "method" in message:
            read = _read_call(message)
        elif "result" in message:
            read = _read_result(message)
        else:
            read = _read_error(message)
        if read is not None:
            return read
    # base: an error carries the id of its request wherever that can be read; a response's id is not one of ours.
    request_id = message.get("id") if "method" in message else None
    return Rejection(
        400, INVALID_REQUEST, INVALID_MESSAGE_TEXT, None, request_id if is_request_id(request_id) else None
    )


def broken_answer(message: Any) -> ErrorResponse | None:
    """What to take for the answer to a request when the peer's is none, so that nobody waits for a better one.

    Returns:
        A local error; `None` if what was read names no request that it could answer.
    """
    return _answer_for_want_of(message, INVALID_REQUEST, "The answer is no JSON-RPC response")


def unreadable_answer(data: bytes | str, error: Exception) -> ErrorResponse | None:
    """The same for a text that is no JSON.

    It may be read where NaN, infinity and long numbers are all that is wrong, or if it begins as answers do.

    Args:
        data: The text.
        error: What `loads` raised.
    """
    try:
        message = json.loads(data, parse_constant=_name_of, parse_int=_short_or_name_of)
    except (ValueError, RecursionError):
        text = data if isinstance(data, str) else data[:_BEGINNING].decode(errors="replace")
        begins = _BEGINS_AS_ANSWER.match(text)
        message = None if begins is None else {"id": json.loads(begins["id"])}
    return _answer_for_want_of(message, PARSE_ERROR, f"The answer is not JSON: {error}")


def read_batch(values: Iterable[Any]) -> list[Message | Rejection]:
    """Read the members of a batch. What was meant as an answer and is none is followed by `broken_answer`."""
    items: list[Message | Rejection] = []
    for value in values:
        item = read_message(value)
        items.append(item)
        if isinstance(item, Rejection) and (answer := broken_answer(value)) is not None:
            items.append(answer)
    return items


def spoiled_answer(data: bytes) -> ErrorResponse | None:
    """The same for a text of which only is known that it holds no message."""
    try:
        value = loads(data)
    except (ValueError, RecursionError) as error:
        return unreadable_answer(data, error)
    return broken_answer(value)


def _answer_for_want_of(message: Any, code: int, text: str) -> ErrorResponse | None:
    if not _is_object(message) or "method" in message or not is_request_id(message.get("id")):
        return None
    return ErrorResponse(message["id"], code, text, is_local=True)


def _name_of(constant: str) -> str:
    return constant


def _short_or_name_of(digits: str) -> int | str:
    return int(digits) if len(digits) < 20 else digits


def is_request_id(value: Any) -> TypeGuard[types.RequestId]:
    """Tell whether a value may be a request id: a string or an integer. `True` is neither, nor is `1.0`."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def request_message(request_id: types.RequestId, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Build a request; `params` of `None` leaves the member out."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
    if params is not None:
        message["params"] = params
    return message


def notification_message(method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Build a notification; `params` of `None` leaves the member out."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return message


def result_message(request_id: types.RequestId, result: Mapping[str, Any]) -> dict[str, Any]:
    """Build the response that carries a result."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_message(
    request_id: types.RequestId | None, error: types.ErrorData, *, null_id: bool = False
) -> dict[str, Any]:
    """Build the response that carries an error.

    Args:
        request_id: The request's id, `None` if it could not be read.
        error: What went wrong.
        null_id: Write an id that could not be read as `null`, as revisions before 2025-11-25 want it,
            instead of leaving it out.
    """
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if request_id is not None or null_id:
        message["id"] = request_id
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    message["error"] = body
    return message


def _read_call(message: dict[str, Any]) -> Request | Notification | None:
    method = message["method"]
    params = message.get("params")
    if not isinstance(method, str) or not (params is None or _is_object(params)):
        return None
    if "id" not in message:
        return Notification(method, params)
    request_id = message["id"]
    return Request(request_id, method, params) if is_request_id(request_id) else None


def _read_result(message: dict[str, Any]) -> Response | None:
    request_id = message.get("id")
    result = message["result"]
    if not _is_object(result) or not is_request_id(request_id) or "error" in message:
        return None
    return Response(request_id, result)


def _read_error(message: dict[str, Any]) -> ErrorResponse | None:
    error = message.get("error")
    request_id = message.get("id")
    if not _is_object(error) or not (request_id is None or is_request_id(request_id)):
        return None
    code, text = error.get("code"), error.get("message")
    if not isinstance(code, int) or isinstance(code, bool) or not isinstance(text, str):
        return None
    return ErrorResponse(request_id, code, text, error.get("data"))


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _may_hold_surrogate(data: bytes | str) -> bool:
    if isinstance(data, str):
        return "\\ud" in data or "\\uD" in data or _SURROGATE.search(data) is not None
    return b"\\ud" in data or b"\\uD" in data


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _walk(value: Any, named_levels: float = math.inf) -> Iterator[tuple[Any, str, int]]:
    """Go through a value: yield each item in it, its place (the first levels of it), and how deep it is."""
    waiting: list[tuple[Any, str, int]] = [(value, "", 1)]
    while waiting:
        item, place, depth = waiting.pop()
        yield item, place.removeprefix(".") or "the top", depth
        steps: Iterable[tuple[str, Any]] = ()
        if isinstance(item, dict):
            steps = ((f".{name}", member) for name, member in cast("dict[str, Any]", item).items())
        elif isinstance(item, (list, tuple)):
            steps = ((f"[{index}]", part) for index, part in enumerate(cast("list[Any]", item)))
        is_named = depth <= named_levels
        waiting += [(part, place + step if is_named else place, depth + 1) for step, part in steps]


def _find_non_finite(value: Any) -> str | None:
    """Return the place of a number that is NaN or infinite."""
    for item, place, _ in _walk(value):
        if isinstance(item, float) and not math.isfinite(item):
            return place
    return None


def _find_too_deep(value: Any, limit: int) -> str | None:
    """Return the beginning of a place at which more arrays and objects than that are inside each other."""
    for item, place, depth in _walk(value, _NAMED_LEVELS):
        if depth > limit and isinstance(item, (dict, list, tuple)):
            return place
    return None


def _looks_deep(data: bytes) -> bool:
    """Whether text may be nested too deeply, told by its brackets alone: pairs are taken out from the inside."""
    if data.count(b"{") + data.count(b"[") <= _MAX_WRITTEN_DEPTH:
        return False
    brackets = data.translate(None, _NOT_BRACKETS)
    for _ in range(_MAX_WRITTEN_DEPTH // 2):  # each turn takes out two levels at most
        if not brackets:
            return False
        rest = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(rest) == len(brackets):
            return True  # there are more of them, in strings
        brackets = rest
    return True


def _too_deep_at(place: str) -> str:
    return f"{_TOO_DEEP}: more than {_MAX_WRITTEN_DEPTH} levels at {place}"
