"""How a session sends: ids, metadata, headers, clocks, and what `tools/list` taught it."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import anyio
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

import mcp_types as types
from mcp._engine.link import EndingLink, Link, OnNotification, OutgoingRequest
from mcp._protocol.codec import InvalidServerResult, decode_result, without_modern_members
from mcp._protocol.era import LEGACY, MODERN, Era, defines_notification
from mcp._protocol.fields import dump
from mcp._protocol.input_required import without_answers
from mcp.client._claims import Claims, UnexpectedClaimedResult
from mcp.client._cures import with_cure
from mcp.client._notifications import Notifications
from mcp.client._outgoing import Limits, Metadata, exchange_in_time, own_metadata
from mcp.client._params import mirror_name, model_of
from mcp.client._tool_schemas import ToolSchemas
from mcp.client._tracing import traced
from mcp.client._verbs import SessionVerbs, needs_input
from mcp.shared._tracing import application_traces
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp.shared.message import ClientMessageMetadata
from mcp_types import SERVER_INFO_META_KEY, InputRequiredResult
from mcp_types.jsonrpc import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    RequestId,
)
from mcp_types.methods import INPUT_REQUIRED_METHODS

logger = logging.getLogger(__name__)

ReceiveResultT = TypeVar("ReceiveResultT")
ResultT = TypeVar("ResultT", bound=BaseModel)

_DEFERRED = ConfigDict(defer_build=True)
_OPEN_RESULTS: dict[type[BaseModel], TypeAdapter[Any]] = {
    types.CallToolResult: TypeAdapter(types.CallToolResult | InputRequiredResult, config=_DEFERRED),
    types.GetPromptResult: TypeAdapter(types.GetPromptResult | InputRequiredResult, config=_DEFERRED),
    types.ReadResourceResult: TypeAdapter(types.ReadResourceResult | InputRequiredResult, config=_DEFERRED),
}

_VERBS: Final[Mapping[object, str]] = {
    types.CallToolResult: "call_tool",
    types.GetPromptResult: "get_prompt",
    types.ReadResourceResult: "read_resource",
}
_NO_HEADERS: Final[Mapping[str, str]] = {}
_MAX_PAGES: Final = 1000


class SessionRequests(SessionVerbs):
    """Sends what the verbs ask for over a link.

    Args:
        link: The way to the server.
        limits: How long answers may take.
        notifications: Who hears what the server tells in passing.
        tools: What is known about the server's tools.
        claims: The results that extensions claim.
    """

    def __init__(
        self, link: Link, limits: Limits, notifications: Notifications, tools: ToolSchemas, claims: Claims
    ) -> None:
        self._link = link
        self._claims = claims
        self._limits = limits
        self._notifications = notifications
        self._tools = tools
        self._tracing = True
        self._tool_lookup = anyio.Lock()
        self._last_id = 0
        self._version: str | None = None
        self._era: Era | None = None
        self._metadata: Metadata | None = None
        self._state = "new"
        self._at_close: set[Callable[[], None]] = set()
        if type(self).send_request is not SessionRequests.send_request:
            # A subclass that overrides `send_request` wants to see what the verbs send, as models.
            self._ask = self._ask_with_models
            self._ask_open = self._ask_open_with_models

    @property
    def _can_send(self) -> bool:
        """Whether a request may still reach the server: the session is open, and so is what it talks over."""
        return self._state == "open" and not (isinstance(self._link, EndingLink) and not self._link.is_open)

    async def send_request(
        self,
        request: types.ClientRequest | types.Request[Any, Any],
        result_type: type[ReceiveResultT] | TypeAdapter[ReceiveResultT],
        request_read_timeout_seconds: float | None = None,
        metadata: ClientMessageMetadata | None = None,
        progress_callback: ProgressFnT | None = None,
    ) -> ReceiveResultT:
        """Send any request, also one that the protocol does not define.

        Args:
            request: The request.
            result_type: What to read its result into; `dict` keeps every member.
            request_read_timeout_seconds: Seconds to wait for the answer, if not the session's.
            metadata: Headers for this message; where to resume its answer from (handshake-era servers over HTTP).
            progress_callback: Receives the request's progress.

        Raises:
            MCPError: The server answered an error, or there was no answer.
            ValueError: The request names a param for `Mcp-Name` that it does not have.
        """
        wire = dump(request, self._era or MODERN)
        method: str = wire["method"]
        params: dict[str, Any] | None = wire.get("params")
        meta: dict[str, Any] | None = params.pop("_meta", None) if params is not None else None
        headers = dict(metadata.headers or {}) if metadata is not None else {}
        if request.name_param is not None:
            mirror_name(headers, method, params, request.name_param)
        result = await self._exchange(
            method,
            params,
            meta,
            request_read_timeout_seconds,
            progress_callback,
            by_hand=any(result_type is adapter for adapter in _OPEN_RESULTS.values()),
            headers=headers,
            transport=metadata,
        )
        return read_result(method, result, result_type)

    async def send_notification(self, notification: types.ClientNotification | types.Notification[Any, Any]) -> None:
        """Send a notification. One that the negotiated version does not define is dropped."""
        wire = dump(notification, self._era or MODERN)
        await self._notify(wire["method"], wire.get("params"))

    async def _exchange(
        self,
        method: str,
        params: dict[str, Any] | None,
        meta: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        by_hand: bool = False,
        headers: Mapping[str, str] = _NO_HEADERS,
        request_id: RequestId | None = None,
        on_notification: OnNotification | None = None,
        transport: ClientMessageMetadata | None = None,
    ) -> dict[str, Any]:
        """Send a request and return its result in wire form."""
        if self._state != "open":
            self._refuse()
        if request_id is None:
            request_id = self._last_id = self._last_id + 1
        if self._era is LEGACY and params is not None and method in INPUT_REQUIRED_METHODS:
            params = without_answers(params)
        deliver = on_notification or self._notifications.deliver
        token = None
        if progress_callback is not None:
            token = request_id
            deliver = self._notifications.with_progress(request_id, progress_callback)
        if self._metadata is not None:
            written = self._metadata.build(meta, token, by_hand)
            params = {"_meta": written} if params is None else {**params, "_meta": written}
        elif meta or token is not None:
            written = {**own_metadata(meta or {}), **({} if token is None else {"progressToken": token})}
            params = {**(params or {}), "_meta": written}
        request = OutgoingRequest(request_id, method, params, self._version, headers)
        if transport is not None:
            request.resumption_token = transport.resumption_token
            request.on_resumption_token = transport.on_resumption_token_update
        if timeout is None:
            timeout = self._limits.timeout
        try:
            if (timeout is None and self._limits.total is None) or timeout == math.inf:
                exchange = self._link.exchange(request, deliver)
            else:
                exchange = exchange_in_time(self._link, request, deliver, timeout, self._limits)
            traces = self._tracing and application_traces()
            result = await (traced(self._link, request, exchange) if traces else exchange)
        except MCPError as error:
            raise with_cure(_as_typed(error), method, self._era) from error.__cause__
        return without_modern_members(method, result) if self._era is LEGACY else result

    def _refuse(self) -> None:
        if self._state == "closed":
            raise MCPError(CONNECTION_CLOSED, "Connection closed", is_local=True)
        raise RuntimeError("ClientSession must be entered (async with) before a request can be sent")

    async def _ask(
        self,
        method: str,
        params: dict[str, Any] | None,
        result_type: type[ResultT],
        meta: Mapping[str, Any] | None = None,
    ) -> ResultT:
        return decode_result(method, await self._exchange(method, params, meta), result_type)

    async def _ask_open(
        self,
        method: str,
        params: dict[str, Any],
        result_type: type[ResultT],
        meta: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        by_hand: bool = False,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> ResultT | InputRequiredResult:
        wire: dict[str, Any] = await self._exchange(
            method, params, meta, timeout, progress_callback, by_hand=by_hand, headers=headers
        )
        if wire.get("resultType") == "input_required":
            return decode_result(method, wire, InputRequiredResult)
        if method == "tools/call" and self._era is LEGACY and "content" not in wire:
            wire = {**wire, "content": []}  # servers of older revisions leave it out where there is only data
        kind = wire.get("resultType", "complete")
        if kind != "complete" and method == "tools/call" and (claim := self._claims.find(kind, self._version)):
            raise UnexpectedClaimedResult(decode_result(method, wire, claim.model, claimed=(claim.result_type,)))
        return decode_result(method, wire, result_type)

    async def _notify(self, method: str, params: dict[str, Any] | None) -> None:
        if self._state == "closed":
            logger.debug("dropped %r: the connection is closed", method)
        elif self._version is not None and not defines_notification(method, self._version):
            logger.debug("dropped %r: not defined at %s", method, self._version)
        else:
            await self._link.notify(method, params, self._version)

    async def _call_tool(
        self,
        params: dict[str, Any],
        meta: Mapping[str, Any] | None,
        timeout: float | None,
        progress_callback: ProgressFnT | None,
        *,
        by_hand: bool = False,
    ) -> types.CallToolResult | InputRequiredResult:
        name, arguments = params["name"], params.get("arguments")
        try:
            return await self._ask_open(
                "tools/call",
                params,
                types.CallToolResult,
                meta,
                timeout,
                progress_callback,
                by_hand=by_hand,
                headers=self._tools.headers(name, arguments),
            )
        except MCPError as error:
            if error.code != HEADER_MISMATCH:
                raise
        # streamable-http: the tool's schema has changed since it was listed. Once is enough.
        await self._look_up(name, anew=True)
        return await self._ask_open(
            "tools/call",
            params,
            types.CallToolResult,
            meta,
            timeout,
            progress_callback,
            by_hand=by_hand,
            headers=self._tools.headers(name, arguments),
        )

    async def _list_tools(self, cursor: str | None, meta: Mapping[str, Any] | None) -> types.ListToolsResult:
        params = None if cursor is None else {"cursor": cursor}
        result = await self._ask("tools/list", params, types.ListToolsResult, meta)
        self._learn_tools(result, whole=cursor is None and result.next_cursor is None)
        return result

    def _learn_tools(self, result: types.ListToolsResult, *, whole: bool) -> None:
        self._tools.learn(result, whole=whole, modern=self._era is MODERN)

    async def validate_tool_result(self, name: str, result: types.CallToolResult) -> None:
        """Check a result against the output schema that the server lists for the tool.

        Args:
            name: The tool.
            result: What it returned.

        Raises:
            RuntimeError: The result does not fit the schema, or the schema is unusable.
        """
        if not self._tools.knows(name) and not result.is_error:
            try:
                await self._look_up(name)
            except (MCPError, InvalidServerResult) as error:
                # The call itself succeeded: what the listing says about it comes second.
                logger.warning("Cannot validate the result of tool %s: tools/list failed: %s", name, error)
                if isinstance(error, MCPError) and error.code == METHOD_NOT_FOUND:
                    self._tools.miss(name)
                return
        self._tools.check(name, result)

    async def _look_up(self, name: str, *, anew: bool = False) -> None:
        """List the server's tools until this one is found, or there are no more."""
        async with self._tool_lookup:
            if self._tools.knows(name) and not anew:
                return
            cursor: str | None = None
            for _ in range(_MAX_PAGES):
                page = await self._list_tools(cursor, None)
                if any(tool.name == name for tool in page.tools):
                    return
                if page.next_cursor is None or page.next_cursor == cursor:
                    break
                cursor = page.next_cursor
            self._tools.miss(name)
            logger.warning("Tool %s not listed by server, cannot validate any structured content", name)

    async def _ask_with_models(
        self,
        method: str,
        params: dict[str, Any] | None,
        result_type: type[ResultT],
        meta: Mapping[str, Any] | None = None,
    ) -> ResultT:
        return await self.send_request(model_of(method, params, meta), result_type)

    async def _ask_open_with_models(
        self,
        method: str,
        params: dict[str, Any],
        result_type: type[ResultT],
        meta: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        by_hand: bool = False,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> ResultT | InputRequiredResult:
        wanted = _OPEN_RESULTS[result_type] if by_hand else result_type
        metadata = ClientMessageMetadata(headers=dict(headers)) if headers else None
        return await self.send_request(model_of(method, params, meta), wanted, timeout, metadata, progress_callback)


def read_result(
    method: str, wire: dict[str, Any], result_type: type[ReceiveResultT] | TypeAdapter[ReceiveResultT]
) -> ReceiveResultT:
    """Read a result into the type that the caller of `send_request` wants.

    Raises:
        RuntimeError: The server asks for input and the caller wants a final result.
        InvalidServerResult: The result does not fit.
    """
    if wire.get("resultType") == "input_required" and method in INPUT_REQUIRED_METHODS and result_type in _VERBS:
        raise needs_input(_VERBS[result_type])
    return decode_result(method, wire, result_type)


def _as_typed(error: MCPError) -> MCPError:
    """Give an error that crossed a wire the class that its code stands for."""
    if error.code != URL_ELICITATION_REQUIRED:
        return error
    try:
        return UrlElicitationRequiredError.from_error(error.error)
    except ValueError:
        return error


def read_server_info(meta: Mapping[str, Any] | None) -> types.Implementation | None:
    """Read who the server says it is; `None` where it does not say, or says it in a way that cannot be read."""
    try:
        return types.Implementation.model_validate((meta or {})[SERVER_INFO_META_KEY])
    except (KeyError, ValidationError):
        return None
