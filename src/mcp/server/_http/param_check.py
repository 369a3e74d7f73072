"""Whether the `Mcp-Param-*` headers of a tool call agree with its arguments (streamable-http: Custom Headers)."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import mcp_types as types
from mcp._engine.scope import RequestScope
from mcp._protocol.http_request import ModernRequest
from mcp._protocol.param_headers import HeaderMap, compare, find_invalid_x_mcp_header, header_map
from mcp.server._handle import HandlerTable
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import HEADER_MISMATCH

logger = logging.getLogger(__name__)

SchemaLookup = Callable[[str], Mapping[str, Any] | None]
ListHandler = Callable[..., Awaitable[Any]]

_LISTING_LIFETIME = 60.0  # seconds; a listing is also made anew whenever it would refuse a call
_MAX_PAGES = 1000

_NO_HEADERS: HeaderMap = {}


class ParamHeaderCheck:
    """Compares parameter headers with arguments.

    Args:
        server: Whose tools are called. If it cannot look a schema up by name, its tools are listed and the listing is
            kept for a while.
        get_tool_input_schema: Looks a tool's input schema up by name.
    """

    def __init__(self, server: HandlerTable, get_tool_input_schema: SchemaLookup | None) -> None:
        self._server = server
        self._look_up = get_tool_input_schema
        # By identity of the schema, which stays referenced here, so that an id is not used twice.
        self._maps: dict[int, tuple[Mapping[str, Any], HeaderMap]] = {}
        self._warned: set[str] = set()
        self._listed: dict[str, HeaderMap] = {}
        self._listed_by: object = None
        self._listed_until = 0.0

    def forget_listing(self) -> None:
        """Make the next call list the tools again."""
        self._listed_until = 0.0

    async def check(self, request: ModernRequest, scope: RequestScope) -> None:
        """Compare a tool call's headers with its arguments.

        Args:
            request: A `tools/call`.
            scope: The scope it is served under.

        Raises:
            MCPError: They disagree.
        """
        name = request.params.get("name")
        if not isinstance(name, str):
            return  # the params themselves will be refused
        if self._look_up is not None:
            schema = self._look_up(name)
            headers = self._map_of(name, schema) if schema is not None else _NO_HEADERS
            text = _compare(headers, request)
            if text is not None and not await self._is_listed(name, scope):
                return  # to this caller it is unknown, which is for the handler to say
        elif (handler := self._list_handler()) is not None:
            text = await self._compare_with_listing(name, request, scope, handler)
        else:
            return
        if text is not None:
            raise MCPError(HEADER_MISMATCH, text)

    def is_needed(self, request: ModernRequest) -> bool:
        """Whether anything could disagree: most servers mirror nothing, and then no more is asked."""
        if not request.params.get("arguments") and not request.param_headers:
            return False
        if self._look_up is None and not request.param_headers and self._is_current():
            return bool(self._listed.get(cast("str", request.params.get("name"))))
        return True

    def _list_handler(self) -> ListHandler | None:
        entry = self._server.get_request_handler("tools/list")
        return None if entry is None else entry.handler

    def _is_current(self) -> bool:
        return time.monotonic() < self._listed_until and self._listed_by is self._list_handler()

    async def _compare_with_listing(
        self, name: str, request: ModernRequest, scope: RequestScope, handler: ListHandler
    ) -> str | None:
        is_fresh = not self._is_current()
        if is_fresh:
            await self._list_anew(handler, scope)
        headers = self._listed.get(name, _NO_HEADERS)
        text = _compare(headers, request)
        # A client that mirrors what the listing does not, or otherwise than it does, may have seen a newer one.
        is_suspect = text is not None or (not headers and bool(request.param_headers))
        if is_suspect and not is_fresh:
            await self._list_anew(handler, scope)
            text = _compare(self._listed.get(name, _NO_HEADERS), request)
        return text

    async def _is_listed(self, name: str, scope: RequestScope) -> bool:
        handler = self._list_handler()
        return handler is None or name in await self._list(handler, scope)

    async def _list_anew(self, handler: ListHandler, scope: RequestScope) -> None:
        self._listed = await self._list(handler, scope)
        self._listed_by = handler
        self._listed_until = time.monotonic() + _LISTING_LIFETIME

    async def _list(self, handler: ListHandler, scope: RequestScope) -> dict[str, HeaderMap]:
        listed: dict[str, HeaderMap] = {}
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor)
            ctx: ServerRequestContext[Any, Any] = ServerRequestContext(
                session=ServerSession(scope, None),
                lifespan_context=scope.lifespan_context,
                protocol_version=scope.version,
                method="tools/list",
                params={} if cursor is None else {"cursor": cursor},
                request_id=scope.request_id,
                request=scope.request,
            )
            result = types.ListToolsResult.model_validate(await handler(ctx, params))
            for tool in result.tools:
                listed[tool.name] = self._read(tool.name, tool.input_schema)
            cursor = result.next_cursor
            if not cursor:
                break
        return listed

    def _map_of(self, name: str, schema: Mapping[str, Any]) -> HeaderMap:
        known = self._maps.get(id(schema))
        if known is not None and known[0] is schema:
            return known[1]
        headers = self._read(name, schema)
        if len(self._maps) > 10_000:  # a lookup that builds its schemas anew each time
            self._maps.clear()
        self._maps[id(schema)] = (schema, headers)
        return headers

    def _read(self, name: str, schema: Mapping[str, Any]) -> HeaderMap:
        reason = find_invalid_x_mcp_header(schema)
        if reason is None:
            return header_map(schema)
        if name not in self._warned:
            self._warned.add(name)
            logger.warning("The parameter headers of the tool %r are not checked: %s", name, reason)
        return _NO_HEADERS


def _compare(headers: HeaderMap, request: ModernRequest) -> str | None:
    if not headers:
        return None
    arguments = request.params.get("arguments")
    values = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
    return compare(headers, values, request.param_headers)
